"""Every inequality of docs/theory.md in numbers, by plain numpy instead of the code of the stage.

Means over draws are compared with bounds on means, or with exact moments within five standard
errors; what holds for each draw is tested for each draw.
"""

from itertools import combinations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from workflow.stages.bounds.norms import (
    ExactKernel,
    correlation_bound,
    exact_moments,
    frobenius_bound,
    kernel_bound,
    landmark_bound,
    proved_cca_bound,
    whitened_correlation_bound,
)

WIDTHS = [0.0535, 0.003, 1.0]


def rows(n, seed=0, columns=10):
    return np.random.default_rng(seed).standard_normal((n, columns))


def kernel(X, s):
    return np.exp(-s * ((X[:, None] - X) ** 2).sum(axis=-1))


def features(X, s, m, rng):
    """Unbiased features √2·cos(Wx + b), one column each."""
    W = rng.normal(scale=np.sqrt(2 * s), size=(X.shape[1], m))
    return np.sqrt(2) * np.cos(X @ W + rng.uniform(0, 2 * np.pi, m))


def products(X, s, draws, seed=1):
    """Estimates by one feature each, of shape (draws, n, n)."""
    z = features(X, s, draws, np.random.default_rng(seed)).T
    return z[:, :, None] * z[:, None]


def estimates(X, s, m, draws, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(draws):
        z = features(X, s, m, rng)
        yield z @ z.T / m


def norm(matrix):
    return np.linalg.norm(matrix, 2)


def smooth(K, gamma):
    """Return K(K + γI)⁻¹."""
    return np.linalg.solve(K + gamma * np.eye(len(K)), K)


def assert_mean(samples, expected):
    """The mean of samples along the first axis is what is expected, within five errors."""
    samples = np.asarray(samples)
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(axis=0) - expected) <= 5 * error + 1e-12).all()


# Theorem 3, and bounds without a logarithm


@pytest.mark.parametrize("n", [4, 5, 10, 1000, 10**6])
def test_bernstein_is_below_the_printed_bound_from_4_rows_on(n):
    m = np.geomspace(1, 1e9, 50)
    bernstein = np.sqrt(2 * n**2 * np.log(2 * n) / m) + 2 * n * np.log(2 * n) / (3 * m)
    printed = np.sqrt(3 * n**2 * np.log(n) / m) + 2 * n * np.log(n) / m
    assert (bernstein <= printed).all()


def test_bernstein_is_not_below_it_for_3_rows():
    n, m = 3, 1e9
    bernstein = np.sqrt(2 * n**2 * np.log(2 * n) / m) + 2 * n * np.log(2 * n) / (3 * m)
    assert bernstein > kernel_bound(n, int(m))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("n", "m"), [(2, 1), (2, 50), (3, 7), (40, 10), (40, 200)])
def test_the_printed_bound_holds_from_2_rows_on_and_ours_are_below_it(width, n, m):
    X = rows(n)
    K = kernel(X, width)
    errors = np.array([norm(estimate - K) for estimate in estimates(X, width, m, 60)])
    assert errors.mean() <= np.sqrt((errors**2).mean()) < frobenius_bound(n, m, gaussian=True)
    assert frobenius_bound(n, m, gaussian=True) < frobenius_bound(n, m) < kernel_bound(n, m)


@pytest.mark.parametrize("width", WIDTHS)
def test_variance_of_an_entry_of_a_gaussian_kernel_s_estimate(width):
    X = rows(6)
    K = kernel(X, width)
    squares = (products(X, width, 40_000) - K) ** 2
    assert_mean(squares, (1 + (1 - K**2) ** 2) / 2)


def test_variance_of_an_entry_is_at_most_three_halves_and_can_be_that():
    # k(x, y) = E cos(w(x − y)) for w = 0 or w = π, with equal probability: rows 0 and 1.
    X = np.array([[0.0], [1.0]])
    rng = np.random.default_rng(0)
    K = np.array([[1.0, 0.0], [0.0, 1.0]])
    W = np.pi * rng.integers(0, 2, 100_000)
    z = np.sqrt(2) * np.cos(X * W + rng.uniform(0, 2 * np.pi, len(W)))
    squares = (z[:, None] * z[None] - K[:, :, None]) ** 2
    assert_mean(squares.transpose(2, 0, 1), [[0.5, 1.5], [1.5, 0.5]])


@pytest.mark.parametrize("width", WIDTHS)
def test_exact_moments_are_those_of_many_draws(width):
    n = 6
    X = rows(n)
    K = kernel(X, width)
    middles = 2 * X[:, None, None] - X[:, None] - X
    Q = np.exp(-width * (middles**2).sum(axis=-1)).sum(axis=0)
    variance = n * K + Q / 2 - K @ K
    fourth = n**2 + kernel(2 * X, width).sum() / 2
    differences = products(X, width, 40_000) - K
    assert_mean(differences @ differences, variance)
    assert_mean((differences**2).sum(axis=(1, 2)), fourth - (K**2).sum())
    found = exact_moments(ExactKernel(K))
    assert_allclose(found, [norm(variance), fourth - (K**2).sum()], rtol=1e-6)


def test_rows_that_are_far_apart_leave_the_moments_finite():
    found = exact_moments(ExactKernel(kernel(30 * rows(20), 10.0)))
    # K = I up to rounding: the variance is (n + ½ − 1)·I, and the diagonal has ½ and the rest 1.
    assert_allclose(found, [19.5, 20**2 - 10])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("m", [5, 40, 300])
def test_root_mean_square_lies_between_the_exact_moments(width, m):
    n, draws = 40, 100
    X = rows(n)
    K = kernel(X, width)
    variance, moment = exact_moments(ExactKernel(K))
    squares = np.array([norm(estimate - K) ** 2 for estimate in estimates(X, width, m, draws)])
    error = 5 * squares.std() / np.sqrt(draws)
    assert variance / m <= squares.mean() + error
    assert squares.mean() - error <= moment / m <= n**2 / m
    assert n**2 / 2 <= moment


# Theorem 4, and what holds in its place


def pairs(widths, n, m, draws):
    """Kernels of two views, and pairs of estimates."""
    views = [rows(n, seed=view) for view in range(2)]
    kernels = [kernel(X, s) for X, s in zip(views, widths, strict=True)]
    drawn = [
        estimates(X, s, m, draws, seed=10 + view)
        for view, (X, s) in enumerate(zip(views, widths, strict=True))
    ]
    return kernels, zip(*drawn, strict=True)


@pytest.mark.parametrize("gamma", [1e-3, 0.3, 10.0])
@pytest.mark.parametrize("widths", [(0.0535, 0.0535), (10.0, 0.001)])
@pytest.mark.parametrize("m", [10, 100])
def test_the_norm_of_theorem_4_by_steps(widths, m, gamma):
    n = 40
    kernels, drawn = pairs(widths, n, m, 20)
    Kx, Ky = kernels
    I = gamma * np.eye(n)  # noqa: E741
    largest, errors, of_idea = [], [], []
    for Kx_hat, Ky_hat in drawn:
        Ex, Ey = norm(Kx_hat - Kx), norm(Ky_hat - Ky)
        xy = np.linalg.solve(Kx_hat + I, Ky_hat) - np.linalg.solve(Kx + I, Ky)
        yx = np.linalg.solve(Ky_hat + I, Kx_hat) - np.linalg.solve(Ky + I, Kx)
        # Each block, for each draw.
        assert norm(xy) <= Ey / gamma + Ex * norm(Ky) / gamma**2
        of_idea.append(norm(np.linalg.solve(Kx_hat + I, Ky_hat - Ky)))
        largest.append(max(Ex, Ey))
        errors.append(max(norm(xy), norm(yx)))
    assert np.mean(of_idea) <= frobenius_bound(n, m) / gamma
    assert np.mean(largest) <= n * np.sqrt(3 / m)
    assert np.mean(errors) <= proved_cca_bound(n, m, gamma, norm=max(map(norm, kernels)))


@pytest.mark.parametrize("gamma", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("widths", [(0.0535, 0.0535), (10.0, 0.001)])
@pytest.mark.parametrize("m", [10, 100, 1000])
def test_squared_correlations_for_each_draw_and_on_average(widths, m, gamma):
    n = 30
    kernels, drawn = pairs(widths, n, m, 10)
    dimensions = [np.trace(smooth(K, gamma)) for K in kernels]
    rho = squared_correlations(*kernels, gamma)
    roots = [scipy.linalg.inv(scipy.linalg.sqrtm(K + gamma * np.eye(n)).real) for K in kernels]
    squares, errors = [], []
    for hats in drawn:
        deltas = []
        for K, K_hat, root in zip(kernels, hats, roots, strict=True):
            Delta = root @ (K_hat - K) @ root
            moved, delta = norm(smooth(K_hat, gamma) - smooth(K, gamma)), norm(Delta)
            assert moved <= norm(K_hat - K) / gamma + 1e-9
            assert moved <= min(1.0, 2 * delta) + 1e-9
            if delta < 1:
                assert moved <= delta / (1 - delta) + 1e-9
            deltas.append(moved)
            squares.append((Delta**2).sum())
        errors.append(np.abs(squared_correlations(*hats, gamma) - rho).max())
        assert errors[-1] <= sum(deltas) + 1e-9
    bound = 2 * n * np.sum(dimensions) / (gamma * m)
    assert np.sum(squares) / 10 <= bound
    assert np.mean(errors) <= correlation_bound(n, m, gamma)
    assert np.mean(errors) <= whitened_correlation_bound(n, m, gamma, tuple(dimensions))


def squared_correlations(Kx, Ky, gamma):
    """Eigenvalues of Kx(Kx + γI)⁻¹Ky(Ky + γI)⁻¹, decreasing."""
    values = scipy.linalg.eigvals(smooth(Kx, gamma) @ smooth(Ky, gamma))
    return np.sort(values.real)[::-1]


def test_without_a_regulariser_correlations_of_noise_are_1():
    n, m = 30, 20
    rng = np.random.default_rng(0)
    bases = [scipy.linalg.orth(features(rows(n, seed), 0.05, m, rng)) for seed in (0, 1)]
    rho = scipy.linalg.svdvals(bases[0].T @ bases[1])
    assert (rho > 1 - 1e-9).sum() == 2 * m - n


# Nyström features


def test_nystroem_features_estimate_the_square_of_the_kernel_over_n():
    n, m = 7, 3
    K = kernel(rows(n), 0.0535)
    squared = K @ K / n
    subsets = list(combinations(range(n), m))
    found = [K[:, list(subset)] @ K[list(subset)] / m for subset in subsets]
    assert_allclose(np.mean(found, axis=0), squared, rtol=1e-12)
    squares = [((each - squared) ** 2).sum() for each in found]
    fourth = ((K**2).sum(axis=0) ** 2).mean() - (squared**2).sum()
    assert_allclose(np.mean(squares), fourth / m * (n - m) / (n - 1))
    assert np.mean(squares) <= landmark_bound(n, m) ** 2
    values = scipy.linalg.eigvalsh(K)
    assert_allclose(norm(squared - K), (values * (1 - values / n)).max())


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0, 10.0])
def test_whitened_nystroem_features_approximate_the_kernel_from_below(alpha):
    n, gamma = 40, 0.5
    X = rows(n)
    K = kernel(X, 0.0535)
    P = smooth(K, alpha)
    root = scipy.linalg.sqrtm(K).real
    C_root = scipy.linalg.inv(scipy.linalg.sqrtm(K + alpha * np.eye(n)).real)
    scaled = C_root @ root  # its columns are ψ of each row
    order, previous, tested = np.random.default_rng(2).permutation(n), np.inf, 0
    for m in (5, 10, 20, 30, 39, n):
        chosen = order[:m]
        K_tilde = K[:, chosen] @ np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen])
        left = scipy.linalg.eigvalsh(K - K_tilde)
        assert left.min() >= -1e-9
        assert scipy.linalg.eigvalsh(K_tilde).min() >= -1e-9
        assert left.max() <= previous + 1e-9
        assert norm(smooth(K, gamma) - smooth(K_tilde, gamma)) <= left.max() / gamma + 1e-9
        previous = left.max()
        t = norm(n / m * scaled[:, chosen] @ scaled[:, chosen].T - scaled @ scaled.T)
        if t < 1:
            tested += 1
            assert left.max() <= alpha / (1 - t) + 1e-9
    assert previous < 1e-9
    assert tested
    # The mean of t² in Frobenius norm, over all subsets of a small problem.
    n, m = 7, 3
    subset = scaled[:, :n] * np.sqrt(7 / 40)
    M = subset @ subset.T
    squares = [
        ((n / m * subset[:, list(S)] @ subset[:, list(S)].T - M) ** 2).sum()
        for S in combinations(range(n), m)
    ]
    leverages = (subset**2).sum(axis=0)
    expected = (n * (leverages**2).sum() - (M**2).sum()) / m * (n - m) / (n - 1)
    assert_allclose(np.mean(squares), expected)
    assert_allclose((scaled**2).sum(axis=0), np.diag(P), rtol=1e-6)
