"""Figures of the rcca stage: correlation against m, against minutes, and with reg chosen."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, error_bars, legend, panels, wrapped
from workflow.lib.published import METHODS, comparable
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES

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
    for value in rows.loc[rows["method"] == "dcca", "test_mean"]:
        axes.axhline(value, color=LOOK["dcca"]["color"], label=BASELINE_NAMES["dcca"])


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
    """Correlation against the minutes of one core, one panel per experiment with timed RCCA.

    Parameters
    ----------
    summary : DataFrame
        Of `with_minutes`, with or without rows of baselines.
    curve : DataFrame
        Epochs of deep CCA; the first repeat's are drawn.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol; its points are drawn beside no other.
    titles : mapping of experiment to title
    """
    timed = summary.dropna(subset="minutes_one_core")
    names = list(dict.fromkeys(timed.dropna(subset="feature_map")["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            ours = timed[timed["experiment"] == name]
            _ours(axes, ours)
            draw_epochs(axes, curve[(curve["experiment"] == name) & (curve["repeat"] == 0)])
            _baselines(axes, ours)
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
        axes.plot(group["minutes_one_core"], group["test_mean"], **look)


def _baselines(axes: Any, rows: pd.DataFrame) -> None:
    deep, kernel = (rows[rows["method"] == method] for method in BASELINE_NAMES)
    if len(deep):
        draw_deep_test(axes, deep["minutes_one_core"], deep["test_mean"])
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


def baselines_figure(
    deep: pd.DataFrame,
    curve: pd.DataFrame,
    kernel: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Correlation against CPU minutes, one panel per experiment that was run.

    Parameters
    ----------
    deep, curve, kernel : DataFrame
        Gathered rows, with ``experiment`` and ``dataset``.
    published : DataFrame
        The paper's Table 1.
    experiments : collection of str
        Those that follow the paper's protocol; its numbers are drawn beside no other.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(deep["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            fits = deep[deep["experiment"] == name]
            _deep_panel(axes, fits, curve[curve["experiment"] == name])
            sizes = _done(kernel, name)
            label = f"{BASELINE_NAMES['kcca']}, test, growing n"
            axes.plot(sizes["cpu_minutes"], sizes["test_sum"], label=label, **LOOK["kcca"])
            papers = comparable(published, fits.iloc[0], experiments)
            for value in papers.loc[papers["method"] == "dcca", "test_corr"]:
                look = {"color": LOOK["dcca"]["color"], "linestyle": ":", "linewidth": 1.2}
                axes.axhline(value, label="deep CCA (paper)", **look)
            axes.set_xscale("log")
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("CPU minutes")
            axes.set_ylabel("sum of correlations")
        legend(figure, list(axes_of.values()), columns=min(len(names), 3))
    return figure


def _deep_panel(axes: Any, fits: pd.DataFrame, curve: pd.DataFrame) -> None:
    draw_epochs(axes, curve)
    draw_deep_test(axes, fits["cpu_minutes"], fits["test_sum"])


def draw_epochs(axes: Any, curve: pd.DataFrame) -> None:
    """Draw what deep CCA reached on tuning rows after each epoch, a line for each repeat."""
    for repeat, epochs in curve.groupby("repeat"):
        label = f"{BASELINE_NAMES['dcca']}, tuning rows" if repeat == 0 else None
        look = {**LOOK["dcca"], "markersize": 3}
        axes.plot(epochs["cpu_minutes"], epochs["tune_sum"], label=label, **look)


def draw_deep_test(axes: Any, minutes: pd.Series, sums: pd.Series) -> None:
    """Draw what trained deep CCA reaches on test rows."""
    look = {"color": "black", "marker": "*", "markersize": 9, "linestyle": "none", "zorder": 4}
    axes.plot(minutes, sums, label=f"{BASELINE_NAMES['dcca']}, test", **look)


def kernel_figure(kernel: pd.DataFrame, growth: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Exact kernel CCA: sums and CPU minutes against n, with the fitted power to all rows.

    Parameters
    ----------
    kernel : DataFrame
        Gathered rows, with ``experiment``.
    growth : DataFrame
        Of `kernel_growth`.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(kernel["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.8, 2.8 * max(len(names), 1) + 0.2), layout="constrained")
        grid = figure.subplots(max(len(names), 1), 2, squeeze=False)
        for (left, right), name in zip(grid, names, strict=False):
            sizes = _done(kernel, name)
            look = {**LOOK["kcca"], "label": "test rows"}
            left.plot(sizes["n"], sizes["test_sum"], **look)
            look |= {"label": "tuning rows", "markerfacecolor": "white", "linestyle": "--"}
            left.plot(sizes["n"], sizes["tune_sum"], **look)
            left.set_ylabel("sum of correlations")
            right.plot(sizes["n"], sizes["cpu_minutes"], **LOOK["kcca"], label="measured")
            for row in growth[growth["experiment"] == name].to_dict("records"):
                _extrapolate(right, sizes, row)
            right.set_yscale("log")
            right.set_ylabel("CPU minutes")
            for axes in (left, right):
                axes.set_xscale("log")
                axes.set_xticks(sizes["n"], [f"{n:.0f}" for n in sizes["n"]], rotation=45)
                axes.xaxis.minorticks_off()
                axes.set_xlabel("training rows $n$")
                axes.set_title(wrapped(titles[name]))
                axes.legend()
    return figure


def _extrapolate(axes: Any, sizes: pd.DataFrame, growth: Mapping[str, Any]) -> None:
    last = sizes.iloc[-1]
    n = np.array([last["n"], growth["n_full"]], dtype=float)
    least, most = growth["cpu_minutes_least"], growth["cpu_minutes_most"]
    label = f"$n^{{{growth['exponent']:.2f}}}$ to $n^3$, to all {growth['n_full']} rows"
    look = {"color": "black", "linestyle": ":", "linewidth": 1.2, "zorder": 1}
    for minutes, shown in ((least, label), (most, None)):
        axes.plot(n, [last["cpu_minutes"], minutes], label=shown, **look)


def _done(kernel: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = kernel[(kernel["experiment"] == name) & kernel["left_out"].isna()]
    return rows.sort_values("n")
