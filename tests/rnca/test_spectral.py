"""Truncated decompositions against full LAPACK, on spectra chosen to defeat them."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from rnca._core import spectral
from rnca._core.spectral import leading_eigh, leading_svd

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


@pytest.fixture(params=SPECTRA.values(), ids=SPECTRA.keys())
def spectrum(request):
    return request.param


@pytest.fixture(autouse=True)
def _krylov_everywhere(krylov_calls):
    """At these small orders too."""


def orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.standard_normal((rows, columns)))[0]


def assert_triplets(D, k):
    U, values, V = leading_svd(D, k)
    exact = scipy.linalg.svdvals(D)
    scale = max(exact[0], np.finfo(float).tiny)
    assert values.shape == (k,)
    assert (np.diff(values) <= 0).all()
    assert_allclose(values, exact[:k], rtol=0, atol=TOLERANCE * scale)
    for basis in (U, V):
        assert_allclose(basis.T @ basis, np.eye(k), atol=1e-10)
    assert_allclose(D @ V / scale, U * (values / scale), atol=TOLERANCE)


def test_singular_values_of_hard_spectra(spectrum, krylov_calls):
    rng = np.random.default_rng(1)
    D = (orthonormal(rng, ORDER, ORDER) * spectrum) @ orthonormal(rng, ORDER, ORDER).T
    assert_triplets(D, K)
    assert krylov_calls


@pytest.mark.parametrize("shape", [(900, 450), (450, 900)])
@pytest.mark.parametrize("rank", [20, 450])
def test_views_of_unequal_size(shape, rank, krylov_calls):
    rng = np.random.default_rng(3)
    D = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    assert_triplets(D, K)
    assert krylov_calls


def test_eigenvalues_of_hard_spectra(spectrum, krylov_calls):
    Q = orthonormal(np.random.default_rng(2), ORDER, ORDER)
    A = (Q * spectrum) @ Q.T
    A = (A + A.T) / 2
    values, vectors = leading_eigh(A, K)
    assert_allclose(values, spectrum[:K], rtol=0, atol=TOLERANCE)
    assert_allclose(vectors.T @ vectors, np.eye(K), atol=1e-10)
    assert_allclose(A @ vectors, vectors * values, atol=TOLERANCE)
    assert krylov_calls


@pytest.mark.parametrize(("order", "k"), [(1200, 1), (1200, 50), (600, 119)])
def test_noise(order, k, krylov_calls):
    # The Marchenko–Pastur spectrum of a CCA without signal.
    assert_triplets(np.random.default_rng(0).standard_normal((order, order)), k)
    assert krylov_calls


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-10, 1e10, 1e100, 1e150])
def test_scale_does_not_matter(scale, krylov_calls):
    assert_triplets(scale * np.random.default_rng(0).standard_normal((500, 500)), 20)
    A = np.cov(np.random.default_rng(0).standard_normal((500, 1000)))
    values, _ = leading_eigh(scale * A, 20)
    assert_allclose(values / scale, np.linalg.eigvalsh(A)[:-21:-1], rtol=1e-8)
    assert len(krylov_calls) == 2


@pytest.mark.parametrize(
    "D",
    [np.eye(500), np.diag(np.linspace(1, 0, 500)), np.eye(1, 250_000).reshape(500, 500)],
    ids=["identity", "diagonal", "one entry"],
)
def test_matrices_with_structure(D, krylov_calls):
    assert_triplets(D, 50)
    assert krylov_calls


@pytest.mark.parametrize(
    ("shape", "k"), [((1, 1), 1), ((3, 5), 3), ((400, 400), 20), ((500, 500), 101), ((401, 30), 30)]
)
def test_small_orders_and_many_components_use_lapack(shape, k, krylov_calls):
    assert_triplets(np.random.default_rng(0).standard_normal(shape), k)
    assert not krylov_calls


def test_the_answer_is_the_same_every_time():
    D = np.random.default_rng(0).standard_normal((500, 500))
    for first, second in zip(leading_svd(D, 10), leading_svd(D, 10), strict=True):
        np.testing.assert_array_equal(first, second)


def test_threads_change_nothing_but_rounding(krylov_calls):
    A = np.diag(0.97 ** np.arange(ORDER)) + 1e-3
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append(leading_eigh(A, K))
    assert len(krylov_calls) == 3
    for values, vectors in found[1:]:
        assert_allclose(values, found[0][0], rtol=1e-12)
        # Eigenvalues 0.03 apart, relative to themselves, turn residuals of 1e-9 into 1e-7.
        assert_allclose(np.abs(vectors.T @ found[0][1]), np.eye(K), atol=1e-6)


def test_input_is_not_changed():
    for order in (300, 500):
        D = np.random.default_rng(0).standard_normal((order, order))
        A, before = D @ D.T, D.copy()
        kept = A.copy()
        leading_svd(D, 5)
        leading_eigh(A, 5)
        np.testing.assert_array_equal(D, before)
        np.testing.assert_array_equal(A, kept)


def test_an_iteration_out_of_budget_hands_over_to_the_dense_solver(monkeypatch, krylov_calls):
    monkeypatch.setattr(spectral, "_step_budget", lambda m: 1)
    rng = np.random.default_rng(3)
    assert_triplets(rng.standard_normal((ORDER, ORDER)), K)
    assert krylov_calls
