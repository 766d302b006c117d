"""Deep CCA on the rows that RCCA is judged on."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow.data.prepared import Prepared
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.requests import read_request
from workflow.lib.seeding import derived_seed
from workflow.stages.rcca.dcca import DCCA, Of2013, Today
from workflow.stages.rcca.trial import Trial, state_file

NETWORKS: dict[str, type[DCCA]] = {"dcca": Today, "dcca2013": Of2013}
# Settings with several values, of which the tuning rows choose one, and what one is called.
CHOSEN = {"widths": "width", "regs": "reg", "learning_rates": "learning_rate", "decays": "decay"}


class Deep(Trial):
    """Deep CCA with its search: ``network`` is a key of `NETWORKS`, ``baseline`` its settings."""

    def candidates(self) -> list[dict[str, Any]]:
        """List the settings to choose from: every combination of those with several values."""
        lists = {CHOSEN[key]: given for key, given in self.baseline.items() if key in CHOSEN}
        return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]

    def estimator(self, candidate: dict[str, Any]) -> DCCA:
        """Build the unfitted model: every candidate starts from the same weights."""
        own = {key: value for key, value in self.baseline.items() if key not in CHOSEN} | candidate
        hidden = [own.pop("width")] * own.pop("layers")
        seed = derived_seed(self.seed, "baselines", self.name, self.repeat, self.network)
        made = NETWORKS[self.network]
        return made(components=self.components, hidden=hidden, **own, seed=seed)


def fit_deep(
    deep: Deep, data: Prepared, checkpoint: Callable[[int], Path]
) -> dict[str, pd.DataFrame]:
    """Train every candidate, choose one on tuning rows and evaluate it on test rows.

    ``sums`` and ``curve`` are of the one chosen, ``search`` of all. ``checkpoint`` names the file
    from which the training of a candidate goes on if it was broken off.
    """
    rows = deep.rows_with_tuning(data)
    train, tune, test = deep.parts(data, rows)
    labels = {"method": deep.network, "repeat": deep.repeat}
    counts = {"n_train": len(rows.train), "n_tune": len(rows.tune)}
    models, search = [], []
    for number, candidate in enumerate(deep.candidates()):
        model = deep.estimator(candidate).fit(train, tune, checkpoint(number))
        models.append(model)
        search.append({**labels, **candidate, **counts, **_training(model, tune)})
    best = int(np.argmax([each["tune_sum"] for each in search]))
    model, chosen = models[best], search[best]
    on_test = model.component_correlations(test)
    sizes = "; ".join("-".join(map(str, network.sizes)) for network in model.networks_)
    record = {
        **chosen,
        "architecture": f"{sizes}; {model.activation}",
        "components": deep.components,
        "n_test": len(rows.test),
        "parameters": sum(network.parameters.size for network in model.networks_),
        "test_sum": np.abs(on_test).sum(),
        "test_sum_signed": on_test.sum(),
    }
    curve = [{**labels, **_minutes(epoch._asdict())} for epoch in model.history_]
    for number, each in enumerate(search):
        each["is_chosen"] = number == best
    found = {"dcca": [record], "curve": curve, "search": search}
    return {what: pd.DataFrame(rows) for what, rows in found.items()}


def _training(model: DCCA, tune: Any) -> dict[str, Any]:
    kept = model.history_[model.best_epoch_ - 1]
    return {
        **_minutes({"seconds": model.seconds_, "cpu_seconds": model.cpu_seconds_}),
        "epochs": len(model.history_),
        "best_epoch": model.best_epoch_,
        "censored": model.is_censored,
        "train_sum": kept.train_sum,
        "tune_sum": model.score(tune),
    }


def _minutes(record: dict[str, Any]) -> dict[str, Any]:
    """Give times in minutes."""
    return {
        name.replace("seconds", "minutes"): value / 60 if "seconds" in name else value
        for name, value in record.items()
    }


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        made_by = {"request": read_request(snakemake.input.request), "data": data.meta}

        def checkpoint(candidate: int) -> Path:
            """Name a file after all that the training of a candidate depends on."""
            name = f"{asked.name}-{asked.network}-{asked.repeat}-{candidate}.npz"
            return state_file(snakemake.output.dcca, name, made_by)

        deep = Deep(**vars(asked))
        for what, frame in fit_deep(deep, data, checkpoint).items():
            write_csv(snakemake.output[what], frame)
        for number in range(len(deep.candidates())):
            checkpoint(number).unlink(missing_ok=True)
