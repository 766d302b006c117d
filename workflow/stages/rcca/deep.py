"""Deep CCA on the rows that RCCA is judged on."""

from os import PathLike

import numpy as np
import pandas as pd

from rnca._core.seeding import derived_seed
from workflow.data.prepared import Prepared, load_prepared
from workflow.lib.job import job
from workflow.lib.partial import state_file
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.dcca import DCCA
from workflow.stages.rcca.trial import Trial

DCCA_COLUMNS = [
    "method",
    "architecture",
    "repeat",
    "components",
    "n_train",
    "n_tune",
    "n_test",
    "parameters",
    "minutes",
    "cpu_minutes",
    "epochs",
    "best_epoch",
    "train_sum",
    "tune_sum",
    "test_sum",
    "test_sum_signed",
]
CURVE_COLUMNS = ["method", "repeat", "epoch", "minutes", "cpu_minutes", "train_sum", "tune_sum"]


class Deep(Trial):
    """One fit of deep CCA; ``baseline`` has the settings of `DCCA`."""

    def estimator(self) -> DCCA:
        """Build the unfitted model."""
        seed = derived_seed(self.seed, "baselines", self.name, self.repeat, "dcca")
        return DCCA(self.components, **self.baseline, random_state=seed, verbose=True)


def fit_dcca(
    deep: Deep, data: Prepared, checkpoint: str | PathLike[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train deep CCA and evaluate it on test rows.

    Parameters
    ----------
    deep : Deep
    data : Prepared
    checkpoint : path
        From where a training that was broken off goes on.

    Returns
    -------
    sums : DataFrame
        One row with `DCCA_COLUMNS`.
    curve : DataFrame
        One row per epoch with `CURVE_COLUMNS`.
    """
    rows = deep.rows_with_tuning(data)
    train, tune, test = deep.parts(data, rows)
    model = deep.estimator().fit(*train, tune=tune, checkpoint=checkpoint)
    on_test = model.component_correlations(*test)
    sizes = "; ".join("-".join(map(str, network.sizes)) for network in model.networks_)
    best = model.history_[model.best_epoch_ - 1]
    record = {
        "method": "dcca",
        "architecture": f"{sizes}; {model.activation}",
        "repeat": deep.repeat,
        "components": deep.components,
        "n_train": len(rows.train),
        "n_tune": len(rows.tune),
        "n_test": len(rows.test),
        "parameters": model.n_parameters_,
        "minutes": model.seconds_ / 60,
        "cpu_minutes": model.cpu_seconds_ / 60,
        "epochs": len(model.history_),
        "best_epoch": model.best_epoch_,
        "train_sum": best.train_sum,
        "tune_sum": model.score(*tune),
        "test_sum": np.abs(on_test).sum(),
        "test_sum_signed": on_test.sum(),
    }
    curve = pd.DataFrame(
        [
            {
                "method": "dcca",
                "repeat": deep.repeat,
                "epoch": each.epoch,
                "minutes": each.seconds / 60,
                "cpu_minutes": each.cpu_seconds / 60,
                "train_sum": each.train_sum,
                "tune_sum": each.tune_sum,
            }
            for each in model.history_
        ],
        columns=CURVE_COLUMNS,
    )
    return pd.DataFrame([record], columns=DCCA_COLUMNS), curve


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = load_prepared(snakemake.input.data, verify=True)
        deep = Deep(**vars(asked))
        name = f"{asked.name}-dcca-{asked.repeat}.npz"
        made_by = {"request": snakemake.params.request, "data": data.meta}
        checkpoint = state_file(snakemake.params.state, name, made_by)
        sums, curve = fit_dcca(deep, data, checkpoint)
        write_csv(snakemake.output.sums, sums)
        write_csv(snakemake.output.curve, curve)
        checkpoint.unlink(missing_ok=True)
