"""Pictures that a stage keeps for its figures: rows of a CSV, each with a PNG in base64."""

import base64
import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from workflow.data.prepared import Prepared
from workflow.data.views import RowView

COLUMNS = ["method", "row", "label", "png"]


def no_pictures() -> pd.DataFrame:
    """Return the frame of a part that keeps no pictures."""
    return pd.DataFrame(columns=COLUMNS)


def shown_rows(data: Prepared, view: RowView, count: int) -> NDArray[np.int64]:
    """Choose positions in a view to show: of each class as many, spread evenly over its rows."""
    kinds = np.zeros(len(view)) if data.labels is None else np.asarray(data.labels[view.rows])
    classes = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    turns = -(-count // len(classes))
    places = (np.arange(turns) + 0.5) / turns
    chosen = [rows[int(place * len(rows))] for place in places for rows in classes]
    return np.array(list(dict.fromkeys(chosen))[:count])


def picture_rows(
    data: Prepared, view: RowView, index: NDArray[np.int64], pixels: NDArray[Any], method: str
) -> pd.DataFrame:
    """Make the rows of k pictures at ``index`` of a view.

    ``pixels`` is k × D, from 0 to 1; others are cut off. ``method`` is what made them.
    """
    assert view.rows is not None
    rows = view.rows[index]
    shape = data.images.shape[1:]
    frame = {
        "method": method,
        "row": rows,
        "label": None if data.labels is None else data.labels[rows],
        "png": [to_png(picture.reshape(shape)) for picture in pixels],
    }
    return pd.DataFrame(frame, columns=COLUMNS)


def to_png(pixels: NDArray[Any]) -> str:
    """Encode a picture of numbers from 0 to 1, h × w or h × w × 3, as PNG in base64."""
    levels = np.round(255 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(levels).save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode("ascii")
