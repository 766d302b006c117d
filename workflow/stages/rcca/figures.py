"""Figures of the rcca stage: correlation against m, against minutes, and at values of reg."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, error_bars, legend, panels, wrapped
from workflow.lib.published import METHODS, comparable
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES
from workflow.stages.rcca.series import PROTOCOL_NAMES

_PAPER_LINES = {
    "linear_cca": ("linear CCA (paper)", "#555555"),
    "dcca": ("deep CCA (paper)", LOOK["dcca"]["color"]),
}


def rcca_figure(
    summary: pd.DataFrame,
    series: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Test correlation against m, one panel per experiment that was run, and per series.

    Parameters
    ----------
    summary : DataFrame
        Of `rcca_summary`, with or without rows of baselines.
    series : DataFrame
        Of `over_speakers`; the rows at the fixed reg are drawn.
    published : DataFrame
        The paper's Table 1.
    experiments : collection of str
        Those that follow the paper's protocol; its points are drawn beside no other.
    titles : mapping of experiment or series to title
    """
    series = series[series["reg"] == "fixed"]
    names = [*dict.fromkeys(summary["experiment"]), *dict.fromkeys(series["series"])]
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            ours = summary[summary["experiment"] == name]
            if len(ours):
                _rcca_panel(axes, ours)
                _published(axes, comparable(published, ours.iloc[0], experiments))
            else:
                _series_panel(axes, series[series["series"] == name])
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("sum of test correlations")
        legend(figure, list(axes_of.values()))
    return figure


def _series_panel(axes: Any, rows: pd.DataFrame) -> None:
    """Draw both protocols of a series: utterances held out are dashed; the paper's are hollow."""
    for protocol, style in (("frames", {}), ("utterances", {"linestyle": "--"})):
        own = rows[rows["protocol"] == protocol]
        own = own[own["feature_map"].isin(["fourier", "nystroem"])]
        for name, group in own.groupby("feature_map", observed=True):
            label = f"{MAP_NAMES[str(name)]}, {PROTOCOL_NAMES[protocol]}"
            error_bars(axes, group, "m", "test", **{**LOOK[str(name)], **style, "label": label})
    frames = rows[rows["protocol"] == "frames"].rename(columns={"paper": "test_corr"})
    for value in frames.loc[frames["method"] == "linear_cca", "test_mean"]:
        axes.axhline(value, **{**LOOK["linear"], "label": MAP_NAMES["linear"]})
    _published(axes, frames.dropna(subset="test_corr"))


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


def cv_figure(choice: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Test correlation against m with the fixed and with the chosen reg, a panel per experiment."""
    groups = {
        ", ".join(filter(None, [titles[str(name)], PROTOCOL_NAMES.get(str(protocol), "")])): rows
        for (name, protocol), rows in choice.groupby(["experiment", "protocol"], sort=False)
    }
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(groups))
        for title, axes in axes_of.items():
            for kind, rows in groups[title].groupby("feature_map"):
                if kind == "linear":
                    continue
                look, label = LOOK[str(kind)], MAP_NAMES[str(kind)]
                error_bars(axes, rows, "m", "fixed", **look, label=f"{label}, reg fixed")
                look = {**look, "markerfacecolor": "white", "linestyle": "--"}
                error_bars(axes, rows, "m", "chosen", **look, label=f"{label}, reg chosen")
            axes.set_title(wrapped(title))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("sum of test correlations")
        legend(figure, list(axes_of.values()))
    return figure


def regs_figure(found: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Our test sum less the paper's against m, one line per reg, one panel per map.

    Parameters
    ----------
    found : DataFrame
        Of `by_reg`; without the paper's numbers the sums themselves are drawn.
    titles : mapping of experiment to title
    """
    is_published = found["paper"].notna().any()
    rows = found[found["paper"].notna()] if is_published else found
    rows = rows[rows["feature_map"] != "linear"]
    rows = rows.assign(shown_mean=rows["difference" if is_published else "test_mean"])
    groups = {
        f"{titles[str(name)]}: {MAP_NAMES[str(kind)]}": each
        for (name, kind), each in rows.groupby(["experiment", "feature_map"], observed=True)
    }
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(groups))
        for title, axes in axes_of.items():
            for reg, each in groups[title].groupby("reg"):
                each = each.assign(shown_sd=each["test_sd"])
                error_bars(axes, each, "m", "shown", marker="o", label=f"reg = {reg:g}")
            if is_published:
                axes.axhline(0, color="black", linewidth=0.8)
            axes.set_title(wrapped(title))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("test sum less the paper's" if is_published else "test sum")
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
