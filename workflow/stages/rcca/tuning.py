"""What choosing reg on tuning rows brings, beside the one reg that the paper takes."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.tables import MAP_NAMES, markdown_table, plus_minus

TUNING_COLUMNS = ("experiment", "feature_map", "repeat", "reg", "m", "tune_sum", "test_sum")
_FIT = ["experiment", "feature_map", "m", "repeat"]
_ROW = ["experiment", "feature_map", "m"]


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
    with replacing(path) as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _range(least: float, most: float) -> str:
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"
