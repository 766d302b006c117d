"""What estimators and feature maps share: fitted or not, and rows of any kind."""

from typing import Any, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca._core.rows import View

Estimator = TypeVar("Estimator", bound=BaseEstimator)


def unfitted_copy(estimator: Estimator, keep: tuple[str, ...] = ()) -> Estimator:
    """Copy an estimator without its fitted attributes, but for those to keep.

    Names of fitted attributes end in an underscore.
    """
    copied = object.__new__(type(estimator))
    copied.__dict__ = {
        name: value
        for name, value in vars(estimator).items()
        if not name.endswith("_") or name in keep
    }
    return copied


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
