"""Truncated decompositions against full LAPACK, on spectra chosen to defeat them."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from rnca import spectral
from rnca.spectral import leading_eigh, leading_svd, refined_svd

ORDER, K = 600, 50
TOLERANCE = 1e-8  # relative to the largest singular value

SPECTRA = {
    "flat": np.ones(ORDER),
    "almost flat": np.linspace(1, 0.99, ORDER),
    "linear": np.linspace(1, 0, ORDER),
    "60 ones, then a ramp": np.r_[np.ones(60), np.linspace(0.9, 0, ORDER - 60)],
    "60 ones, then flat": np.r_[np.ones(60), np.full(ORDER - 60, 0.5)],
    "cluster of 1e-9": np.r_[1 - 1e-9 * np.arange(80), np.linspace(0.9, 0, ORDER - 80)],
    "cluster across k": np.r_[np.linspace(1, 0.5, 45), np.full(20, 0.4), np.linspace(0.3, 0, 535)],
    "geometric": 0.8 ** np.arange(ORDER),
    "steep geometric": 0.5 ** np.arange(ORDER),
    "small flat tail 1e-3": np.r_[np.ones(10), 1e-3 * np.linspace(1, 0.5, ORDER - 10)],
    "small flat tail 1e-5": np.r_[np.ones(10), 1e-5 * np.linspace(1, 0.5, ORDER - 10)],
    "rank 10": np.r_[np.ones(10), np.zeros(ORDER - 10)],
    "rank 1": np.r_[1.0, np.zeros(ORDER - 1)],
    "zero": np.zeros(ORDER),
}


@pytest.fixture(autouse=True)
def _krylov_everywhere(krylov_calls):
    """At these small orders too."""


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def orthonormal(seed):
    return np.linalg.qr(normal(ORDER, ORDER, seed=seed))[0]


def assert_triplets(D, k):
    before = D.copy()
    U, values, V = leading_svd(D, k)
    assert_array_equal(D, before)
    exact = scipy.linalg.svdvals(D)
    scale = max(exact[0], np.finfo(float).tiny)
    assert values.shape == (k,)
    assert (np.diff(values) <= 0).all()
    assert_allclose(values, exact[:k], rtol=0, atol=TOLERANCE * scale)
    for basis in (U, V):
        assert_allclose(basis.T @ basis, np.eye(k), atol=1e-10)
    assert_allclose(D @ V / scale, U * (values / scale), atol=TOLERANCE)


def assert_eigenpairs(A, exact, k):
    before = A.copy()
    values, vectors = leading_eigh(A, k)
    assert_array_equal(A, before)
    scale = max(exact[0], np.finfo(float).tiny)
    assert_allclose(values, exact[:k], rtol=0, atol=TOLERANCE * scale)
    assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    assert_allclose(A @ vectors / scale, vectors * (values / scale), atol=TOLERANCE)


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)
def test_hard_spectra(spectrum, krylov_calls):
    P, Q = orthonormal(1), orthonormal(2)
    assert_triplets((P * spectrum) @ Q.T, K)
    A = (Q * spectrum) @ Q.T
    assert_eigenpairs((A + A.T) / 2, spectrum, K)
    assert len(krylov_calls) == 2


@pytest.mark.parametrize(
    ("D", "k"),
    [
        *(
            (normal(rows, rank) @ normal(rank, columns, seed=1), K)
            for rows, columns in ((900, 450), (450, 900))
            for rank in (20, 450)
        ),
        # The Marchenko–Pastur spectrum of a CCA without signal.
        (normal(1200, 1200), 1),
        (normal(1200, 1200), 50),
        (normal(600, 600), 119),
        (np.eye(500), 50),
        (np.diag(np.linspace(1, 0, 500)), 50),
        (np.eye(1, 250_000).reshape(500, 500), 50),
    ],
)
def test_shapes_noise_and_structure(D, k, krylov_calls):
    assert_triplets(D, k)
    assert krylov_calls


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-10, 1e10, 1e100, 1e150])
def test_scale_does_not_matter(scale, krylov_calls):
    assert_triplets(scale * normal(500, 500), 20)
    A = np.cov(normal(500, 1000))
    assert_eigenpairs(scale * A, scale * np.linalg.eigvalsh(A)[::-1], 20)
    assert len(krylov_calls) == 2


@pytest.mark.parametrize(
    ("shape", "k"), [((1, 1), 1), ((3, 5), 3), ((400, 400), 20), ((500, 500), 101), ((401, 30), 30)]
)
def test_small_orders_and_many_components_use_lapack(shape, k, krylov_calls):
    assert_triplets(normal(*shape), k)
    A = np.atleast_2d(np.cov(normal(min(shape), 1000)))
    assert_eigenpairs(A, np.linalg.eigvalsh(A)[::-1], k)
    assert not krylov_calls


def test_threads_change_nothing_but_rounding(krylov_calls):
    A = np.diag(0.97 ** np.arange(ORDER)) + 1e-3
    found = []
    for threads in (1, 1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append(leading_eigh(A, K))
    assert len(krylov_calls) == 4
    assert_array_equal(found[1][1], found[0][1])
    for values, vectors in found[2:]:
        assert_allclose(values, found[0][0], rtol=1e-12)
        # Eigenvalues 0.03 apart, relative to themselves, turn residuals of 1e-9 into 1e-7.
        assert_allclose(np.abs(vectors.T @ found[0][1]), np.eye(K), atol=1e-6)


def test_an_iteration_out_of_budget_hands_over_to_the_dense_solver(monkeypatch, krylov_calls):
    monkeypatch.setattr(spectral, "_step_budget", lambda m: 1)
    assert_triplets(normal(ORDER, ORDER), K)
    assert krylov_calls


def test_a_good_guess_halves_the_products_and_a_hopeless_tolerance_gives_up():
    D = (orthonormal(1) * 0.97 ** np.arange(ORDER)) @ orthonormal(2).T
    _, exact, right = leading_svd(D, 12)
    products = []

    def times(V):
        products[-1] += 1
        return D @ V

    for guess in (right + 1e-4 * normal(ORDER, 12), normal(ORDER, 12)):
        products.append(0)
        U, values, V = refined_svd(times, lambda U: D.T @ U, guess, 10, 1e-4)
        assert values.shape == (12,)
        assert_allclose(values[:10], exact[:10], rtol=0, atol=1e-4)
        assert_allclose(D @ V[:, :10], U[:, :10] * values[:10], atol=1e-3)
        assert_allclose(D.T @ U[:, :10], V[:, :10] * values[:10], atol=1e-3)
    assert products[0] <= products[1] / 2
    assert refined_svd(times, lambda U: D.T @ U, guess, 10, 1e-30) is None
