"""What the tables and figures of stage bounds show, each in one sentence."""

from collections.abc import Mapping

import pandas as pd

from workflow.lib.sentences import sentence, span
from workflow.stages.bounds.tables import NORMS, SYMBOLS


def on_sweeps(fits: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Set the measured exponents of the first sweep beside those claimed, and the bounds' slack."""
    if not len(fits):
        return ""
    name = fits["experiment"].iloc[0]
    rows = fits[fits["experiment"] == name]
    clauses = []
    for panel, own in rows.groupby("panel", sort=False):
        powers = zip(own["varying"], own["exponent"], own["claimed"], strict=True)
        words = [f"{SYMBOLS[key]}^{found:.2f} (claimed {claim:g})" for key, found, claim in powers]
        clauses.append(f"{NORMS[str(panel)]} goes like {', '.join(words)}")
    looseness = span([rows["printed_least"].min(), rows["printed_most"].max()], ".1f")
    clauses.append(f"the printed bounds are {looseness} times the norms")
    return sentence(clauses, titles[name])


def on_counterexample(summary: pd.DataFrame) -> str:
    """Count the cases in which the mean error is above Theorem 4's bound."""
    broken, most = summary[summary["excess"] > 1], summary.iloc[summary["excess"].argmax()]
    where = f"γ = {most['gamma']:g}, n = {most['n']:.0f}, m = {most['m']:.0f}"
    if not len(broken):
        return (
            f"The bound of Theorem 4 holds in all {len(summary)} cases of this run; the mean error "
            f"reaches {most['excess']:.2f} of it ({where})."
        )
    return (
        f"The bound of Theorem 4 is violated in {len(broken)} of {len(summary)} cases: the mean "
        f"error is up to {most['excess']:.2f} times the bound ({where})."
    )


def on_correlations(summary: pd.DataFrame) -> str:
    """Say how much of the bound that holds the errors of squared correlations reach."""
    share = summary["error"] / summary["bound"]
    return (
        f"Squared regularised correlations err by {span(summary['error'], '.2g')}; the largest "
        f"error is {share.max():.2g} of the bound that holds for them."
    )
