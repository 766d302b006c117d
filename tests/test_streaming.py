"""The pass: the same bits on any number of threads, and float32 products only where they do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from rnca import RCCA, RPCA, FourierFeatures, Moments, NystroemFeatures
from rnca.mapping import CERTIFIED
from rnca.moments import probes
from rnca.rows import View, shard_bounds

ROWS = 20_000  # "auto" considers float32 from 16384 rows on


def two_views(rows=ROWS, columns=10, seed=0):
    """Two noisy nonlinear images of a common latent sample."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((rows, 5))
    X = np.sin(latent @ rng.standard_normal((5, columns))) + rng.normal(0, 0.3, (rows, columns))
    Y = np.cos(latent @ rng.standard_normal((5, columns))) + rng.normal(0, 0.3, (rows, columns))
    return X, Y


@pytest.fixture(scope="module")
def views():
    return two_views()


def fit_with_float32_products(model, X, Y):
    """What "auto" does, whatever its pilot says."""
    views = [View(X, "X"), View(Y, "Y")]
    return model.draw(X, Y).solve(model._moments_of_rows(views, 0, None, "float32"))


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
def test_threads_change_no_bit(views, feature_map, precision):
    X, Y = (view[:5000] for view in views)
    model = RCCA(3, feature_map=feature_map, n_features=(300, 1100), random_state=0).draw(X, Y)
    several = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            several.append(model._moments_of_rows([View(X), View(Y)], 0, None, precision))
    for other in several[1:]:
        for name in ("sum_x", "sum_y", "xy"):
            assert_array_equal(getattr(other, name), getattr(several[0], name))
        for name in ("xx", "yy"):
            assert_array_equal(
                np.tril(getattr(other, name)), np.tril(getattr(several[0], name)), strict=True
            )


def test_the_pass_equals_updates_with_the_features(views):
    X, Y = (view[:3000] for view in views)
    model = RCCA(3, n_features=(40, 70), random_state=0, dtype="float64").draw(X, Y)
    passed = model.accumulate(X, Y)
    updated = Moments(40, 70).update(model.map_x_.transform(X), model.map_y_.transform(Y))
    assert passed.n == updated.n
    for name in ("xx", "yy", "xy"):
        assert_allclose(passed.covariance(name), updated.covariance(name), atol=1e-14)
    for view in "xy":
        assert_allclose(passed.mean(view), updated.mean(view), atol=1e-14)


@pytest.mark.parametrize("shards", [1, 3])
def test_the_sketch_is_the_error_of_the_float32_products(views, shards):
    X, Y = views
    model = RCCA(3, n_features=(60, 90), random_state=0).draw(X, Y)
    sides = [View(X), View(Y)]
    exact = model._moments_of_rows(sides, 0, None)
    rounded = model.empty_moments()
    for start, stop in shard_bounds(ROWS, shards, model.chunk_size):
        rounded.merge(model._moments_of_rows(sides, start, stop, "float32"))
    error = np.block(
        [
            [rounded.covariance("xx"), rounded.covariance("xy")],
            [rounded.covariance("xy").T, rounded.covariance("yy")],
        ]
    ) - np.block(
        [
            [exact.covariance("xx"), exact.covariance("xy")],
            [exact.covariance("xy").T, exact.covariance("yy")],
        ]
    )
    assert np.abs(error).max() > 1e-11  # there is something to find
    assert_allclose(
        rounded.error / (ROWS - 1), error @ probes(150), atol=1e-3 * np.abs(error).max()
    )


ERRORS = {
    "one direction": lambda rng, m: np.outer(v := rng.standard_normal(m), v) / m,
    "a few directions": lambda rng, m: (V := rng.standard_normal((m, 5))) @ V.T / m,
    "a diagonal": lambda rng, m: np.diag(rng.standard_normal(m)),
    "one entry": lambda rng, m: np.diag(np.eye(m)[rng.integers(m)]),
    "noise": lambda rng, m: (N := rng.standard_normal((m, m))) + N.T,
    "noise and one direction": lambda rng, m: (
        (N := rng.standard_normal((m, m)) / np.sqrt(m))
        + N.T
        + 3 * np.outer(v := rng.standard_normal(m), v) / m
    ),
}


@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS.keys())
def test_the_error_norm_is_an_estimate_from_above(make):
    ratios = []
    for seed in range(60):
        E = make(np.random.default_rng(seed), 200)
        moments = Moments(120, 80)
        moments.n = 2
        moments.add_error(E @ probes(200))
        ratios.append(moments.error_norm(120, 80) / np.linalg.norm(E, 2))
    # Eight probes may miss part of an error of rank one; the certificate's other factors have
    # room for that.
    assert min(ratios) > 0.5
    assert np.median(ratios) > 1.2


def test_float64_products_have_no_error(views):
    X, Y = views
    model = RCCA(3, n_features=50, random_state=0, accumulation="float64").fit(X, Y)
    assert (model.accumulation_, model.accumulation_error_) == ("float64", 0.0)
    assert model.moments_.error is None


def test_auto_takes_float32_for_a_well_conditioned_fit_and_says_so(views):
    X, Y = views
    auto = RCCA(5, n_features=200, random_state=0).fit(X, Y)
    forced = RCCA(5, n_features=200, random_state=0, accumulation="float64").fit(X, Y)
    assert auto.accumulation_ == "float32"
    assert 0 < auto.accumulation_error_ <= CERTIFIED
    assert forced.accumulation_ == "float64"
    assert_allclose(auto.correlations_, forced.correlations_, atol=auto.accumulation_error_)
    for a, b in zip(auto.path([50, 120]), forced.path([50, 120]), strict=True):
        assert_allclose(a.correlations_, b.correlations_, atol=CERTIFIED)


@pytest.mark.parametrize(
    "settings",
    [
        {"feature_map": "nystroem"},
        {"feature_map": "nystroem", "reg": 1e-10},
        {"feature_map": ("fourier", "nystroem")},
        {"feature_map": NystroemFeatures(200, gamma=1e-3)},
        {"feature_map": FourierFeatures(200, gamma=1e-6)},
    ],
    ids=str,
)
def test_ill_conditioned_fits_are_never_certified_wrongly(views, settings):
    X, Y = views
    given = {"n_features": 200, "random_state": 0, "reg": 1e-8, **settings}
    auto = RCCA(5, **given).fit(X, Y)
    exact = RCCA(5, **given, accumulation="float64").fit(X, Y)
    assert_allclose(auto.correlations_, exact.correlations_, atol=CERTIFIED)
    rounded = fit_with_float32_products(RCCA(5, **given), X, Y)
    wrong = np.abs(rounded.correlations_ - exact.correlations_).max()
    assert rounded.accumulation_error_ > CERTIFIED
    assert rounded.accumulation_error_ > wrong


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gamma", [1e-3, 1e-2, 1e-1, 1.0])
@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
def test_the_certificate_bounds_the_true_error(feature_map, gamma, seed):
    X, Y = two_views(rows=3000, seed=seed)
    given = {"feature_map": feature_map, "gamma": gamma, "n_features": 150, "random_state": seed}
    exact = RCCA(5, **given, accumulation="float64").fit(X, Y)
    rounded = fit_with_float32_products(RCCA(5, **given), X, Y)
    wrong = np.abs(rounded.correlations_ - exact.correlations_).max()
    assert wrong <= rounded.accumulation_error_


def test_a_path_beyond_its_certificate_is_refused(views):
    X, Y = views
    model = RCCA(5, feature_map="nystroem", n_features=100, random_state=0)
    fit_with_float32_products(model, X, Y)
    with pytest.raises(ValueError, match=r'float32 products.*accumulation="float64"'):
        model.path([50])


def test_an_error_sketch_survives_saving(views, tmp_path):
    X, Y = views
    model = RCCA(5, n_features=60, random_state=0).fit(X, Y)
    model.moments_.save(tmp_path / "moments.npz")
    loaded = Moments.load(tmp_path / "moments.npz")
    assert loaded.error_norm(60, 60) == model.moments_.error_norm(60, 60) > 0


def test_rpca_takes_float32_where_certified(views):
    X, _ = views
    auto = RPCA(5, n_features=200, random_state=0).fit(X)
    forced = RPCA(5, n_features=200, random_state=0, accumulation="float64").fit(X)
    assert (auto.accumulation_, forced.accumulation_) == ("float32", "float64")
    assert_allclose(
        auto.explained_variance_, forced.explained_variance_, rtol=auto.accumulation_error_
    )


def test_an_unknown_accumulation_is_refused(views):
    with pytest.raises(ValueError, match=r"accumulation='float16'.*auto.*float64"):
        RCCA(2, n_features=10, accumulation="float16").fit(*views)
