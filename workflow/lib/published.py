"""The paper's numbers beside ours, only where protocol, data and figure of merit are the same."""

from collections.abc import Collection
from typing import Any

import pandas as pd

METHODS = {"linear": "linear_cca", "fourier": "fourier", "nystroem": "nystroem"}


def comparable(published: pd.DataFrame, row: Any, experiments: Collection[str]) -> pd.DataFrame:
    """Return the published rows that stand beside those of an experiment; often none.

    Parameters
    ----------
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    row : mapping or Series
        With ``experiment``, ``dataset`` and ``components``: the latter two must be the paper's. A
        stand-in is a dataset with a name of its own, so that nothing is published for it.
    experiments : collection of str
        Those that follow the paper's protocol.
    """
    if row["experiment"] not in experiments:
        return published.iloc[:0]
    dataset, components = str(row["dataset"]), int(row["components"])
    return published[(published["dataset"] == dataset) & (published["top"] == components)]


def beside_published(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Add the columns ``paper`` and ``difference`` (ours less the paper's test value).

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.lib.tables.rcca_summary`.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.
    """
    values = [
        _value(row, comparable(published, row, experiments)) for row in summary.to_dict("records")
    ]
    paper = pd.Series(values, index=summary.index, dtype=float)
    return summary.assign(paper=paper, difference=summary["test_mean"] - paper)


def _value(row: Any, rows: pd.DataFrame) -> float | None:
    rows = rows[rows["method"] == METHODS.get(str(row["feature_map"]))]
    if row["feature_map"] != "linear":
        rows = rows[rows["m"] == row["m"]]
    return float(rows["test_corr"].iloc[0]) if len(rows) else None
