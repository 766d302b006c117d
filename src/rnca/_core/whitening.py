"""Cholesky whitening of two views, in the working space of their `Moments`."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import blas, lapack

from rnca._core.moments import Moments
from rnca._core.rows import grid
from rnca._core.spectral import leading_svd

Matrix = npt.NDArray[np.float64]

_BLOCK = 512
# A pivot this small beside the feature's variance, times √m, is rounding.
_DEPENDENT = 10 * np.finfo(np.float64).eps


class Factor:
    """Cholesky factor L of a regularised covariance C + reg·I.

    L = M·diag(pivots)^½ with M unit lower triangular. Mᵀ lies in the strict upper triangle of the
    second moments it came from, which accumulation leaves free, so that moments and factor share
    one m × m array.

    Parameters
    ----------
    moments : Moments
    view : {"x", "y"}
    reg : float
        Added to the diagonal of the covariance.
    """

    def __init__(self, moments: Moments, view: str, reg: float) -> None:
        self.storage: npt.NDArray[np.float64] = getattr(moments, view * 2)
        diagonal = self.storage.diagonal().copy()
        m = len(self.storage)
        squares = np.zeros(m)  # that each row and column add to those before
        for start, stop in grid(0, m, _BLOCK):
            rows = moments.covariance_beyond(view, start, stop)
            upper = np.triu_indices(stop - start)
            self.storage[start:stop, start:stop][upper] = rows[:, : stop - start][upper]
            self.storage[start:stop, stop:] = rows[:, stop - start :]
            squares[start:] += _squares_above(rows)
        trace = self.storage.diagonal().cumsum()
        # Participation ratio (tr C)² / tr C² of every leading block.
        self.effective_ranks = trace**2 / np.maximum(squares.cumsum(), np.finfo(float).tiny)
        self.storage.flat[:: m + 1] += reg
        variances = self.storage.diagonal().copy()
        # Upper of C order is lower of Fortran order.
        _, info = lapack.dpotrf(self.storage.T, lower=1, clean=0, overwrite_a=1)
        self.root = self.storage.diagonal().copy()
        self.storage.flat[:: m + 1] = diagonal
        # Of a dependent feature, rounding may leave a positive pivot for LAPACK to accept.
        dependent = np.flatnonzero(~(self.root**2 > _DEPENDENT * np.sqrt(m) * variances))
        if info != 0:  # what lies beyond was not factored
            dependent = np.append(dependent[dependent < info - 1], info - 1)
        if reg == 0 and m >= moments.n:  # centred rows have rank n − 1
            dependent = np.append(dependent, moments.n - 1)
        if dependent.size:
            raise ValueError(
                f"the covariance of the {view} features is singular with reg={reg:g}: feature "
                f"{dependent.min()} depends linearly on those before it. Raise reg, or use fewer "
                "features."
            )
        for i in range(m - 1):
            self.storage[i, i + 1 :] /= self.root[i]

    @property
    def pivots(self) -> npt.NDArray[np.float64]:
        """Squared diagonal of L: the variance of each feature that those before leave over."""
        pivots: npt.NDArray[np.float64] = self.root**2
        return pivots

    def whiten_columns(self, matrix: npt.NDArray[np.float64]) -> None:
        """Replace a C-ordered ``matrix`` of m columns by matrix·L⁻ᵀ, in place."""
        blas.dtrsm(1.0, self.storage.T, matrix.T, side=0, lower=1, diag=1, overwrite_b=1)
        matrix /= self.root

    def whiten_rows(self, matrix: npt.NDArray[np.float64]) -> None:
        """Replace a C-ordered ``matrix`` of m rows by L⁻¹·matrix, in place."""
        blas.dtrsm(1.0, self.storage.T, matrix.T, side=1, lower=1, trans_a=1, diag=1, overwrite_b=1)
        matrix /= self.root[:, None]

    def unwhiten(self, directions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Solve Lᵀ·F = directions for the leading block of L of as many rows."""
        size = len(directions)
        # L⁻ᵀ is upper triangular: padding with zeros solves the leading block without a copy of it.
        padded = np.zeros((len(self.storage), directions.shape[1]), order="F")
        padded[:size] = directions / self.root[:size, None]
        solved = blas.dtrsm(1.0, self.storage.T, padded, lower=1, trans_a=1, diag=1, overwrite_b=1)
        return np.ascontiguousarray(solved[:size])


def _squares_above(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sum the squares on and above the diagonal by columns, twice those above."""
    size = len(rows)
    rows[:, :size] = np.triu(rows[:, :size])
    squares: npt.NDArray[np.float64] = 2 * np.einsum("ij,ij->j", rows, rows)
    squares[:size] -= rows.diagonal() ** 2
    return squares


def whitened_error(
    moments: Moments, factors: Sequence[Factor], exact_times: Callable[[Matrix], Matrix]
) -> float:
    """Estimate the spectral norm of L⁻¹EL⁻ᵀ, where E is the error of float32 products.

    Every correlation differs from that of exact products by at most this norm, at the fitted
    number of features and at any smaller one: a leading block has no larger norm. Two steps of
    block power iteration: the sketch the pass left is the first, one more pass the second.
    Twice the second's largest singular value is returned; the norm itself was never found to be
    more.

    Parameters
    ----------
    moments : Moments
    factors : one Factor per view
    exact_times : callable
        Multiplies the exact joint second moments by vectors.
    """
    assert moments.error is not None
    edges = np.cumsum([len(factor.storage) for factor in factors])[:-1]

    def whiten(vectors: Matrix) -> Matrix:
        parts = [np.ascontiguousarray(part) for part in np.split(vectors, edges)]
        for factor, part in zip(factors, parts, strict=True):
            factor.whiten_rows(part)
        return np.concatenate(parts)

    Q = scipy.linalg.qr(whiten(moments.error), mode="economic")[0]
    parts = zip(factors, np.split(Q, edges), strict=True)
    V = np.concatenate([factor.unwhiten(part) for factor, part in parts])
    images = whiten(moments.times(V) - exact_times(V)) / (moments.n - 1)
    return 2.0 * float(np.linalg.norm(images, 2))


class Whitened:
    """Whitened cross-covariance D = Lx⁻¹·Cxy·Ly⁻ᵀ; its leading blocks serve every smaller m.

    Parameters
    ----------
    moments : Moments
        Of two views. Its strict upper triangles become working space.
    reg_x, reg_y : float
        Added to the diagonals of the two covariances.
    """

    def __init__(self, moments: Moments, reg_x: float, reg_y: float) -> None:
        self.regs = (reg_x, reg_y)
        self._moments, self._token = moments, object()
        moments.tenant = self._token
        self.x = Factor(moments, "x", reg_x)
        self.y = Factor(moments, "y", reg_y)
        self.D = moments.covariance("xy")
        self.x.whiten_rows(self.D)
        self.y.whiten_columns(self.D)

    def holds(self, moments: Moments, reg_x: float, reg_y: float) -> bool:
        """Whether this is still the factorisation of these moments: neither grown nor lent on."""
        return (
            self._moments is moments
            and moments.tenant is self._token
            and self.regs == (reg_x, reg_y)
        )

    def canonical(
        self, m_x: int, m_y: int, k: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Canonical correlations and bases from the first m_x and m_y features.

        Returns
        -------
        correlations : ndarray of shape (k,), decreasing
        F : ndarray of shape (m_x, k)
        G : ndarray of shape (m_y, k)
        """
        U, correlations, V = leading_svd(self.D[:m_x, :m_y], k)
        return correlations, self.x.unwhiten(U), self.y.unwhiten(V)
