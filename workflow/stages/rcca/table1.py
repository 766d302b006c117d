"""Table 1: RCCA beside linear, deep and kernel CCA and the paper; by speaker; and the minutes.

Here and in the modules beside it ``published`` is ``resources/paper/table1_rcca.csv``;
``experiments`` are those that follow the paper's protocol; ``not_run`` gives the reason why an
experiment was not run; ``titles`` are of experiments and series, in the order shown.
"""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from workflow.lib.tables import (
    METHODS,
    beside_published,
    half_width,
    minutes,
    published_column,
    span,
)
from workflow.stages.rcca.tables import (
    FIT,
    PROTOCOL_NAMES,
    Block,
    Columns,
    Series,
    Titles,
    block,
    by_experiment,
    counted,
    leaked_shares,
    spread,
    text,
    value,
)

_KEYS = ["experiment", "feature_map", "m"]
# What a summary needs of the stage's rows.
SUMS_COLUMNS = (
    *_KEYS, "dataset", "reg", "components", "n_train", "n_test", "repeat", "train_sum", "test_sum",
    "test_sum_signed", "floor_sum",
)  # fmt: skip
TIMING_COLUMNS = (*_KEYS, "threads", "seconds")
_ROWS = ["n_train_min", "n_train_max", "n_test_min", "n_test_max"]
_SERIES_KEYS = ["series", "protocol", "reg", "method", "feature_map", "m", "n"]
_SUMS = ["test", "signed", "floor"]


def rcca_summary(sums: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats, by experiment, map and m.

    Experiments are in the order they come in; ``method`` is what the published CSV calls the map;
    the deviation is missing where there is one repeat.
    """
    experiments = pd.Categorical(sums["experiment"], sums["experiment"].unique())
    maps = pd.Categorical(sums["feature_map"], list(METHODS))
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
    """Add the fits of deep CCA, and of kernel CCA at every n, below those of RCCA.

    A baseline has no ``feature_map`` and no ``m``; its ``minutes_one_core`` are the processor
    minutes of all cores. There is no training sum: deep CCA knows one of its mini-batches only,
    kernel CCA a regularised one. Experiments that the summary does not have are left out.
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
    both = both.iloc[both["experiment"].map(order.index).argsort(kind="stable")]
    # Counts that a baseline does not have would make floats of all the others.
    counts = ["m", "components", "repeats", *_ROWS]
    return both.astype(dict.fromkeys(counts, "Int64")).reset_index(drop=True)


def with_paper(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Add ``paper``, ``difference``, ``paper_minutes`` and ``speed_up``.

    The latter is the paper's minutes, which are those of one core, over ours on one core.
    """
    taken = published_column(summary, published, experiments, "minutes")
    summary = beside_published(summary, published, experiments)
    return summary.assign(paper_minutes=taken, speed_up=taken / summary["minutes_one_core"])


def with_leaks(summary: pd.DataFrame, leaks: pd.DataFrame, series: Series) -> pd.DataFrame:
    """Add ``series`` and ``protocol``, missing outside series, and ``leaked``: `leaked_shares`."""
    names = summary["experiment"].astype(object)
    return summary.assign(
        series=names.map({name: of["name"] for name, of in series.items()}),
        protocol=names.map({name: of["protocol"] for name, of in series.items()}),
        leaked=names.map(leaked_shares(leaks)),
    )


def experiment_blocks(
    summary: pd.DataFrame, not_run: Mapping[str, str], titles: Titles
) -> list[Block]:
    """Lay out Table 1, one block per experiment: what is measured, then what the paper says."""

    def made(name: str, title: str) -> Block:
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
        measured = (
            f"sum of the {ours['components'].iloc[0]} largest correlations "
            f"({_row_counts(ours, 'train')} training rows, {_row_counts(ours, 'test')} test rows, "
            f"{counted(ours['repeats'].iloc[0], 'repeat')})"
        )
        return block(title, measured, columns, rows)

    return by_experiment(titles, not_run, made)


def _row_counts(rows: pd.DataFrame, part: str) -> str:
    return span([rows[f"n_{part}_min"].min(), rows[f"n_{part}_max"].max()], ".0f")


def minutes_blocks(summary: pd.DataFrame, titles: Titles) -> list[Block]:
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


def by_speaker(summary: pd.DataFrame, choice: pd.DataFrame) -> pd.DataFrame:
    """One row per experiment of a series, method and m, at the fixed and at the chosen reg.

    The sums are means over repeats; ``reg`` is "fixed" or "chosen" (of `chosen_pairs`); ``n`` is
    given for methods that are fitted to a part of the training rows.
    """
    rows = summary[summary["series"].notna()]
    fixed = rows.rename(columns={f"{name}_mean": name for name in _SUMS})
    is_part = (fixed["method"] == "kcca").to_numpy()
    fixed = fixed.assign(reg="fixed", n=np.where(is_part, fixed["n_train_max"], np.nan))
    means = choice.groupby(_KEYS, as_index=False)["test_sum"].mean()
    chosen = fixed.drop(columns=[*_SUMS, "repeats"]).merge(means, on=_KEYS)
    found = pd.concat([fixed, chosen.rename(columns={"test_sum": "test"}).assign(reg="chosen")])
    kept = ["experiment", "dataset", "components", *_ROWS, "repeats", "leaked"]
    return found[[*_SERIES_KEYS, *kept, *_SUMS]].reset_index(drop=True)


def over_speakers(speakers: pd.DataFrame, series: Series, published: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over speakers, and what one more speaker would give.

    ``low`` and ``high`` bound the sum of one more speaker with 95 % confidence, by Student's t with
    as many speakers as there are; missing if there is one. ``paper`` is the published sum for
    random frames, of the paper's speaker; ``difference`` is the mean less it, with the bounds
    ``difference_low`` and ``difference_high`` of one more speaker.
    """
    groups = speakers.groupby(_SERIES_KEYS, sort=False, dropna=False)
    found = groups.agg(
        components=("components", "first"),
        n_train_min=("n_train_min", "min"),
        n_train_max=("n_train_max", "max"),
        n_test_min=("n_test_min", "min"),
        n_test_max=("n_test_max", "max"),
        speakers=("dataset", "nunique"),
        repeats=("repeats", "max"),
        test_mean=("test", "mean"),
        test_sd=("test", "std"),
        signed_mean=("signed", "mean"),
        floor_mean=("floor", "mean"),
        leaked=("leaked", "mean"),
    ).reset_index()
    error = found["test_sd"] * np.sqrt(1 + 1 / found["speakers"])
    half = half_width(error, found["speakers"] - 1)
    # The paper's frames are random.
    beside = found["series"].map({of["name"]: of["paper"] for of in series.values()})
    theirs = found.assign(experiment=found["protocol"], dataset=beside)
    paper = published_column(theirs, published, ["frames"])
    found = found.assign(low=found["test_mean"] - half, high=found["test_mean"] + half, paper=paper)
    return found.assign(
        difference=found["test_mean"] - paper,
        difference_low=found["low"] - paper,
        difference_high=found["high"] - paper,
    )


def series_blocks(found: pd.DataFrame, series: Series, not_run: Mapping[str, str]) -> list[Block]:
    """Lay out the other half of Table 1, one block per series, at the fixed reg."""
    fixed = found[found["reg"] == "fixed"]
    titles = {of["name"]: of["title"] for of in series.values()}
    reasons = {
        name: "; ".join(
            sorted({not_run[each] for each, of in series.items() if of["name"] == name})
        )
        for name in titles.keys() - set(fixed["series"])
    }
    return by_experiment(
        titles, reasons, lambda name, title: _series_block(title, fixed[fixed["series"] == name])
    )


def _series_block(title: str, rows: pd.DataFrame) -> Block:
    keys, sums = ["method", "m", "n"], ["test_mean", "test_sd"]
    wide = rows.drop_duplicates(keys)[[*keys, "feature_map", "n_train_min", "n_train_max"]]
    ours = rows[rows["feature_map"].notna()]
    columns: Columns = dict(FIT)
    repeats = []
    for protocol, name in PROTOCOL_NAMES.items():
        own = rows.loc[rows["protocol"] == protocol, [*keys, *sums]]
        if len(own):
            own.columns = [*keys, f"{protocol}_mean", f"{protocol}_sd"]
            wide = wide.merge(own, on=keys, how="left")
            columns[name] = spread(protocol)
            most = ours.loc[ours["protocol"] == protocol, "repeats"].max()
            repeats.append(f"{counted(most, 'repeat')} of {name}")
    frames = rows[rows["protocol"] == "frames"]
    wide = wide.merge(frames[[*keys, "low", "high", "paper", "difference"]], on=keys, how="left")
    if wide["paper"].notna().any():
        columns |= {
            "paper": value("paper"),
            "frames − paper": value("difference", "+.2f"),
            "one more speaker, frames, 95 %": lambda row: (
                "–" if pd.isna(row["low"]) else f"{row['low']:.1f} to {row['high']:.1f}"
            ),
        }
    measured = (
        f"sum of the {rows['components'].iloc[0]} largest correlations on test rows, mean ± "
        f"standard deviation over {counted(rows['speakers'].max(), 'dataset')} "
        f"({_row_counts(ours, 'train')} training rows; {', '.join(repeats)})"
    )
    return block(title, measured, columns, wide)


def floor_rows(
    summary: pd.DataFrame, found: pd.DataFrame, series: Series, titles: Titles
) -> pd.DataFrame:
    """Return the sums of experiments and series whose noise floor is known, with a ``title``.

    Each is at its largest m; ``summary`` is of `with_leaks`, ``found`` of `over_speakers`.
    """
    names = {of["name"]: of["title"] for of in series.values()}
    protocol = found["protocol"].map(PROTOCOL_NAMES)
    own = summary[summary["experiment"].isin(titles)]
    rows = pd.concat(
        [
            own.assign(title=own["experiment"].astype(object).map(titles)),
            found.assign(title=found["series"].map(names).astype(object) + ", " + protocol),
        ]
    )
    rows = rows[rows["floor_mean"].notna()]
    return rows[rows["m"] == rows.groupby(["title", "method"])["m"].transform("max")]


def floor_blocks(rows: pd.DataFrame) -> list[Block]:
    """Lay out what the sums of `floor_rows` are worth: signed, noise floor, rows given away."""
    columns: Columns = {
        "experiment": text("title"),
        **FIT,
        "test": value("test_mean"),
        "signed": value("signed_mean"),
        "noise floor": value("floor_mean"),
        "test rows given away": value("leaked", ".1%"),
    }
    return [block("At the largest m", "mean over repeats and speakers", columns, rows)]
