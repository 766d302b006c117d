"""Two views to measure on: halves of MNIST where they are at hand, else synthetic ones."""

import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rnca.datasets.catalogue import availability, dataset, prepare
from rnca.datasets.fetch import default_cache
from settings import SEED

_COLUMNS = 392
_BLOCK = 8192

View = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Data:
    """Two views in memory.

    Attributes
    ----------
    x, y : ndarray of shape (n, 392)
    source : str
        What they are, for the page.
    """

    x: View
    y: View
    source: str


def load(n: int) -> Data:
    """Return n rows of two views with 392 columns each; no network is used."""
    entry, cache = dataset("mnist"), default_cache()
    where = availability(entry, cache)
    if where not in ("in the cache", "in the mirror"):
        return _synthetic(n)
    with tempfile.TemporaryDirectory() as place:
        own_cache = cache if where == "in the cache" else Path(place, "cache")
        prepared = prepare("mnist", Path(place, "mnist"), cache=own_cache)
        rows = np.random.default_rng(SEED).permutation(prepared.n_rows)[:n]
        x, y = (view[rows].astype(np.float32) for view in (prepared.x, prepared.y))
    return Data(x, y, f"{len(x):,} random digits of MNIST, left and right halves (392 pixels each)")


def _synthetic(n: int) -> Data:
    """Nonlinear views of shared latent variables, with noise of their own."""
    rng = np.random.default_rng(SEED)
    latent = rng.standard_normal((n, 40))
    x, y = (
        np.tanh(latent @ rng.standard_normal((40, _COLUMNS)) / 6)
        + 0.3 * rng.standard_normal((n, _COLUMNS))
        for _ in range(2)
    )
    source = f"{n:,} synthetic rows (MNIST is neither in the cache nor in RNCA_MIRROR), "
    return Data(
        x.astype(np.float32), y.astype(np.float32), f"{source}{_COLUMNS} columns in each view"
    )


class LargeFile:
    """Both views stretched to many rows on disk: rows of the data, repeated with noise.

    Parameters
    ----------
    data : Data
    n : int
        Rows of the file.
    parent : Path
        Where a directory is made for it; `remove` deletes it.
    """

    def __init__(self, data: Data, n: int, parent: Path) -> None:
        self.data, self.n, self.parent = data, n, parent

    @cached_property
    def directory(self) -> Path:
        """The directory with ``x.npy`` and ``y.npy``, written when first asked for."""
        self.parent.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix=".large-", dir=self.parent))
        rng = np.random.default_rng(SEED)
        for name, view in (("x", self.data.x), ("y", self.data.y)):
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
