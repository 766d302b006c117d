"""Fitted or not: estimators whose fitted attributes change all at once, or not at all."""

from typing import TypeVar

from sklearn.base import BaseEstimator

Estimator = TypeVar("Estimator", bound=BaseEstimator)


def unfitted_copy(estimator: Estimator, keep: tuple[str, ...] = ()) -> Estimator:
    """Copy an estimator without its fitted attributes: those whose names end in an underscore.

    Parameters
    ----------
    estimator : BaseEstimator
    keep : tuple of str
        Fitted attributes to copy as well, where there are any.
    """
    copied = object.__new__(type(estimator))
    copied.__dict__ = {
        name: value
        for name, value in vars(estimator).items()
        if not name.endswith("_") or name in keep
    }
    return copied
