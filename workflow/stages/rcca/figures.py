"""Charts of the rcca stage: correlation against m and minutes, what reg brings, kept models."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rnca.moments import Correlations
from workflow.data import DataError
from workflow.lib.chart import (
    Arrow,
    Axis,
    Note,
    Panel,
    Series,
    categories,
    level,
    linear,
    logarithmic,
)
from workflow.lib.provenance import read_csv
from workflow.lib.tables import comparable
from workflow.stages.rcca.tables import Titles, by_model, of_series, with_protocol

# By the method of a CSV: the class of its colour, and its name at a line.
LOOKS = {
    "fourier": ("fourier", "Fourier"),
    "nystroem": ("nystroem", "Nyström"),
    "whitened": ("whitened", "Nyström, whitened"),
    "linear_cca": ("linear", "linear CCA"),
    "dcca": ("dcca", "deep CCA"),
    "dcca2013": ("dcca", "deep CCA, 2013 recipe"),
    "kcca": ("kernel", "exact kernel CCA"),
}
RANDOM = ("fourier", "nystroem", "whitened")
_M = "random features m"
_KEY = "filled: ours, hollow: the paper's"
_TIMES = {1 / 60: "1 s", 1 / 6: "10 s", 1: "1 min", 10: "10 min", 60: "1 h", 600: "10 h"}
_COLUMNS = 4  # of each view, in the chart of a kept model
_POINTS = 1000  # of its cloud

Model = tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.float64]]


def rcca_figure(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str], titles: Titles
) -> list[Panel]:
    """Test correlation against m, a panel per experiment: ours filled, the paper's hollow.

    ``summary`` is of `with_paper`.
    """
    panels = []
    for name, rows in summary.groupby("experiment", sort=False):
        theirs = comparable(published, rows.iloc[0], experiments)
        panels.append(_against_m(rows, theirs, titles[str(name)], "sum of test correlations"))
    return panels


def _against_m(rows: pd.DataFrame, theirs: pd.DataFrame, title: str, y: str) -> Panel:
    x = m_axis(rows.loc[rows["feature_map"].isin(RANDOM), "m"])
    marks = [*_methods(rows, x), *_papers(theirs, x)]
    up = linear([mark.y for mark in marks], y)
    key = [Note(x.low, up.low, _KEY, "", dx=6, dy=-9)] if len(theirs) else []
    return Panel(x, up, [*marks, *key], title, height=340)


def m_axis(values: Iterable[float]) -> Axis:
    """Make an axis with ticks at the numbers of features alone."""
    sizes = sorted({float(m) for m in values}) or [1.0]
    margin = 0.03 * (sizes[-1] - sizes[0]) or sizes[0] / 2
    ticks = {m: f"{m:,.0f}" for m in sizes}
    return Axis(sizes[0] - margin, sizes[-1] + 0.2 * margin, ticks, _M)


def _methods(rows: pd.DataFrame, x: Axis, state: str = "") -> list[Series]:
    """Draw what the methods reach; those without an m as lines across."""
    marks = []
    for method, (look, name) in LOOKS.items():
        own = rows[rows["method"] == method].sort_values("m")
        if method in RANDOM and len(own):
            sd = own["test_sd"].fillna(0.0)
            mean, label = own["test_mean"], f"{own['test_mean'].iloc[-1]:.1f} {name}"
            ends = (mean - sd).to_numpy(), (mean + sd).to_numpy()
            marks.append(Series(look, own["m"], mean, name, label, *ends, state=state))
        elif method in ("linear_cca", "dcca"):
            means = own["test_mean"].tolist()
            marks += [level(look, x, mean, name, f"{mean:.1f} {name}", state) for mean in means]
    return marks


def _papers(rows: pd.DataFrame, x: Axis, state: str = "") -> list[Series]:
    """Draw the paper's numbers hollow; those without an m at the end of the axis."""
    marks = []
    for method, (look, name) in LOOKS.items():
        own = rows[rows["method"] == method].dropna(subset="test_corr")
        if len(own):
            sums, m = own["test_corr"], own["m"] if method in RANDOM else np.full(len(own), x.high)
            label = f"{sums.iloc[0]:.1f} {name}, paper" if method == "dcca" else ""
            named = f"paper, {name}", label
            marks.append(Series(look, m, sums, *named, hollow=True, line=False, state=state))
    return marks


def speakers_figure(series: pd.DataFrame, titles: Titles) -> list[Panel]:
    """Test correlation of `over_speakers` against m in the first series with both protocols.

    Random frames, with the paper's numbers, are one state of a switch, held-out utterances another.
    """
    fixed = series[series["reg"] == "fixed"]
    both = fixed.groupby("series", sort=False)["protocol"].nunique() == 2
    for name in both.index[both][:1]:
        rows = fixed[fixed["series"] == name]
        x = m_axis(rows.loc[rows["feature_map"].isin(RANDOM), "m"])
        marks = []
        for protocol in ("frames", "utterances"):
            own = rows[rows["protocol"] == protocol]
            theirs = own[own["feature_map"].isin(RANDOM)].assign(test_corr=own["paper"])
            marks += _methods(own, x, protocol) + _papers(theirs, x, protocol)
        y = linear([mark.y for mark in marks], "sum of test correlations", zero=True)
        states = {
            "frames": "random frames, as in the paper",
            "utterances": "whole utterances held out",
        }
        key = Note(x.low, y.low, _KEY, "", dx=6, dy=-9)
        return [Panel(x, y, [*marks, key], titles[str(name)], height=340, states=states)]
    return []


def minutes_figure(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str], titles: Titles
) -> list[Panel]:
    """Correlation against the minutes of one core, a panel per experiment with timed RCCA."""
    timed = summary.dropna(subset="minutes_one_core")
    panels = []
    for name in dict.fromkeys(timed.dropna(subset="feature_map")["experiment"]):
        rows = timed[timed["experiment"] == name]
        theirs = comparable(published, rows.iloc[0], experiments).dropna(subset="minutes")
        x = logarithmic([rows["minutes_one_core"], theirs["minutes"]], _TIMED, _TIMES)
        y = linear([rows["test_mean"], theirs["test_corr"]], "sum of test correlations")
        marks = _raced(rows) + _published_race(theirs)
        ends = [own[own["method"] == "dcca"] for own in (theirs, rows)]
        if all(map(len, ends)):
            start, stop = ends[0].iloc[0], ends[1].iloc[0]
            points = (
                (start["minutes"], start["test_corr"]),
                (stop["minutes_one_core"], stop["test_mean"]),
            )
            marks.append(Arrow("dcca", *points))
        panels.append(Panel(x, y, marks, titles[str(name)], height=380))
    return panels


# Where the names of methods stand, free of other points.
_BESIDE: dict[str, dict[str, Any]] = {
    "fourier": {"dx": -9, "anchor": "end"},
    "nystroem": {"dx": -9, "anchor": "end"},
    "dcca": {"dx": -9, "anchor": "end"},
    "dcca2013": {"dy": -11, "anchor": "middle"},
}
_TIMED = "time of one fit on one core (deep and kernel CCA: processor time)"


def _raced(rows: pd.DataFrame) -> list[Any]:
    marks: list[Any] = []
    for method, (look, name) in LOOKS.items():
        own = rows[rows["method"] == method].sort_values("minutes_one_core")
        if len(own):
            minutes, sums = own["minutes_one_core"].to_numpy(), own["test_mean"].to_numpy()
            texts = [
                f"{name}: {total:.1f} in {_time(each)}"
                for each, total in zip(minutes, sums, strict=True)
            ]
            marks.append(Series(look, minutes, sums, name, line=method in RANDOM, texts=texts))
            at = sums.argmin()
            marks.append(
                Note(
                    minutes[at],
                    sums[at],
                    name.removeprefix("deep CCA, "),
                    look,
                    **_BESIDE.get(method, {"dx": 10}),
                )
            )
    return marks


def _published_race(rows: pd.DataFrame) -> list[Any]:
    marks: list[Any] = []
    for method, (look, name) in LOOKS.items():
        own = rows[rows["method"] == method].sort_values("minutes")
        texts = [
            f"paper, {name}: {row['test_corr']:.1f} in {_time(row['minutes'])}"
            for row in own.to_dict("records")
        ]
        if len(own):
            marks.append(
                Series(
                    look,
                    own["minutes"],
                    own["test_corr"],
                    f"paper, {name}",
                    hollow=True,
                    texts=texts,
                )
            )
    if len(rows):
        last = rows.sort_values("minutes").iloc[-1]
        marks.append(
            Note(last["minutes"], last["test_corr"], "hollow: the paper", "", "end", dx=6, dy=24)
        )
    return marks


def _time(minutes: float) -> str:
    if minutes < 1:
        return f"{60 * minutes:.2g} s"
    return f"{minutes:.2g} min" if minutes < 90 else f"{minutes / 60:.2g} h"


def overfitting_figure(
    found: pd.DataFrame, titles: Titles, series: Mapping[str, Mapping[str, str]]
) -> list[Panel]:
    """Gap of training and test correlation against effective dimension: points of `gaps`.

    A panel per experiment, or per protocol of a series; unrelated pairs are small dots, and the
    line is the noise level of views with equal degrees of freedom.
    """
    names, protocols = of_series(found["experiment"], series)
    panels = []
    for (name, protocol), rows in found.groupby([names, protocols], sort=False):
        shares = np.linspace(0.0, 0.5, 50)
        noise = 2 * np.sqrt(shares * (1 - shares))
        marks = [Series("other", 2 * shares, noise, "noise level", "noise level", marks=False)]
        for method, (look, label) in LOOKS.items():
            kind = "linear" if method == "linear_cca" else method
            own = rows[rows["feature_map"] == kind]
            for pairing, whose in (("paired", ""), ("permuted", ", unrelated pairs")):
                points = own[own["pairing"] == pairing]
                if len(points):
                    x, gap, is_dot = points["effective_dimension"], points["gap"], bool(whose)
                    named = f"{label}{whose}"
                    marks.append(Series(look, x, gap, named, line=False, dots=is_dot))
        axis = linear([mark.x for mark in marks], "degrees of freedom / rows", zero=True)
        up = linear([mark.y for mark in marks], "training − test correlation", zero=True)
        title = with_protocol(titles[str(name)], str(protocol))
        panels.append(Panel(axis, up, marks, title, height=280))
    return panels


def cv_figure(choice: pd.DataFrame, titles: Titles) -> list[Panel]:
    """Sum at the fixed reg (small dot) and at the chosen one, a row per experiment and map."""
    random = choice[choice["feature_map"].isin(RANDOM)]
    keys = ["experiment", "protocol", "feature_map"]
    rows = random.loc[random.groupby(keys, sort=False, dropna=False)["m"].idxmax()]
    rows = rows.sort_index()
    marks: list[Any] = []
    names = []
    for place, row in enumerate(rows.to_dict("records")):
        look, name = LOOKS[row["feature_map"]]
        protocol = "" if pd.isna(row["protocol"]) else str(row["protocol"])
        named = with_protocol(titles[row["experiment"]], protocol)
        names.append("" if named in names else named)
        fixed, chosen = row["fixed_mean"], row["chosen_mean"]
        sums = f"{fixed:.1f} at the fixed reg, {chosen:.1f} at the chosen one"
        text = f"{name}, m {row['m']:,.0f}: {sums}"
        marks += [
            Series(look, [fixed, chosen], [place, place], marks=False),
            Series(look, [fixed], [place], dots=True),
            Series(look, [chosen], [place], name, texts=[text]),
            Note(max(fixed, chosen), place, f"{name} {fixed:.1f} → {chosen:.1f}", look, dx=10),
        ]
    if not names:
        return []
    ends = linear([rows["fixed_mean"], rows["chosen_mean"]], "", zero=True)
    x = Axis(
        0,
        ends.high * 1.8,
        ends.ticks,
        "sum of test correlations at the fixed reg → at the chosen one",
    )
    return [Panel(x, categories(names), marks, height=60 + 34 * len(names))]


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


def model_figure(
    inference: pd.DataFrame, models: Mapping[tuple[str, str], Model], titles: Titles
) -> list[Panel]:
    """Correlations, loadings of component 1 and its cloud: a row per model, the best one first."""
    panels = []
    for (name, kind), title, rows in by_model(inference, titles):
        loadings, x, y = models[name, kind]
        look = kind
        steps = rows["component"].to_numpy(float)
        components = Axis(
            0.5, steps.max() + 0.5, {step: f"{step:.0f}" for step in steps}, "component"
        )
        correlations = [
            Series(look, steps, rows["test_correlation"], "correlation", line=False),
            Series("linear", steps, rows["null_95"], "chance", "chance", marks=False),
        ]
        heights = linear(
            [rows["test_correlation"], rows["null_95"]], "correlation on test rows", zero=True
        )
        every = max(1, len(x) // _POINTS)
        cloud = Series(look, x[::every], y[::every], line=False, dots=True)
        across, up = linear([x], "x, component 1"), linear([y], "y, component 1")
        panels += [
            Panel(components, heights, correlations, title, height=260),
            _loadings(loadings, look),
            Panel(across, up, [cloud], "first pair on test rows", height=260),
        ]
    return panels


def _loadings(loadings: pd.DataFrame, look: str) -> Panel:
    ordered = loadings.iloc[loadings["component_1"].abs().argsort().to_numpy()[::-1]]
    shown = ordered.groupby("view").head(_COLUMNS).sort_values("view", kind="stable")
    names = [f"{row['view']}, {row['column']}" for row in shown.to_dict("records")]
    marks = [
        Series(look, [0, value], [place, place], marks=False)
        for place, value in enumerate(shown["component_1"])
    ]
    points = Series(look, shown["component_1"], np.arange(len(shown)), "loading", line=False)
    x = Axis(-1, 1, {-1: "−1", 0: "0", 1: "1"}, "loading on component 1")
    return Panel(x, categories(names), [*marks, points], "largest loadings", height=260, rules=[0])
