"""Exact kernel PCA, kernel CCA and spectral clustering: references for a few thousand rows.

Their arguments are those that the settings of the stages have been checked for.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel

from rnca.spectral import leading_eigh

Matrix = npt.NDArray[np.float64]


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
    widths, regs = ((v, v) if np.ndim(v) == 0 else v for v in (gamma, reg))
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
