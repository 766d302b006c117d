"""RCCA against slow oracles, and against itself by every other way to the same answer.

Tolerances on correlations between ways to compute the same fit: float64 features 1e-9 by any
route; float32 features 1e-7 (cosines, linear) and 1e-5 (Nyström, whose covariance is
ill-conditioned), since their rounding depends on the shapes that sgemm is given.
"""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import threadpoolctl
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import Ridge

import oracles
from rnca import RCCA, FourierFeatures, Moments, NystroemFeatures, median_gamma
from rnca._core.correlation import Correlations
from rnca._core.rows import shard_bounds
from rnca._core.whitening import Whitened
from workflow.lib.exact import kernel_cca

KINDS = ["fourier", "fastfood", "nystroem", "linear"]
TOLERANCES = {
    **{(kind, "float32"): 1e-7 for kind in ("fourier", "orthogonal", "fastfood", "qmc")},
    ("linear", "float32"): 1e-7,
    ("nystroem", "float32"): 1e-5,
}


def tolerance(kind, dtype):
    return TOLERANCES.get((kind, dtype), 1e-9)


def rcca(kind="fourier", dtype="float64", m=80, **given):
    return RCCA(
        **{"n_components": 10, "random_state": 0, "n_features": m, **given},
        feature_map=kind,
        dtype=dtype,
    )


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
    # Digits have correlations near 1 at this m.
    model = rcca("fourier", m=450, n_components=50).fit(*halves)
    assert krylov_calls
    _, _, expected = oracle(model, "fourier", *halves)
    assert_allclose(model.correlations_, expected.correlations, rtol=0, atol=1e-9)


def test_canonical_variables_are_the_oracles(halves, kind):
    X, Y = halves
    model = rcca(kind).fit(X, Y)
    zx, zy, expected = oracle(model, kind, X, Y)
    for z, basis, variables in zip(
        (zx, zy), (expected.F, expected.G), model.transform(X, Y), strict=True
    ):
        reference = (z - z.mean(axis=0)) @ basis
        # Variables have unit variance; their error is that of the correlations over their gaps.
        assert_allclose(oracles.align(variables, reference), reference, atol=1e-7)


def test_canonical_variables_are_centred_uncorrelated_and_of_unit_variance(halves, kind):
    X, Y = halves
    model = rcca(kind, reg=1e-12 if kind == "fourier" else 1e-8).fit(X, Y)
    U, V = model.transform(X, Y)
    assert_allclose(U.mean(axis=0), 0, atol=1e-8)
    shrinkage = 2e-2 if kind == "nystroem" else 1e-5  # what reg takes from the variance
    assert_allclose(np.cov(U.T), np.eye(10), atol=shrinkage)
    assert_allclose(np.cov(U.T, V.T)[:10, 10:], np.diag(model.correlations_), atol=1e-9)
    correlations = model.component_correlations(X, Y)
    assert_allclose(correlations, model.correlations_, atol=shrinkage)


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


def test_paired_correlations_are_numpys_whatever_the_scales():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((200, 3))
    x, y = (scale * (shared + rng.standard_normal((200, 3))) + 1 for scale in (1e-3, 50.0))
    expected = [np.corrcoef(x[:, j], y[:, j])[0, 1] for j in range(3)]
    assert_allclose(
        Correlations().update(x[:70], y[:70]).update(x[70:], y[70:]).values(), expected, rtol=1e-12
    )
    x[:, 0], y[:, 2] = 7.0, 7.0
    found = Correlations().update(x[:70], y[:70]).update(x[70:], y[70:]).values()
    assert_allclose(found, [0.0, expected[1], 0.0], rtol=1e-12)


def test_constant_variables_have_correlation_zero(halves):
    X, Y = halves
    model = rcca(m=60).fit(X, Y)
    for i in range(5):
        for n in (2, 3, 7, 1000):
            same = np.repeat(X[i : i + 1], n, axis=0), np.repeat(Y[i : i + 1], n, axis=0)
            assert_array_equal(model.component_correlations(*same), 0)


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
    with pytest.raises(AttributeError, match=r"no attribute 'predict': call fit_predictor"):
        model.predict(X)
    model.fit_predictor(X[:900], Y[:900], reg=0.1)
    U = model.transform(X)
    peer = Ridge(0.1 * 899).fit(U[:900], Y[:900])
    assert_allclose(model.predict(X), peer.predict(U), atol=1e-9)
    expected = peer.score(U[900:], Y[900:])
    assert model.prediction_score(X[900:], Y[900:]) == pytest.approx(expected, abs=1e-9)
    assert model.fit_predictor(X, Y[:, 3]).predict(X).shape == (1797,)


@pytest.mark.parametrize("sizes", [(500, 1297), (400, 3, 900, 494)])
def test_partial_fits_equal_a_stream_of_chunks(halves, kind, sizes):
    edges = np.cumsum([0, *sizes])
    parts = [tuple(v[a:b] for v in halves) for a, b in pairwise(edges)]
    model = rcca(kind, chunk_size=sizes[0])
    for part in parts:
        model.partial_fit(*part)
    expected = rcca(kind, chunk_size=sizes[0]).fit_chunks(parts)
    assert_allclose(model.correlations_, expected.correlations_, rtol=0, atol=1e-9)
    assert model.n_samples_ == 1797
    assert model.score(*halves) == pytest.approx(expected.score(*halves), abs=1e-7)


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
    grown = rcca(m=60).fit(X[:900], Y[:900]).partial_fit(X[900:], Y[900:])
    assert_allclose(grown.correlations_, model.solve(moments).correlations_, rtol=0, atol=1e-9)
    loaded = pickle.loads(pickle.dumps(grown))
    with pytest.raises(ValueError, match="needs the moments of a fit"):
        loaded.partial_fit(X, Y)
    with pytest.raises(AttributeError, match="no attribute 'correlations_'"):
        _ = rcca().correlations_


@pytest.mark.parametrize("form", [csr_array, csc_array])
def test_sparse_rows_equal_dense_ones(halves, kind, form):
    dense = rcca(kind, chunk_size=200).fit(*halves)
    sparse = rcca(kind, chunk_size=200).fit(*map(form, halves))
    assert_array_equal(sparse.correlations_, dense.correlations_)
    assert_array_equal(sparse.transform(form(halves[0])), dense.transform(halves[0]))


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


def test_thread_count_does_not_matter(halves, kind, dtype):
    answers = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads, user_api="blas"):
            answers.append(rcca(kind, dtype, m=300).fit(*halves))
    assert_same_answer(*answers, tolerance(kind, dtype))


@pytest.mark.parametrize("sizes", [[400, 400, 400, 400, 197], [1, 1796], [1797]])
def test_a_stream_of_chunks_equals_arrays(halves, kind, sizes):
    # A stream's maps are drawn from its head: compare with arrays through the same maps.
    X, Y = halves
    cuts = np.cumsum(sizes)[:-1]
    streamed = rcca(kind, chunk_size=500).fit_chunks(
        zip(np.split(X, cuts), np.split(Y, cuts), strict=True)
    )
    arrays = rcca(kind, chunk_size=500).draw(X[:500], Y[:500])
    assert_same_answer(streamed, arrays.solve(arrays.accumulate(X, Y)), 1e-9)
    assert streamed.n_samples_ == 1797


def test_a_stream_read_within_its_head_equals_fit(halves, kind):
    streamed = rcca(kind, chunk_size=2000).fit_chunks(iter([halves]))
    assert_same_answer(streamed, rcca(kind, chunk_size=2000).fit(*halves), 1e-12)


def test_the_head_of_a_stream_holds_the_landmarks_of_a_given_map(halves):
    X, Y = halves
    model = RCCA(3, feature_map=NystroemFeatures(300, random_state=0), n_features=10, chunk_size=50)
    model.fit_chunks([(X[:900], Y[:900]), (X[900:], Y[900:])])
    assert model.map_x_.n_features_out == 300


@pytest.mark.parametrize("kind", ["fourier", "nystroem"])
def test_path_equals_separate_fits(halves, kind, dtype):
    sizes, regs = [80, 12, (50, 30), (30, 80)], [1e-8, (1e-2, 1e-4)]
    model = rcca(kind, dtype).fit(*halves)
    path = model.path(sizes, regs)
    assert len(path) == len(sizes) * len(regs)
    for member, (reg, size) in zip(path, [(r, s) for r in regs for s in sizes], strict=True):
        separate = rcca(kind, dtype, n_features=size, reg=reg).fit(*halves)
        assert_same_answer(member, separate, tolerance(kind, dtype))
        assert member.get_params()["reg"] == reg
        assert member.F_.shape == separate.F_.shape
        for what, value in separate.conditioning_.items():
            assert member.conditioning_[what] == pytest.approx(value, rel=1e-3)
        if dtype == "float64":
            assert_same_bases(member, separate)
            assert_allclose(
                member.score(*halves), separate.score(*halves), atol=tolerance(kind, dtype)
            )


def test_a_path_leads_to_less_regularisation_too(halves):
    (model,) = rcca(reg=1e-2).fit(*halves).path([80], [1e-6])
    assert_same_answer(model, rcca(reg=1e-6).fit(*halves), 1e-9)


def test_path_over_columns_of_linear_features(halves):
    X, Y = halves
    (member,) = rcca("linear").fit(X, Y).path([(20, 25)])
    assert_same_answer(member, rcca("linear").fit(X[:, :20], Y[:, :25]), 1e-9)


def test_path_in_any_order_and_again(halves):
    model = rcca().fit(*halves)
    first = model.path([20, 40], [1e-8, 1.0, 1e-8])
    again = model.path([40, 20], [1.0, 1e-8])
    for one, other in ((first[0], first[4]), (first[0], again[3]), (first[3], again[0])):
        assert_array_equal(one.F_, other.F_)
    assert_array_equal(model.correlations_, rcca().fit(*halves).correlations_)


def test_models_that_share_moments_do_not_disturb_each_other(halves):
    gentle = rcca(reg=1e-8).fit(*halves)
    expected = gentle.path([40])[0]
    rcca(reg=10.0).draw(*halves).solve(gentle.moments_)
    assert_array_equal(gentle.path([40])[0].F_, expected.F_)


def test_moments_can_grow_after_a_solution(halves):
    X, Y = halves
    model = rcca(chunk_size=500).draw(X, Y)
    model.solve(model.accumulate(X, Y, 0, 1000))
    model.moments_.merge(model.accumulate(X, Y, 1000))
    (member,) = model.path([80])
    assert_same_answer(member, rcca().fit(X, Y), 1e-9)
    assert_same_answer(model.solve(model.moments_), member, 1e-12)


def test_a_path_factors_once_for_each_reg(halves, monkeypatch):
    made = []
    monkeypatch.setattr(
        "rnca.cca.Whitened", lambda *given: made.append(given[1:]) or Whitened(*given)
    )
    rcca(reg=1.0).fit(*halves).path([20, 40, (10, 30)], [1.0, 2.0])
    assert made == [(1.0, 1.0), (2.0, 2.0)]


def test_gamma_and_size_differ_between_views(halves):
    model = rcca(n_features=(30, 50), gamma=(1e-3, 2e-3)).fit(*halves)
    assert (model.map_x_.n_features_out, model.map_y_.n_features_out) == (30, 50)
    assert (model.map_x_.gamma_, model.map_y_.gamma_) == (1e-3, 2e-3)
    assert (model.F_.shape, model.G_.shape) == ((30, 10), (50, 10))


def test_maps_differ_between_views_and_between_draws(halves):
    X, _ = halves
    model = rcca().fit(X, X)
    assert model.map_x_.fingerprint() != model.map_y_.fingerprint()
    assert rcca(random_state=1).fit(X, X).map_x_.fingerprint() != model.map_x_.fingerprint()
    mixed = rcca(("linear", FourierFeatures(40, random_state=5))).fit(X, X)
    assert (mixed.F_.shape, mixed.G_.shape) == ((32, 10), (40, 10))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_data_offset_by_1000_standard_deviations(halves, kind, dtype):
    X, Y = halves
    model = rcca(kind, dtype).fit(X, Y)
    far = rcca(kind, dtype).fit(X + 1000 * X.std(), Y - 1000 * Y.std())
    # The shifted data themselves are rounded at 1000 * 2^-53 of a standard deviation; float32
    # features then round as differently as between two chunkings.
    assert_same_answer(model, far, tolerance(kind, dtype))


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


def test_a_factor_larger_than_one_block_is_right(halves):
    # Moments are mirrored in blocks of 512 rows.
    model = rcca("fourier", m=600, n_components=10, reg=1e-3).fit(*halves)
    _, _, expected = oracle(model, "fourier", *halves, 1e-3, 1e-3)
    assert_allclose(model.correlations_, expected.correlations, rtol=0, atol=1e-9)


def test_a_correlation_above_one_is_refused(halves):
    model = rcca().draw(*halves)
    moments = model.accumulate(*halves)
    moments.xy *= 1.2
    with pytest.raises(
        FloatingPointError, match=r"correlation came out as 1\.\d+, above 1.*Raise reg"
    ):
        model.solve(moments)


def test_rounding_above_one_is_let_pass(halves):
    X, _ = halves
    model = rcca(FourierFeatures(80, random_state=0)).fit(X, X)
    assert_allclose(model.correlations_, 1, atol=1e-6)


def test_signs_are_fixed(halves, kind):
    model = rcca(kind).fit(*halves)
    assert (model.F_[np.abs(model.F_).argmax(axis=0), range(10)] > 0).all()
    assert (model.component_correlations(*halves) > 0).all()


def test_fewer_components_are_the_first_ones(halves, kind):
    many, few = rcca(kind).fit(*halves), rcca(kind, n_components=4).fit(*halves)
    assert_allclose(few.correlations_, many.correlations_[:4], atol=1e-12)
    assert_allclose(few.F_, many.F_[:, :4], atol=1e-6 * np.abs(many.F_).max())


def test_one_view_alone_can_be_transformed(halves):
    X, Y = halves
    model = rcca().fit(X, Y)
    both = model.transform(X, Y)
    assert_array_equal(model.transform(X), both[0])
    assert_array_equal(model.transform(None, Y), both[1])


def test_progress_is_shown_on_request(halves, capsys):
    rcca(m=20).fit(*halves)
    assert capsys.readouterr() == ("", "")
    rcca(m=20, verbose=True).fit(*halves)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "rows" in shown.err


def test_error_to_exact_kernel_cca_falls_as_one_over_root_m(halves):
    X, Y = (half[:200] for half in halves)
    n, gamma_k, sizes, k = len(X), 15.0, (100, 200, 400, 800), 10
    widths = median_gamma(X, random_state=0), median_gamma(Y, random_state=0)
    exact = kernel_cca(X, Y, k, gamma=widths, reg=(gamma_k, gamma_k)).correlations
    errors = []
    for m in sizes:
        squares = [
            (
                rcca(
                    m=m,
                    n_components=k,
                    gamma=widths,
                    reg=gamma_k * m / (2 * (n - 1)),
                    random_state=100 * m + seed,
                )
                .fit(X, Y)
                .correlations_
                - exact
            )
            ** 2
            for seed in range(12)
        ]
        errors.append(np.sqrt(np.mean(squares)))
    assert oracles.log_slope(sizes, errors) == pytest.approx(-0.5, abs=0.15)
    assert errors[-1] < 0.01
