"""Tables: tidy CSVs of the stages in, Markdown out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.published import METHODS

_MAP_ORDER = ["linear", "fourier", "nystroem"]
_KEYS = ["experiment", "feature_map", "m"]
# What a summary needs of the stage's rows.
SUMS_COLUMNS = [
    *_KEYS,
    "dataset",
    "components",
    "n_train",
    "n_test",
    "repeat",
    "train_sum",
    "test_sum",
    "test_sum_signed",
]
MAP_NAMES = {"linear": "linear CCA", "fourier": "RCCA, Fourier", "nystroem": "RCCA, Nyström"}
BASELINE_NAMES = {"dcca": "deep CCA", "kcca": "exact kernel CCA"}


def rcca_summary(sums: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the summed correlations.

    Parameters
    ----------
    sums : DataFrame
        Rows of the rcca stage: one per experiment, map, repeat and m.

    Returns
    -------
    DataFrame
        One row per experiment, map and m, experiments in the order they come in; ``method`` is
        what the published CSV calls the map; the deviation is missing where there is one repeat.
    """
    experiments = pd.Categorical(sums["experiment"], sums["experiment"].unique())
    maps = pd.Categorical(sums["feature_map"], _MAP_ORDER)
    groups = sums.assign(experiment=experiments, feature_map=maps).groupby(_KEYS, observed=True)
    summary = groups.agg(
        dataset=("dataset", "first"),
        components=("components", "first"),
        n_train_min=("n_train", "min"),
        n_train_max=("n_train", "max"),
        n_test_min=("n_test", "min"),
        n_test_max=("n_test", "max"),
        repeats=("repeat", "nunique"),
        train_mean=("train_sum", "mean"),
        train_sd=("train_sum", "std"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        signed_mean=("test_sum_signed", "mean"),
    )
    summary = summary.reset_index()
    summary.insert(1, "method", summary["feature_map"].astype(object).map(METHODS))
    return summary


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out a table whose first column is text and whose others are numbers.

    Returns
    -------
    list of str
        Lines, without a blank one at either end.
    """
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|" * (len(header) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def write_markdown(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
) -> None:
    """Write the table of an rcca summary, one block per experiment.

    Parameters
    ----------
    path : path
    summary : DataFrame
        Of `rcca_summary`, beside the published numbers and with minutes; with the rows of
        `workflow.stages.rcca.table1`, if there are any.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of the experiments to show, in their order.
    """
    blocks = [
        f"**{title}**: not run, {not_run[name]}\n"
        if name in not_run
        else _block(title, summary[summary["experiment"] == name])
        for name, title in titles.items()
    ]
    with replacing(path) as partial:
        partial.write_text("\n".join(blocks), encoding="utf-8")


def rcca_cells(rows: pd.DataFrame) -> tuple[list[str], list[list[str]], int]:
    """Lay out one experiment: what is measured, then what the paper says, where there is any.

    Parameters
    ----------
    rows : DataFrame
        The rows of one experiment in the summary.

    Returns
    -------
    header : list of str
    cells : list of list of str
    best : int
        The row with the largest mean on test rows.
    """
    columns: dict[str, Callable[[Any], str]] = {
        "method": _method,
        "m": lambda row: number(row["m"], "d"),
        "training": lambda row: plus_minus(row["train_mean"], row["train_sd"]),
        "test": lambda row: plus_minus(row["test_mean"], row["test_sd"]),
    }
    is_timed = rows["minutes_one_core"].notna().any()
    is_published = rows["paper"].notna().any()
    if is_published:
        columns["paper"] = lambda row: number(row["paper"], ".2f")
        columns["difference"] = lambda row: number(row["difference"], "+.2f")
    if is_timed:
        threads = rows["threads"].max()  # missing where only baselines are timed
        if threads > 1:
            columns[f"minutes, {threads:.0f} cores"] = lambda row: minutes(row["minutes"])
        columns["minutes, 1 core"] = lambda row: minutes(row["minutes_one_core"])
    if is_timed and is_published:
        columns["paper's minutes"] = lambda row: minutes(row["paper_minutes"])
        columns["speed-up"] = lambda row: number(row["speed_up"], ".0f", "×")
    records = rows.to_dict("records")
    cells = [[cell(row) for cell in columns.values()] for row in records]
    return list(columns), cells, int(rows["test_mean"].to_numpy().argmax())


def heading(rows: pd.DataFrame) -> str:
    """Say what the numbers of one experiment are and on how many rows those of RCCA stand."""
    rows = rows[rows["feature_map"].notna()]
    first = rows.iloc[0]
    return (
        f"sum of the {first['components']} largest correlations "
        f"({_range(rows, 'n_train')} training rows, {_range(rows, 'n_test')} test rows, "
        f"{_count(first['repeats'], 'repeat')})"
    )


def _block(title: str, rows: pd.DataFrame) -> str:
    header, cells, best = rcca_cells(rows)
    cells[best][3] = f"**{cells[best][3]}**"
    lines = [f"**{title}**: {heading(rows)}", "", *markdown_table(header, cells)]
    return "\n".join(lines) + "\n"


def _method(row: Any) -> str:
    """Name the method of a row, with the training rows of one that is not RCCA."""
    if row["method"] not in BASELINE_NAMES:
        return MAP_NAMES[row["feature_map"]]
    return f"{BASELINE_NAMES[row['method']]}, n = {_span(row['n_train_min'], row['n_train_max'])}"


def _range(rows: pd.DataFrame, column: str) -> str:
    return _span(rows[f"{column}_min"].min(), rows[f"{column}_max"].max())


def _span(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def number(value: float, form: str, unit: str = "") -> str:
    """Format a number, or a dash where there is none."""
    return "–" if pd.isna(value) else format(value, form) + unit


def minutes(value: float) -> str:
    """Format minutes to the hundredth, and less than a tenth to one digit."""
    return number(value, ".2f" if value >= 0.1 else ".1g")


def plus_minus(mean: float, deviation: float, form: str = ".2f") -> str:
    """Format a mean with its standard deviation, if there is one; a dash without a mean."""
    text = number(mean, form)
    return text if pd.isna(deviation) else f"{text} ± {format(deviation, form.lstrip('+'))}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
