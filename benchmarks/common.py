"""What the benchmarks share: sizes, data, the model that is measured, and clocks."""

import gc
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnca import RCCA
from workflow.data.catalogue import availability, dataset, prepare
from workflow.data.fetch import default_cache

REG = 1e-8
SEED = 2014
CHUNK = 2048
_COLUMNS = 392

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What is measured, and how often."""

    n: int = 54_000  # rows of the fits
    few: int = 5_400  # rows for peers that would take hours at n
    roof: tuple[int, ...] = (1000, 2000, 4000, 6000)  # numbers of features m
    path: tuple[int, ...] = (1000, 2000, 3000, 4000, 5000, 6000)
    m: int = 2000  # features in the other parts
    components: int = 50
    growth_n: tuple[int, ...] = (2_000, 6_000, 20_000, 60_000, 180_000, 540_000)
    growth_m: tuple[int, ...] = (500, 1000, 2000, 4000)
    growth_at: tuple[int, int] = (20_000, 1000)  # n at which m grows, m at which n grows
    memory_n: tuple[int, ...] = (5_400, 54_000, 540_000)
    repeats: int = 3  # of which medians are reported
    budget: float = 120.0  # seconds after which no further repeat of a measurement is begun
    least: float = 2.0  # seconds for which numpy's own product is repeated at least
    authors: Path | None = None  # the authors' R code

    def up_to(self, most: int) -> "Settings":
        """Leave out what has more than ``most`` features."""

        def kept(sizes: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(m for m in sizes if m <= most) or (most,)

        return replace(
            self,
            roof=kept(self.roof),
            path=kept(self.path),
            m=min(self.m, most),
            growth_m=kept(self.growth_m),
            growth_at=(self.growth_at[0], min(self.growth_at[1], most)),
        )


QUICK = Settings(
    n=4_000,
    few=2_000,
    roof=(100, 200, 400),
    path=(100, 200, 300, 400),
    m=200,
    components=10,
    growth_n=(500, 1_000, 2_000, 4_000, 8_000),
    growth_m=(100, 200, 400),
    growth_at=(2_000, 100),
    memory_n=(2_000, 32_000),
    repeats=2,
    budget=1.0,
    least=0.05,
)


class Data(NamedTuple):
    """Two views in memory, what they are, and a directory for longer ones."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.float32]
    source: str
    directory: Path


def load(n: int, directory: Path) -> Data:
    """Return n rows of the halves of MNIST if they are at hand, else of synthetic views."""
    entry, cache = dataset("mnist"), default_cache()
    where = availability(entry, cache)
    if where not in ("in the cache", "in the mirror"):
        source = f"{n:,} synthetic rows (MNIST is neither in the cache nor in RNCA_MIRROR)"
        x, y = _synthetic(n)
        return Data(x, y, f"{source}, {_COLUMNS} columns in each view", directory)
    with tempfile.TemporaryDirectory() as place:
        own_cache = cache if where == "in the cache" else Path(place, "cache")
        prepared = prepare("mnist", Path(place, "mnist"), cache=own_cache)
        rows = np.random.default_rng(SEED).permutation(prepared.n_rows)[:n]
        x, y = (view[rows].astype(np.float32) for view in (prepared.x, prepared.y))
    source = f"{len(x):,} random digits of MNIST, left and right halves (392 pixels each)"
    return Data(x, y, source, directory)


def _synthetic(n: int) -> list[npt.NDArray[np.float32]]:
    """Make nonlinear views of shared latent variables, with noise of their own."""
    rng = np.random.default_rng(SEED)
    latent = rng.standard_normal((n, 40))
    views = []
    for _ in range(2):
        signal = np.tanh(latent @ rng.standard_normal((40, _COLUMNS)) / 6)
        noise = rng.standard_normal((n, _COLUMNS))
        views.append((signal + 0.3 * noise).astype(np.float32))
    return views


def estimator(components: int, m: int, feature_map: str = "fourier") -> RCCA:
    """Return the unfitted model that every part measures."""
    return RCCA(components, feature_map=feature_map, n_features=m, reg=REG, random_state=SEED)


def say(what: str) -> None:
    """Show what is measured next."""
    print(what, file=sys.stderr, flush=True)


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds a call takes, and its value."""
    started = perf_counter()
    value = call()
    return perf_counter() - started, value


def medians(measure: Callable[[], Row], repeats: int, budget: float = inf) -> Row:
    """Repeat a measurement: medians of its floats, the rest from the last, and ``repeats``."""
    found: list[Row] = []
    started = perf_counter()
    while not found or (len(found) < repeats and perf_counter() - started < budget):
        found.append(measure())
        gc.collect()
    together = {
        key: median(row[key] for row in found) if isinstance(value, float) else value
        for key, value in found[-1].items()
    }
    return {**together, "repeats": len(found)}
