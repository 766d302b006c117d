"""How long each fit of Table 1 took, beside the paper's minutes."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from workflow.lib.published import METHODS, comparable

TIMING_COLUMNS = ("experiment", "feature_map", "m", "threads", "seconds")
_KEYS = ["experiment", "feature_map", "m"]
_TIMED = ["threads", "minutes", "minutes_one_core"]


def with_minutes(
    summary: pd.DataFrame,
    timings: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """Add what a fit alone took, and what the paper's took.

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.lib.published.beside_published`.
    timings : DataFrame
        One row per experiment, map, m and number of threads, with ``seconds``.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.

    Returns
    -------
    DataFrame
        With ``threads`` (the largest number tried), ``minutes`` on that many, ``minutes_one_core``,
        ``paper_minutes``, and ``speed_up``: the paper's minutes, which are those of one core,
        over ours on one core.
    """
    timed = _by_threads(timings)
    joined = summary.merge(timed, on=_KEYS, how="left") if len(timed) else summary
    joined = joined.reindex(columns=[*summary.columns, *_TIMED])
    minutes = [
        _paper_minutes(row, comparable(published, row, experiments))
        for row in joined.to_dict("records")
    ]
    paper = pd.Series(minutes, index=joined.index, dtype=float)
    return joined.assign(paper_minutes=paper, speed_up=paper / joined["minutes_one_core"])


def _by_threads(timings: pd.DataFrame) -> pd.DataFrame:
    found = []
    for key, rows in timings.groupby(_KEYS):
        minutes = rows.groupby("threads")["seconds"].mean() / 60
        most = int(minutes.index.max())
        values = (most, minutes[most], minutes.get(1))
        found.append(dict(zip([*_KEYS, *_TIMED], [*key, *values], strict=True)))
    return pd.DataFrame(found)


def _paper_minutes(row: Any, rows: pd.DataFrame) -> float | None:
    rows = rows[rows["method"] == METHODS[str(row["feature_map"])]]
    if row["feature_map"] != "linear":
        rows = rows[rows["m"] == row["m"]]
    return float(rows["minutes"].iloc[0]) if len(rows) else None
