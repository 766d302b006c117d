"""The counterexample to Theorem 4 and the regularised eigenvalues, in tables."""

from collections.abc import Iterator
from os import PathLike

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.tables import markdown_table
from workflow.stages.bounds.norms import cca_bound, correlation_bound, limiting_cca_error
from workflow.stages.bounds.theorem4 import FEATURES

_NAMES = {
    "unit": "unit features cos(Wx + b), K̂/2 for K/2 (B = n)",
    "unbiased": "features √2·cos(Wx + b), K̂ for K (B = 2n)",
}


def against_the_bound(violations: pd.DataFrame) -> pd.DataFrame:
    """Average the errors of the counterexample, beside the bound and the limit for large n.

    Parameters
    ----------
    violations : DataFrame
        Of `workflow.stages.bounds.theorem4.violations`.

    Returns
    -------
    DataFrame
        One row per kind of features, γ, n and ``ratio``; ``excess`` is the mean error over the
        bound, which it violates where it is above 1.
    """
    summary = (
        violations.groupby(["features", "gamma", "n", "ratio", "m"], sort=False)
        .agg(repeats=("repeat", "nunique"), error=("error", "mean"), sd=("error", "std"))
        .reset_index()
    )
    factor = summary["features"].map(FEATURES)
    rows = list(
        zip(summary["n"], summary["m"], summary["gamma"], factor, summary["features"], strict=True)
    )
    summary["bound"] = [
        cca_bound(n, m, gamma, largest=n if features == "unit" else 2 * n)
        for n, m, gamma, _, features in rows
    ]
    summary["limit"] = [
        limiting_cca_error(n, m / n, factor * gamma) for n, m, gamma, factor, _ in rows
    ]
    return summary.assign(excess=summary["error"] / summary["bound"])


def against_m(correlations: pd.DataFrame) -> pd.DataFrame:
    """Average the errors of squared canonical correlations, beside the bound that holds for them.

    Parameters
    ----------
    correlations : DataFrame
        Of `workflow.stages.bounds.theorem4.correlation_errors`.
    """
    summary = (
        correlations.groupby(["gamma", "n", "m"])
        .agg(
            repeats=("repeat", "nunique"),
            error=("error", "mean"),
            sd=("error", "std"),
            kernel_norm=("kernel_norm", "mean"),
        )
        .reset_index()
    )
    summary["bound"] = [
        correlation_bound(row["n"], row["m"], row["gamma"], norm=row["kernel_norm"])
        for row in summary.to_dict("records")
    ]
    return summary


def write_theorem4_table(path: str | PathLike[str], summary: pd.DataFrame) -> None:
    """Write `against_the_bound` in Markdown: error over bound, one block per features and γ."""
    blocks = [
        "\n".join(_block(rows)) for _, rows in summary.groupby(["features", "gamma"], sort=False)
    ]
    with replacing(path) as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _block(rows: pd.DataFrame) -> Iterator[str]:
    features, gamma = rows[["features", "gamma"]].iloc[0]
    yield f"**{_NAMES[features]}, γ = {gamma:g}**: mean error over Theorem 4's bound"
    yield ""
    sizes = sorted(rows["n"].unique())
    table = rows.pivot(index="ratio", columns="n", values="excess")
    cells = [
        [f"{ratio:g}", *(_excess(table.loc[ratio, n]) for n in sizes)] for ratio in table.index
    ]
    yield from markdown_table(["m/n", *(f"n = {n}" for n in sizes)], cells)


def _excess(value: float) -> str:
    if pd.isna(value):
        return "–"
    text = f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"
    return f"**{text}**" if value > 1 else text


def write_correlations_table(path: str | PathLike[str], summary: pd.DataFrame) -> None:
    """Write `against_m` in Markdown: error and bound by m, one column per γ."""
    gammas = sorted(summary["gamma"].unique())
    table = summary.pivot(index="m", columns="gamma", values=["error", "bound"])
    cells = [
        [
            str(m),
            *(
                f"{table.loc[m, ('error', g)]:.2g} ({table.loc[m, ('bound', g)]:.2g})"
                for g in gammas
            ),
        ]
        for m in table.index
    ]
    lines = [
        f"**Largest error of a squared canonical correlation, n = {summary['n'].iloc[0]}** "
        "(in brackets the bound that holds)",
        "",
        *markdown_table(["m", *(f"γ = {g:g}" for g in gammas)], cells),
    ]
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
