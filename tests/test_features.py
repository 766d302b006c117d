"""One contract for every feature map, and what is particular to each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

import oracles
from rnca import FourierFeatures, LinearFeatures, NystroemFeatures, median_gamma


@dataclass(frozen=True)
class Contract:
    """How to make a map with m features, and the kernel its features stand for."""

    make: Callable
    estimate: Callable  # features of all rows, fitted map, rows → kernel matrix
    exact: Callable  # fitted map, rows → kernel matrix
    bound: float  # on the largest error of an entry


def gaussian(fitted, X):
    return rbf_kernel(X, gamma=fitted.gamma_)


# Fourier: an entry is the mean of m products of variance below 1, so five standard errors at
# m = 4000. Nyström values are the kernel itself; whitened ones reproduce it at the landmarks, up
# to the jitter on their kernel, and approach it at the 50 of 300 rows that are not landmarks.
MAPS = {
    "fourier": Contract(
        lambda m, **given: FourierFeatures(m, random_state=7, **given),
        lambda z, fitted, X: 2 / z.shape[1] * z @ z.T,
        gaussian,
        5 / np.sqrt(4000),
    ),
    "nystroem": Contract(
        lambda m, **given: NystroemFeatures(min(m, 250), random_state=7, **given),
        lambda z, fitted, X: z,
        lambda fitted, X: rbf_kernel(X - fitted.offset_, fitted.landmarks_, fitted.gamma_),
        1e-13,
    ),
    "nystroem-whitened": Contract(
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
}


@pytest.fixture(params=MAPS.values(), ids=MAPS.keys())
def contract(request):
    return request.param


@pytest.fixture(scope="module")
def rows(halves):
    return halves[0][:300]


def test_first_features_are_those_of_a_larger_draw(contract, rows):
    longer = contract.make(20).fit(rows)
    shorter = contract.make(7).fit(rows)
    expected = longer.transform(rows)[:, :7]
    assert_allclose(shorter.transform(rows), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(longer.prefix(7).transform(rows), expected, rtol=1e-12, atol=1e-12)


def test_fingerprint_tells_same_functions_from_others(contract, rows):
    fitted = contract.make(20).fit(rows)
    assert contract.make(20).fit(rows).fingerprint() == fitted.fingerprint()
    assert contract.make(7).fit(rows).fingerprint() == fitted.prefix(7).fingerprint()
    assert contract.make(7).fit(rows).fingerprint() != fitted.fingerprint()
    assert contract.make(20).fit(rows + 1).fingerprint() != fitted.fingerprint()


@pytest.mark.parametrize("given", [np.float32, np.float64, np.uint8, np.int64, bool])
def test_dtype_is_kept(contract, rows, given):
    z = contract.make(5).fit(rows.astype(given)).transform(rows.astype(given))
    assert z.dtype == (np.float32 if given is np.float32 else np.float64)


@pytest.mark.parametrize("wanted", ["float32", "float64"])
def test_dtype_of_the_map_overrules_the_input(contract, rows, wanted):
    assert contract.make(5, dtype=wanted).fit(rows).transform(rows).dtype == wanted


def test_float32_features_agree_with_float64(contract, rows):
    # One rounding of arguments of a few tens: |cos'|, |exp'| <= 1. Whitened features are computed
    # in float64 and only rounded; linear ones are as large as the data, up to 16.
    double = contract.make(20).fit(rows).transform(rows)
    single = contract.make(20, dtype="float32").fit(rows).transform(rows)
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


def test_float32_survives_data_far_from_the_origin(contract, rows):
    # Cast to float32 first, such data would keep 1e-4 of a standard deviation.
    near = contract.make(20, dtype="float32").fit(rows).transform(rows)
    moved = rows + 1000 * rows.std()
    far = contract.make(20, dtype="float32").fit(moved).transform(moved)
    assert_allclose(far, near, rtol=1e-6, atol=2e-5)


def test_feature_names(contract, rows):
    fitted = contract.make(3).fit(rows)
    prefix = type(fitted).__name__.lower()
    assert_array_equal(fitted.get_feature_names_out(), [f"{prefix}{i}" for i in range(3)])
    assert list(fitted.set_output(transform="pandas").transform(rows).columns) == [
        f"{prefix}{i}" for i in range(3)
    ]


def test_a_prefix_shares_memory_and_leaves_the_whole_alone(contract, rows):
    fitted = contract.make(20).fit(rows)
    shorter = fitted.prefix(4)
    assert (shorter.n_features_out, fitted.n_features_out) == (4, 20)
    for name in fitted._fitted_arrays:
        assert np.shares_memory(getattr(shorter, name), getattr(fitted, name))


@pytest.mark.parametrize("kind", [FourierFeatures, NystroemFeatures])
def test_seeds_make_draws(rows, kind):
    def draw(seed):
        return kind(6, random_state=seed).fit(rows).transform(rows)

    assert_array_equal(draw(3), draw(3))
    assert_array_equal(draw(np.random.default_rng(3)), draw(np.random.default_rng(3)))
    assert_array_equal(draw(np.random.RandomState(3)), draw(np.random.RandomState(3)))
    generators = np.random.default_rng(3), np.random.RandomState(3)
    for one, other in ((3, 4), *zip(generators, generators, strict=True)):  # a generator moves on
        assert np.abs(draw(one) - draw(other)).max() > 0.1
    assert np.abs(draw(None) - draw(None)).max() > 0.1


def test_fourier_features_are_the_stated_cosines(rows):
    fitted = FourierFeatures(9, random_state=0).fit(rows)
    assert_allclose(fitted.transform(rows), oracles.fourier(fitted, rows), atol=1e-12)


def test_fourier_weights_and_phases_follow_their_laws():
    fitted = FourierFeatures(5000, gamma=0.3, random_state=0).fit(np.eye(4))
    weights = fitted.weights_.ravel() / np.sqrt(2 * 0.3)
    assert scipy.stats.kstest(weights, "norm").pvalue > 0.01
    assert scipy.stats.kstest(fitted.phases_ / (2 * np.pi), "uniform").pvalue > 0.01
    assert abs(np.corrcoef(weights[::4], fitted.phases_)[0, 1]) < 4 / np.sqrt(5000)


def test_streams_of_width_weights_and_phases_are_separate(rows):
    given, median = (
        FourierFeatures(5, gamma=gamma, random_state=0).fit(rows) for gamma in (0.5, "median")
    )
    assert_array_equal(given.phases_, median.phases_)
    scale = np.sqrt(given.gamma_ / median.gamma_)
    assert_allclose(given.weights_, median.weights_ * scale, rtol=1e-12)


def test_landmarks_are_distinct_training_rows(rows):
    fitted = NystroemFeatures(300, random_state=0).fit(rows)
    landmarks = fitted.landmarks_ + fitted.offset_
    assert_allclose(np.sort(landmarks, axis=0), np.sort(rows, axis=0), atol=1e-12)


def test_landmarks_can_be_given(rows):
    fitted = NystroemFeatures(landmarks=rows[:4], gamma=0.01).fit(rows)
    assert_allclose(fitted.transform(rows), rbf_kernel(rows, rows[:4], gamma=0.01), atol=1e-13)


def test_whitened_features_reproduce_the_kernel_of_the_landmarks(rows):
    fitted = NystroemFeatures(300, whiten=True, random_state=0).fit(rows)
    z = fitted.transform(rows)
    assert_allclose(z @ z.T, gaussian(fitted, rows), atol=1e-8)


def test_whitening_is_computed_in_float64(rows):
    # A wide kernel: the inverse factor is near 1e5, and float32 kernel values would be noise.
    double, single = (
        NystroemFeatures(200, gamma=1e-6, whiten=True, random_state=0, dtype=dtype)
        .fit(rows)
        .transform(rows)
        for dtype in ("float64", "float32")
    )
    assert_allclose(single, double, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("n_distinct", [3, 40])
def test_whitening_survives_repeated_landmarks(n_distinct):
    X = np.random.default_rng(0).normal(size=(n_distinct, 2))
    many = np.tile(X, (5, 1))
    fitted = NystroemFeatures(len(many), whiten=True, random_state=0).fit(many)
    z = fitted.transform(X)
    assert_allclose(z @ z.T, gaussian(fitted, X), atol=1e-6)


def test_linear_features_keep_leading_columns(rows):
    z = LinearFeatures(3).fit_transform(rows)
    assert_allclose(z, (rows - rows.mean(axis=0))[:, :3], atol=1e-12)


def test_median_gamma_is_one_over_the_median_squared_distance(halves):
    X = halves[0][:100]
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    exact = 1 / np.median(squared[squared > 0])
    # 4,000 pairs put the sample median within a few per cent of the median.
    assert median_gamma(X, random_state=0) == pytest.approx(exact, rel=0.05)


def test_median_gamma_leaves_out_pairs_of_equal_rows():
    X = np.repeat([[0.0], [3.0]], [999, 1], axis=0)
    assert median_gamma(X, random_state=0) == pytest.approx(1 / 9)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_median_gamma_at_extreme_scales(scale):
    assert median_gamma(np.array([[0.0], [scale]]), random_state=0) == pytest.approx(scale**-2)
