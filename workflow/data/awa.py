"""Animals with Attributes (AwA1): SURF histograms, one pickled array per class.

Pickles can run code. These are read by an unpickler that knows three names of numpy and
replaces each by an inert record of its arguments; nothing else can be called.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from workflow.data import DataError
from workflow.data.archives import read_bounded
from workflow.data.prepared import Content

WORDS = 2000
CLASSES = 50
ATTRIBUTES = 85
IMAGES = 30_475
_LIMIT = 1 << 26
_MEMO = {"PUT", "BINPUT", "LONG_BINPUT"}
_MEMO_LIMIT = _OPCODE_LIMIT = 1000
_FLOATS = {("f8", "<"), ("f8", ">"), ("f8", "=")}


def parse(files: Mapping[str, Path]) -> Content:
    """Return ``x`` (30475 × 2000 counts), ``labels`` and ``attributes`` (50 × 85)."""
    classes = read_names(files["classes.txt"], CLASSES)
    predicates = read_names(files["predicates.txt"], ATTRIBUTES)
    attributes = read_matrix(files["predicate-matrix-binary.txt"], (CLASSES, ATTRIBUTES))
    counts = [
        read_counts(files[f"{name}-surf.pic.bz2"])
        for name in tqdm(classes, desc="AwA classes", disable=None)
    ]
    x = np.concatenate(counts)
    if len(x) != IMAGES:
        raise DataError(f"AwA: {len(x)} images in all, expected {IMAGES}")
    labels = np.repeat(np.arange(CLASSES, dtype=np.uint8), [len(part) for part in counts])
    arrays: dict[str, NDArray[Any]] = {"x": x, "labels": labels, "attributes": attributes}
    return Content(arrays, {"class_names": classes, "attribute_names": predicates})


def read_counts(path: Path) -> NDArray[np.uint16]:
    """Read one class: bzip2'd pickle of N × 2000 float64 counts, returned exactly as uint16."""
    values = read_pickled_array(path)
    if values.ndim != 2 or values.shape[1] != WORDS or not len(values):
        raise DataError(f"{path}: shape {values.shape}, expected N × {WORDS}")
    with np.errstate(invalid="ignore"):
        counts = values.astype(np.uint16)
    if not np.array_equal(counts, values):
        raise DataError(f"{path}: holds values that are not counts from 0 to 65535")
    return counts


def read_pickled_array(path: Path) -> NDArray[np.float64]:
    """Read a pickle that holds one float64 array, bzip2'd or not, running nothing."""
    data = read_bounded(path, _LIMIT)
    try:
        _check_opcodes(data)
        found = _ArrayUnpickler(io.BytesIO(data), encoding="latin1").load()
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    # A broken or hostile pickle makes the unpickler raise almost any exception.
    except Exception as error:
        raise DataError(f"{path}: not a readable pickle ({error!r})") from error
    if not isinstance(found, _Array):
        raise DataError(f"{path}: holds a {type(found).__name__}, not one numpy array")
    try:
        return found.rebuild()
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{path}: the pickled array is malformed ({error})") from error


def read_names(path: Path, count: int) -> list[str]:
    """Read ``number name`` lines, numbered from 1 without gaps."""
    rows = _rows_of_words(path)
    if [row[0] for row in rows] != [str(number) for number in range(1, count + 1)]:
        raise DataError(f"{path}: expected {count} lines, numbered from 1, found {len(rows)}")
    if any(len(row) != 2 for row in rows):
        raise DataError(f"{path}: each line must be a number and one name")
    return [row[1] for row in rows]


def read_matrix(path: Path, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Read a matrix of zeros and ones."""
    rows = _rows_of_words(path)
    found = {len(row) for row in rows}
    if len(rows) != shape[0] or found != {shape[1]}:
        raise DataError(f"{path}: {len(rows)} rows of {sorted(found)} values, expected {shape}")
    if {value for row in rows for value in row} - {"0", "1"}:
        raise DataError(f"{path}: holds values other than 0 and 1")
    return np.array(rows, dtype=np.uint8)


def _rows_of_words(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="ascii")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not plain text ({error}); fetch it anew") from error
    return [line.split() for line in text.splitlines() if line.strip()]


@dataclass
class _Type:
    """Stands for numpy.dtype: records the code and the byte order, makes nothing."""

    code: object = None
    order: object = None

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]


@dataclass
class _Array:
    """Stands for numpy.ndarray: records shape, type and bytes until they have been checked."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def rebuild(self) -> NDArray[np.float64]:
        if not isinstance(self.state, tuple) or len(self.state) != 5:
            raise ValueError("no array state")
        _, shape, kind, fortran, data = self.state
        if not isinstance(kind, _Type) or (kind.code, kind.order) not in _FLOATS:
            raise ValueError(f"type {kind}, expected 64-bit floats")
        # Python 2 wrote the bytes as a string.
        raw = data.encode("latin1") if isinstance(data, str) else data
        if not isinstance(raw, bytes) or not isinstance(shape, tuple):
            raise ValueError("no plain bytes")
        values = np.frombuffer(raw, dtype=np.dtype(f"{kind.order}{kind.code}"))
        return values.reshape(shape, order="F" if fortran else "C").astype(np.float64)


# Instances without attributes: a pickle's BUILD can set attributes on whatever it names, and
# must not be able to change anything that outlives it.
class _Reconstruct:
    __slots__ = ()

    def __call__(self, *_: object) -> _Array:
        return _Array()


class _MakeType:
    __slots__ = ()

    def __call__(self, code: object, *_: object) -> _Type:
        return _Type(code)


class _Encode:
    __slots__ = ()

    def __call__(self, text: object, encoding: object) -> bytes:
        if not isinstance(text, str) or encoding != "latin1":
            raise DataError("refused: _codecs.encode may only turn latin1 text into bytes")
        return text.encode("latin1")


_ADMITTED: dict[tuple[str, str], object] = {
    ("numpy.core.multiarray", "_reconstruct"): _Reconstruct(),
    ("numpy._core.multiarray", "_reconstruct"): _Reconstruct(),
    ("numpy", "ndarray"): None,
    ("numpy", "dtype"): _MakeType(),
    ("_codecs", "encode"): _Encode(),
}


def _check_opcodes(data: bytes) -> None:
    """Refuse what takes memory or time beyond that of reading the bytes of an array."""
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if number > _OPCODE_LIMIT:
            raise DataError(f"refused: more than {_OPCODE_LIMIT} steps, an array needs a few dozen")
        # The unpickler reserves memory up to the largest memo index, which a few bytes can set.
        if opcode.name in _MEMO and isinstance(argument, int) and argument > _MEMO_LIMIT:
            raise DataError(f"refused: memo index {argument}, an array needs a few dozen at most")


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise DataError(
                f"refused: the pickle asks for {module}.{name}, but only numpy arrays are "
                "admitted; nothing of it was run"
            ) from None
