"""Two views of speech, acoustic (273) and articulatory (112): .mat pairs and R files.

Both sources keep one matrix per view and part; here the parts follow each other as train, tune,
test rows and ``given_split`` remembers which is which.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow.data.archives import unpack_bounded
from workflow.data.errors import DataError
from workflow.data.matlab import MatFile
from workflow.data.prepared import Content
from workflow.data.splits import PARTS

COLUMNS = {"x": 273, "y": 112}
ACOUSTIC_FRAME_COLUMNS = 39
PAPER_TRAINING_ROWS = 30_000
_VARIABLES = {"x": ("X1", "XV1", "XTe1"), "y": ("X2", "XV2", "XTe2")}
_R_NAMES = ("x_tr", "y_tr", "x_te", "y_te")
_R_LIMIT = 1 << 31


def parse_mat_pair(x_file: Path, y_file: Path) -> Content:
    """Read a pair of .mat files in XRMB's layout.

    Parameters
    ----------
    x_file : Path
        Holds X1, XV1, XTe1 (rows × 273: train, tune, test).
    y_file : Path
        Holds X2, XV2, XTe2 (rows × 112), and may hold trainLabel, tuneLabel, testLabel (phone)
        and trainID, tuneID, testID (utterance or speaker).

    Returns
    -------
    Content
        ``x``, ``y`` (float32), ``given_split``, and ``labels`` and ``groups`` where there.
    """
    views = {"x": MatFile(x_file), "y": MatFile(y_file)}
    sizes = {view: _part_sizes(views[view], view) for view in views}
    if sizes["x"] != sizes["y"]:
        raise DataError(
            f"{x_file} has {sizes['x']} train, tune and test rows but {y_file} {sizes['y']}: "
            "row i of one must belong to row i of the other"
        )
    arrays: dict[str, NDArray[Any]] = {
        view: _stack(views[view], _VARIABLES[view], COLUMNS[view], sizes[view]) for view in views
    }
    arrays["given_split"] = np.repeat(np.arange(3, dtype=np.int8), sizes["x"])
    for name, suffix in (("labels", "Label"), ("groups", "ID")):
        variables = [part + suffix for part in PARTS]
        if all(variable in views["y"].shapes for variable in variables):
            arrays[name] = _integers(views["y"], variables, sizes["y"])
    return Content(arrays, {"frame_columns": ACOUSTIC_FRAME_COLUMNS})


def parse_r_parts(files: Sequence[Path]) -> Content:
    """Read the authors' XRMB: one R ``save()`` file cut in parts, with x_tr, y_tr, x_te, y_te.

    The first 30,000 training rows, which the paper uses, become train; further ones tune.
    """
    where = " + ".join(path.name for path in files)
    joined = io.BytesIO(b"".join(path.read_bytes() for path in files))
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
    import rdata  # here, since it is slow to import and the catalogue imports this module

    if not data.startswith(b"RDX"):
        raise DataError(f"{where}: starts with {data[:5]!r}, not an R save() file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = rdata.parser.parse_data(data, altrep_constructor_dict=_r_wrappers())
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


def _r_wrappers() -> dict[bytes, Any]:
    """Return how R's stand-ins for other vectors are read: none that a few bytes make long."""
    from rdata.parser import DEFAULT_ALTREP_MAP

    return {name: make for name, make in DEFAULT_ALTREP_MAP.items() if name.startswith(b"wrap_")}


def _part_sizes(file: MatFile, view: str) -> list[int]:
    sizes = []
    for variable in _VARIABLES[view]:
        shape = file.shape(variable)
        if len(shape) != 2 or shape[1] != COLUMNS[view]:
            raise DataError(
                f"{file.path}: {variable} has shape {shape}, expected rows × {COLUMNS[view]}"
            )
        sizes.append(shape[0])
    return sizes


def _stack(
    file: MatFile, variables: Sequence[str], columns: int, sizes: Sequence[int]
) -> NDArray[np.float32]:
    # One variable in memory at a time beside the result: the full XRMB has 1.6 million rows.
    stacked = np.empty((sum(sizes), columns), dtype=np.float32)
    stops = np.cumsum(sizes)
    for variable, stop, size in zip(variables, stops, sizes, strict=True):
        # What is no finite number is refused when the arrays are checked.
        with np.errstate(over="ignore", invalid="ignore"):
            stacked[stop - size : stop] = file.read(variable)
    return stacked


def _integers(file: MatFile, variables: Sequence[str], sizes: Sequence[int]) -> NDArray[np.int32]:
    parts = []
    for variable, size in zip(variables, sizes, strict=True):
        values = file.read(variable).ravel()
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int32)
        if len(values) != size or not np.array_equal(whole, values):
            raise DataError(f"{file.path}: {variable} must hold {size} whole numbers")
        parts.append(whole)
    return np.concatenate(parts)
