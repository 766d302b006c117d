"""The deployed side: a pickled model's rows per second and latency, one view."""

import pickle
from functools import partial
from statistics import median

import numpy as np

from data import Data
from jobs import Job, Row, seconds
from rnca import RCCA
from roof import estimator
from sizes import MAPS, Settings


def jobs(settings: Settings, data: Data) -> list[Job]:
    """List one measurement for each map."""
    work = 4.0 * settings.few * settings.m**2 + 1e12 * (settings.latencies / 5_000)
    return [
        Job("serving", f"serving: {kind}", work, partial(_serve, settings, data, kind))
        for kind in MAPS
    ]


def _serve(settings: Settings, data: Data, kind: str) -> list[Row]:
    fitted = estimator(settings, kind, settings.m).fit(
        data.x[: settings.few], data.y[: settings.few]
    )
    pickled = pickle.dumps(fitted)
    model: RCCA = pickle.loads(pickled)
    common = {
        "feature_map": kind,
        "m": settings.m,
        "components": settings.components,
        "pickle_bytes": len(pickled),
    }
    return [
        {**common, "batch": batch, **_rate(settings, model, data, batch)}
        for batch in settings.batches
    ]


def _rate(settings: Settings, model: RCCA, data: Data, batch: int) -> Row:
    rows = data.x[np.arange(batch) % len(data.x)]
    model.transform(rows)
    if batch == 1:
        times = [
            seconds(lambda row=row: model.transform(row))[0]  # type: ignore[misc]
            for row in (data.x[i % len(data.x)][None] for i in range(settings.latencies))
        ]
        p50, p99 = np.quantile(times, [0.5, 0.99])
        return {"rows_per_second": 1 / p50, "p50_seconds": p50, "p99_seconds": p99}
    times = []
    while len(times) < settings.repeats or sum(times) < settings.least:
        times.append(seconds(lambda: model.transform(rows))[0])
    return {"rows_per_second": batch / median(times)}
