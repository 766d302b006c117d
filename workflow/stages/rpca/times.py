"""Stage rpca: wall time of exact, randomized and linear methods against the number of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from rnca.cca import RCCA
from rnca.pca import RPCA
from workflow.data.prepared import Prepared
from workflow.lib.exact import KCCA, kernel_cca, kernel_pca
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.rpca.fit import (
    MAPS,
    Rows,
    kernel_map,
    kernel_width,
    labelled,
    matched_reg,
    table,
)


class Timing(SimpleNamespace):
    """One race against the number of rows.

    Its attributes are the settings of ``times``, with ``components``, ``gamma`` and (of kernel CCA)
    ``reg`` of the analysis, ``analysis`` itself, and ``name`` and ``seed`` of experiment and run.
    """

    def derived(self, purpose: str) -> int:
        """Return the seed of one purpose."""
        return derived_seed(self.seed, "rpca", self.name, self.analysis, "times", purpose)


@dataclass(frozen=True)
class _Method:
    """A method in the race: from views to the components of all their rows."""

    name: str
    m: int | None
    sizes: Sequence[int]
    run: Callable[..., Any]


def race(timing: Timing, data: Prepared, threads: int) -> pd.DataFrame:
    """Time every method at every number of rows, one after the other.

    A time is that of the whole way from rows in memory to their components, kernel widths given.
    Features are float32 and their products float64 at every n, so that one algorithm is timed.
    ``threads`` is what the run gave this job, for the record.
    """
    views = _views(timing, data)
    gammas = [
        kernel_width(timing.gamma, view, timing.derived(f"gamma {name}"))
        for view, name in zip(views, "xy", strict=False)
    ]
    methods = list((_pca_methods if timing.analysis == "pca" else _cca_methods)(timing, gammas))
    for method in methods:  # starts threads and loads what is loaded on first use
        method.run(*(view[: min(method.sizes)] for view in views))
    entries = [
        (method, n, repeat)
        for repeat in range(timing.repeats)
        for method in methods
        for n in method.sizes
    ]
    records = []
    for method, n, repeat in tqdm(entries, desc=f"{timing.name}, times of {timing.analysis}"):
        rows = [view[:n] for view in views]
        started = perf_counter()
        method.run(*rows)
        seconds = perf_counter() - started
        records.append(
            {"method": method.name, "n": n, "m": method.m, "repeat": repeat, "seconds": seconds}
        )
    labels = {"analysis": timing.analysis, "threads": threads}
    return labelled(records, labels).astype({"m": "Int64"})


def _views(timing: Timing, data: Prepared) -> list[Rows]:
    most = max(*timing.exact, *timing.leading, *timing.random)
    if most > data.n_rows:
        raise ValueError(
            f"{most} rows to time in experiment {timing.name}: {data.name} has {data.n_rows}. "
            "Ask for no more."
        )
    drawn = np.random.default_rng(timing.derived("rows")).permutation(data.n_rows)[:most]
    views = [table(data)] if timing.analysis == "pca" else [data.x, data.y]
    return [view[drawn] for view in views]


def _pca_methods(timing: Timing, gammas: list[float]) -> Iterator[_Method]:
    k, seed, (gamma,) = timing.components, timing.derived("features"), gammas

    def exactly(solver: str) -> Callable[..., Any]:
        return lambda x: kernel_pca(x, k, gamma=gamma, solver=solver)

    def randomly(feature_map: Any) -> Callable[..., Any]:
        model = RPCA(k, feature_map=feature_map, random_state=seed)
        return lambda x: model.fit_transform(x)

    yield _Method("exact", None, timing.exact, exactly("dense"))
    if timing.leading:
        yield _Method("leading", None, timing.leading, exactly("leading"))
    yield _Method("linear", None, timing.random, randomly("linear"))
    for name in MAPS:
        features = kernel_map(name, timing.features, gamma)
        yield _Method(name, timing.features, timing.random, randomly(features))


def _cca_methods(timing: Timing, gammas: list[float]) -> Iterator[_Method]:
    k, seed = timing.components, timing.derived("features")

    def exactly(x: Rows, y: Rows) -> Any:
        return kernel_cca(x, y, k, gamma=gammas, reg=timing.reg)

    def linearly(x: Rows, y: Rows) -> Any:
        return RCCA(k, feature_map="linear").fit(x, y).transform(x, y)

    def randomly(name: str) -> Callable[..., Any]:
        maps = tuple(kernel_map(name, timing.features, gamma) for gamma in gammas)

        def run(x: Rows, y: Rows) -> Any:
            reg = matched_reg(timing.reg, name, timing.features, len(x))
            model = RCCA(k, feature_map=maps, reg=reg, random_state=seed)
            return model.fit(x, y).transform(x, y)

        return run

    def leading(x: Rows, y: Rows) -> Any:
        model = KCCA(k, gamma=gammas, reg=timing.reg, seed=seed)
        return model.fit(x, y).transform(x, y)

    yield _Method("exact", None, timing.exact, exactly)
    if timing.leading:
        yield _Method("leading", None, timing.leading, leading)
    yield _Method("linear", None, timing.random, linearly)
    for name in MAPS:
        yield _Method(name, timing.features, timing.random, randomly(name))


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        run = {"name": asked.name, "seed": asked.seed}
        races = [race(Timing(**each, **run), data, snakemake.threads) for each in asked.timings]
        write_csv(snakemake.output[0], pd.concat(races, ignore_index=True))
