"""Figures of the rcca stage: correlation against m, against minutes, and with reg chosen."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, error_bars, legend, panels, wrapped
from workflow.lib.published import METHODS, comparable
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES

_DEEP = ("dcca", "dcca2013")
_PAPER_LINES = {
    "linear_cca": ("linear CCA (paper)", "#555555"),
    "dcca": ("deep CCA (paper)", LOOK["dcca"]["color"]),
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
        Of `rcca_summary`, with or without rows of baselines.
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


def _rcca_panel(axes: Any, rows: pd.DataFrame) -> None:
    for name, group in rows.groupby("feature_map", observed=True):
        look = {**LOOK[str(name)], "label": MAP_NAMES[str(name)]}
        if name == "linear":
            axes.axhline(group["test_mean"].iloc[0], **look)
        else:
            error_bars(axes, group, "m", "test", **look)
    for method in _DEEP:
        for value in rows.loc[rows["method"] == method, "test_mean"]:
            axes.axhline(value, color=LOOK[method]["color"], label=BASELINE_NAMES[method])


def _published(axes: Any, rows: pd.DataFrame) -> None:
    for name, method in METHODS.items():
        points = rows[rows["method"] == method]
        if name != "linear" and len(points):
            look = {**LOOK[name], "markerfacecolor": "white", "linestyle": "none", "zorder": 3}
            label = f"{MAP_NAMES[name]} (paper)"
            axes.plot(points["m"], points["test_corr"], label=label, **look)
    for method, (label, color) in _PAPER_LINES.items():
        for value in rows.loc[rows["method"] == method, "test_corr"]:
            axes.axhline(value, color=color, linestyle=":", linewidth=1.2, label=label)


def minutes_figure(
    summary: pd.DataFrame,
    curve: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Correlation against the minutes of one core, one panel per experiment with timed methods.

    Parameters
    ----------
    summary : DataFrame
        Of `with_minutes`, with or without rows of baselines.
    curve : DataFrame
        Epochs of deep CCA of both kinds; the first repeat's are drawn.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol; its points are drawn beside no other.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(summary.dropna(subset="minutes_one_core")["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            ours = summary[summary["experiment"] == name]
            _ours(axes, ours)
            first = curve[(curve["experiment"] == name) & (curve["repeat"] == 0)]
            _baselines(axes, ours, first)
            _papers(axes, comparable(published, ours.iloc[0], experiments))
            axes.set_xscale("log")
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("minutes on one core")
            axes.set_ylabel("sum of correlations")
        legend(figure, list(axes_of.values()))
    return figure


def _ours(axes: Any, rows: pd.DataFrame) -> None:
    for name, group in rows.groupby("feature_map", observed=True):
        look = {"marker": "D", **LOOK[str(name)], "label": MAP_NAMES[str(name)]}
        timed = group.dropna(subset="minutes_one_core")
        if len(timed):
            axes.plot(timed["minutes_one_core"], timed["test_mean"], **look)
        else:
            level = group.sort_values("m")["test_mean"].iloc[-1]
            axes.axhline(level, color=look["color"], linestyle="--", label=look["label"])


def _baselines(axes: Any, rows: pd.DataFrame, curve: pd.DataFrame) -> None:
    for method in _DEEP:
        look, name = LOOK[method], BASELINE_NAMES[method]
        epochs, ends = (frame[frame["method"] == method] for frame in (curve, rows))
        if len(ends):
            line = {**look, "markersize": 3, "label": f"{name}, tuning rows"}
            axes.plot(epochs["cpu_minutes"], epochs["tune_sum"], **line)
            star = {**look, "marker": "*", "markersize": 9, "linestyle": "none", "zorder": 4}
            star |= {"markeredgecolor": "black", "label": f"{name}, test"}
            axes.plot(ends["minutes_one_core"], ends["test_mean"], **star)
    kernel = rows[rows["method"] == "kcca"]
    if len(kernel):
        look = {**LOOK["kcca"], "label": BASELINE_NAMES["kcca"]}
        axes.plot(kernel["minutes_one_core"], kernel["test_mean"], **look)


def _papers(axes: Any, rows: pd.DataFrame) -> None:
    for name, method in METHODS.items():
        points = rows[rows["method"] == method]
        look = {"marker": "D", **LOOK[name], "markerfacecolor": "white", "linestyle": ":"}
        if len(points):
            label = f"{MAP_NAMES[name]} (paper)"
            axes.plot(points["minutes"], points["test_corr"], label=label, **look)
    label, color = _PAPER_LINES["dcca"]
    points = rows[rows["method"] == "dcca"]
    if len(points):
        axes.plot(
            points["minutes"], points["test_corr"], label=label,
            color=color, marker="*", markersize=9, markerfacecolor="white", linestyle="none",
        )  # fmt: skip


def tuning_figure(choice: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Test correlation against m with the fixed and with the chosen reg, a panel per experiment."""
    names = list(dict.fromkeys(choice["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            for kind, rows in choice[choice["experiment"] == name].groupby("feature_map"):
                if kind == "linear":
                    continue
                look, label = LOOK[str(kind)], MAP_NAMES[str(kind)]
                for what, style, words in (
                    ("untuned", {}, "reg fixed"),
                    ("tuned", {"markerfacecolor": "white", "linestyle": "--"}, "reg chosen"),
                ):
                    deviation = rows[f"{what}_sd"].fillna(0.0)
                    axes.errorbar(
                        rows["m"], rows[f"{what}_mean"], deviation,
                        capsize=2.5, **{**look, **style}, label=f"{label}, {words}",
                    )  # fmt: skip
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("sum of test correlations")
        legend(figure, list(axes_of.values()))
    return figure
