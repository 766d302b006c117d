"""Sentences that say what a table or figure shows, with numbers from the frames it is made of."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pandas as pd

from workflow.lib.provenance import write_csv

FEATURES = {"fourier": "Fourier features", "nystroem": "Nyström features"}


def sentence(clauses: Iterable[str], subject: str = "") -> str:
    """Join clauses to one sentence about a subject; without any of them there is none."""
    text = "; ".join(filter(None, clauses))
    text = f"{subject}: {text}" if text and subject else text
    return f"{text[0].upper()}{text[1:]}." if text else ""


def by_title(
    rows: pd.DataFrame,
    titles: Mapping[str, str],
    say: Callable[[pd.DataFrame], Iterable[str]],
    subject: str,
    key: str = "experiment",
) -> str:
    """Make a sentence with a clause on the rows of each experiment, after its title."""
    groups = rows.groupby(key, sort=False, observed=True)
    return sentence(
        [f"{titles[str(name)]}: {', '.join(say(own))}" for name, own in groups], subject
    )


def span(values: Iterable[float], form: str = ".2f") -> str:
    """Write the least and the largest value, or the one that both are written as."""
    known = [value for value in values if pd.notna(value)]
    ends = dict.fromkeys(format(value, form) for value in (min(known), max(known)))
    return " to ".join(ends)


def at_largest_m(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at the largest number of features of the frame."""
    largest: pd.DataFrame = rows[rows["m"] == rows["m"].max()]
    return largest


def write_sentences(out: Mapping[str, str], sentences: Mapping[str, str]) -> None:
    """Write ``sentences.csv`` of a stage: a row per table and figure that has a sentence.

    A table and a figure of one name share a sentence, which is empty where nothing was run.
    """
    rows = [
        ("/".join(file.parts[-2:]), sentences[file.stem])
        for file in map(Path, out.values())
        if file.suffix in (".md", ".svg") and sentences.get(file.stem)
    ]
    write_csv(out["sentences.csv"], pd.DataFrame(rows, columns=["exhibit", "sentence"]))
