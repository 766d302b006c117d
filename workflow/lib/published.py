"""The paper's numbers beside ours, only where protocol, data and figure of merit are the same."""

from collections.abc import Collection
from typing import Any

import pandas as pd

METHODS = {"linear": "linear_cca", "fourier": "fourier", "nystroem": "nystroem"}


def comparable(published: pd.DataFrame, row: Any, experiments: Collection[str]) -> pd.DataFrame:
    """Return the rows of ``table1_rcca.csv`` that stand beside those of an experiment; often none.

    The experiment must be one of those that follow the paper's protocol, with the paper's dataset
    and number of components. A stand-in is a dataset with a name of its own, so that nothing is
    published for it.
    """
    if row["experiment"] not in experiments:
        return published.iloc[:0]
    dataset, components = str(row["dataset"]), int(row["components"])
    return published[(published["dataset"] == dataset) & (published["top"] == components)]


def published_column(
    summary: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    column: str = "test_corr",
) -> "pd.Series[float]":
    """Return the published number of the method and m of each row; missing where there is none.

    The method is in the column ``method``, or follows from ``feature_map``. Deep CCA of either
    kind stands beside the paper's.
    """
    values = []
    for row in summary.to_dict("records"):
        rows = comparable(published, row, experiments)
        method = row.get("method") or METHODS.get(str(row["feature_map"]), "")
        rows = rows[rows["method"] == method.removesuffix("2013")]
        rows = rows[rows["m"].isna() | rows["m"].isin([row.get("m")])]
        values.append(rows[column].iloc[0] if len(rows) else None)
    return pd.Series(values, index=summary.index, dtype=float)


def beside_published(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Add the columns ``paper`` and ``difference`` (``test_mean`` less the paper's test value)."""
    paper = published_column(summary, published, experiments)
    return summary.assign(paper=paper, difference=summary["test_mean"] - paper)
