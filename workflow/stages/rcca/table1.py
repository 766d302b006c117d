"""Table 1: RCCA beside linear, deep and kernel CCA and the paper, in Markdown and LaTeX."""

import re
from collections.abc import Callable, Collection, Mapping
from os import PathLike
from typing import Any

import pandas as pd

from workflow.lib.provenance import write_text
from workflow.lib.published import METHODS, comparable
from workflow.lib.tables import (
    BASELINE_NAMES,
    MAP_NAMES,
    markdown_table,
    minutes,
    number,
    plus_minus,
)
from workflow.stages.rcca.baselines_tables import with_paper

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
TIMING_COLUMNS = ("experiment", "feature_map", "m", "threads", "seconds")
_TIMED = ["threads", "minutes", "minutes_one_core"]
# Those of RCCA's columns that a baseline does not fill make floats of all the others.
_COUNTS = [
    "m",
    "components",
    "n_train_min",
    "n_train_max",
    "n_test_min",
    "n_test_max",
    "repeats",
]
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "×": r"$\times$",
        "–": "--",
    }
)


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


def with_minutes(
    summary: pd.DataFrame,
    timings: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """Add what a fit alone took, and what the paper's took.

    Parameters
    ----------
    summary : DataFrame
        Of `beside_published`.
    timings : DataFrame
        One row per experiment, map, m and number of threads, with ``seconds``.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.

    Returns
    -------
    DataFrame
        With ``threads`` (the largest number tried), ``minutes`` on that many, ``minutes_one_core``,
        ``paper_minutes``, and ``speed_up``: the paper's minutes, which are those of one core,
        over ours on one core.
    """
    timed = _by_threads(timings)
    joined = summary.merge(timed, on=_KEYS, how="left") if len(timed) else summary
    joined = joined.reindex(columns=[*summary.columns, *_TIMED])
    minutes = [
        _paper_minutes(row, comparable(published, row, experiments))
        for row in joined.to_dict("records")
    ]
    paper = pd.Series(minutes, index=joined.index, dtype=float)
    return joined.assign(paper_minutes=paper, speed_up=paper / joined["minutes_one_core"])


def _by_threads(timings: pd.DataFrame) -> pd.DataFrame:
    found = []
    for key, rows in timings.groupby(_KEYS):
        minutes = rows.groupby("threads")["seconds"].mean() / 60
        most = int(minutes.index.max())
        values = (most, minutes[most], minutes.get(1))
        found.append(dict(zip([*_KEYS, *_TIMED], [*key, *values], strict=True)))
    return pd.DataFrame(found)


def _paper_minutes(row: Any, rows: pd.DataFrame) -> float | None:
    rows = rows[rows["method"] == METHODS[str(row["feature_map"])]]
    if row["feature_map"] != "linear":
        rows = rows[rows["m"] == row["m"]]
    return float(rows["minutes"].iloc[0]) if len(rows) else None


def with_baselines(
    summary: pd.DataFrame,
    deep: pd.DataFrame,
    kernel: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """Add rows of deep CCA, and of kernel CCA at every n, below those of RCCA.

    Parameters
    ----------
    summary : DataFrame
        Of `with_minutes`.
    deep, kernel : DataFrame
        Of the baselines, with ``experiment`` and ``dataset``; those of an experiment that the
        summary does not have are left out.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.

    Returns
    -------
    DataFrame
        With the columns of the summary. A baseline has no ``feature_map`` and no ``m``; its
        ``minutes_one_core`` are the processor minutes of all cores. There is no training sum:
        deep CCA knows one of its mini-batches only, kernel CCA a regularised one.
    """
    fitted = kernel[kernel["left_out"].isna()].rename(columns={"n": "n_train"})
    fits = [fits for _, fits in deep.groupby(["experiment", "method"], sort=False)]
    fits += [fits for _, fits in fitted.groupby(["experiment", "n_train"])]
    if not fits:
        return summary
    added = with_paper(pd.DataFrame([_row(each) for each in fits]), published, experiments)
    added["difference"] = added["test_mean"] - added["paper"]
    added["speed_up"] = added["paper_minutes"] / added["minutes_one_core"]
    records = [
        row
        for name in dict.fromkeys(summary["experiment"])
        for frame in (summary, added)
        for row in frame[frame["experiment"] == name].to_dict("records")
    ]
    return pd.DataFrame(records, columns=summary.columns).astype(dict.fromkeys(_COUNTS, "Int64"))


def _row(fits: pd.DataFrame) -> dict[str, Any]:
    first = fits.iloc[0]
    return {
        **{name: first[name] for name in ("experiment", "method", "dataset", "components")},
        "n_train_min": fits["n_train"].min(),
        "n_train_max": fits["n_train"].max(),
        "repeats": len(fits),
        "test_mean": fits["test_sum"].mean(),
        "test_sd": fits["test_sum"].std(),
        "signed_mean": fits["test_sum_signed"].mean(),
        "minutes_one_core": fits["cpu_minutes"].mean(),
    }


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
        `with_baselines`, if there are any.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of the experiments to show, in their order.
    """
    blocks = [
        f"**{title}**: not run, {not_run[name]}\n"
        if name in not_run
        else _markdown_block(title, summary[summary["experiment"] == name])
        for name, title in titles.items()
    ]
    write_text(path, "\n".join(blocks))


def rcca_cells(rows: pd.DataFrame, bold: str) -> tuple[list[str], list[list[str]]]:
    """Lay out one experiment: what is measured, then what the paper says, where there is any.

    Parameters
    ----------
    rows : DataFrame
        The rows of one experiment in the summary.
    bold : str
        Format string for the cell with the largest mean on test rows.

    Returns
    -------
    header : list of str
    cells : list of list of str
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
    header = list(columns)
    cells = [[cell(row) for cell in columns.values()] for row in rows.to_dict("records")]
    best, test = int(rows["test_mean"].to_numpy().argmax()), header.index("test")
    cells[best][test] = bold.format(cells[best][test])
    return header, cells


def heading(rows: pd.DataFrame) -> str:
    """Say what the numbers of one experiment are and on how many rows those of RCCA stand."""
    rows = rows[rows["feature_map"].notna()]
    first = rows.iloc[0]
    return (
        f"sum of the {first['components']} largest correlations "
        f"({_range(rows, 'n_train')} training rows, {_range(rows, 'n_test')} test rows, "
        f"{_count(first['repeats'], 'repeat')})"
    )


def _markdown_block(title: str, rows: pd.DataFrame) -> str:
    header, cells = rcca_cells(rows, "**{}**")
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def write_latex(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
) -> None:
    """Write one ``tabular`` per experiment; parameters as of `write_markdown`."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for name, title in titles.items():
        if name in not_run:
            lines.append(rf"\paragraph{{{escape(title)}}} Not run: {escape(not_run[name])}")
        else:
            lines += _latex_block(title, summary[summary["experiment"] == name])
    write_text(path, "\n".join(lines) + "\n")


def escape(text: str) -> str:
    """Make LaTeX set a text as it stands."""
    return text.translate(_ESCAPES)


def _latex_block(title: str, rows: pd.DataFrame) -> list[str]:
    header, cells = rcca_cells(rows, "\\textbf{{{}}}")
    escaped = [[_escaped_cell(cell) for cell in row] for row in cells]
    return [
        rf"\paragraph{{{escape(title)}}} {escape(heading(rows)).capitalize()}.\\[0.5ex]",
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        " & ".join(map(escape, header)) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in escaped),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _escaped_cell(cell: str) -> str:
    inner = re.fullmatch(r"\\textbf\{(.*)\}", cell)
    return rf"\textbf{{{escape(inner[1])}}}" if inner else escape(cell)
