"""What became of each experiment: its rows, or the reason why there are none."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import pandas as pd

from workflow.lib.provenance import read_csv

_LABELS = ["experiment", "dataset"]


def gather(paths: Iterable[str | PathLike[str]], labels: Mapping[str, str]) -> pd.DataFrame:
    """Read the CSVs of one experiment into one frame that begins with its labels.

    Parameters
    ----------
    paths : iterable of path
    labels : mapping
        ``experiment`` and ``dataset``.
    """
    return labelled(pd.concat([read_csv(path) for path in paths], ignore_index=True), labels)


def labelled(rows: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Make the frame begin with its labels, ``experiment`` and ``dataset``."""
    others = [column for column in rows.columns if column not in _LABELS]
    return rows.assign(**labels)[[*_LABELS, *others]]


def not_run(reason: str, labels: Mapping[str, str]) -> pd.DataFrame:
    """Make the frame of an experiment that was not run: its labels and ``not_run``, the reason."""
    return pd.DataFrame([{**labels, "not_run": reason}])


def read_outcomes(
    paths: Iterable[str | PathLike[str]], columns: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read the frames of all experiments.

    Parameters
    ----------
    paths : iterable of path
    columns : sequence of str
        What the rows have at least, also where there are none.

    Returns
    -------
    rows : DataFrame
        Of the experiments that were run; without rows if none was.
    reasons : dict of str to str
        Why each of the others was not run.
    """
    frames = [read_csv(path) for path in paths]
    run = [frame for frame in frames if "not_run" not in frame and len(frame)]
    reasons = {
        str(row["experiment"]): str(row["not_run"])
        for frame in frames
        if "not_run" in frame
        for row in frame.to_dict("records")
    }
    rows = pd.concat(run, ignore_index=True) if run else pd.DataFrame(columns=list(columns))
    return rows, reasons
