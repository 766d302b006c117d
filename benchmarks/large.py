"""A file with many rows, for what must not depend on their number."""

import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sizes import SEED

_BLOCK = 8192

View = npt.NDArray[np.float32]


class LargeFile:
    """Both views stretched to many rows on disk: rows of given ones, repeated with noise.

    Parameters
    ----------
    x, y : ndarray of shape (rows, columns)
    n : int
        Rows of the file.
    parent : Path
        Where a directory is made for it; `remove` deletes it.
    """

    def __init__(self, x: View, y: View, n: int, parent: Path) -> None:
        self.x, self.y, self.n, self.parent = x, y, n, parent

    @cached_property
    def directory(self) -> Path:
        """The directory with ``x.npy`` and ``y.npy``, written when first asked for."""
        self.parent.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix=".large-", dir=self.parent))
        rng = np.random.default_rng(SEED)
        for name, view in (("x", self.x), ("y", self.y)):
            shape = (self.n, view.shape[1])
            file = np.lib.format.open_memmap(directory / f"{name}.npy", "w+", np.float32, shape)
            spread = np.float32(0.1 * view[:_BLOCK].std())
            for start in range(0, self.n, _BLOCK):
                index = np.arange(start, min(start + _BLOCK, self.n)) % len(view)
                noise = rng.standard_normal((len(index), view.shape[1]), dtype=np.float32)
                file[start : start + len(index)] = view[index] + spread * noise
            file.flush()
        return directory

    def rows(self, n: int) -> tuple[Any, Any]:
        """Return the first n rows of both views as memory maps."""
        return open_rows(self.directory, n)

    def remove(self) -> None:
        """Delete the file, if it was ever written."""
        if "directory" in self.__dict__:
            shutil.rmtree(self.directory)


def open_rows(directory: Path, n: int) -> tuple[Any, Any]:
    """Return the first n rows of both views of a large file as memory maps."""
    x, y = (np.load(directory / f"{name}.npy", mmap_mode="r")[:n] for name in "xy")
    return x, y
