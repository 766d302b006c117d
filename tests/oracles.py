"""Slow, obvious references: float64, unchunked, full decompositions, nothing of rnca inside.

Features of long doubles are long doubles.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg


def weights(fitted):
    """The matrix W of a map of cosines, of which Fastfood keeps only the factors."""
    if hasattr(fitted, "weights_"):
        return fitted.weights_.astype(float)
    D = fitted.signs_.shape[1]
    H = scipy.linalg.hadamard(D).astype(float)
    blocks = [
        H @ np.diag(g) @ np.eye(D)[permutation] @ H @ np.diag(signs)
        for signs, permutation, g in zip(
            fitted.signs_, fitted.permutations_, fitted.gaussians_.astype(float), strict=True
        )
    ]
    rows = np.vstack(blocks)[: len(fitted.scales_), : fitted.n_features_in_]
    return np.sqrt(2 * fitted.gamma_) * fitted.scales_[:, None].astype(float) * rows


def fourier(fitted, X):
    return np.cos((X - fitted.offset_) @ weights(fitted).T + fitted.phases_)


def nystroem(fitted, X):
    differences = (X - fitted.offset_)[:, None] - fitted.landmarks_.astype(float)
    return np.exp(-fitted.gamma_ * (differences**2).sum(axis=2))


def linear(fitted, X):
    return X - fitted.offset_


def whitened(fitted, X):
    landmarks = fitted.landmarks_ + fitted.offset_
    L = np.linalg.cholesky(nystroem(fitted, landmarks) + 1e-10 * np.eye(len(landmarks)))
    return np.linalg.solve(L, nystroem(fitted, X).T).T


FEATURES = {
    "fourier": fourier,
    "orthogonal": fourier,
    "fastfood": fourier,
    "qmc": fourier,
    "nystroem": nystroem,
    "whitened": whitened,
    "linear": linear,
}


class CCA(NamedTuple):
    correlations: np.ndarray
    F: np.ndarray
    G: np.ndarray


def cca(zx, zy, reg_x, reg_y, k):
    """Regularised CCA from the full SVDs of both centred feature matrices (Björck and Golub).

    No covariance is formed, so nothing is squared: about twice the digits of the fast path.
    """
    n = len(zx)
    bases, directions = [], []
    for z, reg in ((zx, reg_x), (zy, reg_y)):
        U, s, Vt = np.linalg.svd(z - z.mean(axis=0), full_matrices=False)
        root = np.sqrt(s**2 / (n - 1) + reg)
        bases.append(U * (s / np.sqrt(n - 1) / root))
        directions.append(Vt.T / root)
    P, correlations, Qt = np.linalg.svd(bases[0].T @ bases[1])
    return CCA(correlations[:k], directions[0] @ P[:, :k], directions[1] @ Qt[:k].T)


def whitened_cross_covariance(zx, zy, reg_x, reg_y):
    """Cxx^-1/2 Cxy Cyy^-1/2 by the book: np.cov, matrix square roots, inverses."""
    m = zx.shape[1]
    C = np.cov(np.hstack([zx, zy]).T)
    roots = [
        np.linalg.inv(scipy.linalg.sqrtm(block + reg * np.eye(len(block))).real)
        for block, reg in ((C[:m, :m], reg_x), (C[m:, m:], reg_y))
    ]
    return roots[0] @ C[:m, m:] @ roots[1]


def pca(z, k):
    """Eigenvalues and loadings of the covariance, decreasing."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(z.T)))
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def align(columns, reference):
    """Flip the sign of each column towards its reference."""
    return columns * np.sign(np.einsum("ij,ij->j", columns, reference))


def log_slope(sizes, errors):
    """Slope of log(error) against log(size)."""
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]
