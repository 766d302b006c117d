"""The smaller tables of stage rcca: values of reg, variants, and the leak audit."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.published import beside_published
from workflow.lib.tables import plus_minus
from workflow.stages.rcca.blocks import (
    FIT,
    Block,
    Cell,
    Columns,
    between,
    block,
    counted,
    spread,
    value,
)
from workflow.stages.rcca.series import PROTOCOL_NAMES, Series
from workflow.stages.rcca.table1 import rcca_summary

KINDS = ("duplicate in x", "duplicate in y", "duplicate in both", "shared frame")
LEAKS_COLUMNS = ("experiment", "part", "kind", "rows", "of", "share")
_FIT = ["experiment", "feature_map", "m", "repeat"]
CV_COLUMNS = (*_FIT, "reg", "cv_sum", "test_sum", "predicted_error")
# Correlations that may be off by more than this are at the floor of the arithmetic.
_ERROR_LIMIT = 1e-3
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
        One row per experiment or series, protocol ("" outside series), map and m: the least and
        the largest reg chosen, mean and standard deviation of the test sums and of the gain, over
        ``repeats`` pairs, or speakers with ``repeats_each``; ``on_edge`` if a choice has a note.
    """
    of = [series.get(name, {"name": name, "protocol": ""}) for name in pairs["experiment"]]
    in_series = pairs["experiment"].isin(series)
    units = pairs.assign(
        experiment=[each["name"] for each in of],
        protocol=[each["protocol"] for each in of],
        unit=pairs["experiment"].astype(object).where(in_series, pairs["repeat"]),
    )
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


def chosen_blocks(choice: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out `chosen`, one block per experiment, and per protocol of a series."""
    columns: Columns = {
        **FIT,
        "reg fixed: test": spread("fixed"),
        "reg chosen": _range,
        "test": spread("chosen"),
        "gain": spread("gain", "+.2f"),
    }
    return [
        block(titles[str(name)], _units(rows.iloc[0]), columns, rows)
        for (name, _), rows in choice.groupby(["experiment", "protocol"], sort=False)
    ]


def _units(row: Any) -> str:
    if not row["protocol"]:
        return counted(row["repeats"], "repeat")
    datasets, each = counted(row["repeats"], "dataset"), counted(row["repeats_each"], "repeat")
    return f"{PROTOCOL_NAMES[row['protocol']]}, {datasets}, {each} each"


def _range(row: Any) -> str:
    text = between(row["reg_min"], row["reg_max"], "g")
    return f"{text} ({row['note']})" if row["note"] else text


def by_reg(
    sums: pd.DataFrame, regs: pd.DataFrame, published: pd.DataFrame, experiments: list[str]
) -> pd.DataFrame:
    """Summarise rows of the stage at the fixed reg and at others, beside the paper's."""
    both = pd.concat([sums[sums["experiment"].isin(regs["experiment"])], regs])
    found = [rcca_summary(rows).assign(reg=reg) for reg, rows in both.groupby("reg")]
    found = found or [rcca_summary(both).assign(reg=None)]  # where nothing was run
    return beside_published(pd.concat(found, ignore_index=True), published, experiments)


def reg_blocks(found: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out `by_reg`: a line per method and m, a column per reg with its difference."""
    blocks = []
    for name, rows in found.groupby("experiment", sort=False, observed=True):
        regs = sorted(rows["reg"].unique(), reverse=True)
        lines = rows[rows["reg"] == regs[0]].sort_values(["feature_map", "m"])
        cells = {(row["reg"], row["feature_map"], row["m"]): row for row in rows.to_dict("records")}
        columns = FIT | {"paper": value("paper")}
        columns |= {f"reg = {reg:g}": _at(reg, cells) for reg in regs}
        blocks.append(block(titles[str(name)], "test (less the paper's)", columns, lines))
    return blocks


def _at(reg: float, cells: Mapping[tuple[float, str, int], Any]) -> Cell:
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


def leak_blocks(leaks: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out the leak audit: one line per experiment and part, one column per kind of leak."""
    found = {
        (row["experiment"], row["part"], row["kind"]): f"{row['rows']} ({row['share']:.1%})"
        for row in leaks.to_dict("records")
    }
    lines = leaks[leaks["of"] > 0].drop_duplicates(["experiment", "part"])
    columns: Columns = {
        "experiment": lambda row: titles[row["experiment"]],
        "part": lambda row: row["part"],
        "rows": value("of", ".0f"),
        **{kind: _leaks_of(kind, found) for kind in KINDS},
    }
    return [block("Rows that training rows give away", "first repeats", columns, lines)]


def _leaks_of(kind: str, found: Mapping[tuple[str, str, str], str]) -> Cell:
    return lambda row: found.get((row["experiment"], row["part"], kind), "–")
