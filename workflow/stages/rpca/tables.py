"""The tables of the rpca stage: agreement with exact kernel methods, and cost against n."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.exponents import fitted_exponent
from workflow.lib.sentences import at_largest_m
from workflow.lib.tables import by_experiment, number, titled_table

# In the order in which methods are shown.
NAMES = {
    analysis.lower(): {
        "linear": f"linear {analysis}",
        "exact": f"exact kernel {analysis}",
        "leading": f"exact kernel {analysis}, leading components",
        "fourier": f"R{analysis}, Fourier",
        "nystroem": f"R{analysis}, whitened Nyström",
    }
    for analysis in ("PCA", "CCA")
}
VALUES = {"pca": "eigenvalues", "cca": "correlations"}
MERITS = {"pca": "accuracy of {} components", "cca": "test correlation, sum of {}"}
MEASURES = ("value_error", "largest_angle", "mean_angle", "kernel_error", "captured")
# Those that the paper's theory lets fall like m^-1/2.
RATED = ("value_error", "kernel_error")
# Of seconds against n, as Sections 3 and 4 of the paper state it.
CLAIMED = {"exact": 3, "linear": 1, "fourier": 1, "nystroem": 1}
_OCTAVES = 3
KEYS = ["experiment", "analysis", "method"]
ERRORS_COLUMNS = [*KEYS, "n", "components", "m", "repeat", *MEASURES]
MERITS_COLUMNS = [*KEYS, "m", "repeat", "components", "merit"]
SCORES_COLUMNS = [*KEYS, "m", "label", "component_1", "component_2"]
TIMES_COLUMNS = [*KEYS, "threads", "n", "m", "repeat", "seconds"]
_LAW_COLUMNS = [
    *KEYS, "m", "threads", "n_from", "n_to", "seconds", "exponent", "exponent_error",
    "freedom", "factor", "claimed",
]  # fmt: skip


def errors_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and largest value over repeats of every measure of agreement.

    Returns
    -------
    DataFrame
        One row per experiment, analysis, method and m, with columns ``<measure>_mean``, ``_min``
        and ``_max``; what is not measured for CCA is missing.
    """
    spread = {f"{each}_{how}": (each, how) for each in MEASURES for how in ("mean", "min", "max")}
    counts = {"n": ("n", "first"), "components": ("components", "first")}
    groups = errors.groupby([*KEYS, "m"], sort=False)
    return groups.agg(**counts, repeats=("repeat", "nunique"), **spread).reset_index()


def merits_summary(merits: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and largest merit over repeats, per method, m and number of components."""
    groups = merits.groupby([*KEYS, "m", "components"], sort=False)["merit"]
    return groups.agg(["mean", "min", "max"]).add_prefix("merit_").reset_index()


def rates(errors: pd.DataFrame) -> pd.DataFrame:
    """Exponents of the errors against m.

    Fitted in each repeat, whose sizes share features, and averaged over the independent repeats.

    Returns
    -------
    DataFrame
        One row per experiment, analysis, method and measure: ``rate``, ``rate_error``, its
        standard error over repeats, missing where there is one, and that error's ``freedom``.
    """
    records = []
    for keys, group in errors.groupby(KEYS, sort=False):
        for measure in RATED:
            slopes = [
                fitted_exponent(each["m"], each[measure]).value
                for _, each in group.groupby("repeat")
                if each["m"].nunique() > 1
            ]
            if slopes:
                error = np.std(slopes, ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else np.nan
                records.append((*keys, measure, float(np.mean(slopes)), error, len(slopes) - 1))
    return pd.DataFrame(records, columns=[*KEYS, "measure", "rate", "rate_error", "freedom"])


def exponents(times: pd.DataFrame) -> pd.DataFrame:
    """Exponents of the seconds against n, by the medians of the largest three octaves of n.

    Smaller n are left out, since there what does not depend on n counts.

    Returns
    -------
    DataFrame
        One row per experiment, analysis and method: ``exponent``, its standard error and its
        ``freedom``, the constant ``factor`` of seconds = factor·n^exponent, the range of n it was
        fitted to, the median seconds at its end, and the exponent the paper claims.
    """
    records = []
    for keys, group in times.groupby(KEYS, sort=False):
        medians = group.groupby("n")["seconds"].median()
        fitted = medians[medians.index >= medians.index.max() / 2**_OCTAVES]
        if len(fitted) > 1:
            n = fitted.index.to_numpy(float)
            law = fitted_exponent(n, fitted)
            factor = np.exp(np.mean(np.log(fitted) - law.value * np.log(n)))
            given = *keys, *group[["m", "threads"]].iloc[0], fitted.index[0], fitted.index[-1]
            found = fitted.iloc[-1], law.value, law.error, len(fitted) - 2, factor
            records.append((*given, *found, CLAIMED.get(str(keys[-1]))))
    laws = pd.DataFrame(records, columns=_LAW_COLUMNS)
    return laws.astype(dict.fromkeys(["m", "threads", "claimed"], "Int64"))


def table(
    errors: pd.DataFrame,
    merits: pd.DataFrame,
    times: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
) -> str:
    """Lay out the table of the stage: a block per experiment and analysis, and one of times.

    Of the randomized methods the largest m is shown; the figures and CSVs hold the others.
    ``not_run`` has the reasons, ``titles`` all experiments in the order in which they are shown.
    """
    frames = errors_summary(errors), merits_summary(merits), rates(errors)

    def blocks(name: str, title: str) -> str:
        found = []
        for analysis in NAMES:
            summary, *others = (
                each[(each["experiment"] == name) & (each["analysis"] == analysis)]
                for each in frames
            )
            if len(summary):
                found.append(_agreement_block(title, analysis, summary, *others))
        own = times[times["experiment"] == name]
        return "\n".join([*found, *([_times_block(title, own)] if len(own) else [])])

    return by_experiment(titles, not_run, blocks)


def _agreement_block(
    title: str, analysis: str, summary: pd.DataFrame, merit: pd.DataFrame, rate: pd.DataFrame
) -> str:
    first, sizes = summary.iloc[0], sorted(merit["components"].unique())
    powers = {(row["method"], row["measure"]): power(row, "rate") for _, row in rate.iterrows()}
    rows = []
    for method, name in NAMES[analysis].items():
        own = at_largest_m(merit[merit["method"] == method]).set_index("components")
        if not len(own):
            continue
        cells = ["–"] * 5
        for row in at_largest_m(summary[summary["method"] == method]).to_dict("records"):
            value_power, kernel_power = (powers.get((method, measure), "–") for measure in RATED)
            cells = [f"{row['value_error_mean']:.2e}", value_power]
            cells += [f"{row['mean_angle_mean']:.2f}°"]
            cells += [f"{row['kernel_error_mean']:.2e}", kernel_power]
        merits = own["merit_mean"].reindex(sizes)
        rows.append(
            [name, str(own["m"].iloc[0]), *cells, *(number(each, ".3f") for each in merits)]
        )
    lead = (
        f"**{title}, {NAMES[analysis]['exact'].removeprefix('exact ')}**: n = {first['n']} rows, "
        f"{first['components']} components, draws of the features: {first['repeats']}"
    )
    header = ["method", "m", f"error of {VALUES[analysis]}", "as m^", "mean angle", "error of K"]
    header += ["as m^", *(MERITS[analysis].format(k) for k in sizes)]
    return titled_table(lead, header, rows)


def _times_block(title: str, times: pd.DataFrame) -> str:
    most = times["n"].max()
    rows = [
        [
            NAMES[row["analysis"]][row["method"]],
            number(row["m"], "d"),
            f"{row['n_from']} to {row['n_to']}",
            power(row, "exponent"),
            number(row["claimed"], "d"),
            f"{row['seconds']:.3g} s",
            _at(row, most),
        ]
        for row in exponents(times).to_dict("records")
    ]
    lead = f"**{title}, wall time** (threads: {times['threads'].iloc[0]})"
    header = ["method", "m", "n", "as n^", "paper", "at the largest n", f"at n = {most}"]
    return titled_table(lead, header, rows)


def _at(row: Any, n: int) -> str:
    """Seconds at n: measured, or what the fitted power law says."""
    if row["n_to"] == n:
        return f"{row['seconds']:.3g} s"
    return f"{row['factor'] * n ** row['exponent']:.2g} s, extrapolated"


def power(row: Any, name: str) -> str:
    """Write a fitted exponent, with its standard error if there is one."""
    error = row[f"{name}_error"]
    return f"{row[name]:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "")
