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
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from rnca._core.mapping import check_count, check_width, pair
from rnca._core.moments import Moments
from rnca._core.rows import View, check_at_least_two_rows, check_pair, grid
from rnca._core.seeding import seeds
from rnca.cca import paired_correlations
from rnca.features import NystroemFeatures

Matrix = npt.NDArray[np.float64]

_BLOCK = 512
_WIDTH = 64
_MOST_STEPS = 40
# Of residuals: an eigenvalue ρ² lies within its residual, and far nearer once it is separate.
_TOLERANCE = 1e-5
# A direction whose norm falls by this factor when the others are taken off is one of them.
_DEPENDENT = 1e-12


def kcca_bytes(n: int, columns: int) -> int:
    """Foresee the memory of a fit to n rows of two views with so many columns together.

    That is the factors, some thousand vectors, a block of the kernel, and the rows a few times.
    """
    vectors = 2 * 20 * _WIDTH
    return 8 * n * (n + 1 + vectors + _BLOCK + 4 * columns)


class KCCA(BaseEstimator):
    """Exact kernel canonical correlation analysis with Gaussian kernels (Eqs. 6 and 7).

    Parameters
    ----------
    n_components : int, default=50
        Number of canonical variables.
    gamma : float, "median" or pair, default="median"
        Kernel width of exp(-gamma ‖x − y‖²).
    reg : float or pair, default=1.0
        γ_x and γ_y, added to the diagonals of the centred kernel matrices.
    random_state : int, numpy Generator, numpy RandomState or None
        For median kernel widths, and for where the iteration starts.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        The (regularised) kernel canonical correlations, decreasing.
    maps_ : pair of NystroemFeatures
        Kernel values at all training rows.
    coefficients_, shifts_ : pairs of ndarray of shape (n, n_components) and (n_components,)
        Canonical variables are kernel values times coefficients, less shifts.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow.lib.kcca import KCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-2, 2, size=1000)
    >>> X = np.column_stack([t**2, rng.normal(size=1000)])
    >>> Y = np.column_stack([np.sin(3 * t), rng.normal(size=1000)])
    >>> kcca = KCCA(1, reg=1.0, random_state=0).fit(X[:500], Y[:500])
    >>> bool(kcca.score(X[500:], Y[500:]) > 0.6)
    True
    """

    def __init__(
        self,
        n_components: int = 50,
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

    def fit(self, X: Any, Y: Any) -> Self:
        """Fit to two views of the same samples.

        Parameters
        ----------
        X : array-like of shape (n, p)
        Y : array-like of shape (n, q)

        Returns
        -------
        self
        """
        views = [View(X, "X"), View(Y, "Y")]
        check_pair(*views)
        check_at_least_two_rows(len(views[0]), "X")
        self._check(len(views[0]))
        seed_x, seed_y, seed_start = seeds(self.random_state, 3)
        # Kernel values at all training rows: Nyström features without an approximation.
        self.maps_ = [
            NystroemFeatures(
                landmarks=data, gamma=width, random_state=seed, dtype="float64"
            ).fit_view(view)
            for data, view, width, seed in zip(
                (X, Y), views, pair(self.gamma, "gamma"), (seed_x, seed_y), strict=True
            )
        ]
        factors = _Factors(self.maps_, views, pair(self.reg, "reg"), self.verbose)
        start = np.random.default_rng(seed_start).standard_normal((len(views[0]), _WIDTH))
        squares, V, Z = _leading(factors, start, self.n_components, self.verbose)
        self.correlations_ = np.sqrt(squares)
        # The variables' values f on the training rows and g = Ry f/ρ, f = Rx g/ρ, are the kernels
        # times α = (Kx + γx)⁻¹ g/ρ and β = (Ky + γy)⁻¹ f/ρ; here f = ρV and g = Z.
        root = np.sqrt(len(start) - 1)
        self.coefficients_ = [
            root * factors.solve(0, Z) / self.correlations_,
            root * factors.solve(1, V),
        ]
        self.shifts_ = [
            mean @ coefficients
            for mean, coefficients in zip(factors.means, self.coefficients_, strict=True)
        ]
        return self

    def transform(self, X: Any, Y: Any) -> tuple[Matrix, Matrix]:
        """Canonical variables of both views.

        Returns
        -------
        pair of ndarray of shape (rows, n_components)
            Their means over the training rows are 0.
        """
        check_is_fitted(self, "coefficients_")
        return self._variables(View(X, "X"), 0), self._variables(View(Y, "Y"), 1)

    def component_correlations(self, X: Any, Y: Any) -> npt.NDArray[np.float64]:
        """Correlation of each pair of canonical variables on the given rows, signed.

        Returns
        -------
        ndarray of shape (n_components,)
        """
        moments = Moments(self.n_components, self.n_components)
        return paired_correlations(moments.update(*self.transform(X, Y)))

    def score(self, X: Any, Y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows."""
        return float(np.abs(self.component_correlations(X, Y)).sum())

    def _variables(self, view: View, index: int) -> Matrix:
        kernel = self.maps_[index]
        check_width(view, kernel)
        values = np.empty((_BLOCK, kernel.n_features_out))
        parts = []
        for low, high in grid(0, len(view), _BLOCK):
            rows = values[: high - low]
            kernel.features(view.read(low, high), rows)
            parts.append(rows @ self.coefficients_[index] - self.shifts_[index])
        return np.concatenate(parts)

    def _check(self, n: int) -> None:
        check_count(self.n_components, "n_components")
        if self.n_components > n - 1:
            raise ValueError(
                f"n_components={self.n_components}: {n} centred rows have at most {n - 1} "
                "canonical variables."
            )
        for value in pair(self.reg, "reg"):
            if not 0 < value < np.inf:
                raise ValueError(
                    f"reg={value!r}: without a positive regulariser all kernel canonical "
                    "correlations are 1; give a finite number > 0, for example 1.0."
                )


class _Factors:
    """Cholesky factors of Kx + γx·I and Ky + γy·I, K centred, in one array of n + 1 rows.

    That of Kx takes the upper triangle of the first n rows, that of Ky the lower triangle of the
    last n, both with their diagonals: they have no element in common.

    Parameters
    ----------
    kernels : pair of NystroemFeatures
        With all rows as landmarks.
    views : pair of View
        These rows.
    regs : pair of float
        γx and γy.
    progress : bool

    Attributes
    ----------
    means : list of ndarray of shape (n,)
        Of each row of the kernel matrices before centring.
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


def _leading(
    factors: _Factors, block: Matrix, k: int, progress: bool
) -> tuple[Matrix, Matrix, Matrix]:
    """Leading eigenpairs of RxRy, which is self-adjoint in the inner product uᵀRy v.

    Block Lanczos with full reorthogonalisation in that inner product.

    Returns
    -------
    values : ndarray of shape (k,), decreasing
        ρ², squared correlations.
    V, Z : ndarray of shape (n, k)
        Vectors with VᵀRyV = I, and RyV.
    """
    n, width = block.shape
    most = min(n, width * _MOST_STEPS)
    V, Z = (np.empty((n, most), order="F") for _ in range(2))
    T = np.zeros((most, most))
    size, last = 0, slice(0, 0)
    block = factors.shrink(0, block)
    bar = tqdm(desc="canonical variables", unit="step", disable=not progress)
    with bar:
        while True:
            basis, images = V[:, :size], Z[:, :size]
            for _ in range(2):
                block -= basis @ (images.T @ block)
            image = factors.shrink(1, block)
            gram = block.T @ image
            if size >= k:
                theta, Y = scipy.linalg.eigh((T[:size, :size] + T[:size, :size].T) / 2)
                theta, Y = theta[: -k - 1 : -1], Y[:, : -k - 1 : -1]
                residuals = np.sqrt(np.abs(np.einsum("ij,ij->j", Y[last], gram @ Y[last])))
                bar.set_postfix(residual=f"{residuals.max():.0e}")
                if residuals.max() <= _TOLERANCE:
                    return theta, basis @ Y, images @ Y
            scale, turn = scipy.linalg.eigh((gram + gram.T) / 2)
            turn = turn[:, scale > _DEPENDENT] / np.sqrt(scale[scale > _DEPENDENT])
            last = slice(size, size + turn.shape[1])
            if not turn.shape[1]:
                raise ValueError(
                    f"n_components={k}: only {size} canonical variables have a correlation above "
                    "rounding. Ask for fewer, or lower reg."
                )
            if last.stop > most:
                raise ValueError(
                    f"reg={factors.regs}: the largest correlations, {np.sqrt(theta[0]):.6f} down "
                    f"to {np.sqrt(theta[-1]):.6f}, are too near to each other to be told apart. "
                    "Raise reg."
                )
            V[:, last], Z[:, last] = block @ turn, image @ turn
            size = last.stop
            block = factors.shrink(0, Z[:, last])
            T[:size, last] = Z[:, :size].T @ block
            T[last, :size] = T[:size, last].T
            bar.update()
