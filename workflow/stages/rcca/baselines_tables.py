"""Deep CCA and exact kernel CCA beside RCCA and the paper: summaries and the table."""

from collections.abc import Collection, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from workflow.lib.exponents import fitted_exponent
from workflow.lib.provenance import write_text
from workflow.lib.published import comparable
from workflow.lib.tables import BASELINE_NAMES, markdown_table, minutes, number, plus_minus

# What summaries and curves need of the stage's rows.
_FIT_COLUMNS = ("experiment", "dataset", "method", "components", "cpu_minutes")
DEEP_COLUMNS = (*_FIT_COLUMNS, "test_sum", "test_sum_signed", "n_train")
KERNEL_COLUMNS = (*_FIT_COLUMNS, "test_sum", "test_sum_signed", "n", "left_out")
EPOCH_COLUMNS = ("experiment", "method", "repeat", "cpu_minutes", "tune_sum")
SEARCH_COLUMNS = ("experiment", "method", "repeat", "n_tune", "tune_sum", "is_chosen")
SUMMARY_COLUMNS = [
    "experiment",
    "dataset",
    "method",
    "architecture",
    "components",
    "n_train",
    "repeats",
    "parameters",
    "minutes",
    "cpu_minutes",
    "tune_sum",
    "test_sum",
    "test_sd",
    "test_sum_signed",
]
RACE_COLUMNS = [
    "experiment",
    "method",
    "feature_map",
    "m",
    "rcca_sum",
    "rcca_minutes_one_core",
    "dcca_epoch",
    "dcca_cpu_minutes",
    "ratio",
]
_CONFIDENCE = 0.95
_PAIR = ["experiment", "repeat"]
_COUNTS = ["components", "n_train", "repeats", "parameters"]
_GIGABYTES_A_PAIR = 8e-9
# Smaller fits are ruled by what does not grow with n³.
_LARGE_ROWS = 1000
_LARGE_POINTS = 4


def baselines_summary(deep: pd.DataFrame, kernel: pd.DataFrame) -> pd.DataFrame:
    """One row per experiment and method: deep CCA over repeats, kernel CCA at its largest n.

    Parameters
    ----------
    deep, kernel : DataFrame
        Gathered rows, with ``experiment`` and ``dataset``.
    """
    kinds = deep.groupby(["experiment", "method"], sort=False)
    rows = [_deep_row(group) for _, group in kinds]
    done = kernel[kernel["left_out"].isna()]
    rows += [_kernel_row(group) for _, group in done.groupby("experiment", sort=False)]
    # Rows that were left out have no counts, which makes floats of all of them.
    return pd.DataFrame(rows, columns=SUMMARY_COLUMNS).astype(dict.fromkeys(_COUNTS, "int64"))


def _deep_row(rows: pd.DataFrame) -> dict[str, Any]:
    means = ("minutes", "cpu_minutes", "tune_sum", "test_sum", "test_sum_signed")
    first = rows.iloc[0]
    return {
        **{name: first[name] for name in SUMMARY_COLUMNS if name in rows},
        "repeats": len(rows),
        **{name: rows[name].mean() for name in means},
        "test_sd": rows["test_sum"].std(),
    }


def _kernel_row(rows: pd.DataFrame) -> dict[str, Any]:
    largest = rows.sort_values("n").iloc[-1]
    return {
        **{name: largest[name] for name in SUMMARY_COLUMNS if name in rows},
        "architecture": f"n = {largest['n']:.0f}, reg = {largest['reg_over_n']:g} n",
        "n_train": largest["n"],
        "repeats": 1,
    }


def with_paper(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Add ``paper`` and ``paper_minutes``, what is published for deep CCA, beside either kind.

    Parameters
    ----------
    summary : DataFrame
        With ``experiment``, ``dataset``, ``components`` and ``method``.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.
    """
    paper, papers_minutes = [], []
    for row in summary.to_dict("records"):
        rows = comparable(published, row, experiments)
        rows = rows[rows["method"] == row["method"].removesuffix("2013")]
        paper.append(float(rows["test_corr"].iloc[0]) if len(rows) else np.nan)
        papers_minutes.append(float(rows["minutes"].iloc[0]) if len(rows) else np.nan)
    return summary.assign(paper=paper, paper_minutes=papers_minutes)


def beside_rcca(
    summary: pd.DataFrame, deep: pd.DataFrame, kernel: pd.DataFrame, sums: pd.DataFrame
) -> pd.DataFrame:
    """Add the test sum of RCCA at its largest m less the baseline's, in pairs.

    A pair are two fits of the same repeat, which have the same training and test rows; kernel CCA
    is fitted in the first repeat alone, to a part of its training rows.

    Parameters
    ----------
    summary : DataFrame
        Of `baselines_summary`.
    deep, kernel, sums : DataFrame
        Gathered rows of the baselines and of RCCA.

    Returns
    -------
    DataFrame
        With ``fourier_less`` and ``fourier_less_half``, the mean over pairs and the half-width of
        its confidence interval by Student's t, and the same for Nyström features.
    """
    largest = kernel[kernel["left_out"].isna()].sort_values("n").groupby("experiment").tail(1)
    fits = pd.concat([deep, largest.assign(repeat=0)])[[*_PAIR, "method", "test_sum"]]
    # Frames without rows, of datasets that were skipped, do not know their types.
    fits, sums = (each.astype({"repeat": "int64", "test_sum": "float64"}) for each in (fits, sums))
    last = sums["m"] == sums.groupby(["experiment", "feature_map"])["m"].transform("max")
    added: dict[str, Any] = {}
    for kind in ("fourier", "nystroem"):
        rcca = sums[last & (sums["feature_map"] == kind)][[*_PAIR, "test_sum"]]
        pairs = fits.merge(rcca, on=_PAIR, suffixes=("", "_rcca"))
        less = (pairs["test_sum_rcca"] - pairs["test_sum"]).groupby(
            [pairs["experiment"], pairs["method"]]
        )
        count = less.count()
        half = less.std() / np.sqrt(count) * stats.t.ppf((1 + _CONFIDENCE) / 2, count - 1)
        added |= {f"{kind}_less": less.mean(), f"{kind}_less_half": half}
    return summary.join(pd.DataFrame(added), on=["experiment", "method"])


def race(curve: pd.DataFrame, rcca: pd.DataFrame) -> pd.DataFrame:
    """Set each RCCA fit beside the time in which deep CCA first did as well.

    Parameters
    ----------
    curve : DataFrame
        Epochs of deep CCA, of either kind.
    rcca : DataFrame
        Table 1, with or without rows of baselines.

    Returns
    -------
    DataFrame
        One row per timed RCCA fit and kind of deep CCA trained in its experiment: RCCA's test sum
        and its minutes on one core; the first epoch of the first repeat whose sum on tuning rows
        is as large, and the CPU minutes up to its end; ``ratio``, these over those of RCCA. Where
        deep CCA never did as well, the last three are missing.
    """
    rows = []
    fits = rcca.dropna(subset=["feature_map", "minutes_one_core"]).astype({"m": int})
    first = curve[curve["repeat"] == 0]
    for (name, method), epochs in first.groupby(["experiment", "method"], sort=False):
        for fit in fits[fits["experiment"] == name].to_dict("records"):
            reached = first_reaching(epochs, fit["test_mean"])
            taken = np.nan if reached is None else reached["cpu_minutes"]
            rows.append(
                {
                    "experiment": name,
                    "method": method,
                    "feature_map": fit["feature_map"],
                    "m": fit["m"],
                    "rcca_sum": fit["test_mean"],
                    "rcca_minutes_one_core": fit["minutes_one_core"],
                    "dcca_epoch": np.nan if reached is None else reached["epoch"],
                    "dcca_cpu_minutes": taken,
                    "ratio": taken / fit["minutes_one_core"],
                }
            )
    return pd.DataFrame(rows, columns=RACE_COLUMNS)


def first_reaching(epochs: pd.DataFrame, value: float) -> Any | None:
    """Return the first epoch whose sum on tuning rows is at least a value; None if none is."""
    reached = epochs[epochs["tune_sum"] >= value]
    return reached.iloc[0] if len(reached) else None


def write_baselines(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    curve: pd.DataFrame,
    search: pd.DataFrame,
    kernel: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
) -> None:
    """Write the table, one block per experiment, with what the numbers mean below each.

    Parameters
    ----------
    path : path
    summary : DataFrame
        Of `with_paper` and `beside_rcca`.
    curve, search : DataFrame
        Epochs and candidates of deep CCA.
    kernel : DataFrame
        Gathered rows of kernel CCA.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
    """
    lines: list[str] = []
    for name, title in titles.items():
        if name in not_run:
            lines += [f"**{title}**: not run, {not_run[name]}", ""]
            continue
        rows, epochs, tried, exact = (
            frame[frame["experiment"] == name] for frame in (summary, curve, search, kernel)
        )
        lines += [f"**{title}**, the {rows['components'].iloc[0]} largest correlations", ""]
        header = ["method", "training rows", "parameters", "CPU minutes", "tune", "test"]
        header += ["Fourier RCCA less it", "Nyström RCCA less it", "paper", "paper's minutes"]
        lines += [*markdown_table(header, [_cells(row) for row in rows.to_dict("records")]), ""]
        lines += [*_search_notes(tried), *_notes(rows, epochs), *_kernel_note(exact), ""]
    write_text(path, "\n".join(lines))


def _cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        f"{BASELINE_NAMES[row['method']]} ({row['architecture']})",
        f"{row['n_train']}",
        f"{row['parameters']}",
        minutes(row["cpu_minutes"]),
        number(row["tune_sum"], ".2f"),
        plus_minus(row["test_sum"], row["test_sd"]),
        plus_minus(row["fourier_less"], row["fourier_less_half"], "+.2f"),
        plus_minus(row["nystroem_less"], row["nystroem_less_half"], "+.2f"),
        number(row["paper"], ".1f"),
        number(row["paper_minutes"], ".0f"),
    ]


def _search_notes(search: pd.DataFrame) -> Iterator[str]:
    for method, rows in search.groupby("method", sort=False):
        first = rows[rows["repeat"] == 0]
        if len(first) > 1:
            yield (
                f"{_subject(method)}: one of {len(first)} candidates, chosen in each repeat on its "
                f"{first['n_tune'].iloc[0]} tuning rows."
            )


def _notes(rows: pd.DataFrame, curve: pd.DataFrame) -> Iterator[str]:
    for row in rows.dropna(subset="paper").to_dict("records"):
        name, value = _subject(row["method"]), row["paper"]
        epochs = curve[(curve["method"] == row["method"]) & (curve["repeat"] == 0)]
        reached = first_reaching(epochs, value)
        if reached is None:
            yield f"{name} did not reach the paper's {value:.1f} on tuning rows."
        else:
            yield (
                f"{name} reached the paper's {value:.1f} on tuning rows in epoch "
                f"{reached['epoch']:.0f}, after {minutes(reached['cpu_minutes'])} CPU minutes."
            )


def _subject(method: Any) -> str:
    """Return a method's name as the beginning of a sentence."""
    name = BASELINE_NAMES[method]
    return name[0].upper() + name[1:]


def _kernel_note(kernel: pd.DataFrame) -> Iterator[str]:
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
