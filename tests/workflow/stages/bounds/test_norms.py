"""Norms against dense computation; the theorems' bounds where they hold and where they do not."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from rnca.features import FourierFeatures
from workflow.stages.bounds.norms import (
    ExactKernel,
    FeatureKernel,
    cca_bound,
    cca_errors,
    correlation_bound,
    frobenius_bound,
    kernel_bound,
    kernel_error,
    landmark_bound,
    limiting_cca_error,
    proved_cca_bound,
    squared_correlations,
    whitened_correlation_bound,
)

N = 60
GAMMAS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]


def draw(n, m, widths, seed):
    """Kernel matrices of two normal views, and unscaled features for each."""
    rng = np.random.default_rng(seed)
    rows = [rng.standard_normal((n, 10)) for _ in widths]
    kernels = [rbf_kernel(x, gamma=s) for x, s in zip(rows, widths, strict=True)]
    features = [
        FourierFeatures(m, gamma=s, random_state=int(rng.integers(2**31))).fit_transform(x)
        for x, s in zip(rows, widths, strict=True)
    ]
    return kernels, features


def estimates(features):
    return [2 / z.shape[1] * z @ z.T for z in features]


def dense_cca_errors(exact, estimate, gamma):
    I = gamma * np.eye(len(exact[0]))  # noqa: E741
    return [
        np.linalg.norm(
            np.linalg.solve(estimate[i] + I, estimate[j]) - np.linalg.solve(exact[i] + I, exact[j]),
            2,
        )
        for i, j in ((0, 1), (1, 0))
    ]


def fast_cca_errors(kernels, features, gamma):
    exact = tuple(ExactKernel(K).regularised(gamma) for K in kernels)
    return cca_errors(exact, tuple(FeatureKernel(z).regularised(gamma) for z in features))


@pytest.mark.parametrize("m", [1, 20, N, 150])
@pytest.mark.parametrize("widths", [(0.05, 0.05), (0.003, 0.05), (10.0, 0.001)])
def test_norms_are_those_of_dense_matrices(m, widths):
    kernels, features = draw(N, m, widths, seed=m)
    for K, K_hat, z in zip(kernels, estimates(features), features, strict=True):
        error = kernel_error(ExactKernel(K), FeatureKernel(z))
        assert_allclose(error, np.linalg.norm(K_hat - K, 2), rtol=1e-6)
        assert_allclose(ExactKernel(K).norm(), np.linalg.norm(K, 2), rtol=1e-6)
    for gamma in GAMMAS:
        expected = dense_cca_errors(kernels, estimates(features), gamma)
        assert_allclose(fast_cca_errors(kernels, features, gamma), expected, rtol=1e-6)


def test_norm_is_found_where_the_largest_eigenvalue_is_negative_and_has_a_near_double():
    K, z = np.diag([5.0, 4.999999, 0.1]), np.zeros((3, 1))
    assert_allclose(kernel_error(ExactKernel(K), FeatureKernel(z)), 5.0, rtol=1e-6)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("n", [25, N])
def test_factored_kernel_has_that_of_the_first_rows_in_it(n, overwrite):
    (K, _), _ = draw(N, 1, (0.05, 0.05), seed=0)
    expected, v = K[:n, :n].copy(), np.arange(float(n))
    leading = ExactKernel(K).factored(0.1, overwrite=overwrite).leading(n)
    assert_allclose(leading(v), expected @ v, rtol=1e-12)
    assert_allclose(leading.inverse(v), np.linalg.solve(expected + 0.1 * np.eye(n), v), rtol=1e-9)
    assert_allclose(leading.norm(), np.linalg.norm(expected, 2), rtol=1e-6)
    assert (K[:n, :n] == expected).all() != overwrite


def test_matrix_that_is_no_kernel_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match=r"γ = 0\.5 is not positive definite"):
        ExactKernel(-np.eye(3)).regularised(0.5)


def test_unit_features_at_gamma_are_unbiased_ones_at_twice_gamma():
    kernels, features = draw(N, 20, (0.05, 0.01), seed=3)
    halved = [K / 2 for K in kernels], [K_hat / 2 for K_hat in estimates(features)]
    assert_allclose(
        fast_cca_errors(kernels, features, 2e-3), dense_cca_errors(*halved, 1e-3), rtol=1e-6
    )


def test_squared_correlations_are_the_squared_eigenvalues_of_the_papers_matrices():
    kernels, features = draw(30, 45, (0.05, 0.02), seed=5)
    for Kx, Ky in (kernels, estimates(features)):
        zero, I = np.zeros_like(Kx), 0.1 * np.eye(30)  # noqa: E741
        R = scipy.linalg.block_diag(Kx + I, Ky + I)
        eigenvalues = scipy.linalg.eigvals(np.linalg.solve(R, np.block([[zero, Ky], [Kx, zero]])))
        expected = np.sort(eigenvalues.real)[::-1][:30] ** 2
        assert_allclose(squared_correlations((Kx, Ky), 0.1), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("m", [1, 20, 200])
@pytest.mark.parametrize("n", [4, N])
@pytest.mark.parametrize("width", [0.0535, 0.003, 1.0])
def test_theorem_3_bounds_the_mean_as_printed(width, n, m):
    errors, norms = [], []
    for seed in range(20):
        (K, _), (z, _) = draw(n, m, (width, width), seed)
        errors.append(kernel_error(ExactKernel(K), FeatureKernel(z)))
        norms.append(ExactKernel(K).norm())
    assert np.mean(errors) < kernel_bound(n, m, norm=min(norms)) <= kernel_bound(n, m)


@pytest.mark.parametrize("width", [0.0535, 0.003, 10.0])
def test_every_step_of_the_proof_of_theorem_3(width):
    """The steps of docs/theory.md: 1, 3 and 4 for every draw, 2 for the mean over many."""
    n, draws = 8, 20_000
    (K, _), (z, _) = draw(n, draws, (width, width), seed=0)
    z = np.sqrt(2) * z.astype(float)
    squared = (z**2).sum(axis=0)
    assert squared.max() <= 2 * n  # step 1
    mean = (squared * z) @ z.T / draws  # of ‖z‖²·zzᵀ
    # A mean of matrices of norm at most (2n)² leaves a few (2n)²/√draws.
    rounding = 5 * (2 * n) ** 2 / np.sqrt(draws)
    errors = z.T[:, :, None] * z.T[:, None, :] - K
    assert np.linalg.norm((errors @ errors).mean(axis=0) - (mean - K @ K), 2) < rounding  # 2
    assert scipy.linalg.eigvalsh(2 * n * K - K @ K - (mean - K @ K)).min() > -rounding
    spectrum = scipy.linalg.eigvalsh(K)
    assert spectrum.min() > -1e-12
    assert spectrum.max() <= n
    assert (2 * n * spectrum - spectrum**2).max() <= n**2  # step 3
    norms = np.linalg.norm(errors, 2, axis=(1, 2))
    assert (norms <= np.maximum(squared, spectrum.max()) + 1e-9).all()  # step 4


def test_unit_features_against_the_kernel_itself_break_the_literal_bound():
    m = 20_000
    (K, _), (z, _) = draw(N, m, (0.003, 0.003), seed=0)
    assert np.linalg.norm(z @ z.T / m - K, 2) > kernel_bound(N, m)
    assert np.linalg.norm(z @ z.T / m - K / 2, 2) < kernel_bound(N, m) / 2


def test_bounds_are_the_printed_formulas():
    n, m, gamma = 700, 90, 0.01
    printed = np.sqrt(3 * n**2 * np.log(n) / m) + 2 * n * np.log(n) / m
    assert_allclose(kernel_bound(n, m), printed)
    sharp = np.sqrt(3 * 9 * (2 * n - 9) * np.log(n) / m) + 2 * n * np.log(n) / m
    assert_allclose(kernel_bound(n, m, norm=9), sharp)
    fourth = (np.sqrt(3 * n**2 * np.log(2 * n) / m) + 2 * n * np.log(2 * n) / m) / gamma
    assert_allclose(cca_bound(n, m, gamma), fourth)
    assert_allclose(frobenius_bound(n, m), n * np.sqrt(1.5 / m))
    assert_allclose(frobenius_bound(n, m, gaussian=True), n / np.sqrt(m))
    assert_allclose(correlation_bound(n, m, gamma), 2 * n / gamma * np.sqrt(1.5 / m))
    whitened = 2 * (3 + 4) * np.sqrt(2 * n / (gamma * m))
    assert_allclose(whitened_correlation_bound(n, m, gamma, (9.0, 16.0)), whitened)
    assert_allclose(proved_cca_bound(n, m, gamma, norm=3.0), 301 * n * np.sqrt(3 / m) / gamma)
    assert proved_cca_bound(n, m, gamma, norm=3.0) < 301 * fourth
    assert_allclose(landmark_bound(n, m), n / np.sqrt(m) * np.sqrt((n - m) / (n - 1)))
    double = (np.sqrt(6 * n**2 * np.log(2 * n) / m) + 4 * n * np.log(2 * n) / m) / gamma
    assert_allclose(cca_bound(n, m, gamma, factor=2), double)


@pytest.mark.parametrize(("n", "m", "gamma"), [(1000, 500, 1e-3), (1000, 1000, 0.3)])
def test_counterexample_violates_theorem_4(n, m, gamma):
    kernels, features = draw(n, m, (10.0, 0.001), seed=0)
    error = max(fast_cca_errors(kernels, features, gamma))
    assert error > 1.3 * cca_bound(n, m, gamma, factor=2)
    assert_allclose(error, limiting_cca_error(n, m / n, gamma), rtol=0.1)
    assert error < proved_cca_bound(n, m, gamma, norm=n)
    # For small gamma the null space of the features makes the error.
    assert_allclose(limiting_cca_error(2000, 0.5, 1e-6), 2000 / 1e-6 * np.sqrt(0.5), rtol=1e-3)


@pytest.mark.parametrize("gamma", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("m", [15, 120])
@pytest.mark.parametrize("widths", [(10.0, 0.001), (0.05, 0.05)])
def test_what_is_proved_in_place_of_theorem_4_holds_for_every_draw(widths, m, gamma):
    kernels, features = draw(40, m, widths, seed=m)
    E_x, E_y = (
        kernel_error(ExactKernel(K), FeatureKernel(z))
        for K, z in zip(kernels, features, strict=True)
    )
    xy, _ = fast_cca_errors(kernels, features, gamma)
    assert xy <= E_y / gamma + E_x * np.linalg.norm(kernels[1], 2) / gamma**2
    pairs = tuple(kernels), tuple(estimates(features))
    exact, found = (squared_correlations(pair, gamma) for pair in pairs)
    assert np.abs(found - exact).max() <= (E_x + E_y) / gamma


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kernel_bound(1, 10), "n = 1"),
        (lambda: cca_bound(10, 0, 1.0), "m = 0"),
        (lambda: cca_bound(10, 5, 0.0), "gamma = 0.0"),
        (lambda: proved_cca_bound(10, 5, -1.0, norm=1.0), "gamma = -1.0"),
        (lambda: correlation_bound(10, 5, np.nan), "gamma = nan"),
        (lambda: limiting_cca_error(10, 0.5, np.inf), "gamma = inf"),
        (lambda: ExactKernel(np.ones((1, 1))), "n = 1"),
        (lambda: ExactKernel(np.ones((3, 2))), r"shape \(3, 2\)"),
        (lambda: ExactKernel(np.eye(3)).factored(0.0), "gamma = 0.0"),
        (lambda: FeatureKernel(np.ones((3, 0))), "m = 0"),
        (lambda: FeatureKernel(np.ones((1, 3))), "n = 1"),
        (lambda: FeatureKernel(np.ones((3, 1))).regularised(-1.0), "gamma = -1.0"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
