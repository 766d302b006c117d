"""Values of reg scored by cross-validation on the training rows, and on the test rows."""

import sys

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from rnca.model_selection import RCCACV
from workflow.data.prepared import Prepared
from workflow.data.splits import Split
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.rcca.fit import Experiment
from workflow.stages.rcca.trial import Views


def cross_validate(experiment: Experiment, data: Prepared) -> pd.DataFrame:
    """Score every reg at every m on held-out folds, and fitted to all training rows on test rows.

    One row per reg and m: ``cv_sum`` is missing where a fold has no solution, ``test_sum`` where
    the training rows have none; ``predicted_error`` is that of the correlations.
    """
    rows = experiment.rows(data)
    train, test = experiment.views(data, rows, "train"), experiment.views(data, rows, "test")
    search = searched(experiment, data, rows, train)
    found = []
    for reg, scores in zip(experiment.regs, search.scores_.swapaxes(0, 1), strict=True):
        tested = _on_test(search, reg, test)
        for size, held_out, on_test in zip(search.sizes_, scores.T, tested, strict=True):
            m = size if isinstance(size, int) else size[0]
            sums = {"reg": reg, "m": m, "folds": len(held_out), "cv_sum": held_out.mean()}
            found.append(experiment.labels() | sums | on_test)
    return pd.DataFrame(found)


def searched(experiment: Experiment, data: Prepared, rows: Split, train: Views) -> RCCACV:
    """Cross-validate ``regs`` at every m, in folds as the split is: of groups or of rows."""
    groups, cv = None, experiment.folds
    if experiment.split["scheme"] == "groups":
        groups = experiment.groups(data, rows.train)
    else:
        seed = derived_seed(experiment.seed, "rcca", experiment.draws, experiment.repeat, "folds")
        cv = KFold(experiment.folds, shuffle=True, random_state=seed % 2**32)
    shared = experiment.estimator(train).get_params(deep=False)
    return RCCACV(
        sizes=experiment.features,
        regs=experiment.regs,
        cv=cv,
        **{name: shared[name] for name in shared if name not in ("n_features", "reg")},
    ).fit(*train, groups)


def _on_test(search: RCCACV, reg: float, test: Views) -> list[dict[str, float]]:
    """Return what the models of all training rows, one per m, reach on the test rows."""
    try:
        models = search.path(search.sizes_, [reg])
    except (ValueError, FloatingPointError) as failure:  # too ill-conditioned for so small a reg
        print(f"reg = {reg:g} has no solution on all training rows: {failure}", file=sys.stderr)
        return [dict.fromkeys(("test_sum", "predicted_error"), np.nan)] * len(search.sizes_)
    return [
        {
            "test_sum": model.score(*test),
            "predicted_error": model.conditioning_["predicted_error"],
        }
        for model in models
    ]


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        write_csv(snakemake.output[0], cross_validate(Experiment(**vars(asked)), data))
