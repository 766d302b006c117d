"""What is measured of our own fits: speed, a path, a choice, growth with n and m, memory.

The pass over the rows counts as 4·n·m² flops: two covariances of which half is needed, and the
cross-covariance. Memory is the anonymous one (RssAnon of /proc/self/status), which leaves out pages
of the memory-mapped inputs; the kernel keeps no peak of it.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import inf
from multiprocessing import get_context
from pathlib import Path
from statistics import harmonic_mean
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.common import CHUNK, SEED, Data, Row, Settings, estimator, medians, say, seconds
from rnca import RCCA, RCCACV

_MAPS = ("fourier", "nystroem")
# What cross-validation chooses among, at three sizes.
_REGS = (1e-6, 1e-4, 1e-2)
_FOLDS = 5
_BLOCK = 8192
_VIEWS = ("x.npy", "y.npy")
_STATUS = Path("/proc/self/status")
_SAMPLE_SECONDS = 0.003


def roof(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure the pass and the whole fit at each m beside numpy's matrix product."""
    for m in settings.roof:
        for kind in _MAPS:
            yield _beside_dgemm("roof", settings, data, kind, (m,), settings.budget)


def path(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure all models of a path from one pass."""
    for kind in _MAPS:
        yield _beside_dgemm("path", settings, data, kind, settings.path)


def choice(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure the choice of m and reg by cross-validation, beside scikit-learn's grid search."""
    n, k = min(settings.growth_at[0], len(data.x)), settings.components
    x, y, sizes = data.x[:n], data.y[:n], [settings.growth_at[1] // part for part in (4, 2, 1)]
    say(f"choice: n = {n}, m = {sizes}")
    ours = RCCACV(k, sizes=sizes, regs=_REGS, cv=_FOLDS, random_state=SEED)
    grid = {"n_features": sizes, "reg": list(_REGS)}
    theirs = GridSearchCV(estimator(k, sizes[-1]), grid, cv=KFold(_FOLDS))

    def measure() -> Row:
        models = {"fit": estimator(k, sizes[-1]), "ours": ours, "grid": theirs}
        return {name: seconds(partial(model.fit, x, y))[0] for name, model in models.items()}

    found = medians(measure, settings.repeats, settings.budget)
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
        rates = _dgemm_rates(m, settings.least)
        drawing = seconds(lambda: model.draw(data.x, data.y))[0]
        passing, moments = seconds(lambda: model.accumulate(data.x, data.y))
        solving = seconds(lambda: model.solve(moments))[0]
        others = seconds(lambda: model.path(list(sizes[:-1])))[0] if sizes[:-1] else 0.0
        rates += _dgemm_rates(m, settings.least)
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


def _dgemm_rates(m: int, least: float) -> list[float]:
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


def growth(settings: Settings, data: Data) -> Iterator[Row]:
    """Measure fits against the number of rows, from disk, and of features, from memory."""
    rows, m = settings.growth_at
    _write_longer(data, max(settings.growth_n))
    for n in settings.growth_n:
        yield _grown("n", settings, m, *_rows_on_disk(data.directory, n))
    for m in settings.growth_m:
        yield _grown("m", settings, m, data.x[:rows], data.y[:rows])


def _grown(against: str, settings: Settings, m: int, x: Any, y: Any) -> Row:
    say(f"growth: n = {len(x)}, m = {m}")
    model = estimator(settings.components, m)
    _warm_up(model, x, y)
    found = medians(
        lambda: {"seconds": seconds(lambda: model.fit(x, y))[0]}, settings.repeats, settings.budget
    )
    return {"against": against, "n": len(x), "m": m, **found}


def memory(settings: Settings, data: Data) -> Iterator[Row]:
    """Fit in a process of its own for each number of rows."""
    if not _STATUS.is_file():
        raise RuntimeError(f"{_STATUS} is not there: memory is measured on Linux only.")
    m = settings.m
    _write_longer(data, max(settings.memory_n))
    for n in settings.memory_n:
        say(f"memory: n = {n}")
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            used = process.submit(_peak_memory, data.directory, n, m, settings.components).result()
        # Three moments and D, and the features of both views in two chunks.
        expected = 4 * 8 * m**2 + 2 * 2 * 8 * CHUNK * m
        yield {"n": n, "m": m, **used, "expected_MB": expected / 1e6}


def _write_longer(data: Data, n: int) -> None:
    """Write views of n rows: those in memory again and again, with noise."""
    rng = np.random.default_rng(SEED)
    for name, view in zip(_VIEWS, (data.x, data.y), strict=True):
        shape = n, view.shape[1]
        file = np.lib.format.open_memmap(data.directory / name, "w+", np.float32, shape)
        spread = np.float32(0.1 * view[:_BLOCK].std())
        for start in range(0, n, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, n)) % len(view)
            noise = rng.standard_normal((len(rows), view.shape[1]), dtype=np.float32)
            file[start : start + len(rows)] = view[rows] + spread * noise
        file.flush()


def _rows_on_disk(directory: Path, n: int) -> list[Any]:
    """Return the first n rows of both views that `_write_longer` wrote, as memory maps."""
    return [np.load(directory / name, mmap_mode="r")[:n] for name in _VIEWS]


def _anonymous_bytes() -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{_STATUS} has no RssAnon: it needs Linux 4.5 or newer.")


def _peak_memory(directory: Path, n: int, m: int, components: int) -> Row:
    """Fit once; return the peak of memory beyond what was there before, sampled by a thread."""
    x, y = _rows_on_disk(directory, n)
    before = _anonymous_bytes()
    samples = [before]
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            samples.append(_anonymous_bytes())

    watch = threading.Thread(target=sample)
    watch.start()
    try:
        model = estimator(components, m).fit(x, y)
        samples.append(_anonymous_bytes())
        del model
    finally:
        ended.set()
        watch.join()
    return {"peak_MB": (max(samples) - before) / 1e6, "input_MB": (x.nbytes + y.nbytes) / 1e6}


def _warm_up(model: RCCA, x: Any, y: Any) -> None:
    """Map and sum one chunk, so that memory and threads are there."""
    model.draw(x, y).accumulate(x, y, 0, min(CHUNK, len(x)))
