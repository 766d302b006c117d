"""From an estimator's parameters to feature maps, and rows through fitted ones."""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from rnca._core.rows import FloatArray, View, grid
from rnca.features import FEATURE_MAPS, FeatureMap, LinearFeatures


def pair(value: Any, name: str) -> tuple[Any, Any]:
    """Split a parameter given as a scalar or as an (x, y) pair."""
    if isinstance(value, tuple | list | np.ndarray):
        if len(value) != 2:
            raise ValueError(f"{name}={value!r}: give one value, or a pair (x, y).")
        return value[0], value[1]
    return value, value


def check_count(value: Any, name: str) -> None:
    """Refuse anything but an integer of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: give an integer >= 1.")


def check_reg(value: Any) -> float:
    """Return a regulariser as a float; refuse anything but a finite number of at least 0."""
    if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ValueError(f"reg={value!r}: the regulariser must be a finite number >= 0.")
    return float(value)


class FeatureMapping:
    """Mixin: builds the feature maps that the parameters name, and projects rows by fitted ones."""

    chunk_size: int
    dtype: Any

    def _chunk_size(self) -> int:
        check_count(self.chunk_size, "chunk_size")
        return int(self.chunk_size)

    def _feature_dtype(self) -> np.dtype[Any]:
        if self.dtype not in ("float32", "float64", np.float32, np.float64):
            raise ValueError(f'dtype={self.dtype!r}: features are "float32" or "float64".')
        dtype: np.dtype[Any] = np.dtype(self.dtype)
        return dtype

    def _regs(self, reg: Any) -> tuple[float, float]:
        """Check the regularisers of the two views."""
        reg_x, reg_y = pair(reg, "reg")
        return check_reg(reg_x), check_reg(reg_y)

    def _unfitted_map(self, kind: Any, count: Any, gamma: Any, seed: int) -> FeatureMap:
        dtype = self._feature_dtype()
        if isinstance(kind, FeatureMap):
            own: FeatureMap = clone(kind).set_params(dtype=dtype)
            if "random_state" in own.get_params() and own.get_params()["random_state"] is None:
                own.set_params(random_state=seed)
            return own
        if not isinstance(kind, str) or kind not in FEATURE_MAPS:
            raise ValueError(
                f"feature_map={kind!r}: give one of {', '.join(map(repr, FEATURE_MAPS))}, an "
                "instance of a feature map, or a pair of these."
            )
        if kind == "linear":
            return LinearFeatures(dtype=dtype)
        return FEATURE_MAPS[kind](count, gamma=gamma, random_state=seed, dtype=dtype)

    def _projected_chunks(
        self, view: View, fitted: FeatureMap, mean: FloatArray, basis: FloatArray
    ) -> Iterator[npt.NDArray[np.float64]]:
        """Features less their training mean, times a basis, chunk by chunk in float64."""
        check_width(view, fitted)
        size = min(self._chunk_size(), len(view))
        z = np.empty((size, fitted.n_features_out), self._feature_dtype())
        for low, high in grid(0, len(view), size):
            rows = z[: high - low]
            fitted.features(view.read(low, high), rows)
            yield (rows - mean) @ basis

    def _projected(
        self, view: View, fitted: FeatureMap, mean: FloatArray, basis: FloatArray
    ) -> FloatArray:
        out = np.empty((len(view), basis.shape[1]), view.read(0, 1).dtype)
        filled = 0
        for projected in self._projected_chunks(view, fitted, mean, basis):
            out[filled : filled + len(projected)] = projected
            filled += len(projected)
        return out


def check_width(view: View, fitted: FeatureMap) -> None:
    """Refuse a view with another number of columns than the map was fitted to."""
    if view.shape[1] != fitted.n_features_in_:
        raise ValueError(
            f"{view.name} has {view.shape[1]} features, but the map was fitted to "
            f"{fitted.n_features_in_}: give the columns used in fit, in the same order."
        )
