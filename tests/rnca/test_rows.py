"""One pass over the rows: grids, shards, streams, tables larger than memory, and their moments."""

import tracemalloc
import weakref
from collections import Counter

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from rnca import RCCA, RPCA, FeatureRidge, Moments, NystroemFeatures
from rnca.rows import View, rechunk, shard_bounds


class SlicesOnly:
    """The least a table can offer: a shape, and slices of rows, whose reads it counts."""

    def __init__(self, array):
        self.array, self.shape, self.reads = array, array.shape, 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.reads += 1
        return self.array[rows]


@pytest.mark.parametrize("shards", [0, 17, -1])
def test_more_shards_than_chunks_are_refused(shards):
    with pytest.raises(ValueError, match=f"shards={shards}: .* between 1 and 16"):
        shard_bounds(1000, shards, 64)


def test_take_reads_named_rows_in_order():
    X = np.arange(20.0).reshape(10, 2)
    index = np.array([7, 2, 7, 0])
    assert_array_equal(View(X).take(index), X[index])
    assert_array_equal(View(SlicesOnly(X)).take(index), X[index])


def test_rechunk_survives_a_producer_that_reuses_its_buffer():
    X = np.arange(40.0).reshape(20, 2)

    def stream():
        buffer = np.empty((4, 2))
        for start in range(0, 20, 4):
            buffer[:] = X[start : start + 4]
            yield (buffer,)

    for size in (3, 4, 7, 100):
        pieces = [piece.data.copy() for (piece,) in rechunk(stream(), size, "X")]
        assert [len(piece) for piece in pieces[:-1]] == [size] * (len(pieces) - 1)
        assert_array_equal(np.concatenate(pieces), X)


@pytest.mark.parametrize("kind", ["fourier", "nystroem", "linear"])
def test_anything_sliceable_by_rows_will_do(halves, kind):
    X, Y = halves
    model = RCCA(3, feature_map=kind, n_features=20, random_state=0)
    expected = model.fit(X, Y).transform(X, Y)
    given = model.fit(SlicesOnly(X), SlicesOnly(Y)).transform(SlicesOnly(X), SlicesOnly(Y))
    assert_array_equal(given, expected)


def test_a_table_on_disk_is_read_by_slices():
    table = SlicesOnly(np.random.default_rng(0).normal(size=(50_000, 2)))
    NystroemFeatures(100, random_state=0).fit_view(View(table))
    # The mean and both rows of the pairs take about 4,000 rows each, mostly 64 or fewer apart: 13
    # slices of 4,096 rows and some 30 gaps. The 100 landmarks are read one by one at most.
    assert table.reads <= 3 * (13 + 50) + 100


class Computed:
    """How often each block of a dask array is computed, and how many of its rows are in memory."""

    def __init__(self, array, chunks):
        self.times, self.rows, self.most = Counter(), 0, 0
        dask = pytest.importorskip("dask.array")
        blocks = dask.from_array(array, chunks=chunks)
        self.array = blocks.map_blocks(self._block, dtype=array.dtype, meta=array[:0])

    def _block(self, block, block_info):
        computed = block.copy()
        self.times[block_info[0]["chunk-location"]] += 1
        self.rows += len(computed)
        self.most = max(self.most, self.rows)
        weakref.finalize(computed, self._dropped, len(computed))
        return computed

    def _dropped(self, rows):
        self.rows -= rows


# Blocks as long as a chunk of the library, shorter, longer, and cut by columns as well.
CUTS = [(64, -1), (7, -1), (1000, -1), (150, 2), (-1, 1)]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_pass_computes_each_dask_block_once_and_keeps_two(cut):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    data = Computed(X, cut)
    view = View(data.array)
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        rows = [view.read(start, min(start + 64, 3000)).copy() for start in range(0, 3000, 64)]
    assert_array_equal(np.concatenate(rows), X)
    assert set(data.times.values()) == {1}
    columns, block = len(data.array.chunks[1]), max(data.array.chunks[0])
    assert data.most <= columns * (block if block == 3000 else max(2 * block, 64 + 2 * block))
    assert_array_equal(view.read(100, 200), X[100:200])  # going back
    index = np.array([2999, 5, 5, 700])
    assert_array_equal(view.take(index), X[index])


def test_estimators_read_dask_and_xarray_arrays_by_blocks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 3)), rng.normal(size=20_000)
    model = RCCA(2, n_features=10, dtype="float64", random_state=0)
    ridge = FeatureRidge(n_features=10, random_state=0)
    expected = model.fit(X, X**2).transform(X), model.score(X, X**2), ridge.fit(X, y).predict(X)
    data = Computed(X, (1000, 2))
    blocks = data.array
    # Stands in for one of xarray, which the tests do not install.
    labelled = {"shape": X.shape, "chunks": blocks.chunks, "data": blocks, "columns": [0, 1, 2]}
    array_of_xarray = type("DataArray", (), {"__module__": "xarray.core", **labelled})()
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        for given in (blocks, array_of_xarray):
            assert_allclose(model.fit(given, blocks**2).transform(given), expected[0], rtol=1e-9)
            assert_allclose(model.score(given, blocks**2), expected[1], rtol=1e-9)
            assert_allclose(ridge.fit(given, y).predict(given), expected[2], rtol=1e-9)
        targets = pytest.importorskip("dask.array").from_array(y, chunks=3000)
        assert_allclose(ridge.fit(X, targets).predict(X), expected[2], rtol=1e-9)
    # Two views, of each two blocks and what joins them, all cut in two by columns.
    assert data.most <= 2 * 2 * 3 * 1000 < len(X)
    # A fit reads a view three times: pilot rows, pairs for the width, the pass.
    fit, transform, score, fit_ridge, predict = 3 + 3, 1, 1 + 1, 3, 1
    assert set(data.times.values()) == {2 * (fit + transform + score + fit_ridge + predict)}


def test_dask_blocks_may_be_sparse_or_empty_but_not_masked_or_of_unknown_length():
    dask = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(300, 3))
    blocks = dask.from_array(X, chunks=(100, 3))
    sparse = View(blocks.map_blocks(scipy.sparse.csr_matrix))
    assert_array_equal(sparse.read(50, 250), X[50:250])
    gaps = View(dask.concatenate([blocks[:0], blocks, blocks[:0], blocks[:1]]))
    assert_array_equal(gaps.read(0, 301), np.r_[X, X[:1]])
    masked = View(dask.ma.masked_equal(blocks, X[250, 1]))
    for read in (lambda: masked.read(200, 300), lambda: masked.take(np.array([3, 250]))):
        with pytest.raises(ValueError, match="X has a masked entry in row 250"):
            read()
    with pytest.raises(ValueError, match=r"unknown number of rows.* compute_chunk_sizes\(\)"):
        View(blocks[blocks[:, 0] > 0])


@pytest.mark.parametrize(("estimator", "views_read"), [(RCCA, 2), (RPCA, 1)])
def test_bad_settings_are_refused_before_the_pass(halves, estimator, views_read):
    tables = [SlicesOnly(np.tile(half, (7, 1))) for half in halves][:views_read]
    if estimator is RCCA:
        with pytest.raises(ValueError, match=r"reg=-1.0: the regulariser must be"):
            RCCA(2, n_features=20, reg=-1.0).fit(*tables)
        assert tables[0].reads == tables[1].reads == 0
    with pytest.raises(ValueError, match=r"n_components=21: with 20 .*at most 20"):
        estimator(21, n_features=20).fit(*tables)
    drawing = tables[0].reads
    estimator(2, n_features=20, chunk_size=100).fit(*tables)
    assert tables[0].reads > drawing + 120


def test_a_memory_map_is_never_read_whole(tmp_path):
    # 300,000 x 50: 15 MB of bytes, 120 MB once they are float64, 240 MB as Fourier features.
    n, d, m, chunk = 300_000, 50, 100, 1024
    X = np.memmap(tmp_path / "x", np.uint8, "w+", shape=(n, d))
    X[: n // 100] = np.random.default_rng(0).integers(256, size=(n // 100, d))
    X.flush()
    tracemalloc.start()
    model = RCCA(2, n_features=m, chunk_size=chunk, random_state=0)
    model.fit(X, X[:, ::-1]).score(X, X[:, ::-1])
    RPCA(2, n_features=m, chunk_size=chunk, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Median widths take 20,000 rows (16 MB with their difference); chunks and m² are far less.
    assert peak < 30e6


def resident_file_bytes():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("RssFile")]
    return 1024 * int(line.split()[1])


def test_pages_of_a_memory_map_are_released(tmp_path):
    try:
        resident_file_bytes()
    except (OSError, ValueError):
        pytest.skip("no /proc/self/status with RssFile here")
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(200_000, 40)).astype(np.float32))
    table = np.load(path, mmap_mode="r")  # 32 MB
    model = RCCA(2, n_features=10, reg=1e-3, random_state=0)
    model.fit(table[:4096, :20], table[:4096, 20:])
    before = resident_file_bytes()
    model.fit(table[:, :20], table[:, 20:]).score(table[:, :20], table[:, 20:])
    assert resident_file_bytes() - before < 4e6


@pytest.fixture
def z():
    rng = np.random.default_rng(0)
    zx = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 3
    return zx, zx[:, :3] ** 2 + rng.normal(size=(500, 3))


def joint(moments):
    cross = moments.covariance(0, 1)
    return np.block([[moments.covariance(0, 0), cross], [cross.T, moments.covariance(1, 1)]])


def assert_same(moments, zx, zy, rtol=1e-12):
    expected = np.cov(np.hstack([zx, zy]).astype(float).T)
    assert moments.n == len(zx)
    assert_allclose(joint(moments), expected, atol=rtol * np.abs(expected).max())
    assert_allclose(moments.mean(0), zx.mean(axis=0), rtol=rtol)
    assert_allclose(moments.mean(1), zy.mean(axis=0), rtol=rtol)


FORMS = {
    "plain": lambda zx, zy: (zx, zy),
    # About the origin the sums would leave 1e-16 * (1e8)^2 = 1 of the covariance.
    "large mean": lambda zx, zy: (zx + 1e8, zy - 1e8),
    "halves far apart": lambda zx, zy: (np.r_[zx[:250], zx[250:] + 1e6], zy),
    "not contiguous": lambda zx, zy: (np.repeat(zx, 2, axis=1)[:, ::2], np.asfortranarray(zy)),
    "long doubles": lambda zx, zy: (zx.astype(np.longdouble), np.asfortranarray(zy, np.longdouble)),
}


@pytest.mark.parametrize("cuts", [(), (250,), (1, 2, 3), (499,), tuple(range(7, 500, 7)), (0, 500)])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_any_chunks_and_shards_give_the_covariance(z, form, cuts):
    given = form(*z)
    before = [view.copy() for view in given]
    updated, merged = Moments(4, 3), Moments(4, 3)
    for zx, zy in zip(*(np.split(view, cuts) for view in given), strict=True):
        updated.update(zx, zy)
        merged.merge(Moments(4, 3).update(zx, zy))
    for moments in (updated, merged):
        assert_same(moments, *given, rtol=1e-11)
    for view, kept in zip(given, before, strict=True):
        assert_array_equal(view, kept)


@pytest.mark.parametrize("targets", [False, True])
def test_any_number_of_views(z, targets):
    views = [z[0], z[1], z[0][:, :2] ** 3]
    moments = Moments(4, 3, 2, targets=targets)
    for rows in (slice(0, 100), slice(100, 500)):
        moments.merge(Moments(4, 3, 2, targets=targets).update(*(view[rows] for view in views)))
    expected, edges = np.cov(np.hstack(views).T), [0, 4, 7, 9]
    pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    assert list(moments.products) == pairs[: 5 if targets else 6]
    for i, j in moments.products:
        block = expected[edges[i] : edges[i + 1], edges[j] : edges[j + 1]]
        assert_allclose(moments.covariance(i, j), block, rtol=1e-10, atol=1e-10)


def test_two_rows_suffice(z):
    rows = z[0][:2]
    moments = Moments(4).update(rows)
    assert_allclose(moments.covariance(0, 0), np.cov(rows.T), atol=1e-12)
    assert_allclose(moments.mean(0), rows.mean(axis=0), atol=1e-12)


def test_a_view_given_twice_is_two_views(z):
    moments = Moments(4, 4)
    moments.add_centred(z[0], z[0])
    assert_allclose(moments.covariance(0, 1), np.cov(z[0].T), rtol=1e-10)


def test_float32_features_are_accumulated_in_float64():
    # Each product is exact in float64; summed in float32, the small ones would vanish.
    z = np.float32(1e4) + np.arange(20_000, dtype=np.float32)[:, None] % 3
    moments = Moments(1)
    for rows in np.array_split(z, 9):
        moments.update(rows)
    assert_allclose(moments.covariance(0, 0), np.cov(z.T.astype(float)), rtol=1e-12)


def test_covariances_larger_than_a_block_and_their_leading_blocks():
    z = np.random.default_rng(0).normal(size=(50, 1400))
    moments = Moments(1100, 300).update(z[:, :1100], z[:, 1100:])
    moments.products[0, 0][np.triu_indices(1100, 1)] = np.nan  # which no one may read
    expected = np.cov(z.T)
    for m in (1100, 600, 2):
        for views, columns in (((0, 0), slice(m)), ((0, 1), slice(1100, None))):
            found = moments.covariance(*views, m)
            assert_allclose(found, expected[:m, columns], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda zx, zy: Moments(0, 2),
            r"^sizes=\(0, 2\): each view's number of features",
        ),
        (
            lambda zx, zy: Moments(-1, 2),
            r"^sizes=\(-1, 2\): each view's number of features",
        ),
        (
            lambda zx, zy: Moments(2, 0),
            r"^sizes=\(2, 0\): each view's number of features",
        ),
        (lambda zx, zy: Moments(4, targets=True), "targets are a view besides others"),
        (lambda zx, zy: Moments(4).covariance(0, 0), "moments of 0 rows: at least 2 rows"),
        (lambda zx, zy: Moments(4).update(zx[:1]).mean(0), "moments of 1 rows: at least 2 rows"),
        (lambda zx, zy: Moments(4, 3).update(zx), "2 view.s., updated with 1"),
        (lambda zx, zy: Moments(4).update(zx, zy), "1 view.s., updated with 2"),
        (
            lambda zx, zy: Moments(4, 3).update(zx[:, :3], zy),
            r"view 0 has shape \(500, 3\)",
        ),
        (
            lambda zx, zy: Moments(4, 3).update(zx, zy[:400]),
            r"view 1 has shape \(400, 3\)",
        ),
        (lambda zx, zy: Moments(4, 3).update(zx[0], zy), r"view 0 has shape \(4,\)"),
        (lambda zx, zy: Moments(4, 3).merge(Moments(4, 2)), r"sizes: \(4, 2\) into \(4, 3\)"),
        (lambda zx, zy: Moments(4, 3).merge(Moments(4)), r"sizes: \(4,\) into \(4, 3\)"),
        (
            lambda zx, zy: Moments(4, features="abc").merge(Moments(4, features="xyz")),
            "other features: xyz into abc",
        ),
        (
            lambda zx, zy: Moments(4, 3, targets=True).merge(Moments(4, 3)),
            "other targets: False into True",
        ),
        (
            lambda zx, zy: Moments(4, 3, targets=True).update(zx, zy).covariance(1, 1),
            r"no products of views \(1, 1\), only \[\(0, 0\), \(0, 1\)\]",
        ),
    ],
)
def test_what_cannot_be_is_refused(z, call, message):
    with pytest.raises(ValueError, match=message):
        call(*z)
