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

from workflow.lib.figures import BLUE, GREEN, GREY, OCHRE, STYLE, VERMILION, panels, wrapped
from workflow.stages.autoencoder.tables import METHODS

LOOK: dict[str, dict[str, Any]] = {
    "pca": {"color": GREY, "linestyle": "--"},
    "median": {"color": BLUE, "marker": "o"},
    "authors-encoder": {"color": OCHRE, "marker": "^"},
    "chosen": {"color": GREEN, "marker": "s"},
    "combined": {"color": VERMILION, "marker": "D"},
}
_AXES = {
    "d": "number of latent factors $d$",
    "m": "number of random features $m$",
}
# Rows of a grid of pictures, from above.
_GRID = {
    "original": "unseen test picture",
    "median": "RPCA (median)",
    "authors-encoder": "RPCA (authors')",
    "pca": "linear PCA",
    "combined": "PCA, linear +\nrandom decoder",
}
_GAP = 0.1
PICTURE_COLUMNS = ["experiment", "dataset", "repeat", "d", "method", "png"]


def reconstructions_figure(
    pictures: pd.DataFrame, summary: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """Test pictures over their reconstructions, one grid per experiment.

    Parameters
    ----------
    pictures : DataFrame
        Rows of the stage's pictures; those of repeat 0 are drawn.
    summary : DataFrame
        Of `workflow.stages.autoencoder.tables.autoencoder_summary`, for the error beside each row.
    titles : mapping of experiment to title
    """
    table = summary[summary["axis"] == "table"].set_index(["experiment", "method"])["test_mean"]
    drawn = pictures[pictures["repeat"] == 0]
    names = list(dict.fromkeys(drawn["experiment"]))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 0.1 + 3.0 * max(len(names), 1)))
        for number, name in enumerate(names):
            axes = figure.add_axes(
                (0.21, 1 - (number + 0.95) / len(names), 0.78, 0.82 / len(names))
            )
            _grid(axes, drawn[drawn["experiment"] == name], table[name])
            d = drawn.loc[drawn["experiment"] == name, "d"].iloc[0]
            axes.set_title(f"{titles[name]}, $d = {d}$", loc="left")
    return figure


def error_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Test error over linear PCA's against d and m, a panel for each sweep of an experiment.

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.stages.autoencoder.tables.autoencoder_summary`.
    titles : mapping of experiment to title
    """
    swept = summary[summary["axis"].isin(list(_AXES))]
    groups: dict[Any, pd.DataFrame] = dict(
        iter(swept.groupby(["experiment", "axis"], observed=True))
    )
    with matplotlib.rc_context(STYLE):
        figure, axes_of = panels([f"{name} {axis}" for name, axis in groups], panels_a_row=2)
        handles: dict[str, Any] = {}
        for axes, ((name, axis), rows) in zip(axes_of.values(), groups.items(), strict=True):
            handles |= _curves(axes, rows, axis)
            fixed = "m" if axis == "d" else "d"
            axes.set_title(f"{wrapped(titles[name])}\n${fixed} = {rows[fixed].iloc[-1]}$")
            axes.set_xlabel(_AXES[axis])
            axes.set_ylabel("test error / linear PCA's")
        if handles:
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=2)
    return figure


def _grid(axes: Any, rows: pd.DataFrame, errors: "pd.Series[float]") -> None:
    labels = [
        f"{name}\nerror {errors[method]:.4f}" if method in errors else name
        for method, name in _GRID.items()
    ]
    lines = [_strip(rows[rows["method"] == method]) for method in _GRID]
    height = lines[0].shape[0]
    axes.imshow(np.concatenate(lines), interpolation="nearest")
    axes.set_yticks([(i + 0.5 - _GAP / 2) * height for i in range(len(_GRID))], labels)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_anchor("W")


def _curves(axes: Any, rows: pd.DataFrame, axis: str) -> dict[str, Any]:
    handles = {}
    for method, look in LOOK.items():
        points, label = rows[rows["method"] == method], METHODS[method]
        if method == "pca":
            handles[label] = axes.axhline(1, **look)
        elif len(points):
            ratio = 1 + points["against_mean"]
            (handles[label],) = axes.plot(points[axis], ratio, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = sorted(rows.loc[rows["method"] != "pca", axis].unique())
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 6, 7, 8)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    return handles


def _strip(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Put pictures in a line, with gaps between them."""
    pictures = [_read(png) for png in rows["png"]]
    side = pictures[0].shape[0]
    gap = max(1, round(_GAP * side))
    padded = [np.pad(each, ((0, gap), (0, gap), (0, 0)), constant_values=1.0) for each in pictures]
    return np.concatenate(padded, axis=1)


def _read(png: str) -> NDArray[np.float64]:
    """Decode a picture to h × w × 3, from 0 to 1."""
    pixels = np.asarray(imread(io.BytesIO(base64.b64decode(png)), format="png"), dtype=np.float64)
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels[:, :, :3]
