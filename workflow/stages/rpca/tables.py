"""The tables of the rpca stage: agreement with exact kernel methods, and cost against n."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.exponents import fitted_exponent
from workflow.lib.tables import by_experiment, markdown_table

METHODS = ("linear", "exact", "leading", "fourier", "nystroem")
NAMES = {
    "pca": {
        "linear": "linear PCA",
        "exact": "exact kernel PCA",
        "leading": "exact kernel PCA, leading components",
        "fourier": "RPCA, Fourier",
        "nystroem": "RPCA, whitened Nyström",
    },
    "cca": {
        "linear": "linear CCA",
        "exact": "exact kernel CCA",
        "leading": "exact kernel CCA, leading components",
        "fourier": "RCCA, Fourier",
        "nystroem": "RCCA, whitened Nyström",
    },
}
MEASURES = ("value_error", "largest_angle", "mean_angle", "kernel_error", "captured")
# Those that the paper's theory lets fall like m^-1/2.
RATED = ("value_error", "kernel_error")
# Of seconds against n, as Sections 3 and 4 of the paper state it.
CLAIMED = {"exact": 3, "linear": 1, "fourier": 1, "nystroem": 1}
_OCTAVES = 3
_KEYS = ["experiment", "analysis", "method"]
ERRORS_COLUMNS = [*_KEYS, "n", "components", "m", "repeat", *MEASURES]
MERITS_COLUMNS = [*_KEYS, "m", "repeat", "components", "merit"]
SCORES_COLUMNS = [*_KEYS, "m", "label", "component_1", "component_2"]
_LAW_COLUMNS = [
    *_KEYS, "m", "threads", "n_from", "n_to", "seconds", "exponent", "exponent_error",
    "freedom", "factor", "claimed",
]  # fmt: skip
TIMES_COLUMNS = [*_KEYS, "threads", "n", "m", "repeat", "seconds"]


def errors_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and largest value over repeats of every measure of agreement.

    Parameters
    ----------
    errors : DataFrame
        Rows of the stage: one per experiment, analysis, method, m and repeat.

    Returns
    -------
    DataFrame
        One row per experiment, analysis, method and m, with columns ``<measure>_mean``, ``_min``
        and ``_max``; what is not measured for CCA is missing.
    """
    groups = errors.groupby([*_KEYS, "m"], sort=False)
    spread = {
        f"{measure}_{how}": (measure, how) for measure in MEASURES for how in ("mean", "min", "max")
    }
    return groups.agg(
        n=("n", "first"),
        components=("components", "first"),
        repeats=("repeat", "nunique"),
        **spread,
    ).reset_index()


def merits_summary(merits: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and largest merit over repeats, per method, m and number of components."""
    groups = merits.groupby([*_KEYS, "m", "components"], sort=False)["merit"]
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
    for keys, group in errors.groupby(_KEYS, sort=False):
        for measure in RATED:
            slopes = [
                fitted_exponent(each["m"], each[measure]).value
                for _, each in group.groupby("repeat")
                if each["m"].nunique() > 1
            ]
            if slopes:
                error = np.std(slopes, ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else np.nan
                records.append((*keys, measure, float(np.mean(slopes)), error, len(slopes) - 1))
    return pd.DataFrame(records, columns=[*_KEYS, "measure", "rate", "rate_error", "freedom"])


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
    for keys, group in times.groupby(_KEYS, sort=False):
        medians = group.groupby("n")["seconds"].median()
        fitted = medians[medians.index >= medians.index.max() / 2**_OCTAVES]
        if len(fitted) < 2:
            continue
        n = fitted.index.to_numpy(float)
        fit = fitted_exponent(n, fitted)
        factor = np.exp(np.mean(np.log(fitted) - fit.value * np.log(n)))
        records.append(
            (
                *keys,
                *group[["m", "threads"]].iloc[0],
                fitted.index.min(),
                fitted.index.max(),
                fitted.iloc[-1],
                fit.value,
                fit.error,
                len(fitted) - 2,
                factor,
                CLAIMED.get(str(keys[-1])),
            )
        )
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

    Parameters
    ----------
    errors, merits, times : DataFrame
        Rows of the stage.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of all experiments, in the order in which they are shown.
    """
    summary, merit, rate = errors_summary(errors), merits_summary(merits), rates(errors)

    def blocks(name: str, title: str) -> str:
        found = []
        for analysis in NAMES:
            of = [each[_is(each, name, analysis)] for each in (summary, merit, rate)]
            if len(of[0]):
                found.append(_agreement_block(title, analysis, *of))
        own = times[times["experiment"] == name]
        return "\n".join([*found, *([_times_block(title, own)] if len(own) else [])])

    return by_experiment(titles, not_run, blocks)


def _is(frame: pd.DataFrame, experiment: str, analysis: str) -> Any:
    return (frame["experiment"] == experiment) & (frame["analysis"] == analysis)


def _agreement_block(
    title: str, analysis: str, summary: pd.DataFrame, merit: pd.DataFrame, rate: pd.DataFrame
) -> str:
    first = summary.iloc[0]
    of_components = sorted(merit["components"].unique())
    values, figure = {
        "pca": ("eigenvalues", "accuracy of {} components"),
        "cca": ("correlations", "test correlation, sum of {}"),
    }[analysis]
    header = [
        "method", "m", f"error of {values}", "as m^", "mean angle", "error of K", "as m^",
        *(figure.format(k) for k in of_components),
    ]  # fmt: skip
    lines = [
        f"**{title}, {NAMES[analysis]['exact'].removeprefix('exact ')}**: n = {first['n']} rows, "
        f"{first['components']} components, draws of the features: {first['repeats']}",
        "",
    ]
    rows = []
    for method in (each for each in METHODS if each in set(merit["method"])):
        own = merit[merit["method"] == method]
        m = own["m"].max()
        cells = [NAMES[analysis][method], str(m)]
        measured = summary[(summary["method"] == method) & (summary["m"] == m)]
        cells += (
            _measured(measured.iloc[0], rate[rate["method"] == method])
            if len(measured)
            else ["–"] * 5
        )
        found = own[own["m"] == m].set_index("components")["merit_mean"]
        cells += [f"{found[k]:.3f}" if k in found else "–" for k in of_components]
        rows.append(cells)
    return "\n".join([*lines, *markdown_table(header, rows)]) + "\n"


def _measured(row: Any, rate: pd.DataFrame) -> list[str]:
    fitted = {each["measure"]: each for each in rate.to_dict("records")}
    powers = [power(fitted[name], "rate") if name in fitted else "–" for name in RATED]
    return [
        f"{row['value_error_mean']:.2e}",
        powers[0],
        f"{row['mean_angle_mean']:.2f}°",
        f"{row['kernel_error_mean']:.2e}",
        powers[1],
    ]


def _times_block(title: str, times: pd.DataFrame) -> str:
    fitted = exponents(times)
    most = times["n"].max()
    rows = [
        [
            NAMES[row["analysis"]][row["method"]],
            "–" if pd.isna(row["m"]) else str(row["m"]),
            f"{row['n_from']} to {row['n_to']}",
            power(row, "exponent"),
            "–" if pd.isna(row["claimed"]) else str(row["claimed"]),
            f"{row['seconds']:.3g} s",
            _at(row, most),
        ]
        for row in fitted.to_dict("records")
    ]
    threads = times["threads"].iloc[0]
    header = ["method", "m", "n", "as n^", "paper", "at the largest n", f"at n = {most}"]
    lines = [f"**{title}, wall time** (threads: {threads})", "", *markdown_table(header, rows)]
    return "\n".join(lines) + "\n"


def _at(row: Any, n: int) -> str:
    """Seconds at n: measured, or what the fitted power law says."""
    if row["n_to"] == n:
        return f"{row['seconds']:.3g} s"
    return f"{row['factor'] * n ** row['exponent']:.2g} s, extrapolated"


def power(row: Any, name: str) -> str:
    """Write a fitted exponent, with its standard error if there is one."""
    error = row[f"{name}_error"]
    return f"{row[name]:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "")
