"""Figures of the extensions stage: clusters, errors of classifiers, powers."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import (
    CLASSES,
    LOOK,
    STYLE,
    curves,
    end_labels,
    error_bars,
    legend,
    log_axis,
    panels,
    wrapped,
)

CLUSTERINGS = {
    "kmeans": "k-means",
    "exact": "exact spectral",
    "fourier": "randomized, Fourier",
    "nystroem": "randomized, Nyström",
}
CLASSIFIERS = {
    "lda": "LDA",
    "svm": "linear SVM",
    "fourier": "RLDA, Fourier",
    "nystroem": "RLDA, Nyström",
}
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "rdc": "RDC"}
_LOOKS: dict[str, dict[str, Any]] = LOOK | {
    "kmeans": LOOK["other"],
    "lda": LOOK["linear"],
    "svm": LOOK["other"],
    "pearson": LOOK["linear"] | {"marker": "v"},
    "spearman": LOOK["other"] | {"marker": "^"},
    "rdc": LOOK["fourier"],
}
_DRAWN = ("kmeans", "nystroem")
# Not the colours of any method.
_CLUSTERS = ((CLASSES[6], "o"), (CLASSES[7], "^"))
_M = "number of random features $m$"


def clustering_figure(
    summary: pd.DataFrame, points: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """Clusters of the shapes' points above, agreement with the classes against m below."""
    drawn = points[points["method"].isin(_DRAWN)]
    shapes: dict[Any, pd.DataFrame] = dict(iter(drawn.groupby(["data", "method"], sort=False)))
    sets: dict[Any, pd.DataFrame] = dict(iter(summary.groupby("data", sort=False, observed=True)))
    heights = [1.9] * bool(shapes) + [2.4] * -(-len(sets) // 2)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.0, sum(heights) + 0.4), layout="constrained")
        grid = figure.add_gridspec(len(heights) or 1, 4, height_ratios=heights or None)
        for place, ((name, method), rows) in enumerate(shapes.items()):
            axes = figure.add_subplot(grid[0, place])
            _scatter(axes, rows)
            axes.set_title(f"{titles[name]}:\n{CLUSTERINGS[method]}")
        for place, (name, rows) in enumerate(sets.items()):
            row, column = place // 2 + bool(shapes), 2 * (place % 2)
            axes = figure.add_subplot(grid[row, column : column + 2])
            _agreement(axes, rows)
            axes.set_title(wrapped(f"{titles[name]}, n = {rows['n'].iloc[0]}"), loc="left")
        legend(figure, figure.axes)
    return figure


def _scatter(axes: Any, points: pd.DataFrame) -> None:
    for (colour, marker), (_, group) in zip(_CLUSTERS, points.groupby("cluster"), strict=False):
        look = {"s": 5, "marker": marker, "linewidths": 0, "rasterized": True}
        axes.scatter(group["x1"], group["x2"], c=colour, **look)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _agreement(axes: Any, rows: pd.DataFrame) -> None:
    curves(axes, rows, "m", "nmi", CLUSTERINGS, _LOOKS)
    if rows["data"].iloc[0] == "subset":
        for method in ("fourier", "nystroem"):
            own = rows[rows["method"] == method]
            look = LOOK[method] | {"markersize": 2.5, "linestyle": "--", "linewidth": 1.0}
            label = f"{CLUSTERINGS[method]}: with exact clusters"
            error_bars(axes, own, "m", "nmi_exact", label=label, **look)
    log_axis(axes, rows["m"].dropna(), _M)
    axes.set(ylim=(-0.03, 1.03), ylabel="mutual information")


def discriminants_figure(summary: pd.DataFrame, title: str) -> Figure:
    """Test error against m; blank without rows."""
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels([title] if len(summary) else [], size=(5.0, 2.6))
        for axes in axes_of.values():
            curves(axes, summary, "m", "error", CLASSIFIERS, _LOOKS)
            log_axis(axes, summary["m"].dropna(), _M)
            axes.set_ylim(bottom=0)
            axes.set_ylabel("test error, %")
            axes.set_title(wrapped(title), loc="left")
            end_labels(axes)
    return figure


def dependence_figure(power: pd.DataFrame) -> Figure:
    """Power against noise, one panel per pattern, with one standard error."""
    error = np.sqrt(power["power"] * (1 - power["power"]) / power["repeats"])
    rows = power.assign(power_mean=power["power"], power_sd=error)
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(dict.fromkeys(power["pattern"])), size=(2.4, 2.4))
        for pattern, axes in axes_of.items():
            curves(axes, rows[rows["pattern"] == pattern], "noise", "power", COEFFICIENTS, _LOOKS)
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set(
                title=pattern, ylim=(-0.03, 1.03), xlabel="noise in $y$ (s.d.)", ylabel="power"
            )
        legend(figure, list(axes_of.values()))
    return figure
