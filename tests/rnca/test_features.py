"""One contract for every feature map, and what is particular to each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

import oracles
from rnca import (
    RPCA,
    FastfoodFeatures,
    FourierFeatures,
    LinearFeatures,
    NystroemFeatures,
    OrthogonalFeatures,
    QuasiMonteCarloFeatures,
    median_gamma,
)
from rnca.features import FEATURE_MAPS, FeatureMap, JointFeatures
from rnca.features.cosine import hadamard_transform


@dataclass(frozen=True)
class Contract:
    """How to make a map with m features, and the kernel its features stand for."""

    make: Callable
    estimate: Callable  # features of all rows, fitted map, rows → kernel matrix
    exact: Callable  # fitted map, rows → kernel matrix
    bound: float  # on the largest error of an entry


def gaussian(fitted, X):
    return rbf_kernel(X, gamma=fitted.gamma_)


def cosines(kind):
    return Contract(
        lambda m, **given: kind(m, random_state=7, **given),
        lambda z, fitted, X: 2 / z.shape[1] * z @ z.T,
        gaussian,
        5 / np.sqrt(4000),
    )


# Cosines: an entry is the mean of m products of variance below 1, so five standard errors at
# m = 4000. Nyström values are the kernel itself; whitened ones reproduce it at the landmarks, up
# to the jitter on their kernel, and approach it at the 50 of 300 rows that are not landmarks.
MAPS = {
    "fourier": cosines(FourierFeatures),
    "orthogonal": cosines(OrthogonalFeatures),
    "fastfood": cosines(FastfoodFeatures),
    "qmc": cosines(QuasiMonteCarloFeatures),
    "nystroem": Contract(
        lambda m, **given: NystroemFeatures(min(m, 250), random_state=7, **given),
        lambda z, fitted, X: z,
        lambda fitted, X: rbf_kernel(X - fitted.offset_, fitted.landmarks_, fitted.gamma_),
        1e-13,
    ),
    "whitened": Contract(
        lambda m, **given: NystroemFeatures(min(m, 250), whiten=True, random_state=7, **given),
        lambda z, fitted, X: z @ z.T,
        gaussian,
        0.2,
    ),
    "linear": Contract(
        lambda m, **given: LinearFeatures(None if m > 32 else m, **given),
        lambda z, fitted, X: z @ z.T,
        lambda fitted, X: linear_kernel(X - X.mean(axis=0)),
        1e-10,
    ),
    "joint": Contract(
        lambda m, **given: JointFeatures(
            [LinearFeatures(min(m, 5)), *([FourierFeatures(m - 5)] if m > 5 else [])],
            random_state=7,
            **given,
        ),
        lambda z, fitted, X: z[:, :5] @ z[:, :5].T + 2 / 3995 * z[:, 5:] @ z[:, 5:].T,
        lambda fitted, X: linear_kernel((X - X.mean(axis=0))[:, :5]) + gaussian(fitted.maps_[1], X),
        5 / np.sqrt(4000),
    ),
}


def test_every_map_with_a_name_is_held_to_the_contract():
    assert FEATURE_MAPS.keys() <= MAPS.keys()


NORMAL = np.random.default_rng(0).normal(size=(40, 2))
COSINES = [FourierFeatures, OrthogonalFeatures, FastfoodFeatures, QuasiMonteCarloFeatures]


@pytest.fixture(params=MAPS.values(), ids=MAPS.keys())
def contract(request):
    return request.param


@pytest.fixture(scope="module")
def rows(halves):
    return halves[0][:300]


@pytest.mark.parametrize("m", [1, 7, 32, 33, 70])
def test_first_features_are_those_of_a_larger_draw(contract, rows, m):
    longer = contract.make(100).fit(rows)
    whole = longer.n_features_out
    m = min(m, whole)
    shorter, prefix = contract.make(m).fit(rows), longer.prefix(m)
    assert (prefix.n_features_out, longer.n_features_out) == (m, whole)
    expected = longer.transform(rows)[:, :m]
    assert_allclose(shorter.transform(rows), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(prefix.transform(rows), expected, rtol=1e-12, atol=1e-12)
    assert prefix.fingerprint() == shorter.fingerprint()
    for name in longer._fitted_arrays:
        assert np.shares_memory(getattr(prefix, name), getattr(longer, name))


def test_fingerprint_tells_same_functions_from_others(contract, rows):
    fitted = contract.make(20).fit(rows)
    assert contract.make(20).fit(rows).fingerprint() == fitted.fingerprint()
    assert contract.make(7).fit(rows).fingerprint() != fitted.fingerprint()
    assert contract.make(20).fit(rows + 1).fingerprint() != fitted.fingerprint()


@pytest.mark.parametrize(
    ("given", "wanted", "found"),
    [
        *(
            (given, None, "float32" if given == "float32" else "float64")
            for given in ("float32", "float64", "uint8", "int64", "bool")
        ),
        ("float64", "float32", "float32"),
        ("float32", "float64", "float64"),
    ],
)
def test_dtype_is_kept_unless_the_map_has_one(contract, rows, given, wanted, found):
    fitted = contract.make(5, dtype=wanted).fit(rows.astype(given))
    assert fitted.transform(rows.astype(given)).dtype == found


@pytest.mark.parametrize("deviations", [0, 1000])
def test_float32_features_agree_with_float64(contract, rows, deviations):
    # One rounding of arguments of a few tens: |cos'|, |exp'| <= 1. Whitened features are computed
    # in float64 and only rounded; linear ones are as large as the data, up to 16. Cast to float32
    # first, data far from the origin would keep 1e-4 of a standard deviation.
    double = contract.make(20).fit(rows).transform(rows)
    moved = rows + deviations * rows.std()
    single = contract.make(20, dtype="float32").fit(moved).transform(moved)
    assert_allclose(single, double, rtol=1e-6, atol=2e-5)


def test_features_do_not_depend_on_how_rows_are_grouped(contract, rows):
    many = np.tile(rows, (14, 1))  # more than one chunk of transform
    fitted = contract.make(20).fit(rows)
    whole = fitted.transform(many)
    assert_allclose(whole[-300:], fitted.transform(rows), rtol=1e-11, atol=1e-11)
    assert_allclose(whole[-1:], fitted.transform(rows[-1:]), rtol=1e-11, atol=1e-11)


def test_features_stand_for_the_kernel(contract, rows):
    fitted = contract.make(4000).fit(rows)
    estimate = contract.estimate(fitted.transform(rows), fitted, rows)
    assert np.abs(estimate - contract.exact(fitted, rows)).max() <= contract.bound


@pytest.mark.parametrize("name", ["fourier", "orthogonal", "fastfood", "qmc"])
@pytest.mark.parametrize("columns", [1, 5, 32])
def test_cosine_features_are_the_stated_cosines(rows, name, columns):
    X = rows[:, -columns:] + rows[:, :1]  # no constant columns
    fitted = MAPS[name].make(70).fit(X)
    assert_allclose(fitted.transform(X), oracles.FEATURES[name](fitted, X), atol=1e-11)


@pytest.mark.parametrize("kind", COSINES)
def test_weights_and_phases_follow_their_laws(kind):
    fitted = kind(5000, gamma=0.3, random_state=0).fit(np.eye(4))
    weights = oracles.weights(fitted) / np.sqrt(2 * 0.3)
    for column in weights.T:
        assert scipy.stats.kstest(column, "norm").pvalue > 0.01
        assert abs(np.corrcoef(column, fitted.phases_)[0, 1]) < 4 / np.sqrt(5000)
    lengths = np.square(weights).sum(axis=1)
    assert scipy.stats.kstest(lengths, scipy.stats.chi2(4).cdf).pvalue > 0.01
    assert scipy.stats.kstest(fitted.phases_ / (2 * np.pi), "uniform").pvalue > 0.01


@pytest.mark.parametrize("kind", COSINES)
def test_streams_of_width_weights_and_phases_are_separate(rows, kind):
    given, median = (kind(5, gamma=gamma, random_state=0).fit(rows) for gamma in (0.5, "median"))
    assert_array_equal(given.phases_, median.phases_)
    scale = np.sqrt(given.gamma_ / median.gamma_)
    assert_allclose(oracles.weights(given), oracles.weights(median) * scale, rtol=1e-12)


def test_projections_are_orthogonal_in_blocks(rows):
    weights = OrthogonalFeatures(70, random_state=0).fit(rows).weights_
    for block in (weights[:32], weights[32:64], weights[64:]):
        products = block @ block.T
        assert_allclose(products, np.diag(np.diag(products)), atol=1e-12 * products.max())
    between = weights[:32] @ weights[32:64].T
    assert np.abs(between).max() > 0.1 * np.square(weights).sum(axis=1).max()


@pytest.mark.parametrize("kind", [OrthogonalFeatures, QuasiMonteCarloFeatures])
def test_kernel_error_is_below_that_of_independent_draws(kind):
    X = np.random.default_rng(0).normal(size=(60, 4))
    exact = rbf_kernel(X, gamma=0.1)

    def error(kind, seed):
        z = kind(512, gamma=0.1, random_state=seed).fit_transform(X)
        return np.linalg.norm(2 / 512 * z @ z.T - exact)

    independent, ours = (
        np.mean([error(each, seed) for seed in range(20)]) for each in (FourierFeatures, kind)
    )
    assert ours < 0.9 * independent


@pytest.mark.parametrize("exponent", range(10))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fast_transform_is_the_hadamard_matrix(exponent, dtype):
    x = np.random.default_rng(0).normal(size=(2**exponent, 3)).astype(dtype)
    before = x.copy()
    product, other = hadamard_transform(x, np.empty_like(x), np.empty_like(x))
    expected = scipy.linalg.hadamard(2**exponent) @ x.astype(np.float64)
    assert product.dtype == dtype
    assert_allclose(product, expected, atol=40 * 2**exponent * np.finfo(dtype).eps)
    assert_array_equal(x, before)
    assert not np.shares_memory(product, other)


def test_fastfood_maps_rows_strip_by_strip():
    X = np.random.default_rng(0).normal(size=(40, 5000))  # strips of 16 rows
    fitted = FastfoodFeatures(60, gamma=1e-4, random_state=0).fit(X)
    one_by_one = np.vstack([fitted.transform(row) for row in X[:, None]])
    assert_allclose(fitted.transform(X), one_by_one, atol=1e-11)


def test_landmarks_are_distinct_training_rows_or_given(rows):
    fitted = NystroemFeatures(300, random_state=0).fit(rows)
    landmarks = fitted.landmarks_ + fitted.offset_
    assert_allclose(np.sort(landmarks, axis=0), np.sort(rows, axis=0), atol=1e-12)
    fitted = NystroemFeatures(landmarks=rows[:4], gamma=0.01).fit(rows)
    assert_allclose(fitted.transform(rows), rbf_kernel(rows, rows[:4], gamma=0.01), atol=1e-13)


FAR_APART = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[-1e4], [1e4]], 300, axis=0)


# A wide kernel: the inverse factor is near 1e5, and float32 kernel values would be noise.
@pytest.mark.parametrize(
    ("X", "m", "gamma", "whiten", "atol"),
    [
        (load_digits().data[:300, :32], 200, 1e-6, True, 1e-12),
        (FAR_APART, 100, 1.0, True, 1e-7),
        (FAR_APART, 100, 1.0, False, 1e-7),
    ],
)
def test_float32_landmarks_neither_cancel_nor_lose_the_inverse(X, m, gamma, whiten, atol):
    given = {"gamma": gamma, "whiten": whiten, "random_state": 0}
    double, single = (
        NystroemFeatures(m, **given, dtype=dtype).fit_transform(X)
        for dtype in ("float64", "float32")
    )
    assert single.dtype == np.float32
    assert_allclose(single, double, rtol=1e-6, atol=atol)


def test_kernels_of_rows_far_from_the_mean_are_the_stated_ones():
    landmarks = FAR_APART[np.random.default_rng(0).permutation(600)[:100]]
    own = NystroemFeatures(landmarks=landmarks, gamma=1.0).fit(FAR_APART)
    squared = ((FAR_APART[:, None] - landmarks) ** 2).sum(axis=-1)
    # Coordinates of 1e4 leave squared distances an error of 1e8 times eps.
    assert_allclose(own.transform(FAR_APART), np.exp(-squared), atol=1e-6)


@pytest.mark.parametrize(
    ("X", "repeats", "atol"),
    [(load_digits().data[:300], 1, 1e-8), (NORMAL[:3], 5, 1e-6), (NORMAL[:40], 5, 1e-6)],
)
def test_whitened_features_reproduce_the_kernel_of_landmarks_even_repeated(X, repeats, atol):
    many = np.tile(X, (repeats, 1))
    fitted = NystroemFeatures(len(many), whiten=True, random_state=0).fit(many)
    z = fitted.transform(X)
    assert_allclose(z @ z.T, gaussian(fitted, X), atol=atol)


def test_median_gamma_is_one_over_the_median_squared_distance(halves):
    X = halves[0][:100]
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    exact = 1 / np.median(squared[squared > 0])
    # 4,000 pairs put the sample median within a few per cent of the median.
    assert median_gamma(X, random_state=0) == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0] * 999 + [3.0], 1 / 9), ([0.0, 1e-100], 1e200), ([0.0, 1e100], 1e-200)],
)
def test_median_gamma_leaves_out_equal_rows_and_takes_extreme_scales(values, expected):
    assert median_gamma(np.array(values)[:, None], random_state=0) == pytest.approx(expected)


class ScaledFeatures(FourierFeatures):
    """A user's map with a setting that none of its fitted arrays shows."""

    def __init__(self, n_features=10, *, scale=1.0, gamma=1.0, random_state=0, dtype=None):
        super().__init__(n_features, gamma=gamma, random_state=random_state, dtype=dtype)
        self.scale = scale


def test_fingerprints_tell_settings_apart_and_prefixes_not(rows):
    prints = {scale: ScaledFeatures(scale=scale).fit(rows).fingerprint() for scale in (1.0, 2.0)}
    assert prints[1.0] != prints[2.0]
    longer = ScaledFeatures(20).fit(rows).prefix(10)
    assert longer.fingerprint() == prints[1.0]


def test_a_map_that_lacks_a_method_says_which(rows):
    with pytest.raises(NotImplementedError, match=r"FeatureMap defines no _draw\(view\)"):
        FeatureMap().fit(rows)


def test_a_seed_reaches_every_map_and_estimators_take_joint_ones(rows):
    maps = [LinearFeatures(), FourierFeatures(6)]
    one, other = (JointFeatures(maps, random_state=seed).fit(rows) for seed in (0, 1))
    assert one.fingerprint() != other.fingerprint()
    model = RPCA(2, feature_map=JointFeatures(maps)).fit_chunks([rows[:20], rows[20:]])
    assert model.map_.n_features_out == 38
    with pytest.raises(ValueError, match="features are float32 or float64"):
        JointFeatures(maps, dtype="float16").fit(rows)
