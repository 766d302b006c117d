"""Stage rcca: canonical correlations on held-out rows against the number of features (Table 1)."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from rnca._core.moments import Moments
from rnca._core.rows import shard_bounds
from rnca._core.seeding import derived_seed
from rnca.cca import RCCA
from rnca.features import NystroemFeatures, median_gamma
from workflow.data.prepared import Prepared, load_prepared
from workflow.data.splits import Split
from workflow.lib.job import job
from workflow.lib.provenance import peak_mb, write_csv
from workflow.stages.rcca.trial import Trial, Views

TUNING_COLUMNS = ["experiment", "feature_map", "repeat", "reg", "m", "tune_sum", "test_sum"]


class Experiment(Trial):
    """One fit of the stage: which rows, which map, which sizes, which seed.

    Its attributes are the settings of the experiment, those of `Trial`, and ``feature_map``.
    """

    def estimator(self, train: Views, *purpose: str | int) -> RCCA:
        """Build the unfitted model at the largest m; ``purpose`` makes the draw another one."""
        seed = derived_seed(self.seed, "rcca", self.draws, self.repeat, "features", *purpose)
        m = max(self.features)
        gamma: Any = "median"
        if self.width != 1.0:
            gamma = tuple(self.width * median_gamma(view, random_state=seed) for view in train)
        feature_map: Any = self.feature_map
        if self.same_landmarks and feature_map == "nystroem":
            # Equal seeds choose equal rows.
            gammas = gamma if isinstance(gamma, tuple) else (gamma, gamma)
            feature_map = tuple(
                NystroemFeatures(m, gamma=each, random_state=seed) for each in gammas
            )
        return RCCA(
            self.components,
            feature_map=feature_map,
            n_features=m,
            gamma=gamma,
            reg=self.reg,
            random_state=seed,
            verbose=True,
        )

    def labels(self) -> dict[str, Any]:
        """Return the columns that name this fit in every CSV of the stage."""
        return {
            "experiment": self.name,
            "feature_map": self.feature_map,
            "repeat": self.repeat,
            "reg": self.reg,
        }


@dataclass(frozen=True)
class Outcome:
    """What one fit yields, as tidy frames.

    Attributes
    ----------
    sums : DataFrame
        One row per m: sums over components, kernel widths, conditioning, sizes.
    components : DataFrame
        One row per m and component.
    timings : DataFrame
        One row per phase, and per m where the phase depends on it; the process's peak memory.
    tuning : DataFrame
        One row per m and regulariser of the grid; without rows if there is no grid.
    split : Split
    """

    sums: pd.DataFrame
    components: pd.DataFrame
    timings: pd.DataFrame
    tuning: pd.DataFrame
    split: Split


def accumulate_shard(experiment: Experiment, data: Prepared, shard: int, shards: int) -> Moments:
    """Accumulate the moments of one of ``shards`` parts of the training rows."""
    x, y = experiment.views(data, experiment.rows(data), "train")
    model = experiment.estimator((x, y))
    start, stop = shard_bounds(len(x), shards, model.chunk_size)[shard]
    return model.draw(x, y).accumulate(x, y, start, stop)


def fit_path(
    experiment: Experiment, data: Prepared, shards: Sequence[str | PathLike[str]] = ()
) -> Outcome:
    """Fit at every m from one pass and evaluate on test rows.

    Parameters
    ----------
    experiment : Experiment
    data : Prepared
    shards : sequence of path
        Files of `accumulate_shard`, in order; what is damaged is computed again. None: the pass
        is made here.
    """
    records: list[dict[str, Any]] = []
    rows = experiment.rows(data)
    train, test = experiment.views(data, rows, "train"), experiment.views(data, rows, "test")
    model = experiment.estimator(train)
    with _timed(records, "draw"):
        model.draw(*train)
    with _timed(records, "accumulate"):
        moments = _merged(model, shards, train) if shards else model.accumulate(*train)
    full = model.map_x_.n_features_out
    with _timed(records, "solve", full):
        model.solve(moments)
    sizes: Sequence[Any] = experiment.features
    both: Sequence[Any] = sizes
    if experiment.feature_map == "linear":  # as many as columns, which may differ between views
        sizes, both = [full], [(full, model.map_y_.n_features_out)]
    tune = experiment.views(data, rows, "tune")
    sums, components, tuning = [], [], []
    for m in sizes:
        fitted = model
        if m != full:
            with _timed(records, "solve", m):
                (fitted,) = model.path([m])
        with _timed(records, "score", m):
            on_test = fitted.component_correlations(*test)
        sums.append(_sums(experiment, fitted, on_test, rows))
        components.append(_components(experiment, fitted, on_test))
        if experiment.reg_grid:
            tuning.append(_tuning(experiment, fitted, tune, float(np.abs(on_test).sum())))
    others = [reg for reg in experiment.reg_grid if reg != experiment.reg]
    with _timed(records, "tune"):
        for fitted in model.iterate_path(both, others):
            tuning.append(_tuning(experiment, fitted, tune, fitted.score(*test)))  # noqa: PERF401
    timings = pd.DataFrame(records).assign(**experiment.labels(), peak_mb=peak_mb())
    tuned = pd.DataFrame(tuning, columns=TUNING_COLUMNS)
    return Outcome(pd.DataFrame(sums), pd.concat(components), timings, tuned, rows)


def _merged(model: RCCA, shards: Sequence[str | PathLike[str]], train: Views) -> Moments:
    """Merge the shards, in their order; one that is lost or damaged is computed again, alone."""
    merged = model.empty_moments()
    bounds = shard_bounds(len(train[0]), len(shards), model.chunk_size)
    for path, (start, stop) in zip(shards, bounds, strict=True):
        try:
            part = Moments.load(path, features=merged.features, n=stop - start)
        except (OSError, ValueError) as damage:
            print(f"Its rows {start} to {stop} are gone through again: {damage}", file=sys.stderr)
            part = model.accumulate(*train, start, stop)
        merged.merge(part)
    return merged


def _sums(experiment: Experiment, model: RCCA, on_test: Any, rows: Split) -> dict[str, Any]:
    return {
        **experiment.labels(),
        "m": model.map_x_.n_features_out,
        "train_sum": model.training_correlations_.sum(),
        "test_sum": np.abs(on_test).sum(),
        "test_sum_signed": on_test.sum(),
        "components": len(on_test),
        "n_train": len(rows.train),
        "n_test": len(rows.test),
        "gamma_x": getattr(model.map_x_, "gamma_", None),
        "gamma_y": getattr(model.map_y_, "gamma_", None),
        **model.conditioning_,
    }


def _tuning(experiment: Experiment, model: RCCA, tune: Views, test_sum: float) -> dict[str, Any]:
    return {
        **experiment.labels(),
        "reg": model.reg,
        "m": model.map_x_.n_features_out,
        "tune_sum": model.score(*tune),
        "test_sum": test_sum,
    }


def _components(experiment: Experiment, model: RCCA, on_test: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **experiment.labels(),
            "m": model.map_x_.n_features_out,
            "component": np.arange(1, len(on_test) + 1),
            "train_correlation": model.training_correlations_,
            "test_correlation": on_test,
        }
    )


@contextmanager
def _timed(records: list[dict[str, Any]], phase: str, m: int | None = None) -> Iterator[None]:
    started = perf_counter()
    yield
    records.append({"phase": phase, "m": m, "seconds": perf_counter() - started})


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = load_prepared(snakemake.input.data, verify=True)
        experiment = Experiment(**vars(asked))
        if snakemake.rule == "rcca_shard":
            shard = int(snakemake.wildcards.shard)
            accumulate_shard(experiment, data, shard, asked.shards).save(snakemake.output[0])
        else:
            outcome = fit_path(experiment, data, snakemake.input.get("shards", []))
            for name in ("sums", "components", "timings", "tuning"):
                write_csv(snakemake.output[name], getattr(outcome, name))
            outcome.split.save(snakemake.output.split)
