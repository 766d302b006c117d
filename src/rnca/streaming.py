"""The pass over the data: features and their second moments, at the speed of matrix products.

Work is cut into tasks (a block of rows to map, a tile of the moments to sum), run by as many
threads as BLAS may use, each calling BLAS on its own. No task waits for another inside a chunk, and
the rows of the next chunk are mapped while the products of this one are summed. The cut does not
depend on the number of threads, and sums are taken in a fixed order: so neither does any bit of
the result.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_info, threadpool_limits
from tqdm import tqdm

from rnca.features import FeatureMap
from rnca.moments import Moments, probes
from rnca.rows import FloatArray, View, grid

# Tiles as large as still leave work for every thread: smaller ones cost BLAS a tenth of its speed.
_TILE = 1024
_BLOCK = 256

Task = Callable[[], Any]
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
        the error is sketched: see `rnca.moments.Moments.error_norm`.
    progress : bool
        Show a bar.
    """
    bounds = list(grid(start, stop, chunk_size))
    if not bounds:
        return
    with _workers() as run:
        work = _Pass(moments, maps, chunk_size, dtype, np.dtype(precision))
        work.begin([view.read(start, min(start + _BLOCK, stop)) for view in views])
        pending: list[Future[Any]] = []
        for slot, (low, high) in enumerate(
            tqdm(bounds, "rows", unit="chunk", disable=not progress)
        ):
            rows = [view.read(low, high) for view in views]
            filling = run(work.filling(rows, slot % 2))
            _finish(pending)
            work.note([future.result() for future in filling])
            pending = run(work.summing(high - low, slot % 2))
        _finish(pending)
        work.end()


def _finish(pending: list[Future[Any]]) -> None:
    for future in pending:
        future.result()


@contextmanager
def _workers() -> Iterator[Callable[[list[Task]], list[Future[Any]]]]:
    """As many threads as BLAS may use, with BLAS held to one thread in each."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(max(pools, default=1)) as executor,
    ):
        yield lambda tasks: [executor.submit(task) for task in tasks]


@dataclass
class _Pass:
    """One pass: two slots of mapped rows, and the moments they are summed into."""

    moments: Moments
    maps: Sequence[FeatureMap]
    chunk_size: int
    dtype: np.dtype[Any]
    precision: np.dtype[Any]
    scratch: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        self.sizes = [fitted.n_features_out for fitted in self.maps]
        self.slots = [
            [np.empty((self.chunk_size, m), self.precision) for m in self.sizes] for _ in range(2)
        ]
        self.sketched = self.precision == np.float32
        if self.sketched:
            self.probes = np.split(probes(sum(self.sizes)), np.cumsum(self.sizes)[:-1])
            self.images = [np.zeros_like(probe) for probe in self.probes]
            self.before = self.moments.times(np.concatenate(self.probes))

    def begin(self, head: Sequence[FloatArray]) -> None:
        """Fix the shifts, near the features' mean, on the first rows."""
        self.moments.tenant = None
        if self.moments.n == 0:
            for view, fitted, rows in zip("xy", self.maps, head, strict=False):
                z = np.empty((len(rows), fitted.n_features_out), self.dtype)
                fitted.features(rows, z)
                # A float32 number, so that both precisions subtract the same.
                mean = z.mean(axis=0, dtype=np.float64).astype(np.float32)
                setattr(self.moments, f"shift_{view}", mean.astype(np.float64))
        self.shifts = [getattr(self.moments, f"shift_{view}") for view in "xy"[: len(self.maps)]]

    def filling(self, rows: Sequence[FloatArray], slot: int) -> list[Task]:
        """Tasks that map the rows of a chunk, block by block, into a slot."""
        ends = [*range(0, len(rows[0]), _BLOCK), len(rows[0])]
        return [
            partial(self._fill, [part[low:high] for part in rows], low, slot)
            for low, high in pairwise(ends)
        ]

    def _fill(self, rows: Sequence[FloatArray], low: int, slot: int) -> "_Noted":
        high = low + len(rows[0])
        sums, exact = [], []
        for index, (fitted, part) in enumerate(zip(self.maps, rows, strict=True)):
            z = self._scratch(f"z{index}", (_BLOCK, self.sizes[index]), self.dtype)[: len(part)]
            fitted.features(part, z)
            target = self.slots[slot][index][low:high]
            np.subtract(z, self.shifts[index].astype(target.dtype, copy=False), out=target)
            sums.append(target.sum(axis=0, dtype=np.float64))
            if self.sketched:
                wide = self._scratch(f"wide{index}", (_BLOCK, self.sizes[index]), np.float64)
                exact.append(np.subtract(z, self.shifts[index], out=wide[: len(part)]))
        if not self.sketched:
            return _Noted(len(rows[0]), sums)
        sums = [wide.sum(axis=0) for wide in exact]
        projected = sum(wide @ probe for wide, probe in zip(exact, self.probes, strict=True))
        return _Noted(len(rows[0]), sums, [wide.T @ projected for wide in exact])

    def _scratch(self, name: str, shape: tuple[int, int], dtype: Any) -> FloatArray:
        """Return memory of this thread's own, allocated once."""
        if not hasattr(self.scratch, name):
            setattr(self.scratch, name, np.empty(shape, dtype))
        kept: FloatArray = getattr(self.scratch, name)
        return kept

    def note(self, noted: "Sequence[_Noted]") -> None:
        """Add the blocks' first moments, and probe images, in the order of rows."""
        for block in noted:
            self.moments.n += block.rows
            for view, total in zip("xy", block.sums, strict=False):
                getattr(self.moments, f"sum_{view}")[:] += total
            for image, part in zip(self.images if self.sketched else (), block.images, strict=True):
                image += part

    def summing(self, rows: int, slot: int) -> list[Task]:
        """Tasks that add the products of a slot to the moments, tile by tile."""
        z = [buffer[:rows] for buffer in self.slots[slot]]
        pairs = [(z[0], z[0], self.moments.xx)]
        if len(z) == 2:
            pairs += [(z[1], z[1], self.moments.yy), (z[0], z[1], self.moments.xy)]
        return [
            partial(self._add_tile, a[:, i], b[:, j], into[i, j])
            for a, b, into in pairs
            for i in _tiles(a.shape[1])
            for j in _tiles(b.shape[1])
            if a is not b or j.start <= i.start
        ]

    def _add_tile(self, a: FloatArray, b: FloatArray, into: Float64) -> None:
        product = self._scratch("tile", (_TILE, _TILE), self.precision)[: len(into)]
        product = product[:, : into.shape[1]]
        np.matmul(a.T, b, out=product)
        into += product

    def end(self) -> None:
        """Sketch the error that float32 products made: (their sum − the exact one) times probes."""
        if self.sketched:
            after = self.moments.times(np.concatenate(self.probes))
            self.moments.add_error(after - self.before - np.concatenate(self.images))


@dataclass(frozen=True)
class _Noted:
    """What mapping a block leaves besides the features: rows, their sums, images of probes."""

    rows: int
    sums: list[Float64]
    images: list[Float64] = field(default_factory=list)


def _tiles(m: int) -> list[slice]:
    """Cut m columns into at least two nearly equal parts of at most _TILE."""
    count = max(2, -(-m // _TILE))
    ends = [m * i // count for i in range(count + 1)]
    return [slice(low, high) for low, high in pairwise(ends) if low < high]
