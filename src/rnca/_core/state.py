"""Fitted or not: estimators whose fitted attributes change all at once, or not at all."""

from typing import TypeVar

from sklearn.base import BaseEstimator

Estimator = TypeVar("Estimator", bound=BaseEstimator)


def unfitted_copy(estimator: Estimator, keep: tuple[str, ...] = ()) -> Estimator:
    """Copy an estimator with its parameters and scikit-learn's settings, but not what it fitted.

    Parameters
    ----------
    estimator : BaseEstimator
    keep : tuple of str
        Fitted attributes to copy as well, where there are any.
    """
    settings = {*estimator.get_params(deep=False), *keep}
    copied = object.__new__(type(estimator))
    copied.__dict__ = {
        name: value
        for name, value in vars(estimator).items()
        if name in settings or name.startswith(("_sklearn", "_metadata"))
    }
    return copied
