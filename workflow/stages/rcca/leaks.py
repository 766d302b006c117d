"""The leak audit for readers: a table of counts, and a sentence per experiment that leaks."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from rnca._core.files import replacing

KINDS = ("duplicate in x", "duplicate in y", "duplicate in both", "shared frame")
COLUMNS = ("experiment", "part", "kind", "rows", "of", "share")


def write_leaks_table(
    path: str | PathLike[str], leaks: pd.DataFrame, titles: Mapping[str, str]
) -> None:
    """Write the Markdown table: one line per experiment and part, one column per kind of leak.

    Parameters
    ----------
    path : path
    leaks : DataFrame
        Rows of `workflow.data.audit.leak_audit` with a column ``experiment``.
    titles : mapping of experiment to title
    """
    lines = [
        f"| experiment | part | rows | {' | '.join(KINDS)} |",
        "|---|---|---:|" + "---:|" * len(KINDS),
    ]
    for name, title in titles.items():
        for part in ("tune", "test"):
            rows = _select(leaks, name, part)
            if len(rows) and rows["of"].iloc[0]:
                cells = " | ".join(_cell(rows, kind) for kind in KINDS)
                lines.append(f"| {title} | {part} | {rows['of'].iloc[0]} | {cells} |")
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _select(leaks: pd.DataFrame, name: str, part: str) -> pd.DataFrame:
    return leaks[(leaks["experiment"] == name) & (leaks["part"] == part)]


def _cell(rows: pd.DataFrame, kind: str) -> str:
    found = rows[rows["kind"] == kind]
    if not len(found):
        return "–"
    return f"{found['rows'].iloc[0]} ({found['share'].iloc[0]:.1%})"
