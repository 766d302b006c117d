"""MATLAB files of version 5 to 7, numeric matrices only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from rnca._core.files import MOST_IN_A_BYTE
from workflow.data.errors import DataError

_NUMERIC = {"single": 4, "double": 8, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_LIMIT = 1 << 36


class MatFile:
    """A .mat file whose numeric variables are listed at once (`shapes`) and read one by one.

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

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a variable's shape, or raise DataError with the names there are.

        It is one that the file can hold: who takes memory for it need not fear what it announces.
        """
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
        return shape

    def read(self, name: str) -> NDArray[Any]:
        """Read one variable."""
        shape = self.shape(name)
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
