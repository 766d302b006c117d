"""Exact kernel CCA on growing parts of the training rows that RCCA is fitted to."""

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
import psutil
from tqdm import tqdm

from rnca.files import replacing
from workflow.data.prepared import Prepared
from workflow.data.splits import Split
from workflow.lib.exact import KCCA, kcca_bytes
from workflow.lib.job import job
from workflow.lib.provenance import peak_mb, read_prepared, write_csv
from workflow.lib.requests import read_request
from workflow.lib.seeding import derived_seed
from workflow.stages.rcca.trial import Trial, state_file

KCCA_COLUMNS = [
    "method", "n", "n_full", "components", "reg_over_n", "parameters", "minutes", "cpu_minutes",
    "megabytes", "train_sum", "tune_sum", "test_sum", "test_sum_signed", "left_out",
]  # fmt: skip


class PartialRows:
    """The finished rows of a job that was broken off; those of a damaged file are made again."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.rows: list[dict[str, Any]] = []
        if self.path.exists():
            digest, _, text = self.path.read_bytes().partition(b"\n")
            if digest == _digest(text):
                self.rows = json.loads(text)
            else:
                print(f"{self.path}: damaged; its rows are computed again", file=sys.stderr)

    def get(self, key: Mapping[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the row with these values, computed and written first if it is not there."""
        for row in self.rows:
            if all(row[name] == value for name, value in key.items()):
                return row
        self.rows.append(compute())
        text = json.dumps(self.rows).encode()
        with replacing(self.path) as partial:
            partial.write_bytes(_digest(text) + b"\n" + text)
        return self.rows[-1]


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def fit_kcca(kernel: Trial, data: Prepared, partial: str | PathLike[str]) -> pd.DataFrame:
    """Fit exact kernel CCA to more and more rows, as far as memory goes.

    One row per n, of the regulariser that the tuning rows choose; where memory does not suffice,
    ``left_out`` says so and there are no sums. ``partial`` keeps finished fits until all are.
    """
    rows = kernel.rows_with_tuning(data)
    full, columns = len(rows.train), data.x.shape[1] + data.y.shape[1]
    own, done = kernel.baseline, PartialRows(partial)
    chosen: list[dict[str, Any]] = []
    left_out = []
    sizes = dict.fromkeys(min(n, full) for n in own["sizes"])
    for n in tqdm(sizes, desc=f"{kernel.name}, exact kernel CCA"):
        needed, free = kcca_bytes(n, columns), psutil.virtual_memory().available
        if needed > free:
            why = f"needs {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
            left_out.append({"method": "kcca", "n": n, "n_full": full, "left_out": why})
            continue
        takes_over = n > own["chosen_up_to"] and chosen
        tried = [
            done.get(
                {"n": n, "reg_over_n": reg},
                functools.partial(_kcca_row, kernel, data, rows, n, reg),
            )
            for reg in ([chosen[-1]["reg_over_n"]] if takes_over else own["regs"])
        ]
        chosen.append(max(tried, key=lambda row: float(row["tune_sum"])))
    return pd.DataFrame(chosen + left_out, columns=KCCA_COLUMNS)


def _kcca_row(kernel: Trial, data: Prepared, rows: Split, n: int, reg: float) -> dict[str, Any]:
    seed = derived_seed(kernel.seed, "baselines", kernel.name, kernel.repeat, "kcca")
    train, tune, test = kernel.parts(data, rows)
    # Rows of a split are in the order of the dataset, which may be sorted by class or speaker.
    part = np.sort(np.random.default_rng(seed).permutation(len(rows.train))[:n])
    x, y = (view[part] for view in train)
    started, cpu_started = perf_counter(), process_time()
    model = KCCA(kernel.components, reg=reg * n, seed=seed).fit(x, y)
    seconds, cpu_seconds = perf_counter() - started, process_time() - cpu_started
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


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        made_by = {"request": read_request(snakemake.input.request), "data": data.meta}
        state = state_file(snakemake.output[0], f"{asked.name}-kcca.json", made_by)
        write_csv(snakemake.output[0], fit_kcca(Trial(**vars(asked)), data, state))
        state.unlink(missing_ok=True)
