"""RCCA and RPCA against slow oracles, and against themselves by every way to the same answer.

Tolerances on correlations between ways to compute the same fit: float64 features 1e-9 by any
route; float32 features 1e-7 (cosines, linear) and 1e-5 (Nyström, whose covariance is
ill-conditioned), since their rounding depends on the shapes that sgemm is given.
"""

import gzip
import os
import pickle
import re
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

import oracles
from rnca import RCCA, RCCACV, RPCA, FourierFeatures, Moments, NystroemFeatures, median_gamma
from rnca.inference import binned_means
from rnca.method import whiten
from rnca.moments import Correlations
from rnca.rows import shard_bounds
from workflow.lib.exact import kernel_cca, kernel_pca

KINDS = ["fourier", "fastfood", "nystroem", "linear"]


def tolerance(kind, dtype):
    if dtype == "float64":
        return 1e-9
    return 1e-5 if kind == "nystroem" else 1e-7


def rcca(kind="fourier", dtype="float64", m=80, **given):
    settings = {"n_components": 10, "random_state": 0, "n_features": m, **given}
    return RCCA(**settings, feature_map=kind, dtype=dtype)


def rpca(kind="fourier", dtype="float64", m=80, **given):
    settings = {"n_components": 8, "random_state": 0, "n_features": m, **given}
    return RPCA(**settings, feature_map=kind, dtype=dtype)


def oracle(model, kind, X, Y, reg_x=1e-8, reg_y=1e-8):
    zx = oracles.FEATURES[kind](model.map_x_, X)
    zy = oracles.FEATURES[kind](model.map_y_, Y)
    return zx, zy, oracles.cca(zx, zy, reg_x, reg_y, model.n_components)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


def relative_error(values, expected):
    return np.abs(values - expected).max() / expected[0]


def assert_same_answer(model, other, atol):
    assert_allclose(model.correlations_, other.correlations_, rtol=0, atol=atol)


def assert_same_bases(model, other, rtol=1e-6):
    """Bases of well-separated correlations, to which rounding does much more than to values."""
    for name in ("F_", "G_"):
        basis, reference = getattr(model, name), getattr(other, name)
        assert_allclose(basis, reference, atol=rtol * np.abs(reference).max())


@pytest.mark.parametrize("kind", oracles.FEATURES)
@pytest.mark.parametrize("reg", [1e-8, 1e-3, (1e-8, 0.1)])
def test_correlations_are_the_oracles(halves, kind, dtype, reg):
    # Oracle and fast path share W, b and landmarks; float32 features differ by their rounding,
    # which is what separates chunkings too: the same tolerances hold.
    model = rcca(kind, dtype, reg=reg).fit(*halves)
    reg_x, reg_y = np.broadcast_to(reg, 2)
    zx, zy, expected = oracle(model, kind, *halves, reg_x, reg_y)
    atol = tolerance(kind, dtype)
    assert_allclose(model.correlations_, expected.correlations, rtol=0, atol=atol)
    book = np.linalg.svd(oracles.whitened_cross_covariance(zx, zy, reg_x, reg_y), compute_uv=False)
    assert_allclose(model.correlations_, book[:10], rtol=0, atol=atol)


def test_the_krylov_path_gives_the_oracles_answer(halves, krylov_calls):
    # Moments are mirrored in blocks of 512 rows. Digits have correlations near 1 at this m.
    model = rcca("fourier", m=600, n_components=50).fit(*halves)
    _, _, expected = oracle(model, "fourier", *halves)
    assert_allclose(model.correlations_, expected.correlations, rtol=0, atol=1e-9)
    model = rpca(m=450).fit(halves[0])
    values, _ = oracles.pca(oracles.fourier(model.map_, halves[0]), 8)
    assert relative_error(model.explained_variance_, values) < 1e-10
    assert len(krylov_calls) == 2


def test_canonical_variables_are_the_oracles(halves, kind):
    X, Y = halves
    model = rcca(kind).fit(X, Y)
    U, V = model.transform(X, Y)
    assert_array_equal(model.transform(X), U)
    assert_array_equal(model.transform(None, Y), V)
    assert_allclose(np.cov(U.T, V.T)[:10, 10:], np.diag(model.correlations_), atol=1e-9)
    zx, zy, expected = oracle(model, kind, X, Y)
    for z, basis, variables in ((zx, expected.F, U), (zy, expected.G, V)):
        reference = (z - z.mean(axis=0)) @ basis
        # Variables have unit variance; their error is that of the correlations over their gaps.
        assert_allclose(oracles.align(variables, reference), reference, atol=1e-7)


def test_linear_rcca_is_textbook_cca(halves):
    X, Y = (half[:, half.std(axis=0) > 1] for half in halves)
    model = rcca("linear", reg=0.0).fit(X, Y)
    Qx, Qy = (np.linalg.qr(half - half.mean(axis=0))[0] for half in (X, Y))
    assert_allclose(model.correlations_, np.linalg.svd(Qx.T @ Qy)[1][:10], atol=1e-12)
    peer = CCA(2, max_iter=10_000, tol=1e-12).fit(X, Y)
    found = [
        np.corrcoef(u, v)[0, 1] for u, v in zip(*(z.T for z in peer.transform(X, Y)), strict=True)
    ]
    assert_allclose(model.correlations_[:2], found, atol=1e-8)


def test_score_is_the_sum_of_absolute_test_correlations(halves):
    X, Y = halves[0], np.random.default_rng(0).normal(size=(1797, 3))
    model = rcca(m=60).fit(X[:1000], Y[:1000])
    U, V = model.transform(X[1000:], Y[1000:])
    expected = np.array([np.corrcoef(u, v)[0, 1] for u, v in zip(U.T, V.T, strict=True)])
    assert expected.min() < 0  # noise: signs are lost in the score alone
    assert_allclose(model.component_correlations(X[1000:], Y[1000:]), expected, atol=1e-12)
    assert model.score(X[1000:], Y[1000:]) == pytest.approx(np.abs(expected).sum(), abs=1e-11)


@pytest.mark.parametrize("reg", [1e-8, (0.1, 1e-8), (1e-8, 0.1), (0.1, 0.3)])
def test_training_correlations_are_those_of_the_training_rows(halves, kind, reg):
    model = rcca(kind, reg=reg).fit(*halves)
    seen = np.abs(model.component_correlations(*halves))
    assert_allclose(model.training_correlations_, seen, rtol=1e-7)
    assert model.training_correlations_[0] >= model.correlations_[0]


@pytest.mark.parametrize("n", [2, 3, 7, 1000])
def test_paired_correlations_are_numpys_whatever_the_scales_and_zero_of_constants(n):
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((n, 3))
    x, y = (scale * (shared + rng.standard_normal((n, 3))) + 1 for scale in (1e-3, 50.0))
    expected = [np.corrcoef(x[:, j], y[:, j])[0, 1] for j in range(3)]
    for constant in (False, True):
        if constant:
            x[:, 0], y[:, 2], expected[0], expected[2] = 0.1, 0.1, 0.0, 0.0
        found = Correlations().update(x[: n // 2], y[: n // 2]).update(x[n // 2 :], y[n // 2 :])
        assert_allclose(found.values(), expected, rtol=1e-9)


def test_loadings_are_numpys_correlations(halves):
    X, Y = (view[:, ::3] for view in halves)
    model = rcca(m=60, n_components=3, chunk_size=200).fit(X, Y)
    for view, variables, found in zip(
        (X, Y), model.transform(X, Y), model.loadings(X, Y), strict=True
    ):
        varies = view.std(axis=0) > 0
        expected = np.corrcoef(view[:, varies].T, variables.T)[: varies.sum(), varies.sum() :]
        assert_allclose(found[varies], expected, atol=1e-12)
        assert_array_equal(found[~varies], 0)


def test_predictions_are_those_of_ridge_on_the_canonical_variables(halves):
    X, Y = halves
    model = rcca(m=60, n_components=5, chunk_size=200).fit(X, Y)
    with pytest.raises(AttributeError, match=r"no attribute 'predict'") as caught:
        model.predict(X)
    assert "call fit_predictor" in str(caught.value.__cause__)
    model.fit_predictor(X[:900], Y[:900], reg=0.1)
    U = model.transform(X)
    peer = Ridge(0.1 * 899).fit(U[:900], Y[:900])
    assert_allclose(model.predict(X), peer.predict(U), atol=1e-9)
    expected = peer.score(U[900:], Y[900:])
    assert model.prediction_score(X[900:], Y[900:]) == pytest.approx(expected, abs=1e-9)
    assert model.fit_predictor(X, Y[:, 3]).predict(X).shape == (1797,)


def test_a_fit_grows_and_a_failed_part_changes_nothing(halves):
    X, Y = halves
    model = rcca(m=60).fit(X[:900], Y[:900])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN at row 7"):
        model.partial_fit(np.where(np.arange(897)[:, None] == 7, np.nan, X[900:]), Y[900:])
    with pytest.raises(ValueError, match="X has 31 features, but RCCA is expecting 32"):
        model.partial_fit(X[900:, 1:], Y[900:])
    assert vars(model) == before
    moments = model.draw(X[:900], Y[:900]).accumulate(X, Y)
    expected = model.solve(moments)
    grown = rcca(m=60).fit(X[:900], Y[:900]).partial_fit(X[900:], Y[900:])
    assert_same_answer(grown, expected, 1e-9)
    merged = rcca(m=60).fit(X[:900], Y[:900])
    merged.moments_.merge(merged.accumulate(X, Y, 900))
    for member in (*grown.path([60]), *merged.path([60])):
        assert_same_answer(member, expected, 1e-9)
    loaded = pickle.loads(pickle.dumps(grown))
    with pytest.raises(ValueError, match=r"^partial_fit needs the moments of a fit"):
        loaded.partial_fit(X, Y)
    with pytest.raises(AttributeError, match="no attribute 'correlations_'"):
        _ = rcca().correlations_


@pytest.mark.parametrize("chunk_size", [1, 7, 500, 1797, 10_000])
def test_chunk_size_does_not_matter(halves, kind, dtype, chunk_size):
    X, Y = (half[:200] for half in halves) if chunk_size == 1 else halves
    model = rcca(kind, dtype).fit(X, Y)
    other = rcca(kind, dtype, chunk_size=chunk_size).fit(X, Y)
    assert_same_answer(model, other, tolerance(kind, dtype))


@pytest.mark.parametrize("shards", [1, 2, 5, 18])
def test_merged_shards_equal_one_pass(halves, kind, dtype, shards, tmp_path):
    X, Y = halves
    model = rcca(kind, dtype, chunk_size=100).fit(X, Y)
    for shard, (start, stop) in enumerate(shard_bounds(len(X), shards, 100)):
        # Each in a job of its own: draws again, leaves a file.
        job = rcca(kind, dtype, chunk_size=100).draw(X, Y)
        job.accumulate(X, Y, start, stop).save(tmp_path / f"{shard}.npz")
    merging = rcca(kind, dtype, chunk_size=100).draw(X, Y)
    moments = Moments.load(tmp_path / "0.npz")
    for shard in range(1, shards):
        moments.merge(Moments.load(tmp_path / f"{shard}.npz"))
    assert_same_answer(merging.solve(moments), model, tolerance(kind, dtype))
    assert merging.n_samples_ == len(X)


@pytest.mark.parametrize(
    ("head", "sizes"),
    [
        (500, (500, 1297)),
        (400, (400, 3, 900, 494)),
        (500, (400, 400, 400, 400, 197)),
        (500, (1, 1796)),
        (1797, (1797,)),
    ],
)
def test_streams_and_partial_fits_equal_arrays(halves, kind, head, sizes):
    parts = list(zip(*(np.split(view, np.cumsum(sizes)[:-1]) for view in halves), strict=True))
    # Maps are drawn from the head of a stream or the first part: compare through the same maps.
    arrays = rcca(kind, chunk_size=head).draw(*(view[:head] for view in halves))
    arrays.solve(arrays.accumulate(*halves))
    found = [rcca(kind, chunk_size=head).fit_chunks(iter(parts))]
    if sizes[0] == head:
        found.append(rcca(kind, chunk_size=head))
        for part in parts:
            found[1].partial_fit(*part)
    for model in found:
        assert_same_answer(model, arrays, 1e-9)
        assert model.n_samples_ == 1797
        assert model.score(*halves) == pytest.approx(arrays.score(*halves), abs=1e-7)


def test_the_head_of_a_stream_holds_the_landmarks_of_a_given_map(halves):
    X, Y = halves
    model = RCCA(3, feature_map=NystroemFeatures(300, random_state=0), n_features=10, chunk_size=50)
    model.fit_chunks([(X[:900], Y[:900]), (X[900:], Y[900:])])
    assert model.map_x_.n_features_out == 300


@pytest.mark.parametrize("kind", ["fourier", "nystroem"])
def test_path_equals_separate_fits(halves, kind, dtype):
    sizes, regs = [80, 12, (50, 30), (30, 80)], [1e-4, np.array(1e-8), (1e-2, 1e-4)]
    path = rcca(kind, dtype, reg=1e-4).fit(*halves).path(sizes, regs)
    for member, (reg, size) in zip(path, product(regs, sizes), strict=True):
        separate = rcca(kind, dtype, n_features=size, reg=reg).fit(*halves)
        assert_same_answer(member, separate, tolerance(kind, dtype))
        assert member.get_params()["reg"] == reg
        assert member.F_.shape == separate.F_.shape
        for what, value in separate.conditioning_.items():
            assert member.conditioning_[what] == pytest.approx(value, rel=1e-3)
        if dtype == "float64":
            assert_same_bases(member, separate)
            assert member.score(*halves) == pytest.approx(separate.score(*halves), abs=1e-9)


def test_path_in_any_order_and_again(halves):
    model = rcca().fit(*halves)
    first = model.path([20, 40], [1e-8, 1.0, 1e-8])
    rcca(reg=10.0).draw(*halves).solve(model.moments_)  # shares the moments
    again = model.path([40, 20], [1.0, 1e-8])
    for one, other in ((first[0], first[4]), (first[0], again[3]), (first[3], again[0])):
        assert_array_equal(one.F_, other.F_)
    assert_array_equal(model.correlations_, rcca().fit(*halves).correlations_)


def test_thread_count_does_not_matter(halves, kind, dtype):
    answers = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            answers.append(rcca(kind, dtype, m=300).fit(*halves))
    for other in answers[1:]:
        assert_same_answer(other, answers[0], tolerance(kind, dtype))


def test_fits_and_paths_at_the_same_time_equal_those_one_after_another(halves):
    def work(seed):
        model = rcca(random_state=seed).fit(*halves)
        one = RPCA(3, n_features=80, random_state=seed, dtype="float64").fit(halves[0])
        members = shared.path([50, 80 - seed], [1e-6, 10.0**-seed])
        return [one.explained_variance_, *(each.correlations_ for each in (model, *members))]

    shared = rcca().fit(*halves)
    serial = [work(seed) for seed in range(5)]
    with ThreadPoolExecutor(5) as executor:
        for found, expected in zip(executor.map(work, range(5)), serial, strict=True):
            for one, other in zip(found, expected, strict=True):
                assert_allclose(one, other, rtol=0, atol=1e-9)


def test_maps_differ_between_views_and_between_draws(halves):
    X, Y = halves
    model = rcca(n_features=(30, 50), gamma=(1e-3, 2e-3)).fit(X, Y)
    assert (model.map_x_.gamma_, model.map_y_.gamma_) == (1e-3, 2e-3)
    assert (model.F_.shape, model.G_.shape) == ((30, 10), (50, 10))
    model = rcca().fit(X, X)
    assert model.map_x_.fingerprint() != model.map_y_.fingerprint()
    assert rcca(random_state=1).fit(X, X).map_x_.fingerprint() != model.map_x_.fingerprint()
    mixed = rcca(("linear", FourierFeatures(40, random_state=5))).fit(X, X)
    assert (mixed.F_.shape, mixed.G_.shape) == ((32, 10), (40, 10))


def test_a_factor_knows_its_features_sizes_and_its_leading_blocks():
    z = np.random.default_rng(0).normal((0.5, 2, -3), size=(50, 3))
    factor, C = whiten(Moments(3).update(z), 0, 0.5), np.cov(z.T)
    assert_allclose(factor.squares, C.diagonal() + z.mean(axis=0) ** 2)
    assert_allclose(factor.variances, C.diagonal() + 0.5)
    assert_allclose(factor.L, np.linalg.cholesky(C + 0.5 * np.eye(3)), atol=1e-12)
    short = factor.leading(2)
    assert_allclose(short.L @ short.L.T, C[:2, :2] + 0.5 * np.eye(2))
    assert (len(short.squares), len(short.variances), short.reg) == (2, 2, 0.5)


def test_conditioning_is_reported(halves, kind):
    reg = 1e-4
    model = rcca(kind, reg=reg).fit(*halves)
    z = oracles.FEATURES[kind](model.map_x_, halves[0])
    C = np.cov(z.T)
    pivots = np.linalg.cholesky(C + reg * np.eye(len(C))).diagonal() ** 2
    assert model.conditioning_["smallest_pivot_x"] == pytest.approx(pivots.min(), rel=1e-6)
    shrunk = reg * np.linalg.inv(C + reg * np.eye(len(C)))
    # 16 random probes estimate a trace to a standard error of sqrt(2/16) times the norm.
    error = 4 * np.sqrt(2 / 16) * np.linalg.norm(shrunk) + 1e-6
    freedom = len(C) - np.trace(shrunk)
    assert model.conditioning_["degrees_of_freedom_x"] == pytest.approx(freedom, abs=error)


def test_a_correlation_above_one_is_refused_unless_rounding_explains_it(halves):
    model = rcca(FourierFeatures(80, random_state=0)).fit(halves[0], halves[0])
    assert_allclose(model.correlations_, 1, atol=1e-6)
    model.moments_.products[0, 1] *= 1.2
    with pytest.raises(
        FloatingPointError, match=r"correlation came out as 1\.\d+, above 1.*Raise reg"
    ):
        model.solve(model.moments_)


def test_rpca_grows_as_a_stream_does(halves):
    X, _ = halves
    grown, streamed = rpca(chunk_size=500), rpca(chunk_size=500).fit_chunks([X])
    for part in np.split(X, [500, 503, 1400]):
        grown.partial_fit(part)
    assert grown.n_samples_ == len(X)
    assert_allclose(grown.explained_variance_, streamed.explained_variance_, rtol=1e-9)
    assert_allclose(grown.transform(X), streamed.transform(X), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_go_into_memory_of_the_caller(halves, tmp_path, dtype):
    X, Y = halves
    model = rcca(m=20, chunk_size=500).fit(X, Y)
    shape = len(X), 10
    mapped = np.lib.format.open_memmap(tmp_path / "u.npy", "w+", dtype, shape)
    u, v = mapped, np.full(shape, np.nan, dtype)
    assert model.transform(X, out=u) is u
    assert_array_equal(np.load(tmp_path / "u.npy"), model.transform(X).astype(dtype))
    both = model.set_output(transform="pandas").transform(X, Y, out=(u, v))
    assert both[0] is u
    assert both[1] is v
    assert_array_equal(v, model.transform(None, Y).to_numpy().astype(dtype))
    assert model.transform(None, Y, out=u) is u
    assert_array_equal(u, v)
    of_rpca = rpca(m=20, n_components=10, chunk_size=500).fit(X)
    assert of_rpca.transform(X, out=u) is u
    assert_array_equal(u, of_rpca.transform(X).astype(dtype))


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        ((1797, 9), float, r"out for X has shape \(1797, 9\).* shape \(1797, 10\)"),
        ((1, 10), float, r"shape \(1, 10\)"),
        ((1797, 10), int, "dtype int64: .*float32 or float64"),
    ],
)
def test_memory_that_cannot_hold_the_results_is_refused(halves, shape, kind, words):
    X, Y = halves
    model = rcca(m=20).fit(X, Y)
    for out in (np.zeros(shape, kind), (np.zeros(shape, kind), np.zeros((1797, 10)))):
        with pytest.raises(ValueError, match=words):
            model.transform(X, *([Y] if isinstance(out, tuple) else []), out=out)
    with pytest.raises(ValueError, match="a pair"):
        model.transform(X, Y, out=np.zeros((1797, 10)))


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("patience", [0, 1000])
@pytest.mark.parametrize("by", ["fit", "fit_chunks"])
def test_a_long_pass_shows_on_a_terminal(halves, capsys, monkeypatch, by, patience, is_terminal):
    monkeypatch.setattr("rnca._core.streaming._PATIENCE", patience)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    model = rcca(m=20, chunk_size=300)
    model.fit(*halves) if by == "fit" else model.fit_chunks([halves])
    shown = capsys.readouterr().err
    assert ("RCCA: rows" in shown) == (is_terminal and patience == 0)
    assert shown.count("\n") == (is_terminal and patience == 0)  # one line


def test_progress_is_shown_on_request(halves, capsys):
    rcca(m=20).fit(*halves)
    assert capsys.readouterr() == ("", "")
    rcca(m=20, verbose=True).fit(*halves)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "rows" in shown.err


def assert_falls_as_one_over_root_m(found, exact, sizes, draws):
    """Errors of ``found(m, seed)``, root mean squares over draws; return the last."""
    errors = [
        np.sqrt(np.mean([(found(m, 100 * m + seed) - exact) ** 2 for seed in range(draws)]))
        for m in sizes
    ]
    assert oracles.log_slope(sizes, errors) == pytest.approx(-0.5, abs=0.15)
    return errors[-1]


def test_error_to_exact_kernel_cca_falls_as_one_over_root_m(halves):
    X, Y = (half[:200] for half in halves)
    widths = median_gamma(X, random_state=0), median_gamma(Y, random_state=0)
    exact = kernel_cca(X, Y, 10, gamma=widths, reg=(15.0, 15.0)).correlations

    def found(m, seed):
        reg = 15.0 * m / (2 * (len(X) - 1))
        return rcca(m=m, gamma=widths, reg=reg, random_state=seed).fit(X, Y).correlations_

    assert assert_falls_as_one_over_root_m(found, exact, (100, 200, 400, 800), 12) < 0.01


@pytest.mark.parametrize("kind", oracles.FEATURES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-7)])
def test_variances_and_components_are_the_oracles(halves, kind, dtype, tolerance):
    # No inverse is taken, so that float32 costs one rounding of the features, whatever the map.
    X, _ = halves
    # By its name it would be whitened.
    own = NystroemFeatures(80, random_state=0) if kind == "nystroem" else kind
    model = rpca(own, dtype).fit(X)
    z = oracles.FEATURES[kind](model.map_, X)
    values, vectors = oracles.pca(z, 8)
    assert relative_error(model.explained_variance_, values) < tolerance
    total = np.trace(np.cov(z.T))
    assert_allclose(model.explained_variance_ratio_, values / total, atol=tolerance)
    components = (z - z.mean(axis=0)) @ vectors
    found = oracles.align(model.transform(X), components)
    assert_allclose(found, components, atol=1e4 * tolerance * np.abs(components).max())
    assert_allclose(model.components_ @ model.components_.T, np.eye(8), atol=1e-12)
    assert (model.components_[range(8), np.abs(model.components_).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-7)])
def test_chunks_shards_and_streams_do_not_matter_to_rpca(halves, dtype, tolerance):
    X, _ = halves
    expected = rpca(dtype=dtype).fit(X).explained_variance_
    chunked = rpca(dtype=dtype, chunk_size=77).fit(X)
    assert relative_error(chunked.explained_variance_, expected) < tolerance
    first, *rest = [
        chunked.accumulate(X, start, stop) for start, stop in shard_bounds(len(X), 4, 77)
    ]
    for moments in rest:
        first.merge(moments)
    assert relative_error(chunked.solve(first).explained_variance_, expected) < tolerance
    streamed = rpca(dtype=dtype, chunk_size=2000).fit_chunks(np.split(X, [5, 1000]))
    assert relative_error(streamed.explained_variance_, expected) < tolerance


def test_constant_data_have_no_variance():
    model = rpca(gamma=1.0, m=10).fit(np.ones((20, 3)))
    # Subtracting the mean, rounded to float32, leaves up to 2^-25 of a feature. Rounding in float64
    # leaves 2e-30 of the sum of squares of ten features, 9e-15. Ratios are relative to 5e-29.
    assert_allclose(model.explained_variance_, 0, atol=1e-29)
    assert_allclose(model.explained_variance_ratio_, 0, atol=0.2)


def test_error_to_exact_kernel_pca_falls_as_one_over_root_m(halves):
    X = halves[0][:300]
    gamma = median_gamma(X, random_state=0)
    exact = kernel_pca(X, 8, gamma=gamma).eigenvalues

    def found(m, seed):
        fit = rpca(m=m, gamma=gamma, random_state=seed).fit(X)
        return 2 * (len(X) - 1) / m * fit.explained_variance_

    last = assert_falls_as_one_over_root_m(found, exact, (64, 128, 256, 512), 40)
    assert last < 0.05 * exact[0]


def test_whitened_landmarks_approach_exact_kernel_pca(halves):
    X = halves[0][:300]
    gamma = median_gamma(X, random_state=0)
    exact = kernel_pca(X, 8, gamma=gamma)
    fits = [rpca(NystroemFeatures(m, gamma=gamma, whiten=True)).fit(X) for m in (30, 75, 150, 300)]
    errors = [
        relative_error((len(X) - 1) * model.explained_variance_, exact.eigenvalues)
        for model in fits
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[3] < 1e-8  # every row a landmark: exact but for the jitter of 1e-10
    assert_allclose(oracles.align(fits[3].transform(X), exact.scores), exact.scores, atol=1e-6)


@pytest.mark.parametrize("gamma", [1.0, 1e-2])
def test_rcca_on_whitened_features_of_all_landmarks_is_kernel_cca(halves, gamma):
    X, Y = (half[:300] for half in halves)
    n = len(X)
    model = RCCA(10, feature_map="whitened", n_features=n, reg=gamma / (n - 1), random_state=0)
    model.fit(X, Y)
    widths = model.map_x_.gamma_, model.map_y_.gamma_
    exact = kernel_cca(X, Y, 10, gamma=widths, reg=gamma)
    # The jitter of 1e-10 changes eigenvalues of the kernel matrices by up to this beside γ.
    assert_allclose(model.correlations_, exact.correlations, atol=10 * 1e-10 / gamma)
    variables = oracles.align(model.transform(X), exact.x_variables)
    assert_allclose(variables, exact.x_variables, atol=1e-4)


def test_whitened_features_have_the_landmarks_of_nystroem_ones_and_float64(halves):
    plain, model = (
        RCCA(3, feature_map=kind, n_features=40, reg=1e-3, random_state=0).fit(*halves)
        for kind in ("nystroem", "whitened")
    )
    (half,) = model.path([20])
    for view in "xy":
        fitted, shorter = (vars(own)[f"map_{view}_"] for own in (model, half))
        assert_array_equal(fitted.landmarks_, vars(plain)[f"map_{view}_"].landmarks_)
        assert fitted.feature_dtype == shorter.feature_dtype == np.float64
    assert_allclose(clone(half).fit(*halves).correlations_, half.correlations_, atol=1e-9)


def test_a_plot_finds_the_column_that_a_loading_does_not():
    pytest.importorskip("matplotlib").use("Agg")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 5))
    Y = np.column_stack([X[:, 3] ** 2, rng.normal(size=(2000, 2))])
    model = RCCA(1, n_features=100, reg=1e-3, random_state=0).fit(X, Y)
    assert np.abs(model.loadings(X, Y)[0][3]) < 0.2
    axes = model.plot_columns(X, columns=2)
    assert len(axes) == 2
    assert axes[0].get_xlabel() == "column 3"
    shares = [int(re.search(r"\d+", ax.get_title())[0]) for ax in axes]
    assert shares[0] > 90
    assert shares[1] < 5
    # The curve is the parabola, up to sign and scale.
    centres, means = axes[0].lines[1].get_data()
    assert abs(np.corrcoef(centres**2, means)[0, 1]) > 0.99
    frame = pd.DataFrame(Y, columns=["square", "a", "b"])
    assert model.plot_columns(None, frame, columns=1)[0].get_xlabel() == "square"
    for given in ((X, Y), (None, None)):
        with pytest.raises(ValueError, match="draws one view"):
            model.plot_columns(*given)
    with pytest.raises(ValueError, match="y has 2 features, but the map was fitted to 3"):
        model.plot_columns(None, Y[:, :2])
    for component in (1, -1):
        with pytest.raises(ValueError, match=f"component={component}: .* components 0 to 0"):
            model.plot_columns(X, component=component)


def test_plots_say_what_to_install(halves, monkeypatch):
    (X, Y), new = ([half[rows] for half in halves] for rows in (slice(300), slice(300, 400)))
    search = RCCACV(1, sizes=(20,), regs=(1e-2,), random_state=0).fit(X, Y)
    result = search.permutation_test(*new, n_permutations=9, random_state=0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (lambda: search.plot_columns(X), search.plot, result.plot):
        with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
            draw()


@pytest.mark.parametrize("estimator", [RCCA, RCCACV])
def test_frames_whose_rows_stand_in_different_orders_are_noticed(halves, estimator):
    settings = {"n_features": 20} if estimator is RCCA else {"sizes": (20,)}
    model = estimator(1, random_state=0, **settings)
    keys = [f"person {i}" for i in range(400)]
    X, Y = (pd.DataFrame(half[:400], index=keys) for half in halves)
    with pytest.warns(UserWarning, match="paired by position.*loc"):
        model.fit(X, Y[::-1])
    quiet = [(X, Y), (X, Y[::-1].reset_index(drop=True)), (X, Y[::-1].to_numpy())]
    repeated = [frame.set_axis([0, 1] * 200) for frame in (X, Y)]
    for given in (*quiet, (repeated[0], repeated[1][::-1]), (X.to_numpy().tolist(), Y)):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*different orders")
            model.fit(*given)


@pytest.mark.parametrize("column", ["constant", "binary", "normal", "own"])
def test_binned_means_explain_what_analysis_of_variance_does(column):
    rng = np.random.default_rng(0)
    z = rng.normal(size=1000)
    x = {"constant": np.ones(1000), "binary": z > 1, "normal": rng.normal(size=1000), "own": z}
    found = binned_means(x[column].astype(float), z)
    bins = {"constant": 1, "binary": 2}.get(column, 20)
    assert len(found.means) == len(found.centres) == bins
    order = np.argsort(x[column], kind="stable")
    groups = (
        [z[x[column] == value] for value in (0, 1)] if bins == 2 else np.array_split(z[order], bins)
    )
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (1000 - bins)
    assert found.share == pytest.approx(1 - within / z.var(ddof=1), abs=0.002)
    assert abs(found.share) < 0.02 if column in ("constant", "normal") else found.share > 0.3
    assert binned_means(z, np.zeros(1000)).share == 0


def images(name):
    path = Path(os.environ["RNCA_MIRROR"]) / "mnist" / f"{name}-images-idx3-ubyte.gz"
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)


@pytest.fixture(scope="module")
def split():
    """Left and right halves of 54,000 random digits to fit and 10,000 others to test."""
    digits = np.concatenate([images("train"), images("t10k")])
    assert digits.shape == (70_000, 28, 28)
    order = np.random.default_rng(0).permutation(len(digits))[:64_000]
    left = digits[:, :, :14].reshape(len(digits), -1)[order]
    right = digits[:, :, 14:].reshape(len(digits), -1)[order]
    return (left[:54_000], right[:54_000]), (left[54_000:], right[54_000:])


@pytest.mark.skipif(
    "RNCA_MIRROR" not in os.environ,
    reason="RNCA_MIRROR names no directory with mnist/train-images-idx3-ubyte.gz",
)
# Within 0.3: other draws of the maps and of the split move a sum by much less, a wrong width,
# covariance or score by more.
@pytest.mark.parametrize(("kind", "expected"), [("fourier", 36.6), ("nystroem", 42.2)])
def test_sum_of_50_test_correlations(split, kind, expected):
    train, test = split
    model = RCCA(50, feature_map=kind, n_features=1000, random_state=0).fit(*train)
    assert model.score(*test) == pytest.approx(expected, abs=0.3)
    assert model.correlations_.sum() > model.score(*test)
