"""Table 1: RCCA beside linear, deep and kernel CCA and the paper; and the minutes, apart.

Here and in the modules beside it ``published`` is ``resources/paper/table1_rcca.csv``;
``experiments`` are those that follow the paper's protocol; ``not_run`` gives the reason why an
experiment was not run; ``titles`` are of experiments and series, in the order shown.
"""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from workflow.lib.published import METHODS, beside_published, published_column
from workflow.lib.tables import minutes
from workflow.stages.rcca.blocks import (
    FIT,
    Block,
    Columns,
    between,
    block,
    by_experiment,
    counted,
    spread,
    value,
)

_MAP_ORDER = ["linear", "fourier", "nystroem"]
_KEYS = ["experiment", "feature_map", "m"]
# What a summary needs of the stage's rows.
SUMS_COLUMNS = (
    *_KEYS, "dataset", "reg", "components", "n_train", "n_test", "repeat", "train_sum", "test_sum",
    "test_sum_signed", "floor_sum",
)  # fmt: skip
TIMING_COLUMNS = (*_KEYS, "threads", "seconds")
# Those of RCCA's columns that a baseline does not fill make floats of all the others.
_COUNTS = ["m", "components", "repeats"]
_COUNTS += ["n_train_min", "n_train_max", "n_test_min", "n_test_max"]


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
    ).reset_index()
    summary.insert(1, "method", summary["feature_map"].astype(object).map(METHODS))
    return summary


def with_minutes(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Add what a fit alone took, the median over its repeats.

    On ``threads``, the largest number tried: ``minutes``; and on one: ``minutes_one_core``.
    """
    timings = timings.astype({"m": "int64", "threads": "int64", "seconds": "float64"})
    medians = timings.groupby([*_KEYS, "threads"])["seconds"].median() / 60
    taken = medians.rename("minutes").reset_index()
    alone = taken[taken["threads"] == 1].drop(columns="threads")
    most = taken.groupby(_KEYS).tail(1)
    joined = summary.merge(most, on=_KEYS, how="left")
    return joined.merge(alone, on=_KEYS, how="left", suffixes=("", "_one_core"))


def with_baselines(summary: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """Add rows of deep CCA, and of kernel CCA at every n, below those of RCCA.

    Parameters
    ----------
    summary : DataFrame
        Of `with_minutes`.
    fits : DataFrame
        Of `baseline_fits`; those of an experiment that the summary does not have are left out.

    Notes
    -----
    A baseline has no ``feature_map`` and no ``m``; its ``minutes_one_core`` are the processor
    minutes of all cores. There is no training sum: deep CCA knows one of its mini-batches only,
    kernel CCA a regularised one.
    """
    order = list(dict.fromkeys(summary["experiment"]))
    fits = fits[fits["experiment"].isin(order)]
    if not len(fits):
        return summary
    rows = fits.groupby(["experiment", "method", "n"], sort=False, dropna=False).agg(
        dataset=("dataset", "first"),
        components=("components", "first"),
        n_train_min=("n_train", "min"),
        n_train_max=("n_train", "max"),
        repeats=("repeat", "size"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        signed_mean=("test_sum_signed", "mean"),
        minutes_one_core=("cpu_minutes", "mean"),
    )
    both = pd.concat([summary, rows.reset_index().drop(columns="n")], ignore_index=True)
    places = both["experiment"].map(order.index).argsort(kind="stable")
    return both.iloc[places].astype(dict.fromkeys(_COUNTS, "Int64")).reset_index(drop=True)


def with_paper(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Add ``paper``, ``difference``, ``paper_minutes`` and ``speed_up``.

    The latter is the paper's minutes, which are those of one core, over ours on one core.
    """
    taken = published_column(summary, published, experiments, "minutes")
    summary = beside_published(summary, published, experiments)
    return summary.assign(paper_minutes=taken, speed_up=taken / summary["minutes_one_core"])


def with_leaks(
    summary: pd.DataFrame, leaks: pd.DataFrame, series: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Add ``series`` and ``protocol``, missing outside series, and ``leaked``.

    That is the share of test rows that share a frame with training rows or, where rows are no
    windows, that also stand among them.
    """
    names = summary["experiment"].astype(object)
    return summary.assign(
        series=names.map({name: of["name"] for name, of in series.items()}),
        protocol=names.map({name: of["protocol"] for name, of in series.items()}),
        leaked=names.map(leaked_shares(leaks)),
    )


def leaked_shares(leaks: pd.DataFrame) -> "pd.Series[float]":
    """Return, by experiment, the share of test rows that training rows give away."""
    telling = leaks["kind"].isin(["duplicate in both", "shared frame"])
    test = leaks[telling & (leaks["part"] == "test")]
    return test.groupby("experiment", sort=False)["share"].max()


def experiment_blocks(
    summary: pd.DataFrame, not_run: Mapping[str, str], titles: Mapping[str, str]
) -> list[Block]:
    """Lay out Table 1, one block per experiment: what is measured, then what the paper says."""
    return by_experiment(
        titles, not_run, lambda name, title: _experiment_block(title, summary, name)
    )


def _experiment_block(title: str, summary: pd.DataFrame, name: str) -> Block:
    rows = summary[summary["experiment"] == name]
    best, test = rows["test_mean"].max(), spread("test")
    columns: Columns = {
        **FIT,
        "training": spread("train"),
        "test": lambda row: f"**{test(row)}**" if row["test_mean"] == best else test(row),
    }
    if rows["paper"].notna().any():
        columns |= {"paper": value("paper"), "difference": value("difference", "+.2f")}
    ours = rows[rows["feature_map"].notna()]
    text = (
        f"sum of the {ours['components'].iloc[0]} largest correlations "
        f"({row_counts(ours, 'train')}, {row_counts(ours, 'test')}, "
        f"{counted(ours['repeats'].iloc[0], 'repeat')})"
    )
    return block(title, text, columns, rows)


def row_counts(rows: pd.DataFrame, part: str) -> str:
    """Say between which numbers the training or test rows of fits lie."""
    counts = between(rows[f"n_{part}_min"].min(), rows[f"n_{part}_max"].max())
    return f"{counts} {'training' if part == 'train' else part} rows"


def minutes_blocks(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Block]:
    """Lay out the minutes of the experiments whose fits of RCCA are timed."""
    timed = summary.dropna(subset="minutes_one_core")
    timed_maps = set(timed.loc[timed["feature_map"].notna(), "experiment"])
    blocks = []
    for name in (name for name in titles if name in timed_maps):
        rows = timed[timed["experiment"] == name]
        columns: Columns = {**FIT, "1 core": lambda row: minutes(row["minutes_one_core"])}
        if (threads := rows["threads"].max()) > 1:
            columns[f"{threads:.0f} cores"] = lambda row: minutes(row["minutes"])
        if rows["paper_minutes"].notna().any():
            columns["paper, 1 core of its machine"] = lambda row: minutes(row["paper_minutes"])
            columns["ratio"] = value("speed_up", ".0f", "×")
        blocks.append(block(titles[name], "minutes of a fit", columns, rows))
    return blocks
