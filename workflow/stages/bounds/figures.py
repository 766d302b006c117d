"""Figures of stage bounds: norms against n, m and γ, and where Theorem 4 fails."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from workflow.lib.figures import BLUE, FAINT, GREY, STYLE, end_labels, legend, panels
from workflow.lib.tables import span
from workflow.stages.bounds.norms import cca_bound, limiting_cca_error
from workflow.stages.bounds.theorem4 import FEATURES

_LOOKS = (("o", "-"), ("^", "--"), ("v", "-."), ("D", ":"), ("s", (0, (1, 3))))
_NORMS = {
    "rpca": r"RPCA: $\Vert\hat K - K\Vert$",
    "rcca": r"RCCA: $\Vert\hat R^{-1}\hat L - R^{-1}L\Vert$",
}
_SYMBOLS = {"n": "$n$", "m": "$m$", "gamma": r"$\gamma$"}


def bounds_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Mean norms over the paper's, or over the printed bound where it has none."""
    with matplotlib.rc_context(STYLE):
        keys = summary[["panel", "varying"]].drop_duplicates().to_numpy()
        figure, places = panels([" ".join(key) for key in keys])
        for (panel, varying), axes in zip(keys, places.values(), strict=True):
            rows = summary[(summary["panel"] == panel) & (summary["varying"] == varying)]
            _norms(axes, rows, titles)
            _logarithmic(axes, "x" if panel == "rpca" else "xy")
            axes.set_xlabel(_SYMBOLS[varying])
            looseness = span(rows["bound_printed"] / rows["mean"], ".1f")
            title = f"{_NORMS[panel]} against {_SYMBOLS[varying]}"
            axes.set_title(f"{title}\nprinted bound: {looseness} times ours")
        legend(figure, list(places.values()))
    return figure


def _norms(axes: Any, rows: pd.DataFrame, titles: Mapping[str, str]) -> None:
    is_known = rows["published"].notna().all()
    over = rows["published" if is_known else "bound_printed"]
    ends = ["ratio_low", "ratio_high"] if is_known else ["mean_low", "mean_high"]
    low, high = (rows[end] if is_known else rows[end] / over for end in ends)
    rows = rows.assign(
        ratio=rows["mean"] / over, low=low, high=high, paper=rows["published"] / over
    )
    for order, (name, (marker, line)) in enumerate(zip(titles, _LOOKS, strict=False)):
        own = rows[rows["experiment"] == name]
        bars = [own["ratio"] - own["low"], own["high"] - own["ratio"]]
        look = {"color": BLUE, "marker": marker, "linestyle": line, "linewidth": 1.1, "capsize": 2}
        # Side by side, so that intervals do not cover each other.
        axes.errorbar(own["value"] * 1.05**order, own["ratio"], bars, label=titles[name], **look)
    paper = rows.dropna(subset="paper").drop_duplicates("value")
    if len(paper):
        look = {"color": BLUE, "marker": "o", "markerfacecolor": "white", "linestyle": "none"}
        axes.plot(paper["value"], paper["paper"], label="paper", **look)
    axes.set_ylabel("norm / paper's norm" if is_known else "norm / printed bound")


def _logarithmic(axes: Any, which: str) -> None:
    """Scale axes by logarithm, with plain numbers where their range is small."""
    for name in which:
        axes.set(**{f"{name}scale": "log"})
        axis, (low, high) = getattr(axes, f"{name}axis"), getattr(axes, f"get_{name}lim")()
        if high < 1e4 * low:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
            axis.set_major_formatter(FormatStrFormatter("%g"))
            axis.set_minor_formatter(NullFormatter())


def tightness_figure(summary: pd.DataFrame, names: Mapping[str, str]) -> Figure:
    """RPCA's error of the first sweep between its bounds, all times √m/n; ``names`` are theirs."""
    rows = summary[
        (summary["panel"] == "rpca") & (summary["experiment"] == summary["experiment"][0])
    ]
    with matplotlib.rc_context(STYLE):
        figure, places = panels([*dict.fromkeys(rows["varying"])], size=(4.6, 3.0))
        for varying, axes in places.items():
            own = rows[rows["varying"] == varying].sort_values("value")
            over = own["n"] / np.sqrt(own["m"])
            error = own["rms"] / over
            axes.plot(own["value"], error, color=BLUE, marker="o", label="error, root mean square")
            for column, name in names.items():
                if own[column].notna().any():
                    line = "-" if column == "lower" else "--"
                    axes.plot(own["value"], own[column] / over, line, color=GREY, label=name)
            _logarithmic(axes, "xy")
            axes.set(xlabel=_SYMBOLS[varying], ylabel=r"$\Vert\hat K - K\Vert\cdot\sqrt{m}\,/\,n$")
            looseness = span(own["bound_printed"] / own["mean"], ".1f")
            axes.set_title(f"printed bound: {looseness} times the error")
            end_labels(axes)
    return figure


def theorem4_figure(counterexample: pd.DataFrame, correlations: pd.DataFrame) -> Figure:
    """Error over Theorem 4's bound against m/n, and what holds for squared correlations."""
    unit = counterexample[counterexample["features"] == "unit"]
    with matplotlib.rc_context(STYLE):
        gammas = {f"{gamma:g}": rows for gamma, rows in unit.groupby("gamma")}
        figure, places = panels([*gammas, "correlations"])
        for gamma, rows in gammas.items():
            _excesses(places[gamma], rows)
            places[gamma].set_title(f"Theorem 4, counterexample, $\\gamma$ = {gamma}")
        _correlations(places["correlations"], correlations)
    return figure


def _excesses(axes: Any, rows: pd.DataFrame) -> None:
    """Draw the error over the bound for each n, with its limit for large n as a line."""
    for n, (marker, _) in zip(sorted(rows["n"].unique()), _LOOKS, strict=False):
        own = rows[rows["n"] == n]
        ratios, gamma = own["m"] / n, own["gamma"].iloc[0]
        look = {"color": BLUE, "marker": marker, "linestyle": "none", "label": f"n = {n}"}
        axes.errorbar(ratios, own["excess"], own["sd"].fillna(0) / own["bound"], **look)
        sizes = np.unique(np.geomspace(own["m"].min(), own["m"].max(), 100).round().astype(int))
        limits = [
            limiting_cca_error(n, m / n, FEATURES["unit"] * gamma) / cca_bound(n, m, gamma)
            for m in sizes
        ]
        axes.plot(sizes / n, limits, color=BLUE, linewidth=1)
        _label(axes, f"$n$ = {n}", ratios.iloc[0], own["excess"].iloc[0], (-6, 0), ha="right")
    axes.hlines(1, rows["ratio"].min(), rows["ratio"].max(), color=GREY, linestyle=":")
    axes.set_xlim(rows["ratio"].min() / 4, rows["ratio"].max() * 1.3)
    _logarithmic(axes, "xy")
    axes.set(xlabel="$m/n$", ylabel="error / bound (violated above 1)")


def _correlations(axes: Any, rows: pd.DataFrame) -> None:
    m = np.array([rows["m"].min(), rows["m"].max()])
    for (gamma, own), (marker, _) in zip(rows.groupby("gamma"), _LOOKS, strict=False):
        label = f"$\\gamma$ = {gamma:g}"
        axes.plot(own["m"], own["error"], color=BLUE, marker=marker, label=label)
        _label(axes, label, m[1], own["error"].iloc[-1], (6, 0))
        within = own[own["bound"] <= 2]
        axes.plot(within["m"], within["bound"], color=GREY, linestyle=":")
        for at, bound in within[["m", "bound"]][:1].to_numpy():
            _label(axes, f"bound, {label}", at, bound, (0, 6), ha="center")
    axes.plot(m, (m / 4) ** -0.5, color=FAINT, linewidth=1)
    _label(axes, "$m^{-1/2}$", m[0], (m[0] / 4) ** -0.5, (0, 6))
    axes.set(xlim=(m[0] / 1.5, 4 * m[1]), ylim=(rows["error"].min() / 2, 5))
    _logarithmic(axes, "xy")
    axes.set(xlabel="$m$", ylabel=r"$\max_k |\hat\rho_k^2 - \rho_k^2|$")
    axes.set_title(f"squared canonical correlations, $n$ = {rows['n'].iloc[0]}")


def _label(axes: Any, text: str, x: float, y: float, offset: Any, ha: str = "left") -> None:
    """Write beside a point, at an offset in points."""
    axes.annotate(text, (x, y), offset, textcoords="offset points", ha=ha, va="center", fontsize=8)
