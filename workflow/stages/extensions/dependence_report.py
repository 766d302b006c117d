"""Power of tests of independence in the extensions stage: a table and a figure."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import STYLE, legend, panels
from workflow.lib.tables import markdown_table

COLUMNS = ["pattern", "noise", "method", "n", "repeats", "critical", "power"]
NAMES = {"pearson": "Pearson", "spearman": "Spearman", "rdc": "RDC"}
_LOOK = {
    "pearson": {"color": "#555555", "marker": "^", "linestyle": "--"},
    "spearman": {"color": "#009E73", "marker": "s", "linestyle": ":"},
    "rdc": {"color": "#0072B2", "marker": "o"},
}


def dependence_table(power: pd.DataFrame) -> str:
    """Lay out powers in Markdown: a line per pattern and method, a column per noise.

    Parameters
    ----------
    power : DataFrame
        Rows of `workflow.stages.extensions.dependence`.
    """
    first = power.iloc[0]
    levels = list(dict.fromkeys(power["noise"]))
    header = ["pattern, method", *(f"noise {level:g}" for level in levels)]
    cells = [
        [
            f"{pattern}, {name}",
            *(f"{share:.2f}" for share in _of(power, str(pattern), method)["power"]),
        ]
        for pattern in dict.fromkeys(power["pattern"])
        for method, name in NAMES.items()
    ]
    lines = [
        f"**Power at the 5 % level**: share of samples found dependent (n = {first['n']}, "
        f"{first['repeats']} samples each)",
        "",
        *markdown_table(header, cells),
    ]
    return "\n".join(lines) + "\n"


def dependence_figure(power: pd.DataFrame) -> Figure:
    """Power against noise, one panel per pattern, with one standard error.

    Parameters
    ----------
    power : DataFrame
        Rows of `workflow.stages.extensions.dependence`.
    """
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(dict.fromkeys(power["pattern"])))
        for pattern, axes in axes_of.items():
            for method, name in NAMES.items():
                rows = _of(power, pattern, method)
                error = np.sqrt(rows["power"] * (1 - rows["power"]) / rows["repeats"])
                axes.errorbar(
                    rows["noise"], rows["power"], error, capsize=2.5, label=name, **_LOOK[method]
                )
            axes.set_xscale("log")
            levels = sorted(rows["noise"])
            axes.set_xticks(levels, [f"{level:g}" for level in levels])
            axes.minorticks_off()
            axes.set_ylim(-0.03, 1.03)
            axes.set_title(pattern)
            axes.set_xlabel("standard deviation of the noise in $y$")
            axes.set_ylabel("power")
        legend(figure, list(axes_of.values()))
    return figure


def _of(power: pd.DataFrame, pattern: str, method: str) -> pd.DataFrame:
    return power[(power["pattern"] == pattern) & (power["method"] == method)]
