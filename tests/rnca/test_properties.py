"""What must not change the answer, on data that hypothesis chooses.

float64 throughout. Correlations agree to 1e-9 where the transformed data carry the same digits,
and to 1e-7 where the transformation itself rounds them.
"""

from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rnca import RCCA, RPCA, FourierFeatures, Moments, NystroemFeatures
from rnca.rows import grid, rechunk, shard_bounds

seeds = st.integers(0, 2**32 - 1)
kernel_kinds = st.sampled_from(["fourier", "nystroem"])
K, REG = 3, 1e-3


@st.composite
def views(draw):
    """Two views with a common signal: 40 to 120 rows, 2 to 6 columns."""
    rng = np.random.default_rng(draw(seeds))
    n, p, q = draw(st.integers(40, 120)), draw(st.integers(3, 6)), draw(st.integers(3, 6))
    common = rng.normal(size=(n, 2))
    X = np.c_[common, rng.normal(size=(n, p - 2))] @ rng.normal(size=(p, p))
    Y = np.c_[common**2, rng.normal(size=(n, q - 2))] @ rng.normal(size=(q, q))
    return X, Y


def orthogonal(seed, d):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def fit(X, Y, kind="fourier", **given):
    settings = {"n_features": 15, "gamma": 0.05, "reg": REG, "random_state": 0, **given}
    return RCCA(K, feature_map=kind, dtype="float64", **settings).fit(X, Y)


def assume_separate(model):
    """Leave out correlations too close for their variables (the last one's aside) to be told."""
    assume(np.diff(model.correlations_).max() < -1e-3)


def assert_same(model, other, atol=1e-9):
    assert_allclose(model.correlations_, other.correlations_, rtol=0, atol=atol)


@given(views(), seeds)
def test_linear_maps_that_a_kind_of_features_does_not_see(data, seed):
    X, Y = data
    Q, R = orthogonal(seed, X.shape[1]), orthogonal(seed, Y.shape[1])
    # Linear features without reg: invertible ones.
    A = Q * 2.0 ** np.arange(X.shape[1])
    assert_same(fit(X, Y, "linear", reg=0.0), fit(X @ A + 3, Y * -5, "linear", reg=0.0), 1e-7)
    # Landmarks are rows by number, and the kernel sees distances only: rotations.
    assert_same(fit(X, Y, "nystroem"), fit(X @ Q, Y @ R, "nystroem"))


@given(views(), seeds)
def test_fourier_features_of_rotated_rows_are_those_of_rotated_weights(data, seed):
    # A draw of W is not invariant, only its law; turned with the rows it gives the same features.
    X, _ = data
    Q = orthogonal(seed, X.shape[1])
    fitted = FourierFeatures(9, gamma=0.1, random_state=0).fit(X)
    turned = FourierFeatures(9, gamma=0.1, random_state=0).fit(X @ Q)
    turned.weights_ = fitted.weights_ @ Q
    assert_allclose(turned.transform(X @ Q), fitted.transform(X), atol=1e-10)


@given(views(), seeds)
def test_the_order_of_rows_does_not_matter(data, seed):
    X, Y = data
    order = np.random.default_rng(seed).permutation(len(X))
    for kind in ("fourier", "linear"):
        model, other = fit(X, Y, kind), fit(X[order], Y[order], kind)
        assert_same(model, other)
        assume_separate(model)
        U, V = model.transform(X)[order], other.transform(X[order])
        assert_allclose(np.abs(V[:, :-1]), np.abs(U[:, :-1]), atol=1e-6)


@given(views(), kernel_kinds, st.integers(-(10**6), 10**6), st.integers(-40, 40))
def test_place_and_scale_with_its_width_do_not_matter(data, kind, distance, exponent):
    X, Y = data
    fixed, median = fit(X, Y, kind), fit(X, Y, kind, gamma="median")
    # A translation by 10^6 keeps 10 digits of the data.
    assert_same(fixed, fit(X + distance, Y - distance, kind), 1e-7)
    assert_same(median, fit(X + distance, Y, kind, gamma="median"), 1e-7)
    # Powers of two are exact.
    scale = 2.0**exponent
    assert_same(fixed, fit(X * scale, Y, kind, gamma=(0.05 / scale**2, 0.05)))
    assert_same(median, fit(X * scale, Y, kind, gamma="median"))


@given(views())
def test_swapping_the_views_swaps_the_bases(data):
    X, Y = data
    maps = FourierFeatures(12, random_state=1), NystroemFeatures(14, random_state=2)
    model, swapped = fit(X, Y, maps, reg=(1e-3, 1e-2)), fit(Y, X, maps[::-1], reg=(1e-2, 1e-3))
    assert_same(model, swapped)
    assume_separate(model)
    U, V = model.transform(X, Y)
    Q, P = swapped.transform(Y, X)
    assert_allclose(np.abs(P[:, :-1]), np.abs(U[:, :-1]), atol=1e-6)
    assert_allclose(np.abs(Q[:, :-1]), np.abs(V[:, :-1]), atol=1e-6)


@given(views(), kernel_kinds, st.integers(1, K))
def test_fewer_components_are_the_first_ones(data, kind, k):
    X, Y = data
    many = fit(X, Y, kind)
    few = many.__class__(**{**many.get_params(deep=False), "n_components": k}).fit(X, Y)
    assert_allclose(few.correlations_, many.correlations_[:k], atol=1e-12)
    pca = RPCA(K, n_features=10, random_state=0).fit(X)
    fewer = RPCA(k, n_features=10, random_state=0).fit(X)
    assert_allclose(fewer.explained_variance_, pca.explained_variance_[:k], atol=1e-12)


@given(views(), kernel_kinds)
def test_a_fit_repeats_to_the_last_bit_with_fixed_signs(data, kind):
    model, again = fit(*data, kind), fit(*data, kind)
    assert_array_equal(model.F_, again.F_)
    assert_array_equal(model.G_, again.G_)
    assert (model.F_[np.abs(model.F_).argmax(axis=0), range(K)] > 0).all()


@given(views(), kernel_kinds)
def test_correlations_decrease_within_bounds_and_reg_shrinks_them(data, kind):
    light, heavy = fit(*data, kind), fit(*data, kind, reg=1.0)
    assert (np.diff(light.correlations_) <= 0).all()
    assert (light.correlations_ >= 0).all()
    assert (light.correlations_ <= 1 + 1e-9).all()
    assert (heavy.correlations_ <= light.correlations_ + 1e-9).all()


@given(views(), kernel_kinds, st.integers(K, 15), st.integers(K, 15))
def test_more_features_correlate_no_less(data, kind, m_x, m_y):
    # Without reg the smaller spaces lie within the larger ones.
    X, Y = data
    model = fit(X, Y, kind, reg=1e-9)
    (member,) = model.path([(m_x, m_y)])
    assert (member.correlations_ <= model.correlations_ + 1e-4).all()


@given(
    seeds,
    st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(lambda sizes: sum(sizes) > 1),
    st.floats(-1e6, 1e6),
)
def test_moments_of_any_parts_in_any_tree(seed, sizes, mean):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(sum(sizes), 5)) + mean
    parts = [
        Moments(3, 2).update(part[:, :3], part[:, 3:])
        for part in np.split(z, np.cumsum(sizes)[:-1])
    ]
    while len(parts) > 1:
        i = rng.integers(len(parts) - 1)
        parts[i].merge(parts.pop(i + 1))
    expected = np.cov(z.T)
    atol = 1e-10 * max(1.0, abs(mean) * 1e-4)
    assert_allclose(parts[0].covariance(0, 0), expected[:3, :3], rtol=1e-9, atol=atol)
    assert_allclose(parts[0].covariance(0, 1), expected[:3, 3:], rtol=1e-9, atol=atol)
    assert_allclose(parts[0].mean(1), z[:, 3:].mean(axis=0), rtol=1e-12, atol=1e-12)


@given(st.integers(1, 500), st.integers(1, 60), st.data())
def test_shards_cover_all_rows_once_on_the_grid(n, size, data):
    chunks = -(-n // size)
    shards = data.draw(st.integers(1, chunks))
    bounds = shard_bounds(n, shards, size)
    assert (bounds[0][0], bounds[-1][1]) == (0, n)
    assert all(stop == start for (_, stop), (start, _) in pairwise(bounds))
    assert all(start % size == 0 and start < stop for start, stop in bounds)
    lengths = [-(-(stop - start) // size) for start, stop in bounds]
    assert max(lengths) - min(lengths) <= 1
    assert [c for b in bounds for c in grid(*b, size)] == list(grid(0, n, size))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.integers(1, 40))
def test_rechunking_keeps_rows_and_their_order(sizes, size):
    x = np.arange(float(2 * sum(sizes))).reshape(-1, 2)
    cuts = np.cumsum(sizes)[:-1]
    pieces = list(rechunk(zip(np.split(x, cuts), np.split(-x, cuts), strict=True), size, "XY"))
    assert_array_equal(np.concatenate([piece[0].data for piece in pieces]), x)
    assert_array_equal(np.concatenate([piece[1].data for piece in pieces]), -x)
    assert all(len(piece[0]) == size for piece in pieces[:-1])
    assert 1 <= len(pieces[-1][0]) <= size
