"""Animals with Attributes (AwA1): SURF histograms, one pickled array per class.

Pickles can run code. These are read by an unpickler that knows what numpy makes an array of, and
nothing else.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from workflow.data import DataError
from workflow.data.archives import unpacked
from workflow.data.prepared import Content


def parse(files: Mapping[str, Path]) -> Content:
    """Return ``x`` (30475 × 2000 counts), ``labels`` and ``attributes`` (50 × 85)."""
    classes, predicates = (read_names(files[f"{of}.txt"]) for of in ("classes", "predicates"))
    attributes = np.loadtxt(files["predicate-matrix-binary.txt"], dtype=np.uint8)
    counts = [
        read_counts(files[f"{name}-surf.pic.bz2"])
        for name in tqdm(classes, desc="AwA classes", disable=None)
    ]
    x = np.concatenate(counts)
    labels = np.repeat(np.arange(len(classes), dtype=np.uint8), [len(part) for part in counts])
    arrays: dict[str, NDArray[Any]] = {"x": x, "labels": labels, "attributes": attributes}
    return Content(arrays, {"class_names": classes, "attribute_names": predicates})


def read_counts(path: Path) -> NDArray[np.uint16]:
    """Read one class: bzip2'd pickle of N × 2000 float64 counts, returned exactly as uint16."""
    data = unpacked(path.read_bytes())
    # Python 2 wrote the bytes of an array as a string.
    values: NDArray[np.float64] = _ArrayUnpickler(io.BytesIO(data), encoding="latin1").load()
    return values.astype(np.uint16)


def read_names(path: Path) -> list[str]:
    """Read ``number name`` lines."""
    return [line.split()[1] for line in path.read_text(encoding="ascii").splitlines()]


_ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise DataError(
                f"refused: the pickle asks for {module}.{name}, but only numpy arrays are "
                "admitted; nothing of it was run"
            ) from None
