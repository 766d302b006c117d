"""Randomized nonlinear component analysis in four steps: draw → moments → whiten → SVD.

A feature map takes a row x of data to m random features z(x) whose dot products approximate a
kernel (Section 2 of the paper). PCA of the features of one view is then nearly kernel PCA
(Section 3), and CCA of those of two views nearly kernel CCA (Section 4), in time linear in the
number of rows, and in memory that does not depend on it:

    maps = draw(unfitted, views)                                # z_x and z_y, at random
    moments = accumulate(Moments(m, m), maps, views, chunks)    # Σ z and Σ z zᵀ, in one pass
    whitened = whiten_pair(moments, reg, reg)                   # C + reg·I = L Lᵀ, for each view
    correlations, F, G = canonical(whitened, m, m, k)           # SVD of D = Lx⁻¹ Cxy Ly⁻ᵀ

The first m features are those of any larger draw with the same seed, and the leading blocks of C,
L and D are those of the smaller problem: one pass, and one factor for each reg, serve every m.

Around this, `rnca.features` has the maps, `rows` reads and checks data, `streaming` evaluates
features chunk by chunk, `moments` adds up, `spectral` has truncated decompositions, `conditioning`
tells how far a solution can be trusted, and `fitting` makes estimators of it all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from rnca._core.conditioning import refuse_above_one, refuse_dependent
from rnca._core.streaming import feature_chunks
from rnca.features.base import FeatureMap
from rnca.moments import Moments
from rnca.rows import Matrix, View
from rnca.spectral import column_signs, leading_eigh, leading_svd


def draw(unfitted: Sequence[FeatureMap], views: Sequence[View]) -> list[FeatureMap]:
    """Draw each view's map: weights and phases, or landmarks, for the scale of the view."""
    return [z.fit_view(view) for z, view in zip(unfitted, views, strict=True)]


def accumulate(
    moments: Moments,
    maps: Sequence[FeatureMap],
    views: Sequence[View],
    chunks: Iterable[tuple[int, int]],
) -> Moments:
    """Add the features of chunks of rows ``start:stop``; row i of all views is one sample."""
    for _, z in feature_chunks(maps, views, moments.shifts, chunks):  # Eq. 4, less a shift
        moments.add_centred(*z)
    moments.refuse_overflow()
    return moments


@dataclass(frozen=True)
class Factor:
    """Cholesky factor L of C + reg·I, where C is the covariance of the features of one view.

    ``squares`` are the mean squares of the features, ``variances`` their variances plus reg.
    """

    L: Matrix
    reg: float
    squares: Matrix
    variances: Matrix

    def leading(self, m: int) -> "Factor":
        """Return the factor of the first m features."""
        L = np.asfortranarray(self.L[:m, :m])
        return Factor(L, self.reg, self.squares[:m], self.variances[:m])

    @property
    def pivots(self) -> Matrix:
        """Variance of each feature that those before it do not explain, plus reg."""
        pivots: Matrix = self.L.diagonal() ** 2
        return pivots

    def whiten(self, matrix: Matrix) -> Matrix:
        """Return L⁻¹·matrix, for a matrix of m rows."""
        whitened: Matrix = solve_triangular(self.L, matrix, lower=True, check_finite=False)
        return whitened

    def unwhiten(self, directions: Matrix) -> Matrix:
        """Solve Lᵀ·F = directions for the leading block of L of as many rows."""
        L = self.L[: len(directions), : len(directions)]
        F: Matrix = solve_triangular(L, directions, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(F)


def whiten(moments: Moments, view: int, reg: float) -> Factor:
    """Factor C + reg·I of one view."""
    C = moments.covariance(view, view)
    squares = C.diagonal() + moments.mean(view) ** 2
    C.flat[:: len(C) + 1] += reg
    variances = C.diagonal().copy()
    # C is symmetric: its transpose is the same matrix in LAPACK's order.
    L, info = lapack.dpotrf(C.T, lower=1, clean=1, overwrite_a=1)
    factor = Factor(L, reg, squares, variances)
    refuse_dependent(factor, info, view, moments.n)
    return factor


@dataclass(frozen=True)
class Whitened:
    """Factors of two views of n rows, and their whitened cross-covariance D = Lx⁻¹·Cxy·Ly⁻ᵀ."""

    n: int
    x: Factor
    y: Factor
    D: Matrix

    @property
    def regs(self) -> tuple[float, float]:
        """What was added to the variances of either view."""
        return self.x.reg, self.y.reg


def whiten_pair(moments: Moments, reg_x: float, reg_y: float) -> Whitened:
    """Whiten two views."""
    x, y = whiten(moments, 0, reg_x), whiten(moments, 1, reg_y)
    return joined(moments.n, x, y, moments.covariance(0, 1))


def joined(n: int, x: Factor, y: Factor, C: Matrix) -> Whitened:
    """Whiten the cross-covariance C of two views, in its memory."""
    # In LAPACK's order: Dᵀ = Ly⁻¹·Cᵀ·Lx⁻ᵀ.
    Dt = blas.dtrsm(1.0, y.L, C.T, lower=1, overwrite_b=1)
    Dt = blas.dtrsm(1.0, x.L, Dt, side=1, lower=1, trans_a=1, overwrite_b=1)
    return Whitened(n, x, y, Dt.T)


def canonical(whitened: Whitened, m_x: int, m_y: int, k: int) -> tuple[Matrix, Matrix, Matrix]:
    """CCA of the first m_x and m_y features: the k largest correlations, and bases F and G.

    The canonical variables are (z_x − mean)·F and (z_y − mean)·G.
    """
    U, correlations, V = leading_svd(whitened.D[:m_x, :m_y], k)
    refuse_above_one(correlations, whitened.x, whitened.y, m_x, m_y)
    F, G = whitened.x.unwhiten(U), whitened.y.unwhiten(V)
    signs = column_signs(F)
    return correlations, F * signs, G * signs


def principal(C: Matrix, k: int) -> tuple[Matrix, Matrix]:
    """PCA: the k largest variances, and the basis F of the components (z − mean)·F."""
    variances, F = leading_eigh(C, k)
    return np.maximum(variances, 0.0), F * column_signs(F)
