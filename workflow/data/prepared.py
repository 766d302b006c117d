"""The prepared form of a dataset: a directory of plain ``.npy`` arrays and one ``meta.json``.

Every dataset, whatever its source, is brought to this form once; every stage reads it through
memory maps. Nothing in it is pickled.

==============  =====================  ==========================================================
array           shape                  meaning
==============  =====================  ==========================================================
``x``, ``y``    n × p, n × q           the two views (``x`` alone: the features of privileged data)
``images``      n × h × w [× 3]        uint8 pictures
``labels``      n                      class of each row
``groups``      n                      utterance, ...: rows that must stay together
``speakers``    n                      the speaker of each row, where a dataset may hold several
``given_split`` n                      int8, 0 = train, 1 = tune, 2 = test, as the source has it
``attributes``  classes × attributes   uint8, privileged facts about each class
==============  =====================  ==========================================================
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from workflow.data import DataError
from workflow.data.views import release

FORMAT = 1
ROW_ARRAYS = ("x", "y", "images", "labels", "groups", "speakers", "given_split")
DIMENSIONS = {
    **dict.fromkeys(("x", "y", "attributes"), (2,)),
    **dict.fromkeys(("labels", "groups", "speakers", "given_split"), (1,)),
    "images": (3, 4),
}
INTEGER_ARRAYS = ("labels", "groups", "speakers", "given_split", "attributes")
META_DEFAULTS: dict[str, Any] = {
    "stand_in": None,
    "citation": "",
    "licence": "",
    "sources": [],
    "notes": [],
}
_BLOCK_BYTES = 1 << 24


class Content(NamedTuple):
    """What a parser returns: the arrays, and what is to be recorded about them."""

    arrays: dict[str, NDArray[Any]]
    meta: dict[str, Any]


@dataclass(frozen=True)
class Prepared:
    """A prepared dataset: read-only memory maps, and what is recorded about them.

    ``meta`` has ``name``, ``kind`` ("embedded", "fetched" or "own"), ``title``, ``stand_in`` (what
    it stands in for, or None if it is the real thing), ``citation``, ``licence``, ``sources``
    (file and checksum of each), ``notes``, and what the dataset adds of its own.
    """

    path: Path
    arrays: dict[str, NDArray[Any]]
    meta: dict[str, Any]

    @property
    def name(self) -> str:
        """The dataset's name."""
        return str(self.meta["name"])

    @property
    def n_rows(self) -> int:
        """The number of rows (samples)."""
        return next(len(self.arrays[name]) for name in ROW_ARRAYS if name in self.arrays)

    @property
    def x(self) -> NDArray[Any]:
        """The first view, or the features of privileged data."""
        return self.need("x")

    @property
    def y(self) -> NDArray[Any]:
        """The second view."""
        return self.need("y")

    @property
    def images(self) -> NDArray[Any]:
        """The pictures."""
        return self.need("images")

    @property
    def attributes(self) -> NDArray[Any]:
        """The privileged facts about each class."""
        return self.need("attributes")

    @property
    def labels(self) -> NDArray[Any] | None:
        """The class of each row, if the dataset has one."""
        return self.arrays.get("labels")

    @property
    def groups(self) -> NDArray[Any] | None:
        """The group of each row, if the dataset has one."""
        return self.arrays.get("groups")

    def need(self, name: str) -> NDArray[Any]:
        """Return an array by name, or raise DataError with the names there are."""
        if name not in self.arrays:
            raise DataError(
                f"dataset {self.name!r} has no array {name!r}, only {sorted(self.arrays)}: "
                "choose a dataset that carries it"
            )
        return self.arrays[name]


def write_prepared(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> None:
    """Write a prepared dataset as a whole or not at all.

    It is built under ``.<name>.partial`` beside its final place and renamed when complete. One that
    is there already is first renamed to ``.<name>.old``: a writer killed just between the two
    renames leaves no dataset in the final place. The next writer clears both directories away.
    """
    final = Path(path)
    for key in ("name", "kind", "title"):
        if not meta.get(key):
            raise DataError(f"meta of {final} lacks {key!r}: a prepared dataset must carry it")
    checked = check_arrays(str(meta["name"]), arrays)
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".{final.name}.partial")
    with FileLock(final.with_name(f".{final.name}.lock")):
        shutil.rmtree(partial, ignore_errors=True)
        try:
            _write_directory(partial, checked, meta)
            _replace_directory(partial, final)
        except OSError as error:
            need = sum(array.nbytes for array in checked.values())
            free = shutil.disk_usage(final.parent).free
            raise DataError(
                f"{final} cannot be written: {error} ({need:,} bytes needed, "
                f"{free:,} free); make room and run again"
            ) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def load_prepared(path: str | os.PathLike[str], *, verify: bool = False) -> Prepared:
    """Open a prepared dataset, after checking presence, size, shape and type of its arrays.

    With `verify` every array is also read in full, to compare its sha256.
    """
    directory = Path(path)
    meta = _read_meta(directory)
    arrays = {
        name: _open(directory, name, record, verify) for name, record in meta["arrays"].items()
    }
    return Prepared(directory, arrays, meta)


def check_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays, or raise DataError for what is wrong.

    They must have known names, hold finite numbers, agree in their number of rows, and have
    labels within the attributes.
    """
    checked = {key: _check_array(name, key, np.asanyarray(value)) for key, value in arrays.items()}
    rows = {key: len(value) for key, value in checked.items() if key in ROW_ARRAYS}
    if not rows:
        raise DataError(f"dataset {name!r} has none of the arrays {ROW_ARRAYS}: nothing to prepare")
    if len(set(rows.values())) > 1:
        raise DataError(
            f"dataset {name!r}: arrays differ in their number of rows, {rows}: "
            "row i of each must describe the same sample"
        )
    if 1 in rows.values():
        raise DataError(f"dataset {name!r}: one row only; correlations need at least two")
    split = checked.get("given_split")
    if split is not None and not np.isin(split, (0, 1, 2)).all():
        raise DataError(
            f"dataset {name!r}: given_split holds {np.unique(split)[:10].tolist()}, "
            "but only 0 (train), 1 (tune) and 2 (test) are known"
        )
    if "attributes" in checked:
        labels = checked.get("labels")
        classes = len(checked["attributes"])
        if labels is None or labels.min() < 0 or labels.max() >= classes:
            raise DataError(
                f"dataset {name!r}: attributes describe classes 0 to {classes - 1}, "
                "so labels must be present and lie in that range"
            )
    return checked


def _check_array(dataset: str, name: str, array: NDArray[Any]) -> NDArray[Any]:
    where = f"dataset {dataset!r}, array {name!r}"
    if name not in DIMENSIONS:
        raise DataError(f"{where}: unknown name; known are {sorted(DIMENSIONS)}")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{where}: type {array.dtype} is not numeric; convert it to numbers")
    if array.ndim not in DIMENSIONS[name]:
        raise DataError(
            f"{where}: shape {array.shape} has {array.ndim} dimensions, expected "
            + " or ".join(map(str, DIMENSIONS[name]))
        )
    if array.size == 0:
        raise DataError(f"{where}: shape {array.shape} is empty")
    if name in INTEGER_ARRAYS and array.dtype.kind not in "iu":
        raise DataError(f"{where}: type {array.dtype} must be an integer type")
    if name == "images" and array.dtype != np.uint8:
        raise DataError(f"{where}: type {array.dtype} must be uint8")
    _check_finite(where, array)
    return array


def _check_finite(where: str, array: NDArray[Any]) -> None:
    if array.dtype.kind != "f":
        return
    for start, block in row_blocks(array):
        if not np.isfinite(block).all():
            bad = np.argwhere(~np.isfinite(block))[0]
            row, *rest = bad.tolist()
            place = f"row {start + row}" + "".join(f", column {index}" for index in rest)
            raise DataError(
                f"{where}: {block[tuple(bad)]} at {place}, counted from 0; "
                "drop or fill such rows first"
            )


def row_blocks(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first row, block of rows); the pages of a memory map are let go after each."""
    row_bytes = max(1, array.nbytes // len(array))
    step = max(1, _BLOCK_BYTES // row_bytes)
    for start in range(0, len(array), step):
        yield start, array[start : start + step]
        release(array)


def _stored_sha256(file: Path, array: np.memmap[Any, Any]) -> str:
    """Return the sha256 of an array's bytes, read past the memory map.

    Pages of a map count as this process's memory, those of a file read in the usual way do not.
    """
    with file.open("rb") as stream:
        stream.seek(array.offset)
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_directory(
    directory: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> None:
    directory.mkdir()
    record = {name: _save(directory, name, array) for name, array in arrays.items()}
    whole = {"format": FORMAT, **META_DEFAULTS, **meta, "arrays": record}
    text = _as_text(whole | {"sha256": _text_sha256(whole)})
    (directory / "meta.json").write_text(text + "\n", encoding="utf-8")


def _as_text(meta: Mapping[str, Any]) -> str:
    return json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False)


def _text_sha256(meta: Mapping[str, Any]) -> str:
    return hashlib.sha256(_as_text(meta).encode()).hexdigest()


def _save(directory: Path, name: str, array: NDArray[Any]) -> dict[str, Any]:
    target, dtype = directory / f"{name}.npy", array.dtype.newbyteorder("<")
    digest = hashlib.sha256()
    with target.open("wb") as stream:
        # What np.save does, but in blocks and with a message that says when the disk is full.
        header = {"descr": dtype.str, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(stream, header)
        for _, block in row_blocks(array):
            content = np.ascontiguousarray(block, dtype=dtype)
            stream.write(content.data)
            digest.update(content.data)
        stream.flush()
        os.fsync(stream.fileno())
    return {
        "file": target.name,
        "shape": list(array.shape),
        "dtype": dtype.str,
        "bytes": target.stat().st_size,
        "sha256": digest.hexdigest(),
    }


def _replace_directory(source: Path, final: Path) -> None:
    old = final.with_name(f".{final.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if final.exists():
        final.rename(old)
    source.rename(final)
    shutil.rmtree(old, ignore_errors=True)


def _damage(file: Path, what: str) -> DataError:
    return DataError(
        f"{file}: {what}. Delete the directory {file.parent} and run again to prepare it anew"
    )


def _read_meta(directory: Path) -> dict[str, Any]:
    file = directory / "meta.json"
    if not file.is_file():
        raise _damage(file, "not found, so this is not a complete prepared dataset")
    try:
        meta = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damage(file, f"not valid JSON ({error})") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = meta.get("format") if isinstance(meta, dict) else type(meta).__name__
        raise _damage(file, f"format {found!r}, but this version of rnca reads {FORMAT}")
    if meta.pop("sha256", None) != _text_sha256(meta):
        raise _damage(file, "its content does not match its own sha256")
    return meta


def _open(directory: Path, name: str, record: dict[str, Any], verify: bool) -> NDArray[Any]:
    file = directory / f"{name}.npy"
    if not file.is_file():
        raise _damage(file, "missing, though meta.json lists it")
    size = file.stat().st_size
    if size != record["bytes"]:
        raise _damage(file, f"{size} bytes, but meta.json says {record['bytes']}")
    try:
        array: np.memmap[Any, Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    # numpy raises almost anything on a broken file.
    except Exception as error:
        raise _damage(file, f"cannot be read as a .npy array ({error})") from error
    if list(array.shape) != record["shape"] or array.dtype.str != record["dtype"]:
        raise _damage(
            file,
            f"shape {array.shape} and type {array.dtype.str}, "
            f"but meta.json says {record['shape']} and {record['dtype']}",
        )
    if verify and not (
        array.flags.c_contiguous and _stored_sha256(file, array) == record["sha256"]
    ):
        raise _damage(file, "its content does not match the sha256 in meta.json")
    return array
