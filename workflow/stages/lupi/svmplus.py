"""The linear SVM+ of Vapnik and Vashist (2009): slacks that are a function of privileged columns.

    min  ½‖w‖² + γ/2·‖w⋆‖² + C·Σᵢ ξᵢ    with  ξᵢ = w⋆·x⋆ᵢ + b⋆ ≥ 0  and  yᵢ(w·xᵢ + b) ≥ 1 − ξᵢ.

Rows of equal x⋆ have equal slacks. So the dual needs one multiplier per row and one number per
distinct x⋆, a cell: with S the rows' membership in cells and n_g the cells' sizes it reads

    min  ½·αᵀYKYα − 1ᵀα + δᵀK⋆δ/(2γ)    with  α ≥ 0,  yᵀα = 0,  1ᵀδ = 0,  Sᵀα − δ ≤ C·n_g,

where w = Σᵢ αᵢyᵢxᵢ and w⋆ = Σ_g δ_g·x⋆_g/γ. Against the SVM's dual, the bound C on each multiplier
has become a bound on their sum over a cell, which δ moves between cells. The multipliers of the
constraints are b, b⋆ and the cells' slacks.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

_TOLERANCE = 1e-8
_ITERATIONS = 200


class Solution(NamedTuple):
    """Solution of the dual: αᵢ·yᵢ and b; δ and ξ of each cell; b⋆.

    The decision function of kernel values k(x, xᵢ) is Σᵢ coefᵢ·k(x, xᵢ) + intercept.
    """

    coef: Matrix
    intercept: float
    excess: Matrix
    slacks: Matrix
    slack_intercept: float
    n_iter: int


def solve_dual(
    K: Matrix,
    signs: Matrix,
    cells: npt.NDArray[np.integer[Any]],
    K_star: Matrix,
    *,
    C: float,
    gamma: float,
) -> Solution:
    """Solve the dual by the interior-point method of PIQP.

    ``K`` of shape (n, n) is the kernel matrix of the rows, ``K_star`` of shape (g, g) that of the
    distinct privileged rows, of which ``cells`` says which belongs to each row; ``signs`` are −1
    and 1. Raises a FloatingPointError if the solver does not reach its tolerance.
    """
    n, g = len(signs), len(K_star)
    # In units of both kernels' mean diagonal, and multipliers in units of C where C is small, all
    # numbers the solver sees are of order 1, and its tolerance means the same for all data.
    unit, unit_star = _mean_diagonal(K), _mean_diagonal(K_star)
    C_scaled, gamma_scaled = C * unit, gamma * unit / unit_star
    scale = min(1.0, C_scaled)
    P = np.zeros((n + g, n + g), order="F")
    P[:n, :n] = K * (signs[:, None] * signs) * (scale / unit)
    P[n:, n:] = K_star * (scale / unit_star / gamma_scaled)
    linear = np.concatenate([np.full(n, -1.0), np.zeros(g)])
    equal = np.zeros((2, n + g), order="F")
    equal[0, :n], equal[1, n:] = signs, 1.0
    sums = np.zeros((g, n + g), order="F")
    sums[cells, np.arange(n)] = 1.0
    sums[:, n:] = -np.eye(g)
    most: Matrix = np.bincount(cells, minlength=g) * np.float64(C_scaled / scale)
    least = np.concatenate([np.zeros(n), np.full(g, -np.inf)])
    result = _quadratic_program(P, linear, equal, np.zeros(2), sums, most, least)
    multipliers = np.maximum(result.x, 0.0) * (scale / unit)
    return Solution(
        coef=multipliers[:n] * signs,
        intercept=float(result.y[0]),
        excess=result.x[n:] * (scale / unit),
        slacks=np.maximum(result.z_u, 0.0),
        slack_intercept=float(result.y[1]),
        n_iter=int(result.info.iter),
    )


def _mean_diagonal(K: Matrix) -> float:
    return float(np.diagonal(K).mean()) or 1.0


def _quadratic_program(
    P: Matrix, c: Matrix, A: Matrix, b: Matrix, G: Matrix, most: Matrix, least: Matrix
) -> Any:
    """Minimise ½xᵀPx + cᵀx with Ax = b, Gx ≤ most and x ≥ least."""
    try:
        import piqp
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "SVM+ is solved by piqp, which is not installed: pip install 'rnca[workflow]', or piqp "
            "alone.",
            name=error.name,
        ) from error
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = _TOLERANCE
    solver.settings.max_iter = _ITERATIONS
    unbounded = np.full(len(c), np.inf)
    solver.setup(P, c, A, b, G, np.full(len(most), -np.inf), most, least, unbounded)
    status = solver.solve()
    if status != piqp.PIQP_SOLVED:
        raise FloatingPointError(
            f"PIQP ended with {status} after {solver.result.info.iter} steps: C or gamma are too "
            "extreme for these data. Standardise the columns, or move C and gamma towards 1."
        )
    return solver.result
