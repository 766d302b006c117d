"""Stage rcca: canonical correlations on held-out rows against the number of features (Table 1)."""

import sys
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rnca.cca import RCCA
from rnca.features import NystroemFeatures, median_gamma
from rnca.inference import PermutationResult
from rnca.moments import Moments
from rnca.rows import shard_bounds
from workflow.data.prepared import Prepared
from workflow.data.splits import Split
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.rcca.trial import Trial, Views

# Of the test rows, for the noise floor.
_PERMUTATIONS = 20
# Below this reg the rounding of float32 features would decide the result.
_SINGLE_PRECISION_REG = 1e-8


class Experiment(Trial):
    """One fit of the stage: the settings of the experiment, those of `Trial`, a ``feature_map``."""

    def estimator(self, train: Views, *purpose: str | int) -> RCCA:
        """Build the unfitted model at the largest m; ``purpose`` makes the draw another one."""
        seed = derived_seed(self.seed, "rcca", self.draws, self.repeat, "features", *purpose)
        m, least = max(self.features), min([self.reg, *self.regs])
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
            dtype="float64" if least < _SINGLE_PRECISION_REG else "float32",
            verbose=True,
        )

    def sizes(self, model: RCCA) -> list[Any]:
        """List the sizes to fit at: linear features are the columns, which may differ by view."""
        if self.feature_map == "linear":
            return [(model.map_x_.n_features_out, model.map_y_.n_features_out)]
        return list(self.features)

    def labels(self) -> dict[str, Any]:
        """Return the columns that name this fit in every CSV of the stage."""
        return {
            "experiment": self.name,
            "feature_map": self.feature_map,
            "repeat": self.repeat,
            "reg": self.reg,
        }


class Outcome(NamedTuple):
    """What one fit yields: sums by m, and each component."""

    sums: pd.DataFrame
    components: pd.DataFrame
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

    ``shards`` are files of `accumulate_shard`, in order, of which damaged ones are computed again;
    without them the pass is made here.
    """
    rows = experiment.rows(data)
    train, test = experiment.views(data, rows, "train"), experiment.views(data, rows, "test")
    model = experiment.estimator(train).draw(*train)
    model.solve(_merged(model, shards, train) if shards else model.accumulate(*train))
    sizes, groups = experiment.sizes(model), experiment.groups(data, rows.test)
    sums, components = [], []
    for fitted in [*model.path(sizes[:-1]), model]:
        tested = fitted.permutation_test(
            *test, n_permutations=_PERMUTATIONS, groups=groups, random_state=0
        )
        sums.append(_sums(experiment, fitted, tested, rows))
        components.append(_components(experiment, fitted, tested.correlations))
    return Outcome(pd.DataFrame(sums), pd.concat(components), rows)


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


def _sums(
    experiment: Experiment, model: RCCA, tested: PermutationResult, rows: Split
) -> dict[str, Any]:
    return {
        **experiment.labels(),
        "reg": model.reg,
        "m": model.map_x_.n_features_out,
        "train_sum": model.training_correlations_.sum(),
        "test_sum": np.abs(tested.correlations).sum(),
        "test_sum_signed": tested.correlations.sum(),
        "floor_sum": tested.null_sum.mean(),
        "components": len(tested.correlations),
        "n_train": len(rows.train),
        "n_test": len(rows.test),
        "gamma_x": getattr(model.map_x_, "gamma_", None),
        "gamma_y": getattr(model.map_y_, "gamma_", None),
        **model.conditioning_,
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


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        experiment = Experiment(**vars(asked))
        if "shard" in vars(asked):
            moments = accumulate_shard(experiment, data, asked.shard, asked.shards)
            moments.save(snakemake.output[0])
        else:
            outcome = fit_path(experiment, data, snakemake.input.get("shards", []))
            for name in ("sums", "components"):
                write_csv(snakemake.output[name], getattr(outcome, name))
            outcome.split.save(snakemake.output.split)
