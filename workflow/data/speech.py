"""The authors' XRMB, acoustic (273) and articulatory (112) views: one R file.

It keeps one matrix per view and part; here the parts follow each other as train, tune, test rows
and ``given_split`` remembers which is which.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rdata
from numpy.typing import NDArray

from workflow.data.archives import unpacked
from workflow.data.prepared import Content

ACOUSTIC_FRAME_COLUMNS = 39
PAPER_TRAINING_ROWS = 30_000


def parse(files: Mapping[str, Path]) -> Content:
    """Read the authors' XRMB: one R ``save()`` file cut in parts, with x_tr, y_tr, x_te, y_te.

    The first 30,000 training rows, which the paper uses, become train; further ones tune.
    """
    data = unpacked(b"".join(path.read_bytes() for path in files.values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # It evaluates nothing of the file.
        found = rdata.conversion.convert(rdata.parser.parse_data(data))
    arrays: dict[str, NDArray[Any]] = {
        view: np.concatenate([found[f"{view}_tr"], found[f"{view}_te"]]).astype(np.float32)
        for view in ("x", "y")
    }
    arrays["given_split"] = paper_parts(len(found["x_tr"]), len(found["x_te"]))
    return Content(arrays, {"frame_columns": ACOUSTIC_FRAME_COLUMNS})


def paper_parts(n_train: int, n_test: int) -> NDArray[np.int8]:
    """Return the split of the authors' file: 30,000 training rows, the rest of them tune, test."""
    first = min(n_train, PAPER_TRAINING_ROWS)
    return np.repeat(np.arange(3, dtype=np.int8), [first, n_train - first, n_test])
