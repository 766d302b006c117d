"""Table 1: RCCA beside linear, deep and kernel CCA and the paper; and the minutes, apart."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

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
    "reg",
    "components",
    "n_train",
    "n_test",
    "repeat",
    "train_sum",
    "test_sum",
    "test_sum_signed",
    "floor_sum",
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
        "−": "$-$",
    }
)


class Block(NamedTuple):
    """A part of a table with a title; the largest cell of a column may be bold, as in Markdown."""

    title: str
    text: str
    header: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()


Columns = Mapping[str, Callable[[Any], str]]


def block(title: str, text: str, columns: Columns, rows: pd.DataFrame) -> Block:
    """Lay out a block: one line per row, one column per name and function of a row."""
    cells = [[cell(row) for cell in columns.values()] for row in rows.to_dict("records")]
    return Block(title, text, list(columns), cells)


def write_markdown(path: str | PathLike[str], blocks: Iterable[Block]) -> None:
    """Write a table in blocks as Markdown."""
    texts = []
    for each in blocks:
        lines = [f"**{each.title}**: {each.text}" if each.text else f"**{each.title}**"]
        lines += ["", *markdown_table(each.header, each.cells)] if each.cells else []
        texts.append("\n".join(lines) + "\n")
    write_text(path, "\n".join(texts))


def write_latex(path: str | PathLike[str], blocks: Iterable[Block]) -> None:
    """Write one ``tabular`` per block."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for each in blocks:
        lines += [
            rf"\paragraph{{{escape(each.title)}}} {escape(each.text[:1].upper() + each.text[1:])}."
        ]
        if each.cells:
            lines[-1] += r"\\[0.5ex]"
            lines += [
                rf"\begin{{tabular}}{{l{'r' * (len(each.header) - 1)}}}",
                r"\toprule",
                " & ".join(map(escape, each.header)) + r" \\",
                r"\midrule",
                *(" & ".join(map(_latex_cell, row)) + r" \\" for row in each.cells),
                r"\bottomrule",
                r"\end{tabular}",
            ]
    write_text(path, "\n".join(lines) + "\n")


def escape(text: str) -> str:
    """Make LaTeX set a text as it stands."""
    return text.translate(_ESCAPES)


def _latex_cell(cell: str) -> str:
    bold = re.fullmatch(r"\*\*(.*)\*\*", cell)
    return rf"\textbf{{{escape(bold[1])}}}" if bold else escape(cell)


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
        floor_mean=("floor_sum", "mean"),
    )
    summary = summary.reset_index()
    summary.insert(1, "method", summary["feature_map"].astype(object).map(METHODS))
    return summary


def with_leaks(
    summary: pd.DataFrame, leaks: pd.DataFrame, series: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Add what an experiment belongs to, and the share of test rows that training rows give away.

    Returns
    -------
    DataFrame
        With ``series`` and ``protocol``, missing outside series, and ``leaked``: the share of
        test rows that share a frame with training rows or, where rows are no windows, that also
        stand among them.
    """
    telling = leaks["kind"].isin(["duplicate in both", "shared frame"])
    leaked = leaks[telling & (leaks["part"] == "test")].groupby("experiment")["share"].max()
    names = summary["experiment"].astype(object)
    belongs = {
        column: names.map({name: of[key] for name, of in series.items()})
        for column, key in (("series", "name"), ("protocol", "protocol"))
    }
    return summary.assign(**belongs, leaked=names.map(leaked))


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
        One row per experiment, map, m, number of threads and repeat, with ``seconds``.
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
        minutes = rows.groupby("threads")["seconds"].median() / 60
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


def experiment_blocks(
    summary: pd.DataFrame, not_run: Mapping[str, str], titles: Mapping[str, str]
) -> list[Block]:
    """Lay out Table 1, one block per experiment: what is measured, then what the paper says.

    Parameters
    ----------
    summary : DataFrame
        Of `rcca_summary`, beside the published numbers; with rows of baselines, if there are any.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of the experiments to show, in their order.
    """
    return [
        Block(title, f"not run, {not_run[name]}")
        if name in not_run
        else _experiment_block(title, summary[summary["experiment"] == name])
        for name, title in titles.items()
    ]


def _experiment_block(title: str, rows: pd.DataFrame) -> Block:
    best = rows["test_mean"].max()
    columns: dict[str, Callable[[Any], str]] = {
        "method": method_name,
        "m": lambda row: number(row["m"], "d"),
        "training": lambda row: plus_minus(row["train_mean"], row["train_sd"]),
        "test": lambda row: bold_if(
            row["test_mean"] == best, plus_minus(row["test_mean"], row["test_sd"])
        ),
    }
    if rows["paper"].notna().any():
        columns["paper"] = lambda row: number(row["paper"], ".2f")
        columns["difference"] = lambda row: number(row["difference"], "+.2f")
    return block(title, heading(rows), columns, rows)


def minutes_blocks(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out the minutes of the experiments whose fits of RCCA are timed."""
    timed = summary.dropna(subset="minutes_one_core")
    timed_maps = set(timed.loc[timed["feature_map"].notna(), "experiment"])
    blocks = []
    for name in (name for name in titles if name in timed_maps):
        rows = timed[timed["experiment"] == name]
        columns: dict[str, Callable[[Any], str]] = {
            "method": method_name,
            "m": lambda row: number(row["m"], "d"),
            "1 core": lambda row: minutes(row["minutes_one_core"]),
        }
        if (threads := rows["threads"].max()) > 1:
            columns[f"{threads:.0f} cores"] = lambda row: minutes(row["minutes"])
        if rows["paper_minutes"].notna().any():
            columns["paper, 1 core of its machine"] = lambda row: minutes(row["paper_minutes"])
            columns["ratio"] = lambda row: number(row["speed_up"], ".0f", "×")
        blocks.append(block(titles[name], "minutes of a fit", columns, rows))
    return blocks


def bold_if(wanted: bool, cell: str) -> str:
    """Make a cell bold if that is wanted."""
    return f"**{cell}**" if wanted else cell


def heading(rows: pd.DataFrame) -> str:
    """Say what the numbers of one experiment are and on how many rows those of RCCA stand."""
    rows = rows[rows["feature_map"].notna()]
    first = rows.iloc[0]
    return (
        f"sum of the {first['components']} largest correlations "
        f"({span(rows, 'n_train')} training rows, {span(rows, 'n_test')} test rows, "
        f"{counted(first['repeats'], 'repeat')})"
    )


def method_name(row: Any) -> str:
    """Name the method of a row, with the training rows of one that is not RCCA."""
    if row["method"] not in BASELINE_NAMES:
        return MAP_NAMES[row["feature_map"]]
    return f"{BASELINE_NAMES[row['method']]}, n = {_span(row['n_train_min'], row['n_train_max'])}"


def span(rows: pd.DataFrame, column: str) -> str:
    """Say between which numbers the rows of experiments lie."""
    return _span(rows[f"{column}_min"].min(), rows[f"{column}_max"].max())


def _span(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def counted(number: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
