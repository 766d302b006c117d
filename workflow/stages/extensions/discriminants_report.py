"""Classification in the extensions stage: a table of errors, and a figure."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, error_bars, legend, wrapped
from workflow.lib.tables import markdown_table, number, plus_minus

COLUMNS = [
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
NAMES = {
    "lda": "LDA",
    "svm": "linear SVM",
    "fourier": "RLDA, Fourier",
    "nystroem": "RLDA, Nyström",
}
_LINES: dict[str, dict[str, Any]] = {
    "lda": {"color": "#555555", "linestyle": "--"},
    "svm": {"color": "#009E73", "linestyle": ":"},
}


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
    methods = pd.Categorical(errors["method"], list(NAMES))
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
    cells = [_cells(row, row["error_mean"] == best) for row in summary.to_dict("records")]
    lines = [
        f"**Classes of {title}**: error on test rows ({first['n_train']} training rows, "
        f"{first['n_test']} test rows, repeats: {first['repeats']})",
        "",
        *markdown_table(header, cells),
    ]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[Any, Any], is_best: bool) -> list[str]:
    error = plus_minus(row["error_mean"], row["error_sd"])
    least, most = (number(row[f"chosen_{end}"], "g") for end in ("least", "most"))
    return [
        NAMES[row["method"]],
        number(row["m"], ".0f"),
        least if least == most else f"{least} to {most}",
        f"**{error}**" if is_best else error,
        number(row["seconds"], ".1f"),
    ]


def discriminants_figure(summary: pd.DataFrame, title: str) -> Figure:
    """Test error against m.

    Parameters
    ----------
    summary : DataFrame
        Of `discriminants_summary`.
    title : str
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.2), layout="constrained")
        axes = figure.subplots()
        for name, group in summary.groupby("method", observed=True):
            label = NAMES[str(name)]
            if name in _LINES:
                axes.axhline(group["error_mean"].iloc[0], label=label, **_LINES[str(name)])
            else:
                error_bars(axes, group, "m", "error", label=label, **LOOK[str(name)])
        axes.set_ylim(bottom=0)
        axes.set_title(wrapped(title))
        axes.set_xlabel("number of random features $m$")
        axes.set_ylabel("test error, %")
        legend(figure, [axes])
    return figure
