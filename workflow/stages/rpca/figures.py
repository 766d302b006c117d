"""The figures of the rpca stage: agreement against m, first components, seconds against n."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import (
    CLASSES,
    FAINT,
    LOOK,
    STYLE,
    end_labels,
    legend,
    log_axis,
    panels,
    wrapped,
)

# In the order in which methods are shown.
NAMES = {
    analysis.lower(): {
        "linear": f"linear {analysis}",
        "exact": f"exact kernel {analysis}",
        "leading": f"exact kernel {analysis}, leading components",
        "fourier": f"R{analysis}, Fourier",
        "nystroem": f"R{analysis}, whitened Nyström",
    }
    for analysis in ("PCA", "CCA")
}
VALUES = {"pca": "eigenvalues", "cca": "correlations"}
MERITS = {"pca": "accuracy of {} components", "cca": "test correlation, sum of {}"}
_MEASURES = {
    "value_error": "relative error of {}",
    "mean_angle": "mean principal angle, °",
    "kernel_error": r"$\|\hat K - K\|\,/\,\|K\|$",
}
_TIMED = {"linear": "v", "exact": "D", "leading": "P"}


def power(row: Any, name: str) -> str:
    """Write a fitted exponent, with its standard error if there is one."""
    error = row[f"{name}_error"]
    return f"{row[name]:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "")


def agreement_figure(
    errors: pd.DataFrame, merits: pd.DataFrame, analysis: str, titles: Mapping[str, str]
) -> Figure:
    """Distance from the exact kernel method against m, by summaries: four panels per experiment."""
    summary = errors[errors["analysis"] == analysis]
    merit = merits[merits["analysis"] == analysis]
    names = list(dict.fromkeys(summary["experiment"]))
    with matplotlib.rc_context(STYLE):
        places = list(product(names, (*_MEASURES, "merit")))
        figure, axes_of = panels(places, panels_a_row=2, size=(3.5, 2.3))
        for (name, measure), axes in axes_of.items():
            own = summary[summary["experiment"] == name]
            if measure == "merit":
                rows = merit[merit["experiment"] == name]
                rows = rows[rows["components"] == rows["components"].max()]
                label = MERITS[analysis].format(rows["components"].iloc[0])
            else:
                rows, label = own, _MEASURES[measure].format(VALUES[analysis])
                fourier = own[own["method"] == "fourier"]
                guide = (fourier["m"] / fourier["m"].iloc[0]) ** -0.5
                guide *= fourier[f"{measure}_mean"].iloc[0]
                axes.plot(fourier["m"], guide, color=FAINT, label="$\\propto m^{-1/2}$")
                axes.set_yscale("log")
            _bands(axes, rows, measure, NAMES[analysis])
            log_axis(axes, own["m"], "number of random features $m$")
            axes.set_ylabel(label)
            if measure == "value_error":
                axes.set_title(f"{wrapped(titles[name])}, $n = {own['n'].iloc[0]}$", loc="left")
        legend(figure, list(axes_of.values())[::-1])
    return figure


def _bands(axes: Any, rows: pd.DataFrame, measure: str, names: Mapping[str, str]) -> None:
    """Draw means with bands from the least to the largest; a level where m is not varied."""
    for method, group in rows.groupby("method", sort=False):
        look, label = LOOK[str(method)], names[str(method)]
        if "marker" not in look:
            axes.axhline(group[f"{measure}_mean"].iloc[0], label=label, **look)
            continue
        axes.plot(group["m"], group[f"{measure}_mean"], label=label, **look)
        band = group[f"{measure}_min"], group[f"{measure}_max"]
        axes.fill_between(group["m"], *band, color=look["color"], alpha=0.2, linewidth=0)


def scatter_figure(scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """First two principal components by class, one row per experiment and a panel per method."""
    groups: dict[Any, pd.DataFrame] = dict(
        iter(scores.groupby(["experiment", "method"], sort=False))
    )
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        figure, axes_of = panels(list(groups), panels_a_row=4, size=(1.8, 2.1))
        for (name, method), axes in axes_of.items():
            rows = groups[name, method]
            for label, group in rows.groupby("label"):
                axes.scatter(
                    group["component_1"],
                    group["component_2"],
                    s=12,
                    marker=f"${label}$",
                    color=CLASSES[int(str(label)) % len(CLASSES)],
                    linewidths=0.2,
                    rasterized=True,  # thousands of glyphs would be most of the page
                )
            size = f"$m = {rows['m'].iloc[0]}$" if "marker" in LOOK[method] else ""
            axes.set_title(f"{NAMES['pca'][method]}\n{size}")
            lead = f"{titles[name]}\n" if method == "linear" else ""
            axes.set(xlabel="component 1", ylabel=f"{lead}component 2", xticks=[], yticks=[])
    return figure


def times_figure(times: pd.DataFrame, laws: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Wall time against n, one panel per experiment and analysis, with the fitted power laws."""
    groups: dict[Any, pd.DataFrame] = dict(
        iter(times.groupby(["experiment", "analysis"], sort=False))
    )
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(groups), panels_a_row=1, size=(7.0, 2.9))
        for (name, analysis), axes in axes_of.items():
            rows = groups[name, analysis]
            own = laws[(laws["experiment"] == name) & (laws["analysis"] == analysis)]
            _laws(axes, rows, own.set_index("method"), NAMES[analysis])
            axes.set(xscale="log", yscale="log", xlabel="number of rows $n$", ylabel="seconds")
            threads = rows["threads"].iloc[0]
            axes.set_title(f"{titles[name]}, {analysis.upper()}, threads: {threads}", loc="left")
            axes.set_xmargin(0.02)
            end_labels(axes)
    return figure


def _laws(axes: Any, times: pd.DataFrame, laws: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Draw medians with bars from the least to the largest, and the laws up to the largest n."""
    for method, name in names.items():
        seconds = times[times["method"] == method].groupby("n")["seconds"]
        if not len(seconds):
            continue
        kernel = LOOK["exact"] if method == "leading" else LOOK[method]
        look = {"color": kernel["color"], "marker": kernel.get("marker", _TIMED.get(method))}
        if method in laws.index:
            law = laws.loc[method]
            n = np.array([law["n_from"], times["n"].max()], float)
            line = law["factor"] * n ** law["exponent"]
            name = f"{name}: $n^{{{power(law, 'exponent')}}}$"
            axes.plot(n, line, color=look["color"], linestyle=":", linewidth=1.0, label=name)
        median = seconds.median()
        bars = median - seconds.min(), seconds.max() - median
        axes.errorbar(median.index, median, bars, capsize=2.5, linestyle="none", label=name, **look)
