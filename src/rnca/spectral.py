"""Leading eigenpairs and singular triplets by block Krylov iteration with a residual test.

The iteration calls numpy's linear algebra alone: scipy brings a BLAS of its own, and the threads
of either spin for a while after each call, on the cores that the other needs.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from rnca.rows import Matrix

Product = Callable[[Matrix], Matrix]
Scales = Callable[[Matrix], Matrix]
"""From Ritz values to what their residuals are judged by."""

# Up to this order LAPACK's eigensolver is faster than any iteration.
_DENSE_ORDER = 1500
# A full SVD is best for small matrices, or if more than this fraction of it is wanted.
_FULL_ORDER = 400
_FULL_FRACTION = 0.2
# Columns multiplied at once: more would cost arithmetic, fewer more readings of the matrix.
_WIDTH = 16
# Of residuals, relative to the largest eigenvalue: an eigenvalue lies within its residual.
_TOLERANCE = 1e-9
# Of DᵀD the residual over σ bounds the error of a singular value σ, so that small ones need smaller
# residuals; below this share of the largest, rounding leaves no smaller residual to wait for.
_SMALL = 1e-3
_ORTHOGONAL = 1e-12
# Cholesky QR squares the condition number, so it must stay well below 1/sqrt(eps).
_INDEPENDENT = 1e-6


def leading_eigh(A: Matrix, k: int) -> tuple[Matrix, Matrix]:
    """Return the k largest eigenvalues, decreasing, of a symmetric positive semi-definite matrix.

    Their vectors are the columns of the second array.
    """
    scale = _largest_entry(A)

    def times(V: Matrix) -> Matrix:
        product: Matrix = (V.T @ A).T / scale
        return product

    values, vectors = _leading(times, lambda: A / scale, len(A), k, lambda values: values[:1])
    return values * scale, vectors


def leading_svd(D: Matrix, k: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return the k largest singular values, decreasing, between their vectors U and V."""
    if D.shape[0] < D.shape[1]:
        V, values, U = leading_svd(D.T, k)
        return U, values, V
    order = D.shape[1]
    if order <= _FULL_ORDER or k > _FULL_FRACTION * order:
        U, values, Vt = scipy.linalg.svd(D, full_matrices=False)
        return U[:, :k].copy(), values[:k].copy(), Vt[:k].T.copy()
    scale = _largest_entry(D)

    def times(V: Matrix) -> Matrix:
        product: Matrix = ((V.T @ D.T / scale) @ D).T / scale
        return product

    _, V = _leading(
        times,
        lambda: _squared(D / scale),
        order,
        k,
        lambda squares: np.sqrt(squares[0] * np.maximum(squares, _SMALL**2 * squares[0])),
    )
    return _triplets(D @ V, V)


def refined_svd(
    times: Product, back: Product, guess: Matrix, k: int, tolerance: float
) -> tuple[Matrix, Matrix, Matrix] | None:
    """Leading singular triplets of a matrix D, from a guess of the right vectors.

    D is given by its products ``times`` and those of its transpose, ``back``. Of the first k
    triplets, the residuals of squares are below ``tolerance`` times the largest square; further
    columns of the guess make these converge sooner. Returns None if residuals stay larger.
    """
    m, count = guess.shape
    none = np.empty((m, 0))
    limits = np.where(np.arange(count) < k, tolerance / _TOLERANCE, np.inf)
    found = _restarted_lanczos(
        lambda V: back(times(V)),
        none,
        orthonormal_complement(guess, none),
        np.zeros(count),
        lambda squares: squares[0] * limits,
        10 * count,
        1,
    )
    return None if found is None else _triplets(times(found[1]), found[1])


def _triplets(DV: Matrix, V: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Rayleigh–Ritz on D itself: its squares would cost the small values half their digits."""
    Q, R = np.linalg.qr(DV)
    left, values, right = np.linalg.svd(R)
    return Q @ left, values, V @ right.T


def column_signs(vectors: Matrix) -> Matrix:
    """Signs that make the largest entry of each column positive, so that no run flips them."""
    signs: Matrix = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return signs


def _largest_entry(A: Matrix) -> float:
    """Largest absolute value, or 1 for a zero matrix: divided by it, no square leaves the range."""
    return float(max(A.max(), -A.min())) or 1.0


def _squared(D: Matrix) -> Matrix:
    """Return DᵀD, half of which numpy computes: it sees one array."""
    squares: Matrix = D.T @ D
    return squares


def _leading(
    apply: Product, matrix: Callable[[], Matrix], order: int, k: int, scales: Scales
) -> tuple[Matrix, Matrix]:
    """Leading eigenpairs of a symmetric matrix given by its products and, if need be, itself."""
    if order > _DENSE_ORDER and k <= _FULL_FRACTION * order:
        found = _block_krylov(apply, order, k, scales)
        if found is not None:
            return found
    values, vectors = scipy.linalg.eigh(matrix(), subset_by_index=(order - k, order - 1))
    return values[::-1].copy(), vectors[:, ::-1].copy()


def _block_krylov(apply: Product, m: int, k: int, scales: Scales) -> tuple[Matrix, Matrix] | None:
    """Block Lanczos, repeated from a fresh random block until that brings no new eigenvalue.

    A block of width w finds at most w copies of a repeated eigenvalue, and an overfitted CCA has
    hundreds of correlations of exactly 1: each repetition finds the next w of them.

    Returns None where it would cost more than a dense solver: eigenvalues so tightly clustered,
    yet not equal, that they do not separate.
    """
    rng = np.random.default_rng(0)
    values, X = np.zeros(k), np.empty((m, 0))
    for _ in range(2 + k // _WIDTH):
        previous = values
        start = orthonormal_complement(rng.standard_normal((m, _WIDTH)), X)
        found = _restarted_lanczos(apply, X, start, previous, scales)
        if found is None:
            return None
        values, X = found
        if (values - previous).max() <= _TOLERANCE * values[0]:
            break
    return values, X


def _restarted_lanczos(
    apply: Product,
    X: Matrix,
    block: Matrix,
    values: Matrix,
    scales: Scales,
    columns: int = 0,
    steps_between_tests: int = 4,
) -> tuple[Matrix, Matrix] | None:
    """Thick-restarted block Lanczos with full reorthogonalisation, from Ritz vectors X and a block.

    The projection T = VᵀAV is dense here: after a restart it is not banded any more.
    """
    m, width = block.shape
    k = len(values)
    limit = min(columns or 4 * (k + width), m - width)
    V, T = np.empty((m, limit), order="F"), np.zeros((limit, limit))
    size = X.shape[1]
    V[:, :size], V[:, size : size + width] = X, block
    T[:size, :size] = np.diag(values[:size])
    size += width
    for step in range(1, _step_budget(m) + 1):
        basis, last = V[:, :size], slice(size - width, size)
        product = apply(V[:, last])
        H = basis.T @ product
        T[:size, last], T[last, :size] = H, H.T
        block = orthonormal_complement(product - basis @ H, basis)
        remainder = block.T @ product
        full = size + width > limit
        if full or (step % steps_between_tests == 0 and size >= k + width):
            theta, Y = np.linalg.eigh((T[:size, :size] + T[:size, :size].T) / 2)
            theta, Y = theta[::-1], Y[:, ::-1]
            residuals = np.linalg.norm(remainder @ Y[last, :k], axis=0)
            if (residuals <= _TOLERANCE * scales(theta[:k])).all():
                return theta[:k].copy(), basis @ Y[:, :k]
            if full:
                size = k + (limit - k) // 3
                V[:, :size] = basis @ Y[:, :size]
                T[:] = 0.0
                T[:size, :size] = np.diag(theta[:size])
        V[:, size : size + width] = block
        size += width
    return None


def _step_budget(m: int) -> int:
    """Return how many steps cost about as much as the dense solver."""
    return 20 + m // 20


def orthonormal_complement(block: Matrix, V: Matrix) -> Matrix:
    """Orthonormal basis of the block's part outside span(V); random directions if it has none."""
    block = _orthonormal(block)
    for _ in range(3):
        overlap = V.T @ block
        if np.abs(overlap).max(initial=0.0) < _ORTHOGONAL:
            return block
        block = _orthonormal(block - V @ overlap)
    return orthonormal_complement(np.random.default_rng(V.shape[1]).normal(size=block.shape), V)


def _orthonormal(block: Matrix) -> Matrix:
    """Orthonormal basis of a tall block, by Cholesky QR twice unless it is ill-conditioned."""
    Q = block
    for _ in range(2):
        try:
            L = np.linalg.cholesky(Q.T @ Q)
        except np.linalg.LinAlgError:
            L = np.zeros((1, 1))
        if L.diagonal().min() <= _INDEPENDENT * L.diagonal().max():
            return np.linalg.qr(block)[0]
        # The second round mends what the inverse of a small matrix costs the first.
        Q = Q @ np.linalg.inv(L).T
    return Q
