"""Figures of the autoencoder stage: reconstructions, and error against d and m."""

import base64
import io
from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from workflow.lib.figures import LOOK, STYLE, end_labels, log_axis, panels, wrapped

# Blue are the methods that encode by RPCA with Fourier features.
LOOKS: dict[str, dict[str, Any]] = {
    "median": LOOK["fourier"],
    "authors-encoder": LOOK["fourier"] | {"marker": "^", "linestyle": "--"},
    "chosen": LOOK["fourier"] | {"marker": "v", "linestyle": ":"},
    "combined": LOOK["other"] | {"marker": "D", "linestyle": "-"},
    "pca": LOOK["linear"],
}
NAMES = {
    "original": "unseen test picture",
    "median": "RPCA (median)",
    "authors-encoder": "RPCA (authors')",
    "chosen": "RPCA (chosen)",
    "pca": "linear PCA",
    "combined": "PCA + random",
}
_AXES = {"d": "number of latent factors $d$", "m": "number of random features $m$"}
_GAP = 0.1
PICTURE_COLUMNS = ["experiment", "dataset", "repeat", "d", "method", "png"]


def reconstructions_figure(
    pictures: pd.DataFrame, summary: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """Test pictures of repeat 0 over their reconstructions, one grid per experiment.

    The error beside each row is that of the summary by `autoencoder_summary`.
    """
    table = summary[summary["axis"] == "table"].set_index(["experiment", "method"])["test_mean"]
    drawn = pictures[pictures["repeat"] == 0]
    with matplotlib.rc_context(STYLE):
        groups = dict(iter(drawn.groupby("experiment", sort=False)))
        figure, axes_of = panels(list(groups), panels_a_row=1, size=(7.0, 3.2))
        for name, axes in axes_of.items():
            _grid(axes, groups[name], table[name])
            axes.set_title(f"{titles[str(name)]}, $d = {groups[name]['d'].iloc[0]}$", loc="left")
    return figure


def _grid(axes: Any, rows: pd.DataFrame, errors: "pd.Series[float]") -> None:
    methods = [method for method in NAMES if method in set(rows["method"])]
    strips = [_strip(rows[rows["method"] == method]) for method in methods]
    labels = [
        NAMES[method] + (f"\nerror {errors[method]:.4f}" if method in errors else "")
        for method in methods
    ]
    # Without interpolation an SVG holds each pixel once, and the browser enlarges it.
    axes.imshow(np.concatenate(strips), interpolation="none")
    height = strips[0].shape[0]
    axes.set_yticks([(i + 0.5 - _GAP / 2) * height for i in range(len(methods))], labels)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_anchor("W")


def _strip(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Put pictures in a line, with gaps between them."""
    pictures = [_read(png) for png in rows["png"]]
    gap = max(1, round(_GAP * pictures[0].shape[0]))
    padded = [np.pad(each, ((0, gap), (0, gap), (0, 0)), constant_values=1.0) for each in pictures]
    return np.concatenate(padded, axis=1)


def _read(png: str) -> NDArray[np.float64]:
    """Decode a picture to h × w × 3, from 0 to 1."""
    pixels = np.asarray(imread(io.BytesIO(base64.b64decode(png)), format="png"), dtype=np.float64)
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels[:, :, :3]


def error_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Test error over linear PCA's against d and m, a panel for each sweep of an experiment."""
    swept = summary[summary["axis"].isin(list(_AXES))]
    groups: dict[Any, pd.DataFrame] = dict(
        iter(swept.groupby(["experiment", "axis"], observed=True))
    )
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels(list(groups), panels_a_row=2, size=(3.6, 2.6))
        for (name, axis), axes in axes_of.items():
            rows, fixed = groups[name, axis], "m" if axis == "d" else "d"
            for method, look in LOOKS.items():
                own = rows[rows["method"] == method]
                if method == "pca":
                    axes.axhline(1, label=NAMES[method], **look)
                elif len(own):
                    axes.plot(own[axis], 1 + own["against_mean"], label=NAMES[method], **look)
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 6, 7, 8)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_locator(NullLocator())
            log_axis(axes, rows.loc[rows["method"] != "pca", axis], _AXES[axis])
            axes.set_ylabel("test error / linear PCA's")
            size = f"${fixed} = {rows[fixed].iloc[-1]}$"
            axes.set_title(f"{wrapped(titles[name])}\n{size}", loc="left")
            end_labels(axes)
    return figure
