"""Privileged features: against separate RCCAs, discriminant analysis, and scikit-learn's rules."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline

import oracles
from rnca import RCCA, PrivilegedFeatures
from rnca.features import LinearFeatures
from workflow.data.embedded import ATTRIBUTES

TABLE = np.array(list(ATTRIBUTES.values()), dtype=float).T
SETTINGS = {"n_features": (60, 30), "reg": (1e-2, 1e-3), "random_state": 3, "dtype": "float64"}


@pytest.fixture(scope="module")
def digits():
    """400 digits, 21 facts about each, and whether it is even."""
    images, labels = load_digits(return_X_y=True)
    X, digit = images[:400], labels[:400]
    return X, TABLE[digit], digit % 2, digit


@pytest.mark.parametrize(("kind", "limit"), [("facts", 10), ("digit", 2), ("real", 4)])
def test_features_are_those_of_separate_rccas(digits, kind, limit):
    X, facts, y, digit = digits
    real = np.random.default_rng(0).normal(size=len(X)) + X[:, 20] / 16
    told = {"facts": facts[:, [0, 8, 20]], "digit": digit[:, None], "real": real[:, None]}[kind]
    model = PrivilegedFeatures(limit, **SETTINGS).fit(X, y, privileged=told)
    features = model.transform(X)
    for i, column in enumerate(told.T):
        second = np.column_stack([column, y])
        k = min(len(np.unique(second, axis=0)) - 1, limit)
        rcca = RCCA(k, **SETTINGS).fit(X, second)
        own = model.columns_ == i
        assert own.sum() == k
        assert model.correlations_[own] == pytest.approx(rcca.correlations_, abs=1e-10)
        assert features[:, own] == pytest.approx(rcca.transform(X), abs=1e-6)


def test_without_second_regulariser_each_problem_is_a_discriminant_analysis(digits):
    """Between-cell against regularised total scatter of z_x, solved as it is in textbooks."""
    X, told, y, _ = digits
    model = PrivilegedFeatures(**SETTINGS | {"reg": (1e-2, 1e-12)}).fit(X, y, privileged=told)
    z = oracles.fourier(model.map_, X)
    z -= z.mean(axis=0)
    cells = (2 * told[:, 9] + y).astype(int)
    means = np.array([z[cells == cell].mean(axis=0) for cell in np.unique(cells)])
    between = (means.T * np.unique(cells, return_counts=True)[1]) @ means / (len(z) - 1)
    total = np.cov(z.T) + 1e-2 * np.eye(z.shape[1])
    values, vectors = scipy.linalg.eigh(between, total)
    own, k = model.columns_ == 9, len(means) - 1
    assert model.correlations_[own] == pytest.approx(np.sqrt(values[::-1][:k]), abs=1e-9)
    oracle = z @ vectors[:, ::-1][:, :k]
    features = model.transform(X)[:, own]
    assert features == pytest.approx(oracles.align(oracle, features), abs=1e-6)


def test_facts_about_classes_span_no_more_than_the_classes(digits):
    """Nine dimensions, those of the discriminant analysis of ten digits, however many facts."""
    X, _, y, digit = digits
    features = [
        PrivilegedFeatures(**SETTINGS).fit(X, y, privileged=table[digit]).transform(X)
        for table in (TABLE, np.random.default_rng(0).permutation(TABLE))
    ]
    assert features[0].shape[1] > 40
    assert np.linalg.matrix_rank(features[0], tol=1e-6) == 9
    assert np.linalg.matrix_rank(np.hstack(features), tol=1e-6) == 9


@pytest.mark.parametrize(
    "change", [{"reg": (1e-2, 5.0)}, {"feature_map": ("fourier", LinearFeatures())}]
)
def test_the_second_view_s_map_and_regulariser_only_rotate(digits, change):
    X, told, y, _ = digits
    one, other = (
        PrivilegedFeatures(**settings).fit(X, y, privileged=told[:, [0]]).transform(X)
        for settings in (SETTINGS, SETTINGS | change)
    )
    if one.shape == other.shape:
        assert one @ one.T == pytest.approx(other @ other.T, abs=1e-7)
    else:  # linear features of two columns leave a plane of the three dimensions
        assert np.linalg.matrix_rank(np.hstack([one, other]), tol=1e-6) == 3


@pytest.mark.parametrize(("cv", "low", "high"), [(None, 0.7, 1.0), (4, 0.0, 0.25)])
def test_cross_fitted_variables_of_noise_are_noise(digits, cv, low, high):
    X, told, y, _ = digits
    noise = np.random.default_rng(0).permutation(y)
    model = PrivilegedFeatures(**SETTINGS | {"n_features": (300, 30), "reg": 1e-4}, cv=cv)
    features = model.fit_transform(X, noise, privileged=told)
    assert low <= np.abs(np.corrcoef(features.T, noise)[-1, :-1]).max() <= high


def test_cross_fitted_variables_are_turned_towards_the_whole_fit_s(digits):
    X, told, y, _ = digits
    own, crossed = (
        PrivilegedFeatures(**SETTINGS, cv=cv).fit_transform(X, y, privileged=told)
        for cv in (None, 4)
    )
    cosines = np.einsum("ij,ij->j", own, crossed) / np.linalg.norm(own, axis=0)
    assert (cosines / np.linalg.norm(crossed, axis=0)).min() > 0.8


def test_pipeline_and_grid_search(digits):
    X, told, y, _ = digits
    features = PrivilegedFeatures(**SETTINGS | {"n_features": (200, 30)})
    steps = make_pipeline(features, LogisticRegression(max_iter=2000))
    grid = {"privilegedfeatures__reg": [1e-8, 1e-2]}
    search = GridSearchCV(steps, grid, cv=3).fit(
        X[:300], y[:300], privilegedfeatures__privileged=told[:300]
    )
    assert search.score(X[300:], y[300:]) > 0.9
    assert search.best_params_ == {"privilegedfeatures__reg": 1e-2}


def test_constant_columns_and_labels_of_any_kind_and_none(digits):
    X, told, y, _ = digits
    constant = np.column_stack([np.ones(len(X)), y])  # adds the label's variable
    model = PrivilegedFeatures(**SETTINGS).fit(X, y, privileged=constant)
    assert model.columns_.tolist() == [0, 1]
    assert np.abs(np.corrcoef(model.transform(X).T)[0, 1]) == pytest.approx(1.0)
    number, text = (
        PrivilegedFeatures(**SETTINGS).fit(X, labels, privileged=told[:, :2]).transform(X)
        for labels in (y, np.array(["even", "odd"])[y])
    )
    assert np.array_equal(number, text)
    alone = PrivilegedFeatures(**SETTINGS).fit(X, privileged=told[:, :2])
    assert alone.columns_.tolist() == [0, 1]


ROWS = np.random.default_rng(0).normal(size=(6, 2))
SIGNS = np.array([0, 1, 0, 1, 0, 1])
MISSING = np.where(np.arange(12).reshape(6, 2) == 5, np.nan, 1.0)


@pytest.mark.parametrize(
    ("y", "told", "settings", "sentence"),
    [
        (SIGNS, None, {}, "privileged=None: PrivilegedFeatures is fitted to"),
        (SIGNS, MISSING, {}, "privileged contains NaN at row 2, column 1"),
        (SIGNS, ROWS[:5], {}, "X has 6 rows but privileged has 5"),
        (SIGNS[:5], ROWS, {}, "X has 6 rows but y has 5"),
        (np.ones(6), ROWS, {}, r"y has the single class np.float64\(1.0\)"),
        (None, np.ones((6, 2)), {}, "privileged has constant columns only"),
        (SIGNS, ROWS, {"n_components": 0}, "n_components=0: give an integer >= 1"),
        (SIGNS, ROWS, {"reg": -1.0}, "reg=-1.0: the regulariser must be"),
    ],
)
def test_bad_input_is_named(y, told, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        PrivilegedFeatures(n_features=5, **settings).fit(ROWS, y, privileged=told)


@pytest.mark.parametrize("cv", [ShuffleSplit(2, random_state=0), TimeSeriesSplit(3)])
def test_rows_that_no_fold_holds_out_are_refused(cv):
    X = np.random.default_rng(0).normal(size=(60, 3))
    features = PrivilegedFeatures(2, n_features=20, reg=0.1, cv=cv, random_state=0)
    with pytest.raises(ValueError, match="does not hold out each row once"):
        features.fit_transform(X, X[:, 0] > 0, privileged=X[:, 1:] > 0)
