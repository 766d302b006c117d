"""The pass and the whole fit against the machine's own matrix product."""

from functools import partial
from statistics import harmonic_mean
from time import perf_counter
from typing import Any

import numpy as np

from data import Data
from jobs import Job, Row, medians, seconds
from rnca import RCCA
from sizes import MAPS, REG, SEED, Settings

CHUNK = 2048


def jobs(settings: Settings, data: Data) -> list[Job]:
    """List the measurements at each m and map."""
    work = 4.0 * settings.n
    return [
        Job(
            "roof",
            f"roof: {kind}, m = {m}",
            2 * work * m**2 * (settings.repeats if m <= settings.m else 1),
            partial(_against_roof, settings, data, kind, m),
        )
        for m in settings.sizes
        for kind in MAPS
    ]


def gemm_rates(m: int, dtype: Any, least: float) -> list[float]:
    """Flops a second of AᵀB, A and B of one chunk's shape, again and again for some seconds."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((CHUNK, m)).astype(dtype) for _ in range(2))
    out = np.empty((m, m), dtype)
    np.matmul(a.T, b, out=out)
    rates: list[float] = []
    started = perf_counter()
    while not rates or perf_counter() - started < least:
        rates.append(2.0 * CHUNK * m**2 / seconds(lambda: np.matmul(a.T, b, out=out))[0])
    return rates


def estimator(settings: Settings, kind: str, m: int, **parameters: Any) -> RCCA:
    """Return the unfitted model that every part measures."""
    return RCCA(
        **{
            "n_components": settings.components,
            "feature_map": kind,
            "n_features": m,
            "reg": REG,
            "random_state": SEED,
            "chunk_size": CHUNK,
            **parameters,
        }
    )


def _against_roof(settings: Settings, data: Data, kind: str, m: int) -> list[Row]:
    flops = 4.0 * settings.n * m**2
    repeats = settings.repeats if m <= settings.m else 1
    warm_up(settings, data, kind, m)

    def once() -> Row:
        rates = _Rates(m, settings.least)
        phases = fit_phases(estimator(settings, kind, m), data)
        rates.measure()
        automatic = estimator(settings, kind, m)
        auto = seconds(lambda: automatic.fit(data.x, data.y))[0]
        rates.measure()
        return {
            **rates.found(),
            "pass": phases["pass"],
            "fit": sum(phases.values()),
            "automatic fit": auto,
            "accumulation": "float64",
            "accumulation_error": 0.0,
        }

    found = medians(once, repeats, settings.budget)
    return [
        {
            "feature_map": kind,
            "m": m,
            "n": len(data.x),
            "what": what,
            "accumulation": found["accumulation"] if what == "automatic fit" else "float64",
            "certified_error": found["accumulation_error"] if what == "automatic fit" else 0.0,
            "seconds": found[what],
            "gflops": flops / found[what] / 1e9,
            **{key: found[key] for key in ("dgemm_gflops", "dgemm_best_gflops", "sgemm_gflops")},
            "of_dgemm": flops / found[what] / 1e9 / found["dgemm_gflops"],
            "repeats": found["repeats"],
        }
        for what in ("pass", "fit", "automatic fit")
    ]


def warm_up(settings: Settings, data: Data, kind: str, m: int) -> None:
    """Map and sum one chunk, so that memory and threads are there."""
    model = estimator(settings, kind, m).draw(data.x, data.y)
    model.accumulate(data.x, data.y, 0, min(CHUNK, len(data.x)))


class _Rates:
    """What BLAS's own product does at this m, measured around what is compared with it.

    Sustained over all tries, as the pass is: a burst that is faster shows as the best.
    """

    def __init__(self, m: int, least: float) -> None:
        self.m, self.least = m, least
        self.double: list[float] = []
        self.single: list[float] = []
        self.measure()

    def measure(self) -> None:
        """Measure once more."""
        self.double += gemm_rates(self.m, np.float64, self.least)
        self.single += gemm_rates(self.m, np.float32, self.least)

    def found(self) -> Row:
        return {
            "dgemm_gflops": harmonic_mean(self.double) / 1e9,
            "dgemm_best_gflops": max(self.double) / 1e9,
            "sgemm_gflops": harmonic_mean(self.single) / 1e9,
        }


def fit_phases(model: RCCA, data: Data) -> dict[str, float]:
    """Fit by its three public steps, timed."""
    draw = seconds(lambda: model.draw(data.x, data.y))[0]
    passing, moments = seconds(lambda: model.accumulate(data.x, data.y))
    return {"draw": draw, "pass": passing, "solve": seconds(lambda: model.solve(moments))[0]}
