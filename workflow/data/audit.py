"""The leak audit: what test and tuning rows have in common with training rows.

Two ways of leaking are counted: a row that stands in both parts, and, for windowed speech, a
row one of whose frames also stands in a window of the other part. Either lets a method that
remembers look better than it is.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workflow.data.splits import Split
from workflow.lib.job import job
from workflow.lib.provenance import check, read_prepared, write_csv

_CHUNK = 2048
# A row equal in one view alone is common in real data (an empty half of a picture) and gives
# little away; these two tell a method what to answer.
_TELLING = {
    "duplicate in both": "also stand among the training rows",
    "shared frame": "share a frame with training rows",
}


def leak_audit(
    split: Split, x: NDArray[Any], y: NDArray[Any], *, frame_columns: int | None
) -> list[dict[str, Any]]:
    """Count the rows of tune and of test that training rows give away.

    Each part and kind of leak gives one row of a table. For windowed data `frame_columns` columns
    of `x` make one frame (39 in the speech sets); a row then also counts if one of its frames
    equals a frame of a training row.
    """
    keys = {"duplicate in x": row_keys(x)[:, None], "duplicate in y": row_keys(y)[:, None]}
    keys["duplicate in both"] = row_keys(np.column_stack(list(keys.values())))[:, None]
    if frame_columns is not None:
        keys["shared frame"] = frame_keys(x, frame_columns)
    found = []
    for part in ("tune", "test"):
        rows = getattr(split, part)
        for kind, key in keys.items():
            leaked = int(_is_in(key[rows], key[split.train]).any(axis=1).sum())
            share = leaked / len(rows) if len(rows) else 0.0
            found.append(
                {"part": part, "kind": kind, "rows": leaked, "of": len(rows), "share": share}
            )
    return found


def _is_in(keys: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which keys are among others; `numpy.isin` takes hundreds of bytes for each."""
    known = np.sort(others, axis=None)
    found: NDArray[np.bool_] = (
        known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys
    )
    return found


def row_keys(array: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a 64-bit key per row: equal rows have equal keys, others all but surely not."""
    keys = np.empty(len(array), dtype=np.uint64)
    for start in range(0, len(array), _CHUNK):
        block = np.asarray(array[start : start + _CHUNK])
        if block.dtype.kind == "f":
            block = block + 0.0  # −0.0 equals 0.0 but has other bytes
        flat = np.ascontiguousarray(block).reshape(len(block), -1)
        digests = b"".join(hashlib.blake2b(row.data, digest_size=8).digest() for row in flat)
        keys[start : start + len(block)] = np.frombuffer(digests, dtype="<u8")
    return keys


def frame_keys(array: NDArray[Any], frame_columns: int) -> NDArray[np.uint64]:
    """Return the keys of each row's frames, of shape (rows, frames)."""
    rows, columns = array.shape
    if columns % frame_columns:
        raise ValueError(f"{columns} columns are not whole frames of {frame_columns}")
    frames = columns // frame_columns
    keys = np.empty((rows, frames), dtype=np.uint64)
    for frame in range(frames):
        keys[:, frame] = row_keys(array[:, frame * frame_columns : (frame + 1) * frame_columns])
    return keys


def leak_lines(leaks: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Return a sentence per experiment and way in which training rows give test rows away."""
    lines = []
    for name, title in titles.items():
        rows = leaks[(leaks["experiment"] == name) & (leaks["part"] == "test")]
        for row in rows[rows["kind"].isin(_TELLING) & (rows["rows"] > 0)].to_dict("records"):
            how = _TELLING[row["kind"]]
            lines.append(f"{title}: {row['rows']} of {row['of']} test rows {how}")
    return lines


if __name__ == "__main__":
    with job(snakemake):
        data = read_prepared(snakemake.input.data)
        check(snakemake.input.split)
        split = Split.load(snakemake.input.split, n_rows=data.n_rows)
        frame_columns = data.meta.get("frame_columns")
        leaks = leak_audit(split, data.x, data.y, frame_columns=frame_columns)
        write_csv(snakemake.output[0], pd.DataFrame(leaks))
