"""Your own data: two arrays in files you have, described by a few lines of configuration.

An entry names the ``kind`` of the files and where the two views are::

    mydata:
      kind: npz                             # npz, npy, csv or mat
      x: {file: views.npz, array: acoustic} # `array` only where a file holds several
      y: {file: views.npz, array: lips}
      split: {file: views.npz, array: part} # optional: 0/1/2 or train/tune/test per row
      groups: {file: views.npz, array: who} # optional: rows of one group stay together

A plain file name may stand for ``{file: ...}``. For a CSV, ``header: true`` or ``false`` says
whether the first line names the columns, and ``columns: [a, b]`` or ``all`` which of them to take.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from rnca._core.files import MOST_IN_A_BYTE, read_member
from workflow.data import DataError
from workflow.data.prepared import Content, check_arrays
from workflow.data.sources import file_sha256
from workflow.data.splits import PARTS

KINDS = ("npz", "npy", "csv", "mat")
_LIMIT = 1 << 36
_NUMERIC = {"single": 4, "double": 8, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
# What pandas reads as a value though it is no number.
_VALUES = {"true", "false", "na", "n/a", "null", "none"}


class _Place(NamedTuple):
    """Where an array is; `key` is what it is for."""

    key: str
    file: Path
    array: str | None = None
    header: bool | None = None
    columns: list[int | str] | str | None = None


def read(name: str, entry: Mapping[str, Any]) -> Content:
    """Read and check the arrays that an entry describes; see the top of this module.

    `OwnDataset` of the settings checks its keys. Relative file names are taken from the working
    directory. A split becomes ``given_split``.
    """
    places = [
        _place(name, key, entry[key]) for key in ("x", "y", "split", "groups") if key in entry
    ]
    found = {place.key: _read_array(entry["kind"], place) for place in places}
    arrays = {key: np.asarray(array) for key, array in found.items()}
    if "split" in arrays:
        arrays["given_split"] = _split_codes(arrays.pop("split"), entry["split"])
    if "groups" in arrays:
        arrays["groups"] = _group_codes(arrays["groups"])
    arrays = check_arrays(name, arrays)
    if len(arrays["x"]) < 2:
        raise DataError(f"dataset {name!r}: one row only; correlations need at least two")
    files = sorted({place.file for place in places})
    meta = {
        "title": entry.get("title") or name,
        "sources": [{"file": str(file), "sha256": file_sha256(file)} for file in files],
        "columns": {
            key: [str(name) for name in table.columns]
            for key, table in found.items()
            if not isinstance(table, np.ndarray)
        },
    }
    return Content(arrays, meta)


def arrays_of(kind: str, file: Path) -> dict[str, tuple[int, ...]]:
    """Return the arrays in an npz or mat file, with their shapes."""
    if kind == "mat":
        return MatFile(file).shapes
    with _opened_npz(file) as stored:
        return {name: read_member(stored, name).shape for name in stored}


def _place(name: str, key: str, value: str | Mapping[str, Any]) -> _Place:
    given = {"file": value} if isinstance(value, str) else value
    file = Path(given["file"])
    if not file.is_file():
        raise DataError(f"dataset {name!r}, {key}: no file {file} under {Path.cwd()}")
    return _Place(key, **{**given, "file": file})


def _read_array(kind: str, place: _Place) -> NDArray[Any] | pd.DataFrame:
    file, array = place.file, place.array
    if kind != "csv" and (place.header is not None or place.columns is not None):
        raise DataError(f"{file}: `header` and `columns` are for kind csv, not {kind}")
    if kind == "mat":
        mat = MatFile(file)
        return mat.read(_choose(file, array, list(mat.shapes)))
    if kind == "npz":
        with _opened_npz(file) as stored:
            return read_member(stored, _choose(file, array, list(stored)))
    if array is not None:
        raise DataError(f"{file}: a {kind} file holds one array, so `array: {array}` has no sense")
    return _read_csv(place) if kind == "csv" else _read_npy(file)


def _read_npy(file: Path) -> NDArray[Any]:
    try:
        loaded: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    # numpy raises almost anything on a broken file, and advises to unpickle what is none of its.
    except Exception as error:
        raise DataError(
            f"{file}: not a plain .npy array; it is cut short, holds objects, or is of another "
            "kind (all files of a dataset are of one)"
        ) from error
    if not isinstance(loaded, np.ndarray):
        raise DataError(f"{file}: holds several arrays; use kind npz")
    return loaded


@contextmanager
def _opened_npz(file: Path) -> Iterator[np.lib.npyio.NpzFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > _LIMIT:
            raise DataError(f"{file}: unpacks to {total} bytes, limit {_LIMIT}")
        with np.load(file, allow_pickle=False) as stored:
            yield stored
    except (DataError, MemoryError):
        raise
    # zipfile and numpy raise almost anything on a broken file.
    except Exception as error:
        raise DataError(f"{file}: not a plain .npz file ({error})") from error


def _read_csv(place: _Place) -> pd.DataFrame:
    """Read a CSV as people have them: with or without names of columns, with or without an index.

    A first column without a name that counts the rows, as pandas and R write it, is left out.
    """
    file, header = place.file, place.header
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = filter(None, csv.reader(stream))  # without blank lines, as pandas reads
            first = next(rows, [])
            second = next(rows, first)
        _check_commas(file, first, second)
        if header is None:
            header = _has_header(place, first)
        frame = pd.read_csv(file, header=0 if header else None, encoding="utf-8-sig")
    except DataError:
        raise
    except (ValueError, OSError, csv.Error) as error:
        raise DataError(f"{file}: not a comma-separated table ({error})") from error
    if header and not first[0]:
        if not _counts_rows(frame):
            raise DataError(f"{file}: the first column has no name and does not count the rows")
        frame = frame.iloc[:, 1:]
    frame = _chosen(place, frame)
    text = [column for column in frame.columns if frame[column].dtype.kind not in "biuf"]
    if text and frame.shape[1] > 1:
        raise DataError(f"{file}: column {str(text[0])!r} is not numeric; drop or encode it")
    return frame


def _has_header(place: _Place, first: list[str]) -> bool:
    """Tell whether a first line names columns; refuse what may be names or a row of data."""
    values = [field for field in first if _is_number(field) or field.lower() in _VALUES]
    if not values or not first[0]:  # pandas and R leave the name of an index empty
        return True
    # Of a split or of groups the number of rows tells.
    if place.key in ("x", "y") and (len(values) < len(first) or _counts(first)):
        raise DataError(
            f"{place.file}: the first line, {_some(first)}, may be names of columns or a row "
            f"of data. Say which: {{file: {place.file}, header: true}}, or `header: false`"
        )
    return False


def _counts(fields: list[str]) -> bool:
    """Tell whether fields count up, as pandas numbers columns, or as years and wavelengths do."""
    if not all(map(str.isdigit, fields)):
        return False
    whole = [int(field) for field in fields]
    steps = {after - before for before, after in pairwise(whole)}
    is_range = whole[:1] == [0] and steps <= {1}
    return is_range or (len(whole) > 2 and len(steps) == 1 and min(steps) > 0)


def _chosen(place: _Place, frame: pd.DataFrame) -> pd.DataFrame:
    """Take columns by their names or, if the file has no names, by their numbers from 0."""
    file = place.file
    if place.columns == "all":
        return frame
    if place.columns is None:
        if place.key in ("x", "y") and _counts_rows(frame):
            raise DataError(
                f"{file}: the first column, {str(frame.columns[0])!r}, counts the rows. If it is "
                "an index, write the file without it (pandas: index=False) or name the columns to "
                f"take: {{file: {file}, columns: [a, b]}}; if it is a measurement: `columns: all`"
            )
        return frame
    names = {str(name): name for name in frame.columns}
    if missing := [column for column in place.columns if str(column) not in names]:
        raise DataError(f"{file}: no column {missing[0]!r}; there are {_some(list(names))}")
    return frame[[names[str(column)] for column in place.columns]]


def _counts_rows(frame: pd.DataFrame) -> bool:
    first, rows = frame.iloc[:, 0].to_numpy(), np.arange(len(frame))
    return any(np.array_equal(first, rows + start) for start in (0, 1))


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _check_commas(file: Path, first: list[str], second: list[str]) -> None:
    """Refuse what pandas would read without a word: decimal commas, names of rows."""
    if len(first) != len(second):
        raise DataError(
            f"{file}: {len(first)} field(s) in the first line, {len(second)} in the second. "
            "Separate fields by commas, write decimals with points, give every column a name or "
            "none, and drop names of rows"
        )
    for separator in ";\t ":
        parts = first[0].split(separator) if len(first) == 1 else []
        if len(parts) > 1 and (separator != " " or all(map(_is_number, parts))):
            raise DataError(
                f"{file}: fields are separated by {separator!r}; separate them by commas, and "
                "write decimals with points"
            )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _choose(file: Path, array: str | None, names: list[str]) -> str:
    if array is None and len(names) == 1:
        return names[0]
    if array not in names:
        raise DataError(f"{file}: array {array!r} is not one of {names}; name it with `array:`")
    return array


def _column(values: NDArray[Any]) -> NDArray[Any]:
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values


def _split_codes(values: NDArray[Any], place: Any) -> NDArray[np.int8]:
    column = _column(values)
    # MATLAB knows hardly any numbers but floats.
    spellings = ((str(i), str(float(i)), part) for i, part in enumerate(PARTS))
    codes = {spelling: i for i, each in enumerate(spellings) for spelling in each}
    try:
        return np.array([codes[str(value)] for value in column], dtype=np.int8)
    except KeyError as error:
        raise DataError(f"{place}: split {error} is neither 0, 1, 2 nor one of {PARTS}") from error


def _group_codes(values: NDArray[Any]) -> NDArray[np.int32]:
    column = _column(values)
    return np.unique(column.astype(str), return_inverse=True)[1].astype(np.int32)


class MatFile:
    """A .mat file of version 5 to 7; its numeric variables are listed at once, in `shapes`.

    Structures, cells, text and functions are never read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._check_version()
        # scipy raises almost anything on a broken file.
        try:
            listed = whosmat(str(path))
        except Exception as error:
            raise self._broken(error) from error
        self.shapes: dict[str, tuple[int, ...]] = {
            name: shape for name, shape, kind in listed if kind in _NUMERIC
        }
        self._kinds = {name: kind for name, _, kind in listed}

    def read(self, name: str) -> NDArray[Any]:
        """Read a variable, after checking that the file can hold the shape that it announces."""
        if name not in self.shapes:
            raise DataError(
                f"{self.path}: no numeric variable {name!r}; it has {sorted(self.shapes)}"
            )
        shape = self.shapes[name]
        size = int(np.prod(shape, dtype=object)) * _NUMERIC[self._kinds[name]]
        # MATLAB writes the eight bytes of a small number as one, and then packs them.
        limit = min(_LIMIT, 8 * MOST_IN_A_BYTE * self.path.stat().st_size)
        if min(shape, default=0) < 0 or size > limit:
            raise DataError(
                f"{self.path}: {name} of shape {shape} would take {size} bytes, limit {limit}; "
                "fetch it anew"
            )
        try:
            value = loadmat(str(self.path), variable_names=[name])[name]
        except Exception as error:
            raise self._broken(error) from error
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            raise DataError(f"{self.path}: {name} is not a plain numeric matrix")
        if value.shape != shape:  # two variables of one name
            raise DataError(f"{self.path}: {name} has shape {value.shape}, was listed as {shape}")
        return value

    def _check_version(self) -> None:
        with self.path.open("rb") as stream:
            header = stream.read(128)
        if header.startswith((b"MATLAB 7.3", b"\x89HDF")):
            raise DataError(
                f"{self.path}: MATLAB 7.3 (HDF5) file; save it again in MATLAB "
                "with save(..., '-v7')"
            )
        if len(header) < 128 or header[126:128] not in (b"IM", b"MI"):
            raise DataError(f"{self.path}: not a MATLAB file of version 5 to 7")

    def _broken(self, error: Exception) -> DataError:
        return DataError(f"{self.path}: cut short or damaged ({error!r}); fetch it anew")
