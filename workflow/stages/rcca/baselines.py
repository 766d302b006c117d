"""Stage baselines: deep CCA and exact kernel CCA on the rows that RCCA is judged on."""

import functools
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import psutil

from rnca._core.seeding import derived_seed
from workflow.data.prepared import Prepared
from workflow.data.splits import Split
from workflow.lib.kcca import KCCA, kcca_bytes
from workflow.lib.partial import PartialRows
from workflow.lib.provenance import peak_mb
from workflow.stages.rcca.dcca import DCCA
from workflow.stages.rcca.training import Stopwatch
from workflow.stages.rcca.trial import Trial, Views

LABELS = ["experiment", "dataset"]
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
KCCA_COLUMNS = [
    "method",
    "n",
    "n_full",
    "components",
    "reg_over_n",
    "parameters",
    "minutes",
    "cpu_minutes",
    "megabytes",
    "train_sum",
    "tune_sum",
    "test_sum",
    "test_sum_signed",
    "left_out",
]


@dataclass(frozen=True, kw_only=True)
class Deep(Trial):
    """One fit of deep CCA.

    Attributes
    ----------
    network : dict
        Settings of `workflow.stages.rcca.dcca.DCCA`: hidden, activation, batch_size and so on.
    """

    network: dict[str, Any]

    def estimator(self) -> DCCA:
        """Build the unfitted model."""
        seed = derived_seed(self.seed, "baselines", self.name, self.repeat, "dcca")
        return DCCA(self.components, **self.network, random_state=seed, verbose=True)


@dataclass(frozen=True, kw_only=True)
class Kernel(Trial):
    """Exact kernel CCA on growing parts of the training rows.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of rows n, increasing; those beyond the training rows are all of them.
    regs : tuple of float
        Regularisers γ, divided by n, of which the tuning rows choose.
    chosen_up_to : int
        The largest n at which they choose; a larger one takes over the last choice.
    """

    sizes: tuple[int, ...]
    regs: tuple[float, ...]
    chosen_up_to: int


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
    rows = with_tuning_rows(deep.rows(data), deep.seed)
    train, tune, test = _parts(deep, data, rows)
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


def fit_kcca(kernel: Kernel, data: Prepared, partial: str | PathLike[str]) -> pd.DataFrame:
    """Fit exact kernel CCA to more and more rows, as far as memory goes.

    Parameters
    ----------
    kernel : Kernel
    data : Prepared
    partial : path
        Where finished fits are kept until all are.

    Returns
    -------
    DataFrame
        One row per n with `KCCA_COLUMNS`, of the regulariser that the tuning rows choose; where
        memory does not suffice, ``left_out`` says so and there are no sums.
    """
    rows = with_tuning_rows(kernel.rows(data), kernel.seed)
    full, columns = len(rows.train), data.x.shape[1] + data.y.shape[1]
    done = PartialRows(partial)
    chosen: list[dict[str, Any]] = []
    left_out = []
    for n in dict.fromkeys(min(n, full) for n in kernel.sizes):
        needed, free = kcca_bytes(n, columns), psutil.virtual_memory().available
        if needed > free:
            why = f"needs {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
            left_out.append({"method": "kcca", "n": n, "n_full": full, "left_out": why})
            continue
        takes_over = n > kernel.chosen_up_to and chosen
        tried = [
            done.get(
                {"n": n, "reg_over_n": reg},
                functools.partial(_kcca_row, kernel, data, rows, n, reg),
            )
            for reg in ([chosen[-1]["reg_over_n"]] if takes_over else kernel.regs)
        ]
        chosen.append(max(tried, key=lambda row: float(row["tune_sum"])))
    return pd.DataFrame(chosen + left_out, columns=KCCA_COLUMNS)


def with_tuning_rows(rows: Split, seed: int) -> Split:
    """Set a tenth of the training rows aside to tune on, if the split has none for that."""
    if len(rows.tune):
        return rows
    order = np.random.default_rng(derived_seed(seed, "baselines", "tune")).permutation(rows.train)
    count = len(order) // 10
    return Split(np.sort(order[count:]), np.sort(order[:count]), rows.test, rows.n_rows)


def _kcca_row(kernel: Kernel, data: Prepared, rows: Split, n: int, reg: float) -> dict[str, Any]:
    seed = derived_seed(kernel.seed, "baselines", kernel.name, kernel.repeat, "kcca")
    train, tune, test = _parts(kernel, data, rows)
    # Rows of a split are in the order of the dataset, which may be sorted by class or speaker.
    part = np.sort(np.random.default_rng(seed).permutation(len(rows.train))[:n])
    x, y = (view[part] for view in train)
    watch = Stopwatch()
    model = KCCA(kernel.components, reg=reg * n, random_state=seed, verbose=True).fit(x, y)
    seconds, cpu_seconds = watch.read()
    on_test = model.component_correlations(*test)
    return {
        "method": "kcca",
        "n": n,
        "n_full": len(rows.train),
        "components": kernel.components,
        "reg_over_n": reg,
        "parameters": n * (x.shape[1] + y.shape[1] + 2 * kernel.components),
        "minutes": seconds / 60,
        "cpu_minutes": cpu_seconds / 60,
        "megabytes": peak_mb(),
        "train_sum": float(model.correlations_.sum()),
        "tune_sum": model.score(*tune),
        "test_sum": float(np.abs(on_test).sum()),
        "test_sum_signed": float(on_test.sum()),
        "left_out": None,
    }


def _parts(trial: Trial, data: Prepared, rows: Split) -> tuple[Views, Views, Views]:
    train, tune, test = (trial.views(data, rows, part) for part in ("train", "tune", "test"))
    return train, tune, test
