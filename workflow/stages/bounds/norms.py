"""The norms that Theorems 3 and 4 of the paper bound, and the bounds themselves.

Nothing n × n is decomposed: norms come from a few Lanczos steps on products with vectors. The
exact kernel is factored once (Cholesky), its approximation by m < n features through the m × m
Gram matrix of the features (Woodbury).

Features are those of `rnca.FourierFeatures`, unscaled: the kernel estimate is K̂ = (2/m)·zzᵀ, whose
mean is K. The paper's unit features, K̂/2 as an estimate of K/2, need no code of their own: they
halve ‖K̂ − K‖, and their error in Theorem 4 at γ is that of K̂ at 2γ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg.blas import dsymv, dtrsv
from scipy.linalg.lapack import dpotrf
from scipy.sparse.linalg import LinearOperator, eigsh

from workflow.lib.exact import regularised_basis

Matrix = npt.NDArray[np.float64]
Product = Callable[[Matrix], Matrix]

# Of the residual, relative to the eigenvalue, which it bounds the error of.
_TOLERANCE = 1e-6
# Vectors that Lanczos keeps. The error matrices have one singular value far above the others, so
# a handful of steps is enough; restarts take care of the exceptions.
_KEPT_VECTORS = 6


@dataclass(frozen=True)
class FactoredKernel:
    """A kernel matrix K and the Cholesky factor L of K + γI, in the room of one matrix.

    Attributes
    ----------
    packed : ndarray of shape (n, n)
        K above the diagonal, L on and below it, in Fortran's order.
    diagonal : ndarray of shape (n,)
        That of K.
    """

    packed: Matrix
    diagonal: Matrix

    @classmethod
    def overwriting(cls, K: Matrix, gamma: float) -> "FactoredKernel":
        """Factor a symmetric K in its own memory, which must be contiguous."""
        packed, diagonal = _in_fortran_order(K), K.diagonal().copy()
        packed[np.diag_indices_from(packed)] += gamma
        packed, failed = dpotrf(packed, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(
                f"K + γI with γ = {gamma:g} is not positive definite in float64; K has to be a "
                "kernel matrix, and γ more than the rounding of its largest eigenvalue."
            )
        return cls(packed, diagonal)

    def __len__(self) -> int:
        return len(self.diagonal)

    def __call__(self, v: Matrix) -> Matrix:
        """Multiply a vector by K."""
        product: Matrix = dsymv(1.0, self.packed, v, lower=0)
        product += (self.diagonal - self.packed.diagonal()) * v
        return product

    def norm(self) -> float:
        """Return ‖K‖."""
        return _norm_of_symmetric(self, len(self))

    def inverse(self, v: Matrix) -> Matrix:
        """Multiply a vector by (K + γI)⁻¹."""
        # LAPACK's solver for many right-hand sides takes six times as long for one.
        once = dtrsv(self.packed, v, lower=1)
        twice: Matrix = dtrsv(self.packed, once, lower=1, trans=1, overwrite_x=True)
        return twice

    def leading(self, n: int) -> "FactoredKernel":
        """Return that of the first n rows: the factor of a leading block leads the factor."""
        return FactoredKernel(np.asfortranarray(self.packed[:n, :n]), self.diagonal[:n])


class ExactKernel:
    """A kernel matrix K in full.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow.stages.bounds.norms import ExactKernel
    >>> kernel = ExactKernel(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> kernel.norm()
    1.5
    >>> kernel.regularised(1.0).inverse(np.array([1.0, 1.0]))
    array([0.4, 0.4])
    """

    def __init__(self, K: Any) -> None:
        K = np.asarray(K, dtype=np.float64)
        n = _check_rows(len(K))
        if K.shape != (n, n):
            raise ValueError(f"K has shape {K.shape}: a kernel matrix is square.")
        self.K = _in_fortran_order(K)

    def __len__(self) -> int:
        return len(self.K)

    def __call__(self, v: Matrix) -> Matrix:
        """Multiply a vector by K."""
        product: Matrix = dsymv(1.0, self.K, v, lower=1)
        return product

    def norm(self) -> float:
        """Return ‖K‖."""
        return _norm_of_symmetric(self, len(self))

    def factored(self, gamma: float, *, overwrite: bool = False) -> FactoredKernel:
        """Factor K + γI, in K's own memory if this object is no longer needed."""
        K = self.K if overwrite else self.K.copy(order="F")
        return FactoredKernel.overwriting(K, _check_gamma(gamma))

    def regularised(self, gamma: float) -> "Regularised":
        """Return the view with K and (K + γI)⁻¹."""
        factored = self.factored(gamma)
        return Regularised(factored, factored.inverse)


class FeatureKernel:
    """The estimate K̂ = (2/m)·zzᵀ of a kernel matrix by m random Fourier features.

    Parameters
    ----------
    z : ndarray of shape (n, m)
        Unscaled features cos(Wx + b).
    gram : ndarray, optional
        The smaller of zᵀz and zzᵀ (which it is if m = n), if it is known already.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow.stages.bounds.norms import FeatureKernel
    >>> estimate = FeatureKernel(np.array([[1.0], [0.5]]))
    >>> estimate(np.array([1.0, 2.0]))
    array([4., 2.])
    """

    def __init__(self, z: Any, gram: Matrix | None = None) -> None:
        self.z: Matrix = np.asarray(z, dtype=np.float64)
        self.n, self.m = _check_rows(self.z.shape[0]), _check_features(self.z.shape[1])
        if gram is not None:
            self.gram = _in_fortran_order(gram)

    def __len__(self) -> int:
        return self.n

    @cached_property
    def gram(self) -> Matrix:
        """The smaller of zᵀz and zzᵀ."""
        z = self.z
        return _in_fortran_order(z.T @ z if self.m < self.n else z @ z.T)

    def __call__(self, v: Matrix) -> Matrix:
        """Multiply a vector by K̂."""
        if self.m < self.n:
            product: Matrix = self.z @ (self.z.T @ v)
            product *= 2 / self.m
        else:
            product = dsymv(2 / self.m, self.gram, v, lower=1)
        return product

    def regularised(self, gamma: float) -> "Regularised":
        """Return the view with K̂ and (K̂ + γI)⁻¹, if m < n by Woodbury's identity."""
        gamma, half = _check_gamma(gamma), self.m / 2
        inner = FactoredKernel.overwriting(self.gram.copy(order="F"), gamma * half).inverse
        if self.m >= self.n:
            return Regularised(self, lambda v: inner(v) * half)
        return Regularised(self, lambda v: (v - self.z @ inner(self.z.T @ v)) / gamma)


Kernel = ExactKernel | FactoredKernel | FeatureKernel


class Regularised(NamedTuple):
    """One view in the eigenproblem of kernel CCA: v ↦ Kv and v ↦ (K + γI)⁻¹v."""

    kernel: Kernel
    inverse: Product


Views = tuple[Regularised, Regularised]


def kernel_error(exact: ExactKernel | FactoredKernel, estimate: FeatureKernel) -> float:
    """Compute ‖K̂ − K‖, which Theorem 3 bounds.

    Parameters
    ----------
    exact : ExactKernel or FactoredKernel
    estimate : FeatureKernel
        Of the same n rows.
    """
    return _norm_of_symmetric(lambda v: estimate(v) - exact(v), len(exact))


def cca_errors(exact: Views, estimate: Views) -> tuple[float, float]:
    """Compute the norms of both blocks of R̂⁻¹L̂ − R⁻¹L; Theorem 4 bounds the larger one.

    Parameters
    ----------
    exact : pair of Regularised
        Views x and y with kernels K, factored for γ_x and γ_y.
    estimate : pair of Regularised
        The same with K̂.

    Returns
    -------
    xy, yx : float
        ‖(K̂x + γxI)⁻¹K̂y − (Kx + γxI)⁻¹Ky‖, and the same with x and y exchanged.
    """
    (x, y), (x_hat, y_hat) = exact, estimate
    return (
        _block_error(x.inverse, y.kernel, x_hat.inverse, y_hat.kernel),
        _block_error(y.inverse, x.kernel, y_hat.inverse, x_hat.kernel),
    )


def _block_error(A: Product, K: Kernel, A_hat: Product, K_hat: Kernel) -> float:
    def squared(v: Matrix) -> Matrix:
        u = A_hat(K_hat(v)) - A(K(v))
        product: Matrix = K_hat(A_hat(u)) - K(A(u))
        return product

    return float(np.sqrt(_norm_of_symmetric(squared, len(K))))


def squared_correlation_error(
    exact: tuple[Matrix, Matrix], estimate: tuple[Matrix, Matrix], gamma: float
) -> float:
    """Compute max over k of |ρ̂ₖ² − ρₖ²|, the squared eigenvalues of R̂⁻¹L̂ and R⁻¹L in order.

    By full decompositions, so for a few hundred rows.

    Parameters
    ----------
    exact, estimate : pair of ndarray of shape (n, n)
        Kernel matrices of the two views, and their estimates.
    gamma : float
        Of both views.
    """
    gamma = _check_gamma(gamma)
    rho_hat, rho = (
        scipy.linalg.svdvals(
            regularised_basis(Kx.copy(), gamma).T @ regularised_basis(Ky.copy(), gamma)
        )
        for Kx, Ky in (estimate, exact)
    )
    return float(np.abs(rho_hat**2 - rho**2).max())


def kernel_bound(n: int, m: int, *, norm: float | None = None) -> float:
    """Evaluate the right-hand side of Theorem 3, √(3n²·log n / m) + 2n·log n / m.

    It bounds E‖K̂ − K‖ for n >= 4; docs/theory.md has the proof.

    Parameters
    ----------
    n, m : int
        Numbers of rows and of features.
    norm : float, optional
        ‖K‖, which replaces n² by ‖K‖·(2n − ‖K‖).

    Examples
    --------
    >>> from workflow.stages.bounds.norms import kernel_bound
    >>> round(kernel_bound(1000, 1000), 1)
    157.8
    >>> round(kernel_bound(1000, 1000, norm=400), 1)
    129.0
    """
    return _bernstein(n, m, n, 1.0, n**2 if norm is None else norm * (2 * n - norm))


def cca_bound(n: int, m: int, gamma: float, *, factor: float = 1.0) -> float:
    """Evaluate the right-hand side of Theorem 4, which does not hold in general.

    Parameters
    ----------
    n, m : int
    gamma : float
        The smaller regulariser.
    factor : float, optional
        That of B = factor·n, the largest squared norm of a feature: 1 as printed.

    Examples
    --------
    >>> from workflow.stages.bounds.norms import cca_bound
    >>> round(cca_bound(2000, 1000, 1e-3), -3)
    349000.0
    """
    return _bernstein(n, m, 2 * n, factor, n**2) / _check_gamma(gamma)


def proved_cca_bound(n: int, m: int, gamma: float, *, norm: float) -> float:
    """Evaluate a bound on E‖R̂⁻¹L̂ − R⁻¹L‖ that does hold: 1 + ‖K‖/γ times that of Theorem 4.

    Parameters
    ----------
    n, m, gamma
        As in `cca_bound`.
    norm : float
        ‖K‖, the larger of both views.
    """
    return (1 + norm / gamma) * cca_bound(n, m, gamma)


def correlation_bound(n: int, m: int, gamma: float) -> float:
    """Evaluate a bound on E max over k of |ρ̂ₖ² − ρₖ²|: 2/γ times `kernel_bound`.

    Examples
    --------
    >>> from workflow.stages.bounds.norms import correlation_bound
    >>> round(correlation_bound(1000, 10**6, 1000.0), 3)
    0.009
    """
    return 2 * kernel_bound(n, m) / _check_gamma(gamma)


def limiting_cca_error(n: int, ratio: float, gamma: float) -> float:
    """Predict the error in Theorem 4 where Kx = I and Ky = 11ᵀ, for large n and m = ratio·n.

    The eigenvalues λ of K̂x then follow the law of Marchenko and Pastur, and the error is n times
    the root mean square of 1/(λ + γ) − 1/(1 + γ), whatever n. For small γ and m < n that is
    (n/γ)·√(1 − m/n).

    Parameters
    ----------
    n : int
    ratio : float
        m/n.
    gamma : float

    Examples
    --------
    >>> from workflow.stages.bounds.norms import limiting_cca_error
    >>> round(limiting_cca_error(2000, 0.5, 1e-3), -5)
    1400000.0
    """
    gamma = _check_gamma(gamma)
    y = 1 / ratio
    # Means of 1/(λ + γ) and, as its derivative, of 1/(λ + γ)².
    shift = 1 - y + gamma
    root = np.sqrt(shift**2 + 4 * y * gamma)
    first = (root - shift) / (2 * y * gamma)
    second = first / gamma - ((shift + 2 * y) / root - 1) / (2 * y * gamma)
    limit = 1 / (1 + gamma)
    return float(n * np.sqrt(second - 2 * first * limit + limit**2))


def _bernstein(n: int, m: int, d: int, factor: float, variance: float) -> float:
    """√(3·σ²·log d) + R·log d for σ² = factor·variance/m and R = factor·2n/m."""
    _check_rows(n)
    _check_features(m)
    return float(np.sqrt(3 * factor * variance * np.log(d) / m) + 2 * factor * n * np.log(d) / m)


def _in_fortran_order(symmetric: Matrix) -> Matrix:
    """Return a symmetric matrix as BLAS wants it, without a copy if it is contiguous."""
    return symmetric.T if symmetric.flags.c_contiguous else np.asfortranarray(symmetric)


def _norm_of_symmetric(product: Product, n: int) -> float:
    """Largest absolute eigenvalue of a symmetric matrix given by its products with vectors."""
    # Constant vectors are near the leading eigenvector of every kernel matrix with values >= 0;
    # the rest keeps the start from being orthogonal to the one that is sought.
    start = 1 + 0.1 * np.random.default_rng(0).standard_normal(n)
    (value,) = eigsh(
        LinearOperator((n, n), matvec=product, dtype=np.float64),
        k=1,
        which="LM",
        v0=start,
        ncv=min(n, _KEPT_VECTORS),
        tol=_TOLERANCE,
        return_eigenvectors=False,
    )
    return float(abs(value))


def _check_rows(n: int) -> int:
    if n < 2:
        raise ValueError(f"n = {n}: the bounds are about at least 2 rows (log n > 0).")
    return int(n)


def _check_features(m: int) -> int:
    if m < 1:
        raise ValueError(f"m = {m}: the number of random features must be >= 1.")
    return int(m)


def _check_gamma(gamma: float) -> float:
    if not 0 < gamma < np.inf:
        raise ValueError(
            f"gamma = {gamma}: the regulariser must be a finite number > 0; without one the "
            "kernels have no bounded inverse."
        )
    return float(gamma)
