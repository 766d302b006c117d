"""Figures of the rcca stage: correlation against m, against minutes, and at values of reg."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import GREY, LOOK, STYLE, error_bars, legend, panels, wrapped
from workflow.lib.published import METHODS, comparable
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES
from workflow.stages.rcca.series import PROTOCOL_NAMES

_DEEP = ("dcca", "dcca2013")
_PAPER_LINES = {
    "linear_cca": ("linear CCA (paper)", GREY),
    "dcca": ("deep CCA (paper)", LOOK["dcca"]["color"]),
}


def rcca_figure(
    summary: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Test correlation against m, one panel per experiment that was run, less the paper's below.

    Parameters
    ----------
    summary : DataFrame
        Of `beside_published`, with or without rows of baselines.
    published : DataFrame
        The paper's Table 1.
    experiments : collection of str
        Those that follow the paper's protocol; its points are drawn beside no other.
    titles : mapping of experiment to title
    """
    names = list(dict.fromkeys(summary["experiment"]))
    beside = set(summary.dropna(subset="difference")["experiment"])
    with matplotlib.rc_context(STYLE):
        figure, axes_of, strip_of = _with_strips(names, beside)
        for name, axes in axes_of.items():
            ours = summary[summary["experiment"] == name]
            _rcca_panel(axes, ours)
            _published(axes, comparable(published, ours.iloc[0], experiments))
            axes.set_title(wrapped(titles[name]))
            axes.set_ylabel("sum of test correlations")
            lowest = strip_of.get(name, axes)
            lowest.set_xlabel("number of random features $m_x = m_y$")
            if name in strip_of:
                _strip(lowest, ours)
        legend(figure, list(axes_of.values()))
    return figure


def _with_strips(
    names: Sequence[str], beside: Collection[str]
) -> tuple[Figure, dict[str, Any], dict[str, Any]]:
    """Make panels, and a strip below each that has the paper's numbers beside it."""
    if not beside:
        return *panels(names), {}
    figure, columns = Figure(figsize=(4.6 * len(names), 5.0), layout="constrained"), len(names)
    above, below = figure.subplots(2, columns, squeeze=False, sharex="col", height_ratios=[3, 1])
    strips = dict(zip(names, below, strict=True))
    for name in set(names) - set(beside):
        strips.pop(name).set_axis_off()
    return figure, dict(zip(names, above, strict=True)), strips


def _strip(axes: Any, rows: pd.DataFrame) -> None:
    """Draw what ours has more than the paper's."""
    axes.axhline(0, color=GREY, linewidth=1.0)
    for name, group in rows.dropna(subset="difference").groupby("feature_map", observed=True):
        if name != "linear":
            deviation = group["test_sd"].fillna(0.0)
            axes.errorbar(
                group["m"], group["difference"], deviation, capsize=2.5, **LOOK[str(name)]
            )
    axes.set_ylabel("ours − paper")


def speakers_figure(series: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Test correlation against m on random frames and with utterances held out, panel by series.

    Parameters
    ----------
    series : DataFrame
        Of `over_speakers`; the rows at the fixed reg are drawn.
    titles : mapping of series to title
    """
    rows = series[series["reg"] == "fixed"]
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(dict.fromkeys(rows["series"])), panels_a_row=2)
        for name, axes in axes_of.items():
            _series_panel(axes, rows[rows["series"] == name])
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("sum of test correlations")
            axes.set_ylim(bottom=0)
        legend(figure, list(axes_of.values()))
    return figure


def _series_panel(axes: Any, rows: pd.DataFrame) -> None:
    """Draw both protocols of a series: utterances held out are dashed; the paper's are hollow."""
    held_out = {"linestyle": "--", "linewidth": 1.0}
    for protocol, style in (("frames", {}), ("utterances", held_out)):
        own = rows[rows["protocol"] == protocol]
        own = own[own["feature_map"].isin(["fourier", "nystroem"])]
        for name, group in own.groupby("feature_map", observed=True):
            label = MAP_NAMES[str(name)]
            label += f", {PROTOCOL_NAMES[protocol]}" if style else ""
            error_bars(axes, group, "m", "test", **{**LOOK[str(name)], **style, "label": label})
    frames = rows[rows["protocol"] == "frames"].rename(columns={"paper": "test_corr"})
    for value in frames.loc[frames["method"] == "linear_cca", "test_mean"]:
        axes.axhline(value, **{**LOOK["linear"], "label": MAP_NAMES["linear"]})
    for method in _DEEP:
        for value in frames.loc[frames["method"] == method, "test_mean"]:
            axes.axhline(value, color=LOOK[method]["color"], label=BASELINE_NAMES[method])
    _published(axes, frames.dropna(subset="test_corr"))


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


def cv_figure(choice: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Gain of the chosen over the fixed reg against m, in pairs, a panel per experiment."""
    groups = {
        ", ".join(filter(None, [titles[str(name)], PROTOCOL_NAMES.get(str(protocol), "")])): rows
        for (name, protocol), rows in choice.groupby(["experiment", "protocol"], sort=False)
    }
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(groups))
        for title, axes in axes_of.items():
            for kind, rows in groups[title].groupby("feature_map"):
                if kind != "linear":
                    look = {**LOOK[str(kind)], "label": MAP_NAMES[str(kind)]}
                    error_bars(axes, rows, "m", "gain", **look)
            axes.axhline(0, color=GREY, linewidth=1.0)
            axes.set_title(wrapped(title))
            axes.set_xlabel("number of random features $m_x = m_y$")
            axes.set_ylabel("gain in test sum, chosen − fixed reg")
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
