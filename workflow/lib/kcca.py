"""Exact kernel CCA of tens of thousands of rows.

Cubic in the number of rows n as any exact method, but with the smallest cubic term: one Cholesky
factorisation per view, n³/3 operations each, at the speed of matrix products; the canonical
variables then take a few dozen solves with these factors. Memory is one n × n array for both.
"""

from typing import Any, Self

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

_BLOCK = 512
_WIDTH = 64
_MOST_STEPS = 40
# Of residuals, relative to ρ and the largest ρ: ρ then has half this error, and training
# correlations and variables that are separate from others far less.
_TOLERANCE = 1e-6
# Relative norm below which a direction is one of the others, and an eigenvalue is a rounding error.
_DEPENDENT = 1e-10
# Largest error that rounding of the kernel matrices may cause.
_LARGEST_ERROR = 1e-6


def kcca_bytes(n: int, columns: int) -> int:
    """Foresee the memory of a fit to n rows of two views with so many columns together.

    That is the factors, some thousand vectors, a block of the kernel, and the rows a few times.
    """
    vectors = 2 * 20 * _WIDTH
    return 8 * n * (n + 1 + vectors + _BLOCK + 4 * columns)


class KCCA:
    """Exact kernel canonical correlation analysis with Gaussian kernels (Eqs. 6 and 7).

    ``gamma``, the kernel width of exp(-gamma ‖x − y‖²), and ``reg`` may be (x, y) pairs. ``reg``,
    γ_x and γ_y, is added to the diagonals of the centred kernel matrices. It is at least 2.2e-10·n:
    below, rounding of the kernel matrices could change the solution by more than 1e-6. Median
    widths and the start of the iteration follow from ``random_state``.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        The (regularised) kernel canonical correlations, decreasing.
    training_correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of canonical variables on the training rows.
    maps_ : pair of NystroemFeatures
        Kernel values at all training rows.
    coefficients_, shifts_ : pairs of ndarray of shape (n, n_components) and (n_components,)
        Canonical variables are kernel values times coefficients, less shifts.
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
        self.n_components = n_components
        self.gamma = gamma
        self.reg = reg
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to two views of the same samples, of shapes (n, p) and (n, q)."""
        views = [View(X, "X"), View(y, "y")]
        check_pair(*views)
        self._check_rounding(len(views[0]))
        seed_x, seed_y, seed_start = seeds(self.random_state, 3)
        # Kernel values at all training rows: Nyström features without an approximation.
        maps = [
            NystroemFeatures(
                landmarks=view.data, gamma=width, random_state=seed, dtype="float64"
            ).fit_view(view)
            for view, width, seed in zip(
                views, pair(self.gamma, "gamma"), (seed_x, seed_y), strict=True
            )
        ]
        factors = _Factors(maps, views, pair(self.reg, "reg"), self.verbose)
        start = np.random.default_rng(seed_start).standard_normal((len(views[0]), _WIDTH))
        squares, Z = _leading(factors, start, self.n_components, self.verbose)
        correlations = np.sqrt(squares)
        # The variables' values f = Rx g/ρ and g = Ry f/ρ on the training rows are the kernels times
        # α = (Kx + γx)⁻¹ g/ρ and β = (Ky + γy)⁻¹ f/ρ; here g = Z.
        root = np.sqrt(len(start) - 1)
        f = factors.shrink(0, Z) / correlations
        coefficients = [root * factors.solve(i, g) / correlations for i, g in enumerate((Z, f))]
        shifts = [mean @ weights for mean, weights in zip(factors.means, coefficients, strict=True)]
        del factors
        variables = map(_variables, views, maps, coefficients, shifts)
        training = _correlations(*variables)
        self._check_training(training, _correlations(f, Z))
        self.correlations_, self.training_correlations_ = correlations, training
        self.maps_, self.coefficients_, self.shifts_ = maps, coefficients, shifts
        return self

    def transform(self, X: Any, y: Any) -> tuple[Matrix, Matrix]:
        """Canonical variables of rows of both views, of mean 0 over the training rows."""
        fitted = zip(self.maps_, self.coefficients_, self.shifts_, strict=True)
        views = View(X, "X"), View(y, "y")
        x, y = (_variables(view, *own) for view, own in zip(views, fitted, strict=True))
        return x, y

    def component_correlations(self, X: Any, y: Any) -> npt.NDArray[np.float64]:
        """Correlation of each pair of canonical variables on the given rows, signed."""
        return _correlations(*self.transform(X, y))

    def score(self, X: Any, y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows."""
        return float(np.abs(self.component_correlations(X, y)).sum())

    def _check_training(self, found: Matrix, solved: Matrix) -> None:
        """Compare the correlations of the fitted functions with those of the solution."""
        error = np.abs(found - solved).max()
        if not error <= _LARGEST_ERROR:
            raise FloatingPointError(
                f"reg={self.reg!r}: on the training rows the canonical variables correlate "
                f"{error:.1e} more or less than the solution says; at most {_LARGEST_ERROR:g} is "
                "rounding. Raise reg."
            )

    def _check_rounding(self, n: int) -> None:
        for value in pair(self.reg, "reg"):
            # An error δ of K, up to n·eps, changes K(K + γI)⁻¹ by up to δ/γ.
            least = n * np.finfo(np.float64).eps / _LARGEST_ERROR
            if value < least:
                raise ValueError(
                    f"reg={value!r}: with {n} rows, rounding of the kernel matrix changes the "
                    f"solution by more than {_LARGEST_ERROR:g} where reg is below {least:.1e}. "
                    "Raise reg."
                )


def _variables(view: View, kernel: NystroemFeatures, weights: Matrix, shift: Matrix) -> Matrix:
    """Kernel values of the rows times weights, less a shift."""
    values = np.empty((_BLOCK, kernel.n_features_out))
    parts = []
    for low, high in grid(0, len(view), _BLOCK):
        rows = values[: high - low]
        kernel.features(view.read(low, high), rows)
        parts.append(rows @ weights - shift)
    return np.concatenate(parts)


def _correlations(x_variables: Matrix, y_variables: Matrix) -> Matrix:
    return Correlations().update(x_variables, y_variables).values()


class _Factors:
    """Cholesky factors of Kx + γx·I and Ky + γy·I, K centred, in one array of n + 1 rows.

    That of Kx takes the upper triangle of the first n rows, that of Ky the lower triangle of the
    last n, both with their diagonals: they have no element in common. The kernels, a pair of
    `NystroemFeatures`, have all rows of the views as landmarks; ``means`` are the means of each row
    of the kernel matrices before centring.
    """

    def __init__(self, kernels: Any, views: Any, regs: Any, progress: bool) -> None:
        n = len(views[0])
        packed = np.empty((n + 1, n))
        # LAPACK stores columns: what it sees are the transposes.
        self._factors = [packed[:n].T, packed[1:].T]
        self._uses_lower = [1, 0]
        self.regs = regs
        self.means = []
        lower = [packed[:n].T, packed[1:]]
        with tqdm(total=4, desc=f"kernels of {n} rows", disable=not progress) as bar:
            for kernel, view, triangle, reg in zip(kernels, views, lower, regs, strict=True):
                self.means.append(_fill(kernel, view, triangle))
                np.einsum("ii->i", triangle)[:] += reg
                bar.update()
            for factor, uses_lower in zip(self._factors, self._uses_lower, strict=True):
                _, info = lapack.dpotrf(factor, lower=uses_lower, clean=0, overwrite_a=1)
                if info != 0:
                    raise ValueError(
                        f"a kernel matrix plus reg={regs} is not positive definite to rounding: "
                        "raise reg."
                    )
                bar.update()

    def solve(self, index: int, right: Matrix) -> Matrix:
        """Multiply by (K + γI)⁻¹ of one view."""
        solution: Matrix = lapack.dpotrs(
            self._factors[index], right, lower=self._uses_lower[index]
        )[0]
        return solution

    def shrink(self, index: int, right: Matrix) -> Matrix:
        """Multiply by R = K(K + γI)⁻¹ of one view."""
        shrunk: Matrix = right - self.regs[index] * self.solve(index, right)
        return shrunk


def _fill(kernel: NystroemFeatures, view: View, triangle: Matrix) -> Matrix:
    """Write the centred kernel matrix of the rows to a lower triangle; return its row means."""
    n = len(view)
    sums = np.zeros(n)
    block = np.empty(_BLOCK * n)
    for low, high in grid(0, n, _BLOCK):
        values = block[: (high - low) * high].reshape(high - low, high)
        kernel.prefix(high).features(view.read(low, high), values)
        sums[low:high] += values.sum(axis=1)
        sums[:low] += values[:, :low].sum(axis=0)
        triangle[low:high, :low] = values[:, :low]
        np.copyto(triangle[low:high, low:high], values[:, low:], where=_lower(high - low))
    means = sums / n
    others = means - means.mean()
    for low, high in grid(0, n, _BLOCK):
        rows, mask = triangle[low:high], _lower(high - low)
        corner = rows[:, low:high]
        for shift in (means[low:high, None], others[:high]):
            rows[:, :low] -= shift[..., :low]
            np.subtract(corner, shift[..., -(high - low) :], out=corner, where=mask)
    return means


def _lower(size: int) -> npt.NDArray[np.bool_]:
    return np.tri(size, dtype=bool)


def _leading(factors: _Factors, block: Matrix, k: int, progress: bool) -> tuple[Matrix, Matrix]:
    """Leading eigenpairs of RxRy, which is self-adjoint in the inner product uᵀRy v.

    Rayleigh-Ritz in that inner product on a block Krylov space, whose basis is orthonormal in the
    ordinary one: directions that Ry maps to almost nothing are then never scaled up.
    Returns ρ², the k squared correlations, decreasing, and Z = RyV of shape (n, k) for eigenvectors
    V with VᵀRyV = I.
    """
    n, width = block.shape
    most = min(n, width * (_MOST_STEPS + 1))
    Q, W = (np.empty((n, most), order="F") for _ in range(2))  # the basis, and RyQ
    gram, ritz, images = (np.zeros((most, most)) for _ in range(3))  # QᵀW, WᵀRxW, QᵀRxW
    # An error of K, up to n·eps, changes R = K(K + γI)⁻¹ by up to n·eps/γ.
    rounding = max(_DEPENDENT, n * np.finfo(np.float64).eps / min(factors.regs))
    block = factors.shrink(0, block)
    size, last = 0, slice(0, 0)
    with tqdm(desc="canonical variables", unit="step", disable=not progress) as bar:
        while True:
            fresh = _new_directions(Q[:, :size], block)
            full = size + fresh.shape[1]
            new = slice(size, full)
            Q[:, new], W[:, new] = fresh, factors.shrink(1, fresh)
            gram[:full, new] = Q[:, :full].T @ W[:, new]
            gram[new, :full] = gram[:full, new].T
            theta = np.empty(0)
            if size:
                # With the new directions in Q, RxW = Q·images for the W there was.
                images[new, last] = fresh.T @ block
                theta, Y = _ritz_pairs(ritz[:size, :size], gram[:size, :size], k, rounding)
            if len(theta) == k:
                residual = images[:full, :size] @ Y
                residual[:size] -= Y * theta
                squares = np.einsum("ij,ij->j", residual, gram[:full, :full] @ residual)
                worst = np.sqrt((np.abs(squares) / (theta[0] * theta)).max())
                bar.set_postfix(residual=f"{worst:.0e}")
                if worst <= _TOLERANCE:
                    return theta, W[:, :size] @ Y
            if full == size:
                raise ValueError(
                    f"n_components={k}: only {len(theta)} canonical variables have a correlation "
                    "above rounding. Ask for fewer, or lower reg."
                )
            if size >= width * _MOST_STEPS:
                raise ValueError(
                    f"reg={factors.regs}: the largest correlations, {np.sqrt(theta[0]):.6f} down "
                    f"to {np.sqrt(theta[-1]):.6f}, are too near to each other to be told apart. "
                    "Raise reg."
                )
            last, size = new, full
            block = factors.shrink(0, W[:, last])
            images[:size, last] = Q[:, :size].T @ block
            ritz[:size, last] = W[:, :size].T @ block
            ritz[last, :size] = ritz[:size, last].T
            bar.update()


def _new_directions(Q: Matrix, block: Matrix) -> Matrix:
    """Orthonormal basis of what the columns of a block add to the span of an orthonormal Q."""
    smallest = _DEPENDENT * np.linalg.norm(block, axis=0).max()
    for threshold in (smallest, 0.5):  # the second time columns have length 1 but for rounding
        block = block - Q @ (Q.T @ block)
        block, R, _ = scipy.linalg.qr(block, mode="economic", pivoting=True)
        block = block[:, np.abs(np.diag(R)) > threshold]
    return block


def _ritz_pairs(ritz: Matrix, gram: Matrix, k: int, rounding: float) -> tuple[Matrix, Matrix]:
    """Solve ritz·y = θ·gram·y for the k largest θ above rounding, with yᵀ gram y = 1."""
    scale, turn = scipy.linalg.eigh(gram)
    # f = RxRy f/ρ² gives fᵀRy f ≥ ρ⁴ fᵀf: no variable worth returning is lost here.
    basis = turn[:, scale > rounding] / np.sqrt(scale[scale > rounding])
    size = basis.shape[1]
    if not size:
        return np.empty(0), basis
    leading = max(size - k, 0), size - 1
    theta, Y = scipy.linalg.eigh(basis.T @ (ritz @ basis), subset_by_index=leading)
    theta, Y = theta[::-1], Y[:, ::-1]
    return theta[theta > _DEPENDENT], basis @ Y[:, theta > _DEPENDENT]
