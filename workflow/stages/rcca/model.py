"""Stage rcca: a model to keep, its p-values, its loadings and the canonical variables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rnca._core.files import replacing
from rnca.cca import RCCA
from rnca.model_selection import RCCACV
from rnca.saving import save_model
from workflow.data.prepared import Prepared
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.rcca.cv import searched
from workflow.stages.rcca.fit import Experiment
from workflow.stages.rcca.trial import Views


class Kept(NamedTuple):
    """What is kept of one fit: the model, scores by candidate, inference by component, loadings.

    ``loadings`` have a row per view and column (its name or number), on test rows, with ``offset``
    and ``scale``, by which standardised data were made: (column − offset) / scale. ``variables``
    are arrays: ``x`` and ``y``, canonical variables of all rows of the split, ``row``, their
    numbers in the prepared data, and ``part``: train, tune or test.
    """

    model: RCCA
    scores: pd.DataFrame
    inference: pd.DataFrame
    loadings: pd.DataFrame
    variables: dict[str, Any]


def fit_model(experiment: Experiment, data: Prepared) -> Kept:
    """Choose m and reg on the training rows by cross-validation; test on the test rows."""
    rows = experiment.rows(data)
    train, test = experiment.views(data, rows, "train"), experiment.views(data, rows, "test")
    search = searched(experiment, data, rows, train)
    model = search.best_estimator_
    # Where the split keeps groups together, permutations move them whole.
    by_groups = experiment.split["scheme"] == "groups"
    groups = experiment.groups(data, rows.test) if by_groups else None
    seed = derived_seed(experiment.seed, "rcca", experiment.draws, "permutations")
    tested = model.permutation_test(*test, experiment.permutations, groups, random_state=seed)
    labels = {"experiment": experiment.name, "feature_map": experiment.feature_map}
    chosen = {"m": _first(search.best_size_), "reg": search.best_reg_}
    inference = {
        "component": np.arange(1, len(tested.p_values) + 1),
        "test_correlation": tested.correlations,
        "p_value": tested.p_values,
        "null_95": tested.null_band(0.95),
        "noise_floor": tested.null_sum.mean(),
    }
    variables = []
    for part in ("train", "tune", "test"):
        wanted = getattr(rows, part)
        if len(wanted):
            x, y = model.transform(*experiment.views(data, rows, part))
            variables.append({"row": wanted, "part": np.full(len(wanted), part), "x": x, "y": y})
    return Kept(
        model,
        _scores(search).assign(**labels),
        pd.DataFrame({**labels, **chosen, **inference}),
        _loadings(model, test, data.meta.get("columns", {})),
        {name: np.concatenate([part[name] for part in variables]) for name in variables[0]},
    )


def _scores(search: RCCACV) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "reg": reg,
            "m": _first(size),
            "mean_sum": search.mean_scores_[i, j],
            "standard_error": search.standard_errors_[i, j],
        }
        for i, reg in enumerate(search.regs)
        for j, size in enumerate(search.sizes_)
    )


def _first(size: Any) -> int:
    """Return the m of the first view."""
    return int(size[0] if isinstance(size, tuple) else size)


def _loadings(model: RCCA, test: Views, names: Mapping[str, list[str]]) -> pd.DataFrame:
    frames = []
    for name, view, loadings in zip("xy", test, model.loadings(*test), strict=True):
        components = [f"component_{j}" for j in range(1, loadings.shape[1] + 1)]
        frame = pd.DataFrame(loadings, columns=components)
        frame.insert(0, "view", name)
        frame.insert(1, "column", names.get(name, range(len(frame))))
        frame.insert(2, "offset", 0.0 if view.offset is None else view.offset)
        frame.insert(3, "scale", 1.0 if view.scale is None else view.scale)
        frames.append(frame)
    return pd.concat(frames)


def write_arrays(path: str | Path, arrays: dict[str, Any]) -> None:
    """Write arrays to an npz file, completely or not at all."""
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        kept = fit_model(Experiment(**vars(asked)), data)
        save_model(kept.model, snakemake.output.model)
        write_arrays(snakemake.output.variables, kept.variables)
        for name in ("scores", "inference", "loadings"):
            write_csv(snakemake.output[name], getattr(kept, name))
