"""Tables of the extensions stage: agreements of clusters, errors of classifiers, powers."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.tables import markdown_table, number, plus_minus

CLUSTERING_COLUMNS = [
    "data",
    "n",
    "method",
    "m",
    "repeat",
    "nmi",
    "nmi_exact",
    "floored",
    "seconds",
]
CLUSTERINGS = {
    "kmeans": "k-means",
    "exact": "exact spectral",
    "fourier": "randomized, Fourier",
    "nystroem": "randomized, Nyström",
}
POINT_COLUMNS = ["data", "x1", "x2", "method", "cluster"]
ERROR_COLUMNS = [
    "method",
    "m",
    "repeat",
    "chosen",
    "tune_error",
    "test_error",
    "n_train",
    "n_test",
    "seconds",
]
CLASSIFIERS = {
    "lda": "LDA",
    "svm": "linear SVM",
    "fourier": "RLDA, Fourier",
    "nystroem": "RLDA, Nyström",
}
POWER_COLUMNS = ["pattern", "noise", "method", "n", "repeats", "critical", "power"]
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "rdc": "RDC"}


def clustering_summary(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats.

    Parameters
    ----------
    scores : DataFrame
        Rows of `workflow.stages.extensions.clustering`.

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
    """Lay out a summary in Markdown, one block per set of rows.

    Parameters
    ----------
    summary : DataFrame
        Of `clustering_summary`.
    titles : mapping of data to title
    not_run : mapping of title to reason
        Of what is missing.
    """
    blocks = [
        _clustering_block(titles[str(name)], rows)
        for name, rows in summary.groupby("data", observed=True)
    ]
    missing = [f"**{title}**: not run, {reason}\n" for title, reason in not_run.items()]
    return "\n".join([*blocks, *missing])


def _clustering_block(title: str, rows: pd.DataFrame) -> str:
    n, repeats = rows["n"].iloc[0], rows["repeats"].max()
    lines = [
        f"**Clusters of {title}**: normalised mutual information (n = {n}, repeats: {repeats})",
        "",
        *markdown_table(
            ["method", "m", "with classes", "with exact clusters", "floored degrees", "seconds"],
            [_clustering_cells(row) for row in rows.to_dict("records")],
        ),
    ]
    if "exact" not in set(rows["method"]):
        lines += ["", f"Exact clustering would need {8 * n**2 / 1e9:.2g} GB for the kernel matrix."]
    return "\n".join(lines) + "\n"


def _clustering_cells(row: Mapping[Any, Any]) -> list[str]:
    is_scored = pd.notna(row["nmi_exact_mean"])
    return [
        CLUSTERINGS[row["method"]],
        number(row["m"], ".0f"),
        plus_minus(row["nmi_mean"], row["nmi_sd"]),
        plus_minus(row["nmi_exact_mean"], row["nmi_exact_sd"]) if is_scored else "–",
        number(row["floored"], ".0f"),
        number(row["seconds"], ".1f"),
    ]


def discriminants_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats, in per cent.

    Parameters
    ----------
    errors : DataFrame
        Rows of `workflow.stages.extensions.discriminants`.

    Returns
    -------
    DataFrame
        One row per method and m: ``method``, ``m``, ``repeats``, ``n_train``, ``n_test``,
        ``chosen_least``, ``chosen_most``, ``error_mean``, ``error_sd``, ``seconds``.
    """
    methods = pd.Categorical(errors["method"], list(CLASSIFIERS))
    per_cent = 100 * errors["test_error"]
    groups = errors.assign(method=methods, error=per_cent).groupby(
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


def discriminants_table(summary: pd.DataFrame, title: str) -> str:
    """Lay out a summary in Markdown, the smallest error in bold.

    Parameters
    ----------
    summary : DataFrame
        Of `discriminants_summary`.
    title : str
    """
    first = summary.iloc[0]
    best = summary["error_mean"].min()
    header = ["method", "m", "reg or C", "test error, %", "seconds"]
    cells = [_error_cells(row, row["error_mean"] == best) for row in summary.to_dict("records")]
    lines = [
        f"**Classes of {title}**: error on test rows ({first['n_train']} training rows, "
        f"{first['n_test']} test rows, repeats: {first['repeats']})",
        "",
        *markdown_table(header, cells),
    ]
    return "\n".join(lines) + "\n"


def _error_cells(row: Mapping[Any, Any], is_best: bool) -> list[str]:
    error = plus_minus(row["error_mean"], row["error_sd"])
    least, most = (number(row[f"chosen_{end}"], "g") for end in ("least", "most"))
    return [
        CLASSIFIERS[row["method"]],
        number(row["m"], ".0f"),
        least if least == most else f"{least} to {most}",
        f"**{error}**" if is_best else error,
        number(row["seconds"], ".1f"),
    ]


def dependence_table(power: pd.DataFrame) -> str:
    """Lay out powers in Markdown: a line per pattern and method, a column per noise.

    Parameters
    ----------
    power : DataFrame
        Rows of `workflow.stages.extensions.dependence`.
    """
    first = power.iloc[0]
    levels = list(dict.fromkeys(power["noise"]))
    header = ["pattern, method", *(f"noise {level:g}" for level in levels)]
    cells = [
        [
            f"{pattern}, {name}",
            *(f"{share:.2f}" for share in power_of(power, str(pattern), method)["power"]),
        ]
        for pattern in dict.fromkeys(power["pattern"])
        for method, name in COEFFICIENTS.items()
    ]
    lines = [
        f"**Power at the 5 % level**: share of samples found dependent (n = {first['n']}, "
        f"{first['repeats']} samples each)",
        "",
        *markdown_table(header, cells),
    ]
    return "\n".join(lines) + "\n"


def power_of(power: pd.DataFrame, pattern: str, method: str) -> pd.DataFrame:
    """Return the rows of a pattern and a method."""
    return power[(power["pattern"] == pattern) & (power["method"] == method)]
