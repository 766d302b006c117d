"""Linear SVMs over a grid of costs, and the linear SVM+ of Vapnik and Vashist (2009), from kernels.

The slacks of SVM+ are a function of privileged columns x⋆:

    min  ½‖w‖² + γ/2·‖w⋆‖² + C·Σᵢ ξᵢ    with  ξᵢ = w⋆·x⋆ᵢ + b⋆ ≥ 0  and  yᵢ(w·xᵢ + b) ≥ 1 − ξᵢ.

Rows of equal x⋆ have equal slacks. So the dual needs one multiplier per row and one number per
distinct x⋆, a cell: with S the rows' membership in cells and n_g the cells' sizes it reads

    min  ½·αᵀYKYα − 1ᵀα + δᵀK⋆δ/(2γ)    with  α ≥ 0,  yᵀα = 0,  1ᵀδ = 0,  Sᵀα − δ ≤ C·n_g,

where w = Σᵢ αᵢyᵢxᵢ and w⋆ = Σ_g δ_g·x⋆_g/γ. Against the SVM's dual, the bound C on each multiplier
has become a bound on their sum over a cell, which δ moves between cells. The multipliers of the
constraints are b, b⋆ and the cells' slacks.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

Matrix = npt.NDArray[np.float64]

# Steps of libsvm per training row. Where classes overlap in few dimensions, a large cost would
# take millions; what those fits return when cut short is noise, so the path ends there.
STEPS_PER_ROW = 25
# Of the interior-point method.
_TOLERANCE = 1e-8
_ITERATIONS = 200


class Path(NamedTuple):
    """SVMs of increasing cost, and whether the solver reached its tolerance at each.

    Decision values are ``K @ coef[i] + intercept[i]``; both are NaN where no fit was tried.
    """

    coef: Matrix
    intercept: Matrix
    solved: npt.NDArray[np.bool_]

    def accuracy(self, K: Matrix, signs: Matrix) -> Matrix:
        """Share of rows, given their kernel values with the training rows, classified rightly.

        One share per cost; NaN where no fit was tried.
        """
        decision = self.coef @ K.T + self.intercept[:, None]
        share = np.where(decision > 0, 1, -1) == signs
        accuracy: Matrix = np.where(np.isnan(self.intercept), np.nan, share.mean(axis=1))
        return accuracy


def over_costs(
    fit: Callable[[float], tuple[Matrix, float, bool, bool]], costs: Sequence[float], n: int
) -> Path:
    """Fit n rows at each of the increasing costs, as far as that is worth it.

    A fit returns coefficients, intercept, whether it is solved, and whether it separates the rows:
    it is then that of every larger cost. The path ends at the first cost that is not solved.
    """
    k = len(costs)
    path = Path(np.full((k, n), np.nan), np.full(k, np.nan), np.zeros(k, bool))
    for i, C in enumerate(costs):
        coef, intercept, solved, separates = fit(C)
        where = slice(i, None) if separates else i
        path.coef[where], path.intercept[where], path.solved[where] = coef, intercept, solved
        if separates or not solved:
            break
    return path


def svm_path(K: Matrix, signs: Matrix, costs: Sequence[float]) -> Path:
    """Fit the SVM with Gram matrix K and labels −1 and 1, both present, at each increasing cost.

    A fit is solved if libsvm reaches its tolerance in `STEPS_PER_ROW` steps a row, and separates
    the rows if no multiplier is at its bound.
    """

    def fit(C: float) -> tuple[Matrix, float, bool, bool]:
        model = SVC(C=C, kernel="precomputed", max_iter=STEPS_PER_ROW * len(signs))
        with (
            warnings.catch_warnings(),
            config_context(assume_finite=True, skip_parameter_validation=True),
        ):  # checks would take longer than small fits
            warnings.simplefilter("ignore", ConvergenceWarning)  # which the path records
            model.fit(K, signs)
        coef = np.zeros(len(signs))
        coef[model.support_] = model.dual_coef_[0]
        solved = model.fit_status_ == 0
        separates = solved and bool(np.abs(coef).max() < C * (1 - 1e-9))
        return coef, float(model.intercept_[0]), solved, separates

    return over_costs(fit, costs, len(signs))


class Solution(NamedTuple):
    """Solution of the dual: αᵢ·yᵢ and b; δ and ξ of each cell; b⋆.

    The decision function of kernel values k(x, xᵢ) is Σᵢ coefᵢ·k(x, xᵢ) + intercept.
    """

    coef: Matrix
    intercept: float
    excess: Matrix
    slacks: Matrix
    slack_intercept: float


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
    unit, unit_star = mean_diagonal(K), mean_diagonal(K_star)
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
    )


def mean_diagonal(K: Matrix) -> float:
    """Return the mean squared length of the rows behind a Gram matrix; 1 if all are zero."""
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
