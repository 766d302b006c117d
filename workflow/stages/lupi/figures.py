"""Chart of stage lupi: what true and permuted attributes gain over the regular features."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.chart import Note, Panel, Series, categories, linear, plain
from workflow.stages.lupi.names import PREPROCESSING_NAMES

# The paper's differences, by experiment on its data: a row of `report.lupi_pairs` each.
Papers = Mapping[str, Mapping[str, Any]]
Titles = Mapping[str, str]
ORACLES = ("attributes", "attributes-permuted", "majority")
_ROWS = {"rcca": "true attributes", "rcca-permuted-animals": "class-permuted attributes"}


def gains_figure(pairs: pd.DataFrame, papers: Papers, titles: Titles) -> list[Panel]:
    """Paired gain over the regular features, with 95 % intervals; hollow: the paper's 14 pairs.

    Experiments without the control are left out beside others that have it.
    """
    rows = pairs[pairs["alike"].astype(bool) & (pairs["reference"] == "surf")]
    rows = rows[rows["method"].isin(list(_ROWS))]
    with_control = rows.loc[rows["method"] != "rcca", "experiment"].unique()
    panels = []
    for name, own in rows.groupby("experiment", sort=False):
        if not len(with_control) or name in with_control:
            panels.append(_panel(own, papers.get(str(name)), titles[str(name)]))
    return panels


def _panel(rows: pd.DataFrame, paper: Mapping[str, Any] | None, title: str) -> Panel:
    found = rows.set_index(["preprocessing", "method"]).to_dict("index")
    lines: list[tuple[str, Any, bool]] = [] if paper is None else [("paper", paper, True)]
    lines += [
        (f"{label}, {kind_name}", found[kind, method], False)
        for kind, kind_name in PREPROCESSING_NAMES.items()
        for method, label in _ROWS.items()
        if (kind, method) in found
    ]
    marks: list[Any] = []
    for place, (label, row, hollow) in enumerate(lines):
        value, low, high = (plain(row[key], "+.1f") for key in ("difference", "low", "high"))
        look, text = "fourier", f"{label}: {value} points, 95 % interval {low} to {high}"
        look = "linear" if "permuted" in label else look
        x, ends = [row["difference"]], ([row["low"]], [row["high"]])
        marks += [
            Series(look, x, [place], label, "", *ends, hollow=hollow, across=True, texts=[text]),
            Note(row["high"], place, value, look, dx=8),
        ]
    ends_of = np.array([[row["low"], row["high"] + 0.5] for _, row, _ in lines])
    axis = linear([ends_of], "test accuracy minus the regular features', points", zero=True)
    names = categories([label for label, *_ in lines])
    return Panel(axis, names, marks, title, 60 + 34 * len(lines), rules=[0])
