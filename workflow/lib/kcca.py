"""Exact kernel CCA of tens of thousands of rows: one Cholesky factor per view, in one array."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import lapack
from tqdm import tqdm

from rnca._core.estimators import pair
from rnca._core.moments import Correlations
from rnca._core.rows import View, check_pair, grid
from rnca._core.seeding import seeds
from rnca.features import NystroemFeatures

Matrix = npt.NDArray[np.float64]
Product = Callable[[Matrix], Matrix]

_BLOCK = 512
_WIDTH = 64
_MOST_STEPS = 40
_TOLERANCE = 1e-6  # of residuals, relative to ρ and the largest ρ: ρ has half this error
_DEPENDENT = 1e-10  # relative norm below which a direction is one of the others
_LARGEST_ERROR = 1e-6  # that rounding of the kernel matrices may cause


def kcca_bytes(n: int, columns: int) -> int:
    """Foresee the memory of a fit to n rows of two views with so many columns together.

    That is the factors, some thousand vectors, a block of the kernel, and the rows a few times.
    """
    return 8 * n * (n + 1 + 2 * 20 * _WIDTH + _BLOCK + 4 * columns)


class KCCA:
    """Exact kernel canonical correlation analysis with Gaussian kernels (Eqs. 6 and 7).

    ``gamma``, the kernel width of exp(-gamma ‖x − y‖²), and ``reg`` may be (x, y) pairs. ``reg``,
    γ_x and γ_y, is added to the diagonals of the centred kernel matrices. It is at least 2.2e-10·n:
    below, rounding of the kernel matrices could change the solution by more than 1e-6. Median
    widths and the start of the iteration follow from ``random_state``.

    Fitting sets ``correlations_``, the (regularised) kernel canonical correlations, decreasing;
    ``maps_``, kernel values at all training rows; and ``coefficients_`` and ``shifts_``: canonical
    variables are kernel values times coefficients, less shifts.
    """

    def __init__(
        self,
        n_components: int,
        *,
        gamma: Any = "median",
        reg: Any = 1.0,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components, self.gamma, self.reg = n_components, gamma, reg
        self.random_state, self.verbose = random_state, verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to two views of the same samples, of shapes (n, p) and (n, q)."""
        views = [View(X, "X"), View(y, "y")]
        check_pair(*views)
        n, regs, widths = len(views[0]), pair(self.reg, "reg"), pair(self.gamma, "gamma")
        # An error δ of K, up to n·eps, changes K(K + γI)⁻¹ by up to δ/γ.
        rounding = n * np.finfo(np.float64).eps / min(regs)
        if rounding > _LARGEST_ERROR:
            raise ValueError(
                f"reg={min(regs)!r}: with {n} rows, rounding of the kernel matrix changes the "
                f"solution by more than {_LARGEST_ERROR:g} where reg is below "
                f"{rounding * min(regs) / _LARGEST_ERROR:.1e}. Raise reg."
            )
        *draws, seed = seeds(self.random_state, 3)
        maps = [
            NystroemFeatures(
                landmarks=view.data, gamma=width, random_state=draw, dtype="float64"
            ).fit_view(view)
            for view, width, draw in zip(views, widths, draws, strict=True)
        ]
        # The two triangles, with their diagonals, have no element in common.
        packed = np.empty((n + 1, n))
        triangles = packed[:n].T, packed[1:]
        progress = tqdm(desc=f"kernel CCA of {n} rows", disable=not self.verbose, unit="step")
        with progress:
            solve_x, solve_y = map(_inverse, maps, views, triangles, regs)
            start = np.random.default_rng(seed).standard_normal((n, _WIDTH))
            squares, g = _leading(
                lambda v: solve_x(v).values,
                lambda v: solve_y(v).values,
                start - start.mean(axis=0),
                self.n_components,
                max(_DEPENDENT, rounding),
                progress,
            )
        # The variables' values on the training rows are f = Rx g/ρ and g = Ry f/ρ.
        scale = np.sqrt((n - 1) / squares)
        of_x = solve_x(g * scale)
        of_y = solve_y(of_x.values / np.sqrt(squares))
        self.correlations_, self.maps_ = np.sqrt(squares), maps
        self.coefficients_ = of_x.coefficients, of_y.coefficients
        self.shifts_ = of_x.shift, of_y.shift
        return self

    def transform(self, X: Any, y: Any) -> tuple[Matrix, Matrix]:
        """Canonical variables of rows of both views, of mean 0 over the training rows."""
        x, y = map(_variables, (X, y), self.maps_, self.coefficients_, self.shifts_)
        return x, y

    def component_correlations(self, X: Any, y: Any) -> npt.NDArray[np.float64]:
        """Correlation of each pair of canonical variables on the given rows, signed."""
        return Correlations().update(*self.transform(X, y)).values()

    def score(self, X: Any, y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows."""
        return float(np.abs(self.component_correlations(X, y)).sum())


class _Functions(NamedTuple):
    """R = HKH(HKH + reg·I)⁻¹ times columns of mean 0: ``values`` on the training rows.

    HKH is the centred kernel matrix; elsewhere they are kernel values times ``coefficients``, less
    ``shift``.
    """

    coefficients: Matrix
    values: Matrix
    shift: Matrix


def _variables(rows: Any, kernel: NystroemFeatures, weights: Matrix, shift: Matrix) -> Matrix:
    """Kernel values of the rows times weights, less a shift."""
    blocks = (rows[low : low + _BLOCK] for low in range(0, len(rows), _BLOCK))
    return np.concatenate([kernel.transform(block) @ weights - shift for block in blocks])


def _inverse(
    kernel: NystroemFeatures, view: View, triangle: Matrix, reg: float
) -> Callable[[Matrix], _Functions]:
    """Factorise the kernel matrix plus reg in a lower triangle; return what solves with it."""
    n = len(view)
    for low, high in grid(0, n, _BLOCK):
        values = np.empty((high - low, high))
        kernel.prefix(high).features(view.read(low, high), values)
        triangle[low:high, :low] = values[:, :low]
        mask = np.tri(high - low, dtype=bool)
        np.copyto(triangle[low:high, low:high], values[:, low:], where=mask)
    np.einsum("ii->i", triangle)[:] += reg
    lower = triangle.flags.f_contiguous  # LAPACK stores columns: of the other it sees the transpose
    factor = triangle if lower else triangle.T
    if lapack.dpotrf(factor, lower=lower, clean=0, overwrite_a=1)[1] != 0:
        raise ValueError(f"the kernel matrix plus reg={reg} is not positive definite: raise reg.")
    of_ones = lapack.dpotrs(factor, np.ones((n, 1)), lower=lower)[0]

    def solve(right: Matrix) -> _Functions:
        # (K + γ)α = v + c·1 with the c for which α has mean 0; then Kα − c = v − γα.
        shift = -(of_ones.T @ right)[0] / of_ones.sum()
        coefficients = lapack.dpotrs(factor, right, lower=lower)[0] + of_ones * shift
        values = right - reg * coefficients
        return _Functions(coefficients, values - values.mean(axis=0), shift)

    return solve


def _leading(
    Rx: Product, Ry: Product, block: Matrix, k: int, rounding: float, progress: Any
) -> tuple[Matrix, Matrix]:
    """Leading eigenpairs of RxRy, which is self-adjoint in the inner product uᵀRy v.

    Rayleigh-Ritz in that inner product on a block Krylov space, whose basis is orthonormal in the
    ordinary one: directions that Ry maps to almost nothing are then never scaled up.
    Returns ρ², the k squared correlations, decreasing, and RyV of shape (n, k) for eigenvectors V
    with VᵀRyV = I.
    """
    n, width = block.shape
    most = min(n, width * (_MOST_STEPS + 1))
    Q, W = (np.empty((n, most), order="F") for _ in range(2))  # the basis, and RyQ
    gram, images = np.zeros((most, most)), np.zeros((most, most))  # QᵀRyQ, QᵀRxRyQ
    block, size, last = Rx(block), 0, slice(0, 0)
    while size < width * _MOST_STEPS:
        fresh = _new_directions(Q[:, :size], block)
        full = size + fresh.shape[1]
        new = slice(size, full)
        Q[:, new], W[:, new] = fresh, Ry(fresh)
        gram[:full, new] = Q[:, :full].T @ W[:, new]
        gram[new, :full] = gram[:full, new].T
        if size:  # with the new directions in Q, RxW = Q·images for the W there was
            images[:full, last] = Q[:, :full].T @ block
            theta, Y = _ritz_pairs(gram[:full, :size], images[:full, :size], k, rounding)
            if len(theta) == k:
                residual = images[:full, :size] @ Y
                residual[:size] -= Y * theta
                squares = np.einsum("ij,ij->j", residual, gram[:full, :full] @ residual)
                worst = np.sqrt((np.abs(squares) / (theta[0] * theta)).max())
                progress.set_postfix(residual=f"{worst:.0e}")
                if worst <= _TOLERANCE:
                    return theta, W[:, :size] @ Y
            if full == size:
                raise ValueError(
                    f"n_components={k}: only {len(theta)} canonical variables have a correlation "
                    "above rounding. Ask for fewer, or lower reg."
                )
        last, size = new, full
        block = Rx(W[:, last])
        progress.update()
    raise ValueError(
        f"the largest correlations, {np.sqrt(theta[0]):.6f} down to {np.sqrt(theta[-1]):.6f}, are "
        "too near to each other to be told apart. Raise reg."
    )


def _new_directions(Q: Matrix, block: Matrix) -> Matrix:
    """Orthonormal basis of what the columns of a block add to the span of an orthonormal Q."""
    smallest = _DEPENDENT * np.linalg.norm(block, axis=0).max()
    for threshold in (smallest, 0.5):  # the second time columns have length 1 but for rounding
        block = block - Q @ (Q.T @ block)
        block, R, _ = scipy.linalg.qr(block, mode="economic", pivoting=True)
        block = block[:, np.abs(np.diag(R)) > threshold]
    return block


def _ritz_pairs(gram: Matrix, images: Matrix, k: int, rounding: float) -> tuple[Matrix, Matrix]:
    """Solve WᵀRxW·y = θ·QᵀW·y for the k largest θ above rounding, with yᵀQᵀWy = 1; W = RyQ."""
    scale, turn = scipy.linalg.eigh(gram[: gram.shape[1]])
    # f = RxRy f/ρ² gives fᵀRy f ≥ ρ⁴ fᵀf: no variable worth returning is lost here.
    basis = turn[:, scale > rounding] / np.sqrt(scale[scale > rounding])
    if not (rank := basis.shape[1]):
        return np.empty(0), basis
    within = basis.T @ (gram.T @ images) @ basis
    theta, Y = scipy.linalg.eigh(within, subset_by_index=(max(rank - k, 0), rank - 1))
    theta, Y = theta[::-1], Y[:, ::-1]
    return theta[theta > _DEPENDENT], basis @ Y[:, theta > _DEPENDENT]
