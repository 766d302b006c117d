"""What became of each experiment: its rows, or the reason why there are none."""

import io
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from workflow.lib.provenance import checked

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
    frames: list[pd.DataFrame] = []
    reasons: dict[str, str] = {}
    for path in [paths] if isinstance(paths, str) else paths:
        content = checked(path)
        found = pd.read_csv(io.BytesIO(content))
        if "not_run" in found:
            missing = found[found["not_run"].notna()]
            reasons |= dict(zip(missing["experiment"], missing["not_run"], strict=True))
            # Read again without them: empty cells turn whole numbers into fractions.
            lines = [1 + row for row in missing.index]
            found = pd.read_csv(io.BytesIO(content), skiprows=lines).drop(columns="not_run")
        frames.append(found)
    there = [frame for frame in frames if len(frame)] or [pd.DataFrame(columns=list(columns))]
    return pd.concat(there, ignore_index=True), reasons
