"""Figures of stage lupi: paired differences by partition and by method, and accuracy by reg."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import (
    BLUE,
    GREEN,
    GREY,
    OCHRE,
    PINK,
    STYLE,
    VERMILION,
    VIOLET,
    legend,
    wrapped,
)
from workflow.stages.lupi.tables import METHOD_NAMES, PREPROCESSING_NAMES, Paper, half_width

_RCCA, _GREY = BLUE, GREY
_AGAINST_REG = {
    "rcca": {"color": _RCCA, "marker": "o"},
    "rcca-five": {"color": "black", "marker": "x", "linestyle": ":"},
    "rcca-permuted-animals": {"color": VERMILION, "marker": "s"},
    "rcca-permuted-images": {"color": PINK, "marker": "D"},
    "rcca-y": {"color": GREEN, "marker": "^"},
    "rcca-attributes": {"color": VIOLET, "marker": "v"},
    "lda": {"color": OCHRE, "marker": "P"},
}
_NOT_DRAWN = ("majority", "surf", "attributes", "attributes-permuted")


def _of(rows: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def _unique(rows: pd.DataFrame, column: str) -> list[Any]:
    return list(dict.fromkeys(rows[column]))


def _grid(
    heights: Sequence[float], columns: int, width: float, **shared: Any
) -> tuple[Figure, Any]:
    """Make rows of panels of the given heights, in inches; at least one."""
    heights = heights or [width]
    size = (width * columns + 0.5, sum(heights) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(
        len(heights), columns, squeeze=False, gridspec_kw={"height_ratios": heights}, **shared
    )


def differences_figure(
    accuracy: pd.DataFrame,
    published: pd.DataFrame,
    paper: Mapping[str, Paper],
    titles: Mapping[str, str],
) -> Figure:
    """RCCA minus the regular features in each partition, with means and 95 % intervals.

    Parameters
    ----------
    accuracy : DataFrame
        Rows of the stage.
    published : DataFrame
        ``resources/paper/fig_lupi.csv``.
    paper : mapping of experiment to the paper's means
        Its partitions stand beside no other experiment.
    titles : mapping of experiment to title
    """
    names = _unique(accuracy, "experiment")
    rows = {name: _differences(_of(accuracy, experiment=name)) for name in names}
    for name in set(rows) & set(paper):
        pairs = published["rcca_accuracy"] - published["surf_accuracy"]
        rows[name] = {"paper": pairs.to_numpy()} | rows[name]
    with matplotlib.rc_context(STYLE):
        figure, grid = _grid(
            [0.5 + 0.34 * len(each) for each in rows.values()], 1, 6.0, sharex="col"
        )
        for axes, name in zip(grid[:, 0], names, strict=False):
            for height, (label, values) in enumerate(rows[name].items()):
                _strip(axes, height, values, hollow=label == "paper")
            axes.set_yticks(range(len(rows[name])), list(rows[name]))
            axes.set_ylim(len(rows[name]) - 0.5, -0.5)
            axes.axvline(0, color=_GREY, linewidth=1)
            axes.set_title(wrapped(titles[name]), loc="left")
        grid[-1, 0].set_xlabel("test accuracy, RCCA minus regular features, points")
    return figure


def _differences(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the paired differences by the name of their preprocessing."""
    table = rows.pivot_table(
        index=["preprocessing", "partition"], columns="method", values="test_accuracy"
    )
    pairs = (table["rcca"] - table["surf"]).dropna()
    return {
        PREPROCESSING_NAMES[each]: pairs[each].to_numpy()
        for each in PREPROCESSING_NAMES
        if each in pairs.index
    }


def _strip(axes: Any, height: float, values: Any, *, hollow: bool) -> None:
    """Draw values as dots, and above them their mean with its 95 % interval (Student's)."""
    fill = "white" if hollow else _RCCA
    axes.plot(
        values,
        np.full(len(values), height + 0.17),
        linestyle="none",
        marker="o",
        markersize=3,
        color=_RCCA,
        markerfacecolor=fill,
        alpha=1 if hollow else 0.45,
    )
    half = half_width(values.std(ddof=1), len(values)) if len(values) > 1 else 0.0
    axes.errorbar(
        values.mean(),
        height - 0.17,
        xerr=half,
        marker="D",
        color=_RCCA,
        markerfacecolor=fill,
        capsize=3,
    )


def methods_figure(
    pairs: pd.DataFrame, paper: Mapping[str, Paper], titles: Mapping[str, str]
) -> Figure:
    """Paired difference of each method from the regular features, a column per preprocessing.

    Parameters
    ----------
    pairs : DataFrame
        Of `workflow.stages.lupi.tables.lupi_pairs`.
    paper : mapping of experiment to the paper's means
    titles : mapping of experiment to title
    """
    alike = pairs[pairs["alike"].astype(bool) & (pairs["reference"] == "surf")]
    names = _with_controls(alike)
    shown = {
        name: [
            method
            for method in METHOD_NAMES
            if method not in _NOT_DRAWN and method in set(_of(alike, experiment=name)["method"])
        ]
        for name in names
    }
    columns = [each for each in PREPROCESSING_NAMES if each in set(alike["preprocessing"])]
    with matplotlib.rc_context(STYLE):
        heights = [0.8 + 0.22 * len(each) for each in shown.values()]
        figure, grid = _grid(heights, max(len(columns), 1), 2.7, sharex="row")
        for panels, (name, methods) in zip(grid, shown.items(), strict=False):
            for axes, each in zip(panels, columns, strict=True):
                rows = _of(alike, experiment=name, preprocessing=each).set_index("method")
                if not len(rows):
                    axes.set_axis_off()
                    continue
                _intervals(axes, rows.reindex(methods), paper.get(name))
                axes.set_yticks(range(len(methods)), [])
                axes.set_ylim(len(methods) - 0.5, -0.5)
                axes.set_title(PREPROCESSING_NAMES[each])
                axes.set_xlabel("minus regular features, points")
            panels[0].set_yticklabels([METHOD_NAMES[method] for method in methods])
            panels[0].set_ylabel(wrapped(titles[name]))
        legend(figure, grid.ravel())
    return figure


def _with_controls(rows: pd.DataFrame) -> list[str]:
    """List the experiments that compare more than RCCA with the regular features, if any do."""
    names = _unique(rows, "experiment")
    larger = [name for name in names if set(_of(rows, experiment=name)["method"]) > {"rcca"}]
    return larger or names


def _intervals(axes: Any, rows: pd.DataFrame, paper: Paper | None) -> None:
    """Draw the difference of each method with its interval, and the paper's beside RCCA's."""
    look = {"linestyle": "none", "color": _RCCA, "capsize": 2}
    widths = [(rows["difference"] - rows["low"]), (rows["high"] - rows["difference"])]
    heights = np.arange(len(rows))
    axes.errorbar(rows["difference"], heights, xerr=widths, marker="o", label="ours", **look)
    axes.axvline(0, color=_GREY, linewidth=1)
    if paper:
        half = paper["high"] - paper["difference"]
        where = list(rows.index).index("rcca")
        hollow = {**look, "markerfacecolor": "white"}
        axes.errorbar(paper["difference"], where, xerr=half, marker="D", label="paper", **hollow)


def reg_figure(settings: pd.DataFrame, summary: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Accuracy of RCCA and its controls against reg, at the largest m.

    Parameters
    ----------
    settings : DataFrame
        Rows of the stage for all settings, chosen or not.
    summary : DataFrame
        Of `workflow.stages.lupi.tables.lupi_summary`.
    titles : mapping of experiment to title
    """
    names = _with_controls(settings[settings["method"] != "surf"])
    columns = [each for each in PREPROCESSING_NAMES if each in set(settings["preprocessing"])]
    with matplotlib.rc_context(STYLE):
        figure, grid = _grid([2.6] * len(names), max(len(columns), 1), 2.6, sharey="row")
        for panels, name in zip(grid, names, strict=False):
            own = _of(settings, experiment=name)
            for axes, each in zip(panels, columns, strict=True):
                rows = _of(own, preprocessing=each, m=own["m"].max())
                if not len(rows):
                    axes.set_axis_off()
                    continue
                _reg_panel(axes, rows)
                for value in _of(summary, experiment=name, preprocessing=each, method="surf")[
                    "test_mean"
                ]:
                    axes.axhline(value, color=_GREY, linestyle="--", label=METHOD_NAMES["surf"])
                axes.set_title(f"{PREPROCESSING_NAMES[each]}, $m$ = {own['m'].max():.0f}")
                axes.set_xlabel("reg")
            panels[0].set_ylabel(f"{wrapped(titles[name])}\ntest accuracy, %")
        legend(figure, grid.ravel())
    return figure


def _reg_panel(axes: Any, rows: pd.DataFrame) -> None:
    regs = sorted(rows["reg"].dropna().unique())
    for method, look in _AGAINST_REG.items():
        means = _of(rows, method=method).groupby("reg")["test_accuracy"].mean().reindex(regs)
        if means.notna().any():
            # Evenly spaced: the smallest reg is orders of magnitude below the others.
            axes.plot(range(len(regs)), means, label=METHOD_NAMES[method], linewidth=1.2, **look)
    axes.set_xticks(range(len(regs)), [f"{reg:g}" for reg in regs])
