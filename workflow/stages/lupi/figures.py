"""Figures of stage lupi: paired differences by partition, by method and by reg."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import BLUE, GREY, STYLE, legend, wrapped
from workflow.lib.tables import half_width
from workflow.stages.lupi.names import METHOD_NAMES, PREPROCESSING_NAMES

# The paper's differences, by experiment on its data: a row of `report.lupi_pairs` each.
Papers = Mapping[str, Mapping[str, Any]]
Titles = Mapping[str, str]
ORACLES = ("attributes", "attributes-permuted", "majority")
_AGAINST_REG: dict[str, dict[str, Any]] = {
    "rcca": {"marker": "o"},
    "rcca-five": {"marker": "X", "linestyle": ":"},
}
_HOLLOW = {"color": BLUE, "markerfacecolor": "white"}


def differences_figure(
    accuracy: pd.DataFrame, published: pd.DataFrame, papers: Papers, titles: Titles
) -> Figure:
    """RCCA minus the regular features in each partition, with means and 95 % intervals.

    The paper's partitions stand beside the experiments in ``papers`` and no other.
    """
    groups = accuracy.groupby("experiment", sort=False)
    strips = {str(name): _differences(own) for name, own in groups}
    for name in strips.keys() & papers.keys():
        strips[name]["paper"] = published["rcca_accuracy"] - published["surf_accuracy"]
    heights = [0.6 + 0.36 * len(each) for each in strips.values()] or [1]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.5, sum(heights) + 0.5), layout="constrained")
        grid = figure.subplots(
            len(heights), squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights}
        )
        for axes, (name, strip) in zip(grid[:, 0], strips.items(), strict=False):
            for height, (label, values) in enumerate(strip.items()):
                _strip(axes, height, values, label)
            axes.set_yticks(range(len(strip)), list(strip))
            axes.set_ylim(len(strip) - 0.5, -0.5)
            axes.axvline(0, color=GREY, linewidth=1)
            axes.set_ylabel("preprocessing")
            axes.set_title(wrapped(titles[name]), loc="left")
        grid[-1, 0].set_xlabel("test accuracy, RCCA minus regular features, points")
    return figure


def _differences(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the paired differences by the name of their preprocessing."""
    columns = ["preprocessing", "partition"]
    table = rows.pivot_table(index=columns, columns="method", values="test_accuracy")
    pairs = (table["rcca"] - table["surf"]).dropna()
    return {name: pairs[each] for each, name in PREPROCESSING_NAMES.items() if each in pairs.index}


def _strip(axes: Any, height: float, values: Any, label: str) -> None:
    """Draw values as dots, and above them their mean with its 95 % interval (Student's)."""
    look = _HOLLOW if label == "paper" else {"color": BLUE}
    below = np.full(len(values), height + 0.17)
    axes.plot(values, below, linestyle="none", marker="o", markersize=3.5, label=label, **look)
    mean, half = values.mean(), half_width(values.sem(), len(values) - 1)
    row = {"difference": mean, "low": mean - half, "high": mean + half}
    _interval(axes, row, height - 0.17, marker="D", label=f"{label}, mean", **look)


def methods_figure(pairs: pd.DataFrame, papers: Papers, titles: Titles) -> Figure:
    """Paired difference of each method from the regular features, a column per preprocessing."""
    drawn = pairs["alike"].astype(bool) & (pairs["reference"] == "surf")
    rows = pairs[drawn & ~pairs["method"].isin(ORACLES)]
    with matplotlib.rc_context(STYLE):
        height = 1 + 0.2 * rows["method"].nunique()
        figure, panels = _grid(rows, titles, "", height, sharex=True, sharey="row")
        for axes, name, own in panels:
            found = own.set_index("method")
            names = {each: label for each, label in METHOD_NAMES.items() if each in found.index}
            for place, (method, label) in enumerate(names.items()):
                color = BLUE if "rcca" in method else GREY
                _interval(axes, found.loc[method], place, marker="o", label=label, color=color)
                if method == "rcca" and name in papers:
                    _interval(axes, papers[name], place, marker="D", label="paper", **_HOLLOW)
                    axes.text(papers[name]["difference"], place - 0.25, "paper", ha="center")
            axes.axvline(0, color=GREY, linewidth=1)
            axes.set_yticks(range(len(names)), list(names.values()))
            axes.set_ylim(len(names) - 0.5, -0.5)
        figure.supxlabel("test accuracy minus that of the regular features, points", fontsize=9)
    return figure


def _interval(axes: Any, row: Any, height: float, **look: Any) -> None:
    ends = [[row["difference"] - row["low"]], [row["high"] - row["difference"]]]
    axes.errorbar(row["difference"], height, xerr=ends, linestyle="none", capsize=2, **look)


def reg_figure(settings: pd.DataFrame, titles: Titles) -> Figure:
    """RCCA minus the regular features against reg, at the largest m, with 95 % intervals."""
    keys = ["experiment", "preprocessing", "partition"]
    largest = settings.groupby("experiment")["m"].transform("max")
    rows = settings[settings["method"].isin(_AGAINST_REG) & (settings["m"] == largest)]
    surf = settings[settings["method"] == "surf"].set_index(keys)["test_accuracy"]
    rows = rows.join(surf.rename("surf"), on=keys)
    rows = rows.assign(difference=rows["test_accuracy"] - rows["surf"])
    with matplotlib.rc_context(STYLE):
        figure, panels = _grid(rows, titles, "\nminus regular features, points", 2.5, sharey="row")
        for axes, _, own in panels:
            regs = sorted(own["reg"].unique())
            for shift, (method, found) in enumerate(own.groupby("method")):
                groups = found.groupby("reg")["difference"]
                means, halves = groups.mean(), half_width(groups.sem(), groups.count() - 1)
                # Evenly spaced: the smallest reg is orders of magnitude below the others.
                places = [regs.index(reg) + 0.1 * shift for reg in means.index]
                look = {"color": BLUE, "capsize": 2, **_AGAINST_REG[str(method)]}
                axes.errorbar(places, means, halves, label=METHOD_NAMES[str(method)], **look)
            axes.axhline(0, color=GREY, linewidth=1)
            axes.set_xticks(range(len(regs)), [f"{reg:g}" for reg in regs])
            axes.set_xlabel(f"reg, $m$ = {own['m'].max():.0f}")
        legend(figure, figure.axes)
    return figure


def _grid(
    rows: pd.DataFrame, titles: Titles, quantity: str, height: float, **shared: Any
) -> tuple[Figure, list[tuple[Any, str, pd.DataFrame]]]:
    """Make panels, a row per experiment and a column per preprocessing, each with its rows.

    Experiments that compare RCCA alone with the regular features are left out beside others.
    """
    others = rows[rows["method"] != "rcca"]
    names = (others if len(others) else rows)["experiment"].unique()
    kinds = [kind for kind in PREPROCESSING_NAMES if kind in set(rows["preprocessing"])]
    down, across = max(len(names), 1), max(len(kinds), 1)
    figure = Figure(figsize=(2.6 * across + 0.8, height * down + 0.4), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, **shared)
    panels = []
    for line, name in zip(grid, names, strict=False):
        line[0].set_ylabel(fill(titles[name], 32) + quantity)
        for axes, kind in zip(line, kinds, strict=True):
            own = rows[(rows["experiment"] == name) & (rows["preprocessing"] == kind)]
            axes.set_title(PREPROCESSING_NAMES[kind])
            axes.set_visible(len(own) > 0)
            if len(own):
                panels.append((axes, name, own))
    return figure, panels
