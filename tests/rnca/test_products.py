"""Products by BLAS's addresses against numpy's, and what they must refuse to touch."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rnca._core.products import _reference, _routine, add_gram, add_product

SHAPES = [(1, 1, 1), (1, 5, 3), (7, 1, 4), (40, 30, 20), (300, 65, 130), (0, 3, 2)]
LAYOUTS = {
    "rows": lambda z: z,
    "columns": np.asfortranarray,
    "tile": lambda z: np.pad(z, ((0, 0), (3, 2)))[:, 3:-2],
    "every other": lambda z: np.repeat(np.repeat(z, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda z: z[::-1, ::-1].copy()[::-1, ::-1],
    "fields of records": lambda z: _in_records(z),
}


def _in_records(z):
    """Rows that lie apart by no multiple of an entry's size."""
    records = np.zeros(len(z), dtype=[("row", z.dtype, z.shape[1]), ("tag", "i1")])
    records["row"] = z
    return records["row"]


def drawn(seed, shape):
    return np.random.default_rng(seed).normal(size=shape)


def framed(shape):
    """A tile of sevens within a larger matrix of them."""
    frame = np.full((shape[0] + 4, shape[1] + 6), 7.0)
    return frame, frame[2:-2, 3:-3]


def assert_close(found, expected, rows):
    # A random walk of as many roundings, of sums near the number of rows at most.
    eps = np.finfo(np.float64).eps
    np.testing.assert_allclose(found, expected, rtol=0, atol=eps * (7 + rows) ** 1.5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "m", "p"), SHAPES)
def test_product_is_added_to_the_tile_and_nowhere_else(rows, m, p, layout):
    x, y = drawn(0, (rows, m)), drawn(1, (rows, p))
    frame, tile = framed((m, p))
    add_product(LAYOUTS[layout](x), LAYOUTS[layout](y), tile)
    expected, inner = framed((m, p))
    inner += x.T @ y
    assert_close(frame, expected, rows)
    tile[:] = 7
    assert (frame == 7).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "m", "p"), SHAPES)
def test_gram_matrix_is_added_to_the_lower_triangle_and_nowhere_else(rows, m, p, layout):
    z = drawn(0, (rows, m))
    frame, tile = framed((m, m))
    add_gram(LAYOUTS[layout](z), tile)
    expected, inner = framed((m, m))
    inner += np.tril(z.T @ z)
    assert_close(frame, expected, rows)
    tile[np.tril_indices(m)] = 7
    assert (frame == 7).all()


def test_threads_add_side_by_side():
    z = drawn(0, (500, 80))
    sums = [np.zeros((80, 80)) for _ in range(8)]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            list(threads.map(add_gram, [z] * 8, sums))
    assert all(np.array_equal(each, sums[0]) for each in sums)
    assert_close(sums[0], np.tril(5 * z.T @ z), 5 * 500)


def read_only(shape):
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


TARGETS = {
    "other shape": (lambda: np.zeros((4, 4)), r"float64\(4, 4\).*float64\(3, 3\)"),
    "other type": (lambda: np.zeros((3, 3), np.float32), "into is float32"),
    "other bytes": (lambda: np.zeros((3, 3), ">f8"), "into is >f8"),
    "by columns": (lambda: np.zeros((3, 3), order="F"), "contiguous rows"),
    "one row for all": (lambda: np.broadcast_to(np.zeros(3), (3, 3)), "contiguous rows"),
    "read-only": (lambda: read_only((3, 3)), "writeable=False"),
}


@pytest.mark.parametrize("case", TARGETS)
def test_what_blas_would_write_beyond_is_refused(case):
    make, message = TARGETS[case]
    z = drawn(0, (5, 3))
    with pytest.raises(ValueError, match=message):
        add_gram(z, make())
    with pytest.raises(ValueError, match=message):
        add_product(z, z, make())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[:4], "x has 5 rows and y 4"),
        (lambda x: x.astype(np.float32), "y is float32"),
        (lambda x: x.astype(">f8"), "y is >f8"),
        (lambda x: x[:, 0], r"y is float64\(5,\)"),
    ],
)
def test_what_is_no_second_view_is_refused(change, message):
    x = drawn(0, (5, 3))
    with pytest.raises(ValueError, match=message):
        add_product(x, change(x), np.zeros((3, 3)))


def test_sizes_that_blas_cannot_count_are_refused():
    _reference("int", 2**31 - 1)
    with pytest.raises(ValueError, match=r"2147483648 rows or columns.*at most 2147483647"):
        _reference("int", 2**31)


def test_other_threads_run_during_a_product():
    z, into = drawn(0, (4000, 1500)), np.zeros((1500, 1500))
    steps = 0
    with ThreadPoolExecutor(1) as thread:
        product = thread.submit(lambda: [add_gram(z, into) for _ in range(5)])
        while not product.done():
            time.sleep(0.001)
            steps += 1
    # Each product takes far longer than a step: were the lock held, there would be one or so for
    # each, when it is let go in between.
    assert steps > 20


def test_types_that_are_not_known_are_named():
    with pytest.raises(ImportError, match=r"zgemm takes .*complex, of which"):
        _routine("zgemm")
