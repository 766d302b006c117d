"""Reading rows: grids, shards, streams, and tables larger than memory."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rnca import RCCA, RPCA, NystroemFeatures
from rnca._core.rows import View, rechunk, shard_bounds


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


@pytest.mark.parametrize(("estimator", "views_read"), [(RCCA, 2), (RPCA, 1)])
def test_too_many_components_are_refused_before_the_pass(halves, estimator, views_read):
    tables = [SlicesOnly(np.tile(half, (7, 1))) for half in halves][:views_read]
    with pytest.raises(ValueError, match=r"n_components=21: with 20 .*at most 20"):
        estimator(21, n_features=20).fit(*tables)
    drawing = tables[0].reads
    estimator(2, n_features=20, chunk_size=100).fit(*tables)
    assert tables[0].reads > drawing + 120


def test_a_bad_regulariser_is_refused_before_any_row_is_read(halves):
    tables = [SlicesOnly(half) for half in halves]
    with pytest.raises(ValueError, match=r"reg=-1.0: the regulariser must be"):
        RCCA(2, n_features=20, reg=-1.0).fit(*tables)
    assert tables[0].reads == tables[1].reads == 0


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
