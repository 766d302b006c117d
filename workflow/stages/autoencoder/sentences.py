"""What the table and figures of stage autoencoder show, each in one sentence."""

from collections.abc import Mapping

import pandas as pd

from workflow.lib.sentences import by_title, sentence
from workflow.stages.autoencoder.tables import METHODS

Titles = Mapping[str, str]


def on_table(summary: pd.DataFrame, titles: Titles) -> str:
    """Set the paper's method and the best one beside linear PCA."""
    clauses = []
    table = summary[(summary["axis"] == "table") & (summary["method"] != "pca")]
    for name, rows in table.groupby("experiment", sort=False, observed=True):
        shown = rows[(rows["method"] == "median") | (rows["test_mean"] == rows["test_mean"].min())]
        parts = [
            f"{METHODS[row['method']]} {100 * row['against_mean']:+.1f} %"
            for row in shown.to_dict("records")
        ]
        clauses.append(f"{titles[str(name)]}, d = {rows['d'].iloc[0]:.0f}: {', '.join(parts)}")
    return sentence(clauses, "test error against linear PCA's")


def on_sweeps(summary: pd.DataFrame, titles: Titles) -> str:
    """Say from where to where the ratio of the paper's method to linear PCA goes."""

    def say(rows: pd.DataFrame) -> list[str]:
        return [
            " to ".join(
                f"{1 + row['against_mean']:.2f} at {axis} = {row[axis]:.0f}"
                for row in own.sort_values(str(axis)).iloc[[0, -1]].to_dict("records")
            )
            for axis, own in rows.groupby("axis", sort=False)
        ]

    swept = summary[summary["axis"].isin(["d", "m"]) & (summary["method"] == "median")]
    return by_title(swept, titles, say, "test error of RPCA over linear PCA's")
