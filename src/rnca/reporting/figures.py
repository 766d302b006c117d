"""Figures: one style, legible at print size, safe for colour-blind readers."""

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib
import pandas as pd

from rnca.files import replacing
from rnca.reporting.tables import MAP_NAMES

matplotlib.use("Agg")

from matplotlib.figure import Figure

# Okabe and Ito's palette; each map also has a marker of its own.
_LOOK = {
    "linear": {"color": "#555555", "linestyle": "--"},
    "fourier": {"color": "#0072B2", "marker": "o"},
    "nystroem": {"color": "#D55E00", "marker": "s"},
}
_STYLE: dict[Any, Any] = {
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
    "svg.hashsalt": "rnca",
    "svg.fonttype": "none",
    "figure.dpi": 200,
}


def rcca_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Test correlation against m, one panel per experiment.

    Parameters
    ----------
    summary : DataFrame
        Of `rnca.reporting.tables.rcca_summary`.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(summary["experiment"]))
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(3.4 * len(names), 3.1), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            _rcca_panel(axes, summary[summary["experiment"] == name])
            axes.set_title(titles[name])
            axes.set_xlabel("number of random features $m_x = m_y$")
        figure.axes[0].set_ylabel("sum of test correlations")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _rcca_panel(axes: Any, rows: pd.DataFrame) -> None:
    for name, group in rows.groupby("feature_map", observed=True):
        look = {**_LOOK[str(name)], "label": MAP_NAMES[str(name)]}
        if name == "linear":
            axes.axhline(group["test_mean"].iloc[0], **look)
        else:
            deviation = group["test_sd"].fillna(0.0)
            axes.errorbar(group["m"], group["test_mean"], deviation, capsize=2.5, **look)


def save(figure: Figure, paths: Iterable[str]) -> None:
    """Write a figure to each path, in the format its ending names, without dates in it."""
    with matplotlib.rc_context(_STYLE):
        for path in paths:
            with replacing(path) as partial:
                metadata = {"Date": None} if str(path).endswith(".svg") else {}
                figure.savefig(partial, metadata=metadata)
