"""The figures of the rpca stage: agreement against m, first components, seconds against n."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import BLACK, CLASSES, FAINT, GREEN, LOOK, STYLE, legend
from workflow.stages.rpca.tables import (
    METHODS,
    NAMES,
    errors_summary,
    exponents,
    merits_summary,
    power,
)

_LOOK: dict[str, dict[str, Any]] = {
    **LOOK,
    "exact": {"color": BLACK, "marker": "D"},
    "leading": {"color": GREEN, "marker": "^"},
}
_VALUES = {"pca": "error of the eigenvalues", "cca": "error of the correlations"}
_MERITS = {"pca": "accuracy of {k} components", "cca": "test correlation, sum of {k}"}


def _panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """Make a figure of rows of panels of a size in inches; without any it is blank."""
    shape = max(rows, 1), max(columns, 1)
    figure = Figure(figsize=(size[0] * shape[1], size[1] * shape[0]), layout="constrained")
    panels = figure.subplots(*shape, squeeze=False)
    if not rows * columns:
        for axes in panels.ravel():
            axes.set_axis_off()
    return figure, panels


def agreement_figure(
    errors: pd.DataFrame, merits: pd.DataFrame, analysis: str, titles: Mapping[str, str]
) -> Figure:
    """Distance from the exact kernel method against m, one row of panels per experiment.

    Parameters
    ----------
    errors, merits : DataFrame
        Rows of the stage.
    analysis : {"pca", "cca"}
    titles : mapping of experiment to title
    """
    summary = errors_summary(errors[errors["analysis"] == analysis])
    merit = merits_summary(merits[merits["analysis"] == analysis])
    names = list(dict.fromkeys(summary["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, rows = _panels(len(names), 4, (2.75, 2.7))
        for row, name in zip(rows, names, strict=False):
            own = summary[summary["experiment"] == name]
            _error_panel(row[0], own, "value_error", _VALUES[analysis])
            _error_panel(row[1], own, "mean_angle", "angle (°), largest dashed")
            _largest_angles(row[1], own)
            _error_panel(row[2], own, "kernel_error", r"$\|\hat K - K\|\,/\,\|K\|$")
            _merit_panel(row[3], merit[merit["experiment"] == name], analysis)
            row[0].set_title(f"{titles[name]}, $n = {own['n'].iloc[0]}$", loc="left")
        legend(figure, list(rows.ravel()[::-1]))
    return figure


def _error_panel(axes: Any, rows: pd.DataFrame, measure: str, label: str) -> None:
    for method, group in rows.groupby("method", sort=False):
        look = _LOOK[str(method)]
        axes.plot(group["m"], group[f"{measure}_mean"], **look)
        band = group[f"{measure}_min"], group[f"{measure}_max"]
        axes.fill_between(group["m"], *band, color=look["color"], alpha=0.2, linewidth=0)
    fourier = rows[rows["method"] == "fourier"]
    guide = fourier[f"{measure}_mean"].iloc[0] * (fourier["m"] / fourier["m"].iloc[0]) ** -0.5
    axes.plot(fourier["m"], guide, color=FAINT, linestyle=":", label="$\\propto m^{-1/2}$")
    axes.set_yscale("log")
    _features_axis(axes, rows)
    axes.set_ylabel(label)


def _largest_angles(axes: Any, rows: pd.DataFrame) -> None:
    for method, group in rows.groupby("method", sort=False):
        color = _LOOK[str(method)]["color"]
        axes.plot(group["m"], group["largest_angle_mean"], color=color, linestyle="--", linewidth=1)


def _features_axis(axes: Any, rows: pd.DataFrame) -> None:
    sizes = sorted(rows.loc[rows["method"] == "fourier", "m"].unique())
    axes.set_xscale("log")
    axes.set_xticks(sizes, list(map(str, sizes)))
    axes.set_xticks([], minor=True)
    axes.set_xlabel("number of features $m$")


def _merit_panel(axes: Any, rows: pd.DataFrame, analysis: str) -> None:
    for method in (each for each in METHODS if each in set(rows["method"])):
        group, look = rows[rows["method"] == method], _LOOK[method]
        group = group[group["components"] == group["components"].max()]
        label = NAMES[analysis][method]
        if method in ("linear", "exact"):
            style = {"linestyle": "-.", **look, "marker": None, "linewidth": 1.2}
            axes.axhline(group["merit_mean"].iloc[0], label=label, **style)
            continue
        axes.plot(group["m"], group["merit_mean"], label=label, **look)
        band = group["merit_min"], group["merit_max"]
        axes.fill_between(group["m"], *band, color=look["color"], alpha=0.2, linewidth=0)
    _features_axis(axes, rows)
    axes.set_ylabel(_MERITS[analysis].format(k=rows["components"].max()))


def scatter_figure(scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """First two principal components by class, one row per experiment and a panel per method."""
    names = list(dict.fromkeys(scores["experiment"]))
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        figure, rows = _panels(len(names), 4, (2.75, 2.9))
        for row, name in zip(rows, names, strict=False):
            own = scores[scores["experiment"] == name]
            for axes, method in zip(row, ("linear", "exact", "fourier", "nystroem"), strict=True):
                _scatter_panel(axes, own[own["method"] == method], method)
            row[0].set_ylabel(f"{titles[name]}\ncomponent 2")
    return figure


def _scatter_panel(axes: Any, rows: pd.DataFrame, method: str) -> None:
    for label in sorted(rows["label"].unique().tolist()):
        group = rows[rows["label"] == label]
        axes.scatter(
            group["component_1"],
            group["component_2"],
            s=14,
            marker=f"${label}$",
            color=CLASSES[label % len(CLASSES)],
            linewidths=0.2,
            rasterized=True,  # thousands of glyphs would be most of the page
        )
    of = f", $m = {rows['m'].iloc[0]}$" if method in ("fourier", "nystroem") else ""
    axes.set_title(f"{NAMES['pca'][method]}{of}")
    axes.set_xlabel("component 1")
    axes.set_xticks([])
    axes.set_yticks([])


def times_figure(times: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Wall time against n, one panel per experiment and analysis, with the fitted power laws."""
    keys = list(dict.fromkeys(zip(times["experiment"], times["analysis"], strict=True)))
    with matplotlib.rc_context(STYLE):
        figure, rows = _panels(1, len(keys), (5.2, 5.0))
        for axes, (experiment, analysis) in zip(rows[0], keys, strict=False):
            own = times[(times["experiment"] == experiment) & (times["analysis"] == analysis)]
            _times_panel(axes, own, analysis)
            threads = own["threads"].iloc[0]
            axes.set_title(f"{titles[experiment]}, {analysis.upper()}, threads: {threads}")
    return figure


def _times_panel(axes: Any, times: pd.DataFrame, analysis: str) -> None:
    fitted = exponents(times).set_index("method")
    most = times["n"].max()
    for method in (each for each in METHODS if each in set(times["method"])):
        seconds = times[times["method"] == method].groupby("n")["seconds"]
        median, look = seconds.median(), _LOOK[method]
        label = NAMES[analysis][method]
        if method in fitted.index:
            law = fitted.loc[method]
            label += f": $n^{{{power(law, 'exponent')}}}$"
            n = np.array([law["n_from"], most], float)
            line = law["factor"] * n ** law["exponent"]
            axes.plot(n, line, color=look["color"], linestyle=":", linewidth=1.0)
        bars = median - seconds.min(), seconds.max() - median
        style = look | {"marker": look.get("marker", "v"), "linestyle": "none"}
        axes.errorbar(median.index, median, bars, capsize=2.5, label=label, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("number of rows $n$")
    axes.set_ylabel("seconds")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
