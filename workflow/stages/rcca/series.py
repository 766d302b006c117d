"""XRMB by speakers: means over speakers, random frames beside held-out utterances and the paper."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from workflow.lib.published import published_column
from workflow.stages.rcca.blocks import (
    FIT,
    Block,
    Columns,
    block,
    by_experiment,
    counted,
    spread,
    value,
)
from workflow.stages.rcca.table1 import row_counts

CONFIDENCE = 0.95
# What the schemes of the splits are called in tables.
PROTOCOL_NAMES = {"frames": "random frames", "utterances": "utterances held out"}
_KEYS = ["series", "protocol", "reg", "method", "feature_map", "m", "n"]
_SUMS = ["test", "signed", "floor"]
_ROWS = ["n_train_min", "n_train_max", "n_test_min", "n_test_max"]
_KEPT = ["experiment", "dataset", "components", *_ROWS, "repeats", "leaked"]

Series = Mapping[str, Mapping[str, Any]]


def by_speaker(summary: pd.DataFrame, choice: pd.DataFrame) -> pd.DataFrame:
    """One row per experiment of a series, method and m, at the fixed and at the chosen reg.

    Parameters
    ----------
    summary : DataFrame
        Of `with_leaks`, with or without rows of baselines.
    choice : DataFrame
        Of `chosen_pairs`; without rows if no reg was chosen.

    Notes
    -----
    The sums are means over repeats; ``reg`` is "fixed" or "chosen"; ``n`` is given for methods
    that are fitted to a part of the training rows.
    """
    rows = summary[summary["series"].notna()]
    fixed = rows.rename(columns={f"{name}_mean": name for name in _SUMS})
    is_part = (fixed["method"] == "kcca").to_numpy()
    fixed = fixed.assign(reg="fixed", n=np.where(is_part, fixed["n_train_max"], np.nan))
    keys = ["experiment", "feature_map", "m"]
    means = choice.groupby(keys, as_index=False)["test_sum"].mean()
    columns = [column for column in fixed if column not in (*_SUMS, "repeats")]
    chosen = fixed[columns].merge(means, on=keys).rename(columns={"test_sum": "test"})
    found = pd.concat([fixed, chosen.assign(reg="chosen")])
    return found[[*_KEYS, *_KEPT, *_SUMS]].reset_index(drop=True)


def over_speakers(speakers: pd.DataFrame, series: Series, published: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over speakers, and what one more speaker would give.

    Returns
    -------
    DataFrame
        ``low`` and ``high`` bound the sum of one more speaker with 95 % confidence, by Student's t
        with as many speakers as there are; missing if there is one. ``paper`` is the published
        sum for random frames, of the paper's speaker; ``difference`` is the mean less it, with the
        bounds ``difference_low`` and ``difference_high`` of one more speaker.
    """
    found = speakers.groupby(_KEYS, sort=False, dropna=False).agg(
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
    )
    found = found.reset_index()
    freedom = (found["speakers"] - 1).where(found["speakers"] > 1)
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, freedom)
    half = quantile * found["test_sd"] * np.sqrt(1 + 1 / found["speakers"])
    # The paper's frames are random.
    beside = found["series"].map({of["name"]: of["paper"] for of in series.values()})
    as_theirs = found["protocol"].map({"frames": "theirs"})
    theirs = found.assign(experiment=as_theirs, dataset=beside)
    paper = published_column(theirs, published, ["theirs"])
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
    keys = ["method", "m", "n"]
    wide = rows.drop_duplicates(keys)[[*keys, "feature_map", "n_train_min", "n_train_max"]]
    columns: Columns = dict(FIT)
    for protocol, name in PROTOCOL_NAMES.items():
        own = rows.loc[rows["protocol"] == protocol, [*keys, "test_mean", "test_sd"]]
        if len(own):
            own.columns = [*keys, f"{protocol}_mean", f"{protocol}_sd"]
            wide = wide.merge(own, on=keys, how="left")
            columns[name] = spread(protocol)
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
    ours = rows[rows["feature_map"].notna()]
    repeats = [
        f"{counted(those['repeats'].max(), 'repeat')} of {name}"
        for protocol, name in PROTOCOL_NAMES.items()
        if len(those := ours[ours["protocol"] == protocol])
    ]
    text = (
        f"sum of the {rows['components'].iloc[0]} largest correlations on test rows, mean ± "
        f"standard deviation over {counted(rows['speakers'].max(), 'dataset')} "
        f"({row_counts(ours, 'train')}; {', '.join(repeats)})"
    )
    return block(title, text, columns, wide)


def floor_rows(
    summary: pd.DataFrame, found: pd.DataFrame, series: Series, titles: Mapping[str, str]
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
        "experiment": lambda row: row["title"],
        **FIT,
        "test": value("test_mean"),
        "signed": value("signed_mean"),
        "noise floor": value("floor_mean"),
        "test rows given away": value("leaked", ".1%"),
    }
    return [block("At the largest m", "mean over repeats and speakers", columns, rows)]
