"""Exact kernel PCA and CCA against the definitions and scikit-learn."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

import oracles
from rnca import RPCA, median_gamma
from workflow.lib.exact import kernel_cca, kernel_pca


@pytest.fixture
def views(halves):
    return tuple(half[:120] for half in halves)


def centred(X, gamma):
    H = np.eye(len(X)) - 1 / len(X)
    return H @ rbf_kernel(X, gamma=gamma) @ H


def test_kernel_pca_is_scikit_learns(views):
    X, _ = views
    found = kernel_pca(X, 5, gamma=1e-3)
    peer = KernelPCA(5, kernel="rbf", gamma=1e-3, eigen_solver="dense")
    scores = peer.fit_transform(X)
    assert_allclose(found.eigenvalues, peer.eigenvalues_, rtol=1e-10)
    assert_allclose(oracles.align(found.scores, scores), scores, atol=1e-10)


@pytest.mark.parametrize("n", [120, 600])
def test_leading_components_are_those_of_the_dense_solver(halves, krylov_calls, n):
    X = halves[0][:n]
    dense, leading = (kernel_pca(X, 5, gamma=1e-3, solver=each) for each in ("dense", "leading"))
    assert bool(krylov_calls) == (n > 400)
    assert_allclose(leading.eigenvalues, dense.eigenvalues, rtol=1e-9)
    assert_allclose(oracles.align(leading.scores, dense.scores), dense.scores, atol=1e-6)


def test_rpca_on_landmarks_is_kernel_pca():
    X = load_digits().data
    gamma = median_gamma(X, random_state=0)
    exact = kernel_pca(X, 5, gamma=gamma).scores
    found = RPCA(5, feature_map="nystroem", n_features=500, gamma=gamma, random_state=0)
    for ours, theirs in zip(found.fit_transform(X).T, exact.T, strict=True):
        assert abs(np.corrcoef(ours, theirs)[0, 1]) > 0.999


def test_kernel_cca_solves_the_papers_eigenproblem(views):
    X, Y = views
    Kx, Ky, n = centred(X, 1e-3), centred(Y, 2e-3), len(X)
    R = scipy.linalg.block_diag(Kx + 0.5 * np.eye(n), Ky + 2 * np.eye(n))
    L = np.block([[np.zeros((n, n)), Ky], [Kx, np.zeros((n, n))]])
    eigenvalues = np.sort(scipy.linalg.eigvals(np.linalg.solve(R, L)).real)[::-1]
    found = kernel_cca(X, Y, 6, gamma=(1e-3, 2e-3), reg=(0.5, 2.0))
    assert_allclose(found.correlations, eigenvalues[:6], atol=1e-9)


def test_kernel_cca_variables_correlate_as_promised(views):
    found = kernel_cca(*views, 4, gamma=(1e-3, 1e-3), reg=(1.0, 1.0))
    assert_allclose(found.x_variables.mean(axis=0), 0, atol=1e-10)
    cross = np.cov(found.x_variables.T, found.y_variables.T)[:4, 4:]
    assert_allclose(cross, np.diag(found.correlations), atol=1e-10)


def test_kernel_cca_regularised_away_finds_nothing(views):
    assert kernel_cca(*views, 1, gamma=(1e-3, 1e-3), reg=(1e9, 1e9)).correlations[0] < 1e-6
