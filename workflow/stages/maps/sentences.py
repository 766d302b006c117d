"""What the tables and figures of stage maps show, each in one sentence."""

from collections.abc import Mapping

import pandas as pd

from workflow.lib.sentences import at_largest_m, sentence, span
from workflow.stages.maps.tables import NAMES, kept

Titles = Mapping[str, str]


def on_scores(summary: pd.DataFrame, titles: Titles) -> str:
    """Name the map with the smallest kernel error and that with the largest sum, beside Fourier."""
    clauses = []
    for name, own in summary.groupby("experiment", sort=False, observed=True):
        rows = at_largest_m(own)
        fourier = rows[rows["feature_map"] == "fourier"]
        if not len(fourier):
            continue
        first = fourier.iloc[0]
        nearest = rows.iloc[rows["kernel_error_mean"].argmin()]
        best = rows.iloc[rows["test_mean"].argmax()]
        clauses.append(
            f"{titles[str(name)]}, m = {first['m']:.0f}: smallest kernel error "
            f"{nearest['kernel_error_mean']:.3f} ({NAMES[nearest['feature_map']]}; Fourier "
            f"{first['kernel_error_mean']:.3f}), largest sum {best['test_mean']:.2f} "
            f"({NAMES[best['feature_map']]}; Fourier {first['test_mean']:.2f})"
        )
    return sentence(clauses)


def on_speeds(speeds: pd.DataFrame) -> str:
    """Say how many times as fast as Fourier features Fastfood is."""
    fastfood = speeds[speeds["feature_map"] == "fastfood"]
    if not len(fastfood):
        return ""
    best = fastfood.iloc[fastfood["speedup"].argmax()]
    return (
        f"Fastfood is {span(fastfood['speedup'], '.1f')} times as fast as Fourier features with a "
        f"matrix of weights, most at d = {best['d']:.0f}, m = {best['m']:.0f}."
    )


def on_sizes(sizes: pd.DataFrame) -> str:
    """Say how many times as many numbers the paper's deep CCA keeps as RCCA with a seed."""
    clauses = [
        f"{str(dataset).upper()} {span(seed['ratio'], '.3g')}"
        for dataset, rows in sizes.groupby("dataset", sort=False)
        if len(seed := kept(rows, "rcca", "fourier", "seed"))
    ]
    m = span(sizes["m"], ".0f")
    return sentence(clauses, f"numbers in the paper's deep CCA over RCCA with a seed, m = {m}")
