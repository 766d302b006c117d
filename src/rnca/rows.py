"""Rows of a view, read and checked a chunk at a time."""

import mmap
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds
from scipy.sparse import issparse

FloatArray = npt.NDArray[np.floating[Any]]
"""An array of float32 or float64."""
Matrix = npt.NDArray[np.float64]

PILOT_ROWS = 4096
"""How many rows, spread evenly over a view, give its pilot mean."""

# Rows of a table on disk that are this close together are read by one slice, of at most this many.
_GAP = 64
_SLICE = 4096

# What to give in place of objects that are no tables, by the names of their types.
_REMEDIES = {
    "LazyFrame": "a query that holds no rows yet: give its result, {0}.collect()",
    "AnnData": "an annotated matrix: give a matrix of it, as adata.X or adata.obsm['X_pca']",
    "MuData": "several annotated matrices: give a matrix for each view, as mdata['rna'].X",
    "Group": "a group of arrays: give one of them, by its name",
    "NpzFile": "an archive of arrays: give one of them, by its name",
    "generator": "which is read once: give chunks of rows to fit_chunks",
}


class View:
    """One view of the data: an n × d table read by rows and never copied whole.

    ``data`` are array-like, a sparse matrix, a memory map, a dask or xarray array, or any object
    with a two-dimensional ``shape`` whose slices of rows numpy can read; ``name`` is what error
    messages call them.
    """

    is_flat = False  # whether one column was given without a second dimension

    def __init__(
        self, data: Any, name: str = "X", columns: npt.NDArray[np.object_] | None = None
    ) -> None:
        self.name = name
        self.data = _table(data, name)
        self.columns = _column_names(data) if columns is None else columns
        self.shape: tuple[int, int] = (int(self.data.shape[0]), int(self.data.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, stop: int) -> FloatArray:
        """Rows ``start:stop`` as finite floats (float32 stays, all else becomes float64)."""
        return self._checked(self._in_memory(start, stop), np.arange(start, stop))

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
        elif isinstance(self.data, DaskRows):
            picked = self.data.take(unique)
        else:  # HDF5 and zarr read whole chunks: neighbours share one slice
            gap = max(_GAP, (getattr(self.data, "chunks", None) or (0,))[0])
            apart = (np.diff(unique) > gap) | (np.diff(unique // _SLICE) > 0)
            groups = np.split(unique, np.flatnonzero(apart) + 1)
            picked = np.concatenate([self._in_memory(g[0], g[-1] + 1)[g - g[0]] for g in groups])
        return self._checked(picked, unique)[inverse]

    def _in_memory(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Read rows; those of a memory map are copied, and their pages released."""
        rows = _array(self.data[start:stop], self.name, range(start, stop))
        if rows.shape != (stop - start, self.shape[1]):
            raise ValueError(
                f"{self.name} has the shape {self.shape}, but gives an array of shape {rows.shape} "
                f"for rows {start}:{stop}. Is it still being written, or already closed?"
            )
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

    def _checked(self, rows: npt.NDArray[Any], index: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """Return rows as floats, or name the first entry that is no finite number."""
        if rows.dtype not in (np.float32, np.float64):
            rows = self._as_float(rows, index)
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            value = "NaN" if np.isnan(rows[row, column]) else "infinity"
            raise ValueError(
                f"{self.name} contains {value} at row {index[row]}, {self._column(column)}: all "
                "entries must be finite. Drop or impute such rows first."
            )
        return rows

    def _as_float(self, rows: npt.NDArray[Any], index: npt.NDArray[np.integer[Any]]) -> Matrix:
        kinds = set(map(type, rows.flat)) if rows.dtype == object else {rows.dtype.type}
        if kinds & {np.datetime64, np.timedelta64}:
            raise TypeError(
                f"{self.name} has dates or durations (dtype {rows.dtype}), which have no unit "
                "here: convert them to numbers first."
            )
        if rows.dtype.kind == "c":
            raise ValueError(
                f"{self.name}: Complex data not supported (dtype {rows.dtype}). Give the real and "
                "the imaginary part in columns of their own."
            )
        try:
            return rows.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            for column, entries in enumerate(rows.T.tolist()):
                for row, entry in zip(index, entries, strict=True):
                    self._refuse_entry(entry, f"row {row}, {self._column(column)}")
            raise

    def _refuse_entry(self, entry: Any, place: str) -> None:
        try:
            float(entry)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(
                f"{self.name} has {reprlib.repr(entry)} at {place}: {str(error)[:80]}. Encode "
                "categories, text and dates as numbers, as sklearn.preprocessing.OneHotEncoder "
                "does, or leave the column out."
            ) from None

    def _column(self, column: int) -> str:
        name = "" if self.columns is None else f" ({self.columns[column]!r})"
        return f"column {column}{name}"


class DaskRows:
    """Rows of a dask array; read in order, each block of it is computed once.

    Held are the blocks that the last reading touched.
    """

    def __init__(self, array: Any, name: str) -> None:
        if np.isnan(array.shape[0]):
            raise ValueError(
                f"{name} is a dask array with an unknown number of rows: call its method "
                "compute_chunk_sizes() first."
            )
        self.shape, self._array, self._name = array.shape, array, name
        self._edges = np.cumsum([0, *array.chunks[0]])
        self._first, self._held = 0, np.empty((0, self.shape[1]))

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        end = self._first + len(self._held)
        if not self._first <= start < stop <= end:
            if self._first <= start < end:
                self._first, self._held = start, self._held[start - self._first :].copy()
            else:
                end = self._first = self._edges[np.searchsorted(self._edges, start, "right") - 1]
                self._held = self._held[:0]
            more = self._computed(slice(end, self._edges[np.searchsorted(self._edges, stop)]))
            self._held = np.concatenate([self._held, more]) if len(self._held) else more
        return self._held[start - self._first : stop - self._first]

    def take(self, index: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """Compute rows of many blocks at once; only these leave the blocks."""
        return self._computed(index)

    def _computed(self, rows: Any) -> npt.NDArray[Any]:
        index = range(self.shape[0])[rows] if isinstance(rows, slice) else rows
        return _array(self._array[rows].compute(), self._name, index)


class ComputedRows:
    """A table whose rows are computed from those of a view when they are read."""

    def __init__(
        self, view: View, compute: Callable[[FloatArray], npt.NDArray[Any]], columns: int
    ) -> None:
        self._view, self._compute = view, compute
        self.shape = (len(view), columns)

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        return self._compute(self._view.read(*rows.indices(len(self._view))[:2]))


def view_of_columns(data: Any, name: str) -> View:
    """Make a view; one-dimensional data are one column."""
    if data is None:
        raise ValueError(
            f"this estimator requires y to be passed, but the target {name} is None. Give two "
            "views, or rows and their targets, as two arguments: fit(X, y)."
        )
    _refuse_what_holds_tables(data, name)
    table = data if hasattr(data, "shape") else _array(data, name)
    is_flat = len(table.shape) == 1
    if is_flat:
        table = _array(table, name)[:, None]
    view = View(table if len(table.shape) else data, name)
    view.is_flat = is_flat
    return view


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
    names = list(getattr(data, "column_names", getattr(data, "columns", ())))  # pyarrow, others
    return np.array(names, object) if names and all(isinstance(n, str) for n in names) else None


def _table(data: Any, name: str) -> Any:
    _refuse_what_holds_tables(data, name)
    given = type(data)
    is_xarray = given.__module__.startswith("xarray.")
    if is_xarray and getattr(data, "chunks", None):
        data = data.data  # of dask
    if hasattr(data, "to_dask_array"):
        raise TypeError(
            f"{name} is a dask data frame, which cannot be read by rows: give it as an array, by "
            "its method to_dask_array(lengths=True)."
        )
    if issparse(data):
        data = data.tocsr()  # made dense chunk by chunk
    sliceable = hasattr(data, "shape") and hasattr(data, "__getitem__")
    # A data frame is in memory; "columns" of xarray is a name that the user gave to a dimension.
    is_frame = hasattr(data, "columns") and hasattr(data, "__array__") and not is_xarray
    if not sliceable or isinstance(data, np.ndarray) or is_frame:
        data = _array(data, name)
    if len(data.shape) != 2:
        kind = "" if len(data.shape) else f", of type {given.__name__}"
        raise ValueError(
            f"{name}: Expected 2D array, got {len(data.shape)}D array instead (shape "
            f"{tuple(data.shape)}{kind}). Rows are samples; Reshape your data with "
            ".reshape(-1, 1) if it has a single feature or .reshape(1, -1) if a single sample."
        )
    if hasattr(data, "compute_chunk_sizes"):
        data = DaskRows(data, name)
    for axis, what in enumerate(("sample", "feature")):
        if data.shape[axis] == 0:
            raise ValueError(
                f"{name}: 0 {what}(s) (shape={tuple(data.shape)}) while a minimum of 1 is required."
            )
    return data


def _refuse_what_holds_tables(data: Any, name: str) -> None:
    """Refuse objects that are known to hold tables, or to lead to one, and are none."""
    remedies = [_REMEDIES.get(base.__name__) for base in type(data).__mro__]
    parts = data if isinstance(data, list | tuple) else ()
    if any(len(getattr(part, "shape", ())) > 1 for part in parts):
        remedies.append(f"which holds {len(parts)} tables: give views one by one, as fit(X, y)")
    for remedy in filter(None, remedies):
        raise TypeError(f"{name} is of type {type(data).__name__}, {remedy.format(name)}.")


def _array(data: Any, name: str, index: Sequence[int] | None = None) -> npt.NDArray[Any]:
    """Return a numpy array of data in memory; what numpy would hide is refused or made NaN.

    ``index`` numbers the rows, if not from 0.
    """
    if issparse(data):
        dense: npt.NDArray[Any] = data.toarray()
        return dense
    refuse_masked(data, name, index)
    # polars gives dates as numbers.
    for column, dtype in enumerate(getattr(data, "dtypes", ()) if hasattr(data, "columns") else ()):
        if hasattr(dtype, "is_temporal") and dtype.is_temporal():
            raise TypeError(
                f"{name} has dates or durations (dtype {dtype}) in column {column} "
                f"({data.columns[column]!r}), which have no unit here: convert them to numbers "
                "first."
            )
    try:
        array = np.asarray(data)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} cannot be read as a table of numbers: {error}") from error
    if array.dtype.names:
        raise ValueError(
            f"{name} has the fields {', '.join(array.dtype.names)}: give a table, by "
            "numpy.lib.recfunctions.structured_to_unstructured."
        )
    if array.dtype == object and hasattr(data, "iloc"):  # pandas: pd.NA is no number
        array = np.asarray(data.astype(object).where(data.notna(), np.nan))
    return array


def refuse_masked(data: Any, name: str, index: Sequence[int] | None = None) -> None:
    """Refuse masked entries, which numpy would read as what is under the mask."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        row = int(np.argwhere(np.ma.getmaskarray(data))[0][0])
        raise ValueError(
            f"{name} has a masked entry in row {row if index is None else index[row]}: all "
            "entries must be given. Drop or impute such rows first."
        )


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
