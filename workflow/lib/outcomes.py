"""What became of each experiment: its rows, or the reason why there are none.

The job gathers the CSVs of all experiments of a stage in one.
"""

import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from workflow.data import DataError
from workflow.lib.job import job
from workflow.lib.provenance import checked, read_csv, write_csv


def unavailable_reason(record: str | PathLike[str]) -> str | None:
    """Read from ``data/fetched/<dataset>.json`` why a dataset could not be fetched, if so."""
    try:
        found = json.loads(Path(record).read_text(encoding="utf-8"))["not_run"]
        if found is None or isinstance(found, str):
            return found
        raise TypeError("not_run is no text")
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(
            f"{record}: does not say whether the dataset was fetched ({error}). Delete {record} "
            "and run again to fetch it anew"
        ) from error


def gather(
    parts: Iterable[str],
    datasets: Mapping[str, str],
    reasons: Mapping[str, str],
    published: Collection[str] = (),
) -> pd.DataFrame:
    """Read the parts ``…/<experiment>/<part>.csv`` into one frame.

    Experiments are in the order of ``datasets``, which has the dataset of each; ``reasons`` says
    why a dataset is unavailable. ``published`` follow the paper's protocol: a column says which.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        found.setdefault(Path(part).parent.name, []).append(read_csv(part))
    frames = []
    for name, dataset in datasets.items():
        labels: dict[str, Any] = {
            "experiment": name,
            "dataset": dataset,
            "published": name in published,
        }
        if name in found:
            rows = pd.concat(found[name], ignore_index=True)
            others = [column for column in rows if column not in labels]
            frames.append(rows.assign(**labels)[[*labels, *others]])
        elif dataset in reasons:
            frames.append(pd.DataFrame([labels | {"not_run": reasons[dataset]}]))
    # As objects, so that whole numbers stay whole beside experiments that have none.
    return pd.concat([frame.astype(object) for frame in frames], ignore_index=True)


def read_outcomes(
    paths: str | Iterable[str], columns: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read gathered CSVs: the rows of all experiments that were run, and why others were not.

    If none was run, or there is no CSV, the frame has the columns given and no rows.
    """
    files = [paths] if isinstance(paths, str) else paths
    # As text: beside rows that lack them, pandas would make floats of whole numbers.
    frames = [pd.read_csv(io.BytesIO(checked(file)), dtype=str) for file in files]
    return split_outcomes(pd.concat(frames) if frames else pd.DataFrame(), columns)


def split_outcomes(
    rows: pd.DataFrame, columns: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Divide gathered rows into those of experiments that were run, and reasons for the others."""
    reasons: dict[str, str] = {}
    if "not_run" in rows:
        missing = rows[rows["not_run"].notna()]
        reasons = dict(zip(missing["experiment"], missing["not_run"], strict=True))
        rows = rows[rows["not_run"].isna()].drop(columns="not_run")
    if not len(rows):
        return pd.DataFrame(columns=list(columns)), reasons
    return pd.read_csv(io.StringIO(rows.to_csv(index=False))), reasons


if __name__ == "__main__":
    with job(snakemake) as asked:
        given = snakemake.input
        reasons = dict.fromkeys(asked.skipped, "left out by `skip` in the settings")
        for record in map(Path, given.get("unavailable", [])):
            reasons[record.stem] = unavailable_reason(record) or ""
        rows = gather(given.parts, asked.datasets, reasons, asked.published)
        write_csv(snakemake.output[0], rows)
