"""RPCA against the eigendecomposition of np.cov, and against exact kernel PCA as m grows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from rnca import RPCA, NystroemFeatures, median_gamma
from rnca._core.rows import shard_bounds
from workflow.lib.exact import kernel_pca


def rpca(kind="fourier", dtype="float64", m=80, **given):
    return RPCA(
        **{"n_components": 8, "random_state": 0, "n_features": m, **given},
        feature_map=kind,
        dtype=dtype,
    )


def relative_error(values, expected):
    return np.abs(values - expected).max() / expected[0]


@pytest.mark.parametrize("kind", oracles.FEATURES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-7)])
def test_variances_and_components_are_the_oracles(halves, kind, dtype, tolerance):
    # No inverse is taken, so that float32 costs one rounding of the features, whatever the map.
    X, _ = halves
    # By its name it would be whitened.
    own = NystroemFeatures(80, random_state=0) if kind == "nystroem" else kind
    model = rpca(own, dtype).fit(X)
    z = oracles.FEATURES[kind](model.map_, X)
    values, vectors = oracles.pca(z, 8)
    assert relative_error(model.explained_variance_, values) < tolerance
    total = np.trace(np.cov(z.T))
    assert_allclose(model.explained_variance_ratio_, values / total, atol=tolerance)
    components = (z - z.mean(axis=0)) @ vectors
    found = oracles.align(model.transform(X), components)
    assert_allclose(found, components, atol=1e4 * tolerance * np.abs(components).max())
    assert_allclose(model.components_ @ model.components_.T, np.eye(8), atol=1e-12)
    assert (model.components_[range(8), np.abs(model.components_).argmax(axis=1)] > 0).all()


def test_the_krylov_path_gives_the_oracles_answer(halves, krylov_calls):
    X, _ = halves
    model = rpca(m=450).fit(X)
    assert krylov_calls
    values, _ = oracles.pca(oracles.fourier(model.map_, X), 8)
    assert relative_error(model.explained_variance_, values) < 1e-10


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-7)])
def test_chunks_shards_and_streams_do_not_matter(halves, dtype, tolerance):
    X, _ = halves
    expected = rpca(dtype=dtype).fit(X).explained_variance_
    chunked = rpca(dtype=dtype, chunk_size=77).fit(X)
    assert relative_error(chunked.explained_variance_, expected) < tolerance
    first, *rest = [
        chunked.accumulate(X, start, stop) for start, stop in shard_bounds(len(X), 4, 77)
    ]
    for moments in rest:
        first.merge(moments)
    assert relative_error(chunked.solve(first).explained_variance_, expected) < tolerance
    streamed = rpca(dtype=dtype, chunk_size=2000).fit_chunks(np.split(X, [5, 1000]))
    assert relative_error(streamed.explained_variance_, expected) < tolerance


def test_constant_data_have_no_variance():
    model = rpca(gamma=1.0, m=10).fit(np.ones((20, 3)))
    # Subtracting the mean, rounded to float32, leaves up to 2^-25 of a feature. Rounding in float64
    # leaves 2e-30 of the sum of squares of ten features, 9e-15. Ratios are relative to 5e-29.
    assert_allclose(model.explained_variance_, 0, atol=1e-29)
    assert_allclose(model.explained_variance_ratio_, 0, atol=0.2)


def test_error_to_exact_kernel_pca_falls_as_one_over_root_m(halves):
    X = halves[0][:300]
    gamma, sizes = median_gamma(X, random_state=0), (64, 128, 256, 512)
    exact = kernel_pca(X, 8, gamma=gamma).eigenvalues

    def error(m):
        fits = [rpca(m=m, gamma=gamma, random_state=100 * m + seed).fit(X) for seed in range(40)]
        found = 2 * (len(X) - 1) / m * np.array([fit.explained_variance_ for fit in fits])
        return np.sqrt(np.mean((found - exact) ** 2))

    errors = [error(m) for m in sizes]
    assert oracles.log_slope(sizes, errors) == pytest.approx(-0.5, abs=0.15)
    assert errors[-1] < 0.05 * exact[0]


def test_whitened_landmarks_approach_exact_kernel_pca(halves):
    X = halves[0][:300]
    gamma = median_gamma(X, random_state=0)
    exact = kernel_pca(X, 8, gamma=gamma)
    fits = [rpca(NystroemFeatures(m, gamma=gamma, whiten=True)).fit(X) for m in (30, 75, 150, 300)]
    errors = [
        relative_error((len(X) - 1) * model.explained_variance_, exact.eigenvalues)
        for model in fits
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[3] < 1e-8  # every row a landmark: exact but for the jitter of 1e-10
    assert_allclose(oracles.align(fits[3].transform(X), exact.scores), exact.scores, atol=1e-6)
