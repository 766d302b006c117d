"""What the tables and figures of stage rpca show, each in one sentence."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from workflow.lib.sentences import FEATURES, at_largest_m, sentence
from workflow.stages.rpca.tables import NAMES, errors_summary, power

Titles = Mapping[str, str]
_VALUES = {"pca": "eigenvalues", "cca": "correlations"}


def on_agreement(errors: pd.DataFrame, titles: Titles) -> str:
    """Say how near the randomized components are to the exact ones at the largest m."""
    groups = errors_summary(errors).groupby(["experiment", "analysis"], sort=False)
    clauses = [
        f"{titles[str(name)]}, {str(analysis).upper()}: {', '.join(_angles(rows))}"
        for (name, analysis), rows in groups
    ]
    return sentence(clauses, "mean angle to the exact components at the largest m")


def _angles(rows: pd.DataFrame) -> Iterator[str]:
    for kind, name in FEATURES.items():
        for angle in at_largest_m(rows[rows["method"] == kind])["mean_angle_mean"]:
            yield f"{name} {angle:.1f}°"


def on_errors(errors: pd.DataFrame, rates: pd.DataFrame, analysis: str, titles: Titles) -> str:
    """Say how large the errors of the leading values are at the largest m, and how they fall."""
    summary = errors_summary(errors[errors["analysis"] == analysis])
    fitted = rates[(rates["analysis"] == analysis) & (rates["measure"] == "value_error")]
    clauses = []
    for name, rows in summary.groupby("experiment", sort=False):
        parts = []
        for kind, words in FEATURES.items():
            own = at_largest_m(rows[rows["method"] == kind])
            law = fitted[(fitted["experiment"] == name) & (fitted["method"] == kind)]
            for row in own.to_dict("records"):
                text = f"{words} {100 * row['value_error_mean']:.2g} % at m = {row['m']:.0f}"
                if len(law):
                    text += f" (like m^{power(law.iloc[0], 'rate')})"
                parts.append(text)
        clauses.append(f"{titles[str(name)]}: {', '.join(parts)}")
    return sentence(clauses, f"relative error of the leading {_VALUES[analysis]}")


def on_scatter(scores: pd.DataFrame, titles: Titles) -> str:
    """Say how well the first component of each method follows that of exact kernel PCA."""
    clauses = []
    for name, rows in scores.groupby("experiment", sort=False):
        first = {
            method: own["component_1"].to_numpy()
            for method, own in rows.groupby("method", sort=False)
        }
        follow = [
            f"{NAMES['pca'][str(method)]} {abs(np.corrcoef(own, first['exact'])[0, 1]):.2f}"
            for method, own in first.items()
            if method != "exact" and "exact" in first
        ]
        clauses.append(f"{titles[str(name)]}: {', '.join(follow)}")
    return sentence(clauses, "correlation of the first component with exact kernel PCA's")


def on_times(laws: pd.DataFrame, titles: Titles) -> str:
    """Say how the time of each method grows with n."""
    clauses = []
    for name, rows in laws.groupby("experiment", sort=False):
        parts = [
            f"{NAMES[row['analysis']][row['method']]} n^{row['exponent']:.2f}"
            for row in rows.to_dict("records")
            if row["method"] in ("exact", *FEATURES)
        ]
        clauses.append(f"{titles[str(name)]}: {', '.join(parts)}")
    return sentence(clauses, "growth of the wall time")
