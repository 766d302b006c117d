"""Exact kernel PCA and CCA against the definitions and scikit-learn; KCCA against kernel_cca."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

import oracles
from rnca import RCCA, RPCA, NystroemFeatures, median_gamma
from workflow.lib.exact import KCCA, kcca_bytes, kernel_cca, kernel_pca

WIDTHS = (1e-3, 2e-3)


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
    (Kx, Ky), n = map(centred, views, WIDTHS), len(X)
    R = scipy.linalg.block_diag(Kx + 0.5 * np.eye(n), Ky + 2 * np.eye(n))
    L = np.block([[np.zeros((n, n)), Ky], [Kx, np.zeros((n, n))]])
    eigenvalues = np.sort(scipy.linalg.eigvals(np.linalg.solve(R, L)).real)[::-1]
    found = kernel_cca(X, Y, 6, gamma=WIDTHS, reg=(0.5, 2.0))
    assert_allclose(found.correlations, eigenvalues[:6], atol=1e-9)


def test_kernel_cca_variables_correlate_as_promised(views):
    found = kernel_cca(*views, 4, gamma=(1e-3, 1e-3), reg=(1.0, 1.0))
    assert_allclose(found.x_variables.mean(axis=0), 0, atol=1e-10)
    cross = np.cov(found.x_variables.T, found.y_variables.T)[:4, 4:]
    assert_allclose(cross, np.diag(found.correlations), atol=1e-10)


def test_kernel_cca_regularised_away_finds_nothing(views):
    assert kernel_cca(*views, 1, gamma=(1e-3, 1e-3), reg=(1e9, 1e9)).correlations[0] < 1e-6


@pytest.fixture(params=[60, 512, 700], ids="rows {}".format)
def any_views(request, halves):
    """Fewer rows than a block of the kernel, one block exactly, and more than one."""
    return tuple(half[: request.param] for half in halves)


def test_agrees_with_eigendecompositions(any_views):
    found = KCCA(4, gamma=WIDTHS, reg=(1.0, 2.0), seed=0).fit(*any_views)
    expected = kernel_cca(*any_views, 4, gamma=WIDTHS, reg=(1.0, 2.0))
    assert_allclose(found.correlations_, expected.correlations, atol=1e-10)
    x_variables, y_variables = found.transform(*any_views)
    signs = np.sign(np.einsum("ij,ij->j", x_variables, expected.x_variables))
    assert_allclose(x_variables * signs, expected.x_variables, atol=1e-5)
    assert_allclose(y_variables * signs, expected.y_variables, atol=1e-5)


# 2.7e-7 is the least that 1200 rows admit, 7e-8 that of 300. At 1e-3 and below most correlations
# are near 1, and the kernels have eigenvalues far below reg.
@pytest.mark.parametrize(("rows", "reg"), [(1200, 1e-3), (1200, 2.7e-7), (300, 7e-8)])
def test_small_regularisers_are_solved_as_by_eigendecompositions(halves, rows, reg):
    X, Y = (half[:rows] for half in halves)
    found = KCCA(10, reg=reg, seed=0).fit(X, Y)
    widths = [kernel.gamma_ for kernel in found.maps_]
    expected = kernel_cca(X, Y, 10, gamma=widths, reg=reg)
    assert_allclose(found.correlations_, expected.correlations, atol=1e-6)
    columns = zip(expected.x_variables.T, expected.y_variables.T, strict=True)
    training = [np.corrcoef(*pair)[0, 1] for pair in columns]
    assert_allclose(found.component_correlations(X, Y), training, atol=1e-6)
    assert found.score(X, Y) == pytest.approx(np.sum(training), abs=1e-5)


def test_regularisers_lost_in_rounding_are_refused(halves):
    X, Y = (half[:1200] for half in halves)
    message = r"reg=2.6e-07: with 1200 rows, rounding .* below 2.7e-07. Raise reg"
    with pytest.raises(ValueError, match=message):
        KCCA(10, reg=(1.0, 2.6e-7)).fit(X, Y)


@pytest.mark.filterwarnings("ignore:n_samples=900 is small")
def test_it_is_rcca_with_every_row_a_landmark(halves):
    X, Y = (half[:900] for half in halves)
    new = [half[900:] for half in halves]
    found = KCCA(10, gamma=WIDTHS, reg=1.0, seed=0).fit(X, Y)
    maps = tuple(
        NystroemFeatures(landmarks=rows, gamma=width, whiten=True)
        for rows, width in zip((X, Y), WIDTHS, strict=True)
    )
    peer = RCCA(10, feature_map=maps, reg=1.0 / 899, dtype="float64").fit(X, Y)
    # The whitening adds 1e-10 to the kernels' diagonals.
    assert_allclose(found.correlations_, peer.correlations_, atol=1e-9)
    ours, theirs = (each.component_correlations(*new) for each in (found, peer))
    assert_allclose(ours, theirs, atol=1e-7)


def test_median_widths_and_start_follow_from_the_seed(halves):
    views = [half[:200] for half in halves]
    one, same, other = (KCCA(3, seed=seed).fit(*views) for seed in (0, 0, 1))
    assert np.array_equal(one.correlations_, same.correlations_)
    assert one.maps_[0].gamma_ != other.maps_[0].gamma_


def test_memory_is_foreseen(halves):
    n = 1500
    model = KCCA(4, gamma=WIDTHS, reg=3.0, seed=0)
    tracemalloc.start()
    model.fit(*(half[:n] for half in halves))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Room for all the steps there may be is asked for, but only touched as it is needed.
    untouched = 2 * 8 * n * (n - 20 * 64) + 3 * 8 * n**2
    assert 0.5 * kcca_bytes(n, 64) < peak - untouched < kcca_bytes(n, 64)
    assert kcca_bytes(54_000, 784) == pytest.approx(26e9, rel=0.05)


def test_correlations_beyond_rounding_are_named(halves):
    views = [half[:200] for half in halves]
    with pytest.raises(ValueError, match=r"n_components=50: only \d+ canonical variables"):
        KCCA(50, gamma=1e-7, reg=1e3, seed=0).fit(*views)
