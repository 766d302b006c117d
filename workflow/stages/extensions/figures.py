"""Figures of the extensions stage: clusters, errors of classifiers, powers."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import (
    BLUE,
    GREEN,
    GREY,
    LOOK,
    STYLE,
    VERMILION,
    error_bars,
    legend,
    panels,
    wrapped,
)
from workflow.stages.extensions.tables import CLASSIFIERS, CLUSTERINGS, COEFFICIENTS, power_of

_CLUSTERING_LINES = {
    "kmeans": {"color": GREEN, "linestyle": ":"},
    "exact": {"color": GREY, "linestyle": "--"},
}
_CLUSTERS = ((BLUE, "o"), (VERMILION, "^"))
_DRAWN = ("kmeans", "nystroem")
_CLASSIFIER_LINES: dict[str, dict[str, Any]] = {
    "lda": {"color": GREY, "linestyle": "--"},
    "svm": {"color": GREEN, "linestyle": ":"},
}
_COEFFICIENT_LOOKS = {
    "pearson": {"color": GREY, "marker": "^", "linestyle": "--"},
    "spearman": {"color": GREEN, "marker": "s", "linestyle": ":"},
    "rdc": {"color": BLUE, "marker": "o"},
}


def clustering_figure(
    summary: pd.DataFrame, points: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """Clusters of the shapes above, agreement with the classes against m below.

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.stages.extensions.tables.clustering_summary`.
    points : DataFrame
        Of `workflow.stages.extensions.shapes.on_shapes`.
    titles : mapping of data to title
    """
    shapes = [(shape, method) for shape in points["data"].unique() for method in _DRAWN]
    sets = list(dict.fromkeys(summary["data"]))
    columns = max(len(shapes), len(sets), 1)
    rows = [row for row in (shapes, sets) if row]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * columns, 2.5 * len(rows) + 0.4), layout="constrained")
        grid = figure.subplots(len(rows) or 1, columns, squeeze=False)
        for axes in grid.ravel():
            axes.set_axis_off()
        for axes, (shape, method) in zip(grid[0], shapes, strict=False):
            chosen = points[(points["data"] == shape) & (points["method"] == method)]
            _scatter(axes, chosen, f"{titles[shape]}: {CLUSTERINGS[method]}")
        for axes, name in zip(grid[-1], sets, strict=False):
            _curves(axes, summary[summary["data"] == name], titles[str(name)])
        legend(figure, list(grid.ravel()))
    return figure


def _scatter(axes: Any, points: pd.DataFrame, title: str) -> None:
    for (colour, marker), (_, group) in zip(_CLUSTERS, points.groupby("cluster"), strict=False):
        look = {"s": 5, "marker": marker, "linewidths": 0, "rasterized": True}
        axes.scatter(group["x1"], group["x2"], c=colour, **look)
    axes.set_aspect("equal")
    axes.set_title(title)


def _curves(axes: Any, rows: pd.DataFrame, title: str) -> None:
    axes.set_axis_on()
    for name, group in rows.groupby("method", observed=True):
        method = str(name)
        if method in _CLUSTERING_LINES:
            axes.axhline(
                group["nmi_mean"].iloc[0], label=CLUSTERINGS[method], **_CLUSTERING_LINES[method]
            )
            continue
        error_bars(axes, group, "m", "nmi", label=CLUSTERINGS[method], **LOOK[method])
        if rows["data"].iloc[0] == "subset":
            look = {**LOOK[method], "markersize": 2.5, "linestyle": "-.", "linewidth": 1.0}
            label = f"{CLUSTERINGS[method]}: with exact clusters"
            error_bars(axes, group, "m", "nmi_exact", label=label, **look)
    axes.set_xscale("log")
    sizes = sorted(rows["m"].dropna().unique())
    axes.set_xticks(sizes, [f"{m:.0f}" for m in sizes])
    axes.minorticks_off()
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(wrapped(f"{title}, n = {rows['n'].iloc[0]}"))
    axes.set_xlabel("number of random features $m$")
    axes.set_ylabel("normalised mutual information")


def discriminants_figure(summary: pd.DataFrame, title: str) -> Figure:
    """Test error against m.

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.stages.extensions.tables.discriminants_summary`.
    title : str
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.2), layout="constrained")
        axes = figure.subplots()
        for name, group in summary.groupby("method", observed=True):
            label = CLASSIFIERS[str(name)]
            if name in _CLASSIFIER_LINES:
                axes.axhline(
                    group["error_mean"].iloc[0], label=label, **_CLASSIFIER_LINES[str(name)]
                )
            else:
                error_bars(axes, group, "m", "error", label=label, **LOOK[str(name)])
        axes.set_ylim(bottom=0)
        axes.set_title(wrapped(title))
        axes.set_xlabel("number of random features $m$")
        axes.set_ylabel("test error, %")
        legend(figure, [axes])
    return figure


def dependence_figure(power: pd.DataFrame) -> Figure:
    """Power against noise, one panel per pattern, with one standard error.

    Parameters
    ----------
    power : DataFrame
        Rows of `workflow.stages.extensions.dependence`.
    """
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(dict.fromkeys(power["pattern"])))
        for pattern, axes in axes_of.items():
            for method, name in COEFFICIENTS.items():
                rows = power_of(power, pattern, method)
                error = np.sqrt(rows["power"] * (1 - rows["power"]) / rows["repeats"])
                axes.errorbar(
                    rows["noise"],
                    rows["power"],
                    error,
                    capsize=2.5,
                    label=name,
                    **_COEFFICIENT_LOOKS[method],
                )
            axes.set_xscale("log")
            levels = sorted(rows["noise"])
            axes.set_xticks(levels, [f"{level:g}" for level in levels])
            axes.minorticks_off()
            axes.set_ylim(-0.03, 1.03)
            axes.set_title(pattern)
            axes.set_xlabel("standard deviation of the noise in $y$")
            axes.set_ylabel("power")
        legend(figure, list(axes_of.values()))
    return figure


def blank(text: str) -> Figure:
    """Make a figure of nothing but a text."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 1.0))
        figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure
