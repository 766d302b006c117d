"""What estimators of two views share: columns checked by name, 1-D targets, names of variables."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca._core.rows import View, check_pair


class TwoViews(TransformerMixin, BaseEstimator):
    """Base of estimators that are fitted to X and to a second view y of the same samples.

    Attributes
    ----------
    n_features_in_, n_features_in_y_ : int
        Columns of X and of y.
    feature_names_in_, feature_names_in_y_ : ndarray of str, or None for y
        Their names, if the views are data frames.
    """

    n_components: int

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the canonical variables of X: kcca_x0, kcca_x1 and so on for `KCCA`."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}_x{i}" for i in range(self.n_components)], dtype=object)

    def _fitted_views(self, X: Any, y: Any) -> list[View]:
        """Check the views of a fit and remember their columns."""
        view = View(X, "X")
        validate_data(self, X, y, skip_check_array=True)
        views = [view, View(as_table(y), "y")]
        check_pair(*views)
        self.n_features_in_y_ = views[1].shape[1]
        self.feature_names_in_y_ = column_names(y)
        return views

    def _checked_views(self, X: Any, y: Any) -> list[View | None]:
        """Check new rows of one view or both against the columns of the fit."""
        if X is None and y is None:
            raise ValueError("X and y are None: give X, y or both.")
        views = [
            None if X is None else View(X, "X"),
            None if y is None else View(as_table(y), "y"),
        ]
        if X is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
        if views[1] is not None:
            self._check_columns_of_y(views[1], column_names(y))
        if views[0] is not None and views[1] is not None:
            check_pair(views[0], views[1])
        return views

    def _check_columns_of_y(self, view: View, names: Any) -> None:
        if view.shape[1] != self.n_features_in_y_:
            raise ValueError(
                f"y has {view.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_y_} features: give the columns used in fit."
            )
        known = self.feature_names_in_y_
        if names is None or known is None or np.array_equal(names, known):
            return
        column = int(np.argmax(names != known))
        raise ValueError(
            f"y has {names[column]!r} as column {column}, but in fit that was {known[column]!r}: "
            "the feature names should match those of fit, in the same order."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def as_table(y: Any) -> Any:
    """Return a one-dimensional view as a table of one column, any other as it is."""
    table = y if hasattr(y, "shape") else np.asarray(y)
    return np.asarray(y).reshape(-1, 1) if len(table.shape) == 1 else y


def column_names(data: Any) -> npt.NDArray[np.object_] | None:
    """Names of a data frame's columns, if all of them are text, as scikit-learn asks for."""
    names = getattr(data, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)
