"""Rows of a view, read and checked a chunk at a time."""

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds
from scipy.sparse import issparse
from sklearn.utils import check_array

FloatArray = npt.NDArray[np.floating[Any]]
"""An array of float32 or float64."""
Matrix = npt.NDArray[np.float64]

PILOT_ROWS = 4096
"""How many rows, spread evenly over a view, give its pilot mean."""

# Rows of a table on disk that are this close together are read by one slice, of at most this many.
_GAP = 64
_SLICE = 4096


class View:
    """One view of the data: an n × d table read by rows and never copied whole.

    ``data`` are array-like, a sparse matrix, a memory map, or any object with a two-dimensional
    ``shape`` whose slices of rows numpy can read; ``name`` is what error messages call them.
    """

    def __init__(
        self, data: Any, name: str = "X", columns: npt.NDArray[np.object_] | None = None
    ) -> None:
        self.name = name
        self.columns = _column_names(data) if columns is None else columns
        self.data = _table(data, name)
        self.shape: tuple[int, int] = (int(self.data.shape[0]), int(self.data.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, stop: int) -> FloatArray:
        """Rows ``start:stop`` as finite floats (float32 stays, all else becomes float64)."""
        rows = _as_float(self._in_memory(start, stop), self.name)
        self._refuse_non_finite(rows, np.arange(start, stop))
        return rows

    def take(self, index: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """Read the rows named by ``index``, in that order, repeats allowed."""
        unique, inverse = np.unique(index, return_inverse=True)
        if isinstance(self.data, np.ndarray):
            picked = np.empty((len(unique), *self.data.shape[1:]), self.data.dtype)
            for some in np.split(np.arange(len(unique)), range(_GAP, len(unique), _GAP)):
                picked[some] = self.data[unique[some]]
                _release_pages(self.data)
        elif issparse(self.data):
            picked = self.data[unique].toarray()
        else:  # HDF5 and zarr read whole chunks: neighbours share one slice
            gap = max(_GAP, (getattr(self.data, "chunks", None) or (0,))[0])
            apart = (np.diff(unique) > gap) | (np.diff(unique // _SLICE) > 0)
            groups = np.split(unique, np.flatnonzero(apart) + 1)
            picked = np.concatenate(
                [np.asarray(self.data[g[0] : g[-1] + 1])[g - g[0]] for g in groups]
            )
        rows = _as_float(picked, self.name)
        self._refuse_non_finite(rows, unique)
        return rows[inverse]

    def _in_memory(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Read rows; those of a memory map are copied, and their pages released."""
        if issparse(self.data):
            dense: npt.NDArray[Any] = self.data[start:stop].toarray()
            return dense
        rows = np.asarray(self.data[start:stop])
        if _mapped_file(self.data) is not None:
            rows = rows.copy()
            _release_pages(self.data[start:stop])
        return rows

    def pilot_rows(self) -> FloatArray:
        """Rows spread evenly over the view, whose mean is the pilot mean."""
        n = len(self)
        if n <= PILOT_ROWS:
            return self.read(0, n)
        return self.take(np.linspace(0, n - 1, PILOT_ROWS).astype(np.int64))

    def _refuse_non_finite(self, rows: FloatArray, index: npt.NDArray[np.integer[Any]]) -> None:
        if np.isfinite(rows).all():
            return
        row, column = np.argwhere(~np.isfinite(rows))[0]
        value = "NaN" if np.isnan(rows[row, column]) else "infinity"
        raise ValueError(
            f"{self.name} contains {value} at row {index[row]}, column {column}: all entries must "
            "be finite. Drop or impute such rows first."
        )


class ComputedRows:
    """A table whose rows are computed from those of a view when they are read."""

    def __init__(
        self, view: View, compute: Callable[[FloatArray], FloatArray], columns: int
    ) -> None:
        self._view, self._compute = view, compute
        self.shape = (len(view), columns)

    def __getitem__(self, rows: slice) -> FloatArray:
        return self._compute(self._view.read(*rows.indices(len(self._view))[:2]))


def view_of_columns(data: Any, name: str) -> View:
    """Make a view; one-dimensional data are one column."""
    if data is None:
        raise ValueError(f"this estimator requires y to be passed, but the target {name} is None.")
    table = data if hasattr(data, "shape") else np.asarray(data)
    return View(_array(table, name)[:, None] if len(table.shape) == 1 else table, name)


def _mapped_file(data: Any) -> mmap.mmap | None:
    """Return the memory map that holds an array, unless it is copy-on-write."""
    while isinstance(data, np.ndarray):
        mapped = getattr(data, "_mmap", None)
        if isinstance(data, np.memmap) and isinstance(mapped, mmap.mmap):
            return mapped if data.mode in ("r", "r+") else None
        data = data.base
    return None


def _release_pages(rows: npt.NDArray[Any]) -> None:
    """Let the system drop the pages of a memory map: they would stay in resident memory."""
    mapped = _mapped_file(rows)
    if mapped is None or not hasattr(mmap, "MADV_DONTNEED") or rows.size == 0:
        return
    start = byte_bounds(np.frombuffer(mapped, np.uint8))[0]
    low, high = (bound - start for bound in byte_bounds(rows))
    low -= low % mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, low, high - low)


def _column_names(data: Any) -> npt.NDArray[np.object_] | None:
    """Return the column names of a data frame, if all are strings."""
    names = list(getattr(data, "columns", ()))
    return np.array(names, object) if names and all(isinstance(n, str) for n in names) else None


def _table(data: Any, name: str) -> Any:
    if issparse(data):
        data = data.tocsr()  # made dense chunk by chunk
    sliceable = hasattr(data, "shape") and hasattr(data, "__getitem__")
    is_frame = hasattr(data, "columns") and hasattr(data, "__array__")  # in memory
    if not sliceable or isinstance(data, np.ndarray) or is_frame:
        data = _array(data, name)
    if len(data.shape) != 2:
        raise ValueError(
            f"{name}: Expected 2D array, got {len(data.shape)}D array instead (shape "
            f"{tuple(data.shape)}). Rows are samples; Reshape your data with "
            ".reshape(-1, 1) if it has a single feature or .reshape(1, -1) if a single sample."
        )
    for axis, what in enumerate(("sample", "feature")):
        if data.shape[axis] == 0:
            raise ValueError(
                f"{name}: 0 {what}(s) (shape={tuple(data.shape)}) while a minimum of 1 is required."
            )
    return data


def _array(data: Any, name: str) -> npt.NDArray[Any]:
    """Return a numpy array, of data in memory; what it would hide is refused or made NaN."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        row = int(np.argwhere(np.ma.getmaskarray(data))[0][0])
        raise ValueError(
            f"{name} has a masked entry in row {row}: all entries must be given. Drop or impute "
            "such rows first."
        )
    array = np.asarray(data)
    if array.dtype == object and hasattr(data, "iloc"):  # pandas: pd.NA is no number
        array = np.asarray(data.astype(object).where(data.notna(), np.nan))
    return array


def _as_float(rows: npt.NDArray[Any], name: str) -> FloatArray:
    if rows.dtype in (np.float32, np.float64):
        return rows
    if rows.dtype.kind in "biu":
        return rows.astype(np.float64)
    if rows.dtype.kind in "mM":
        raise TypeError(
            f"{name} has dates or durations (dtype {rows.dtype}), which have no unit here: "
            "convert them to numbers first."
        )
    # Objects, strings and complex numbers: scikit-learn's conversions and messages.
    converted: FloatArray = check_array(
        rows, dtype=np.float64, ensure_all_finite=False, input_name=name
    )
    return converted


def check_pair(x: View, y: View) -> None:
    """Refuse two views of unequal length."""
    if len(x) != len(y):
        raise ValueError(
            f"{x.name} has {len(x)} rows but {y.name} has {len(y)}: row i of both must be the "
            "same sample."
        )


def check_at_least_two_rows(n: int, name: str) -> None:
    """Refuse samples from which no covariance can be computed."""
    if n < 2:
        raise ValueError(f"{name} has n_samples = {n}; at least 2 rows are needed.")


def grid(start: int, stop: int, chunk_size: int) -> Iterator[tuple[int, int]]:
    """Cut rows ``start:stop`` at the multiples of ``chunk_size``.

    One global grid: shards made of whole chunks see the same chunks as an undivided pass.
    """
    while start < stop:
        end = min((start // chunk_size + 1) * chunk_size, stop)
        yield start, end
        start = end


def shard_bounds(n: int, shards: int, chunk_size: int) -> list[tuple[int, int]]:
    """Row ranges of ``shards`` nearly equal shards of whole chunks covering ``n`` rows.

    Examples
    --------
    >>> from rnca import shard_bounds
    >>> shard_bounds(10_000, 2, chunk_size=2048)
    [(0, 4096), (4096, 10000)]
    """
    chunks = -(-n // chunk_size)
    if not 1 <= shards <= chunks:
        raise ValueError(
            f"shards={shards}: {n} rows make {chunks} chunks of {chunk_size} rows, so shards must "
            f"lie between 1 and {chunks}."
        )
    edges = [min(chunks * i // shards * chunk_size, n) for i in range(shards + 1)]
    return list(pairwise(edges))


def rechunk(chunks: Iterable[Sequence[Any]], size: int, names: str) -> Iterator[list[View]]:
    """Cut a stream of chunks, each of the views in ``names``, into chunks of ``size`` rows."""
    waiting: list[tuple[FloatArray, ...]] = []
    held = 0
    first: list[View] = []
    for number, chunk in enumerate(chunks):
        if len(chunk) != len(names):
            raise ValueError(
                f"chunk {number} has {len(chunk)} parts: give ({', '.join(names)}) in each chunk."
            )
        views = [
            View(data, f"{name} of chunk {number}") for data, name in zip(chunk, names, strict=True)
        ]
        check_pair(views[0], views[-1])
        first = first or views
        for view, other in zip(views, first, strict=True):
            check_same_columns(view, other.shape[1], other.columns, "the first chunk has")
        # Copied: the stream may fill the same buffer again before these rows are used.
        waiting.append(tuple(np.array(view.read(0, len(view))) for view in views))
        held += len(views[0])
        while held >= size:
            joined = _joined(waiting)
            yield _named([part[:size] for part in joined], names, first)
            waiting, held = [tuple(part[size:] for part in joined)], held - size
    if held:
        yield _named(_joined(waiting), names, first)
    if not first:
        raise ValueError("The stream of chunks is empty; at least 2 rows are needed.")


def check_same_columns(
    view: View, width: int, columns: npt.NDArray[np.object_] | None, where: str
) -> None:
    """Refuse a view whose columns differ in number, or by name, from those it must have."""
    if view.shape[1] != width:
        raise ValueError(
            f"{view.name} has {view.shape[1]} features, but {where} {width}: give the same "
            "columns, in the same order."
        )
    if columns is not None and view.columns is not None and any(columns != view.columns):
        at = int(np.flatnonzero(columns != view.columns)[0])
        raise ValueError(
            f"column {at} of {view.name} is {view.columns[at]!r}, but {where} {columns[at]!r}: "
            "give the same columns, in the same order."
        )


def _named(parts: Sequence[FloatArray], names: str, like: Sequence[View]) -> list[View]:
    return [
        View(part, name, view.columns) for part, name, view in zip(parts, names, like, strict=True)
    ]


def _joined(chunks: list[tuple[FloatArray, ...]]) -> tuple[FloatArray, ...]:
    if len(chunks) == 1:
        return chunks[0]
    return tuple(np.concatenate(parts) for parts in zip(*chunks, strict=True))
