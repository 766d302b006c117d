"""What tables share: layout in Markdown, the form of numbers, and the names of methods."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd

MAP_NAMES = {"linear": "linear CCA", "fourier": "RCCA, Fourier", "nystroem": "RCCA, Nyström"}
BASELINE_NAMES = {
    "dcca": "deep CCA",
    "dcca2013": "deep CCA as of 2013",
    "kcca": "exact kernel CCA",
}


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out a table whose first column is text and whose others are numbers.

    Returns
    -------
    list of str
        Lines, without a blank one at either end.
    """
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|" * (len(header) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def titled_table(lead: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table below the line that says what it shows."""
    return "\n".join([lead, "", *markdown_table(header, rows), ""])


def by_experiment(
    titles: Mapping[str, str], not_run: Mapping[str, str], block: Callable[[str, str], str]
) -> str:
    """Lay out one block per experiment, or the reason why it was not run.

    Parameters
    ----------
    titles : mapping of experiment to title
        Of all experiments, in the order in which they are shown.
    not_run : mapping of experiment to reason
    block : callable
        From an experiment's name and title to its Markdown.
    """
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
