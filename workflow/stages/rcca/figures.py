"""Figures of the rcca stage: correlation against m and minutes, what reg brings, kept models."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from rnca.moments import Correlations
from workflow.data import DataError
from workflow.lib.figures import (
    FAINT,
    GREY,
    LOOK,
    STYLE,
    end_labels,
    error_bars,
    legend,
    wrapped,
)
from workflow.lib.provenance import read_csv
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES, METHODS, comparable
from workflow.stages.rcca.tables import PROTOCOL_NAMES, Series, Titles, of_series, with_protocol

_NAMES = MAP_NAMES | BASELINE_NAMES
_RANDOM = ("fourier", "nystroem", "whitened")
_DEEP = ("dcca", "dcca2013")
# What the published CSV calls methods, and ours.
_PUBLISHED = {method: kind for kind, method in METHODS.items()} | {"dcca": "dcca"}
_M = "number of random features $m_x = m_y$"
_SUM = "sum of test correlations"
_BARS = 4  # of each view, in the figure of a kept model
_THIN: dict[str, Any] = {"linestyle": "--", "linewidth": 1.0, "markersize": 3.5}

Model = tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.float64]]


def _panels(
    titles: Sequence[str], x: str, y: str, below: str = "", strips: Sequence[bool] = ()
) -> tuple[Figure, list[list[Any]]]:
    """Make a panel for each title, in rows, each with its axes: one, or two with a strip below.

    ``x``, ``y`` and ``below`` are labels of the axes, and of the vertical axis of those panels that
    have ``strips``, by default none. Without titles the figure is blank.
    """
    columns = 2 if len(titles) == 4 else min(len(titles), 3) or 1
    rows = -(-len(titles) // columns) or 1
    width, height = 3.4 if columns > 1 else 5.6, 3.8 if any(strips) else 2.9
    figure = Figure(figsize=(width * columns, height * rows + 0.4), layout="constrained")
    grid = figure.add_gridspec(rows, columns)
    found = []
    for place, title in enumerate(titles):
        has_strip = any(strips) and strips[place]
        ratios = [3, 1] if has_strip else [1]
        cells = grid[place].subgridspec(len(ratios), 1, height_ratios=ratios)
        axes = [figure.add_subplot(cells[0])]
        if has_strip:
            axes += [figure.add_subplot(cells[1], sharex=axes[0])]
            axes[0].tick_params(labelbottom=False)
            axes[1].axhline(0, color=GREY, linewidth=1.0)
            axes[1].margins(y=0.15)
            axes[1].set_ylabel(below)
        axes[0].set(title=wrapped(title), ylabel=y)
        axes[-1].set_xlabel(x)
        found.append(axes)
    return figure, found


def _name_lines(figure: Figure, panels: Sequence[Any]) -> None:
    """Name the lines of a single panel at their ends, those of several in a legend below."""
    if len(panels) == 1:
        end_labels(panels[0])
    else:
        legend(figure, panels)


@matplotlib.rc_context(STYLE)
def rcca_figure(
    summary: pd.DataFrame,
    regs: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Titles,
) -> Figure:
    """Test correlation against m, one panel per experiment that was run, less the paper's below.

    ``summary`` is of `with_paper`; ``regs`` of `nearest_reg`: it is drawn dashed, less the paper's
    too.
    """
    names = list(dict.fromkeys(summary["experiment"]))
    beside = set(summary.dropna(subset="difference")["experiment"])
    shown, strips = [titles[name] for name in names], [name in beside for name in names]
    figure, panels = _panels(shown, _M, _SUM, "ours − paper", strips)
    for name, (axes, *below) in zip(names, panels, strict=True):
        ours = summary[summary["experiment"] == name]
        _sums(axes, ours)
        _published(axes, comparable(published, ours.iloc[0], experiments), "m")
        for strip in below:
            _lines(strip, _less_paper(ours), label="_")
            for reg, rows in regs[regs["experiment"] == name].groupby("reg"):
                _lines(strip, _less_paper(rows), label=f"{{}}, reg {reg:g}", **_THIN)
            end_labels(strip)
    _name_lines(figure, [axes for axes, *_ in panels])
    return figure


def _less_paper(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.dropna(subset="difference").assign(test_mean=rows["difference"])


def _lines(axes: Any, rows: pd.DataFrame, y: str = "test", label: str = "{}", **look: Any) -> None:
    """Draw the columns ``<y>_mean`` and ``<y>_sd`` of random features against m, with names."""
    for kind in _RANDOM:
        own = rows[rows["feature_map"] == kind]
        if len(own):
            named = {"label": label.format(MAP_NAMES[kind])}
            error_bars(axes, own, "m", y, **{**LOOK[kind], **named, **look})


def _sums(axes: Any, rows: pd.DataFrame) -> None:
    """Draw what the methods reach; those without an m as lines across."""
    _lines(axes, rows)
    for method, kind in {"linear_cca": "linear", "dcca": "dcca", "dcca2013": "dcca2013"}.items():
        look = {"linestyle": "-", **LOOK[kind], "marker": "", "label": _NAMES[kind]}
        for value in rows.loc[rows["method"] == method, "test_mean"]:
            axes.axhline(value, **look)


def _published(axes: Any, rows: pd.DataFrame, x: str) -> None:
    """Draw the paper's numbers: hollow markers, or dotted lines across where there is no x."""
    for method, kind in _PUBLISHED.items():
        points = rows[rows["method"] == method].dropna(subset="test_corr")
        look = {**LOOK[kind], "label": f"{_NAMES[kind]} (paper)"}
        if points[x].notna().any():
            look = {"marker": "P", **look, "markerfacecolor": "white", "linestyle": "none"}
            axes.plot(points[x], points["test_corr"], zorder=3, **look)
        else:
            for value in points["test_corr"]:
                look |= {"marker": "", "linestyle": ":", "linewidth": 1.2}
                axes.axhline(value, **look)


@matplotlib.rc_context(STYLE)
def speakers_figure(series: pd.DataFrame, titles: Titles) -> Figure:
    """Test correlation of `over_speakers` against m; below, what holding utterances out changes."""
    series = series[series["reg"] == "fixed"]
    groups = dict(list(series.groupby("series", sort=False)))
    shown = [titles[str(name)] for name in groups]
    both = [rows["protocol"].nunique() == 2 for rows in groups.values()]
    figure, panels = _panels(shown, _M, _SUM, "held out\n− random", both)
    for (axes, *below), rows in zip(panels, groups.values(), strict=True):
        random, held_out = (rows[rows["protocol"] == name] for name in PROTOCOL_NAMES)
        _sums(axes, random)
        _lines(axes, held_out, label="{}, held out", **_THIN)
        m = random["m"].where(random["feature_map"].isin(_RANDOM))
        _published(axes, random.assign(m=m, test_corr=random["paper"]), "m")
        axes.set_ylim(bottom=0)
        pairs = held_out.merge(random, on=["feature_map", "m"], suffixes=("", "_random"))
        change = pairs["test_mean"] - pairs["test_mean_random"]
        for strip in below:
            _lines(strip, pairs.assign(test_mean=change, test_sd=0.0), label="_")
    _name_lines(figure, [axes for axes, *_ in panels])
    return figure


@matplotlib.rc_context(STYLE)
def minutes_figure(
    summary: pd.DataFrame,
    curve: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    titles: Titles,
) -> Figure:
    """Correlation against the minutes of one core, one panel per experiment with timed RCCA.

    Of ``curve``, the epochs of deep CCA of both kinds, the first repeat's are drawn.
    """
    timed = summary.dropna(subset="minutes_one_core")
    names = list(dict.fromkeys(timed.dropna(subset="feature_map")["experiment"]))
    shown = [titles[name] for name in names]
    figure, panels = _panels(shown, "minutes on one core", "sum of correlations")
    for name, (axes,) in zip(names, panels, strict=True):
        ours = timed[timed["experiment"] == name]
        epochs = curve[(curve["experiment"] == name) & (curve["repeat"] == 0)]
        _against_minutes(axes, ours, epochs)
        _published(axes, comparable(published, ours.iloc[0], experiments), "minutes")
        axes.set_xscale("log")
    if len(panels) == 1:
        figure.legend(loc="outside right upper")
    else:
        legend(figure, [axes for (axes,) in panels])
    return figure


def _against_minutes(axes: Any, rows: pd.DataFrame, epochs: pd.DataFrame) -> None:
    """Draw fits; of deep CCA its epochs on tuning rows, and as a star its end on test rows."""
    for method, kind in {**_PUBLISHED, "dcca2013": "dcca2013", "kcca": "kcca"}.items():
        own, name = rows[rows["method"] == method], _NAMES[kind]
        look = {"marker": "P", **LOOK[kind], "label": name}
        if method in _DEEP and len(own):
            tuned = epochs[epochs["method"] == method]
            line = {**look, "markersize": 3, "label": f"{name}, tuning rows"}
            axes.plot(tuned["cpu_minutes"], tuned["tune_sum"], **line)
            look |= {"marker": "*", "markersize": 9, "linestyle": "none", "zorder": 4}
            look |= {"markeredgecolor": "black", "label": f"{name}, test rows"}
        if len(own):
            axes.plot(own["minutes_one_core"], own["test_mean"], **look)


@matplotlib.rc_context(STYLE)
def overfitting_figure(found: pd.DataFrame, titles: Titles, series: Series) -> Figure:
    """Gap between training and test correlation against the effective dimension: points of `gaps`.

    A panel per experiment, or per protocol of a series; unrelated pairs are hollow, and the line is
    the noise level of views with equal degrees of freedom.
    """
    names, protocols = of_series(found["experiment"], series)
    groups = dict(list(found.groupby([names, protocols], sort=False)))
    shown = [with_protocol(titles[str(name)], str(protocol)) for name, protocol in groups]
    figure, panels = _panels(shown, "degrees of freedom of both views / rows", "training − test")
    for (axes,), rows in zip(panels, groups.values(), strict=True):
        shares = np.linspace(0, 0.5, 100)
        level = 2 * np.sqrt(shares * (1 - shares))
        axes.plot(2 * shares, level, color=GREY, linestyle="--", label="noise level")
        for kind, pairing in product(MAP_NAMES, ("paired", "permuted")):
            own = rows[(rows["feature_map"] == kind) & (rows["pairing"] == pairing)]
            look = {"marker": "P", **LOOK[kind], "linestyle": "none", "label": MAP_NAMES[kind]}
            if pairing == "permuted":
                look |= {"markerfacecolor": "white", "label": f"{MAP_NAMES[kind]}, unrelated pairs"}
            if len(own):
                axes.plot(own["effective_dimension"], own["gap"], **look)
    legend(figure, [axes for (axes,) in panels])
    return figure


@matplotlib.rc_context(STYLE)
def cv_figure(choice: pd.DataFrame, titles: Titles) -> Figure:
    """Gain of the chosen over the fixed reg against m, in pairs, a panel per experiment."""
    groups = dict(list(choice.groupby(["experiment", "protocol"], sort=False)))
    shown = [with_protocol(titles[str(name)], str(protocol)) for name, protocol in groups]
    figure, panels = _panels(shown, _M, "gain in test sum")
    for (axes,), rows in zip(panels, groups.values(), strict=True):
        axes.axhline(0, color=GREY, linewidth=1.0)
        _lines(axes, rows, "gain")
        m = rows.loc[rows["feature_map"].isin(_RANDOM), "m"].unique()
        if len(m) == 1:  # around which matplotlib would zoom
            axes.set(xticks=m, xlim=(0, 2 * m[0]))
    _name_lines(figure, [axes for (axes,) in panels])
    return figure


def read_models(
    loadings: Iterable[str], variables: Iterable[str], inference: pd.DataFrame
) -> dict[tuple[str, str], Model]:
    """Read kept models, by experiment and map, from ``…/<experiment>/<map>.<what>``.

    Of each: its loadings, and the first pair of canonical variables on test rows.
    """
    first = inference[inference["component"] == 1].set_index(["experiment", "feature_map"])
    found = {}
    for file, arrays in zip(loadings, variables, strict=True):
        key = Path(file).parent.name, Path(file).name.partition(".")[0]
        remedy = f"Delete {arrays} and run again to make it anew"
        try:
            with np.load(arrays, allow_pickle=False) as kept:
                x, y = (kept[view][kept["part"] == "test", 0] for view in "xy")
        # zipfile and numpy raise almost anything on a damaged file.
        except Exception as error:
            raise DataError(f"{arrays}: damaged ({error}). {remedy}") from error
        # An npz file has no record beside it, but its variables must have the correlation that a
        # CSV with a record gives, but for rounding to float32.
        (correlation,) = Correlations().update(x[:, None], y[:, None]).values()
        if not abs(correlation - first.loc[key, "test_correlation"]) < 1e-4:
            raise DataError(f"{arrays}: not what its job wrote. {remedy}")
        found[key] = read_csv(file), x, y
    return found


@matplotlib.rc_context(STYLE)
def model_figure(
    inference: pd.DataFrame, models: Mapping[tuple[str, str], Model], titles: Titles
) -> Figure:
    """Correlations, the largest loadings of component 1, and its scatter: a row per model."""
    figure = Figure(figsize=(10.2, 3.1 * max(len(models), 1)), layout="constrained")
    for place, ((name, kind), (loadings, x, y)) in enumerate(models.items()):
        left, middle, right = (
            figure.add_subplot(len(models), 3, 3 * place + column) for column in (1, 2, 3)
        )
        own = (inference["experiment"] == name) & (inference["feature_map"] == kind)
        _correlations(left, inference[own], kind)
        left.set_title(wrapped(f"{titles[name]}, {MAP_NAMES[kind]}"))
        _bars(middle, loadings, kind)
        # Unlike the page's own grey, what is rasterised looks the same on a dark ground.
        colour = FAINT if kind == "linear" else LOOK[kind]["color"]
        right.scatter(x, y, s=6, color=colour, rasterized=True)
        right.set(xlabel="first view, component 1", ylabel="second view, component 1")
        right.set_title("canonical variables of test rows")
    return figure


def _correlations(axes: Any, rows: pd.DataFrame, kind: str) -> None:
    look = {"marker": "o", **LOOK[kind], "linestyle": "none"}
    axes.plot(rows["component"], rows["test_correlation"], label="test rows", **look)
    chance = {"color": GREY, "linestyle": "--", "label": "95 % of random pairings"}
    axes.plot(rows["component"], rows["null_95"], **chance)
    axes.set(xlabel="component", ylabel="correlation on test rows")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()


def _bars(axes: Any, loadings: pd.DataFrame, kind: str) -> None:
    ordered = loadings.iloc[loadings["component_1"].abs().argsort().to_numpy()]
    largest = ordered.groupby("view").tail(_BARS)
    shown = largest.sort_values("view", ascending=False, kind="stable")  # from below
    names = [f"{row['view']}, {row['column']}" for row in shown.to_dict("records")]
    axes.barh(names, shown["component_1"], color=LOOK[kind]["color"])
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set(xlabel="loading on component 1", ylabel="view, column")
    axes.set_title("largest loadings of each view")
