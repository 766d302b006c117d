"""From an estimator's parameters to feature maps, and rows through fitted ones."""

from numbers import Real
from typing import Any

import numpy as np

from rnca._core.moments import Moments
from rnca._core.rows import FloatArray, Matrix, View, check_same_columns
from rnca._core.workers import over_row_blocks
from rnca.features import FeatureMap


def pair(value: Any, name: str) -> tuple[Any, Any]:
    """Split a parameter given as a scalar or as an (x, y) pair."""
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim):
        if len(value) != 2:
            raise ValueError(f"{name}={value!r}: give one value, or a pair (x, y).")
        return value[0], value[1]
    return value, value


def single(value: Any, name: str) -> Any:
    """Return a parameter of an estimator of one view; refuse a pair."""
    if isinstance(value, tuple | list | np.ndarray) and np.ndim(value):
        raise ValueError(f"{name}={value!r}: there is one view here; give one value, not a pair.")
    return value


def check_count(value: Any, name: str) -> None:
    """Refuse anything but an integer of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: give an integer >= 1.")


def check_reg(value: Any) -> float:
    """Return a regulariser as a float; refuse anything but a finite number of at least 0."""
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not isinstance(number, Real) or not 0 <= float(number) < np.inf:
        raise ValueError(f"reg={value!r}: the regulariser must be a finite number >= 0.")
    return float(number)


def check_width(view: View, fitted: Any) -> None:
    """Refuse a view whose columns are not those the map was fitted to, in number or by name."""
    columns = getattr(fitted, "feature_names_in_", None)
    check_same_columns(view, fitted.n_features_in_, columns, "the map was fitted to")


def centred_features(
    fitted: FeatureMap,
    rows: FloatArray,
    shift: Matrix | float,
    buffers: tuple[FloatArray, Matrix] | None = None,
) -> Matrix:
    """Features of checked rows less a shift, in float64; into the buffers, if there are any."""
    z, centred = buffers or feature_buffers(fitted, len(rows))
    z, centred = z[: len(rows)], centred[: len(rows)]
    fitted.features(rows, z)  # Eq. 4
    over_row_blocks(lambda block: np.subtract(z[block], shift, out=centred[block]), len(rows))
    return centred


def feature_buffers(fitted: FeatureMap, rows: int) -> tuple[FloatArray, Matrix]:
    """Memory for the features of so many rows, as they are and in float64."""
    shape = (rows, fitted.n_features_out)
    return np.empty(shape, fitted.feature_dtype), np.empty(shape)


def refuse_overflow(moments: Moments) -> None:
    """Refuse moments whose squares left the range of float64."""
    views = "x" if moments.targets or not moments.two_views else "xy"
    for view in views:
        squares = getattr(moments, view * 2).diagonal()
        if not np.isfinite(squares).all():
            feature = int(np.flatnonzero(~np.isfinite(squares))[0])
            raise ValueError(
                f"the squares of feature {feature} of view {view} add up to {squares[feature]}: "
                "they must stay in the range of float64. Rescale the data, or drop rows far away "
                "from the others."
            )
