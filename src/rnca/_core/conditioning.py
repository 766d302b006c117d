"""How far a solution can be trusted: dependent features, rounding, and overfitting."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rnca.features.base import FeatureMap
from rnca.moments import Moments, paired
from rnca.rows import Matrix

if TYPE_CHECKING:
    from rnca.method import Factor, Whitened

ROUNDING = 1e-6
"""Largest difference of two correlations that rounding accounts for."""
ERROR_LIMIT = 1e-3
"""Predicted error above which a fit warns: of correlations, probabilities, relative variances."""
NOISE_LIMIT = 0.43
"""Independent views show training correlations this large with 20 rows per feature, reg = 0."""

# Random vectors that estimate a trace; 16 leave a standard error below sqrt(2 / (16 m)) of it.
_PROBES = 16
# A pivot below this fraction of the feature's variance, times √m, is rounding.
_DEPENDENT = 10 * np.finfo(np.float64).eps


def refuse_dependent(factor: "Factor", info: int, view: int, n: int) -> None:
    """Refuse a singular covariance, of which LAPACK factored the first info − 1 features or all."""
    m = len(factor.L)
    # Rounding may leave a dependent feature a positive pivot, which LAPACK accepts.
    dependent = np.flatnonzero(~(factor.pivots > _DEPENDENT * np.sqrt(m) * factor.variances))
    if info != 0:  # nothing beyond this pivot was factored
        dependent = np.append(dependent[dependent < info - 1], info - 1)
    if factor.reg == 0 and m >= n:  # centred rows have rank n − 1
        dependent = np.append(dependent, n - 1)
    if dependent.size:
        raise ValueError(
            f"the covariance of the {'xy'[view]} features is singular with reg={factor.reg:g}: "
            f"feature {dependent.min()} depends linearly on those before it. Raise reg, or use "
            "fewer features."
        )


def refuse_above_one(correlations: Matrix, x: "Factor", y: "Factor", m_x: int, m_y: int) -> None:
    """Refuse correlations above 1, of the first m_x and m_y features."""
    if correlations[0] > 1 + ROUNDING:
        raise FloatingPointError(
            f"the largest canonical correlation came out as {correlations[0]:.8f}, above 1: "
            f"the covariances are too ill-conditioned for reg={(x.reg, y.reg)} (smallest pivots "
            f"{x.pivots[:m_x].min():.1e} and {y.pivots[:m_y].min():.1e}). "
            'Raise reg, use fewer features, or dtype="float64".'
        )


def degrees_of_freedom(factor: "Factor") -> Matrix:
    """Tr C(C + reg·I)⁻¹ of every leading block, estimated by random probes."""
    m = len(factor.L)
    probes = np.random.default_rng(0).choice([-1.0, 1.0], (m, _PROBES))
    # tr (C + reg·I)⁻¹ is the expected squared norm of L⁻¹·probe.
    inverse = np.square(factor.whiten(probes)).mean(axis=1).cumsum()
    freedom: Matrix = np.clip(np.arange(1, m + 1) - factor.reg * inverse, 0.0, None)
    return freedom


def summary(maps: Sequence[FeatureMap], whitened: "Whitened") -> dict[str, float]:
    """Compute ``conditioning_`` for the leading blocks that the maps describe."""
    found, errors, shares = {}, [], []
    n, factors = whitened.n, (whitened.x, whitened.y)
    for view, fitted, factor in zip("xy", maps, factors, strict=True):
        m = fitted.n_features_out
        pivots, freedom = factor.pivots[:m], degrees_of_freedom(factor)[m - 1]
        found[f"smallest_pivot_{view}"] = float(pivots.min())
        found[f"degrees_of_freedom_{view}"] = float(freedom)
        # Covariances are rounded relative to variances, features to their own size.
        rounding = np.finfo(fitted.feature_dtype).eps / 2
        noise = rounding * np.sqrt((factor.squares[:m] / pivots).max() / n)
        errors += [1e-16 / float((pivots / factor.variances[:m]).min()), float(noise)]
        shares.append(min(freedom / (n - 1), 1.0))
    found["predicted_error"] = max(errors)
    found["noise_level"] = _noise_level(*shares)
    return found


def _noise_level(a: float, b: float) -> float:
    """Largest correlation of independent views with a and b degrees of freedom per row.

    It is the edge of Wachter's distribution.
    """
    if a + b >= 1:
        return 1.0
    return float(np.sqrt(a + b - 2 * a * b + 2 * np.sqrt(a * b * (1 - a) * (1 - b))))


def training_correlations(
    correlations: Matrix,
    bases: Sequence[Matrix],
    moments: Moments,
    whitened: "Whitened",
    maps: Sequence[FeatureMap],
) -> Matrix:
    """Undo the shrinkage by reg; 0 where a variable has no variance."""
    squares = np.ones(len(correlations))
    for view, (basis, factor, fitted) in enumerate(
        zip(bases, (whitened.x, whitened.y), maps, strict=True)
    ):
        squares = squares * _variances(basis, moments, view, factor, fitted)
    norms = np.sqrt(squares)
    return np.divide(correlations, norms, out=np.zeros_like(norms), where=norms > 0)


def _variances(
    basis: Matrix, moments: Moments, view: int, factor: "Factor", fitted: FeatureMap
) -> Matrix:
    """Variances of canonical variables on the training rows, which shrinkage leaves below 1.

    A variable has none if rounding of its features accounts for it.
    """
    variances = 1.0 - factor.reg * paired(basis, basis)  # FᵀCF = I − reg·FᵀF
    cancelled = variances < ROUNDING
    if cancelled.any():
        m, basis = len(basis), basis[:, cancelled]
        directly = paired(basis, moments.covariance(view, view, m) @ basis)
        rounding = np.finfo(fitted.feature_dtype).eps ** 2 + m * np.finfo(np.float64).eps
        squares = factor.squares[:m] @ basis**2
        variances[cancelled] = np.where(directly > rounding * squares, directly, 0.0)
    return variances
