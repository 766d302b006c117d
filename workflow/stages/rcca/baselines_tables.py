"""Deep CCA and exact kernel CCA beside RCCA and the paper: summaries and the table."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.tables import (
    BASELINE_NAMES,
    fitted_exponent,
    half_width,
    minutes,
    plus_minus,
    published_column,
)
from workflow.stages.rcca.tables import (
    Block,
    Columns,
    Titles,
    block,
    by_experiment,
    counted,
    value,
)

# What summaries and curves need of the stage's rows.
_FIT_COLUMNS = (
    "experiment", "dataset", "method", "components", "parameters", "minutes", "cpu_minutes",
    "tune_sum", "test_sum", "test_sum_signed",
)  # fmt: skip
DEEP_COLUMNS = (*_FIT_COLUMNS, "architecture", "repeat", "n_train")
KERNEL_COLUMNS = (*_FIT_COLUMNS, "n", "reg_over_n", "left_out")
EPOCH_COLUMNS = ("experiment", "method", "repeat", "epoch", "cpu_minutes", "tune_sum")
SEARCH_COLUMNS = ("experiment", "method", "repeat", "n_tune", "tune_sum", "is_chosen")
_PAIR = ["experiment", "repeat"]
_GIGABYTES_A_PAIR = 8e-9
# Smaller fits are ruled by what does not grow with n³.
_LARGE_ROWS = 1000
_LARGE_POINTS = 4


def baseline_fits(deep: pd.DataFrame, kernel: pd.DataFrame) -> pd.DataFrame:
    """One row per fit: deep CCA in each repeat, kernel CCA at each ``n``, in the first one.

    A fit is ``censored`` if its sum on tuning rows still rose when training ended.
    """
    exact = kernel[kernel["left_out"].isna()]
    pairs = zip(exact["n"], exact["reg_over_n"], strict=True)
    names = [f"n = {n:.0f}, reg = {reg:g} n" for n, reg in pairs]
    exact = exact.assign(architecture=names, n_train=exact["n"], repeat=0)
    frames = [deep.assign(n=np.nan), exact]
    fits = pd.concat([each for each in frames if len(each)] or frames[:1])
    censored = fits["censored"].eq(True) if "censored" in fits else False
    return fits.assign(censored=censored)


def model_sizes(layers: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Count the numbers that RCCA keeps beside a seed, against the paper's deep CCA.

    ``layers`` is ``resources/paper/dcca_layers.csv``: the networks of both views of each dataset.
    At the published m, RCCA with Fourier features keeps a basis, a mean feature, a mean row and
    the kernel's width for each view: no random weight, which the seed brings back.
    """
    rows = published[published["method"] == "fourier"].astype({"m": int})
    rows = rows.merge(layers, on="dataset").assign(kept=0, network=0)
    for view in "xy":
        columns, width, outputs = rows[f"columns_{view}"], rows[f"width_{view}"], rows["outputs"]
        rows["kept"] += rows["m"] * (outputs + 1) + columns + 1
        # Weights and biases; the output layer is one of the layers.
        hidden = (columns + 1) * width + (rows["layers"] - 2) * (width + 1) * width
        rows["network"] += hidden + (width + 1) * outputs
    found = rows[["dataset", "m", "kept", "network"]]
    return found.assign(ratio=found["network"] / found["kept"])


def baselines_summary(
    fits: pd.DataFrame,
    sums: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """One row per experiment and method, kernel CCA at its largest n, beside RCCA and the paper.

    ``fits`` are of `baseline_fits`, ``sums`` the gathered rows of RCCA. A pair are two fits of the
    same repeat, which have the same training and test rows; kernel CCA is fitted in the first
    repeat alone, to a part of its training rows. ``fourier_less`` is the test sum of RCCA at its
    largest m less the baseline's, the mean over pairs; ``fourier_less_half`` is the half-width of
    its confidence interval by Student's t; ``nystroem_…`` too.
    """
    largest = fits.groupby(["experiment", "method"])["n"].transform("max")
    fits = fits[fits["n"].isna() | (fits["n"] == largest)]
    groups = fits.groupby(["experiment", "dataset", "method"], sort=False)
    summary = groups.agg(
        architecture=("architecture", "first"),
        components=("components", "first"),
        n_train=("n_train", "first"),
        repeats=("repeat", "size"),
        parameters=("parameters", "first"),
        minutes=("minutes", "mean"),
        cpu_minutes=("cpu_minutes", "mean"),
        tune_sum=("tune_sum", "mean"),
        test_sum=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        test_sum_signed=("test_sum_signed", "mean"),
        censored=("censored", "any"),
    ).reset_index()
    # Rows that were left out have no counts, which makes floats of all of them.
    summary = summary.astype(dict.fromkeys(["components", "n_train", "repeats", "parameters"], int))
    summary = summary.assign(
        paper=published_column(summary, published, experiments),
        paper_minutes=published_column(summary, published, experiments, "minutes"),
    )
    fits = fits[[*_PAIR, "method", "test_sum"]]
    # Frames without rows, of datasets that were skipped, do not know their types.
    fits, sums = (each.astype({"repeat": "int64", "test_sum": "float64"}) for each in (fits, sums))
    last = sums["m"] == sums.groupby(["experiment", "feature_map"])["m"].transform("max")
    added: dict[str, Any] = {}
    for kind in ("fourier", "nystroem"):
        rcca = sums[last & (sums["feature_map"] == kind)][[*_PAIR, "test_sum"]]
        pairs = fits.merge(rcca, on=_PAIR, suffixes=("", "_rcca"))
        pairs["less"] = pairs["test_sum_rcca"] - pairs["test_sum"]
        less = pairs.groupby(["experiment", "method"])["less"]
        count = less.count()
        half = half_width(less.std() / np.sqrt(count), count - 1)
        added |= {f"{kind}_less": less.mean(), f"{kind}_less_half": half}
    return summary.join(pd.DataFrame(added), on=["experiment", "method"])


def race(curve: pd.DataFrame, rcca: pd.DataFrame) -> pd.DataFrame:
    """Set each timed RCCA fit of Table 1 beside the time in which deep CCA first did as well.

    That is the first epoch of the first repeat whose sum on tuning rows is as large as RCCA's on
    test rows, with the CPU minutes up to its end; ``ratio`` is these over the minutes of RCCA on
    one core. Where deep CCA never did as well, they are missing.
    """
    keys = ["experiment", "method", "feature_map", "m"]
    fits = rcca.dropna(subset=["feature_map", "minutes_one_core"])
    fits = fits[["experiment", "feature_map", "m", "test_mean", "minutes_one_core"]]
    fits.columns = ["experiment", "feature_map", "m", "rcca_sum", "rcca_minutes_one_core"]
    first = curve.loc[curve["repeat"] == 0, [*keys[:2], "epoch", "cpu_minutes", "tune_sum"]]
    first.columns = [*keys[:2], "dcca_epoch", "dcca_cpu_minutes", "tune_sum"]
    pairs = first[keys[:2]].drop_duplicates().merge(fits, on="experiment")
    epochs = pairs.merge(first, on=keys[:2])
    reached = epochs[epochs["tune_sum"] >= epochs["rcca_sum"]].drop_duplicates(keys)
    reached = reached[[*keys, "dcca_epoch", "dcca_cpu_minutes"]]
    found = pairs.merge(reached, on=keys, how="left")
    return found.assign(ratio=found["dcca_cpu_minutes"] / found["rcca_minutes_one_core"])


def baseline_blocks(
    summary: pd.DataFrame,
    curve: pd.DataFrame,
    search: pd.DataFrame,
    kernel: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Titles,
) -> list[Block]:
    """Lay out `baselines_summary` by experiment, with what the numbers mean below each.

    The other frames are gathered: epochs and candidates of deep CCA, and fits of kernel CCA.
    """
    columns: Columns = {
        "method": lambda row: f"{BASELINE_NAMES[row['method']]} ({row['architecture']})",
        "training rows": value("n_train", "d"),
        "parameters": value("parameters", "d"),
        "CPU minutes": lambda row: minutes(row["cpu_minutes"]),
        "tune": value("tune_sum"),
        "test": lambda row: _at_least(row) + plus_minus(row["test_sum"], row["test_sd"]),
        "untuned Fourier RCCA less it": lambda row: _less(row, "fourier"),
        "untuned Nyström RCCA less it": lambda row: _less(row, "nystroem"),
        "paper": value("paper", ".1f"),
        "paper's minutes": value("paper_minutes", ".0f"),
    }

    def made(name: str, title: str) -> Block:
        rows, epochs, tried, exact = (
            frame[frame["experiment"] == name] for frame in (summary, curve, search, kernel)
        )
        notes = [*_search_notes(tried), *_epoch_notes(rows, epochs), *_kernel_notes(exact)]
        repeats = ", ".join(
            f"{counted(row['repeats'], 'repeat')} of {BASELINE_NAMES[row['method']]}"
            for row in rows.to_dict("records")
        )
        text = f"the {rows['components'].iloc[0]} largest correlations ({repeats})"
        return block(title, text, columns, rows, notes)

    return by_experiment(titles, not_run, made)


def _at_least(row: Any) -> str:
    """Mark a test sum that longer training would raise."""
    return "≥ " if row["censored"] else ""


def _less(row: Any, kind: str) -> str:
    return plus_minus(row[f"{kind}_less"], row[f"{kind}_less_half"], "+.2f")


def _search_notes(search: pd.DataFrame) -> Iterator[str]:
    for method, rows in search.groupby("method", sort=False):
        first = rows[rows["repeat"] == 0]
        if len(first) > 1:
            yield (
                f"{_subject(method)}: one of {len(first)} candidates, chosen in each repeat on its "
                f"{first['n_tune'].iloc[0]} tuning rows."
            )


def _epoch_notes(rows: pd.DataFrame, curve: pd.DataFrame) -> Iterator[str]:
    for method, paper in rows.dropna(subset="paper").set_index("method")["paper"].items():
        epochs = curve[(curve["method"] == method) & (curve["repeat"] == 0)]
        reached = epochs[epochs["tune_sum"] >= paper]
        if len(reached):
            epoch, taken = reached.iloc[0][["epoch", "cpu_minutes"]]
            yield (
                f"{_subject(method)} reached the paper's {paper:.1f} on tuning rows in epoch "
                f"{epoch:.0f}, after {minutes(taken)} CPU minutes."
            )
        else:
            yield f"{_subject(method)} did not reach the paper's {paper:.1f} on tuning rows."


def _subject(method: Any) -> str:
    """Return a method's name as the beginning of a sentence."""
    name = BASELINE_NAMES[method]
    return name[0].upper() + name[1:]


def _kernel_notes(kernel: pd.DataFrame) -> Iterator[str]:
    """Say how the time of kernel CCA grows, and what all training rows would take."""
    done = kernel[kernel["left_out"].isna() & (kernel["n"] >= _LARGE_ROWS)].sort_values("n")
    if len(done) < 2:
        return
    large = done.tail(_LARGE_POINTS)
    law, last = fitted_exponent(large["n"], large["cpu_minutes"]), large.iloc[-1]
    error = f" (± {law.error:.2f})" if np.isfinite(law.error) else ""
    n, full = last["n"], last["n_full"]
    yield f"Up to {n} rows the time of exact kernel CCA grows like n^{law.value:.2f}{error}."
    if n < full:
        yield (
            f"All {full} training rows would take {_GIGABYTES_A_PAIR * full * (full + 1):.1f} GB "
            f"and, if the time grows like n^3 from there on, "
            f"{last['cpu_minutes'] * (full / n) ** 3:.0f} CPU minutes."
        )
