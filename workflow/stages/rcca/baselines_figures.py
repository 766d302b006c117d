"""Figures of the baselines: correlation against CPU time, and kernel CCA against n."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, legend, panels, wrapped
from workflow.lib.published import comparable
from workflow.lib.tables import BASELINE_NAMES


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
        Of `workflow.stages.rcca.baselines`, with ``experiment`` and ``dataset``.
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
        Of `workflow.stages.rcca.baselines`, with ``experiment``.
    growth : DataFrame
        Of `workflow.stages.rcca.baselines_report.kernel_growth`.
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
