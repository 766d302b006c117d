"""Charts of the rpca stage: agreement against m, first components, seconds against n."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.chart import Note, Panel, Series, level, linear, logarithmic, plain

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
_LOOKS = {
    "linear": ("linear", "linear"),
    "exact": ("kernel", "exact"),
    "leading": ("kernel", "exact, leading"),
    "fourier": ("fourier", "Fourier"),
    "nystroem": ("whitened", "Nyström, whitened"),
}
_SECONDS = {0.001: "1 ms", 0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 100: "100 s"}


def power(row: Any, name: str) -> str:
    """Write a fitted exponent, with its standard error if there is one."""
    error = row[f"{name}_error"]
    return f"{row[name]:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "")


def agreement_figure(
    errors: pd.DataFrame, merits: pd.DataFrame, titles: Mapping[str, str]
) -> list[Panel]:
    """Angle to the exact components and merit of a task against m: two panels per analysis.

    The first experiment of each analysis is drawn; tables have all.
    """
    panels = []
    for analysis, names in NAMES.items():
        summary = errors[errors["analysis"] == analysis]
        for name in summary["experiment"].iloc[:1]:
            own = summary[summary["experiment"] == name]
            merit = merits[(merits["analysis"] == analysis) & (merits["experiment"] == name)]
            merit = merit[merit["components"] == merit["components"].max()]
            x = logarithmic([own["m"]], "random features m", _sizes(own["m"]))
            kernel = names["exact"].removeprefix("exact ")
            title = f"{titles[name]}: {kernel}, n = {own['n'].iloc[0]:,}"
            angles = _against_m(own, "mean_angle", x)
            tasks = _against_m(merit, "merit", x)
            angle = linear(
                [mark.y for mark in angles],
                "mean angle to the exact components",
                zero=True,
                unit="°",
            )
            task = linear(
                [mark.y for mark in tasks], MERITS[analysis].format(merit["components"].iloc[0])
            )
            panels += [Panel(x, angle, angles, title, 270), Panel(x, task, tasks, " ", 270)]
    return panels


def _sizes(values: "pd.Series[float]") -> dict[float, str]:
    return {float(m): plain(float(m)) for m in sorted(set(values.dropna()))}


def _against_m(rows: pd.DataFrame, measure: str, x: Any) -> list[Series]:
    """Draw means with ranges; a level where m is not varied."""
    marks = []
    for method, own in rows.groupby("method", sort=False):
        look, name = _LOOKS[str(method)]
        mean = own[f"{measure}_mean"].to_numpy()
        if method in ("fourier", "nystroem"):
            ends = own[f"{measure}_min"].to_numpy(), own[f"{measure}_max"].to_numpy()
            marks.append(Series(look, own["m"], mean, name, name, *ends))
        else:
            marks.append(level(look, x, mean[0], name, name))
    return marks


def scatter_figure(scores: pd.DataFrame, titles: Mapping[str, str]) -> list[Panel]:
    """First two principal components of the experiment with fewest classes, a panel per method."""
    if not len(scores):
        return []
    classes = scores.groupby("experiment", sort=False)["label"].nunique()
    rows = scores[scores["experiment"] == classes.idxmin()]
    looks = ("fourier", "nystroem", "dcca", "kernel", "other", "linear", "whitened")
    panels = []
    for method, own in rows.groupby("method", sort=False):
        marks = [
            Series(look, group["component_1"], group["component_2"], dots=True, line=False)
            for look, (_, group) in zip(cycle(looks), own.groupby("label"), strict=False)
        ]
        x, y = linear([own["component_1"]]), linear([own["component_2"]])
        size = f", m = {own['m'].iloc[0]:.0f}" if method in ("fourier", "nystroem") else ""
        panels.append(Panel(x, y, marks, f"{NAMES['pca'][str(method)]}{size}", bare=True))
    return panels


def times_figure(times: pd.DataFrame, laws: pd.DataFrame, titles: Mapping[str, str]) -> list[Panel]:
    """Median wall time against n with its range, a panel per experiment and analysis."""
    panels = []
    for (name, analysis), rows in times.groupby(["experiment", "analysis"], sort=False):
        own = laws[(laws["experiment"] == name) & (laws["analysis"] == analysis)]
        powers = dict(zip(own["method"], own["exponent"], strict=True))
        marks: list[Any] = []
        for method in NAMES[str(analysis)]:
            seconds = rows[rows["method"] == method].groupby("n")["seconds"]
            if len(seconds):
                look, label = _LOOKS[method]
                named = f"{label}, n{_raised(powers[method])}" if method in powers else label
                median, n = seconds.median().to_numpy(), np.array([*seconds.groups])
                ends = seconds.min().to_numpy(), seconds.max().to_numpy()
                is_longest = n[-1] == rows["n"].max()
                marks.append(Series(look, n, median, label, named if is_longest else "", *ends))
                if not is_longest:
                    marks.append(Note(n[-1], median[-1], named, look, dx=8, dy=-5))
        x = logarithmic([rows["n"]], "rows n")
        y = logarithmic([rows["seconds"]], "time of a fit", _SECONDS)
        threads = rows["threads"].iloc[0]
        title = f"{titles[str(name)]}, {str(analysis).upper()}, threads: {threads}"
        panels.append(Panel(x, y, marks, title, 330))
    return panels


def _raised(exponent: float) -> str:
    return f"{exponent:.1f}".translate(str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹"))
