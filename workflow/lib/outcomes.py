"""What became of each experiment: its rows, or the reason why there are none."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from workflow.lib.provenance import read_csv

_LABELS = ["experiment", "dataset"]


def labelled(rows: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Make the frame begin with its labels, ``experiment`` and ``dataset``."""
    others = [column for column in rows.columns if column not in _LABELS]
    return rows.assign(**labels)[[*_LABELS, *others]]


def not_run(reason: str, labels: Mapping[str, str]) -> pd.DataFrame:
    """Make the frame of an experiment that was not run: its labels and ``not_run``, the reason."""
    return pd.DataFrame([{**labels, "not_run": reason}])


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
    frames = [read_csv(path) for path in ([paths] if isinstance(paths, str) else paths)]
    if not frames:
        return pd.DataFrame(columns=list(columns)), {}
    rows = pd.concat(frames, ignore_index=True)
    if "not_run" not in rows:
        return rows, {}
    missing = rows[rows["not_run"].notna()]
    rows = rows[rows["not_run"].isna()].drop(columns="not_run").reset_index(drop=True)
    reasons = dict(zip(missing["experiment"], missing["not_run"], strict=True))
    return rows if len(rows) else pd.DataFrame(columns=list(columns)), reasons
