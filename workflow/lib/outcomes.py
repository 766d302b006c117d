"""What became of each experiment: its rows, or the reason why there are none."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import pandas as pd

from workflow.data.errors import DataError
from workflow.lib.provenance import checked

Labels = Mapping[str, str | bool]


def labelled(rows: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """Make the frame begin with its labels, say ``experiment`` and ``dataset``."""
    others = [column for column in rows.columns if column not in labels]
    return rows.assign(**labels)[[*labels, *others]]


def not_run(reason: str, labels: Labels) -> pd.DataFrame:
    """Make the frame of an experiment that was not run: its labels and ``not_run``, the reason."""
    return pd.DataFrame([{**labels, "not_run": reason}])


def unavailable_reason(record: str | PathLike[str]) -> str | None:
    """Read from ``data/fetched/<dataset>.json`` why a dataset could not be fetched.

    Returns
    -------
    str or None
        None if it could be fetched.
    """
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


def read_outcomes(
    paths: str | Iterable[str], columns: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read gathered CSVs: the rows of all experiments of a stage.

    Parameters
    ----------
    paths : path, or iterable of path
        None where the run does not have any.
    columns : sequence of str
        What the rows have at least, also where there are none.

    Returns
    -------
    rows : DataFrame
        Of the experiments that were run; without rows if none was.
    reasons : dict of str to str
        Why each of the others was not run.
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
