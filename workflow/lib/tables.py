"""What tables share: layout, the form of numbers, names, the paper's numbers."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from workflow.lib.provenance import write_text

MAP_NAMES = {
    "linear": "linear CCA",
    "fourier": "RCCA, Fourier",
    "nystroem": "RCCA, Nyström",
    "whitened": "RCCA, whitened Nyström",
}
BASELINE_NAMES = {"dcca": "deep CCA", "dcca2013": "deep CCA as of 2013", "kcca": "exact kernel CCA"}
FEATURES = {
    "fourier": "Fourier features",
    "nystroem": "Nyström features",
    "whitened": "whitened Nyström features",
}
# What `resources/paper/table1_rcca.csv` calls them, but for whitened features, which it has not.
METHODS = {"linear": "linear_cca"} | {kind: kind for kind in FEATURES}


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out the lines of a table whose first column is text and whose others are numbers."""
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|" * (len(header) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def titled_table(lead: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table below the line that says what it shows."""
    return "\n".join([lead, "", *markdown_table(header, rows), ""])


def by_experiment(
    titles: Mapping[str, str], not_run: Mapping[str, str], block: Callable[[str, str], str]
) -> str:
    """Lay out one block per experiment, from its name and title, or why it was not run."""
    return "\n".join(
        f"**{title}**: not run, {not_run[name]}\n" if name in not_run else block(name, title)
        for name, title in titles.items()
    )


def number(value: float, form: str, unit: str = "") -> str:
    """Format a number, or a dash where there is none."""
    return "–" if pd.isna(value) else format(value, form) + unit


def minutes(value: float) -> str:
    """Format minutes to the hundredth, and less than a tenth to one digit."""
    return number(value, ".2f" if value >= 0.1 else ".1g")


def plus_minus(mean: float, deviation: float, form: str = ".2f") -> str:
    """Format a mean with its standard deviation, if there is one; a dash without a mean."""
    text = number(mean, form)
    return text if pd.isna(deviation) else f"{text} ± {format(deviation, form.lstrip('+'))}"


def half_width(error: Any, freedom: Any) -> Any:
    """Return half the width of a 95 % interval by Student's t, from a standard error.

    Without a degree of freedom, where there is no error either, it is that of one.
    """
    return error * stats.t.ppf(0.975, np.maximum(freedom, 1))


class Exponent(NamedTuple):
    """Slope of log y against log x, with its standard error (infinite from two points)."""

    value: float
    error: float


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike) -> Exponent:
    """Fit y = c·x^a by least squares on logarithms; there must be two different x."""
    log_x, log_y = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    centred = log_x - log_x.mean()
    spread = centred @ centred
    slope = centred @ log_y / spread
    residuals = log_y - log_y.mean() - slope * centred
    freedom = len(log_x) - 2
    error = np.sqrt(residuals @ residuals / freedom / spread) if freedom > 0 else np.inf
    return Exponent(float(slope), float(error))


def comparable(published: pd.DataFrame, row: Any, experiments: Collection[str]) -> pd.DataFrame:
    """Return the rows of ``table1_rcca.csv`` that stand beside those of an experiment; often none.

    The experiment must be one of those that follow the paper's protocol, with the paper's dataset
    and number of components. A stand-in is a dataset with a name of its own, so that nothing is
    published for it.
    """
    if row["experiment"] not in experiments:
        return published.iloc[:0]
    dataset, components = str(row["dataset"]), int(row["components"])
    return published[(published["dataset"] == dataset) & (published["top"] == components)]


def published_column(
    summary: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
    column: str = "test_corr",
) -> "pd.Series[float]":
    """Return the published number of the method and m of each row; missing where there is none.

    The method is in the column ``method``, or follows from ``feature_map``. Deep CCA of either
    kind stands beside the paper's.
    """
    values = []
    for row in summary.to_dict("records"):
        rows = comparable(published, row, experiments)
        method = row.get("method") or METHODS.get(str(row["feature_map"]), "")
        rows = rows[rows["method"] == method.removesuffix("2013")]
        rows = rows[rows["m"].isna() | rows["m"].isin([row.get("m")])]
        values.append(rows[column].iloc[0] if len(rows) else None)
    return pd.Series(values, index=summary.index, dtype=float)


def beside_published(
    summary: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Add the columns ``paper`` and ``difference`` (``test_mean`` less the paper's test value)."""
    paper = published_column(summary, published, experiments)
    return summary.assign(paper=paper, difference=summary["test_mean"] - paper)


def span(values: Iterable[float], form: str = ".2f") -> str:
    """Write the least and the largest value, or the one that both are written as."""
    known = [value for value in values if pd.notna(value)]
    ends = dict.fromkeys(format(value, form) for value in (min(known), max(known)))
    return " to ".join(ends)


def at_largest_m(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at the largest number of features of the frame."""
    largest: pd.DataFrame = rows[rows["m"] == rows["m"].max()]
    return largest


def write_numbers(path: str, numbers: Mapping[str, Any]) -> None:
    """Write the numbers that prose names; those that are not known are left out."""
    text = json.dumps(_known(numbers), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _known(value: Any) -> Any:
    """Leave out missing numbers; make those of numpy plain, and names ones of variables."""
    if isinstance(value, Mapping):
        kept = {str(key).replace("-", "_"): _known(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_known(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    is_missing = value is None or (isinstance(value, float) and not np.isfinite(value))
    return None if is_missing else value
