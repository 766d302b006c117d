"""RLDA against scikit-learn's LDA, and against ridge LDA by the book."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, load_wine, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import oracles
from rnca import RLDA

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], y


def linear(**given):
    return RLDA(**{"feature_map": "linear", "reg": 0.0, "dtype": "float64", **given})


def ridge_lda_scores(z, y, reg, new):
    """Linear scores from means and (C_within + reg·I) by the book, C about n − 1."""
    n, means = len(z), np.array([z[y == label].mean(axis=0) for label in np.unique(y)])
    residuals = z - means[y]
    within = residuals.T @ residuals / (n - 1) + reg * np.eye(z.shape[1])
    offsets = means - z.mean(axis=0)
    coefficients = np.linalg.solve(within * (n - 1) / n, offsets.T)
    constants = np.log(np.bincount(y) / n) - np.einsum("ij,ji->i", offsets, coefficients) / 2
    return (new - z.mean(axis=0)) @ coefficients + constants


@pytest.mark.parametrize("data", [IRIS, WINE, digits()], ids=["iris", "wine", "digits"])
def test_with_linear_features_it_is_lda(data):
    X, y = data
    model, peer = linear().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert_array_equal(model.predict(X), peer.predict(X))
    # Of scikit-learn's solvers this one has the covariance of largest likelihood in all versions;
    # its scores have another constant for each row.
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    scores, expected = model.decision_function(X), peer.decision_function(X)
    assert_allclose(scores - scores[:, :1], expected - expected[:, :1], atol=1e-6)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(X), atol=1e-6)


def test_two_classes_have_one_score():
    X, y = IRIS[0][50:], IRIS[1][50:]
    model, peer = linear().fit(X, y), LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-8)
    assert model.transform(X).shape == (100, 1)


@pytest.mark.parametrize("reg", [1e-8, 1e-2])
def test_random_features_make_it_ridge_lda_on_them(reg):
    X, y = digits()
    model = RLDA(n_features=60, reg=reg, random_state=0, dtype="float64").fit(X[:1000], y[:1000])
    z = oracles.fourier(model.rcca_.map_x_, X)
    expected = ridge_lda_scores(z[:1000], y[:1000], reg, z[1000:])
    assert_allclose(model.decision_function(X[1000:]), expected, atol=1e-6)


def test_discriminants_have_unit_variance_within_classes_and_are_nested():
    X, y = WINE
    model, short = linear().fit(X, y), linear(n_components=1).fit(X, y)
    z = model.transform(X)
    residuals = z - np.array([z[y == label].mean(axis=0) for label in range(3)])[y]
    assert_allclose(residuals.T @ residuals / len(y), np.eye(2), atol=1e-9)
    assert_allclose(z.mean(axis=0), 0, atol=1e-9)
    assert_array_equal(short.transform(X), z[:, :1])
    assert_array_equal(short.predict(X), model.predict(X))
    assert list(short.get_feature_names_out()) == ["rlda0"]


def test_nonlinear_features_separate_rings_that_lda_cannot():
    X, ring = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    for kind in ("fourier", "nystroem"):
        model = RLDA(feature_map=kind, n_features=50, reg=1e-4, random_state=0)
        assert model.fit(X[:200], ring[:200]).score(X[200:], ring[200:]) == 1
    assert linear().fit(X[:200], ring[:200]).score(X[200:], ring[200:]) < 0.7


def test_chosen_reg_minimises_the_stated_error():
    X, y = WINE
    model = RLDA(n_features=40, random_state=0, dtype="float64").fit(X, y)
    z = oracles.fourier(model.rcca_.map_x_, X)
    z -= z.mean(axis=0)
    targets = np.eye(3)[y] - np.bincount(y) / len(y)

    def error(reg):
        ridge = np.linalg.solve(z.T @ z / (len(y) - 1) + reg * np.eye(40), z.T / (len(y) - 1))
        rest = targets - z @ (ridge @ targets)
        return np.sum(rest**2) / (1 - 1.4 * (1 + np.trace(z @ ridge)) / len(y)) ** 2

    assert error(model.reg_) == min(error(model.reg_ * 10 ** (i / 4)) for i in range(-12, 13))
    assert model.path([40])[0].reg == model.reg_
    assert RLDA(n_features=40, reg=0.5).fit(X, y).reg_ == 0.5


@pytest.mark.parametrize("rows", [3, 5])
def test_a_few_rows_will_do(rows):
    X, y = IRIS[0][49 : 49 + rows], IRIS[1][49 : 49 + rows]
    assert_array_equal(RLDA(random_state=0).fit(X, y).predict(X), y)


def test_fewer_features_than_classes():
    X, y = digits()
    model = linear().fit(X[:, 20:23], y)
    peer = LinearDiscriminantAnalysis().fit(X[:, 20:23], y)
    assert model.transform(X[:, 20:23]).shape == (1797, 3)
    assert_array_equal(model.predict(X[:, 20:23]), peer.predict(X[:, 20:23]))


def test_classes_without_spread_are_told_apart_without_infinities():
    X, y = np.repeat(np.eye(3), 4, axis=0) + 5.0, np.repeat([0, 1, 2], 4)
    model = linear(reg=1e-12).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert_array_equal(model.predict(X), y)


def test_constant_columns_need_a_regulariser():
    X, y = np.c_[IRIS[0], np.ones(150)], IRIS[1]
    with pytest.raises(ValueError, match=r"singular with reg=0: feature 4 .* Raise reg"):
        linear().fit(X, y)
    assert_array_equal(linear(reg=1e-10).fit(X, y).predict(X), linear().fit(*IRIS).predict(IRIS[0]))


@pytest.mark.parametrize(
    ("X", "y", "given", "message"),
    [
        (*IRIS, {"n_components": 3}, "n_components=3: 3 classes have at most 2 discriminants"),
        (*IRIS, {"n_components": 0}, "n_components=0: give an integer >= 1"),
        (IRIS[0], np.ones(150), {}, "y has the one class .*1.0.*: discriminants need at least 2"),
        (IRIS[0][:3], [0, 1, 2], {}, "3 classes in n_samples = 3 rows: without more rows than"),
        (IRIS[0], IRIS[1][:-1], {}, "y has 149 labels but X has 150 rows"),
        (IRIS[0], IRIS[0][:, 0], {}, "Unknown label type"),
        (IRIS[0], None, {}, "requires y to be passed"),
        (np.where(IRIS[0] > 7.8, np.nan, IRIS[0]), IRIS[1], {}, "X contains NaN at row 131, colu"),
        (*IRIS, {"reg": "best"}, "reg='best': give \"auto\" or a finite number >= 0"),
        (*IRIS, {"reg": -1.0}, "reg=-1.0: the regulariser must be a finite number >= 0"),
    ],
)
def test_bad_input_is_named(X, y, given, message):
    with pytest.raises(ValueError, match=message):
        linear(**given).fit(X, y)


def test_path_needs_as_many_features_as_discriminants():
    X, y = digits()
    with pytest.raises(ValueError, match="n_components=9: with 5 and 9 features"):
        RLDA(n_features=20, random_state=0).fit(X, y).path([5])
