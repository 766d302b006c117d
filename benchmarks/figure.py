"""The roofline figure: GF/s against m, from the CSV of the roof part."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import LOOK, STYLE, save

_MAPS = {"fourier": "Fourier", "nystroem": "Nyström"}
_KINDS: dict[str, dict[str, Any]] = {
    "pass": {"linestyle": "-"},
    "fit": {"linestyle": "--", "markerfacecolor": "white"},
    "automatic fit": {"linestyle": ":", "markerfacecolor": "white"},
}
_ROOFS = {"dgemm_gflops": ("dgemm", "-"), "sgemm_gflops": ("sgemm", (0, (6, 2)))}


def write_roofline(rows: pd.DataFrame, paths: Sequence[Path]) -> None:
    """Draw pass and fit of both maps below the measured matrix products.

    Parameters
    ----------
    rows : DataFrame
        Of ``roof.csv``.
    paths : sequence of path
        The ending names the format.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 3.6), layout="constrained")
        axes = figure.subplots()
        for column, (name, line) in _ROOFS.items():
            roof = rows.groupby("m")[column].max()
            axes.plot(roof.index, roof, color="black", linestyle=line, label=name)
        for kind, name in _MAPS.items():
            for what, look in _KINDS.items():
                # In float64 the automatic fit is the fit.
                wanted = (rows["feature_map"] == kind) & (rows["what"] == what)
                if what == "automatic fit":
                    wanted &= rows["accumulation"] == "float32"
                found = rows[wanted].sort_values("m")
                if len(found):
                    label = f"{what}, {name}".replace("automatic fit", "fit, float32 products")
                    axes.plot(found["m"], found["gflops"], **{**LOOK[kind], **look}, label=label)
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted(rows["m"].unique()))
        axes.set_xlabel("number of random features $m_x = m_y$")
        axes.set_ylabel("GF/s, counting $4nm^2$ flops")
        figure.legend(loc="outside right upper")
    save(figure, [str(path) for path in paths])
