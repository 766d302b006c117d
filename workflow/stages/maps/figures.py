"""Figures of the maps stage: kernel error and correlation, seconds, and numbers kept."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from workflow.lib.figures import FAINT, GREEN, GREY, INKS, LOOK, OCHRE, PINK, STYLE, legend, wrapped
from workflow.lib.tables import BASELINE_NAMES
from workflow.stages.maps.tables import MEASURED, NAMES, kept

LOOKS: dict[str, dict[str, Any]] = {
    "fourier": LOOK["fourier"],
    "orthogonal": {"color": GREEN, "marker": "^"},
    "qmc": {"color": PINK, "marker": "D"},
    "fastfood": {"color": OCHRE, "marker": "v"},
    "nystroem": LOOK["nystroem"],
}
# Weights and landmarks are nearly as many: one line for both.
_SIZES: dict[str, tuple[Any, dict[str, Any]]] = {
    "deep CCA, the paper's layers": (
        ("dcca", None, "layers"),
        {"color": GREY, "linestyle": ":"},
    ),
    "RCCA, weights or landmarks": (
        ("rcca", "fourier", "arrays"),
        {"color": GREEN, "marker": "^"},
    ),
    "RCCA, Fastfood's factors": (("rcca", "fastfood", "arrays"), LOOKS["fastfood"]),
    "RCCA, seed alone": (("rcca", "fourier", "seed"), LOOKS["fourier"]),
}
_MEASURED: dict[str, dict[str, Any]] = {
    "dcca": {"color": GREY},
    "kcca": {"color": LOOK["kcca"]["color"], "linestyle": "--"},
}


def score_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Kernel error, and gain in test correlation over Fourier features, against m.

    A row of panels per experiment that was run.

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.stages.maps.tables.score_summary`, beside the published numbers.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(summary["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, panels = _grid(len(names), 2)
        for (left, right), name in zip(panels, names, strict=False):
            rows = summary[summary["experiment"] == name]
            _lines(left, rows, "kernel_error")
            _guide(left, rows)
            left.set(xscale="log", yscale="log")
            left.set_ylabel(r"kernel error $\|\hat{K} - K\| \, / \, \|K\|$")
            _lines(right, rows, "gain")
            _paper_points(right, rows)
            right.set_xscale("log")
            right.set_ylabel("test correlations − Fourier's")
            for axes in (left, right):
                axes.set_title(wrapped(titles[name]))
                _ticks(axes, rows["m"], "number of random features $m$")
        legend(figure, [axes for row in panels for axes in row])
    return figure


def speed_figure(speeds: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Time of a row's features, and Fastfood's advantage, against the number of columns d.

    Parameters
    ----------
    speeds : DataFrame
        Of `workflow.stages.maps.tables.speed_summary`.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(speeds["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, panels = _grid(len(names), 2)
        for (left, right), name in zip(panels, names, strict=False):
            rows = speeds[speeds["experiment"] == name]
            largest = rows["m"].max()
            for feature_map, group in rows[rows["m"] == largest].groupby("feature_map"):
                look = LOOKS[str(feature_map)]
                label = NAMES[str(feature_map)]
                left.plot(group["d"], group["microseconds"], label=label, **look)
            left.set(xscale="log", yscale="log", ylabel="processor time of a row (µs)")
            left.set_title(f"$m = {largest}$ features")
            _advantage(right, rows)
            right.set(xscale="log", ylabel="times as fast as Fourier features")
            right.set_title("advantage of Fastfood")
            for axes in (left, right):
                _ticks(axes, rows["d"], "number of columns $d$")
        legend(figure, [row[0] for row in panels])
    return figure


def size_figure(sizes: pd.DataFrame) -> Figure:
    """Numbers kept against m, a panel per dataset.

    Parameters
    ----------
    sizes : DataFrame
        Of `workflow.stages.maps.tables.with_measured`.
    """
    names = list(dict.fromkeys(sizes["dataset"]))
    with matplotlib.rc_context(STYLE):
        figure, panels = _grid(1, len(names))
        for axes, name in zip(panels[0], names, strict=True):
            rows = sizes[sizes["dataset"] == name]
            for label, (key, look) in _SIZES.items():
                found = kept(rows, *key)
                if key[0] == "dcca":
                    axes.axhline(found["numbers"].iloc[0], label=label, **look)
                else:
                    axes.plot(found["m"], found["numbers"], label=label, **look)
            for model, keeps in MEASURED.items():
                for numbers in kept(rows, model, None, keeps)["numbers"]:
                    label = f"{BASELINE_NAMES[model]}, measured"
                    axes.axhline(numbers, label=label, **_MEASURED[model])
            axes.set(yscale="log", ylabel="numbers kept for both views", title=name.upper())
            _ticks(axes, rows["m"].dropna().astype(int), "number of random features $m_x = m_y$")
        legend(figure, panels[0])
    return figure


def _grid(rows: int, columns: int) -> tuple[Figure, Any]:
    figure = Figure(figsize=(3.4 * columns, 2.8 * max(rows, 1) + 0.4), layout="constrained")
    panels = figure.subplots(max(rows, 1), columns, squeeze=False)
    if not rows:
        for axes in panels.ravel():
            axes.set_axis_off()
    return figure, panels


def _lines(axes: Any, rows: pd.DataFrame, what: str) -> None:
    for feature_map, group in rows.groupby("feature_map", observed=True):
        deviation = group[f"{what}_sd"].fillna(0.0)
        look = {**LOOKS[str(feature_map)], "label": NAMES[str(feature_map)]}
        axes.errorbar(group["m"], group[f"{what}_mean"], deviation, capsize=2.5, **look)


def _guide(axes: Any, rows: pd.DataFrame) -> None:
    """Draw the slope m^-1/2 below the Fourier features' line."""
    fourier = rows[rows["feature_map"] == "fourier"].sort_values("m")
    if len(fourier) > 1:
        start = 0.7 * fourier["kernel_error_mean"].iloc[0]
        line = start * (fourier["m"] / fourier["m"].iloc[0]) ** -0.5
        look = {"color": FAINT, "linewidth": 1, "linestyle": ":", "label": "$m^{-1/2}$"}
        axes.errorbar(fourier["m"], line, **look)  # as all others, for their order in the legend


def _paper_points(axes: Any, rows: pd.DataFrame) -> None:
    """Draw the paper's sums less its own of Fourier features."""
    known = rows.dropna(subset="paper")
    fourier = known[known["feature_map"] == "fourier"].set_index("m")["paper"]
    for feature_map, group in known.groupby("feature_map", observed=True):
        look = {**LOOKS[str(feature_map)], "markerfacecolor": "white", "linestyle": "none"}
        gain = group["paper"].to_numpy() - fourier.reindex(group["m"]).to_numpy()
        if feature_map != "fourier":
            label = f"{NAMES[str(feature_map)]} (paper)"
            axes.errorbar(group["m"], gain, label=label, zorder=3, **look)


def _advantage(axes: Any, rows: pd.DataFrame) -> None:
    fastfood = rows[rows["feature_map"] == "fastfood"]
    for m, color, marker in zip(sorted(fastfood["m"].unique()), INKS, "osD^vP", strict=False):
        group = fastfood[fastfood["m"] == m]
        axes.plot(group["d"], group["speedup"], color=color, marker=marker, label=f"$m = {m}$")
    axes.axhline(1, color=GREY, linewidth=1, linestyle="--")
    axes.legend()


def _ticks(axes: Any, values: pd.Series, label: str) -> None:
    """Name the measured values on the horizontal axis."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(FixedLocator(sorted(values.unique())))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())
