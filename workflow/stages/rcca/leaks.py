"""The leak audit for readers: a table of counts, and a sentence per experiment that leaks."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from rnca._core.files import replacing

KINDS = ("duplicate in x", "duplicate in y", "duplicate in both", "shared frame")
COLUMNS = ("experiment", "part", "kind", "rows", "of", "share")
# A row equal in one view alone is common in real data (an empty half of a picture) and gives
# little away; these two tell a method what to answer.
_TELLING = {
    "duplicate in both": "also stand among the training rows",
    "shared frame": "share a frame with training rows",
}


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


def leak_lines(leaks: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Return a sentence per experiment and way in which training rows give test rows away."""
    lines = []
    for name, title in titles.items():
        rows = _select(leaks, name, "test")
        for row in rows[rows["kind"].isin(_TELLING) & (rows["rows"] > 0)].to_dict("records"):
            how = _TELLING[row["kind"]]
            lines.append(f"{title}: {row['rows']} of {row['of']} test rows {how}")
    return lines


def _select(leaks: pd.DataFrame, name: str, part: str) -> pd.DataFrame:
    return leaks[(leaks["experiment"] == name) & (leaks["part"] == part)]


def _cell(rows: pd.DataFrame, kind: str) -> str:
    found = rows[rows["kind"] == kind]
    if not len(found):
        return "–"
    return f"{found['rows'].iloc[0]} ({found['share'].iloc[0]:.1%})"
