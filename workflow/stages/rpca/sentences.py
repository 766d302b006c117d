"""What the tables and figures of stage rpca show, each in one sentence."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow.lib.sentences import FEATURES, at_largest_m, sentence
from workflow.stages.rpca.tables import NAMES, VALUES, errors_summary, power

Titles = Mapping[str, str]


def on_agreement(errors: pd.DataFrame, titles: Titles) -> str:
    """Say how near the randomized components are to the exact ones at the largest m."""
    clauses = []
    groups = errors_summary(errors).groupby(["experiment", "analysis"], sort=False)
    for (name, analysis), rows in groups:
        angles = at_largest_m(rows).set_index("method")["mean_angle_mean"]
        parts = [f"{FEATURES[str(method)]} {angle:.1f}°" for method, angle in angles.items()]
        clauses.append(f"{titles[str(name)]}, {str(analysis).upper()}: {', '.join(parts)}")
    return sentence(clauses, "mean angle to the exact components at the largest m")


def on_errors(errors: pd.DataFrame, rates: pd.DataFrame, analysis: str, titles: Titles) -> str:
    """Say how large the errors of the leading values are at the largest m, and how they fall."""
    summary = errors_summary(errors[errors["analysis"] == analysis])
    laws = rates[rates["measure"] == "value_error"]
    keys = ["experiment", "analysis", "method"]
    clauses = []
    for name, rows in summary.merge(laws, "left", keys).groupby("experiment", sort=False):
        parts = [
            f"{FEATURES[row['method']]} {100 * row['value_error_mean']:.2g} % at m = {row['m']:.0f}"
            + (f" (like m^{power(row, 'rate')})" if pd.notna(row["rate"]) else "")
            for row in at_largest_m(rows).to_dict("records")
        ]
        clauses.append(f"{titles[str(name)]}: {', '.join(parts)}")
    return sentence(clauses, f"relative error of the leading {VALUES[analysis]}")


def on_scatter(scores: pd.DataFrame, titles: Titles) -> str:
    """Say how well the first component of each method follows that of exact kernel PCA."""
    clauses = []
    for name, rows in scores.groupby("experiment", sort=False):
        first = {
            str(method): own["component_1"].to_numpy() for method, own in rows.groupby("method")
        }
        exact = first.pop("exact")
        follow = [
            f"{NAMES['pca'][method]} {abs(np.corrcoef(first[method], exact)[0, 1]):.2f}"
            for method in NAMES["pca"]
            if method in first
        ]
        clauses.append(f"{titles[str(name)]}: {', '.join(follow)}")
    return sentence(clauses, "correlation of the first component with exact kernel PCA's")


def on_times(laws: pd.DataFrame, titles: Titles) -> str:
    """Say how the time of each method grows with n."""
    clauses = []
    shown = laws[laws["method"].isin(["exact", *FEATURES])]
    for name, rows in shown.groupby("experiment", sort=False):
        parts = [
            f"{NAMES[row['analysis']][row['method']]} n^{row['exponent']:.2f}"
            for row in rows.to_dict("records")
        ]
        clauses.append(f"{titles[str(name)]}: {', '.join(parts)}")
    return sentence(clauses, "growth of the wall time")
