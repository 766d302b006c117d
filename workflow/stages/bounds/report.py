"""Stage bounds for readers: simulated norms, the counterexample, and what holds in its place."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow.lib.chart import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import Outcomes, gathered
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.tables import half_width, number, titled_table, write_numbers
from workflow.stages.bounds.figures import (
    bounds_figure,
    correlations_figure,
    theorem4_figure,
    tightness_figure,
)
from workflow.stages.bounds.fit import MOMENTS
from workflow.stages.bounds.norms import (
    cca_bound,
    correlation_bound,
    frobenius_bound,
    kernel_bound,
    limiting_cca_error,
    proved_cca_bound,
    whitened_correlation_bound,
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
# Of n and m, since the error changes its nature where the rank of K̂ reaches n: what is varied
# relative to the other one, which stays. Between the ends are points of neither piece.
_PIECES = {"up to the other": (0.0, 1.0), "from twice the other": (2.0, np.inf)}
# What the mean norm, or its root mean square, lies below, and above.
BOUNDS = {
    "bound_printed": "as printed",
    "bound_bernstein": "Bernstein with the measured ‖K‖",
    "bound_frobenius": "n·√(3/(2m))",
    "bound_gaussian": "n/√m",
    "bound_moments": "exact moments",
    "lower": "root of the exact variance",
    "bound_proved": "(1 + ‖K‖/γ)·n·√(3/m)/γ",
}
# What the paper averaged over.
_PUBLISHED_DRAWS = 1000
# Bounds that stand in the table of exponents.
_FORMS = ("printed", "bernstein", "frobenius", "proved")
_NORMS = {"rpca": "‖K̂ − K‖", "rcca": "‖R̂⁻¹L̂ − R⁻¹L‖"}
_SYMBOLS = {"n": "n", "m": "m", "gamma": "γ"}
_FEATURE_NAMES = {
    "unit": "unit features cos(Wx + b), K̂/2 for K/2 (B = n)",
    "unbiased": "features √2·cos(Wx + b), K̂ for K (B = 2n)",
}
# Maps, and what their features are compared with.
ESTIMATES = {
    "fourier": ("Fourier, (2/m)·zzᵀ", "K"),
    "nystroem": ("Nyström as in the paper, zzᵀ/m", "K"),
    "nystroem_squared": ("Nyström as in the paper, zzᵀ/m", "K²/n"),
    "whitened": ("whitened Nyström, zzᵀ", "K"),
}
_PANEL = ["experiment", "panel", "varying"]
_POINT = [*_PANEL, "value", "n", "m", "gamma"]


def draws(norms: pd.DataFrame, fixed: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Sort the norms into the panels of the figure: one row per panel, value and ``draw``.

    ``fixed`` has n, m and γ of each sweep while they do not vary. Both views count as draws of
    ‖K̂ − K‖. For RCCA ``norm`` is the larger of its two blocks, ``one_block`` their mean.
    ``variance`` and ``moment`` are the exact ones of RPCA, where they were computed.
    """
    norms = norms.reindex(columns=norms.columns.union(MOMENTS, sort=False))
    found = []
    for sweep, rows in norms.groupby("experiment", sort=False):
        for panel, varying in _CLAIMED:
            others = [key for key in _SYMBOLS if key != varying]
            still = np.logical_and.reduce([rows[key] == fixed[str(sweep)][key] for key in others])
            in_panel = _of_panel(rows[still], panel)
            in_panel = in_panel.assign(panel=panel, varying=varying, value=in_panel[varying])
            found.append(in_panel.sort_values(["value", "draw"]))
    columns = [*_POINT, "draw", "norm", "one_block", "kernel_norm", "variance", "moment"]
    return pd.concat(found, ignore_index=True)[columns]


def _of_panel(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    if panel == "rpca":
        views = [
            rows.assign(
                draw=2 * rows["repeat"] + order,
                norm=rows[f"kernel_error_{view}"],
                kernel_norm=rows[f"kernel_norm_{view}"],
                variance=rows[f"kernel_variance_{view}"],
                moment=rows[f"kernel_moment_{view}"],
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
        variance=np.nan,
        moment=np.nan,
    )


def points(drawn: pd.DataFrame, published: pd.DataFrame, sweeps: Sequence[str]) -> pd.DataFrame:
    """Summarise the draws at every point, beside the paper's value and the bounds.

    The paper's values stand beside the given sweeps alone. ``mean_low`` to ``mean_high`` is the
    95 % confidence interval of the mean, ``low`` to ``high`` the range of 95 % of the draws; the
    interval of ``ratio``, ours over the paper's, allows for the error of the paper's mean too.
    Of the bounds, `BOUNDS`, the last is for RCCA and the others, but for the printed one, for RPCA;
    ``lower`` and those after the second are about ``rms``, the root of the mean square.
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
        rms=("norm", lambda norm: np.sqrt((norm**2).mean())),
        variance=("variance", "mean"),
        moment=("moment", "mean"),
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
    return pd.concat([summary.drop(columns=["sd", "variance", "moment"]), bounds], axis="columns")


def _bounds(row: Mapping[Any, Any]) -> dict[str, float]:
    n, m, gamma, norm = row["n"], row["m"], row["gamma"], row["kernel_norm"]
    bounds = dict.fromkeys(BOUNDS, np.nan)
    if row["panel"] == "rcca":
        proved = proved_cca_bound(n, m, gamma, norm=norm)
        return bounds | {"bound_printed": cca_bound(n, m, gamma), "bound_proved": proved}
    return bounds | {
        "bound_printed": kernel_bound(n, m),
        "bound_bernstein": kernel_bound(n, m, norm=norm),
        "bound_frobenius": frobenius_bound(n, m),
        "bound_gaussian": frobenius_bound(n, m, gaussian=True),
        "bound_moments": np.sqrt(row["moment"] / m),
        "lower": np.sqrt(row["variance"] / m),
    }


def tightness(summary: pd.DataFrame) -> pd.DataFrame:
    """Divide the bounds by the norms: least and largest ratio by sweep, panel and bound.

    A bound on a root mean square is divided by it, one on a mean by the mean.
    """
    records = []
    for (sweep, panel), rows in summary.groupby(["experiment", "panel"], sort=False):
        for column, name in BOUNDS.items():
            of_mean = column in ("bound_printed", "bound_bernstein", "bound_proved")
            ratio = (rows[column] / rows["mean" if of_mean else "rms"]).dropna()
            if len(ratio):
                labels = {"experiment": sweep, "panel": panel, "bound": column, "name": name}
                ends = {"least": ratio.min(), "most": ratio.max(), "points": len(ratio)}
                records.append(labels | ends)
    return pd.DataFrame(records)


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
            for form in _FORMS:
                looseness = rows[f"bound_{form}"] / rows["mean"]
                laws |= {f"{form}_least": looseness.min(), f"{form}_most": looseness.max()}
            found.append(laws)
    return pd.DataFrame(found)


def pieces(drawn: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Fit power laws of n and m to the points on either side of n = m.

    ``least`` and ``most`` are the ends of a piece, ``points`` how many it has, two at least; the
    exponents are as in `power_laws`, ``published_exponent`` that of the paper's points.
    """
    records = []
    for _, rows in summary[summary["varying"] != "gamma"].groupby(_PANEL, sort=False):
        other = rows["m" if rows["varying"].iloc[0] == "n" else "n"]
        for piece, (low, high) in _PIECES.items():
            own = rows[(rows["value"] >= low * other) & (rows["value"] <= high * other)]
            if len(own) > 1:
                records.append(
                    {
                        **own[_PANEL].iloc[0],
                        "piece": piece,
                        "least": own["value"].min(),
                        "most": own["value"].max(),
                        "points": len(own),
                        "draws": own["draws"].min(),
                        **_exponent(drawn.merge(own[_POINT]), "exponent"),
                        "claimed": _CLAIMED[own["panel"].iloc[0], own["varying"].iloc[0]],
                        "published_exponent": _levels(own)["published_exponent"],
                    }
                )
    return pd.DataFrame(records)


def _exponent(drawn: pd.DataFrame, name: str) -> dict[str, float]:
    table = drawn.pivot(index="draw", columns="value", values="norm")
    # Large n may have fewer draws, which are the first.
    norms, there = table.to_numpy(), table.notna().to_numpy()
    counts, sums = there.sum(axis=0), np.nansum(norms, axis=0)
    weights = _slope_weights(table.columns.to_numpy())
    exponent, half = float(weights @ np.log(sums / counts)), np.nan
    if counts.min() > 1:
        without = np.log((sums - np.where(there, norms, 0)) / (counts - there)) @ weights
        count = len(table)
        error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
        half = float(half_width(error, counts.min() - 1))
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


def bounds_table(fits: pd.DataFrame, pieces: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Lay out `power_laws` in Markdown, one block per sweep, and `pieces` of the RCCA norm."""
    blocks = [_block(title, fits[fits["experiment"] == name]) for name, title in titles.items()]
    shown = pieces[(pieces["panel"] == "rcca") & pieces["experiment"].isin(list(titles))]
    return "\n".join([*blocks, *([_pieces_block(shown, titles)] if len(shown) else [])])


def _pieces_block(pieces: pd.DataFrame, titles: Mapping[str, str]) -> str:
    cells = [
        [
            titles[row["experiment"]],
            f"{_SYMBOLS[row['varying']]} = {row['least']:g} to {row['most']:g}",
            f"{row['exponent']:.3f}",
            _span(row, "exponent_low", "exponent_high", ".3f"),
            number(row["published_exponent"], ".3f"),
        ]
        for row in pieces.to_dict("records")
    ]
    lead = f"**{_NORMS['rcca']} on either side of n = m**: exponents of n and of m apart"
    return titled_table(lead, ["width", "from, to", "exponent", "95 %", "paper's points"], cells)


def _block(title: str, rows: pd.DataFrame) -> str:
    is_published = rows["published_exponent"].notna().any()
    header = ["norm", "against", "exponent", "95 %", "claimed"]
    header += ["paper's points", "ours / paper's", "one block / paper's"] if is_published else []
    header += ["printed bound / norm", "Bernstein with ‖K‖ / norm", "n·√(3/(2m)) / norm"]
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
        line += [_span(row, f"{form}_least", f"{form}_most", ".1f") for form in _FORMS[:3]]
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
    """Average the errors of squared canonical correlations, beside the bounds that do hold.

    ``bound`` is the smaller of the uniform one and ``bound_whitened``, which depends on the
    effective dimensions of the kernels.
    """
    columns = correlations.columns.union(["dimension_x", "dimension_y"], sort=False)
    groups = correlations.reindex(columns=columns).groupby(["gamma", "n", "m"])
    summary = groups.agg(
        repeats=("repeat", "nunique"),
        error=("error", "mean"),
        sd=("error", "std"),
        kernel_norm=("kernel_norm", "mean"),
        dimension_x=("dimension_x", "mean"),
        dimension_y=("dimension_y", "mean"),
    ).reset_index()
    uniform, whitened = [], []
    for n, m, gamma, *sizes in summary[
        ["n", "m", "gamma", "dimension_x", "dimension_y"]
    ].itertuples(index=False):
        uniform.append(correlation_bound(n, m, gamma))
        whitened.append(whitened_correlation_bound(n, m, gamma, (sizes[0], sizes[1])))
    return summary.assign(
        bound_uniform=uniform, bound_whitened=whitened, bound=np.fmin(uniform, whitened)
    )


def estimates_by_m(correlations: pd.DataFrame) -> pd.DataFrame:
    """Average how far from K, or K²/n, the features of each map are, one row per map and m."""
    columns = [f"estimate_{name}" for name in ESTIMATES]
    rows = correlations.reindex(columns=["repeat", "n", "m", *columns])
    rows = rows[rows["m"] <= rows["n"]].drop_duplicates(["repeat", "m"])
    means = rows.groupby(["n", "m"])[columns].mean().reset_index()
    records = []
    for name, (features, target) in ESTIMATES.items():
        for row in means.to_dict("records"):
            n, m = int(row["n"]), int(row["m"])
            labels = {"estimate": name, "features": features, "target": target, "n": n, "m": m}
            records.append(labels | {"error": row[f"estimate_{name}"]})
    return pd.DataFrame(records)


def estimates_table(summary: pd.DataFrame) -> str:
    """Lay out `estimates_by_m`: a row per map and target, a column per m."""
    header = ["features", "target", *(f"m = {m}" for m in summary["m"].unique())]
    cells = [
        [str(features), str(target), *(_small(error) for error in rows["error"])]
        for (features, target), rows in summary.groupby(["features", "target"], sort=False)
    ]
    lead = f"**What features estimate, n = {summary['n'].iloc[0]}**: relative error in norm"
    return titled_table(lead, header, cells)


def _small(error: float) -> str:
    return "0" if error < 1e-9 else number(error, ".2g")


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


def of_sweeps(fits: pd.DataFrame, split: pd.DataFrame, summary: pd.DataFrame) -> dict[str, Any]:
    """Exponents by sweep, panel and variable, those of n on either side of n = m, looseness."""
    found: dict[str, Any] = {}
    for (sweep, panel), rows in fits.groupby(["experiment", "panel"], sort=False):
        looseness = {"least": rows["printed_least"].min(), "most": rows["printed_most"].max()}
        exponents = dict(zip(rows["varying"], rows["exponent"], strict=True))
        found.setdefault(str(sweep), {})[str(panel)] = {**exponents, "looseness": looseness}
    of_n = split[(split["panel"] == "rcca") & (split["varying"] == "n")]
    for sweep, rows in of_n.groupby("experiment", sort=False):
        found[str(sweep)]["rcca"]["pieces"] = rows["exponent"].tolist()
    for (sweep, panel), rows in summary.groupby(["experiment", "panel"], sort=False):
        ratio = rows["ratio"].dropna()
        ends = {"least": ratio.min(), "most": ratio.max(), "points": len(ratio)}
        found[str(sweep)][str(panel)]["over_paper"] = ends
    return found


def of_tightness(ratios: pd.DataFrame) -> dict[str, Any]:
    """Give the least and the largest ratio of each bound to the error, by sweep and panel."""
    found: dict[str, Any] = {}
    for row in ratios.to_dict("records"):
        ends = {"least": row["least"], "most": row["most"]}
        panels = found.setdefault(str(row["experiment"]), {})
        panels.setdefault(str(row["panel"]), {})[str(row["bound"])] = ends
    return found


def of_counterexample(summary: pd.DataFrame) -> dict[str, Any]:
    """Count the cases in which the mean error is above Theorem 4's bound, and give the worst."""
    most = summary.iloc[summary["excess"].argmax()]
    worst = {key: most[key] for key in ("excess", "gamma", "n", "m", "repeats")}
    return {**worst, "cases": len(summary), "broken": int((summary["excess"] > 1).sum())}


def of_correlations(summary: pd.DataFrame) -> dict[str, Any]:
    """Largest error of a squared correlation, and the largest share of its bound."""
    return {
        "error": summary["error"].max(),
        "share": (summary["error"] / summary["bound"]).max(),
    }


def of_estimates(summary: pd.DataFrame) -> dict[str, Any]:
    """Errors of what features estimate, at the largest m below n."""
    rows = summary[summary["m"] < summary["n"]].dropna()
    at = rows[rows["m"] == rows["m"].max()]
    return dict(zip(at["estimate"], at["error"], strict=True)) if len(at) else {}


def report(outcomes: Outcomes, asked: Any, given: Any, out: Mapping[str, str]) -> None:
    """Write the tables and figures of the stage, and what they say.

    ``asked`` are the settings of the report, ``given`` the other files it reads, ``out`` the files
    it writes by their names.
    """
    found: dict[str, Any] = {}
    if "draws" in outcomes.texts:
        drawn = draws(outcomes.rows("draws")[0], asked.fixed)
        summary = points(drawn, pd.read_csv(given.published), asked.published)
        fits = power_laws(drawn, summary)
        write_csv(out["points.csv"], summary)
        write_csv(out["bounds.csv"], fits)
        split = pieces(drawn, summary)
        write_csv(out["bounds_pieces.csv"], split)
        write_csv(out["tightness.csv"], tightness(summary))
        write_text(out["bounds.md"], bounds_table(fits, split, asked.titles))
        save(bounds_figure(summary, asked.titles), out, "bounds", columns=2)
        save(tightness_figure(summary, BOUNDS), out, "tightness", columns=2)
        found |= of_sweeps(fits, split, summary)
        found["tightness"] = of_tightness(tightness(summary))
    if "counterexample" in outcomes.texts:
        counterexample = against_the_bound(outcomes.rows("counterexample")[0])
        drawn = outcomes.rows("correlations")[0]
        correlations, estimates = against_m(drawn), estimates_by_m(drawn)
        write_csv(out["theorem4.csv"], counterexample)
        write_csv(out["regularised_correlations.csv"], correlations)
        write_csv(out["estimates.csv"], estimates)
        write_text(out["estimates.md"], estimates_table(estimates))
        write_text(out["theorem4.md"], theorem4_table(counterexample))
        write_text(out["regularised_correlations.md"], correlations_table(correlations))
        save(theorem4_figure(counterexample), out, "theorem4")
        save(correlations_figure(correlations), out, "regularised_correlations")
        found["theorem4"] = of_counterexample(counterexample)
        found["correlations"] = of_correlations(correlations)
        found["estimates"] = of_estimates(estimates)
    write_numbers(out["numbers.json"], found)


if __name__ == "__main__":
    with job(snakemake) as asked:
        outcomes = gathered(snakemake, asked)
        report(outcomes, asked, snakemake.input, by_name(snakemake.output.shown))
