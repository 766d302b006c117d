"""Exact kernel CCA by Cholesky factors, against the one by eigendecompositions."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import oracles
from rnca import RCCA, NystroemFeatures
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
    untouched = 2 * 8 * n * (n - 20 * 64) + 8 * n**2
    assert 0.5 * kcca_bytes(n, 64) < peak - untouched < kcca_bytes(n, 64)
    assert kcca_bytes(54_000, 784) == pytest.approx(26e9, rel=0.05)


def test_correlations_beyond_rounding_are_named(halves):
    views = [half[:200] for half in halves]
    with pytest.raises(ValueError, match=r"n_components=50: only \d+ canonical variables"):
        KCCA(50, gamma=1e-7, reg=1e3, random_state=0).fit(*views)


def test_wrong_arguments_are_named(halves):
    X, Y = (half[:20] for half in halves)
    with pytest.raises(ValueError, match=r"reg=0\.0: without a positive regulariser"):
        KCCA(2, reg=(1.0, 0.0)).fit(X, Y)
    with pytest.raises(ValueError, match="n_components=20: 20 centred rows have at most 19"):
        KCCA(20).fit(X, Y)
    with pytest.raises(ValueError, match="X has 20 rows but Y has 19"):
        KCCA(2).fit(X, Y[1:])
    with pytest.raises(ValueError, match="X has 31 features, but the map was fitted to 32"):
        KCCA(2).fit(X, Y).transform(X[:, 1:], Y)
    with pytest.raises(NotFittedError):
        KCCA(2).transform(X, Y)
