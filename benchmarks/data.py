"""Two views to measure on: halves of MNIST where they are at hand, else synthetic ones."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from large import View
from sizes import SEED
from workflow.data.catalogue import availability, dataset, prepare
from workflow.data.fetch import default_cache

_COLUMNS = 392


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
