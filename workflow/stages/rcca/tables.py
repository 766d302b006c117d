"""The smaller tables of stage rcca: values of reg, variants, and the leak audit."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import pandas as pd

from workflow.lib.provenance import write_text
from workflow.lib.published import beside_published
from workflow.lib.tables import MAP_NAMES, number, plus_minus
from workflow.stages.rcca.series import PROTOCOL_NAMES, Series, labelled_units
from workflow.stages.rcca.table1 import Block, block, rcca_summary

KINDS = ("duplicate in x", "duplicate in y", "duplicate in both", "shared frame")
LEAKS_COLUMNS = ("experiment", "part", "kind", "rows", "of", "share")
CV_COLUMNS = (
    "experiment",
    "feature_map",
    "repeat",
    "reg",
    "m",
    "cv_sum",
    "test_sum",
    "predicted_error",
)
# Correlations that may be off by more than this are at the floor of the arithmetic.
_ERROR_LIMIT = 1e-3
_FIT = ["experiment", "feature_map", "m", "repeat"]
_PAIR = ["feature_map", "m", "repeat"]


def chosen_pairs(cv: pd.DataFrame, fixed: Mapping[str, float]) -> pd.DataFrame:
    """Set the reg that cross-validation chooses beside the one that was fixed.

    Parameters
    ----------
    cv : DataFrame
        One row per experiment, map, repeat, m and reg.
    fixed : mapping of experiment to float
        The reg that was fixed beforehand; one of those tried.

    Returns
    -------
    DataFrame
        One row per experiment, map, m and repeat: ``reg`` with the largest ``cv_sum``, test sums
        with it and with the fixed one, and the ``gain``. ``note`` says whether the choice is the
        least or the largest value tried, or one at which rounding may change the correlations by
        more than 1e-3.
    """
    tried = cv.dropna(subset=["cv_sum", "test_sum"])
    groups = tried.groupby(_FIT, sort=False)
    best = tried.loc[groups["cv_sum"].idxmax()].set_index(_FIT)
    base = tried[tried["reg"] == tried["experiment"].map(fixed)].set_index(_FIT)
    pairs = best.join(base["test_sum"].rename("fixed_sum"))
    pairs["gain"] = pairs["test_sum"] - pairs["fixed_sum"]
    pairs = pairs.reset_index()
    grid = cv.groupby("experiment")["reg"].agg(["min", "max"])
    pairs["note"] = [_note(row, grid.loc[row["experiment"]]) for row in pairs.to_dict("records")]
    return pairs


def _note(row: Any, grid: Any) -> str:
    if row["predicted_error"] > _ERROR_LIMIT:
        return "numerical floor"
    ends = {grid["min"]: "least tried", grid["max"]: "largest tried"}
    return ends.get(row["reg"], "")


def chosen(pairs: pd.DataFrame, series: Series) -> pd.DataFrame:
    """Average `chosen_pairs` over repeats or, within a series, over speakers.

    Returns
    -------
    DataFrame
        One row per experiment or series, protocol, map and m: the least and the largest reg
        chosen, mean and standard deviation of the test sums and of the gain, over ``repeats``
        pairs; ``on_edge`` if a choice has a note.
    """
    sums = ["test_sum", "fixed_sum", "gain"]
    units = labelled_units(pairs.assign(reg_min=pairs["reg"], reg_max=pairs["reg"]), series, sums)
    groups = units.groupby(["experiment", "protocol", "feature_map", "m"], sort=False)
    found = groups.agg(
        reg_min=("reg_min", "min"),
        reg_max=("reg_max", "max"),
        note=("note", "max"),
        repeats=("gain", "size"),
        **{
            f"{new}_{kind}": (old, how)
            for new, old in (("chosen", "test_sum"), ("fixed", "fixed_sum"), ("gain", "gain"))
            for kind, how in (("mean", "mean"), ("sd", "std"))
        },
    ).reset_index()
    return found.assign(on_edge=found["note"] != "")


def chosen_blocks(choice: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out `chosen`, one block per experiment, and per protocol of a series."""
    columns: dict[str, Callable[[Any], str]] = {
        "method": lambda row: MAP_NAMES[row["feature_map"]],
        "m": lambda row: str(row["m"]),
        "reg fixed: test": lambda row: plus_minus(row["fixed_mean"], row["fixed_sd"]),
        "reg chosen": _range,
        "test": lambda row: plus_minus(row["chosen_mean"], row["chosen_sd"]),
        "gain": lambda row: plus_minus(row["gain_mean"], row["gain_sd"], "+.2f"),
    }
    return [
        block(titles[str(name)], PROTOCOL_NAMES.get(str(protocol), ""), columns, rows)
        for (name, protocol), rows in choice.groupby(["experiment", "protocol"], sort=False)
    ]


def _range(row: Any) -> str:
    least, most = row["reg_min"], row["reg_max"]
    text = f"{least:g}" if least == most else f"{least:g} to {most:g}"
    return f"{text} ({row['note']})" if row["note"] else text


def by_reg(
    sums: pd.DataFrame, regs: pd.DataFrame, published: pd.DataFrame, paper: list[str]
) -> pd.DataFrame:
    """Summarise the test sums at the fixed and at other values of reg, beside the paper's.

    Parameters
    ----------
    sums, regs : DataFrame
        Rows of the rcca stage at the fixed reg, and at others.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    paper : list of str
        The experiments that follow the paper's protocol.
    """
    both = pd.concat([sums[sums["experiment"].isin(regs["experiment"])], regs])
    found = [rcca_summary(rows).assign(reg=reg) for reg, rows in both.groupby("reg")]
    found = found or [rcca_summary(both).assign(reg=None)]  # where nothing was run
    return beside_published(pd.concat(found, ignore_index=True), published, paper)


def reg_blocks(found: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out `by_reg`: a line per method and m, a column per reg with its difference."""
    blocks = []
    for name, rows in found.groupby("experiment", sort=False, observed=True):
        regs = sorted(rows["reg"].unique(), reverse=True)
        lines = rows[rows["reg"] == regs[0]].sort_values(["feature_map", "m"])
        cells = {(row["reg"], row["feature_map"], row["m"]): row for row in rows.to_dict("records")}
        columns: dict[str, Callable[[Any], str]] = {
            "method": lambda row: MAP_NAMES[row["feature_map"]],
            "m": lambda row: str(row["m"]),
            "paper": lambda row: number(row["paper"], ".2f"),
            **{f"reg = {reg:g}": _at(reg, cells) for reg in regs},
        }
        blocks.append(block(titles[str(name)], "test (less the paper's)", columns, lines))
    return blocks


def _at(reg: float, cells: Mapping[tuple[float, str, int], Any]) -> Callable[[Any], str]:
    def cell(line: Any) -> str:
        row = cells[reg, line["feature_map"], line["m"]]
        test = plus_minus(row["test_mean"], row["test_sd"])
        return test if pd.isna(row["difference"]) else f"{test} ({row['difference']:+.2f})"

    return cell


def beside_base(sums: pd.DataFrame, variants: Mapping[str, str]) -> pd.DataFrame:
    """Compare variants with their experiment on the repeats both have.

    Parameters
    ----------
    sums : DataFrame
        Rows of the rcca stage: one per experiment, map, repeat and m.
    variants : mapping of variant to its experiment

    Returns
    -------
    DataFrame
        One row per variant, map and m: mean and standard deviation over repeats of the test sum
        and of its difference from the experiment's.
    """
    found = []
    for name, base in variants.items():
        pairs = sums[sums["experiment"] == name].merge(
            sums.loc[sums["experiment"] == base, [*_PAIR, "test_sum"]],
            on=_PAIR,
            suffixes=("", "_base"),
        )
        pairs["difference"] = pairs["test_sum"] - pairs["test_sum_base"]
        found.append(pairs.assign(base=base))
    groups = pd.concat(found).groupby(["experiment", "base", "feature_map", "m"], sort=False)
    return groups.agg(
        repeats=("repeat", "nunique"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        difference_mean=("difference", "mean"),
        difference_sd=("difference", "std"),
    ).reset_index()


def variant_blocks(compared: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out `beside_base`, one block per experiment."""
    columns: dict[str, Callable[[Any], str]] = {
        "variant": lambda row: titles[row["experiment"]],
        "method": lambda row: MAP_NAMES[row["feature_map"]],
        "m": lambda row: str(row["m"]),
        "test": lambda row: plus_minus(row["test_mean"], row["test_sd"]),
        "difference": lambda row: plus_minus(row["difference_mean"], row["difference_sd"], "+.2f"),
    }
    return [
        block(f"Variants of {titles[str(base)]}", "differences by repeat", columns, rows)
        for base, rows in compared.groupby("base", sort=False)
    ]


def write_leaks_table(
    path: str | PathLike[str], leaks: pd.DataFrame, titles: Mapping[str, str]
) -> None:
    """Write the Markdown table: one line per experiment and part, one column per kind of leak.

    Parameters
    ----------
    path : path
    leaks : DataFrame
        Rows of `workflow.data.audit.leak_audit` with a column ``experiment``.
    titles : mapping of experiment to title
    """
    lines = [
        f"| experiment | part | rows | {' | '.join(KINDS)} |",
        "|---|---|---:|" + "---:|" * len(KINDS),
    ]
    for name, title in titles.items():
        for part in ("tune", "test"):
            rows = leaks[(leaks["experiment"] == name) & (leaks["part"] == part)]
            if len(rows) and rows["of"].iloc[0]:
                cells = " | ".join(_cell(rows, kind) for kind in KINDS)
                lines.append(f"| {title} | {part} | {rows['of'].iloc[0]} | {cells} |")
    write_text(path, "\n".join(lines) + "\n")


def _cell(rows: pd.DataFrame, kind: str) -> str:
    found = rows[rows["kind"] == kind]
    if not len(found):
        return "–"
    return f"{found['rows'].iloc[0]} ({found['share'].iloc[0]:.1%})"
