"""What tables share: layout in Markdown, the form of numbers, and the names of methods."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

MAP_NAMES = {"linear": "linear CCA", "fourier": "RCCA, Fourier", "nystroem": "RCCA, Nyström"}
BASELINE_NAMES = {"dcca": "deep CCA", "dcca2013": "deep CCA as of 2013", "kcca": "exact kernel CCA"}


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
