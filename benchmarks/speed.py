"""Speed of the fit: against the machine's own matrix product, over a path of models, and growing.

The pass over the rows counts as 4·n·m² flops: two covariances of which half is needed, and the
cross-covariance.
"""

from collections.abc import Iterator
from math import inf
from statistics import harmonic_mean
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.common import (
    CHUNK,
    MAPS,
    SEED,
    Data,
    Row,
    Settings,
    estimator,
    medians,
    rows_on_disk,
    say,
    seconds,
)
from rnca import RCCA, RCCACV

# What cross-validation chooses among, at three sizes.
_REGS = (1e-6, 1e-4, 1e-2)
_FOLDS = 5


def roof(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure the pass and the whole fit at each m beside numpy's matrix product."""
    for m in settings.roof:
        for kind in MAPS:
            yield _beside_dgemm("roof", settings, data, kind, (m,), settings.budget)


def path(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure all models of a path from one pass."""
    for kind in MAPS:
        yield _beside_dgemm("path", settings, data, kind, settings.path)


def growth(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure fits against the number of rows, from disk, and of features, from memory."""
    rows, m = min(settings.growth_at[0], len(data.x)), settings.growth_at[1]
    data.write_longer(max(settings.growth_n))
    for n in settings.growth_n:
        yield from _grown("n", settings, m, *rows_on_disk(data.directory, n))
    for m in settings.growth_m:
        yield from _grown("m", settings, m, data.x[:rows], data.y[:rows])


def choice(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure the choice of m and reg by cross-validation, beside scikit-learn's grid search."""
    n, k = min(settings.growth_at[0], len(data.x)), settings.components
    x, y, sizes = data.x[:n], data.y[:n], [settings.growth_at[1] // part for part in (4, 2, 1)]
    say(f"choice: n = {n}, m = {sizes}")
    ours = RCCACV(k, sizes=sizes, regs=_REGS, cv=_FOLDS, random_state=SEED)
    grid = {"n_features": sizes, "reg": list(_REGS)}
    theirs = GridSearchCV(estimator(k, sizes[-1]), grid, cv=KFold(_FOLDS))
    found = medians(
        lambda: {
            "fit": seconds(lambda: estimator(k, sizes[-1]).fit(x, y))[0],
            "ours": seconds(lambda: ours.fit(x, y))[0],
            "grid": seconds(lambda: theirs.fit(x, y))[0],
        },
        settings.repeats,
        settings.budget,
    )
    yield {
        "n": n,
        "sizes": ", ".join(map(str, sizes)),
        "regs": len(_REGS),
        "folds": _FOLDS,
        "ours_of_fit": found["ours"] / found["fit"],
        "grid_of_ours": found["grid"] / found["ours"],
        **{f"{name}_seconds": found[name] for name in ("fit", "ours", "grid")},
        "repeats": found["repeats"],
    }


def _grown(against: str, settings: Settings, m: int, x: Any, y: Any) -> Iterator[Row]:
    say(f"growth: n = {len(x)}, m = {m}")
    model = estimator(settings.components, m)
    _warm_up(model, x, y)
    found = medians(
        lambda: {"seconds": seconds(lambda: model.fit(x, y))[0]}, settings.repeats, settings.budget
    )
    yield {"against": against, "n": len(x), "m": m, **found}


def _beside_dgemm(
    part: str,
    settings: Settings,
    data: Data,
    kind: str,
    sizes: tuple[int, ...],
    budget: float = inf,
) -> Row:
    """Time the steps of a fit at the last size, the models of the others, and the same flops."""
    say(f"{part}: {kind}, m = {sizes[-1]}")
    m, flops = sizes[-1], 4.0 * len(data.x) * sizes[-1] ** 2
    model = estimator(settings.components, m, kind)

    def measure() -> Row:
        _warm_up(model, data.x, data.y)
        rates = dgemm_rates(m, settings.least)
        drawing = seconds(lambda: model.draw(data.x, data.y))[0]
        passing, moments = seconds(lambda: model.accumulate(data.x, data.y))
        solving = seconds(lambda: model.solve(moments))[0]
        others = seconds(lambda: model.path(list(sizes[:-1])))[0] if sizes[:-1] else 0.0
        rates += dgemm_rates(m, settings.least)
        return {
            "draw_seconds": drawing,
            "pass_seconds": passing,
            "solve_seconds": solving,
            "others_seconds": others,
            "dgemm_seconds": flops / harmonic_mean(rates),
        }

    found = medians(measure, settings.repeats, budget)
    whole = sum(found[f"{step}_seconds"] for step in ("draw", "pass", "solve", "others"))
    return {
        "feature_map": kind,
        "n": len(data.x),
        "sizes": ", ".join(map(str, sizes)),
        "pass_of_dgemm": found["dgemm_seconds"] / found["pass_seconds"],
        "whole_of_dgemm": found["dgemm_seconds"] / whole,
        "seconds": whole,
        **found,
    }


def _warm_up(model: RCCA, x: Any, y: Any) -> None:
    """Map and sum one chunk, so that memory and threads are there."""
    model.draw(x, y).accumulate(x, y, 0, min(CHUNK, len(x)))


def dgemm_rates(m: int, least: float) -> list[float]:
    """Return the flops per second of AᵀB, A and B of a chunk's shape, repeated for some time."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((CHUNK, m)) for _ in range(2))
    out = np.empty((m, m))
    np.matmul(a.T, b, out=out)
    rates: list[float] = []
    started = perf_counter()
    while not rates or perf_counter() - started < least:
        rates.append(2.0 * CHUNK * m**2 / seconds(lambda: np.matmul(a.T, b, out=out))[0])
    return rates
