"""Tables of the extensions stage: agreements of clusters, errors of classifiers."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.tables import number, plus_minus, titled_table

CLUSTERINGS = {
    "kmeans": "k-means",
    "exact": "exact spectral",
    "fourier": "randomized, Fourier",
    "nystroem": "randomized, Nyström",
}
CLASSIFIERS = {
    "lda": "LDA",
    "svm": "linear SVM",
    "fourier": "RLDA, Fourier",
    "nystroem": "RLDA, Nyström",
}
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "rdc": "RDC"}
_SCORES = ["nmi", "nmi_exact", "floored", "seconds"]
CLUSTERING_COLUMNS = ["data", "n", "method", "m", "repeat", *_SCORES]
POINT_COLUMNS = ["data", "x1", "x2", "method", "cluster"]
_ROWS = ["n_train", "n_test"]
ERROR_COLUMNS = ["method", "m", "repeat", "chosen", "tune_error", "test_error", *_ROWS, "seconds"]
POWER_COLUMNS = ["pattern", "noise", "method", "n", "repeats", "critical", "power"]


def clustering_summary(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the rows of parts shapes and clustering.

    Returns
    -------
    DataFrame
        One row per set of rows, method and m: ``data``, ``n``, ``method``, ``m``, ``repeats``, mean
        and deviation of ``nmi`` and ``nmi_exact``, means of ``floored`` and ``seconds``.
    """
    methods = pd.Categorical(scores["method"], list(CLUSTERINGS))
    data = pd.Categorical(scores["data"], scores["data"].unique())
    groups = scores.assign(data=data, method=methods).groupby(
        ["data", "method", "m"], observed=True, dropna=False
    )
    summary = groups.agg(
        n=("n", "first"),
        repeats=("repeat", "nunique"),
        nmi_mean=("nmi", "mean"),
        nmi_sd=("nmi", "std"),
        nmi_exact_mean=("nmi_exact", "mean"),
        nmi_exact_sd=("nmi_exact", "std"),
        floored=("floored", "mean"),
        seconds=("seconds", "mean"),
    )
    return summary.reset_index()


def clustering_table(
    summary: pd.DataFrame, titles: Mapping[str, str], not_run: Mapping[str, str]
) -> str:
    """Lay out a `clustering_summary` in Markdown, one block per set of rows by ``data``.

    ``titles`` are those of the sets; ``not_run`` is the reason by the title of what is missing.
    """
    header = ["method", "m", "with classes", "with exact clusters", "floored degrees", "seconds"]
    blocks = []
    for name, rows in summary.groupby("data", observed=True):
        n, repeats = rows["n"].iloc[0], rows["repeats"].max()
        lead = f"**Clusters of {titles[str(name)]}**: normalised mutual information (n = {n}, "
        cells = [_clustering_cells(row) for row in rows.to_dict("records")]
        blocks.append(titled_table(f"{lead}repeats: {repeats})", header, cells))
        if "exact" not in set(rows["method"]):
            gigabytes = f"{8 * n**2 / 1e9:.2g} GB"
            blocks.append(f"Exact clustering would need {gigabytes} for the kernel matrix.\n")
    missing = [f"**{title}**: not run, {reason}\n" for title, reason in not_run.items()]
    return "\n".join([*blocks, *missing])


def _clustering_cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        CLUSTERINGS[row["method"]],
        number(row["m"], ".0f"),
        plus_minus(row["nmi_mean"], row["nmi_sd"]),
        plus_minus(row["nmi_exact_mean"], row["nmi_exact_sd"]),
        number(row["floored"], ".0f"),
        number(row["seconds"], ".1f"),
    ]


def discriminants_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats, in per cent, of the rows of part discriminants.

    Returns
    -------
    DataFrame
        One row per method and m: ``method``, ``m``, ``repeats``, ``n_train``, ``n_test``,
        ``chosen_least``, ``chosen_most``, ``error_mean``, ``error_sd``, ``seconds``.
    """
    methods = pd.Categorical(errors["method"], list(CLASSIFIERS))
    groups = errors.assign(method=methods, error=100 * errors["test_error"]).groupby(
        ["method", "m"], observed=True, dropna=False
    )
    summary = groups.agg(
        repeats=("repeat", "nunique"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        chosen_least=("chosen", "min"),
        chosen_most=("chosen", "max"),
        error_mean=("error", "mean"),
        error_sd=("error", "std"),
        seconds=("seconds", "mean"),
    )
    return summary.reset_index()


def discriminants_table(summary: pd.DataFrame, title: str, not_run: str | None = None) -> str:
    """Lay out a `discriminants_summary`, the smallest error in bold; or why there is none."""
    if not_run:
        return f"**{title}**: not run, {not_run}\n"
    first, best = summary.iloc[0], summary["error_mean"].min()
    cells = []
    for row in summary.to_dict("records"):
        error = plus_minus(row["error_mean"], row["error_sd"])
        chosen = dict.fromkeys(number(row[f"chosen_{end}"], "g") for end in ("least", "most"))
        name, m = CLASSIFIERS[row["method"]], number(row["m"], ".0f")
        error = f"**{error}**" if row["error_mean"] == best else error
        cells.append([name, m, " to ".join(chosen), error, number(row["seconds"], ".1f")])
    lead = (
        f"**Classes of {title}**: error on test rows ({first['n_train']} training rows, "
        f"{first['n_test']} test rows, repeats: {first['repeats']})"
    )
    return titled_table(lead, ["method", "m", "reg or C", "test error, %", "seconds"], cells)
