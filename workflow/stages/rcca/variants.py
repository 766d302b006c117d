"""Variants of an experiment beside it, repeat by repeat."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.tables import MAP_NAMES, markdown_table, plus_minus

_PAIR = ["feature_map", "m", "repeat"]


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
    with replacing(path) as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
