"""Randomized spectral clustering against exact spectral clustering, and against n × n matrices."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import oracles
from rnca import NystroemFeatures, RSpectralClustering, median_gamma
from workflow.lib.exact import spectral_clustering

# Many tests ask for more clusters than there are, or cluster digits, which have no eigengap.
pytestmark = pytest.mark.filterwarnings("ignore:n_clusters=.* no clear gap:UserWarning")

RINGS = make_circles(400, factor=0.3, noise=0.05, random_state=0)
MOONS = make_moons(400, noise=0.05, random_state=0)


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


def test_training_rows_keep_their_labels_and_new_rows_find_theirs():
    X, ring = make_circles(800, factor=0.3, noise=0.05, random_state=1)
    model = clustering().fit(X[:400])
    assert_array_equal(model.predict(X[:400]), model.labels_)
    assert adjusted_rand_score(ring[400:], model.predict(X[400:])) == 1


def test_landmarks_of_ones_own_will_do():
    X, ring = RINGS
    own = NystroemFeatures(gamma=20.0, landmarks=X[::4], whiten=True)
    assert adjusted_rand_score(ring, clustering(feature_map=own).fit_predict(X)) == 1


def test_identical_rows_are_one_cluster_with_scikit_learns_warning():
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = clustering(3, gamma=1.0).fit(np.ones((20, 2)))
    assert set(model.labels_) == {0}
    with pytest.raises(ValueError, match=r"all identical.* Give gamma as a number"):
        clustering(gamma="median").fit(np.ones((20, 2)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0: give an integer >= 1"),
        ({"n_clusters": 401}, "n_clusters=401: with 100 features and n_samples = 400 .* most 100"),
        ({"n_clusters": 50, "n_features": 20}, "with 20 features .* use more features"),
        ({"n_init": 0}, "n_init=0: give an integer >= 1"),
        ({"n_features": 0}, "n_features=0: give an integer >= 1"),
    ],
)
def test_counts_that_cannot_be(given, message):
    with pytest.raises(ValueError, match=message):
        clustering(**given).fit(RINGS[0])
