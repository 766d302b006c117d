"""Leading eigenpairs and singular triplets by block Krylov iteration with a residual test."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.linalg

Matrix = npt.NDArray[np.float64]

# Below this order, or when more than this fraction of the spectrum is wanted, dense LAPACK wins.
_DENSE_ORDER = 400
_DENSE_FRACTION = 0.2
_EXTRA = 8
_MAX_BLOCKS = 8
_MAX_PRODUCTS = 400
# Relative to the largest eigenvalue. An eigenvalue of a symmetric matrix lies within its residual.
_TOLERANCE = 1e-10
# Of DᵀD the residual over σ bounds the error of a singular value σ, so that small ones need smaller
# residuals; below this share of the largest, rounding leaves no smaller residual to wait for.
_SMALL = 1e-3


def leading_eigh(A: Matrix, k: int) -> tuple[Matrix, Matrix]:
    """Compute the k largest eigenvalues of a symmetric positive semi-definite matrix.

    Parameters
    ----------
    A : ndarray of shape (m, m)
    k : int

    Returns
    -------
    values : ndarray of shape (k,), decreasing
    vectors : ndarray of shape (m, k)
    """
    m = len(A)
    if _dense(m, k):
        values, vectors = scipy.linalg.eigh(A, subset_by_index=(m - k, m - 1), driver="evr")
        return values[::-1].copy(), vectors[:, ::-1].copy()
    scale = _largest_entry(A)
    values, vectors = _block_krylov(
        lambda V: A @ V / scale, m, k, lambda values: _TOLERANCE * values[0]
    )
    return values * scale, vectors


def leading_svd(D: Matrix, k: int) -> tuple[Matrix, Matrix, Matrix]:
    """Compute the k largest singular triplets of a dense matrix.

    Parameters
    ----------
    D : ndarray of shape (p, q)
    k : int

    Returns
    -------
    U : ndarray of shape (p, k)
    values : ndarray of shape (k,), decreasing
    V : ndarray of shape (q, k)
    """
    if _dense(min(D.shape), k):
        U, values, Vt = scipy.linalg.svd(D, full_matrices=False)
        return U[:, :k].copy(), values[:k].copy(), Vt[:k].T.copy()
    if D.shape[0] < D.shape[1]:
        V, values, U = leading_svd(D.T, k)
        return U, values, V
    scale = _largest_entry(D)
    _, V = _block_krylov(
        lambda V: D.T @ (D @ V / scale) / scale,
        D.shape[1],
        k,
        lambda squares: (
            _TOLERANCE * np.sqrt(squares[0] * np.maximum(squares, _SMALL**2 * squares[0]))
        ),
    )
    # Rayleigh–Ritz on D itself: the squares would cost the small values half their digits.
    Q, R = scipy.linalg.qr(D @ V, mode="economic")
    left, values, right = scipy.linalg.svd(R)
    return Q @ left, values, V @ right.T


def _dense(order: int, k: int) -> bool:
    return order <= _DENSE_ORDER or k > _DENSE_FRACTION * order


def _largest_entry(A: Matrix) -> float:
    """Largest absolute value, or 1 for a zero matrix: divided by it, no square leaves the range."""
    return float(max(A.max(), -A.min())) or 1.0


def _block_krylov(
    apply: Callable[[Matrix], Matrix], m: int, k: int, allowed: Callable[[Matrix], Matrix | float]
) -> tuple[Matrix, Matrix]:
    """Thick-restarted block Lanczos with full reorthogonalisation.

    The block is wider than k, so that eigenvalues of any multiplicity up to k are found: a narrow
    block would return too few of the many correlations of exactly 1 that an overfitted CCA has.
    ``allowed`` gives the residual norms to reach, from the k leading Ritz values.
    """
    width = k + _EXTRA
    most = min(m, width * _MAX_BLOCKS)
    start = np.random.default_rng(0).standard_normal((m, width))
    V = np.empty((m, most), order="F")
    AV = np.empty((m, most), order="F")
    filled, block = 0, scipy.linalg.qr(start, mode="economic")[0]
    for _ in range(_MAX_PRODUCTS):
        new = slice(filled, filled + block.shape[1])
        V[:, new] = block
        AV[:, new] = apply(block)
        filled = new.stop
        values, Y = scipy.linalg.eigh(_symmetric(V[:, :filled].T @ AV[:, :filled]))
        values, Y = values[::-1], Y[:, ::-1]
        residual = AV[:, :filled] @ Y[:, :width]
        ritz = V[:, :filled] @ Y[:, :width]
        residual -= ritz * values[:width]
        norms = np.linalg.norm(residual[:, :k], axis=0)
        if (norms <= allowed(values[:k])).all() or filled == m:
            return values[:k].copy(), ritz[:, :k]
        if filled + width > most:
            keep = min(2 * width, filled)
            V[:, :keep], AV[:, :keep] = V[:, :filled] @ Y[:, :keep], AV[:, :filled] @ Y[:, :keep]
            filled = keep
        block = _orthonormal_complement(residual, V[:, :filled])
    raise ArithmeticError(
        f"the {k} leading eigenpairs of order {m} did not converge in {_MAX_PRODUCTS} block "
        f"products (largest residual {norms.max():.1e}). Please report this matrix."
    )


def _symmetric(T: Matrix) -> Matrix:
    return (T + T.T) / 2


def _orthonormal_complement(block: Matrix, V: Matrix) -> Matrix:
    """Orthonormal basis of the block's part outside span(V); twice is enough."""
    for _ in range(2):
        block = block - V @ (V.T @ block)
        block = scipy.linalg.qr(block, mode="economic")[0]
    return block
