"""Sums of correlations over a grid of m and reg: training, tuning and test rows of one split."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rnca.cca import RCCA
from rnca.model_selection import scorer
from workflow.data.prepared import Prepared
from workflow.data.splits import Split
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.rcca.fit import Experiment

_SUMS = ("train_sum", "tune_sum", "test_sum")
_FREEDOM = ("degrees_of_freedom_x", "degrees_of_freedom_y", "noise_level", "predicted_error")


def fit_grid(experiment: Experiment, data: Prepared) -> pd.DataFrame:
    """Fit at every m and reg from one pass, to the pairs of the data or to unrelated ones.

    One row per reg and m. Where a covariance is too ill-conditioned, the sums are missing.
    """
    rows = experiment.rows(data)
    counts = dict(zip(("train", "tune", "test"), rows.sizes, strict=True))
    views = {
        part: _pairs(experiment, data, rows, part) for part, count in counts.items() if count > 1
    }
    model = experiment.estimator(views["train"]).draw(*views["train"])
    model.solve(model.accumulate(*views["train"]))
    del views["train"]
    scores = {f"{part}_sum": scorer(model.accumulate(*pair)) for part, pair in views.items()}
    found = []
    pairing = vars(experiment).get("pairing", "paired")
    for reg in experiment.regs:
        for m, fitted in _path(model, experiment.sizes(model), reg):
            labels = experiment.labels() | {"pairing": pairing, "reg": reg, "m": m}
            sums: dict[str, Any] = dict.fromkeys([*_SUMS, *_FREEDOM])
            if fitted is not None:
                sums |= {"train_sum": fitted.training_correlations_.sum()}
                sums |= {name: score(fitted.F_, fitted.G_) for name, score in scores.items()}
                sums |= {name: fitted.conditioning_[name] for name in _FREEDOM}
            totals = {f"n_{part}": count for part, count in counts.items()}
            found.append(labels | sums | {"components": experiment.components} | totals)
    return pd.DataFrame(found)


def _path(model: RCCA, sizes: list[Any], reg: float) -> Iterator[tuple[int, RCCA | None]]:
    """Yield each m with the model there, or None where there is no solution."""
    try:
        for fitted in model.path(sizes, [reg]):
            yield fitted.map_x_.n_features_out, fitted
    except (ValueError, FloatingPointError) as failure:
        if len(sizes) > 1:
            for size in sizes:
                yield from _path(model, [size], reg)
        else:
            print(f"reg = {reg:g}, m = {sizes[0]}: no solution: {failure}", file=sys.stderr)
            yield (sizes[0] if isinstance(sizes[0], int) else sizes[0][0]), None


def _pairs(experiment: Experiment, data: Prepared, rows: Split, part: str) -> tuple[Any, Any]:
    """Open both views of a part; unrelated pairs have the rows of the second in another order."""
    x, y = experiment.views(data, rows, part)
    if vars(experiment).get("pairing") == "permuted":
        seed = derived_seed(experiment.seed, "rcca", experiment.draws, experiment.repeat, "pairing")
        by_groups = experiment.split["scheme"] == "groups"
        own = getattr(rows, part)
        groups = experiment.groups(data, own) if by_groups else None
        assert y.rows is not None
        y = replace(y, rows=y.rows[shuffled(len(own), groups, np.random.default_rng(seed))])
    return x, y


def shuffled(
    n: int, groups: npt.NDArray[Any] | None, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Return the numbers of n rows in another order: at random, or whole groups at random."""
    if groups is None:
        return rng.permutation(n)
    names = rng.permutation(np.unique(groups))
    return np.concatenate([np.flatnonzero(groups == name) for name in names])


def tuned(experiment: Experiment, data: Prepared) -> pd.DataFrame:
    """Return the rows of a grid at the fixed reg and at the one with the best tuning sum.

    ``on_edge`` tells whether the latter is the least or the largest of them.
    """
    grid = fit_grid(experiment, data)
    ends = [min(experiment.regs), max(experiment.regs)]
    best = grid.nlargest(1, "tune_sum")
    rows = [
        grid[grid["reg"] == experiment.reg].assign(tuned=False, on_edge=False),
        best.assign(tuned=True, on_edge=best["reg"].isin(ends)),
    ]
    found: pd.DataFrame = pd.concat(rows, ignore_index=True)
    return found


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        make = tuned if snakemake.rule == "rcca_linear" else fit_grid
        grids = [make(Experiment(**vars(asked) | fit), data) for fit in asked.fits]
        write_csv(snakemake.output[0], pd.concat(grids, ignore_index=True))
