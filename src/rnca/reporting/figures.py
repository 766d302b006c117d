"""Figures: one style, legible at print size, safe for colour-blind readers."""

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import matplotlib
import pandas as pd

from rnca.files import replacing
from rnca.reporting.published import METHODS, comparable
from rnca.reporting.tables import MAP_NAMES

matplotlib.use("Agg")

from matplotlib.figure import Figure

# Okabe and Ito's palette; each map also has a marker of its own.
LOOK = {
    "linear": {"color": "#555555", "linestyle": "--"},
    "fourier": {"color": "#0072B2", "marker": "o"},
    "nystroem": {"color": "#D55E00", "marker": "s"},
}
PAPER_LINES = {
    "linear_cca": ("linear CCA (paper)", "#555555"),
    "dcca": ("deep CCA (paper)", "#009E73"),
}
_PANELS_A_ROW = 3
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "rnca",
    "svg.fonttype": "none",
    "figure.dpi": 200,
}


def rcca_figure(
    summary: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Test correlation against m, one panel per experiment that was run.

    Parameters
    ----------
    summary : DataFrame
        Of `rnca.reporting.tables.rcca_summary`.
    published : DataFrame
        The paper's Table 1.
    experiments : collection of str
        Those that follow the paper's protocol; its points are drawn beside no other.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(summary["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            ours = summary[summary["experiment"] == name]
            _rcca_panel(axes, ours)
            _published(axes, comparable(published, ours.iloc[0], experiments))
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("sum of test correlations")
        legend(figure, list(axes_of.values()))
    return figure


def panels(names: Sequence[str]) -> tuple[Figure, dict[str, Any]]:
    """Make a figure with one panel for each name, in rows; without names it is blank."""
    columns = min(len(names), _PANELS_A_ROW) or 1
    rows = -(-len(names) // columns) or 1
    figure = Figure(figsize=(3.4 * columns, 2.8 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in axes[len(names) :]:
        spare.set_axis_off()
    return figure, dict(zip(names, axes, strict=False))


def wrapped(title: str) -> str:
    """Break a title into lines that fit a panel."""
    return "\n".join(textwrap.wrap(title, 44))


def _rcca_panel(axes: Any, rows: pd.DataFrame) -> None:
    for name, group in rows.groupby("feature_map", observed=True):
        look = {**LOOK[str(name)], "label": MAP_NAMES[str(name)]}
        if name == "linear":
            axes.axhline(group["test_mean"].iloc[0], **look)
        else:
            deviation = group["test_sd"].fillna(0.0)
            axes.errorbar(group["m"], group["test_mean"], deviation, capsize=2.5, **look)


def _published(axes: Any, rows: pd.DataFrame) -> None:
    for name, method in METHODS.items():
        points = rows[rows["method"] == method]
        if name != "linear" and len(points):
            look = {**LOOK[name], "markerfacecolor": "white", "linestyle": "none", "zorder": 3}
            label = f"{MAP_NAMES[name]} (paper)"
            axes.plot(points["m"], points["test_corr"], label=label, **look)
    for method, (label, color) in PAPER_LINES.items():
        for value in rows.loc[rows["method"] == method, "test_corr"]:
            axes.axhline(value, color=color, linestyle=":", linewidth=1.2, label=label)


def legend(figure: Figure, panels: Sequence[Any]) -> None:
    """Put one legend below all panels, ours first, each label once."""
    found: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    ours = [label for label in MAP_NAMES.values() if label in found]
    labels = ours + [label for label in found if label not in ours]
    if labels:
        handles = [found[label] for label in labels]
        columns = min(len(panels), _PANELS_A_ROW) + 1
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def save(figure: Figure, paths: Iterable[str]) -> None:
    """Write a figure to each path, in the format its ending names, without dates in it."""
    with matplotlib.rc_context(STYLE):
        for path in paths:
            with replacing(path) as partial:
                metadata = {"Date": None} if str(path).endswith(".svg") else {}
                figure.savefig(partial, metadata=metadata)
