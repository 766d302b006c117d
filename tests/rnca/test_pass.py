"""The pass over the data: the moments of the features, on any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from rnca import RCCA, RPCA, Moments


@pytest.fixture(scope="module")
def views():
    """Two noisy nonlinear images of a common latent sample."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((5000, 5))
    return tuple(
        f(latent @ rng.standard_normal((5, 10))) + rng.normal(0, 0.3, (5000, 10))
        for f in (np.sin, np.cos)
    )


def assert_same_moments(moments, expected, atol):
    assert moments.n == expected.n
    for name in ("xx", "yy", "xy"):
        assert_allclose(moments.covariance(name), expected.covariance(name), rtol=0, atol=atol)
    for view in "xy":
        assert_allclose(moments.mean(view), expected.mean(view), rtol=0, atol=atol)


def test_the_pass_equals_updates_with_the_features(views):
    model = RCCA(3, n_features=(40, 70), random_state=0, dtype="float64").draw(*views)
    expected = Moments(40, 70).update(
        model.map_x_.transform(views[0]), model.map_y_.transform(views[1])
    )
    assert_same_moments(model.accumulate(*views), expected, 1e-14)


def test_more_columns_than_a_tile_holds():
    rng = np.random.default_rng(0)
    zx, zy = rng.standard_normal((50, 4100)), rng.standard_normal((50, 2300))
    moments = Moments(4100, 2300).update(zx[:20], zy[:20]).update(zx[20:], zy[20:])
    centred = zx - zx.mean(axis=0)
    assert_allclose(moments.covariance("xx"), centred.T @ centred / 49, rtol=0, atol=1e-13)
    cross = centred.T @ (zy - zy.mean(axis=0)) / 49
    assert_allclose(moments.covariance("xy"), cross, rtol=0, atol=1e-13)


# Float32 projections are summed in an order that depends on the threads: 1e-7 of cosines, whose
# errors average out over rows.
@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-13), ("float32", 1e-7)])
@pytest.mark.parametrize("feature_map", ["fourier", "fastfood", "nystroem"])
def test_threads_change_nothing_but_rounding(views, feature_map, dtype, atol):
    model = RCCA(3, feature_map=feature_map, n_features=(300, 600), random_state=0, dtype=dtype)
    model.draw(*views)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append(model.accumulate(*views))
    for other in found[1:]:
        assert_same_moments(other, found[0], atol)


def test_fits_at_the_same_time_equal_fits_one_after_another(views):
    models = [RCCA(3, n_features=100, random_state=seed, dtype="float64") for seed in range(3)]
    models += [RPCA(3, n_features=100, random_state=seed, dtype="float64") for seed in range(2)]
    data = [views] * 3 + [views[:1]] * 2
    serial = [
        model.fit(*given).transform(*given) for model, given in zip(models, data, strict=True)
    ]
    with ThreadPoolExecutor(5) as executor:
        fits = [
            executor.submit(model.fit, *given) for model, given in zip(models, data, strict=True)
        ]
    for fit, given, expected in zip(fits, data, serial, strict=True):
        assert_allclose(fit.result().transform(*given), expected, rtol=0, atol=1e-9)


def test_paths_at_the_same_time_equal_paths_one_after_another(views):
    model = RCCA(3, n_features=200, random_state=0, dtype="float64").fit(*views)
    asked = [([50, 200], [1e-6, 1e-2]), ([200, 100], [1e-3]), ([150], [1e-8, 1e-4])] * 2
    serial = [model.path(*each) for each in asked]
    with ThreadPoolExecutor(6) as executor:
        paths = [executor.submit(model.path, *each) for each in asked]
    for path, expected in zip(paths, serial, strict=True):
        for a, b in zip(path.result(), expected, strict=True):
            assert_allclose(a.correlations_, b.correlations_, rtol=0, atol=1e-12)
