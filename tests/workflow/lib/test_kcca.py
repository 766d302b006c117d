"""Exact kernel CCA by Cholesky factors, against the one by eigendecompositions."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from rnca import RCCA, NystroemFeatures
from workflow.lib import kcca
from workflow.lib.exact import kernel_cca
from workflow.lib.kcca import KCCA, kcca_bytes

WIDTHS = (1e-3, 2e-3)


@pytest.fixture(params=[60, 512, 700], ids="rows {}".format)
def views(request, halves):
    """Fewer rows than a block of the kernel, one block exactly, and more than one."""
    return tuple(half[: request.param] for half in halves)


def test_agrees_with_eigendecompositions(views):
    found = KCCA(4, gamma=WIDTHS, reg=(1.0, 2.0), random_state=0).fit(*views)
    expected = kernel_cca(*views, 4, gamma=WIDTHS, reg=(1.0, 2.0))
    assert_allclose(found.correlations_, expected.correlations, atol=1e-10)
    x_variables, y_variables = found.transform(*views)
    assert_allclose(
        oracles.align(x_variables, expected.x_variables), expected.x_variables, atol=1e-5
    )
    signs = np.sign(np.einsum("ij,ij->j", x_variables, expected.x_variables))
    assert_allclose(y_variables * signs, expected.y_variables, atol=1e-5)


# 2.7e-7 is the least that 1200 rows admit, 7e-8 that of 300. At 1e-3 and below most correlations
# are near 1, and the kernels have eigenvalues far below reg.
@pytest.mark.parametrize(("rows", "reg"), [(1200, 1e-3), (1200, 2.7e-7), (300, 7e-8)])
def test_small_regularisers_are_solved_as_by_eigendecompositions(halves, rows, reg):
    X, Y = (half[:rows] for half in halves)
    found = KCCA(10, reg=reg, random_state=0).fit(X, Y)
    widths = [kernel.gamma_ for kernel in found.maps_]
    expected = kernel_cca(X, Y, 10, gamma=widths, reg=reg)
    assert_allclose(found.correlations_, expected.correlations, atol=1e-6)
    columns = zip(expected.x_variables.T, expected.y_variables.T, strict=True)
    training = [np.corrcoef(*pair)[0, 1] for pair in columns]
    assert_allclose(found.training_correlations_, training, atol=1e-6)
    assert found.score(X, Y) == pytest.approx(np.sum(training), abs=1e-5)


def test_regularisers_lost_in_rounding_are_refused(halves):
    X, Y = (half[:1200] for half in halves)
    message = r"reg=2.6e-07: with 1200 rows, rounding .* below 2.7e-07. Raise reg"
    with pytest.raises(ValueError, match=message):
        KCCA(10, reg=(1.0, 2.6e-7)).fit(X, Y)


def test_functions_that_contradict_the_solution_are_refused(halves, monkeypatch):
    X, Y = (half[:200] for half in halves)
    model = KCCA(3, reg=1.0, random_state=0).fit(X[:100], Y[:100])
    before, original = model.score(X, Y), kcca._variables
    drift = 1e-2 * np.arange(200)[:, None]
    monkeypatch.setattr(kcca, "_variables", lambda *given: original(*given) + drift)
    with pytest.raises(FloatingPointError, match=r"reg=1\.0: on the training rows .* Raise reg"):
        model.fit(X, Y)
    monkeypatch.undo()
    assert model.score(X, Y) == before  # the model there was remains


def test_new_rows_are_projected_as_by_rcca_on_all_landmarks(halves):
    X, Y = (half[:300] for half in halves)
    new = [half[300:] for half in halves]
    found = KCCA(3, gamma=WIDTHS, reg=1e-3 * 300, random_state=0).fit(X, Y)
    # RCCA on whitened Nyström features with all rows as landmarks is kernel CCA.
    maps = tuple(
        NystroemFeatures(landmarks=rows, gamma=width, whiten=True)
        for rows, width in zip((X, Y), WIDTHS, strict=True)
    )
    reg = 1e-3 * 300 / 299
    peer = RCCA(3, feature_map=maps, reg=reg, dtype="float64").fit(X, Y)
    assert_allclose(found.correlations_, peer.correlations_, atol=1e-6)
    assert_allclose(
        found.component_correlations(*new), peer.component_correlations(*new), atol=1e-4
    )
    assert found.score(*new) == pytest.approx(peer.score(*new), abs=1e-4)


def test_median_widths_and_start_follow_from_the_seed(halves):
    views = [half[:200] for half in halves]
    one, same, other = (KCCA(3, random_state=seed).fit(*views) for seed in (0, 0, 1))
    assert np.array_equal(one.correlations_, same.correlations_)
    assert one.maps_[0].gamma_ != other.maps_[0].gamma_


def test_memory_is_foreseen(halves):
    n = 1500
    model = KCCA(4, gamma=WIDTHS, reg=3.0, random_state=0)
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
        KCCA(50, gamma=1e-7, reg=1e3, random_state=0).fit(*views)
