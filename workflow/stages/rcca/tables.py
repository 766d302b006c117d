"""Tables in blocks, as Markdown or LaTeX; and smaller ones: chosen reg, variants, leaks, models."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow.lib.provenance import write_text
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES, markdown_table, number, plus_minus, span

Titles = Mapping[str, str]
# By experiment of a series: its name, title, protocol, and the paper's dataset beside it.
Series = Mapping[str, Mapping[str, Any]]
# What the schemes of the splits are called in tables.
PROTOCOL_NAMES = {"frames": "random frames", "utterances": "utterances held out"}
LEAKS_COLUMNS = ("experiment", "part", "kind", "rows", "of", "share")
_LEAKS = ("duplicate in x", "duplicate in y", "duplicate in both", "shared frame")
_LOADINGS = 3  # of each view, named below the table of a kept model
_PAIR = ["feature_map", "m", "repeat"]
_FIT = ["experiment", *_PAIR]
CV_COLUMNS = (*_FIT, "reg", "cv_sum", "test_sum", "predicted_error")
INFERENCE_COLUMNS = (
    "experiment", "feature_map", "m", "reg", "component", "test_correlation", "p_value", "null_95",
)  # fmt: skip
# Correlations that may be off by more than this are at the floor of the arithmetic.
_ERROR_LIMIT = 1e-3
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

Cell = Callable[[Any], str]
Columns = dict[str, Cell]


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


def by_experiment(
    titles: Titles, not_run: Mapping[str, str], make: Callable[[str, str], Block]
) -> list[Block]:
    """Make a block from each experiment's name and title, or from why it was not run."""
    return [
        Block(title, f"not run, {not_run[name]}") if name in not_run else make(name, title)
        for name, title in titles.items()
    ]


def value(column: str, form: str = ".2f", unit: str = "") -> Cell:
    """Make cells of a column's numbers."""
    return lambda row: number(row[column], form, unit)


def text(column: str) -> Cell:
    """Make cells of a column's texts."""
    return lambda row: "–" if pd.isna(row[column]) else str(row[column])


def spread(name: str, form: str = ".2f") -> Cell:
    """Make cells of the columns ``<name>_mean`` and ``<name>_sd``."""
    return lambda row: plus_minus(row[f"{name}_mean"], row[f"{name}_sd"], form)


def _method_name(row: Any) -> str:
    """Name the method of a row, with the training rows of one that is not RCCA."""
    if row.get("method") not in BASELINE_NAMES:
        return MAP_NAMES[row["feature_map"]]
    n = span([row["n_train_min"], row["n_train_max"]], ".0f")
    return f"{BASELINE_NAMES[row['method']]}, n = {n}"


# The first columns of most tables.
FIT: Columns = {"method": _method_name, "m": value("m", ".0f")}


def counted(number: float, what: str) -> str:
    """Write a number of things."""
    return f"{number:.0f} {what}{'s' if number > 1 else ''}"


def of_series(names: Iterable[str], series: Series) -> tuple[list[str], list[str]]:
    """Return series and protocol of experiments; outside series its own name and ""."""
    found = [series.get(name, {"name": name, "protocol": ""}) for name in names]
    return [each["name"] for each in found], [each["protocol"] for each in found]


def with_protocol(title: str, protocol: str) -> str:
    """Write the title of an experiment or series, with the protocol if it has one."""
    return f"{title}, {PROTOCOL_NAMES[protocol]}" if protocol else title


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


def chosen_pairs(cv: pd.DataFrame, fixed: Mapping[str, float]) -> pd.DataFrame:
    """Set the reg with the largest ``cv_sum`` beside the one fixed beforehand, also tried.

    One row per experiment, map, m and repeat: test sums with both, and the ``gain``. ``note`` says
    whether the choice is the least or the largest value tried, or one at which rounding may change
    the correlations by more than 1e-3.
    """
    tried = cv.dropna(subset=["cv_sum", "test_sum"])
    best = tried.loc[tried.groupby(_FIT, sort=False)["cv_sum"].idxmax()].set_index(_FIT)
    base = tried[tried["reg"] == tried["experiment"].map(fixed)].set_index(_FIT)
    pairs = best.join(base["test_sum"].rename("fixed_sum")).reset_index()
    grid = cv.groupby("experiment")["reg"]
    largest, least = (
        pairs["reg"] == pairs["experiment"].map(end) for end in (grid.max(), grid.min())
    )
    return pairs.assign(
        gain=pairs["test_sum"] - pairs["fixed_sum"],
        note=np.select(
            [pairs["predicted_error"] > _ERROR_LIMIT, largest, least],
            ["numerical floor", "largest tried", "least tried"],
            "",
        ),
    )


def chosen(pairs: pd.DataFrame, series: Series) -> pd.DataFrame:
    """Average `chosen_pairs` over repeats or, within a series, over speakers.

    One row per experiment or series, protocol ("" outside series), map and m. ``repeats`` counts
    pairs, or speakers with ``repeats_each``; ``on_edge`` tells whether a choice has a note.
    """
    in_series = pairs["experiment"].isin(series)
    names, protocols = of_series(pairs["experiment"], series)
    unit = pairs["experiment"].astype(object).where(in_series, pairs["repeat"])
    units = pairs.assign(experiment=names, protocol=protocols, unit=unit)
    keys = ["experiment", "protocol", "feature_map", "m"]
    # A speaker counts once, whatever its repeats.
    means = units.groupby([*keys, "unit"], sort=False).agg(
        reg_min=("reg", "min"),
        reg_max=("reg", "max"),
        note=("note", "max"),
        chosen=("test_sum", "mean"),
        fixed=("fixed_sum", "mean"),
        gain=("gain", "mean"),
        repeats_each=("repeat", "nunique"),
    )
    found = means.groupby(keys, sort=False).agg(
        reg_min=("reg_min", "min"),
        reg_max=("reg_max", "max"),
        note=("note", "max"),
        repeats=("gain", "size"),
        repeats_each=("repeats_each", "max"),
        chosen_mean=("chosen", "mean"),
        chosen_sd=("chosen", "std"),
        fixed_mean=("fixed", "mean"),
        fixed_sd=("fixed", "std"),
        gain_mean=("gain", "mean"),
        gain_sd=("gain", "std"),
    )
    return found.assign(on_edge=found["note"] != "").reset_index()


def chosen_blocks(choice: pd.DataFrame, titles: Titles) -> list[Block]:
    """Lay out `chosen`, one block per experiment, and per protocol of a series."""
    columns: Columns = {
        **FIT,
        "reg fixed: test": spread("fixed"),
        "reg chosen": _chosen_range,
        "test": spread("chosen"),
        "gain": spread("gain", "+.2f"),
    }
    blocks = []
    for (name, protocol), rows in choice.groupby(["experiment", "protocol"], sort=False):
        count, each = rows["repeats"].iloc[0], counted(rows["repeats_each"].iloc[0], "repeat")
        over = counted(count, "repeat")
        if protocol:
            over = f"{PROTOCOL_NAMES[str(protocol)]}, {counted(count, 'dataset')}, {each} each"
        blocks.append(block(titles[str(name)], over, columns, rows))
    return blocks


def _chosen_range(row: Any) -> str:
    regs = span([row["reg_min"], row["reg_max"]], "g")
    return f"{regs} ({row['note']})" if row["note"] else regs


def beside_base(sums: pd.DataFrame, variants: Mapping[str, str]) -> pd.DataFrame:
    """Compare variants with the experiment each is one of, on the repeats that both have."""
    base = sums[[*_FIT, "test_sum"]].rename(columns={"experiment": "base"})
    pairs = sums.assign(base=sums["experiment"].map(variants))
    pairs = pairs.merge(base, on=["base", *_PAIR], suffixes=("", "_base"))
    pairs["difference"] = pairs["test_sum"] - pairs["test_sum_base"]
    groups = pairs.groupby(["experiment", "base", "feature_map", "m"], sort=False)
    return groups.agg(
        repeats=("repeat", "nunique"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        difference_mean=("difference", "mean"),
        difference_sd=("difference", "std"),
    ).reset_index()


def variant_blocks(compared: pd.DataFrame, titles: Titles) -> list[Block]:
    """Lay out `beside_base`, one block per experiment."""
    columns: Columns = {
        "variant": lambda row: titles[row["experiment"]],
        **FIT,
        "test": spread("test"),
        "difference": spread("difference", "+.2f"),
    }
    return [
        block(f"Variants of {titles[str(base)]}", "differences by repeat", columns, rows)
        for base, rows in compared.groupby("base", sort=False)
    ]


def leak_blocks(leaks: pd.DataFrame, titles: Titles) -> list[Block]:
    """Lay out the leak audit: one line per experiment and part, one column per kind of leak."""
    columns: Columns = {
        "experiment": lambda row: titles[row["experiment"]],
        "part": text("part"),
        "rows": value("of", ".0f"),
        **{kind: text(kind) for kind in _LEAKS},
    }
    keys = ["experiment", "part"]
    lines = leaks[leaks["of"] > 0].drop_duplicates(keys).set_index(keys)
    for kind in _LEAKS:
        own = leaks[leaks["kind"] == kind].set_index(keys)
        lines[kind] = own["rows"].astype(str) + own["share"].map(" ({:.1%})".format)
    title = "Rows that training rows give away"
    return [block(title, "first repeats", columns, lines.reset_index())]


def leaked_shares(leaks: pd.DataFrame) -> "pd.Series[float]":
    """Return, by experiment, the share of test rows that training rows give away.

    They share a frame with training rows or, where rows are no windows, also stand among them.
    """
    telling = leaks["kind"].isin(["duplicate in both", "shared frame"])
    test = leaks[telling & (leaks["part"] == "test")]
    return test.groupby("experiment", sort=False)["share"].max()


def by_model(
    inference: pd.DataFrame, titles: Titles
) -> Iterator[tuple[tuple[str, str], str, pd.DataFrame]]:
    """Yield key, title and components of each kept model, the one that finds most first."""
    models = list(inference.groupby(["experiment", "feature_map"], sort=False))
    for (name, kind), rows in sorted(models, key=lambda model: _found(model[1]), reverse=True):
        key = str(name), str(kind)
        yield key, f"{titles[key[0]]}, {MAP_NAMES[key[1]]}", rows


def _found(rows: pd.DataFrame) -> tuple[int, float]:
    """Return how many components are significant at 5 %, and the sum of their correlations."""
    real = rows.loc[rows["p_value"] <= 0.05, "test_correlation"]
    return len(real), float(real.sum())


def model_blocks(
    inference: pd.DataFrame, titles: Titles, loadings: Mapping[tuple[str, str], pd.DataFrame]
) -> list[Block]:
    """Lay out the components of each model, with what was chosen and what the first consists of."""
    columns: Columns = {
        "component": value("component", ".0f"),
        "correlation on test rows": value("test_correlation", ".3f"),
        "p-value, adjusted": value("p_value", ".2g"),
        "95 % of random pairings": value("null_95", ".3f"),
    }
    blocks = []
    for key, title, rows in by_model(inference, titles):
        chosen = f"m = {rows['m'].iloc[0]}, reg = {rows['reg'].iloc[0]:g}, by cross-validation"
        blocks.append(block(title, chosen, columns, rows, [_loads_most_on(loadings[key])]))
    return blocks


def _loads_most_on(loadings: pd.DataFrame) -> str:
    """Name the columns of each view with the largest loadings on the first component."""
    parts = []
    for view, rows in loadings.groupby("view"):
        order = rows["component_1"].abs().sort_values(ascending=False, kind="stable").index
        largest = rows.loc[order[:_LOADINGS]].to_dict("records")
        named = [f"{_plain(str(row['column']))} ({row['component_1']:.2f})" for row in largest]
        parts.append(f"of view {view} {', '.join(named)}")
    return f"Largest loadings on component 1: {'; '.join(parts)}."


def _plain(text: str) -> str:
    """Make Markdown show a text, such as the name of a column, as it stands."""
    return re.sub(r"([\\`*_\[\]<>|$~#])", r"\\\1", text)
