"""XRMB by speakers: means over speakers, random frames beside held-out utterances and the paper."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from workflow.lib.published import METHODS
from workflow.lib.tables import number, plus_minus
from workflow.stages.rcca.table1 import Block, block, counted, method_name, span

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

    Returns
    -------
    DataFrame
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
    groups = speakers.groupby(_KEYS, sort=False, dropna=False)
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
    freedom = (found["speakers"] - 1).where(found["speakers"] > 1)
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, freedom)
    half = quantile * found["test_sd"] * np.sqrt(1 + 1 / found["speakers"])
    beside = {of["name"]: of["paper"] for of in series.values()}
    paper = [_published(row, beside[row["series"]], published) for row in found.to_dict("records")]
    found = found.assign(
        low=found["test_mean"] - half,
        high=found["test_mean"] + half,
        paper=pd.Series(paper, index=found.index, dtype=float),
    )
    return found.assign(
        difference=found["test_mean"] - found["paper"],
        difference_low=found["low"] - found["paper"],
        difference_high=found["high"] - found["paper"],
    )


def _published(row: Any, dataset: str | None, published: pd.DataFrame) -> float | None:
    """Return the paper's sum, which is that of random frames."""
    if row["protocol"] != "frames":
        return None
    rows = published[
        (published["dataset"] == dataset)
        & (published["top"] == row["components"])
        & (published["method"] == row["method"])
    ]
    if row["method"] in set(METHODS.values()) - {METHODS["linear"]}:
        rows = rows[rows["m"] == row["m"]]
    return float(rows["test_corr"].iloc[0]) if len(rows) else None


def series_blocks(found: pd.DataFrame, series: Series, not_run: Mapping[str, str]) -> list[Block]:
    """Lay out the other half of Table 1, one block per series.

    Parameters
    ----------
    found : DataFrame
        Of `over_speakers`; its rows at the fixed reg are shown.
    series : mapping of experiment to series
    not_run : mapping of experiment to reason
    """
    blocks = []
    for name, title in {of["name"]: of["title"] for of in series.values()}.items():
        rows = found[(found["series"] == name) & (found["reg"] == "fixed")]
        if len(rows):
            blocks.append(_series_block(title, rows))
        else:
            reasons = {not_run[each] for each, of in series.items() if of["name"] == name}
            blocks.append(Block(title, f"not run, {'; '.join(sorted(reasons))}"))
    return blocks


def _series_block(title: str, rows: pd.DataFrame) -> Block:
    keys = ["method", "m", "n"]
    wide = rows.drop_duplicates(keys)[[*keys, "feature_map", "n_train_min", "n_train_max"]]
    protocols = [each for each in PROTOCOL_NAMES if each in set(rows["protocol"])]
    for protocol in protocols:
        own = rows[rows["protocol"] == protocol]
        wide = wide.merge(own[[*keys, "test_mean", "test_sd"]], on=keys, how="left")
        wide = wide.rename(columns={"test_mean": f"{protocol}_mean", "test_sd": f"{protocol}_sd"})
    frames = rows[rows["protocol"] == "frames"]
    wide = wide.merge(frames[[*keys, "low", "high", "paper", "difference"]], on=keys, how="left")
    columns: dict[str, Callable[[Any], str]] = {
        "method": method_name,
        "m": lambda row: number(row["m"], ".0f"),
        **{PROTOCOL_NAMES[each]: _mean_of(each) for each in protocols},
    }
    if wide["paper"].notna().any():
        columns["paper"] = lambda row: number(row["paper"], ".2f")
        columns["frames − paper"] = lambda row: number(row["difference"], "+.2f")
        columns["one more speaker, frames, 95 %"] = _between
    text = (
        f"sum of the {rows['components'].iloc[0]} largest correlations on test rows, mean ± "
        f"standard deviation over {counted(rows['speakers'].max(), 'dataset')} "
        f"({span(rows[rows['feature_map'].notna()], 'n_train')} training rows)"
    )
    return block(title, text, columns, wide)


def _mean_of(protocol: str) -> Callable[[Any], str]:
    return lambda row: plus_minus(row[f"{protocol}_mean"], row[f"{protocol}_sd"])


def _between(row: Any) -> str:
    return "–" if pd.isna(row["low"]) else f"{row['low']:.1f} to {row['high']:.1f}"


def floor_rows(
    summary: pd.DataFrame, found: pd.DataFrame, series: Series, titles: Mapping[str, str]
) -> pd.DataFrame:
    """Return the sums whose noise floor is known, at the largest m, with a ``title``.

    Parameters
    ----------
    summary : DataFrame
        Of `with_leaks`.
    found : DataFrame
        Of `over_speakers`.
    series : mapping of experiment to series
    titles : mapping of experiment to title
        Of the experiments to show, beside all series; each at its largest m.
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
    columns: dict[str, Callable[[Any], str]] = {
        "experiment": lambda row: row["title"],
        "method": method_name,
        "m": lambda row: number(row["m"], ".0f"),
        "test": lambda row: number(row["test_mean"], ".2f"),
        "signed": lambda row: number(row["signed_mean"], ".2f"),
        "noise floor": lambda row: number(row["floor_mean"], ".2f"),
        "test rows given away": lambda row: number(row["leaked"], ".1%"),
    }
    return [block("At the largest m", "mean over repeats and speakers", columns, rows)]


def labelled_units(pairs: pd.DataFrame, series: Series, values: Sequence[str]) -> pd.DataFrame:
    """Name what pairs of sums are averaged over: speakers within a series, else repeats.

    Returns
    -------
    DataFrame
        ``experiment`` is the name of the series for experiments of one, of which one row each is
        left, the mean over its repeats; ``protocol`` is "" outside series.
    """
    protocol = [series[name]["protocol"] if name in series else "" for name in pairs["experiment"]]
    pairs = pairs.assign(protocol=protocol)
    of_series = pairs["experiment"].isin(series)
    keys = ["experiment", "protocol", "feature_map", "m"]
    means = (
        pairs[of_series]
        .groupby(keys, sort=False, as_index=False)
        .agg({**dict.fromkeys(values, "mean"), "reg_min": "min", "reg_max": "max", "note": "max"})
    )
    names = means["experiment"].map({name: of["name"] for name, of in series.items()})
    return pd.concat([pairs[~of_series], means.assign(experiment=names)], ignore_index=True)
