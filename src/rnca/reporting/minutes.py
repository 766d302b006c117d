"""How long each fit of Table 1 took, beside the paper's minutes."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from rnca.reporting.figures import LOOK, PAPER_LINES, STYLE, legend, panels, wrapped
from rnca.reporting.published import METHODS, comparable
from rnca.reporting.tables import MAP_NAMES

TIMING_COLUMNS = ("experiment", "feature_map", "m", "threads", "seconds")
_KEYS = ["experiment", "feature_map", "m"]
_TIMED = ["threads", "minutes", "minutes_one_core"]


def with_minutes(
    summary: pd.DataFrame,
    timings: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """Add what a fit alone took, and what the paper's took.

    Parameters
    ----------
    summary : DataFrame
        Of `rnca.reporting.published.beside_published`.
    timings : DataFrame
        One row per experiment, map, m and number of threads, with ``seconds``.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.

    Returns
    -------
    DataFrame
        With ``threads`` (the largest number tried), ``minutes`` on that many, ``minutes_one_core``,
        ``paper_minutes``, and ``speed_up``: the paper's minutes, which are those of one core,
        over ours on one core.
    """
    timed = _by_threads(timings)
    joined = summary.merge(timed, on=_KEYS, how="left") if len(timed) else summary
    joined = joined.reindex(columns=[*summary.columns, *_TIMED])
    minutes = [
        _paper_minutes(row, comparable(published, row, experiments))
        for row in joined.to_dict("records")
    ]
    paper = pd.Series(minutes, index=joined.index, dtype=float)
    return joined.assign(paper_minutes=paper, speed_up=paper / joined["minutes_one_core"])


def _by_threads(timings: pd.DataFrame) -> pd.DataFrame:
    found = []
    for key, rows in timings.groupby(_KEYS):
        minutes = rows.groupby("threads")["seconds"].mean() / 60
        most = int(minutes.index.max())
        values = (most, minutes[most], minutes.get(1))
        found.append(dict(zip([*_KEYS, *_TIMED], [*key, *values], strict=True)))
    return pd.DataFrame(found)


def _paper_minutes(row: Any, rows: pd.DataFrame) -> float | None:
    rows = rows[rows["method"] == METHODS[str(row["feature_map"])]]
    if row["feature_map"] != "linear":
        rows = rows[rows["m"] == row["m"]]
    return float(rows["minutes"].iloc[0]) if len(rows) else None


def minutes_figure(
    summary: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Mapping[str, str],
) -> Figure:
    """Test correlation against the minutes of one core, one panel per timed experiment.

    Parameters
    ----------
    summary : DataFrame
        Of `with_minutes`.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol; its points are drawn beside no other.
    titles : mapping of experiment to title
    """
    timed = summary.dropna(subset="minutes_one_core")
    names = list(dict.fromkeys(timed["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(names)
        for name, axes in axes_of.items():
            ours = timed[timed["experiment"] == name]
            _ours(axes, ours)
            _papers(axes, comparable(published, ours.iloc[0], experiments))
            axes.set_xscale("log")
            axes.set_title(wrapped(titles[name]))
            axes.set_xlabel("minutes on one core")
            axes.set_ylabel("sum of test correlations")
        legend(figure, list(axes_of.values()))
    return figure


def _ours(axes: Any, rows: pd.DataFrame) -> None:
    for name, group in rows.groupby("feature_map", observed=True):
        look = {"marker": "D", **LOOK[str(name)], "label": MAP_NAMES[str(name)]}
        axes.plot(group["minutes_one_core"], group["test_mean"], **look)


def _papers(axes: Any, rows: pd.DataFrame) -> None:
    for name, method in METHODS.items():
        points = rows[rows["method"] == method]
        look = {"marker": "D", **LOOK[name], "markerfacecolor": "white", "linestyle": ":"}
        if len(points):
            label = f"{MAP_NAMES[name]} (paper)"
            axes.plot(points["minutes"], points["test_corr"], label=label, **look)
    label, color = PAPER_LINES["dcca"]
    points = rows[rows["method"] == "dcca"]
    if len(points):
        axes.plot(
            points["minutes"], points["test_corr"], label=label,
            color=color, marker="*", markersize=9, markerfacecolor="white", linestyle="none",
        )  # fmt: skip
