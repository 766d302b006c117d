"""Reading rows: grids, shards, streams, and tables larger than memory."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rnca import RCCA, RPCA
from rnca._core.rows import View, grid, rechunk, shard_bounds


class SlicesOnly:
    """The least a table can offer: a shape, and slices of rows."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self.array[rows]


def test_shards_are_whole_chunks_of_the_global_grid():
    n, size = 1000, 64
    whole = list(grid(0, n, size))
    for shards in (1, 2, 3, 7, 16):
        bounds = shard_bounds(n, shards, size)
        assert len(bounds) == shards
        assert [chunk for start, stop in bounds for chunk in grid(start, stop, size)] == whole


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
    assert_array_equal(given[0], expected[0])
    assert_array_equal(given[1], expected[1])


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
