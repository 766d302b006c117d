"""Figure of the autoencoder stage: pictures and their reconstructions."""

import base64
import io
from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.typing import NDArray

from workflow.lib.figures import STYLE, panels

NAMES = {
    "original": "unseen test picture",
    "median": "RPCA (median)",
    "authors-encoder": "RPCA (authors')",
    "chosen": "RPCA (chosen)",
    "rpca-combined": "RPCA + linear",
    "pca": "linear PCA",
    "combined": "PCA + random",
}
_GAP = 0.1
PICTURE_COLUMNS = ["experiment", "dataset", "repeat", "d", "method", "png"]


def reconstructions_figure(
    pictures: pd.DataFrame, summary: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """Test pictures of repeat 0 over their reconstructions, one grid per experiment.

    The error beside each row is that of the summary by `autoencoder_summary`.
    """
    errors = summary.set_index(["experiment", "method"])["test_mean"]
    drawn = pictures[pictures["repeat"] == 0]
    with matplotlib.rc_context(STYLE):
        groups = dict(iter(drawn.groupby("experiment", sort=False)))
        figure, axes_of = panels(list(groups), panels_a_row=1, size=(7.0, 3.2))
        for name, axes in axes_of.items():
            _grid(axes, groups[name], errors[name])
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
