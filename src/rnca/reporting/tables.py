"""Tables: tidy CSVs of the stages in, Markdown out."""

from collections.abc import Iterable, Mapping
from os import PathLike

import pandas as pd

from rnca.files import replacing

_MAP_ORDER = ["linear", "fourier", "nystroem"]
MAP_NAMES = {"linear": "linear CCA", "fourier": "RCCA, Fourier", "nystroem": "RCCA, Nyström"}


def read_all(paths: Iterable[str | PathLike[str]]) -> pd.DataFrame:
    """Read CSVs of one kind into one frame."""
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def rcca_summary(sums: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the summed correlations.

    Parameters
    ----------
    sums : DataFrame
        Rows of the rcca stage: one per experiment, map, repeat and m.

    Returns
    -------
    DataFrame
        One row per experiment, map and m; the deviation is missing where there is one repeat.
    """
    ordered = sums.assign(feature_map=pd.Categorical(sums["feature_map"], _MAP_ORDER))
    groups = ordered.groupby(["experiment", "feature_map", "m"], observed=True)
    summary = groups.agg(
        components=("components", "first"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        repeats=("repeat", "nunique"),
        train_mean=("train_sum", "mean"),
        train_sd=("train_sum", "std"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        signed_mean=("test_sum_signed", "mean"),
    )
    return summary.reset_index()


def write_markdown(
    path: str | PathLike[str], summary: pd.DataFrame, titles: Mapping[str, str]
) -> None:
    """Write the table of an rcca summary, one block per experiment."""
    blocks = [
        _block(titles[str(name)], rows) for name, rows in summary.groupby("experiment", sort=False)
    ]
    with replacing(path) as partial:
        partial.write_text("\n".join(blocks), encoding="utf-8")


def _block(title: str, rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    best = rows["test_mean"].max()
    lines = [
        f"**{title}**: sum of the {first['components']} largest correlations "
        f"({first['n_train']} training rows, {first['n_test']} test rows, "
        f"{_count(first['repeats'], 'repeat')})",
        "",
        "| method | m | training | test |",
        "|---|---:|---:|---:|",
    ]
    for row in rows.to_dict("records"):
        test = _plus_minus(row["test_mean"], row["test_sd"])
        lines.append(
            f"| {MAP_NAMES[row['feature_map']]} | {row['m']} | "
            f"{_plus_minus(row['train_mean'], row['train_sd'])} | "
            f"{f'**{test}**' if row['test_mean'] == best else test} |"
        )
    return "\n".join(lines) + "\n"


def _plus_minus(mean: float, deviation: float) -> str:
    return f"{mean:.2f}" if pd.isna(deviation) else f"{mean:.2f} ± {deviation:.2f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
