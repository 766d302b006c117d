"""Your own data: two arrays in files you have, described by a few lines of settings.

`OwnDataset` is the one description: of an entry of the settings, of what ``python -m workflow.data
check`` prints, and of what `read` reads::

    mydata:
      x: {file: views.npz, array: acoustic} # `array` only where a file holds several
      y: lips.csv                           # a plain name stands for {file: lips.csv}
      split: {file: views.npz, array: part} # optional: 0/1/2 or train/tune/test per row
      groups: {file: views.npz, array: who} # optional: rows of one group stay together
"""

from __future__ import annotations

import csv
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, StringConstraints, model_validator
from scipy.io import loadmat, whosmat

from rnca.files import MOST_IN_A_BYTE, read_member, replacing
from workflow.data import DataError
from workflow.data.catalogue import Facts
from workflow.data.errors import visible
from workflow.data.prepared import Content
from workflow.data.sources import file_sha256
from workflow.data.splits import PARTS
from workflow.lib.models import PRINTABLE, Distinct, Settings, Title

FileName = Annotated[str, StringConstraints(min_length=1), PRINTABLE]
_LIMIT = 1 << 36
_CLOCK_SECONDS = 2  # of file systems: FAT has the coarsest
_MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK": "npz",
    b"MATLAB": "mat",
    b"\x89HDF": "mat",
}
_NUMERIC = {"single": 4, "double": 8, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
# What pandas reads as a value though it is no number.
_VALUES = {"true", "false", "na", "n/a", "null", "none"}
# pandas 3.0 and older lose the last digit unless asked; newer ones keep it, and warn if asked.
_IS_EXACT = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
_EVERY_DIGIT: dict[str, Any] = {} if _IS_EXACT else {"float_precision": "round_trip"}


class Place(Settings):
    """Where an array of one's own is; a plain name stands for ``{file: name}``."""

    file: FileName = Field(description="the file's name")
    array: FileName | None = Field(None, description="the array's name, if the file holds several")
    header: bool | None = Field(
        None, description="of a CSV: whether its first line names the columns"
    )
    columns: Distinct[int | str] | Literal["all"] | None = Field(
        None, description="of a CSV: the columns to take, by name or by number from 0; or `all`"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"file": given} if isinstance(given, str) else given

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(core)]}

    @property
    def path(self) -> Path:
        """The file, relative to the working directory."""
        return Path(self.file)


class OwnDataset(Settings):
    """A dataset of one's own."""

    kind: Literal["npz", "npy", "csv", "mat"] | None = Field(
        None, description="what all files must be; if left out, each file's content tells"
    )
    title: Title | None = Field(None, description="what it is called")
    x: Place = Field(
        description="the first view: a file name, or {file: …, array: …} if a file holds several"
    )
    y: Place = Field(description="the second view, likewise")
    split: Place | None = Field(None, description="train, tune or test (or 0, 1, 2) for each row")
    groups: Place | None = Field(
        None, description="a label for each row; rows with the same label stay together"
    )

    def places(self) -> dict[str, Place]:
        """Return where each array is that it has."""
        named = {"x": self.x, "y": self.y, "split": self.split, "groups": self.groups}
        return {key: place for key, place in named.items() if place}

    def files(self) -> list[str]:
        """List the files it is read from."""
        return list(dict.fromkeys(place.file for place in self.places().values()))

    def mem_mb(self) -> int:
        """Return the megabytes that preparing it takes beside Python and its libraries.

        Arrays in .npy files are copied in blocks. Other files are held as read, as parsed, and once
        more where a type is converted.
        """
        held = [file for file in map(Path, self.files()) if kind_of(file) != "npy"]
        return 100 + ceil(3 * sum(file.stat().st_size for file in held) / 1e6)

    def checksums(self, memory: Path) -> dict[str, str]:
        """Return the sha256 of each file; it is read again only if it has changed since.

        `memory` keeps size, times, inode and checksum of the files that were read.
        """
        known, found = {}, {}
        with suppress(OSError, ValueError):
            known = json.loads(memory.read_text(encoding="utf-8"))
        for file in self.files():
            state = os.stat(file)
            mark = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
            *old, found[file] = known.get(file, [""])
            if old != mark:
                found[file] = file_sha256(Path(file))
                # Within the clock's resolution a file may change again without a new time.
                if time.time() - state.st_ctime > _CLOCK_SECONDS:
                    known[file] = [*mark, found[file]]
                    with replacing(memory) as partial:
                        partial.write_text(json.dumps(known), encoding="utf-8")
        return found

    def facts(self) -> Facts:
        """Return what is known of it before it is read."""
        optional = {"groups": self.groups, "given_split": self.split}
        return Facts(("x", "y", *(array for array, place in optional.items() if place)))


def read(name: str, own: OwnDataset) -> Content:
    """Read the arrays of a dataset; a split becomes ``given_split``."""
    places = own.places()
    for key, place in places.items():
        if not place.path.is_file():
            raise DataError(f"dataset {name!r}, {key}: no file {place.file} under {Path.cwd()}")
    found = {key: _read_array(own.kind, key, place) for key, place in places.items()}
    arrays = {key: _as_array(found[key], places[key].file) for key in ("x", "y")}
    if "split" in found:
        arrays["given_split"] = _split_codes(np.asarray(found["split"]), places["split"].file)
    if "groups" in found:
        labels = _labels(np.asarray(found["groups"]), places["groups"].file)
        arrays["groups"] = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    meta = {
        "title": own.title or name,
        "columns": {
            key: [" ".join(visible(str(name)).split())[:60] for name in table.columns]
            for key, table in found.items()
            if isinstance(table, pd.DataFrame) and table.columns.dtype.kind not in "iu"
        },
    }
    return Content(arrays, meta)


def kind_of(file: Path) -> str:
    """Tell the kind of a file from how it begins, else from its ending."""
    with file.open("rb") as stream:
        head = stream.read(128)
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if head[126:] in (b"IM", b"MI"):
        return "mat"
    if b"\0" not in head:
        return "csv"
    ending = file.suffix.lower().removeprefix(".")
    if ending in ("npy", "npz", "mat"):
        return ending
    raise DataError(
        f"{file}: begins with {head[:8]!r}, which is no npy, npz or mat file and no text; "
        "save it as CSV (UTF-8)"
    )


def arrays_of(file: Path) -> dict[str, tuple[int, ...]]:
    """Return the arrays in an npz or mat file, with their shapes; nothing of other files."""
    kind = kind_of(file)
    if kind == "mat":
        return MatFile(file).shapes
    if kind != "npz":
        return {}
    with _opened_npz(file) as stored:
        return {name: read_member(stored, name).shape for name in stored}


def _read_array(stated: str | None, key: str, place: Place) -> NDArray[Any] | pd.DataFrame:
    kind = kind_of(place.path)
    if stated not in (None, kind):
        raise DataError(
            f"{place.file}: not a {stated} file, as `kind` says, but {kind}; leave `kind` out"
        )
    if kind != "csv" and (place.header is not None or place.columns is not None):
        raise DataError(f"{place.file}: `header` and `columns` are for CSV files, not {kind}")
    if kind in ("npy", "csv") and place.array is not None:
        raise DataError(f"{place.file}: a {kind} file holds one array: leave out `array`")
    if kind == "csv":
        return _read_csv(key, place)
    readers: dict[str, Callable[[Place], NDArray[Any]]] = {
        "npy": _read_npy,
        "npz": _read_npz,
        "mat": _read_mat,
    }
    return readers[kind](place)


def _read_npy(place: Place) -> NDArray[Any]:
    try:
        loaded: NDArray[Any] = np.load(place.path, mmap_mode="r", allow_pickle=False)
    # numpy raises almost anything on a broken file, and advises to unpickle what is none of its.
    except Exception as error:
        raise DataError(
            f"{place.file}: not a plain .npy array; it is cut short or holds objects"
        ) from error
    return loaded


def _read_npz(place: Place) -> NDArray[Any]:
    with _opened_npz(place.path) as stored:
        return read_member(stored, _choose(place, list(stored)))


def _read_mat(place: Place) -> NDArray[Any]:
    mat = MatFile(place.path)
    return mat.read(_choose(place, list(mat.shapes)))


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


def _choose(place: Place, names: list[str]) -> str:
    if place.array is None and len(names) == 1:
        return names[0]
    if place.array not in names:
        raise DataError(
            f"{place.file}: array {place.array!r} is not one of {names}; name it with `array:`"
        )
    return place.array


def _read_csv(key: str, place: Place) -> pd.DataFrame:
    """Read a CSV as people have them: with or without names of columns, with or without an index.

    A first column without a name that counts the rows, as pandas and R write it, is left out.
    Groups and parts of a split are read as text: numbers would merge labels of many digits.
    """
    header = place.header
    texts = {"dtype": str, "keep_default_na": False}
    options = texts if key in ("split", "groups") else _EVERY_DIGIT
    try:
        with place.path.open(encoding="utf-8-sig", newline="") as stream:
            rows = filter(None, csv.reader(stream))  # without blank lines, as pandas reads
            first = next(rows, [])
            second = next(rows, first)
        _check_commas(place.file, first, second)
        if header is None:
            header = _has_header(key, place.file, first)
        frame = pd.read_csv(
            place.path, header=0 if header else None, encoding="utf-8-sig", **options
        )
    except DataError:
        raise
    except (ValueError, OSError, csv.Error) as error:
        raise DataError(f"{place.file}: not a comma-separated table ({error})") from error
    if header and not first[0]:
        if not _counts_rows(frame):
            raise DataError(f"{place.file}: the first column has no name and does not count rows")
        frame = frame.iloc[:, 1:]
    return _chosen(key, place, frame)


def _has_header(key: str, file: str, first: list[str]) -> bool:
    """Tell whether a first line names columns; refuse what may be names or a row of data."""
    values = [field for field in first if _is_number(field) or field.lower() in _VALUES]
    if not values or not first[0]:  # pandas and R leave the name of an index empty
        return True
    # Of a split or of groups the number of rows tells.
    if key in ("x", "y") and (len(values) < len(first) or _counts(first)):
        raise DataError(
            f"{file}: the first line, {_some(first)}, may be names of columns or a row "
            f"of data. Say which: {{file: {file}, header: true}}, or `header: false`"
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


def _chosen(key: str, place: Place, frame: pd.DataFrame) -> pd.DataFrame:
    """Take columns by their names or, if the file has no names, by their numbers from 0."""
    file = place.file
    if place.columns == "all":
        return frame
    if place.columns is None:
        if key in ("x", "y") and _counts_rows(frame):
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
    first = pd.to_numeric(frame.iloc[:, 0], errors="coerce").to_numpy()
    return any(np.array_equal(first, np.arange(start, start + len(frame))) for start in (0, 1))


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")


def _check_commas(file: str, first: list[str], second: list[str]) -> None:
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


def _as_array(found: NDArray[Any] | pd.DataFrame, file: str) -> NDArray[Any]:
    """Return a table as one array; refuse columns that it could not hold exactly."""
    if isinstance(found, np.ndarray):
        return found
    for name, column in found.items():
        if column.dtype.kind not in "biuf":
            raise DataError(f"{file}: column {str(name)!r} is not numeric; drop or encode it")
    array = found.to_numpy()
    if array.dtype.kind == "O":  # truths beside numbers
        array = found.to_numpy(np.float64)
    for name, column in found.items() if array.dtype.kind == "f" else ():
        if column.dtype.kind in "iu" and ((column > 2**53) | (column < -(2**53))).any():
            raise DataError(
                f"{file}: column {str(name)!r} has integers beyond 2^53, which would lose digits "
                "beside the other columns; drop it if it only names the rows"
            )
    return array


def _split_codes(values: NDArray[Any], file: str) -> NDArray[np.int8]:
    # MATLAB knows hardly any numbers but floats.
    spellings = ((str(i), str(float(i)), part) for i, part in enumerate(PARTS))
    codes = {spelling: i for i, each in enumerate(spellings) for spelling in each}
    try:
        return np.array([codes[label] for label in _labels(values, file)], dtype=np.int8)
    except KeyError as error:
        raise DataError(f"{file}: split {error} is neither 0, 1, 2 nor one of {PARTS}") from error


def _labels(values: NDArray[Any], file: str) -> list[str]:
    """Return the label of each row as text; refuse rows without one."""
    column = values.ravel() if values.ndim == 2 and 1 in values.shape else values
    if column.ndim != 1:
        raise DataError(f"{file}: shape {values.shape}, but one label per row is needed")
    labels = [str(value) for value in column.tolist()]
    for row, label in enumerate(labels):
        if label in ("", "nan"):
            raise DataError(f"{file}: row {row}, counted from 0, has no label; fill it in")
    return labels


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
        shape = self.shapes[name]
        size = int(np.prod(shape, dtype=object)) * _NUMERIC[self._kinds[name]]
        # MATLAB writes the eight bytes of a small number as one, and then packs them.
        limit = min(_LIMIT, 8 * MOST_IN_A_BYTE * self.path.stat().st_size)
        if min(shape, default=0) < 0 or size > limit:
            raise DataError(
                f"{self.path}: {name!r} of shape {shape} would take {size} bytes, limit {limit}; "
                "write the file anew"
            )
        try:
            value = loadmat(str(self.path), variable_names=[name])[name]
        except Exception as error:
            raise self._broken(error) from error
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            raise DataError(f"{self.path}: {name!r} is not a plain numeric matrix")
        if value.shape != shape:  # two variables of one name
            raise DataError(f"{self.path}: {name!r} has shape {value.shape}, was listed as {shape}")
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
        return DataError(f"{self.path}: cut short or damaged ({error!r}); write it anew")
