"""The smaller tables of stage rcca: reg chosen on tuning rows, variants, and the leak audit."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from workflow.lib.provenance import write_text
from workflow.lib.tables import MAP_NAMES, markdown_table, plus_minus

KINDS = ("duplicate in x", "duplicate in y", "duplicate in both", "shared frame")
LEAKS_COLUMNS = ("experiment", "part", "kind", "rows", "of", "share")
TUNING_COLUMNS = ("experiment", "feature_map", "repeat", "reg", "m", "tune_sum", "test_sum")
_FIT = ["experiment", "feature_map", "m", "repeat"]
_ROW = ["experiment", "feature_map", "m"]
_PAIR = ["feature_map", "m", "repeat"]


def chosen(tuning: pd.DataFrame, untuned: Mapping[str, float]) -> pd.DataFrame:
    """Set the reg that is best on tuning rows beside the one that was fixed.

    Parameters
    ----------
    tuning : DataFrame
        One row per experiment, map, repeat, m and reg.
    untuned : mapping of experiment to float
        The reg that was fixed beforehand; on the grid.

    Returns
    -------
    DataFrame
        One row per experiment, map and m: the least and the largest reg chosen over repeats, mean
        and standard deviation of the test sum tuned and untuned, and of the gain in pairs.
    """
    best = tuning.loc[tuning.groupby(_FIT, sort=False)["tune_sum"].idxmax()].set_index(_FIT)
    fixed = tuning[tuning["reg"] == tuning["experiment"].map(untuned)].set_index(_FIT)
    pairs = best.join(fixed["test_sum"].rename("untuned_sum"))
    pairs["gain"] = pairs["test_sum"] - pairs["untuned_sum"]
    groups = pairs.reset_index().groupby(_ROW, sort=False)
    return groups.agg(
        reg_min=("reg", "min"),
        reg_max=("reg", "max"),
        tuned_mean=("test_sum", "mean"),
        tuned_sd=("test_sum", "std"),
        untuned_mean=("untuned_sum", "mean"),
        untuned_sd=("untuned_sum", "std"),
        gain_mean=("gain", "mean"),
        gain_sd=("gain", "std"),
        repeats=("repeat", "nunique"),
    ).reset_index()


def write_tuning_table(
    path: str | PathLike[str], choice: pd.DataFrame, titles: Mapping[str, str]
) -> None:
    """Write the Markdown table of `chosen`, one block per experiment."""
    header = ["method", "m", "reg fixed: test", "reg chosen", "test", "gain"]
    blocks = []
    for name, rows in choice.groupby("experiment", sort=False):
        cells = [
            [
                MAP_NAMES[row["feature_map"]],
                str(row["m"]),
                plus_minus(row["untuned_mean"], row["untuned_sd"]),
                _range(row["reg_min"], row["reg_max"]),
                plus_minus(row["tuned_mean"], row["tuned_sd"]),
                plus_minus(row["gain_mean"], row["gain_sd"], "+.2f"),
            ]
            for row in rows.to_dict("records")
        ]
        blocks.append("\n".join([f"**{titles[str(name)]}**", "", *markdown_table(header, cells)]))
    write_text(path, "\n\n".join(blocks) + "\n")


def _range(least: float, most: float) -> str:
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"


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


def write_variants_table(
    path: str | PathLike[str], compared: pd.DataFrame, titles: Mapping[str, str]
) -> None:
    """Write the Markdown table of `beside_base`, one block per experiment."""
    header = ["variant", "method", "m", "test", "difference"]
    blocks = []
    for base, rows in compared.groupby("base", sort=False):
        cells = [
            [
                titles[row["experiment"]],
                MAP_NAMES[row["feature_map"]],
                str(row["m"]),
                plus_minus(row["test_mean"], row["test_sd"]),
                plus_minus(row["difference_mean"], row["difference_sd"], "+.2f"),
            ]
            for row in rows.to_dict("records")
        ]
        title = f"**Variants of {titles[str(base)]}**: difference from it, repeat by repeat"
        blocks.append("\n".join([title, "", *markdown_table(header, cells)]))
    write_text(path, "\n\n".join(blocks) + "\n")


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
            rows = _select(leaks, name, part)
            if len(rows) and rows["of"].iloc[0]:
                cells = " | ".join(_cell(rows, kind) for kind in KINDS)
                lines.append(f"| {title} | {part} | {rows['of'].iloc[0]} | {cells} |")
    write_text(path, "\n".join(lines) + "\n")


def _select(leaks: pd.DataFrame, name: str, part: str) -> pd.DataFrame:
    return leaks[(leaks["experiment"] == name) & (leaks["part"] == part)]


def _cell(rows: pd.DataFrame, kind: str) -> str:
    found = rows[rows["kind"] == kind]
    if not len(found):
        return "–"
    return f"{found['rows'].iloc[0]} ({found['share'].iloc[0]:.1%})"
