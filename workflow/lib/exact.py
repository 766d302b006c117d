"""Exact kernel PCA, kernel CCA and spectral clustering: references for a few thousand rows.

`KCCA` is for tens of thousands. Arguments are those that the settings of the stages have been
checked for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel

from rnca.features import NystroemFeatures
from rnca.moments import Correlations
from rnca.rows import grid
from rnca.seeding import seeds
from rnca.spectral import leading_eigh, orthonormal_complement

Matrix = npt.NDArray[np.float64]
_Solver = Callable[[Matrix], tuple[Matrix, Matrix, Matrix]]

# Of kernel CCA of many rows: rows of the kernel at once, and columns and steps of the iteration.
_BLOCK = 512
_WIDTH = 64
_MOST_STEPS = 40
_TOLERANCE = 1e-6  # of residuals, relative to ρ and the largest ρ: ρ has half this error
_ZERO = 1e-10  # squared correlations below it are none
_LARGEST_ERROR = 1e-6  # that rounding of the kernel matrices may cause


class KernelPCA(NamedTuple):
    """Exact kernel PCA."""

    eigenvalues: Matrix  # of the centred kernel matrix, decreasing; shape (k,)
    scores: Matrix  # principal components of the rows; shape (n, k)


class KernelCCA(NamedTuple):
    """Exact kernel CCA."""

    correlations: Matrix  # leading eigenvalues of R⁻¹L (Eqs. 6 and 7), decreasing; shape (k,)
    x_variables: Matrix  # canonical variables of the rows; shape (n, k)
    y_variables: Matrix


def centred_kernel(X: Any, gamma: float) -> Matrix:
    """Gaussian kernel matrix exp(-gamma ‖x − y‖²) of the rows, centred in feature space."""
    K: Matrix = rbf_kernel(np.asarray(X, np.float64), gamma=gamma)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    return K


def kernel_pca(X: Any, n_components: int, *, gamma: float, solver: str = "dense") -> KernelPCA:
    """Exact kernel PCA with the Gaussian kernel; at most n − 1 components of n rows.

    The solver "dense" computes all eigenpairs of the kernel matrix, in time O(n³); "leading" only
    those asked for, to a residual of 1e-9 of the largest, by products with the matrix that take
    O(n²) each.
    """
    K = centred_kernel(X, gamma)
    if solver == "leading":
        values, vectors = leading_eigh(K, n_components)
        values = np.maximum(values, 0.0)
    else:
        values, vectors = (part[..., :n_components] for part in _eigh(K))
    return KernelPCA(values, vectors * np.sqrt(values))


def kernel_cca(X: Any, Y: Any, n_components: int, *, gamma: Any, reg: Any) -> KernelCCA:
    """Exact kernel CCA with Gaussian kernels; at most n − 1 components of n rows.

    ``gamma`` and ``reg`` are numbers or (x, y) pairs: kernel widths, and the γ_x and γ_y added to
    the kernel matrices.
    """
    widths, regs = _pair(gamma), _pair(reg)
    kernels = map(centred_kernel, (X, Y), widths)
    bases = [regularised_basis(K, own) for K, own in zip(kernels, regs, strict=True)]
    # λ² are the eigenvalues of Kx(Kx + γxI)⁻¹Ky(Ky + γyI)⁻¹, so λ the singular values below.
    P, correlations, Qt = scipy.linalg.svd(bases[0].T @ bases[1])
    root = np.sqrt(len(bases[0]) - 1)
    return KernelCCA(
        correlations[:n_components],
        root * bases[0] @ P[:, :n_components],
        root * bases[1] @ Qt[:n_components].T,
    )


class KCCA:
    """Exact kernel CCA with Gaussian kernels (Eqs. 6 and 7), by one Cholesky factor per view.

    ``gamma``, of exp(-gamma ‖x − y‖²), and ``reg``, the γ_x and γ_y added to the centred kernel
    matrices, may be (x, y) pairs. ``reg`` is at least 2.2e-10·n: below, rounding of the matrices
    could change the solution by more than 1e-6. Fitting sets ``correlations_``, decreasing, and
    ``maps_`` and ``weights_``: variables are kernel values times coefficients, less shifts.
    """

    def __init__(self, k: int, *, gamma: Any = "median", reg: Any = 1.0, seed: int = 0) -> None:
        self.n_components, self.gamma, self.reg, self.seed = k, gamma, reg, seed

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to two views of the same n rows, as `transform` of new rows takes them."""
        n, regs, (*draws, start) = len(X), _pair(self.reg), seeds(self.seed, 3)
        # An error δ of K, up to n·eps, changes K(K + γI)⁻¹ by up to δ/γ.
        if (rounding := n * np.finfo(np.float64).eps / min(regs)) > _LARGEST_ERROR:
            raise ValueError(
                f"reg={min(regs)!r}: with {n} rows, rounding of the kernel matrix changes the "
                f"solution by more than {_LARGEST_ERROR:g} where reg is below "
                f"{rounding * min(regs) / _LARGEST_ERROR:.1e}. Raise reg."
            )
        self.maps_ = [
            NystroemFeatures(landmarks=X, gamma=g, random_state=draw, dtype="float64").fit(X)
            for X, g, draw in zip((X, y), _pair(self.gamma), draws, strict=True)
        ]
        packed = np.empty((n + 1, n))  # two triangles, with their diagonals
        triangles = packed[:n].T, packed[1:]
        solve_x, solve_y = map(_solver, (X, y), self.maps_, regs, triangles)
        block = np.random.default_rng(start).standard_normal((n, min(n, _WIDTH)))
        squares, g = _leading(solve_x, solve_y, block, self.n_components, max(_ZERO, rounding))
        # The variables' values on the training rows are f = Rx g/ρ and g = Ry f/ρ.
        f, *of_x = solve_x(g * np.sqrt((n - 1) / squares))
        self.weights_ = of_x, solve_y(f / np.sqrt(squares))[1:]
        self.correlations_: Matrix = np.sqrt(squares)
        return self

    def transform(self, X: Any, y: Any) -> tuple[Matrix, Matrix]:
        """Canonical variables of rows of both views, of mean 0 over the training rows."""
        x, y = (
            np.concatenate([z.transform(X[a:b]) @ A - c for a, b in grid(0, len(X), _BLOCK)])
            for X, z, (A, c) in zip((X, y), self.maps_, self.weights_, strict=True)
        )
        return x, y

    def component_correlations(self, X: Any, y: Any) -> Matrix:
        """Correlation of each pair of canonical variables on the given rows, signed."""
        return Correlations().update(*self.transform(X, y)).values()

    def score(self, X: Any, y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows."""
        return float(np.abs(self.component_correlations(X, y)).sum())


def kcca_bytes(n: int, columns: int) -> int:
    """Foresee the memory of `KCCA` of n rows of two views with so many columns together.

    That is the factors, some thousand vectors, a block of the kernel, and the rows a few times.
    """
    return 8 * n * (n + 1 + 2 * 20 * _WIDTH + _BLOCK + 4 * columns)


def _pair(value: Any) -> Any:
    return (value, value) if np.ndim(value) == 0 else value


def _solver(X: Any, z: NystroemFeatures, reg: float, triangle: Matrix) -> _Solver:
    """Factor K + reg·I in a lower triangle; return what takes v to Rv, R = HKH(HKH + reg·I)⁻¹.

    On other rows than X, Rv is kernel values times the second result of it, less the third.
    """
    for low, high in grid(0, len(X), _BLOCK):
        lower = np.tri(high - low, high, low, dtype=bool)
        np.copyto(triangle[low:high, :high], z.prefix(high).transform(X[low:high]), where=lower)
    np.einsum("ii->i", triangle)[:] += reg
    # LAPACK stores columns: of the other order it sees the transpose.
    is_lower = triangle.flags.f_contiguous
    factor = cho_factor(triangle if is_lower else triangle.T, is_lower, True, False)
    of_ones = cho_solve(factor, np.ones((len(X), 1)))

    def solve(v: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        # (K + γ)α = v + c·1 with the c for which α has mean 0; then Kα − c = v − γα.
        shift = -(of_ones.T @ v)[0] / of_ones.sum()
        coefficients = cho_solve(factor, v, check_finite=False) + of_ones * shift
        values = v - reg * coefficients
        return values - values.mean(axis=0), coefficients, shift

    return solve


def _leading(
    solve_x: _Solver, solve_y: _Solver, block: Matrix, k: int, rounding: float
) -> tuple[Matrix, Matrix]:
    """Return the k largest eigenvalues ρ² of RxRy, decreasing, and RyV for its eigenvectors V.

    RxRy is self-adjoint in the inner product uᵀRy v, in which V is orthonormal. Rayleigh-Ritz on a
    block Krylov space, whose basis Q is orthonormal in the ordinary one: directions that Ry maps to
    almost nothing are then never scaled up.
    """
    n, width = block.shape
    most = min(n, width * (_MOST_STEPS + 1))
    Q, W = (np.empty((n, most), order="F") for _ in range(2))  # the basis, and W = RyQ
    gram, images = np.zeros((most, most)), np.zeros((most, most))  # QᵀW, and QᵀRxW
    theta, size, full = np.empty(0), 0, 0
    while size < min(n, width * _MOST_STEPS):
        last, size, full = size, full, min(full + width, most)
        if size < full:
            new = orthonormal_complement(block[:, : full - size], Q[:, :size])
            Q[:, size:full], W[:, size:full] = new, solve_y(new)[0]
            gram[:full, size:full] = Q[:, :full].T @ W[:, size:full]
            gram[size:full, :size] = gram[:size, size:full].T
        if size:  # RxW = Q·images for the W there was
            images[:full, last:size] = Q[:, :full].T @ block
            scale, turn = eigh(gram[:size, :size])
            # f = RxRy f/ρ² gives fᵀRy f ≥ ρ⁴ fᵀf: no variable worth returning is lost here.
            basis = turn[:, scale > rounding] / np.sqrt(scale[scale > rounding])
            theta, Y = eigh(basis.T @ gram[:size, :full] @ images[:full, :size] @ basis)
            wanted = np.flatnonzero(theta > _ZERO)[: -k - 1 : -1]
            theta, Y = theta[wanted], basis @ Y[:, wanted]
            residual = images[:full, :size] @ Y
            residual[:size] -= Y * theta
            squares = np.einsum("ij,ij->j", residual, gram[:full, :full] @ residual)
            if len(theta) == k and (squares <= _TOLERANCE**2 * theta[0] * theta).all():
                return theta, W[:, :size] @ Y
        block = solve_x(W[:, size:full])[0]
    raise ValueError(
        f"n_components={k}: only {len(theta)} canonical variables have a correlation above "
        "rounding. Ask for fewer, or lower reg."
        if len(theta) < k
        else f"the largest correlations, {theta[0] ** 0.5:.6f} down to {theta[-1] ** 0.5:.6f}, are "
        "too near to each other to be told apart. Raise reg."
    )


def spectral_clustering(
    X: Any, n_clusters: int, *, gamma: float, random_state: Any = None
) -> npt.NDArray[np.int32]:
    """Exact spectral clustering with the Gaussian kernel: the cluster of each row.

    k-means on the row-normalised leading eigenvectors of D^-½ K D^-½ (Ng, Jordan and Weiss).
    """
    K = rbf_kernel(np.asarray(X, np.float64), gamma=gamma)
    n = len(K)
    roots = np.sqrt(K.sum(axis=0))
    K /= roots
    K /= roots[:, None]
    _, vectors = scipy.linalg.eigh(K, subset_by_index=(n - n_clusters, n - 1), overwrite_a=True)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels: npt.NDArray[np.int32] = KMeans(
        n_clusters, n_init=10, random_state=random_state
    ).fit_predict(vectors)
    return labels


def regularised_basis(K: Matrix, reg: float) -> Matrix:
    """Return V with VVᵀ = K(K + reg·I)⁻¹, overwriting the symmetric K.

    The singular values of VxᵀVy are the regularised canonical correlations of two kernels.
    """
    values, vectors = _eigh(K)
    basis: Matrix = vectors * np.sqrt(values / (values + reg))
    return basis


def _eigh(K: Matrix) -> tuple[Matrix, Matrix]:
    values, vectors = scipy.linalg.eigh(K, overwrite_a=True)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
