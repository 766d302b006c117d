"""Cholesky whitening of the features of one or two views."""

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from rnca._core.moments import Moments
from rnca._core.rows import Matrix
from rnca._core.spectral import leading_svd

# Random vectors that estimate a trace; 16 leave a standard error below sqrt(2 / (16 m)) of it.
_PROBES = 16
# A pivot below this fraction of the feature's variance, times √m, is rounding.
_DEPENDENT = 10 * np.finfo(np.float64).eps


class Factor:
    """Cholesky factor L of the regularised covariance C + reg·I of a view.

    The leading block of L is the factor of the leading block of C + reg·I, so that one factor
    serves every smaller number of features.

    Attributes
    ----------
    L : ndarray of shape (m, m), Fortran order, lower triangular
    pivots : ndarray of shape (m,)
        Squared diagonal of L: the variance of each feature that the features before it do not
        explain, plus reg.
    squares, variances : ndarray of shape (m,)
        Mean squares of the features; their variances, plus reg.
    degrees_of_freedom : ndarray of shape (m,)
        tr C(C + reg·I)⁻¹ of every leading block, estimated by random probes.
    """

    def __init__(self, moments: Moments, view: int, reg: float) -> None:
        C = moments.covariance(view, view)
        m = len(C)
        self.squares = C.diagonal() + moments.mean(view) ** 2
        C.flat[:: m + 1] += reg
        self.variances = C.diagonal().copy()
        # C is symmetric: its transpose is the same matrix in LAPACK's order.
        self.L, info = lapack.dpotrf(C.T, lower=1, clean=1, overwrite_a=1)
        self.pivots = self.L.diagonal() ** 2
        self._refuse_dependent(info, view, reg, moments.n)
        probes = np.random.default_rng(0).choice([-1.0, 1.0], (m, _PROBES))
        # tr (C + reg·I)⁻¹ is the expected squared norm of L⁻¹·probe.
        inverse = np.square(self.whiten_rows(probes)).mean(axis=1).cumsum()
        self.degrees_of_freedom = np.clip(np.arange(1, m + 1) - reg * inverse, 0.0, None)

    def whiten_rows(self, matrix: Matrix) -> Matrix:
        """Return L⁻¹·matrix, for a matrix of m rows."""
        whitened: Matrix = solve_triangular(self.L, matrix, lower=True, check_finite=False)
        return whitened

    def unwhiten(self, directions: Matrix) -> Matrix:
        """Solve Lᵀ·F = directions for the leading block of L of as many rows."""
        size = len(directions)
        solved: Matrix = solve_triangular(
            self.L[:size, :size], directions, lower=True, trans="T", check_finite=False
        )
        return np.ascontiguousarray(solved)

    def _refuse_dependent(self, info: int, view: int, reg: float, n: int) -> None:
        m = len(self.L)
        # Rounding may leave a dependent feature a positive pivot, which LAPACK accepts.
        dependent = np.flatnonzero(~(self.pivots > _DEPENDENT * np.sqrt(m) * self.variances))
        if info != 0:  # nothing beyond this pivot was factored
            dependent = np.append(dependent[dependent < info - 1], info - 1)
        if reg == 0 and m >= n:  # centred rows have rank n − 1
            dependent = np.append(dependent, n - 1)
        if dependent.size:
            raise ValueError(
                f"the covariance of the {'xy'[view]} features is singular with reg={reg:g}: "
                f"feature {dependent.min()} depends linearly on those before it. Raise reg, or use "
                "fewer features."
            )


class Whitened:
    """Whitened cross-covariance D = Lx⁻¹·Cxy·Ly⁻ᵀ; its leading blocks serve every smaller m."""

    def __init__(self, moments: Moments, reg_x: float, reg_y: float) -> None:
        self.n, self.regs = moments.n, (reg_x, reg_y)
        self.x = Factor(moments, 0, reg_x)
        self.y = Factor(moments, 1, reg_y)
        # In LAPACK's order, and in place: Dᵀ = Ly⁻¹·Cyx·Lx⁻ᵀ.
        transposed = moments.covariance(0, 1).T
        transposed = blas.dtrsm(1.0, self.y.L, transposed, lower=1, overwrite_b=1)
        transposed = blas.dtrsm(
            1.0, self.x.L, transposed, side=1, lower=1, trans_a=1, overwrite_b=1
        )
        self.D: Matrix = transposed.T

    def canonical(self, m_x: int, m_y: int, k: int) -> tuple[Matrix, Matrix, Matrix]:
        """Return the k largest correlations, and bases of the first m_x and m_y features."""
        U, correlations, V = leading_svd(self.D[:m_x, :m_y], k)
        return correlations, self.x.unwhiten(U), self.y.unwhiten(V)
