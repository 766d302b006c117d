"""Stage maps: seconds to draw each map and to compute its features, against d and m."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from rnca._core.rows import FloatArray, View, grid
from rnca.features import FEATURE_MAPS, FeatureMap
from workflow.lib.job import job
from workflow.lib.provenance import write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.maps.fit import MAPS

TIME_COLUMNS = ["feature_map", "what", "d", "m", "rows", "repeat", "seconds", "cpu_seconds"]
# What a pass over the data maps at a time.
_CHUNK = 2048
# Maps take turns within a repeat, so that a disturbance affects all of them.
REPEATS = 3


def time_maps(timing: SimpleNamespace) -> pd.DataFrame:
    """Time the draw of each map at the largest m, and its features at every m.

    What is timed are float32 features of normal rows, in chunks as a pass over the data computes
    them.

    Parameters
    ----------
    timing : SimpleNamespace
        ``dimensions``, ``timed_features`` and ``timed_rows`` of the settings, with ``name`` and
        ``seed`` of the run.

    Returns
    -------
    DataFrame
        One row per map, d, m, repeat and ``what`` ("draw" or "features"), with the columns
        `TIME_COLUMNS`.
    """
    records: list[dict[str, Any]] = []
    for d in tqdm(timing.dimensions, "columns", unit="d"):
        records += [{"d": d, **record} for record in _times(timing, d)]
    return pd.DataFrame(records)[TIME_COLUMNS]


def _times(timing: SimpleNamespace, d: int) -> Iterator[dict[str, Any]]:
    largest = max(timing.timed_features)
    seed = derived_seed(timing.seed, "maps", timing.name, "times", d)
    shape = (max(timing.timed_rows, largest), d)
    X = np.random.default_rng(seed).standard_normal(shape, np.float32)
    maps = {}
    for name in MAPS:
        # Normal rows are 2d apart on average: the width that the median heuristic gives.
        unfitted = FEATURE_MAPS[name](largest, gamma=0.5 / d, random_state=seed, dtype="float32")
        with _timed() as times:
            maps[name] = unfitted.fit_view(View(X))
        yield {"feature_map": name, "what": "draw", "m": largest, "rows": 0, "repeat": 0, **times}
    X = X[: timing.timed_rows]
    # Their memory is already touched.
    outs = {m: np.ones((len(X), m), np.float32) for m in timing.timed_features}
    for repeat, m, name in product(range(REPEATS), timing.timed_features, MAPS):
        with _timed() as times:
            _evaluate(maps[name].prefix(m), X, outs[m])
        features = {"feature_map": name, "what": "features", "m": m, "rows": len(X)}
        yield {**features, "repeat": repeat, **times}


def _evaluate(fitted: FeatureMap, X: FloatArray, out: FloatArray) -> None:
    for low, high in grid(0, len(X), _CHUNK):
        fitted.features(X[low:high], out[low:high])


@contextmanager
def _timed() -> Iterator[dict[str, float]]:
    """Fill in, at the end, seconds of the clock and of all threads of this process."""
    times: dict[str, float] = {}
    started, cpu_started = perf_counter(), process_time()
    yield times
    times["seconds"], times["cpu_seconds"] = (
        perf_counter() - started,
        process_time() - cpu_started,
    )


if __name__ == "__main__":
    with job(snakemake) as asked:
        write_csv(snakemake.output[0], time_maps(asked))
