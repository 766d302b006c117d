"""Tables in blocks: cells from the rows of a frame, laid out as Markdown or LaTeX."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import pandas as pd

from workflow.lib.provenance import write_text
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES, markdown_table, number, plus_minus

Cell = Callable[[Any], str]
Columns = dict[str, Cell]
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
    """A part of a table with a title, and notes below it; cells may be bold, as in Markdown."""

    title: str
    text: str = ""
    header: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


def block(
    title: str, text: str, columns: Columns, rows: pd.DataFrame, notes: Iterable[str] = ()
) -> Block:
    """Lay out a block: one line per row, one column per name and function of a row."""
    cells = [[cell(row) for cell in columns.values()] for row in rows.to_dict("records")]
    return Block(title, text, list(columns), cells, list(notes))


def value(column: str, form: str = ".2f", unit: str = "") -> Cell:
    """Make cells of a column's numbers."""
    return lambda row: number(row[column], form, unit)


def spread(name: str, form: str = ".2f") -> Cell:
    """Make cells of the columns ``<name>_mean`` and ``<name>_sd``."""
    return lambda row: plus_minus(row[f"{name}_mean"], row[f"{name}_sd"], form)


def method_name(row: Any) -> str:
    """Name the method of a row, with the training rows of one that is not RCCA."""
    if row.get("method") not in BASELINE_NAMES:
        return MAP_NAMES[row["feature_map"]]
    return f"{BASELINE_NAMES[row['method']]}, n = {between(row['n_train_min'], row['n_train_max'])}"


def between(least: float, most: float, form: str = ".0f") -> str:
    """Write the ends of a range, or the one number that it is."""
    return f"{least:{form}}" if least == most else f"{least:{form}} to {most:{form}}"


def counted(number: float, what: str) -> str:
    """Write a number of things."""
    return f"{number:.0f} {what}{'s' if number > 1 else ''}"


def by_experiment(
    titles: Mapping[str, str], not_run: Mapping[str, str], make: Callable[[str, str], Block]
) -> list[Block]:
    """Make a block from each experiment's name and title, or from why it was not run."""
    return [
        Block(title, f"not run, {not_run[name]}") if name in not_run else make(name, title)
        for name, title in titles.items()
    ]


# The first columns of most tables.
FIT: Columns = {"method": method_name, "m": value("m", ".0f")}


def write_markdown(path: str | PathLike[str], blocks: Iterable[Block]) -> None:
    """Write a table in blocks as Markdown; what was not run comes last."""
    texts = []
    for each in sorted(blocks, key=lambda each: not each.cells):
        lines = [f"**{each.title}**: {each.text}" if each.text else f"**{each.title}**"]
        lines += ["", *markdown_table(each.header, each.cells)] if each.cells else []
        lines += ["", *each.notes] if each.notes else []
        texts.append("\n".join(lines) + "\n")
    write_text(path, "\n".join(texts))


def write_latex(path: str | PathLike[str], blocks: Iterable[Block]) -> None:
    """Write one ``tabular`` per block; what was not run comes last."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for each in sorted(blocks, key=lambda each: not each.cells):
        text = each.text[:1].upper() + each.text[1:]
        lines += [rf"\paragraph{{{escape(each.title)}}} {escape(text)}."]
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
