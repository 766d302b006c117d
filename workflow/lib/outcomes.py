"""What became of each experiment: its rows, or the reason why there are none.

A stage's report gathers the CSVs that its jobs made, its parts, in one CSV of each kind. Cells stay
as they are written, so that no number is read and written again.
"""

import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from workflow.data import DataError
from workflow.lib.provenance import checked, write_csv

LABELS = ["experiment", "dataset", "published", "stem"]


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


class Outcomes:
    """The gathered CSVs of a stage by kind, as texts."""

    def __init__(self, texts: Mapping[str, pd.DataFrame]) -> None:
        self.texts = texts

    @classmethod
    def read(cls, files: Iterable[str | PathLike[str]]) -> "Outcomes":
        """Read gathered CSVs, which are called as their kinds."""
        return cls({Path(file).stem: _texts(file) for file in files})

    def rows(self, *kinds: str, columns: Sequence[str] = ()) -> tuple[pd.DataFrame, dict[str, str]]:
        """Return the rows of all experiments that were run, and why others were not.

        If none was run, or there are no such CSVs, the frame has the columns given and no rows.
        """
        found = [self.texts[kind] for kind in kinds if kind in self.texts]
        rows = pd.concat(found) if found else pd.DataFrame()
        reasons: dict[str, str] = {}
        if "not_run" in rows:
            missing = rows[rows["not_run"].notna()]
            reasons = dict(zip(missing["experiment"], missing["not_run"], strict=True))
            rows = rows[rows["not_run"].isna()].drop(columns="not_run")
        if not len(rows):
            return pd.DataFrame(columns=list(columns)), reasons
        # Without rows that lack them, whole numbers are whole.
        text = rows.drop(columns="stem", errors="ignore").to_csv(index=False)
        return pd.read_csv(io.StringIO(text)), reasons

    def only(
        self,
        experiments: Mapping[str, Collection[str]],
        datasets: Mapping[str, str],
        published: Collection[str] = (),
    ) -> "Outcomes":
        """Return the rows of some experiments of each kind; what has none there was not run."""
        texts = {}
        for kind, names in experiments.items():
            rows = self.texts.get(kind, pd.DataFrame(columns=["experiment"]))
            if "experiment" in rows:
                absent = [name for name in names if name not in set(rows["experiment"])]
                labels = [_labels(name, datasets[name], published) for name in absent]
                reasons = [label | {"not_run": "not part of the published run"} for label in labels]
                rows = pd.concat([rows[rows["experiment"].isin(names)], pd.DataFrame(reasons)])
            texts[kind] = rows
        return Outcomes(texts)


def _labels(name: str, dataset: str, published: Collection[str]) -> dict[str, str]:
    """Return the columns that every gathered CSV begins with."""
    return {"experiment": name, "dataset": dataset, "published": str(name in published)}


def gather(
    parts: Iterable[str],
    datasets: Mapping[str, str],
    reasons: Mapping[str, str],
    published: Collection[str] = (),
) -> pd.DataFrame:
    """Read the parts ``…/<experiment>/<stem>.<kind>.csv`` into one frame of texts.

    Experiments are in the order of ``datasets``, which has the dataset of each; ``reasons`` says
    why a dataset is unavailable. ``published`` follow the paper's protocol: a column says which.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for part in map(Path, parts):
        rows = _texts(part).assign(stem=part.name.partition(".")[0])
        found.setdefault(part.parent.name, []).append(rows)
    frames = []
    for name, dataset in datasets.items():
        labels = _labels(name, dataset, published)
        if name in found:
            rows = pd.concat(found[name], ignore_index=True).assign(**labels)
            frames.append(rows[[*LABELS, *(column for column in rows if column not in LABELS)]])
        elif dataset in reasons:
            frames.append(pd.DataFrame([labels | {"not_run": reasons[dataset]}]))
    return pd.concat(frames, ignore_index=True)


def gathered(snakemake: Any, asked: Any) -> Outcomes:
    """Gather the parts that a report's job is given, and write the CSV of each kind.

    Where the report is made from gathered CSVs, as those that are published, they are read.
    """
    if (files := snakemake.input.get("gathered")) is not None:
        return Outcomes.read(files).only(asked.parts, asked.datasets, asked.published)
    reasons = dict.fromkeys(asked.skipped, "left out by `skip` in the settings")
    for record in map(Path, snakemake.input.unavailable):
        reasons[record.stem] = unavailable_reason(record) or ""
    there, texts = set(snakemake.input.parts), {}
    for file in snakemake.output.gathered:
        kind = Path(file).stem
        parts = [part for own in asked.parts[kind].values() for part in own if part in there]
        datasets = {name: asked.datasets[name] for name in asked.parts[kind]}
        texts[kind] = gather(parts, datasets, reasons, asked.published)
        write_csv(file, texts[kind])
    return Outcomes(texts)


def _texts(file: str | PathLike[str]) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(checked(file)), dtype=str)
