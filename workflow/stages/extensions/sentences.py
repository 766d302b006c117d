"""What the tables and figures of stage extensions show, each in one sentence."""

from collections.abc import Mapping

import pandas as pd

from workflow.lib.sentences import by_title, sentence
from workflow.stages.extensions.tables import CLASSIFIERS, CLUSTERINGS, COEFFICIENTS


def on_clustering(summary: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Give the agreement with the classes of each method, at its largest m."""

    def say(rows: pd.DataFrame) -> list[str]:
        last = rows.sort_values("m").groupby("method", observed=True).tail(1)
        return [
            f"{CLUSTERINGS[row['method']]} {row['nmi_mean']:.2f}"
            for row in last.sort_values("nmi_mean", ascending=False).to_dict("records")
        ]

    return by_title(summary, titles, say, "agreement with the classes (mutual information)", "data")


def on_discriminants(summary: pd.DataFrame, title: str) -> str:
    """Give the smallest mean test error of each classifier."""
    if not len(summary):
        return ""
    best = summary.loc[summary.groupby("method", observed=True)["error_mean"].idxmin()]
    parts = [
        f"{CLASSIFIERS[str(row['method'])]} {row['error_mean']:.2f} %"
        + ("" if pd.isna(row["m"]) else f" at m = {row['m']:.0f}")
        for row in best.sort_values("error_mean").to_dict("records")
    ]
    return sentence([f"{title}: smallest test error {', '.join(parts)}"])


def on_dependence(power: pd.DataFrame) -> str:
    """Count the patterns on which each coefficient has the largest mean power."""
    means = power.groupby(["pattern", "method"], sort=False)["power"].mean().unstack()
    parts = [f"{name} {means[method].mean():.2f}" for method, name in COEFFICIENTS.items()]
    leads = (means["rdc"] > means.drop(columns="rdc").max(axis=1)).sum()
    return (
        f"Mean power over noise and patterns: {', '.join(parts)}; RDC has the largest on {leads} "
        f"of {len(means)} patterns."
    )
