"""The pass over the data: features and their second moments, at the speed of matrix products.

Work is cut into tasks (a block of rows to map, a tile of the moments to sum), run by as many
threads as BLAS may use, each calling BLAS on its own. No task waits for another inside a chunk, and
the rows of the next chunk are mapped while the products of this one are summed. The cut does not
depend on the number of threads, and sums are taken in a fixed order: so neither does any bit of
the result.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from rnca._core.moments import Moments, probes
from rnca._core.products import add_gram, add_product
from rnca._core.rows import FloatArray, View, grid
from rnca._core.workers import Task, workers
from rnca.features import FeatureMap

# Tiles as large as still leave work for every thread: smaller ones cost BLAS a tenth of its speed.
_TILE = 1024
_BLOCK = 256

Float64 = npt.NDArray[np.float64]


def add_rows(
    moments: Moments,
    maps: Sequence[FeatureMap],
    views: Sequence[View],
    start: int,
    stop: int,
    *,
    chunk_size: int,
    dtype: np.dtype[Any],
    precision: str = "float64",
    progress: bool = False,
) -> None:
    """Add the features of rows ``start:stop`` to moments.

    Parameters
    ----------
    moments : Moments
    maps : one fitted map per view
    views : one or two views
    start, stop : int
    chunk_size : int
        Rows held at a time, twice.
    dtype : dtype
        Of the features.
    precision : {"float64", "float32"}
        Of the products within a chunk; their sum over chunks is always in float64. With float32
        the error is sketched: see `rnca._core.moments.Moments.error_norm`.
    progress : bool
        Show a bar.
    """
    bounds = list(grid(start, stop, chunk_size))
    if not bounds:
        return
    with workers() as run:
        work = _Pass(moments, maps, dtype)
        work.begin([view.read(start, min(start + _BLOCK, stop)) for view in views])
        sums = _Sums(work, chunk_size, np.dtype(precision))
        pending: list[Future[Any]] = []
        for slot, (low, high) in enumerate(
            tqdm(bounds, "rows", unit="chunk", disable=not progress)
        ):
            rows = [view.read(low, high) for view in views]
            filling = run(sums.filling(rows, slot % 2))
            _finish(pending)
            sums.note([future.result() for future in filling])
            pending = run(sums.summing(high - low, slot % 2))
        _finish(pending)
        sums.end()
    if precision == "float64":  # float32 products that overflow are not certified
        _refuse_overflow(moments)


def exact_times(
    moments: Moments,
    maps: Sequence[FeatureMap],
    views: Sequence[View],
    stop: int,
    vectors: Float64,
    *,
    chunk_size: int,
    dtype: np.dtype[Any],
) -> Float64:
    """Multiply the exact joint second moments of rows ``0:stop`` by vectors, in a pass of its own.

    Parameters
    ----------
    moments : Moments
        Whose shifts the rows are taken about.
    maps, views : one of each per view
    stop : int
    vectors : ndarray of shape (m_x + m_y, q)
        A few: the cost is that of the features and of 8·n·(m_x + m_y)·q operations.
    chunk_size, dtype : as in `add_rows`

    Returns
    -------
    ndarray of shape (m_x + m_y, q)
    """
    with workers() as run:
        work = _Pass(moments, maps, dtype)
        parts = np.split(vectors, np.cumsum(work.sizes)[:-1])
        images = np.zeros_like(vectors)
        for low, high in grid(0, stop, chunk_size):
            rows = [view.read(low, high) for view in views]
            tasks = [partial(work.images, block, parts) for block in _blocks(rows)]
            for future in run(tasks):
                images += future.result()
    return images


def _finish(pending: list[Future[Any]]) -> None:
    for future in pending:
        future.result()


def _blocks(rows: Sequence[FloatArray]) -> list[list[FloatArray]]:
    ends = [*range(0, len(rows[0]), _BLOCK), len(rows[0])]
    return [[part[low:high] for part in rows] for low, high in pairwise(ends)]


def _refuse_overflow(moments: Moments) -> None:
    views = "x" if moments.targets or not moments.two_views else "xy"
    for view in views:
        squares = getattr(moments, view * 2).diagonal()
        if not np.isfinite(squares).all():
            feature = int(np.flatnonzero(~np.isfinite(squares))[0])
            raise ValueError(
                f"the squares of feature {feature} of view {view} add up to {squares[feature]}: "
                "they must stay in the range of float64. Rescale the data, or drop rows far away "
                "from the others."
            )


class _Pass:
    """Features of blocks of rows, about the moments' shifts."""

    def __init__(self, moments: Moments, maps: Sequence[FeatureMap], dtype: np.dtype[Any]) -> None:
        self.moments, self.maps, self.dtype = moments, maps, dtype
        self.sizes = [fitted.n_features_out for fitted in maps]
        self.memory = threading.local()

    def begin(self, head: Sequence[FloatArray]) -> None:
        """Fix the shifts, near the features' mean, on the first rows."""
        self.moments.tenant = None
        if self.moments.n == 0:
            self.moments.shift(
                *(
                    _in_float32(self.features(index, rows).mean(axis=0, dtype=np.float64))
                    for index, rows in enumerate(head)
                )
            )

    def features(self, index: int, rows: FloatArray) -> FloatArray:
        """Features of at most _BLOCK rows of one view, valid until this thread's next call."""
        z: FloatArray = self.scratch(f"z{index}", (_BLOCK, self.sizes[index]), self.dtype)
        z = z[: len(rows)]
        self.maps[index].features(rows, z)
        return z

    def exact(self, index: int, z: FloatArray) -> Float64:
        """Features less the shift, in float64."""
        wide: Float64 = self.scratch(f"wide{index}", (_BLOCK, self.sizes[index]), np.float64)
        np.subtract(z, self.moments.shifts[index], out=wide[: len(z)])
        return wide[: len(z)]

    def images(self, rows: Sequence[FloatArray], vectors: Sequence[Float64]) -> Float64:
        """Multiply the block's exact joint second moments by vectors, given per view."""
        return _images(
            [self.exact(i, self.features(i, part)) for i, part in enumerate(rows)], vectors
        )

    def scratch(self, name: str, shape: tuple[int, int], dtype: Any) -> Any:
        """Return memory of this thread's own, allocated once."""
        if not hasattr(self.memory, name):
            setattr(self.memory, name, np.empty(shape, dtype))
        return getattr(self.memory, name)


def _in_float32(shift: Float64) -> Float64:
    """Round to float32 numbers where there are any, so that both precisions subtract the same."""
    with np.errstate(over="ignore"):
        rounded = shift.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, shift)


def _images(exact: Sequence[Float64], vectors: Sequence[Float64]) -> Float64:
    projected = np.sum([wide @ part for wide, part in zip(exact, vectors, strict=True)], axis=0)
    return np.concatenate([wide.T @ projected for wide in exact])


class _Sums:
    """The sums of a pass: two slots of mapped rows, and the moments they are added to."""

    def __init__(self, work: _Pass, chunk_size: int, precision: np.dtype[Any]) -> None:
        self.work, self.moments = work, work.moments
        self.slots = [[np.empty((chunk_size, m), precision) for m in work.sizes] for _ in range(2)]
        self.sketched = precision == np.float32
        if self.sketched:
            self.tile = max(tile.stop - tile.start for m in work.sizes for tile in _tiles(m))
            self.joint = probes(sum(work.sizes))
            self.probes = np.split(self.joint, np.cumsum(work.sizes)[:-1])
            self.images = np.zeros_like(self.joint)
            self.before = self.moments.times(self.joint)

    def filling(self, rows: Sequence[FloatArray], slot: int) -> list[Task]:
        """Tasks that map the rows of a chunk, block by block, into a slot."""
        return [
            partial(self._fill, block, number * _BLOCK, slot)
            for number, block in enumerate(_blocks(rows))
        ]

    def _fill(self, rows: Sequence[FloatArray], low: int, slot: int) -> "_Noted":
        sums, exact = [], []
        for index, part in enumerate(rows):
            z = self.work.features(index, part)
            target = self.slots[slot][index][low : low + len(part)]
            shift = self.moments.shifts[index].astype(target.dtype, copy=False)
            np.subtract(z, shift, out=target)
            if self.sketched:
                exact.append(self.work.exact(index, z))
            sums.append((exact[index] if self.sketched else target).sum(axis=0, dtype=np.float64))
        return _Noted(len(rows[0]), sums, _images(exact, self.probes) if self.sketched else None)

    def note(self, noted: "Sequence[_Noted]") -> None:
        """Add the blocks' first moments, and images of probes, in the order of rows."""
        for block in noted:
            self.moments.add_sums(block.rows, *block.sums)
            if block.images is not None:
                self.images += block.images

    def summing(self, rows: int, slot: int) -> list[Task]:
        """Tasks that add the products of a slot to the moments, tile by tile."""
        z = [buffer[:rows] for buffer in self.slots[slot]]
        pairs = [(z[0], z[0], self.moments.xx)]
        if len(z) == 2:
            pairs.append((z[0], z[1], self.moments.xy))
            if not self.moments.targets:
                pairs.append((z[1], z[1], self.moments.yy))
        return [
            self._adding(a[:, i], None if a is b and i == j else b[:, j], into[i, j])
            for a, b, into in pairs
            for i in _tiles(a.shape[1])
            for j in _tiles(b.shape[1])
            if a is not b or j.start <= i.start
        ]

    def _adding(self, a: npt.NDArray[Any], b: npt.NDArray[Any] | None, into: Float64) -> Task:
        """Task that adds aᵀb to a tile or, without b, the lower triangle of aᵀa."""
        if self.sketched:
            return partial(self._add_float32, a, a if b is None else b, into)
        return partial(add_gram, a, into) if b is None else partial(add_product, a, b, into)

    def _add_float32(self, a: FloatArray, b: FloatArray, into: Float64) -> None:
        product = self.work.scratch("tile", (self.tile, self.tile), np.float32)
        product = product[: len(into), : into.shape[1]]
        with np.errstate(over="ignore", invalid="ignore"):  # then it is not certified
            np.matmul(a.T, b, out=product)  # numpy sees aᵀa and takes syrk, at half the cost
            into += product

    def end(self) -> None:
        """Sketch the error that float32 products made: (their sum − the exact one) times probes."""
        if self.sketched:
            self.moments.add_error(self.moments.times(self.joint) - self.before - self.images)


@dataclass(frozen=True)
class _Noted:
    """What mapping a block leaves besides the features: rows, their sums, images of probes."""

    rows: int
    sums: list[Float64]
    images: Float64 | None


def _tiles(m: int) -> list[slice]:
    """Cut m columns into at least two nearly equal parts of at most _TILE."""
    count = max(2, -(-m // _TILE))
    ends = [m * i // count for i in range(count + 1)]
    return [slice(low, high) for low, high in pairwise(ends) if low < high]
