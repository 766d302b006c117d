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
from scipy.linalg.blas import dsymv, dsyrk, dtrsv
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
# Kernel values whose fourth powers are above the least float64.
_SMALLEST = 1e-75


@dataclass(frozen=True)
class FactoredKernel:
    """A kernel matrix K and the Cholesky factor L of K + γI, in the room of one matrix.

    ``packed`` has K above the diagonal, L on and below it, in Fortran's order; ``diagonal`` is K's.
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
    """A symmetric kernel matrix K in full."""

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
    """The estimate K̂ = (2/m)·zzᵀ by unscaled features z = cos(Wx + b) of shape (n, m).

    ``gram`` is the smaller of zᵀz and zzᵀ (which it is if m = n), if it is known already.
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
    """Compute ‖K̂ − K‖, which Theorem 3 bounds."""
    return _norm_of_symmetric(lambda v: estimate(v) - exact(v), len(exact))


def cca_errors(exact: Views, estimate: Views) -> tuple[float, float]:
    """Compute the norms of both blocks of R̂⁻¹L̂ − R⁻¹L; Theorem 4 bounds the larger one.

    That is ‖(K̂x + γxI)⁻¹K̂y − (Kx + γxI)⁻¹Ky‖, and the same with x and y exchanged.
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


def exact_moments(kernel: ExactKernel) -> tuple[float, float]:
    """Return m·‖E(K̂ − K)²‖ and m·E‖K̂ − K‖² in Frobenius norm, of Fourier features given the rows.

    For a Gaussian kernel matrix. The features z = √2·cos(Wx + b) of one draw have
    E‖z‖²zzᵀ = nK + ½Q with Qᵢⱼ = Σₖ k(2xₖ, xᵢ + xⱼ), which is Σₖ kᵢₖ²·kⱼₖ² / kᵢⱼ, and
    E‖z‖⁴ = n² + ½·Σᵢⱼ k(2xᵢ, 2xⱼ), of which the terms are kᵢⱼ⁴; docs/theory.md has the proof.
    """
    K, n = kernel.K, len(kernel)
    squares = K * K
    frobenius = n**2 + np.vdot(squares, squares) / 2 - squares.sum()
    uncentred = dsyrk(0.5, squares, lower=1)
    # Elsewhere rows are so far apart that a term is 0, unless a third one lies half way.
    np.divide(uncentred, K, out=uncentred, where=K > _SMALLEST)
    uncentred += n * K

    def variance(v: Matrix) -> Matrix:
        product: Matrix = dsymv(1.0, uncentred, v, lower=1) - kernel(kernel(v))
        return product

    return _norm_of_symmetric(variance, n), float(frobenius)


def squared_correlations(kernels: tuple[Matrix, Matrix], gamma: float) -> Matrix:
    """Return the regularised canonical correlations ρₖ², squared eigenvalues of R⁻¹L, in order.

    From the kernel matrices of both views by full decompositions, so for a few hundred rows.
    """
    gamma = _check_gamma(gamma)
    x, y = (regularised_basis(K.copy(), gamma) for K in kernels)
    squares: Matrix = scipy.linalg.svdvals(x.T @ y) ** 2
    return squares


def kernel_bound(n: int, m: int, *, norm: float | None = None) -> float:
    """Evaluate the right-hand side of Theorem 3, √(3n²·log n / m) + 2n·log n / m.

    It bounds E‖K̂ − K‖ for n >= 4; docs/theory.md has the proof. If ‖K‖ is given as ``norm``, it
    replaces n² by ‖K‖·(2n − ‖K‖).
    """
    return _bernstein(n, m, n, 1.0, n**2 if norm is None else norm * (2 * n - norm))


def frobenius_bound(n: int, m: int, *, gaussian: bool = False) -> float:
    """Evaluate n·√(3/(2m)), a bound on the root mean square of ‖K̂ − K‖ for all n and m.

    It holds for every shift-invariant kernel with k(x, x) = 1; if the kernel is ``gaussian``,
    n/√m does.
    """
    return float(_check_rows(n) * np.sqrt((1.0 if gaussian else 1.5) / _check_features(m)))


def cca_bound(n: int, m: int, gamma: float, *, factor: float = 1.0) -> float:
    """Evaluate the right-hand side of Theorem 4, which does not hold in general.

    ``gamma`` is the smaller regulariser, and ``factor`` that of B = factor·n, the largest squared
    norm of a feature: 1 as printed.
    """
    return _bernstein(n, m, 2 * n, factor, n**2) / _check_gamma(gamma)


def proved_cca_bound(n: int, m: int, gamma: float, *, norm: float) -> float:
    """Evaluate a bound on E‖R̂⁻¹L̂ − R⁻¹L‖ that does hold: (1 + ‖K‖/γ)·n·√(3/m)/γ.

    ``norm`` is ‖K‖, the larger of both views.
    """
    gamma = _check_gamma(gamma)
    return (1 + norm / gamma) * 2**0.5 * frobenius_bound(n, m) / gamma


def correlation_bound(n: int, m: int, gamma: float) -> float:
    """Evaluate a bound on E max over k of |ρ̂ₖ² − ρₖ²|: (2n/γ)·√(3/(2m))."""
    return 2 * frobenius_bound(n, m) / _check_gamma(gamma)


def whitened_correlation_bound(
    n: int, m: int, gamma: float, dimensions: tuple[float, float]
) -> float:
    """Evaluate the bound 2·(√d_x + √d_y)·√(2n/(γm)) on E max over k of |ρ̂ₖ² − ρₖ²|.

    ``dimensions`` are the traces of K(K + γI)⁻¹ of both views.
    """
    roots = np.sqrt(dimensions).sum()
    root = np.sqrt(2 * _check_rows(n) / (_check_gamma(gamma) * _check_features(m)))
    return float(2 * roots * root)


def landmark_bound(n: int, m: int) -> float:
    """Evaluate a bound on the root mean square of ‖zzᵀ/m − K²/n‖ for Nyström features.

    That is (n/√m)·√((n − m)/(n − 1)) for kernel values z at m distinct random rows.
    """
    return frobenius_bound(n, m, gaussian=True) * float(np.sqrt((n - m) / (n - 1)))


def limiting_cca_error(n: int, ratio: float, gamma: float) -> float:
    """Predict the error in Theorem 4 where Kx = I and Ky = 11ᵀ, for large n and m = ratio·n.

    The eigenvalues λ of K̂x then follow the law of Marchenko and Pastur, and the error is n times
    the root mean square of 1/(λ + γ) − 1/(1 + γ), whatever n. For small γ and m < n that is
    (n/γ)·√(1 − m/n).
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
