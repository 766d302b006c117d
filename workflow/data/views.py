"""Rows of a memory map, read when asked for: selected, and standardised if wanted."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class RowView:
    """Selected rows of a two-dimensional array, of which only those asked for are loaded.

    They are shown in the order of `rows` (all by default) as (row − offset)/scale, in the array's
    type if that is floating, else in float64; computed in float64 in either case.
    """

    array: NDArray[Any]
    rows: NDArray[np.int64] | None = None
    offset: NDArray[np.float64] | float = 0.0
    scale: NDArray[np.float64] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows shown, and columns."""
        return len(self), self.array.shape[1]

    def __len__(self) -> int:
        return len(self.array if self.rows is None else self.rows)

    def __getitem__(self, key: slice | ArrayLike) -> NDArray[Any]:
        index = key if isinstance(key, slice) else np.asarray(key)
        block = self.array[index if self.rows is None else self.rows[index]]
        if self.rows is not None:
            release(self.array)
        if self.scale is None:
            return np.asarray(block)
        dtype = self.array.dtype if self.array.dtype.kind == "f" else np.float64
        shown = (block.astype(np.float64) - self.offset) / self.scale
        return shown.astype(dtype, copy=False)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)


def release(array: NDArray[Any]) -> None:
    """Let go of the pages that reading a memory map has brought in; the file stays cached.

    They would count as this process's memory, and a cluster would kill a job over them.
    """
    if isinstance(array, np.memmap) and array.mode == "r":
        pages: Any = array
        pages._mmap.madvise(mmap.MADV_DONTNEED)


def standardised(
    array: NDArray[Any],
    rows: NDArray[np.int64] | None = None,
    *,
    by: NDArray[np.int64] | None = None,
) -> RowView:
    """Show rows with each column's mean taken off and divided by its standard deviation.

    Both are taken of the rows `by` if given: show test rows ``by`` training rows.
    """
    return RowView(array, rows, *column_moments(array, rows if by is None else by))


def column_moments(
    array: NDArray[Any], rows: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each column's mean and standard deviation (1 for a constant column).

    Two passes in float64 over 2048 rows at a time: the deviations are taken from the mean, so
    that data far from the origin keeps its digits.
    """
    view = RowView(array, rows)
    starts = range(0, len(view), _CHUNK)
    mean = np.zeros(view.shape[1])
    for start in starts:
        mean += view[start : start + _CHUNK].sum(axis=0, dtype=np.float64)
    mean /= len(view)
    squares = np.zeros(view.shape[1])
    varies = np.zeros(view.shape[1], dtype=bool)
    first = view[:1]
    for start in starts:
        block = view[start : start + _CHUNK]
        squares += np.square(block - mean).sum(axis=0)
        varies |= (block != first).any(axis=0)
    return mean, np.where(varies, np.sqrt(squares / len(view)), 1.0)
