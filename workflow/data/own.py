"""Your own data: two arrays in files you have, described by a few lines of configuration.

An entry names the ``kind`` of the files and where the two views are::

    mydata:
      kind: npz                             # npz, npy, csv or mat
      x: {file: views.npz, array: acoustic} # `array` only where a file holds several
      y: {file: views.npz, array: lips}
      split: {file: views.npz, array: part} # optional: 0/1/2 or train/tune/test per row
      groups: {file: views.npz, array: who} # optional: rows of one group stay together

A plain file name may stand for ``{file: ...}``.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnca._core.npz import read_member
from workflow.data.checksums import file_sha256
from workflow.data.errors import DataError
from workflow.data.matlab import MatFile
from workflow.data.prepared import Content, check_arrays
from workflow.data.splits import PARTS

KINDS = ("npz", "npy", "csv", "mat")
_KEYS = {"kind", "title", "x", "y", "split", "groups"}
_NPZ_LIMIT = 1 << 36


def read(name: str, entry: Mapping[str, Any]) -> Content:
    """Read and check the arrays that an entry describes.

    Parameters
    ----------
    name : str
        The dataset's name, for messages.
    entry : mapping
        See the top of this module. Relative file names are taken from the working directory.

    Returns
    -------
    Content
        ``x``, ``y``, and ``given_split`` and ``groups`` where described.
    """
    _check_entry(name, entry)
    places = {
        key: _place(name, key, entry[key]) for key in ("x", "y", "split", "groups") if key in entry
    }
    arrays = {key: _read_array(entry["kind"], *places[key]) for key in places}
    if "split" in arrays:
        arrays["given_split"] = _split_codes(places["split"][0], arrays.pop("split"))
    if "groups" in arrays:
        arrays["groups"] = _group_codes(arrays["groups"])
    arrays = check_arrays(name, arrays)
    if len(arrays["x"]) < 2:
        raise DataError(f"dataset {name!r}: one row only; correlations need at least two")
    files = sorted({file for file, _ in places.values()})
    meta = {
        "title": entry.get("title") or name,
        "sources": [{"file": str(file), "sha256": file_sha256(file)} for file in files],
    }
    return Content(arrays, meta)


def _check_entry(name: str, entry: Mapping[str, Any]) -> None:
    unknown = set(entry) - _KEYS
    if unknown:
        raise DataError(f"dataset {name!r}: unknown {sorted(unknown)}; known are {sorted(_KEYS)}")
    if entry.get("kind") not in KINDS:
        raise DataError(f"dataset {name!r}: kind {entry.get('kind')!r}; known are {KINDS}")
    missing = {"x", "y"} - set(entry)
    if missing:
        raise DataError(f"dataset {name!r}: lacks {sorted(missing)}; say in which file it is")


def _place(name: str, key: str, value: Any) -> tuple[Path, str | None]:
    place = {"file": value} if isinstance(value, str) else value
    if not isinstance(place, Mapping) or set(place) - {"file", "array"} or "file" not in place:
        raise DataError(
            f"dataset {name!r}, {key}: {value!r} must be a file name or {{file: ..., array: ...}}"
        )
    file = Path(place["file"])
    if not file.is_file():
        raise DataError(f"dataset {name!r}, {key}: no file {file} under {Path.cwd()}")
    return file, place.get("array")


def _read_array(kind: str, file: Path, array: str | None) -> NDArray[Any]:
    if kind == "mat":
        mat = MatFile(file)
        return mat.read(_choose(file, array, list(mat.shapes)))
    if kind == "npz":
        return _read_npz(file, array)
    if array is not None:
        raise DataError(f"{file}: a {kind} file holds one array, so `array: {array}` has no sense")
    return _read_csv(file) if kind == "csv" else _read_npy(file)


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


def _read_npz(file: Path, array: str | None) -> NDArray[Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > _NPZ_LIMIT:
            raise DataError(f"{file}: unpacks to {total} bytes, limit {_NPZ_LIMIT}")
        with np.load(file, allow_pickle=False) as arrays:
            loaded = read_member(arrays, _choose(file, array, list(arrays)))
    except (DataError, MemoryError):
        raise
    # zipfile and numpy raise almost anything on a broken file.
    except Exception as error:
        raise DataError(f"{file}: not a plain .npz file ({error})") from error
    return loaded


def _read_csv(file: Path) -> NDArray[Any]:
    import pandas as pd  # here, since it is slow to import and the catalogue imports this module

    try:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = filter(None, csv.reader(stream))  # without blank lines, as pandas reads
            first = next(rows, [])
            second = next(rows, first)
        _check_commas(file, first, second)
        frame = pd.read_csv(file, header=None if all(map(_is_number, first)) else 0)
    except DataError:
        raise
    except (ValueError, OSError, csv.Error) as error:
        raise DataError(f"{file}: not a comma-separated table ({error})") from error
    text = [column for column in frame.columns if frame[column].dtype.kind not in "biuf"]
    if text and frame.shape[1] > 1:
        raise DataError(f"{file}: column {text[0]!r} is not numeric; drop or encode it")
    return frame.to_numpy()


def _check_commas(file: Path, first: list[str], second: list[str]) -> None:
    """Refuse what pandas would read without a word: decimal commas, names of rows."""
    if len(first) != len(second):
        raise DataError(
            f"{file}: {len(first)} field(s) in the first line, {len(second)} in the second. "
            "Separate fields by commas, write decimals with points, give every column a name or "
            "none, and drop names of rows"
        )
    for separator in ";\t":
        if len(first) == 1 and separator in first[0]:
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


def _split_codes(file: Path, values: NDArray[Any]) -> NDArray[np.int8]:
    column = _column(values)
    # MATLAB knows hardly any numbers but floats.
    spellings = ((str(i), str(float(i)), part) for i, part in enumerate(PARTS))
    codes = {spelling: i for i, each in enumerate(spellings) for spelling in each}
    try:
        return np.array([codes[str(value)] for value in column], dtype=np.int8)
    except KeyError as error:
        raise DataError(f"{file}: split {error} is neither 0, 1, 2 nor one of {PARTS}") from error


def _group_codes(values: NDArray[Any]) -> NDArray[np.int32]:
    column = _column(values)
    return np.unique(column.astype(str), return_inverse=True)[1].astype(np.int32)
