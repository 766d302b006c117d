"""What estimators and feature maps share: parameters, fitted or not, and rows of any kind."""

import sys
import warnings
from copy import copy
from numbers import Real
from types import FrameType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca.rows import View


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


def check_count(value: Any, name: str) -> int:
    """Return an integer; refuse anything but one of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: give an integer >= 1.")
    return int(value)


def check_dtype(value: Any) -> np.dtype[Any]:
    """Return the type of features; refuse anything but float32 and float64."""
    if value not in ("float32", "float64", np.float32, np.float64):
        raise ValueError(f'dtype={value!r}: features are "float32" or "float64".')
    dtype: np.dtype[Any] = np.dtype(value)
    return dtype


def is_number(value: Any) -> bool:
    """Whether a parameter is a real number that float64 can hold; truth values are none."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    return is_real and bool(abs(value) <= sys.float_info.max)


def check_reg(value: Any) -> float:
    """Return a regulariser as a float; refuse anything but a finite number of at least 0."""
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not is_number(number) or number < 0:
        raise ValueError(f"reg={value!r:.40}: the regulariser must be a finite number >= 0.")
    return float(number)


def check_regs(reg: Any) -> tuple[float, float]:
    """Return the regularisers of two views."""
    reg_x, reg_y = pair(reg, "reg")
    return check_reg(reg_x), check_reg(reg_y)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def warn(message: str) -> None:
    """Warn at the line that called into the library."""
    frame, level = sys._getframe(), 1
    while frame.f_back and _package(frame) in ("rnca", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def import_pyplot() -> Any:
    """Import what draws: the library does not ask for it when it is installed."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        message = "Drawing needs matplotlib, which rnca does not install: pip install matplotlib"
        raise ModuleNotFoundError(message, name=error.name) from error
    return pyplot


def check_columns(estimator: BaseEstimator, X: Any, *y: Any) -> None:
    """Make scikit-learn's checks of data to fit to, but for their entries."""
    validate_data(copy(estimator), X, *y, skip_check_array=True)  # a copy: it sets attributes


def assign(estimator: Any, like: Any, **fitted: Any) -> None:
    """Replace all fitted attributes at once; the columns are those that ``like`` was fitted to."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    names = {"n_features_in_", "feature_names_in_"} & vars(like).keys()
    estimator.__dict__.update({name: vars(like)[name] for name in names} | fitted)


class Labelled(TransformerMixin, BaseEstimator):
    """Hands on an array with names for its columns, in the container that `set_output` chose."""

    def __init__(self, names: Any) -> None:
        self.names = names

    def transform(self, X: Any, array: Any) -> Any:
        """Return the array; its container takes the index of X."""
        return array

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns."""
        return self.names


class RowsMixin:
    """Estimators that read rows, dense or sparse, by `View`; the first of their bases."""

    def _view_to_use(self, X: Any, fitted: str | None = None) -> View:
        """Check that this is fitted, and that X has the columns it was fitted to."""
        check_is_fitted(self, fitted)
        view = View(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return view

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RowsTransformer(RowsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformers of rows whose output columns are called after their class."""
