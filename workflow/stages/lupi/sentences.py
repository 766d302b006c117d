"""What the tables and figures of stage lupi show, each in one sentence."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.sentences import at_largest_m, sentence, span
from workflow.stages.lupi.names import METHOD_NAMES, PREPROCESSING_NAMES
from workflow.stages.lupi.tables import Paper, conclusion

Titles = Mapping[str, str]
_ORACLES = ("attributes", "attributes-permuted", "majority")


def on_verdict(
    summary: pd.DataFrame, pairs: pd.DataFrame, papers: Mapping[str, Paper], titles: Titles
) -> str:
    """Give the conclusion of the first experiment."""
    if not len(summary):
        return ""
    name, means = _first(summary)
    own = pairs[pairs["experiment"] == name]
    return sentence([conclusion(means, own, papers.get(name))], titles[name])


def on_differences(pairs: pd.DataFrame, papers: Mapping[str, Paper], titles: Titles) -> str:
    """Give the paired differences of RCCA from the regular features, beside the paper's."""
    gains = pairs[pairs["alike"] & (pairs["method"] == "rcca") & (pairs["reference"] == "surf")]
    if not len(gains):
        return ""
    name, rows = _first(gains)
    parts = [
        f"{row['difference']:+.2f} with {PREPROCESSING_NAMES[row['preprocessing']]} "
        f"[{row['low']:+.2f}, {row['high']:+.2f}]"
        for row in rows.to_dict("records")
    ]
    published = f"the paper's {papers[name]['difference']:+.2f}" if name in papers else ""
    ours = f"RCCA minus regular features, in points: {', '.join(parts)}"
    return sentence([ours, published], titles[name])


def on_methods(pairs: pd.DataFrame, titles: Titles) -> str:
    """Name the method that gains most over the regular features, and count those that gain."""
    against = pairs[pairs["alike"] & (pairs["reference"] == "surf")]
    against = against[~against["method"].isin(_ORACLES)]
    if not len(against):
        return ""
    name, rows = _first(against)
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
    name, rows = _first(rcca)
    rows = at_largest_m(rows)
    means = rows.groupby(["preprocessing", "reg"], sort=False)["test_accuracy"].mean()
    parts = [
        f"{span(own)} % with {PREPROCESSING_NAMES[str(kind)]}"
        for kind, own in means.groupby("preprocessing", sort=False)
    ]
    says = f"over reg = {span(rows['reg'], 'g')} RCCA's accuracy is {', '.join(parts)}"
    return sentence([says], titles[name])


def _first(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the first experiment and its rows."""
    name = rows["experiment"].iloc[0]
    return name, rows[rows["experiment"] == name]
