"""Clusters of the extensions stage: a table of agreements, and a figure."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, error_bars, legend, wrapped
from workflow.lib.tables import markdown_table, number, plus_minus

COLUMNS = ["data", "n", "method", "m", "repeat", "nmi", "nmi_exact", "floored", "seconds"]
NAMES = {
    "kmeans": "k-means",
    "exact": "exact spectral",
    "fourier": "randomized, Fourier",
    "nystroem": "randomized, Nyström",
}
_LINES = {
    "kmeans": {"color": "#009E73", "linestyle": ":"},
    "exact": {"color": "#555555", "linestyle": "--"},
}
_CLUSTERS = (("#0072B2", "o"), ("#D55E00", "^"))
_DRAWN = ("kmeans", "nystroem")


def clustering_summary(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats.

    Parameters
    ----------
    scores : DataFrame
        Rows of `workflow.stages.extensions.clustering`.

    Returns
    -------
    DataFrame
        One row per set of rows, method and m: ``data``, ``n``, ``method``, ``m``, ``repeats``, mean
        and deviation of ``nmi`` and ``nmi_exact``, means of ``floored`` and ``seconds``.
    """
    methods = pd.Categorical(scores["method"], list(NAMES))
    data = pd.Categorical(scores["data"], scores["data"].unique())
    groups = scores.assign(data=data, method=methods).groupby(
        ["data", "method", "m"], observed=True, dropna=False
    )
    summary = groups.agg(
        n=("n", "first"),
        repeats=("repeat", "nunique"),
        nmi_mean=("nmi", "mean"),
        nmi_sd=("nmi", "std"),
        nmi_exact_mean=("nmi_exact", "mean"),
        nmi_exact_sd=("nmi_exact", "std"),
        floored=("floored", "mean"),
        seconds=("seconds", "mean"),
    )
    return summary.reset_index()


def clustering_table(
    summary: pd.DataFrame, titles: Mapping[str, str], not_run: Mapping[str, str]
) -> str:
    """Lay out a summary in Markdown, one block per set of rows.

    Parameters
    ----------
    summary : DataFrame
        Of `clustering_summary`.
    titles : mapping of data to title
    not_run : mapping of title to reason
        Of what is missing.
    """
    blocks = [
        _block(titles[str(name)], rows) for name, rows in summary.groupby("data", observed=True)
    ]
    missing = [f"**{title}**: not run, {reason}\n" for title, reason in not_run.items()]
    return "\n".join([*blocks, *missing])


def _block(title: str, rows: pd.DataFrame) -> str:
    n, repeats = rows["n"].iloc[0], rows["repeats"].max()
    lines = [
        f"**Clusters of {title}**: normalised mutual information (n = {n}, repeats: {repeats})",
        "",
        *markdown_table(
            ["method", "m", "with classes", "with exact clusters", "floored degrees", "seconds"],
            [_cells(row) for row in rows.to_dict("records")],
        ),
    ]
    if "exact" not in set(rows["method"]):
        lines += ["", f"Exact clustering would need {8 * n**2 / 1e9:.2g} GB for the kernel matrix."]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[Any, Any]) -> list[str]:
    is_scored = pd.notna(row["nmi_exact_mean"])
    return [
        NAMES[row["method"]],
        number(row["m"], ".0f"),
        plus_minus(row["nmi_mean"], row["nmi_sd"]),
        plus_minus(row["nmi_exact_mean"], row["nmi_exact_sd"]) if is_scored else "–",
        number(row["floored"], ".0f"),
        number(row["seconds"], ".1f"),
    ]


def clustering_figure(
    summary: pd.DataFrame, points: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """Clusters of the shapes above, agreement with the classes against m below.

    Parameters
    ----------
    summary : DataFrame
        Of `clustering_summary`.
    points : DataFrame
        Of `workflow.stages.extensions.clustering.on_shapes`.
    titles : mapping of data to title
    """
    shapes = [(shape, method) for shape in points["data"].unique() for method in _DRAWN]
    sets = list(dict.fromkeys(summary["data"]))
    columns = max(len(shapes), len(sets), 1)
    rows = [row for row in (shapes, sets) if row]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * columns, 2.5 * len(rows) + 0.4), layout="constrained")
        grid = figure.subplots(len(rows) or 1, columns, squeeze=False)
        for axes in grid.ravel():
            axes.set_axis_off()
        for axes, (shape, method) in zip(grid[0], shapes, strict=False):
            chosen = points[(points["data"] == shape) & (points["method"] == method)]
            _scatter(axes, chosen, f"{titles[shape]}: {NAMES[method]}")
        for axes, name in zip(grid[-1], sets, strict=False):
            _curves(axes, summary[summary["data"] == name], titles[str(name)])
        legend(figure, list(grid.ravel()))
    return figure


def _scatter(axes: Any, points: pd.DataFrame, title: str) -> None:
    for (colour, marker), (_, group) in zip(_CLUSTERS, points.groupby("cluster"), strict=False):
        axes.scatter(group["x1"], group["x2"], s=5, c=colour, marker=marker, linewidths=0)
    axes.set_aspect("equal")
    axes.set_title(title)


def _curves(axes: Any, rows: pd.DataFrame, title: str) -> None:
    axes.set_axis_on()
    for name, group in rows.groupby("method", observed=True):
        method = str(name)
        if method in _LINES:
            axes.axhline(group["nmi_mean"].iloc[0], label=NAMES[method], **_LINES[method])
            continue
        error_bars(axes, group, "m", "nmi", label=NAMES[method], **LOOK[method])
        if rows["data"].iloc[0] == "subset":
            look = {**LOOK[method], "markerfacecolor": "white", "linestyle": "-.", "linewidth": 1.0}
            label = f"{NAMES[method]}: with exact clusters"
            error_bars(axes, group, "m", "nmi_exact", label=label, **look)
    axes.set_xscale("log")
    sizes = sorted(rows["m"].dropna().unique())
    axes.set_xticks(sizes, [f"{m:.0f}" for m in sizes])
    axes.minorticks_off()
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(wrapped(f"{title}, n = {rows['n'].iloc[0]}"))
    axes.set_xlabel("number of random features $m$")
    axes.set_ylabel("normalised mutual information")
