"""Charts of stage bounds: norms over the paper's, where Theorem 4 fails, what holds instead."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow.lib.chart import Axis, Note, Panel, Region, Series, linear, logarithmic

_NORMS = {"rpca": "RPCA, ‖K̂ − K‖", "rcca": "RCCA, ‖R̂⁻¹L̂ − R⁻¹L‖"}
# From the thinnest line to the thickest.
_WEIGHTS = (0.5, 0.8, 1.2, 1.6)
_RATIOS = {1 / 8: "⅛", 1 / 4: "¼", 1 / 2: "½", 1: "1", 2: "2", 4: "4"}


def bounds_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Panel]:
    """Mean norms against n over the paper's, or without any over the printed bound, by width.

    The paper's norms, of the stated width, are a yardstick for others too.
    """
    rows = summary[summary["varying"] == "n"]
    paper = rows.dropna(subset="published").groupby(["panel", "value"])["published"].first()
    panels = []
    for panel, name in _NORMS.items():
        own = rows[rows["panel"] == panel]
        known = paper[panel] if panel in paper.index else None
        marks = []
        for sweep, drawn in own.groupby("experiment", sort=False):
            over = drawn["bound_printed"] if known is None else drawn["value"].map(known)
            shown = drawn[over.notna()]
            low, high, mean = (shown[key] / over for key in ("mean_low", "mean_high", "mean"))
            title = titles[str(sweep)]
            label = f"{mean.iloc[-1]:.2f} {title}"
            marks.append(Series("fourier", shown["value"], mean, title, label, low, high))
        if known is not None:
            one = np.ones(len(known))
            marks.append(Series("fourier", known.index, one, "paper", hollow=True, line=False))
        if marks:
            x = logarithmic([mark.x for mark in marks], "rows n")
            whose = "the printed bound" if known is None else "the paper's"
            y = linear([mark.y for mark in marks], f"our norm over {whose}", zero=True)
            panels.append(Panel(x, y, marks, name, height=260, rules=[1]))
    return panels


def tightness_figure(summary: pd.DataFrame, names: Mapping[str, str]) -> list[Panel]:
    """RPCA's error of the first sweep between its bounds, over n/√m; ``names`` are theirs."""
    rows = summary[summary["panel"] == "rpca"]
    rows = rows[rows["experiment"] == rows["experiment"].iloc[0]]
    panels = []
    for varying, own in rows.sort_values("value").groupby("varying", sort=False):
        over = (own["n"] / np.sqrt(own["m"])).to_numpy()
        marks = [Series("fourier", own["value"], own["rms"].to_numpy() / over, "error", "error")]
        for column, name in names.items():
            bound = own[column].to_numpy() / over
            if np.isfinite(bound).any():
                marks.append(Series("other", own["value"], bound, name, name, marks=False))
        x = logarithmic([own["value"]], "rows n" if varying == "n" else "random features m")
        y = logarithmic([mark.y for mark in marks], "‖K̂ − K‖ over n/√m")
        panels.append(Panel(x, y, marks, height=300))
    return panels


def theorem4_figure(counterexample: pd.DataFrame) -> list[Panel]:
    """Error over Theorem 4's bound against m/n, by n, for the features and γ of the worst case."""
    if not len(counterexample):
        return []
    worst = counterexample.iloc[counterexample["excess"].argmax()]
    rows = counterexample[
        (counterexample["features"] == worst["features"])
        & (counterexample["gamma"] == worst["gamma"])
    ]
    marks: list[Series | Note] = []
    for weight, (n, own) in zip(_WEIGHTS, rows.groupby("n"), strict=False):
        error = (own["sd"].fillna(0) / own["bound"]).to_numpy()
        excess, ratio = own["excess"].to_numpy(), own["ratio"].to_numpy()
        texts = [
            f"n = {n:,}, m = {row['m']:,}: {row['excess']:.2f} times the bound"
            for row in own.to_dict("records")
        ]
        spread = excess - error, excess + error
        marks.append(
            Series("fourier", ratio, excess, f"n = {n}", "", *spread, weight=weight, texts=texts)
        )
        top = excess.argmax()
        label = f"n = {n:,}: {excess[top]:.2f}×"
        marks.append(Note(ratio[top], excess[top], label, "fourier", "middle", dy=-10))
    ticks = {at: name for at, name in _RATIOS.items() if at in set(rows["ratio"])}
    x = logarithmic([rows["ratio"]], "features per row, m/n", ticks)
    ends = linear([rows["excess"]], "", zero=True)
    most = max(ends.high, 1.5)
    y = Axis(0, most, {at: f"{text}×" for at, text in ends.ticks.items()}, "error over the bound")
    region = Region(1, most, "bad")
    broken = Note(x.high, most, "bound broken", "bad", "end", dx=-6, dy=18)
    return [Panel(x, y, [region, broken, *marks], height=330, rules=[1])]


def correlations_figure(correlations: pd.DataFrame) -> list[Panel]:
    """Error of squared canonical correlations against m, and the bound that holds, by γ."""
    marks = []
    for gamma, rows in correlations.groupby("gamma"):
        name = f"γ = {gamma:g}"
        marks.append(Series("fourier", rows["m"], rows["error"], name, name))
        within = rows[rows["bound"] <= 2]
        label = f"bound, {name}" if len(within) else ""
        marks.append(
            Series("other", within["m"], within["bound"], f"bound, {name}", label, marks=False)
        )
    x = logarithmic([correlations["m"]], "random features m")
    y = logarithmic([mark.y for mark in marks], "largest error of a squared correlation")
    return [Panel(x, y, marks, height=320)] if marks else []
