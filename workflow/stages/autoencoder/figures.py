"""Figure of the autoencoder stage: pictures, and reconstructions that change places with them."""

import base64
import io
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from workflow.lib.chart import NARROW, WIDE, document, state_group, text

# States of the switch; the one that the page begins with comes last.
NAMES = {
    "original": "unseen test picture",
    "pca": "linear PCA",
    "authors-encoder": "RPCA (authors')",
    "chosen": "RPCA (chosen)",
    "rpca-combined": "RPCA + linear",
    "combined": "PCA + random",
    "median": "RPCA (median)",
}
_GAP = 0.1
PICTURE_COLUMNS = ["experiment", "dataset", "repeat", "d", "method", "png"]


def reconstructions_figures(
    pictures: pd.DataFrame, summary: pd.DataFrame, titles: Mapping[str, str]
) -> dict[str, str]:
    """Test pictures of repeat 0 over their reconstructions, by the names of the figure's files.

    Each experiment has two rows: the pictures, and what the switch shows. The errors are those of
    the summary by `autoencoder_summary`. The narrow figure has half of the pictures.
    """
    drawn = pictures[pictures["repeat"] == 0]
    sizes = {"autoencoder": (WIDE, 1), "autoencoder-narrow": (NARROW, 2)}
    return {name: _figure(drawn, summary, titles, *size) for name, size in sizes.items()}


def _figure(
    pictures: pd.DataFrame, summary: pd.DataFrame, titles: Mapping[str, str], width: int, part: int
) -> str:
    errors = summary.set_index(["experiment", "method"])["test_mean"]
    parts, top = [], 0.0
    for name, rows in pictures.groupby("experiment", sort=False):
        strips = {}
        for method, own in rows.groupby("method", sort=False):
            strips[str(method)] = _strip(own["png"].iloc[: -(-len(own) // part)])
        originals = strips["original"]
        height = width * originals.shape[0] / originals.shape[1]
        parts += [text(0, top + 15, f"{titles[str(name)]}, d = {rows['d'].iloc[0]}", "title")]
        parts += [_image(originals, top + 22, width, height)]
        states = {method: label for method, label in NAMES.items() if method in strips}
        for method, label in states.items():
            error = f": error {errors[name, method]:.3f}" if (name, method) in errors else ""
            below = [
                _image(strips[method], top + 24 + height, width, height),
                text(0, top + 40 + 2 * height, f"{label}{error}", ""),
            ]
            is_shown = method == [*states][-1]
            parts.append(state_group(method, label, below, is_shown=is_shown, kind="flip"))
        top += 2 * height + 56
    return document(parts, width, top)


def _strip(pngs: "pd.Series[str]") -> NDArray[np.uint8]:
    """Put pictures in a line, with white gaps between them."""
    pictures = [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")) for png in pngs
    ]
    gap = max(1, round(_GAP * pictures[0].shape[0]))
    edges = ((0, gap), (0, gap), (0, 0))
    return np.concatenate([np.pad(each, edges, constant_values=255) for each in pictures], axis=1)


def _image(pixels: NDArray[np.uint8], top: float, width: float, height: float) -> str:
    """Embed a picture with a palette of 256 colours, which takes a third of the space."""
    file = io.BytesIO()
    Image.fromarray(pixels).quantize(256).save(file, "png", optimize=True)
    content = base64.b64encode(file.getvalue()).decode("ascii")
    size = f'y="{top:.1f}" width="{width}" height="{height:.1f}"'
    return f'<image {size} href="data:image/png;base64,{content}"/>'
