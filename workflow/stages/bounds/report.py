"""Stage bounds for readers: simulated norms, the counterexample, and what holds in its place."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.provenance import read_csv, write_csv, write_text
from workflow.lib.tables import half_width, number, sentence, span, titled_table, write_sentences
from workflow.stages.bounds.figures import bounds_figure, theorem4_figure
from workflow.stages.bounds.norms import (
    cca_bound,
    correlation_bound,
    kernel_bound,
    limiting_cca_error,
    proved_cca_bound,
)
from workflow.stages.bounds.theorem4 import FEATURES

# The paper's panels, the last of which it did not print, and the exponents it claims.
_CLAIMED = {
    ("rpca", "n"): 1.0,
    ("rpca", "m"): -0.5,
    ("rcca", "n"): 1.0,
    ("rcca", "gamma"): -1.0,
    ("rcca", "m"): -0.5,
}
# What the paper averaged over.
_PUBLISHED_DRAWS = 1000
_NORMS = {"rpca": "‖K̂ − K‖", "rcca": "‖R̂⁻¹L̂ − R⁻¹L‖"}
_SYMBOLS = {"n": "n", "m": "m", "gamma": "γ"}
_FEATURE_NAMES = {
    "unit": "unit features cos(Wx + b), K̂/2 for K/2 (B = n)",
    "unbiased": "features √2·cos(Wx + b), K̂ for K (B = 2n)",
}
_PANEL = ["experiment", "panel", "varying"]
_POINT = [*_PANEL, "value", "n", "m", "gamma"]


def draws(norms: pd.DataFrame, fixed: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Sort the norms into the panels of the figure: one row per panel, value and ``draw``.

    ``fixed`` has n, m and γ of each sweep while they do not vary. Both views count as draws of
    ‖K̂ − K‖. For RCCA ``norm`` is the larger of its two blocks, ``one_block`` their mean.
    """
    found = []
    for sweep, rows in norms.groupby("experiment", sort=False):
        for panel, varying in _CLAIMED:
            others = [key for key in _SYMBOLS if key != varying]
            still = np.logical_and.reduce([rows[key] == fixed[str(sweep)][key] for key in others])
            in_panel = _of_panel(rows[still], panel)
            in_panel = in_panel.assign(panel=panel, varying=varying, value=in_panel[varying])
            found.append(in_panel.sort_values(["value", "draw"]))
    columns = [*_POINT, "draw", "norm", "one_block", "kernel_norm"]
    return pd.concat(found, ignore_index=True)[columns]


def _of_panel(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    if panel == "rpca":
        views = [
            rows.assign(
                draw=2 * rows["repeat"] + order,
                norm=rows[f"kernel_error_{view}"],
                kernel_norm=rows[f"kernel_norm_{view}"],
            )
            for order, view in enumerate("xy")
        ]
        return pd.concat(views).assign(one_block=np.nan)
    blocks = rows[["cca_error_xy", "cca_error_yx"]]
    return rows.assign(
        draw=rows["repeat"],
        norm=blocks.max(axis="columns"),
        one_block=blocks.mean(axis="columns"),
        kernel_norm=rows[["kernel_norm_x", "kernel_norm_y"]].max(axis="columns"),
    )


def points(drawn: pd.DataFrame, published: pd.DataFrame, sweeps: Sequence[str]) -> pd.DataFrame:
    """Summarise the draws at every point, beside the paper's value and the bounds.

    The paper's values stand beside the given sweeps alone. ``mean_low`` to ``mean_high`` is the
    95 % confidence interval of the mean, ``low`` to ``high`` the range of 95 % of the draws; the
    interval of ``ratio``, ours over the paper's, allows for the error of the paper's mean too.
    ``bound_sharp`` is for RPCA with the measured ‖K‖, ``bound_proved`` for RCCA.
    """
    groups = drawn.groupby(_POINT, sort=False)
    summary = groups.agg(
        draws=("draw", "nunique"),
        mean=("norm", "mean"),
        sd=("norm", "std"),
        low=("norm", lambda norm: norm.quantile(0.025)),
        high=("norm", lambda norm: norm.quantile(0.975)),
        one_block=("one_block", "mean"),
        kernel_norm=("kernel_norm", "mean"),
    ).reset_index()
    half = half_width(summary["sd"] / np.sqrt(summary["draws"]), summary["draws"] - 1)
    summary = summary.assign(mean_low=summary["mean"] - half, mean_high=summary["mean"] + half)
    theirs = published.astype({"value": float}).rename(columns={"norm": "published"})
    theirs = theirs[["panel", "varying", "value", "published"]]
    summary = summary.merge(theirs, "left", ["panel", "varying", "value"])
    summary.loc[~summary["experiment"].isin(sweeps), "published"] = np.nan
    names = zip(summary["varying"], summary["value"], strict=True)
    summary["point"] = [f"{varying} = {value:g}" for varying, value in names]
    ratio = summary["mean"] / summary["published"]
    error = summary["sd"] * np.sqrt(1 / summary["draws"] + 1 / _PUBLISHED_DRAWS)
    half = half_width(error, summary["draws"] - 1) / summary["published"]
    summary = summary.assign(ratio=ratio, ratio_low=ratio - half, ratio_high=ratio + half)
    bounds = pd.DataFrame([_bounds(row) for row in summary.to_dict("records")])
    return pd.concat([summary.drop(columns="sd"), bounds], axis="columns")


def _bounds(row: Mapping[Any, Any]) -> dict[str, float]:
    of_kernel, of_cca = (row["n"], row["m"]), (row["n"], row["m"], row["gamma"])
    is_kernel, norm = row["panel"] == "rpca", row["kernel_norm"]
    return {
        "bound_printed": kernel_bound(*of_kernel) if is_kernel else cca_bound(*of_cca),
        "bound_sharp": kernel_bound(*of_kernel, norm=norm) if is_kernel else np.nan,
        "bound_proved": np.nan if is_kernel else proved_cca_bound(*of_cca, norm=norm),
    }


def power_laws(drawn: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Fit a power law to each sweep and panel; compare its level with the paper's and the bounds'.

    ``exponent`` is that of the mean norm with its 95 % confidence interval (jackknife over draws),
    ``relative_exponent`` likewise of the norm over ‖K‖; ``level`` is the geometric mean of ours
    over the paper's, ``one_block_level`` the same with one block in place of the larger; then the
    least and most of bound over mean norm.
    """
    found = []
    for _, rows in summary.groupby(_PANEL, sort=False):
        if len(rows) > 1:
            panel, varying = rows[["panel", "varying"]].iloc[0]
            own = drawn.merge(rows[_POINT])
            relative = own.assign(norm=own["norm"] / own["kernel_norm"])
            laws = {
                **rows[_PANEL].iloc[0],
                "draws": rows["draws"].min(),
                **_exponent(own, "exponent"),
                **_exponent(relative, "relative_exponent"),
                "claimed": _CLAIMED[panel, varying],
                **_levels(rows),
            }
            for form in ("printed", "sharp"):
                looseness = rows[f"bound_{form}"] / rows["mean"]
                laws |= {f"{form}_least": looseness.min(), f"{form}_most": looseness.max()}
            found.append(laws)
    return pd.DataFrame(found)


def _exponent(drawn: pd.DataFrame, name: str) -> dict[str, float]:
    table = drawn.pivot(index="draw", columns="value", values="norm")
    norms, count = table.to_numpy(), len(table)
    weights = _slope_weights(table.columns.to_numpy())
    exponent, half = float(weights @ np.log(norms.mean(axis=0))), np.nan
    if count > 1:
        without = np.log((norms.sum(axis=0) - norms) / (count - 1)) @ weights
        error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
        half = float(half_width(error, count - 1))
    return {name: exponent, f"{name}_low": exponent - half, f"{name}_high": exponent + half}


def _slope_weights(values: Any) -> npt.NDArray[np.float64]:
    """Weights with which logarithms of norms add up to the least-squares exponent."""
    centred = np.log(values) - np.log(values).mean()
    weights: npt.NDArray[np.float64] = centred / (centred @ centred)
    return weights


def _levels(rows: pd.DataFrame) -> dict[str, float]:
    known = rows.dropna(subset="published")
    columns = ["published_exponent", "level", "level_least", "level_most", "one_block_level"]
    if len(known) < 2:
        return dict.fromkeys(columns, np.nan)
    ratio, one_block = known["mean"] / known["published"], known["one_block"] / known["published"]
    weights = _slope_weights(known["value"].to_numpy())
    exponent = weights @ np.log(known["published"].to_numpy())
    level, of_block = (np.exp(np.log(each).mean()) for each in (ratio, one_block))
    return dict(zip(columns, (exponent, level, ratio.min(), ratio.max(), of_block), strict=True))


def bounds_table(fits: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Lay out `power_laws` in Markdown, one block per sweep."""
    return "\n".join(
        _block(title, fits[fits["experiment"] == name]) for name, title in titles.items()
    )


def _block(title: str, rows: pd.DataFrame) -> str:
    is_published = rows["published_exponent"].notna().any()
    header = ["norm", "against", "exponent", "95 %", "claimed"]
    header += ["paper's points", "ours / paper's", "one block / paper's"] if is_published else []
    header += ["printed bound / norm", "sharper bound / norm"]
    cells = []
    for row in rows.to_dict("records"):
        line = [
            f"{_NORMS[row['panel']]}, {row['draws']} draws",
            _SYMBOLS[row["varying"]],
            f"{row['exponent']:.3f}",
            _span(row, "exponent_low", "exponent_high", ".3f"),
            f"{row['claimed']:g}",
        ]
        if is_published:
            line += [
                number(row["published_exponent"], ".3f"),
                f"{number(row['level'], '.2f')} ({_span(row, 'level_least', 'level_most', '.2f')})",
                number(row["one_block_level"], ".2f"),
            ]
        line += [
            _span(row, f"{form}_least", f"{form}_most", ".1f") for form in ("printed", "sharp")
        ]
        cells.append(line)
    lead = f"**{title}**: exponents of mean norms, their level, and how loose the bounds are"
    return titled_table(lead, header, cells)


def _span(row: Mapping[Any, Any], low: str, high: str, form: str) -> str:
    return "–" if pd.isna(row[low]) else f"{row[low]:{form}} to {row[high]:{form}}"


def against_the_bound(violations: pd.DataFrame) -> pd.DataFrame:
    """Average the errors of the counterexample, beside the bound and the limit for large n.

    ``excess`` is the mean error over the bound, which it violates where it is above 1.
    ``excess_high`` is infinite: larger n or other data may give more, so that no finite number of
    cases shows that the bound holds.
    """
    groups = violations.groupby(["features", "gamma", "n", "ratio", "m"], sort=False)
    summary = groups.agg(
        repeats=("repeat", "nunique"), error=("error", "mean"), sd=("error", "std")
    ).reset_index()
    factors = summary["features"].map(FEATURES)
    cases = [*zip(summary["n"], summary["m"], summary["gamma"], factors, strict=True)]
    summary["bound"] = [cca_bound(n, m, gamma, factor=2 / factor) for n, m, gamma, factor in cases]
    summary["limit"] = [
        limiting_cca_error(n, m / n, factor * gamma) for n, m, gamma, factor in cases
    ]
    return summary.assign(excess=summary["error"] / summary["bound"], excess_high=np.inf)


def against_m(correlations: pd.DataFrame) -> pd.DataFrame:
    """Average the errors of squared canonical correlations, beside the bound that does hold."""
    groups = correlations.groupby(["gamma", "n", "m"])
    summary = groups.agg(
        repeats=("repeat", "nunique"),
        error=("error", "mean"),
        sd=("error", "std"),
        kernel_norm=("kernel_norm", "mean"),
    ).reset_index()
    cases = summary[["n", "m", "gamma"]].itertuples(index=False)
    return summary.assign(bound=[correlation_bound(*case) for case in cases])


def theorem4_table(summary: pd.DataFrame) -> str:
    """Lay out `against_the_bound`: error over bound, one block per features and γ."""
    blocks = []
    for (features, gamma), rows in summary.groupby(["features", "gamma"], sort=False):
        name = f"{_FEATURE_NAMES[str(features)]}, γ = {gamma:g}"
        cells = rows.assign(cell=rows["excess"].map(_excess))
        table = cells.pivot(index="ratio", columns="n", values="cell")
        lead = f"**{name}**: mean error over Theorem 4's bound"
        blocks.append(_pivoted(lead, table, "m/n", "n"))
    return "\n".join(blocks)


def _excess(value: float) -> str:
    text = f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"
    return f"**{text}**" if value > 1 else text


def correlations_table(summary: pd.DataFrame) -> str:
    """Lay out `against_m`: error and bound by m, one column per γ."""
    cells = [f"{row['error']:.2g} ({row['bound']:.2g})" for row in summary.to_dict("records")]
    lead = (
        f"**Largest error of a squared canonical correlation, n = {summary['n'].iloc[0]}** "
        "(in brackets the bound that holds)"
    )
    table = summary.assign(cell=cells).pivot(index="m", columns="gamma", values="cell")
    return _pivoted(lead, table, "m", "γ")


def _pivoted(lead: str, table: pd.DataFrame, of_rows: str, of_columns: str) -> str:
    """Lay out cells by two variables, given by their symbols."""
    header = [of_rows, *(f"{of_columns} = {value:g}" for value in table)]
    cells = zip(table.index, table.fillna("–").to_numpy(), strict=True)
    return titled_table(lead, header, [[f"{value:g}", *row] for value, row in cells])


def on_sweeps(fits: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Set the measured exponents of the first sweep beside those claimed, and the bounds' slack."""
    if not len(fits):
        return ""
    name = fits["experiment"].iloc[0]
    rows = fits[fits["experiment"] == name]
    clauses = []
    for panel, own in rows.groupby("panel", sort=False):
        powers = zip(own["varying"], own["exponent"], own["claimed"], strict=True)
        words = [f"{_SYMBOLS[key]}^{found:.2f} (claimed {claim:g})" for key, found, claim in powers]
        clauses.append(f"{_NORMS[str(panel)]} goes like {', '.join(words)}")
    looseness = span([rows["printed_least"].min(), rows["printed_most"].max()], ".1f")
    clauses.append(f"the printed bounds are {looseness} times the norms")
    return sentence(clauses, titles[name])


def on_counterexample(summary: pd.DataFrame) -> str:
    """Count the cases in which the mean error is above Theorem 4's bound."""
    broken, most = summary[summary["excess"] > 1], summary.iloc[summary["excess"].argmax()]
    where = f"γ = {most['gamma']:g}, n = {most['n']:.0f}, m = {most['m']:.0f}"
    if not len(broken):
        return (
            f"The bound of Theorem 4 holds in all {len(summary)} cases of this run; the mean error "
            f"reaches {most['excess']:.2f} of it ({where})."
        )
    return (
        f"The bound of Theorem 4 is violated in {len(broken)} of {len(summary)} cases: the mean "
        f"error is up to {most['excess']:.2f} times the bound ({where})."
    )


def on_correlations(summary: pd.DataFrame) -> str:
    """Say how much of the bound that holds the errors of squared correlations reach."""
    share = summary["error"] / summary["bound"]
    return (
        f"Squared regularised correlations err by {span(summary['error'], '.2g')}; the largest "
        f"error is {share.max():.2g} of the bound that holds for them."
    )


if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out = snakemake.input, by_name(snakemake.output)
        sentences: dict[str, str] = {}
        if given.get("draws"):
            drawn = draws(read_csv(given.draws[0]), asked.fixed)
            summary = points(drawn, pd.read_csv(given.published), asked.published)
            fits = power_laws(drawn, summary)
            write_csv(out["points.csv"], summary)
            write_csv(out["bounds.csv"], fits)
            write_text(out["bounds.md"], bounds_table(fits, asked.titles))
            save(bounds_figure(summary, asked.titles), out, "bounds")
            sentences["bounds"] = on_sweeps(fits, asked.titles)
        if given.get("theorem4"):
            files = by_name(given.theorem4)
            counterexample = against_the_bound(read_csv(files["counterexample.csv"]))
            correlations = against_m(read_csv(files["correlations.csv"]))
            write_csv(out["theorem4.csv"], counterexample)
            write_csv(out["regularised_correlations.csv"], correlations)
            write_text(out["theorem4.md"], theorem4_table(counterexample))
            write_text(out["regularised_correlations.md"], correlations_table(correlations))
            save(theorem4_figure(counterexample, correlations), out, "theorem4")
            sentences["theorem4"] = on_counterexample(counterexample)
            sentences["regularised_correlations"] = on_correlations(correlations)
        write_sentences(out, sentences)
