"""Figures of the lupi stage: accuracy per partition, per method, and against reg."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import STYLE, legend, wrapped
from workflow.stages.lupi.tables import METHOD_NAMES, PREPROCESSING_NAMES, published_means

_PAIR = {
    "surf": {"color": "#555555", "marker": "o", "markerfacecolor": "white"},
    "rcca": {"color": "#0072B2", "marker": "o"},
    "rcca-least-reg": {"color": "#D55E00", "marker": "v", "markerfacecolor": "white"},
}
_PREPROCESSING = {
    "raw": {"color": "#D55E00", "marker": "s"},
    "zscore": {"color": "#009E73", "marker": "^"},
    "hellinger": {"color": "#0072B2", "marker": "o"},
}
_AGAINST_REG = {
    "rcca": {"color": "#0072B2", "marker": "o"},
    "rcca-permuted-animals": {"color": "#D55E00", "marker": "s"},
    "rcca-permuted-images": {"color": "#CC79A7", "marker": "D"},
    "rcca-y": {"color": "#009E73", "marker": "^"},
    "rcca-attributes": {"color": "#56B4E9", "marker": "v"},
    "lda": {"color": "#E69F00", "marker": "P"},
}
_ORACLES = ("majority", "attributes", "attributes-permuted")


def _of(rows: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def _unique(rows: pd.DataFrame, column: str) -> list[Any]:
    return list(dict.fromkeys(rows[column]))


def partitions_figure(
    accuracy: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Accuracy in each partition, the paper's figure: a row per experiment.

    Parameters
    ----------
    accuracy : DataFrame
        Rows of the stage.
    published : DataFrame
        ``resources/paper/fig_lupi.csv``.
    experiments : collection of str
        Those that follow the paper's protocol; its points stand beside no other.
    titles : mapping of experiment to title
    """
    names = _unique(accuracy, "experiment")
    columns = [None, *PREPROCESSING_NAMES] if set(names) & set(experiments) else PREPROCESSING_NAMES
    with matplotlib.rc_context(STYLE):
        figure, grid = _grid([2.5] * len(names), len(list(columns)), 2.3)
        for panels, name in zip(grid, names, strict=False):
            own = _of(accuracy, experiment=name)
            for axes, column in zip(panels, columns, strict=True):
                if column is None and name in experiments:
                    _paper_panel(axes, published)
                elif column in set(own["preprocessing"]):
                    _pair_panel(axes, _of(own, preprocessing=column))
                    axes.set_title(PREPROCESSING_NAMES[str(column)])
                else:
                    axes.set_axis_off()
            _share_scale([axes for axes in panels if axes.axison], titles[name])
        legend(figure, grid.ravel())
    return figure


def _grid(heights: Sequence[float], columns: int, width: float) -> tuple[Figure, Any]:
    """Make rows of panels of the given heights, in inches; at least one."""
    heights = heights or [width]
    size = (width * columns + 0.5, sum(heights) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(
        len(heights), columns, squeeze=False, gridspec_kw={"height_ratios": heights}
    )


def _paper_panel(axes: Any, published: pd.DataFrame) -> None:
    means = published_means(published)
    for method in ("surf", "rcca"):
        values = published[f"{method}_accuracy"]
        axes.plot(published["partition"], values, linestyle="none", **_PAIR[method])
        axes.axhline(means[method], color=_PAIR[method]["color"], linestyle="--", linewidth=1)
    axes.set_title("paper")
    axes.set_xlabel("partition")


def _pair_panel(axes: Any, rows: pd.DataFrame) -> None:
    for method, look in _PAIR.items():
        points = _of(rows, method=method)
        if len(points):
            label = METHOD_NAMES[method]
            axes.plot(
                points["partition"] + 1,
                points["test_accuracy"],
                linestyle="none",
                label=label,
                **look,
            )
            axes.axhline(
                points["test_accuracy"].mean(), color=look["color"], linestyle="--", linewidth=1
            )
    axes.set_xlabel("partition")


def _share_scale(panels: Sequence[Any], title: str) -> None:
    """Give a row of panels one scale of accuracies, and its title beside the first of them."""
    low = min(axes.get_ylim()[0] for axes in panels)
    high = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(low, high)
    panels[0].set_ylabel("\n".join([*textwrap.wrap(title, 32), "test accuracy, %"]))


def methods_figure(
    summary: pd.DataFrame,
    pairs: pd.DataFrame,
    paper: Mapping[str, Mapping[str, float]],
    titles: Mapping[str, str],
) -> Figure:
    """Mean accuracy of each method, and its difference from the regular features in pairs.

    Parameters
    ----------
    summary, pairs : DataFrame
        Of `workflow.stages.lupi.tables`.
    paper : mapping of experiment to the paper's means
    titles : mapping of experiment to title
    """
    names = _unique(summary, "experiment")
    shown = {name: _compared(_of(summary, experiment=name)) for name in names}
    with matplotlib.rc_context(STYLE):
        figure, grid = _grid([0.7 + 0.27 * len(each) for each in shown.values()], 2, 3.6)
        for (left, right), (name, methods) in zip(grid, shown.items(), strict=False):
            own = _of(summary, experiment=name)
            _dots(left, own, methods, ("test_mean", "test_low", "test_high"))
            for value in _of(own, method="majority")["test_mean"].iloc[:1]:
                left.axvline(value, color="#555555", linestyle=":", linewidth=1)
            differences = _of(pairs, experiment=name, reference="surf")
            alike = differences["preprocessing"] == differences["reference_preprocessing"]
            _dots(right, differences[alike], methods, ("difference", "low", "high"))
            right.axvline(0, color="#555555", linewidth=1)
            if means := paper.get(name):
                gain = means["rcca"] - means["surf"]
                look = {"color": "black", "linestyle": "--", "linewidth": 1}
                right.axvline(gain, label="gain in the paper", **look)
            left.set_yticks(range(len(methods)), [METHOD_NAMES[method] for method in methods])
            right.set_yticks(range(len(methods)), [])
            left.set_title(wrapped(titles[name]))
            right.set_title("less that of the regular features")
            left.set_xlabel("test accuracy, %")
            right.set_xlabel("difference, points")
        legend(figure, grid.ravel())
    return figure


def _compared(rows: pd.DataFrame) -> list[str]:
    """List the methods of an experiment, but for what needs no features or is told the class."""
    return [name for name in METHOD_NAMES if name in set(rows["method"]) and name not in _ORACLES]


def _dots(axes: Any, rows: pd.DataFrame, methods: list[str], columns: tuple[str, str, str]) -> None:
    """Draw a value with its interval for each method, preprocessings side by side."""
    mean, low, high = columns
    shown = [each for each in _PREPROCESSING if each in set(rows["preprocessing"])]
    for shift, each in zip(np.linspace(-0.24, 0.24, len(shown)), shown, strict=True):
        own = _of(rows, preprocessing=each).set_index("method").reindex(methods)
        widths = [(own[mean] - own[low]).fillna(0), (own[high] - own[mean]).fillna(0)]
        axes.errorbar(
            own[mean],
            np.arange(len(methods)) + shift,
            xerr=widths,
            linestyle="none",
            linewidth=1,
            markersize=3.5,
            label=PREPROCESSING_NAMES[each],
            **_PREPROCESSING[each],
        )
    axes.set_ylim(len(methods) - 0.5, -0.5)


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
    names = _unique(settings, "experiment")
    with matplotlib.rc_context(STYLE):
        figure, grid = _grid([2.6] * len(names), len(PREPROCESSING_NAMES), 2.6)
        for panels, name in zip(grid, names, strict=False):
            own = _of(settings, experiment=name)
            for axes, each in zip(panels, PREPROCESSING_NAMES, strict=True):
                if each not in set(own["preprocessing"]):
                    axes.set_axis_off()
                    continue
                _reg_panel(axes, _of(own, preprocessing=each, m=own["m"].max()))
                for value in _of(summary, experiment=name, preprocessing=each, method="surf")[
                    "test_mean"
                ]:
                    axes.axhline(value, color="#555555", linestyle="--", label=METHOD_NAMES["surf"])
                axes.set_title(f"{PREPROCESSING_NAMES[each]}, $m$ = {own['m'].max():.0f}")
                axes.set_xlabel("reg")
            _share_scale([axes for axes in panels if axes.axison], titles[name])
        legend(figure, grid.ravel())
    return figure


def _reg_panel(axes: Any, rows: pd.DataFrame) -> None:
    regs = sorted(rows["reg"].dropna().unique())
    for method, look in _AGAINST_REG.items():
        means = _of(rows, method=method).groupby("reg")["test_accuracy"].mean().reindex(regs)
        if means.notna().any():
            # Evenly spaced: the least reg is orders of magnitude below the others.
            axes.plot(range(len(regs)), means, label=METHOD_NAMES[method], linewidth=1.2, **look)
    axes.set_xticks(range(len(regs)), [f"{reg:g}" for reg in regs])
