"""What the tables and figures of stage rpca show, each in one sentence."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow.lib.sentences import FEATURES, at_largest_m, by_title, sentence
from workflow.stages.rpca.tables import KEYS, NAMES, VALUES, errors_summary, power

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

    def say(rows: pd.DataFrame) -> list[str]:
        return [
            f"{FEATURES[row['method']]} {100 * row['value_error_mean']:.2g} % at m = {row['m']:.0f}"
            + (f" (like m^{power(row, 'rate')})" if pd.notna(row["rate"]) else "")
            for row in at_largest_m(rows).to_dict("records")
        ]

    subject = f"relative error of the leading {VALUES[analysis]}"
    return by_title(summary.merge(laws, "left", KEYS), titles, say, subject)


def on_scatter(scores: pd.DataFrame, titles: Titles) -> str:
    """Say how well the first component of each method follows that of exact kernel PCA."""

    def say(rows: pd.DataFrame) -> list[str]:
        first = {method: own["component_1"].to_numpy() for method, own in rows.groupby("method")}
        return [
            f"{name} {abs(np.corrcoef(first[method], first['exact'])[0, 1]):.2f}"
            for method, name in NAMES["pca"].items()
            if method in first and method != "exact"
        ]

    return by_title(
        scores, titles, say, "correlation of the first component with exact kernel PCA's"
    )


def on_times(laws: pd.DataFrame, titles: Titles) -> str:
    """Say how the time of each method grows with n."""

    def say(rows: pd.DataFrame) -> list[str]:
        return [
            f"{NAMES[row['analysis']][row['method']]} n^{row['exponent']:.2f}"
            for row in rows.to_dict("records")
        ]

    shown = laws[laws["method"].isin(["exact", *FEATURES])]
    return by_title(shown, titles, say, "growth of the wall time")
