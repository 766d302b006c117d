"""Table 1 for a paper: LaTeX with booktabs."""

from collections.abc import Mapping
from os import PathLike

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.tables import heading, rcca_cells

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "×": r"$\times$",
        "–": "--",
    }
)


def write_latex(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
) -> None:
    """Write one ``tabular`` per experiment; parameters as in `workflow.lib.tables`."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for name, title in titles.items():
        if name in not_run:
            lines.append(rf"\paragraph{{{escape(title)}}} Not run: {escape(not_run[name])}")
        else:
            lines += _block(title, summary[summary["experiment"] == name])
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def escape(text: str) -> str:
    """Make LaTeX set a text as it stands."""
    return text.translate(_ESCAPES)


def _block(title: str, rows: pd.DataFrame) -> list[str]:
    header, cells, best = rcca_cells(rows)
    escaped = [[escape(cell) for cell in row] for row in cells]
    escaped[best][3] = rf"\textbf{{{escaped[best][3]}}}"
    return [
        rf"\paragraph{{{escape(title)}}} {escape(heading(rows)).capitalize()}.\\[0.5ex]",
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        " & ".join(map(escape, header)) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in escaped),
        r"\bottomrule",
        r"\end{tabular}",
    ]
