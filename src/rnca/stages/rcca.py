"""Stage rcca: canonical correlations on held-out rows against the number of features (Table 1)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from rnca.cca import RCCA
from rnca.datasets.prepared import Prepared
from rnca.datasets.splits import Split, given_split, group_split, official_split, random_split
from rnca.datasets.views import RowView, standardised
from rnca.moments import Moments
from rnca.rows import shard_bounds
from rnca.seeding import derived_seed

Views = tuple[RowView, RowView]


@dataclass(frozen=True)
class Experiment:
    """One fit of the stage: which rows, which map, which sizes, which seed.

    Attributes
    ----------
    name : str
    split : dict
        ``scheme`` (random, given, official or groups) and, where it needs them, the sizes
        ``train``, ``tune`` and ``test``.
    standardise : bool
        Whether columns are brought to mean 0 and standard deviation 1 on training rows.
    components : int
    sizes : tuple of int
        Numbers of features m, increasing.
    reg : float
    feature_map : str
    repeat : int
    seed : int
        Of the whole run.
    """

    name: str
    split: dict[str, Any]
    standardise: bool
    components: int
    sizes: tuple[int, ...]
    reg: float
    feature_map: str
    repeat: int
    seed: int

    def rows(self, data: Prepared) -> Split:
        """Draw the split: the same for every feature map of a repeat."""
        seed = derived_seed(self.seed, "rcca", self.name, self.repeat, "split")
        sizes = [self.split.get(part, 0) for part in ("train", "tune", "test")]
        match self.split["scheme"]:
            case "random":
                return random_split(data.n_rows, sizes, seed)
            case "groups":
                return group_split(data.need("groups"), sizes, seed)
            case "official":
                return official_split(data.need("given_split"), sizes[1], seed)
            case "given":
                return given_split(data.need("given_split"))
            case scheme:
                raise ValueError(
                    f"split scheme {scheme!r} of experiment {self.name}: "
                    "known are random, given, official and groups."
                )

    def views(self, data: Prepared, rows: Split, part: str) -> Views:
        """Open the two views of the train, tune or test rows, without loading them."""
        wanted = getattr(rows, part)
        if not self.standardise:
            return RowView(data.x, wanted), RowView(data.y, wanted)
        return (
            standardised(data.x, wanted, by=rows.train),
            standardised(data.y, wanted, by=rows.train),
        )

    def estimator(self) -> RCCA:
        """Build the unfitted model at the largest m."""
        return RCCA(
            self.components,
            feature_map=self.feature_map,
            n_features=max(self.sizes),
            reg=self.reg,
            random_state=derived_seed(self.seed, "rcca", self.name, self.repeat, "features"),
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
        One row per phase, and per m where the phase depends on it.
    split : Split
    """

    sums: pd.DataFrame
    components: pd.DataFrame
    timings: pd.DataFrame
    split: Split


def accumulate_shard(experiment: Experiment, data: Prepared, shard: int, shards: int) -> Moments:
    """Accumulate the moments of one of ``shards`` parts of the training rows."""
    model = experiment.estimator()
    x, y = experiment.views(data, experiment.rows(data), "train")
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
        Files of `accumulate_shard`, in order; none: the pass is made here.
    """
    records: list[dict[str, Any]] = []
    rows = experiment.rows(data)
    train, test = experiment.views(data, rows, "train"), experiment.views(data, rows, "test")
    model = experiment.estimator()
    with _timed(records, "draw"):
        model.draw(*train)
    with _timed(records, "accumulate"):
        moments = _merged(model, shards, len(rows.train)) if shards else model.accumulate(*train)
    full = model.map_x_.n_features_out
    with _timed(records, "solve", full):
        model.solve(moments)
    sums, components = [], []
    for m in [full] if experiment.feature_map == "linear" else experiment.sizes:
        fitted = model
        if m != full:
            with _timed(records, "solve", m):
                (fitted,) = model.path([m])
        with _timed(records, "score", m):
            on_test = fitted.component_correlations(*test)
        sums.append(_sums(experiment, fitted, on_test, rows))
        components.append(_components(experiment, fitted, on_test))
    timings = pd.DataFrame(records).assign(**experiment.labels())
    return Outcome(pd.DataFrame(sums), pd.concat(components), timings, rows)


def _merged(model: RCCA, shards: Sequence[str | PathLike[str]], n_rows: int) -> Moments:
    merged = model.empty_moments()
    for path in shards:
        merged.merge(Moments.load(path, features=merged.features))
    if merged.n != n_rows:
        raise ValueError(
            f"the shards hold {merged.n} rows, but there are {n_rows} training rows: delete the "
            "shards and compute them again."
        )
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
