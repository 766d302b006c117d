"""What the tables and figures of stage lupi show, each in one sentence."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.sentences import sentence, span
from workflow.stages.lupi.tables import METHOD_NAMES, PREPROCESSING_NAMES, Paper, verdict

Titles = Mapping[str, str]
_ORACLES = ("attributes", "attributes-permuted", "majority")


def on_verdict(
    summary: pd.DataFrame, pairs: pd.DataFrame, paper: Mapping[str, Paper], titles: Titles
) -> str:
    """Give the conclusion of the first experiment."""
    if not len(summary):
        return ""
    name = summary["experiment"].iloc[0]
    means, compared = (rows[rows["experiment"] == name] for rows in (summary, pairs))
    conclusion = verdict(means, compared, paper.get(name))[0].removeprefix("In short: ")
    return sentence([f"{titles[name]}: {conclusion.removesuffix('.')}"])


def on_differences(pairs: pd.DataFrame, paper: Mapping[str, Paper], titles: Titles) -> str:
    """Give the paired differences of RCCA from the regular features, beside the paper's."""
    gains = pairs[pairs["alike"] & (pairs["method"] == "rcca") & (pairs["reference"] == "surf")]
    if not len(gains):
        return ""
    name = gains["experiment"].iloc[0]
    parts = [
        f"{row['difference']:+.2f} with {PREPROCESSING_NAMES[row['preprocessing']]} "
        f"[{row['low']:+.2f}, {row['high']:+.2f}]"
        for row in gains[gains["experiment"] == name].to_dict("records")
    ]
    published = f"; the paper's {paper[name]['difference']:+.2f}" if name in paper else ""
    return sentence(
        [f"{titles[name]}: RCCA minus regular features, in points: {', '.join(parts)}{published}"]
    )


def on_methods(pairs: pd.DataFrame, titles: Titles) -> str:
    """Name the method that gains most over the regular features, and count those that gain."""
    against = pairs[pairs["alike"] & (pairs["reference"] == "surf")]
    against = against[~against["method"].isin(_ORACLES)]
    if not len(against):
        return ""
    name = against["experiment"].iloc[0]
    rows = against[against["experiment"] == name]
    best: Any = rows.iloc[rows["difference"].argmax()]
    clauses = [
        f"{(rows['low'] > 0).sum()} of {len(rows)} pairs of method and preprocessing gain over the "
        "regular features by their 95 % interval",
        f"the largest mean gain is {best['difference']:+.2f} points "
        f"({METHOD_NAMES[best['method']]}, {PREPROCESSING_NAMES[best['preprocessing']]})",
    ]
    return sentence(clauses, titles[name])


def on_reg(settings: pd.DataFrame, titles: Titles) -> str:
    """Say between which mean accuracies RCCA moves as reg does, at the largest m."""
    rcca = settings[(settings["method"] == "rcca") & settings["reg"].notna()]
    if not len(rcca):
        return ""
    name = rcca["experiment"].iloc[0]
    rows = rcca[rcca["experiment"] == name]
    rows = rows[rows["m"] == rows["m"].max()]
    regs = span(rows["reg"].unique(), "g")
    means = rows.groupby(["preprocessing", "reg"], sort=False)["test_accuracy"].mean()
    parts = [
        f"{span(own)} % with {PREPROCESSING_NAMES[str(kind)]}"
        for kind, own in means.groupby("preprocessing", sort=False)
    ]
    return sentence([f"{titles[name]}: over reg = {regs} RCCA's accuracy is {', '.join(parts)}"])
