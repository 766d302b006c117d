"""The paper's numbers beside ours, only where dataset and figure of merit are the same."""

from collections.abc import Hashable
from typing import Any

import pandas as pd

METHODS = {"linear": "linear_cca", "fourier": "fourier", "nystroem": "nystroem"}


def comparable(published: pd.DataFrame, dataset: str, components: int) -> pd.DataFrame:
    """Return the published rows of exactly that dataset and number of components.

    Parameters
    ----------
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    dataset : str
        A stand-in has a name of its own, so that nothing is published for it.
    components : int
    """
    return published[(published["dataset"] == dataset) & (published["top"] == components)]


def beside_published(summary: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``paper`` and ``difference`` (ours less the paper's test value)."""
    values = [_value(row, published) for row in summary.to_dict("records")]
    paper = pd.Series(values, index=summary.index, dtype=float)
    return summary.assign(paper=paper, difference=summary["test_mean"] - paper)


def _value(row: dict[Hashable, Any], published: pd.DataFrame) -> float | None:
    rows = comparable(published, str(row["dataset"]), int(row["components"]))
    rows = rows[rows["method"] == METHODS[str(row["feature_map"])]]
    if row["feature_map"] != "linear":
        rows = rows[rows["m"] == row["m"]]
    return float(rows["test_corr"].iloc[0]) if len(rows) else None
