"""The authors' XRMB, acoustic (273) and articulatory (112) views: one R file.

It keeps one matrix per view and part; here the parts follow each other as train, tune, test rows
and ``given_split`` remembers which is which.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rdata
from numpy.typing import NDArray
from rdata.parser import DEFAULT_ALTREP_MAP

from workflow.data import DataError
from workflow.data.archives import unpack_bounded
from workflow.data.prepared import Content

COLUMNS = {"x": 273, "y": 112}
ACOUSTIC_FRAME_COLUMNS = 39
PAPER_TRAINING_ROWS = 30_000
_R_NAMES = ("x_tr", "y_tr", "x_te", "y_te")
_R_LIMIT = 1 << 31
# Of R's stand-ins for other vectors, none that a few bytes make long.
_WRAPPERS = {name: make for name, make in DEFAULT_ALTREP_MAP.items() if name.startswith(b"wrap_")}


def parse(files: Mapping[str, Path]) -> Content:
    """Read the authors' XRMB: one R ``save()`` file cut in parts, with x_tr, y_tr, x_te, y_te.

    The first 30,000 training rows, which the paper uses, become train; further ones tune.
    """
    where = " + ".join(path.name for path in files.values())
    joined = io.BytesIO(b"".join(path.read_bytes() for path in files.values()))
    matrices = read_r_matrices(unpack_bounded(joined, _R_LIMIT, where), where)
    arrays: dict[str, NDArray[Any]] = {}
    for view, columns in COLUMNS.items():
        train, test = matrices[f"{view}_tr"], matrices[f"{view}_te"]
        if train.shape[1] != columns or test.shape[1] != columns:
            raise DataError(f"{where}: {view} has {train.shape[1]} columns, expected {columns}")
        # What is no finite number is refused when the arrays are checked.
        with np.errstate(over="ignore", invalid="ignore"):
            arrays[view] = np.concatenate([train, test]).astype(np.float32)
    n_train, n_test = len(matrices["x_tr"]), len(matrices["x_te"])
    if len(matrices["y_tr"]) != n_train or len(matrices["y_te"]) != n_test:
        raise DataError(f"{where}: the two views differ in their number of rows")
    arrays["given_split"] = paper_parts(n_train, n_test)
    return Content(arrays, {"frame_columns": ACOUSTIC_FRAME_COLUMNS})


def paper_parts(n_train: int, n_test: int) -> NDArray[np.int8]:
    """Return the split of the authors' file: 30,000 training rows, the rest of them tune, test."""
    first = min(n_train, PAPER_TRAINING_ROWS)
    return np.repeat(np.arange(3, dtype=np.int8), [first, n_train - first, n_test])


def read_r_matrices(data: bytes, where: str) -> dict[str, NDArray[np.float64]]:
    """Return the numeric matrices x_tr, y_tr, x_te, y_te of an R ``save()`` file.

    The file is parsed by rdata, which evaluates nothing of it.
    """
    if not data.startswith(b"RDX"):
        raise DataError(f"{where}: starts with {data[:5]!r}, not an R save() file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = rdata.parser.parse_data(data, altrep_constructor_dict=_WRAPPERS)
            found = dict(rdata.conversion.convert(parsed))
    # A file cut short or of another version makes the parser raise almost any exception.
    except Exception as error:
        raise DataError(f"{where}: not a whole R file ({error!r}); fetch it anew") from error
    missing = set(_R_NAMES) - set(found)
    if missing:
        raise DataError(f"{where}: lacks the matrices {sorted(missing)}, has {sorted(found)}")
    for name in _R_NAMES:
        value = found[name]
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "iuf":
            raise DataError(f"{where}: {name} is not a numeric matrix")
    return {name: found[name] for name in _R_NAMES}
