"""Classes and clusters: RLDA against LDA by the book, spectral clustering against the exact one."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, load_iris, load_wine, make_circles, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import oracles
from rnca import RLDA, NystroemFeatures, RSpectralClustering, median_gamma
from workflow.lib.exact import spectral_clustering

# Many tests ask for more clusters than there are, or cluster digits, which have no eigengap.
pytestmark = pytest.mark.filterwarnings("ignore:n_clusters=.* no clear gap:UserWarning")

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
RINGS = make_circles(400, factor=0.3, noise=0.05, random_state=0)
MOONS = make_moons(400, noise=0.05, random_state=0)
FLAT = np.c_[IRIS[0], np.ones(150)]  # with a constant column


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


@pytest.mark.parametrize(
    ("X", "y", "dimensions"),
    [
        (*IRIS, 2),
        (IRIS[0][50:], IRIS[1][50:], 1),
        (*WINE, 2),
        (*digits(), 9),
        (digits()[0][:, 20:23], digits()[1], 3),
    ],
    ids=["iris", "two classes", "wine", "digits", "fewer features than classes"],
)
def test_with_linear_features_it_is_lda(X, y, dimensions):
    model, peer = linear().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert model.transform(X).shape == (len(X), dimensions)
    assert_array_equal(model.predict(X), peer.predict(X))
    # Of scikit-learn's solvers this one has the covariance of largest likelihood in all versions;
    # its scores of more than two classes have another constant for each row.
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    scores, expected = model.decision_function(X), peer.decision_function(X)
    if dimensions > 1:
        scores, expected = scores - scores[:, :1], expected - expected[:, :1]
    assert_allclose(scores, expected, atol=1e-6 if dimensions > 1 else 1e-8)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(X), atol=1e-6)


def test_nonlinear_features_separate_rings_that_lda_cannot():
    X, ring = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    for kind in ("fourier", "nystroem"):
        model = RLDA(feature_map=kind, n_features=50, reg=1e-4, random_state=0)
        assert model.fit(X[:200], ring[:200]).score(X[200:], ring[200:]) == 1
    assert linear().fit(X[:200], ring[:200]).score(X[200:], ring[200:]) < 0.7


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


@pytest.mark.filterwarnings("ignore:the columns of X differ much in scale")
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


def test_classes_without_spread_are_told_apart_without_infinities():
    X, y = np.repeat(np.eye(3), 4, axis=0) + 5.0, np.repeat([0, 1, 2], 4)
    model = linear(reg=1e-12).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert_array_equal(model.predict(X), y)


def test_constant_columns_need_a_regulariser():
    model = linear(reg=1e-10).fit(FLAT, IRIS[1])
    assert_array_equal(model.predict(FLAT), linear().fit(*IRIS).predict(IRIS[0]))


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
        (FLAT, IRIS[1], {}, "singular with reg=0: feature 4 .* Raise reg"),
    ],
)
def test_bad_input_of_rlda_is_named(X, y, given, message):
    with pytest.raises(ValueError, match=message):
        linear(**given).fit(X, y)


def test_path_needs_as_many_features_as_discriminants():
    with pytest.raises(ValueError, match="n_components=9: with 5 and 9 features"):
        RLDA(n_features=20, random_state=0).fit(*digits()).path([5])


def clustering(n_clusters=2, **given):
    defaults = {"n_features": 100, "gamma": 20.0, "random_state": 0, "n_init": 3}
    return RSpectralClustering(n_clusters, **{**defaults, **given})


def by_the_book(z, k, floor):
    """Leading eigenpairs of D^-½ (z zᵀ) D^-½, and how many degrees are below the floor."""
    K = z @ z.T
    degrees = K.sum(axis=0)
    roots = np.sqrt(np.maximum(degrees, floor))
    values, vectors = np.linalg.eigh(K / roots / roots[:, None])
    return values[::-1][:k], vectors[:, ::-1][:, :k], (degrees < floor).sum()


@pytest.mark.parametrize("rows", [200, 5000])
@pytest.mark.parametrize(
    "draw",
    [partial(make_moons, noise=0.05), partial(make_circles, factor=0.3, noise=0.05)],
    ids=["moons", "rings"],
)
def test_defaults_tell_apart_shapes_that_defeat_k_means(draw, rows):
    X, shape = draw(rows, random_state=1)
    assert normalized_mutual_info_score(shape, KMeans(2, random_state=0).fit_predict(X)) < 0.3
    for scale in (1e-3, 1e3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = RSpectralClustering(2, random_state=0)
            labels = model.fit_predict(np.c_[scale * X, np.full(rows, 7.0)])
        assert adjusted_rand_score(shape, labels) == 1


@pytest.mark.parametrize(("k", "is_clear"), [(2, True), (3, False), (1, True)])
def test_missing_eigengap_is_told(k, is_clear):
    more = RSpectralClustering(k + 1, random_state=0).fit(MOONS[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RSpectralClustering(k, random_state=0).fit(MOONS[0])
    first, last, following = more.eigenvalues_[[0, k - 1, k]]
    assert model.eigengap_ == pytest.approx((last - following) / (first - following), rel=1e-6)
    assert (model.eigengap_ > 0.9) == is_clear
    told = [str(each.message) for each in caught]
    assert len(told) == (not is_clear)
    assert all("n_clusters=3: there is no clear gap" in each for each in told)
    assert model.eigenvalues_[0] == pytest.approx(1, abs=1e-6)
    assert model.n_floored_ == 0


def test_local_width_is_that_of_neighbours():
    X = np.arange(100.0)[:, None]
    model = RSpectralClustering(2, random_state=0).fit(X)
    # Of 100 points on a line, all but the outer ones have their fifth neighbour at distance 3.
    assert model.map_.inner.gamma_ == 1 / 18
    assert RSpectralClustering(2, n_features=20).fit(X).map_.inner.gamma_ < 1 / 18
    # Of repeated rows no neighbour is apart: the median heuristic has to do.
    repeated = np.repeat([[0.0], [3.0]], 50, axis=0)
    assert RSpectralClustering(2).fit(repeated).map_.inner.gamma_ == pytest.approx(1 / 9)


@pytest.mark.parametrize("data", [RINGS, MOONS], ids=["rings", "moons"])
def test_exact_clustering_agrees_with_scikit_learn(data):
    X, _ = data
    peer = SpectralClustering(2, gamma=20.0, random_state=0).fit_predict(X)
    own = spectral_clustering(X, 2, gamma=20.0, random_state=0)
    assert adjusted_rand_score(peer, own) == 1


def test_features_approach_exact_spectral_clustering(halves):
    X = halves[0][:300]
    gamma = median_gamma(X, random_state=0)
    exact = spectral_clustering(X, 4, gamma=gamma, random_state=0)
    # More landmarks than rows are asked for: there are as many as rows.
    model = clustering(4, n_features=1000, gamma=gamma, n_init=10).fit(X)
    assert model.map_.n_features_out == 300
    assert adjusted_rand_score(exact, model.labels_) > 0.98

    def agreement(m):
        given = {"feature_map": "fourier", "n_features": m, "gamma": gamma}
        fits = [clustering(4, **given, random_state=seed).fit(X) for seed in range(3)]
        return np.mean([normalized_mutual_info_score(exact, fit.labels_) for fit in fits])

    few, some, many = map(agreement, (10, 50, 400))
    assert few < some < many
    assert many > 0.7


@pytest.mark.parametrize(("gamma", "is_floored"), [(1e-3, False), (2e-2, True)])
def test_eigenvectors_and_floored_degrees_are_the_oracles(halves, gamma, is_floored):
    X = halves[0][:200]
    model = clustering(5, feature_map="fourier", n_features=40, gamma=gamma, dtype="float64")
    model.fit(X)
    z = oracles.fourier(model.map_.inner, X)
    floor = np.sqrt((z**2).mean(axis=0).sum() * (z.mean(axis=0) ** 2).sum() / 40)
    values, vectors, floored = by_the_book(z, 5, floor * len(X))
    assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    assert model.n_floored_ == floored
    assert (floored > 0) == is_floored
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert_allclose(oracles.align(model.transform(X), vectors), vectors, atol=1e-8)


@pytest.mark.parametrize("landmarks", [None, RINGS[0][::4]], ids=["drawn", "given"])
def test_training_rows_keep_their_labels_and_new_rows_find_theirs(landmarks):
    X, ring = make_circles(800, factor=0.3, noise=0.05, random_state=1)
    own = NystroemFeatures(100, gamma=20.0, landmarks=landmarks, whiten=True)
    model = clustering(feature_map=own).fit(X[:400])
    assert_array_equal(model.predict(X[:400]), model.labels_)
    assert adjusted_rand_score(ring[400:], model.predict(X[400:])) == 1


def test_identical_rows_are_one_cluster_with_scikit_learns_warning():
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = clustering(3, gamma=1.0).fit(np.ones((20, 2)))
    assert set(model.labels_) == {0}


@pytest.mark.parametrize(
    ("X", "given", "message"),
    [
        (np.ones((20, 2)), {"gamma": "median"}, "all identical.* Give gamma as a number"),
        (RINGS[0], {"n_clusters": 0}, "n_clusters=0: give an integer >= 1"),
        (RINGS[0], {"n_clusters": 401}, "=401: with 100 features and n_samples = 400 .* most 100"),
        (RINGS[0], {"n_clusters": 50, "n_features": 20}, "20 features .* use more features"),
        (RINGS[0], {"n_init": 0}, "n_init=0: give an integer >= 1"),
        (RINGS[0], {"n_features": 0}, "n_features=0: give an integer >= 1"),
    ],
)
def test_bad_input_of_clustering_is_named(X, given, message):
    with pytest.raises(ValueError, match=message):
        clustering(**given).fit(X)
