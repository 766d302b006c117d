"""Models of all m from one pass, against the time that its flops alone take."""

from functools import partial
from math import inf
from statistics import harmonic_mean

import numpy as np

from data import Data
from jobs import Job, Row, medians, seconds
from roof import estimator, fit_phases, gemm_rates, warm_up
from sizes import MAPS, Settings

PHASES = ("draw", "pass", "whiten", "SVDs")


def jobs(settings: Settings, data: Data) -> list[Job]:
    """List the paths of each map."""
    top = max(settings.path)
    return [
        Job(
            "path",
            f"path: {kind}, m up to {top}",
            1.3 * 4.0 * settings.n * top**2 * settings.repeats,
            partial(_path, settings, data, kind),
        )
        for kind in MAPS
    ]


def _path(settings: Settings, data: Data, kind: str) -> list[Row]:
    top = max(settings.path)
    warm_up(settings, data, kind, top)
    # A path takes minutes, in which the machine's speed changes: repeated whatever the budget.
    found = medians(partial(_once, settings, data, kind), settings.repeats, inf)
    common = {
        "feature_map": kind,
        "n": len(data.x),
        "sizes": " ".join(map(str, settings.path)),
        "dgemm_gflops": found["dgemm_gflops"],
        "floor_seconds": 4.0 * len(data.x) * top**2 / found["dgemm_gflops"] / 1e9,
        "repeats": found["repeats"],
    }
    return [
        {**common, "phase": phase, "components": k, "seconds": spent, "share": spent / whole,
         "of_floor": common["floor_seconds"] / whole}
        for k, named in ((settings.components, PHASES), (settings.many, (*PHASES[:-1], "many")))
        for whole in [sum(found[name] for name in named)]
        for phase, spent in [*((p, found[name]) for p, name in zip(PHASES, named, strict=True)),
                             ("whole", whole)]
    ]  # fmt: skip


def _once(settings: Settings, data: Data, kind: str) -> Row:
    top = max(settings.path)
    rates = gemm_rates(top, np.float64, settings.least)
    model = estimator(settings, kind, top)
    phases = fit_phases(model, data)
    smaller = seconds(lambda: model.path([m for m in settings.path if m != top]))[0]
    # The factors are kept: solving again at the largest m costs its SVD and nothing else.
    largest = seconds(lambda: model.path([top]))[0]
    model.set_params(n_components=settings.many)
    many = seconds(lambda: model.path(list(settings.path)))[0]
    rates += gemm_rates(top, np.float64, settings.least)
    return {
        "draw": phases["draw"],
        "pass": phases["pass"],
        "whiten": phases["solve"] - largest,
        "SVDs": smaller + largest,
        "many": many,
        "dgemm_gflops": harmonic_mean(rates) / 1e9,
    }
