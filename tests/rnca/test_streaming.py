"""The pass: the same bits on any number of threads, and float32 products only where they do."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from rnca import RCCA, RPCA, FourierFeatures, Moments, NystroemFeatures
from rnca._core.fitting import CERTIFIED
from rnca._core.moments import probes
from rnca._core.rows import View, shard_bounds

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


def joint_covariance(moments):
    xy = moments.covariance("xy")
    return np.block([[moments.covariance("xx"), xy], [xy.T, moments.covariance("yy")]])


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("feature_map", ["fourier", "fastfood", "nystroem"])
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
    error = joint_covariance(rounded) - joint_covariance(exact)
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
def test_the_error_norm_is_estimated_within_a_factor_of_two_from_below(make):
    ratios = []
    for seed in range(60):
        E = make(np.random.default_rng(seed), 200)
        moments = Moments(120, 80)
        moments.n = 2
        moments.add_error(E @ probes(200))
        ratios.append(moments.error_norm(120, 80) / np.linalg.norm(E, 2))
    # Eight probes may miss part of an error of rank one.
    assert min(ratios) > 0.5
    assert np.median(ratios) > 1.2


def test_float64_products_have_no_error(views):
    X, Y = views
    model = RCCA(3, n_features=50, random_state=0, accumulation="float64").fit(X, Y)
    assert (model.accumulation_, model.accumulation_error_) == ("float64", 0.0)
    assert model.moments_.error is None


def test_auto_takes_float32_for_a_well_conditioned_fit_and_says_so(views):
    X, Y = views
    given = {"n_features": 200, "gamma": 1.0, "random_state": 0}  # features nearly uncorrelated
    auto = RCCA(5, **given).fit(X, Y)
    forced = RCCA(5, **given, accumulation="float64").fit(X, Y)
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
def test_ill_conditioned_fits_are_never_certified(views, settings):
    X, Y = views
    given = {"n_features": 200, "random_state": 0, "reg": 1e-8, **settings}
    auto = RCCA(5, **given).fit(X, Y)
    exact = RCCA(5, **given, accumulation="float64").fit(X, Y)
    assert auto.accumulation_ == "float64"
    assert_array_equal(auto.correlations_, exact.correlations_)
    model = RCCA(5, **given).draw(X, Y)
    assert not model._fit_certified([View(X, "X"), View(Y, "Y")], ROWS)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [1e-3, 5e-4, 1e-4])
def test_a_direction_that_rounding_hides_is_not_certified_away(spread, seed):
    """The best direction of X is a difference of two nearly equal columns."""
    rng = np.random.default_rng(seed)
    rows = 20_480
    a, hidden, seen, noise = rng.standard_normal((4, rows))
    X = np.column_stack([a, a + spread * hidden, seen])
    Y = np.column_stack([hidden + 0.4 * noise, seen + 0.5 * rng.standard_normal(rows)])
    auto = RCCA(1, feature_map="linear", random_state=0).fit(X, Y)
    exact = RCCA(1, feature_map="linear", random_state=0, accumulation="float64").fit(X, Y)
    assert_allclose(auto.correlations_, exact.correlations_, atol=CERTIFIED)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gamma", [1e-2, 1e-1, 1.0])
@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
def test_the_estimate_bounds_the_whitened_error_and_the_correlations(feature_map, gamma, seed):
    X, Y = two_views(rows=3000, seed=seed)
    given = {"feature_map": feature_map, "gamma": gamma, "n_features": 150, "random_state": seed}
    exact = RCCA(5, **given, reg=1e-6, accumulation="float64").fit(X, Y)
    rounded = RCCA(5, **given, reg=1e-6).draw(X, Y)
    rounded._fit_certified([View(X, "X"), View(Y, "Y")], 3000)
    error = joint_covariance(rounded.moments_) - joint_covariance(exact.moments_)
    L = scipy.linalg.cholesky(
        scipy.linalg.block_diag(*(exact.moments_.covariance(w) for w in ("xx", "yy")))
        + 1e-6 * np.eye(300),
        lower=True,
    )
    inverse = scipy.linalg.solve_triangular(L, np.eye(300), lower=True)
    true = np.linalg.norm(inverse @ error @ inverse.T, 2)
    # Eight probes may miss part of the largest direction. For noise plus one direction of various
    # strengths, 1500 random draws each, the estimate was between 0.7 and 2 times the norm.
    assert true / 1.5 <= rounded.accumulation_error_ <= 4 * true
    moved = np.abs(rounded.correlations_ - exact.correlations_).max()
    assert moved <= rounded.accumulation_error_


def test_a_fit_that_float32_products_break_is_made_in_float64(views, monkeypatch):
    X, Y = views
    given = {"feature_map": "nystroem", "n_features": 300, "reg": 1e-12, "random_state": 0}
    monkeypatch.setattr(RCCA, "_float32_promises", lambda self, views: True)
    promised = RCCA(5, **given).fit(X, Y)
    exact = RCCA(5, **given, accumulation="float64").fit(X, Y)
    assert promised.accumulation_ == "float64"
    assert_array_equal(promised.correlations_, exact.correlations_)


def test_a_path_to_less_regularisation_than_was_certified_is_refused(views):
    X, Y = views
    model = RCCA(5, n_features=200, gamma=1.0, reg=1e-6, random_state=0).fit(X, Y)
    assert model.accumulation_ == "float32"
    assert model.path([100], [1e-3])[0].accumulation_error_ == model.accumulation_error_
    with pytest.raises(ValueError, match=r"reg=1e-08 in regs.*float32 products"):
        model.path([100], [1e-8])


def test_fits_at_the_same_time_leave_blas_as_it_was(views):
    X, Y = (view[:4000] for view in views)

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with ThreadPoolExecutor(3) as executor:
            fits = [
                executor.submit(RCCA(3, n_features=100, random_state=0).fit, X, Y) for _ in range(3)
            ]
        assert threads() == before
    for fit in fits[1:]:
        assert_allclose(fit.result().correlations_, fits[0].result().correlations_, atol=1e-12)


def test_an_error_sketch_survives_saving(views, tmp_path):
    X, Y = views
    model = RCCA(5, n_features=60, random_state=0).draw(X, Y)
    rounded = model._moments_of_rows([View(X), View(Y)], 0, None, "float32")
    rounded.save(tmp_path / "moments.npz")
    loaded = Moments.load(tmp_path / "moments.npz")
    assert loaded.error_norm(60, 60) == rounded.error_norm(60, 60) > 0


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
