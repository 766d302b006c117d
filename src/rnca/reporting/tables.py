"""Tables: tidy CSVs of the stages in, Markdown out."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from rnca.files import replacing

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
MAP_NAMES = {"linear": "linear CCA", "fourier": "RCCA, Fourier", "nystroem": "RCCA, Nyström"}


def rcca_summary(sums: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the summed correlations.

    Parameters
    ----------
    sums : DataFrame
        Rows of the rcca stage: one per experiment, map, repeat and m.

    Returns
    -------
    DataFrame
        One row per experiment, map and m, experiments in the order they come in; the deviation
        is missing where there is one repeat.
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
    return summary.reset_index()


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
        Of `rcca_summary`, beside the published numbers.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of all experiments, in the order in which they are shown.
    """
    blocks = [
        f"**{title}**: not run, {not_run[name]}\n"
        if name in not_run
        else _block(title, summary[summary["experiment"] == name])
        for name, title in titles.items()
    ]
    with replacing(path) as partial:
        partial.write_text("\n".join(blocks), encoding="utf-8")


def _block(title: str, rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    is_published = rows["paper"].notna().any()
    lines = [
        f"**{title}**: sum of the {first['components']} largest correlations "
        f"({_range(rows, 'n_train')} training rows, {_range(rows, 'n_test')} test rows, "
        f"{_count(first['repeats'], 'repeat')})",
        "",
        "| method | m | training | test |" + (" paper | difference |" if is_published else ""),
        "|---|---:|---:|---:|" + ("---:|---:|" if is_published else ""),
    ]
    best = rows["test_mean"].max()
    for row in rows.to_dict("records"):
        test = _plus_minus(row["test_mean"], row["test_sd"])
        cells = [
            MAP_NAMES[row["feature_map"]],
            str(row["m"]),
            _plus_minus(row["train_mean"], row["train_sd"]),
            f"**{test}**" if row["test_mean"] == best else test,
        ]
        if is_published:
            cells += [_number(row["paper"], ".2f"), _number(row["difference"], "+.2f")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _range(rows: pd.DataFrame, column: str) -> str:
    least, most = rows[f"{column}_min"].min(), rows[f"{column}_max"].max()
    return f"{least}" if least == most else f"{least} to {most}"


def _number(value: float, form: str) -> str:
    return "–" if pd.isna(value) else format(value, form)


def _plus_minus(mean: float, deviation: float) -> str:
    return f"{mean:.2f}" if pd.isna(deviation) else f"{mean:.2f} ± {deviation:.2f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
