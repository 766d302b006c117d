"""Pictures that a stage keeps for its figures: rows of a CSV, each with a PNG in base64."""

import base64
import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from rnca.autoencoder import RandomizedAutoencoder
from workflow.data.prepared import Prepared
from workflow.data.views import RowView

COLUMNS = ["use", "method", "row", "label", "factor_1", "factor_2", "png"]
# Room for so many pictures a side in a map of the latent space, and how many at most.
_MAP_SIDE, _MAP_PICTURES = 15, 150
_MAP_CANDIDATES = 2000


def no_pictures() -> pd.DataFrame:
    """Return the frame of a part that keeps no pictures."""
    return pd.DataFrame(columns=COLUMNS)


def shown_rows(data: Prepared, view: RowView, count: int) -> NDArray[np.int64]:
    """Choose which rows of a view to show: of each class as many, spread evenly over its rows.

    Returns
    -------
    ndarray of shape (count,)
        Positions in the view.
    """
    kinds = np.zeros(len(view)) if data.labels is None else np.asarray(data.labels[view.rows])
    classes = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    turns = -(-count // len(classes))
    places = (np.arange(turns) + 0.5) / turns
    chosen = [rows[int(place * len(rows))] for place in places for rows in classes]
    return np.array(list(dict.fromkeys(chosen))[:count])


def picture_rows(
    data: Prepared, view: RowView, index: NDArray[np.int64], pixels: NDArray[Any], method: str
) -> pd.DataFrame:
    """Make the rows of pictures for a grid.

    Parameters
    ----------
    data : Prepared
    view : RowView
        Of which ``index`` names the rows.
    index : ndarray of shape (k,)
    pixels : ndarray of shape (k, D)
        From 0 to 1; what lies outside is cut off.
    method : str
        What made them; ``original`` for the pictures themselves.
    """
    return _frame(data, view, index, pixels, method, "grid", np.full((len(index), 2), np.nan))


def latent_map(
    data: Prepared, view: RowView, model: RandomizedAutoencoder, method: str
) -> pd.DataFrame:
    """Make the rows of pictures, few enough not to overlap, at their first two latent factors."""
    factors = model.transform(view[:_MAP_CANDIDATES])[:, :2].astype(np.float64)
    index = _apart(factors, np.ptp(factors, axis=0).max() / _MAP_SIDE)[:_MAP_PICTURES]
    return _frame(data, view, index, view[index], method, "map", factors[index])


def _apart(points: NDArray[np.float64], distance: float) -> NDArray[np.int64]:
    """Go through points and keep each that is no nearer than ``distance`` to any kept before."""
    kept: list[int] = []
    for number, point in enumerate(points):
        if not kept or np.abs(points[kept] - point).max(axis=1).min() >= distance:
            kept.append(number)
    return np.array(kept, dtype=np.int64)


def _frame(
    data: Prepared,
    view: RowView,
    index: NDArray[np.int64],
    pixels: NDArray[Any],
    method: str,
    use: str,
    factors: NDArray[np.float64],
) -> pd.DataFrame:
    assert view.rows is not None
    rows = view.rows[index]
    shape = data.images.shape[1:]
    frame = {
        "use": use,
        "method": method,
        "row": rows,
        "label": None if data.labels is None else data.labels[rows],
        "factor_1": factors[:, 0],
        "factor_2": factors[:, 1],
        "png": [to_png(picture.reshape(shape)) for picture in pixels],
    }
    return pd.DataFrame(frame, columns=COLUMNS)


def to_png(pixels: NDArray[Any]) -> str:
    """Encode a picture of numbers from 0 to 1, h × w or h × w × 3, as PNG in base64."""
    levels = np.round(255 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(levels).save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode("ascii")
