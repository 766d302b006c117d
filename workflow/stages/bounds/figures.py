"""Figures of the bounds stage: norms against n, m and γ, and where Theorem 4 fails."""

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from workflow.lib.figures import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    GREY,
    OCHRE,
    PINK,
    STYLE,
    VERMILION,
    VIOLET,
)
from workflow.stages.bounds.norms import cca_bound, limiting_cca_error
from workflow.stages.bounds.tables import CLAIMED

_OURS, _PAPER = BLUE, BLACK
_VARIANTS = ((GREEN, "^"), (PINK, "v"), (OCHRE, "D"), (VIOLET, "s"))
_SIZES = ((VIOLET, "^"), (BLUE, "o"), (BLACK, "s"), (GREEN, "v"))
_BOUNDS = {
    "bound_printed": ("bound as printed", ":"),
    "bound_sharp": (r"bound with measured $\Vert K\Vert$ (RPCA)", "-."),
}
_NORMS = {
    "rpca": r"RPCA: $\Vert\hat K - K\Vert$",
    "rcca": r"RCCA: $\Vert\hat R^{-1}\hat L - R^{-1}L\Vert$",
}
_SYMBOLS = {"n": "$n$", "m": "$m$", "gamma": r"$\gamma$"}


def bounds_figure(points: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Mean norms over the printed bound with 95 % of the draws, and the paper's points.

    Where a line is flat, the norm grows as the bound says; at 1 it would attain the bound.

    Parameters
    ----------
    points : DataFrame
        Of `workflow.stages.bounds.tables.points`.
    titles : mapping of sweep to title
        The first is drawn in full, the others as lines.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.2, 6.4), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        places = [axes[0], axes[1], axes[3], axes[4], axes[5]]
        for place, (panel, varying) in zip(places, CLAIMED, strict=True):
            rows = points[(points["panel"] == panel) & (points["varying"] == varying)]
            _norms(place, _over_bound(rows), titles)
            _logarithmic(place, plain=varying != "gamma")
            place.set_xlabel(_SYMBOLS[varying])
            place.set_ylabel("norm / printed bound")
            place.set_title(f"{_NORMS[panel]} against {_SYMBOLS[varying]}")
        axes[2].set_axis_off()
        _legend_in(axes[2], places)
    return figure


def _over_bound(rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["mean", "low", "high", "published", "bound_sharp"]
    ratios = rows[columns].div(rows["bound_printed"], axis="index")
    return rows.assign(**ratios, bound_printed=1.0)


def _logarithmic(axes: Any, *, plain: bool) -> None:
    """Scale both axes by logarithm; plain numbers below, if their range is small."""
    axes.set(xscale="log", yscale="log")
    if plain:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.xaxis.set_minor_formatter(NullFormatter())


def _norms(axes: Any, rows: pd.DataFrame, titles: Mapping[str, str]) -> None:
    first, *others = titles
    ours = rows[rows["experiment"] == first]
    axes.fill_between(
        ours["value"], ours["low"], ours["high"],
        color=_OURS, alpha=0.2, linewidth=0, label="95 % of its draws",
    )  # fmt: skip
    axes.plot(ours["value"], ours["mean"], color=_OURS, marker="o", label=titles[first])
    for name, (color, marker) in zip(others, _VARIANTS, strict=False):
        variant = rows[rows["experiment"] == name]
        axes.plot(
            variant["value"], variant["mean"],
            color=color, marker=marker, linewidth=1.1, label=titles[name],
        )  # fmt: skip
    paper = rows.dropna(subset="published").drop_duplicates("value").sort_values("value")
    if len(paper):
        axes.plot(
            paper["value"], paper["published"], label="paper",
            color=_PAPER, marker="o", markerfacecolor="none", markersize=7, linestyle="none",
        )  # fmt: skip
    for column, (label, style) in _BOUNDS.items():
        axes.plot(ours["value"], ours[column], color=GREY, linestyle=style, label=label)


def _legend_in(axes: Any, panels: Iterable[Any]) -> None:
    found: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    axes.legend(found.values(), found.keys(), loc="center left")


def theorem4_figure(counterexample: pd.DataFrame, correlations: pd.DataFrame) -> Figure:
    """Error against m, error against m/n for several n, and what holds for eigenvalues.

    Parameters
    ----------
    counterexample : DataFrame
        Of `workflow.stages.bounds.tables.against_the_bound`.
    correlations : DataFrame
        Of `workflow.stages.bounds.tables.against_m`.
    """
    unit = counterexample[counterexample["features"] == "unit"]
    gammas = sorted(unit["gamma"].unique())
    with matplotlib.rc_context(STYLE):
        columns = -(-(len(gammas) + 2) // 2)
        figure = Figure(figsize=(4.2 * columns, 7.4), layout="constrained")
        first, *middle, last = figure.subplots(2, columns).ravel()
        _against_m(first, unit[(unit["gamma"] == gammas[0]) & (unit["n"] == unit["n"].max())])
        for axes in middle[len(gammas) :]:
            axes.set_axis_off()
        for axes, gamma in zip(middle, gammas, strict=False):
            _against_ratio(axes, unit[unit["gamma"] == gamma], float(gamma))
        _eigenvalues(last, correlations)
    return figure


def _against_m(axes: Any, rows: pd.DataFrame) -> None:
    n, gamma = int(rows["n"].iloc[0]), float(rows["gamma"].iloc[0])
    m = np.unique(np.geomspace(rows["m"].min(), rows["m"].max(), 200).round().astype(int))
    bound = np.array([cca_bound(n, each, gamma) for each in m])
    limit = np.array([limiting_cca_error(n, each / n, 2 * gamma) for each in m])
    axes.fill_between(
        m, bound, limit, where=limit > bound,
        color=VERMILION, alpha=0.2, linewidth=0, label="violation",
    )  # fmt: skip
    axes.plot(m, limit, color=_OURS, linewidth=1.1, label="limit for large $n$")
    axes.errorbar(
        rows["m"], rows["error"], rows["sd"].fillna(0.0),
        color=_OURS, marker="o", linestyle="none", label="error, mean",
    )  # fmt: skip
    axes.plot(m, bound, color=GREY, linestyle=":", label="Theorem 4")
    axes.axvline(n, color=FAINT, linewidth=0.8)
    _logarithmic(axes, plain=True)
    axes.set(xlabel="$m$", ylabel=_NORMS["rcca"].removeprefix("RCCA: "))
    axes.set_title(f"unit features, $n$ = {n}, $\\gamma$ = {gamma:g}")
    axes.legend(loc="lower left")


def _against_ratio(axes: Any, rows: pd.DataFrame, gamma: float) -> None:
    ratios = np.geomspace((rows["m"] / rows["n"]).min(), (rows["m"] / rows["n"]).max(), 200)
    limit = [limiting_cca_error(1, ratio, 2 * gamma) * gamma for ratio in ratios]
    axes.plot(ratios, limit, color=FAINT, linewidth=1.1, label="limit")
    for n, (color, marker) in zip(sorted(rows["n"].unique()), _SIZES, strict=False):
        group, scale = rows[rows["n"] == n], gamma / n
        axes.plot(
            group["m"] / group["n"], group["error"] * scale,
            color=color, marker=marker, linestyle="none", label=f"error, $n$ = {n}",
        )  # fmt: skip
        bound = [cca_bound(n, max(1, round(ratio * n)), gamma) for ratio in ratios]
        axes.plot(ratios, np.array(bound) * scale, color=color, linestyle=":", linewidth=1.2)
    axes.plot([], [], color=GREY, linestyle=":", label="Theorem 4, same $n$")
    _logarithmic(axes, plain=True)
    axes.set(xlabel="$m/n$", ylabel=r"error $\cdot\,\gamma/n$")
    axes.set_title(f"the same at several $n$, $\\gamma$ = {gamma:g}")
    axes.legend(loc="lower left")


def _eigenvalues(axes: Any, rows: pd.DataFrame) -> None:
    for gamma, (color, marker) in zip(sorted(rows["gamma"].unique()), _SIZES, strict=False):
        group, label = rows[rows["gamma"] == gamma], f"$\\gamma$ = {gamma:g}"
        axes.plot(group["m"], group["error"], color=color, marker=marker, label=label)
        within = group[group["bound"] <= 2]
        axes.plot(within["m"], within["bound"], color=color, linestyle=":", linewidth=1.2)
    n = int(rows["n"].iloc[0])
    m = np.array([rows["m"].min(), rows["m"].max()])
    axes.plot(m, (m / 4) ** -0.5, color=VERMILION, linewidth=1.1, label="$m^{-1/2}$")
    axes.plot([], [], color=GREY, linestyle=":", label="bound that holds, where below 2")
    axes.axvline(n, color=FAINT, linewidth=0.8)
    _logarithmic(axes, plain=True)
    axes.set(xlabel="$m$", ylabel=r"$\max_k |\hat\rho_k^2 - \rho_k^2|$")
    axes.set_ylim(bottom=rows["error"].min() / 60)
    axes.set_title(f"squared canonical correlations, $n$ = {n}")
    axes.legend(loc="lower left")
