"""Linear SVMs over a grid of costs, from one Gram matrix."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

Matrix = npt.NDArray[np.float64]

# Steps of libsvm per training row. Where classes overlap in few dimensions, a large cost would
# take millions; what those fits return when cut short is noise, so the path ends there.
STEPS_PER_ROW = 25


class Path(NamedTuple):
    """SVMs of increasing cost, and whether the solver reached its tolerance at each.

    Decision values are ``K @ coef[i] + intercept[i]``; both are NaN where no fit was tried.
    """

    coef: Matrix
    intercept: Matrix
    solved: npt.NDArray[np.bool_]

    @classmethod
    def untried(cls, costs: int, n: int) -> "Path":
        """Return a path on which no fit was tried yet."""
        return cls(np.full((costs, n), np.nan), np.full(costs, np.nan), np.zeros(costs, bool))

    def put(self, where: int | slice, coef: Matrix, intercept: float, solved: bool) -> None:
        """Enter a fit, also for all larger costs that would give the same."""
        self.coef[where], self.intercept[where], self.solved[where] = coef, intercept, solved

    def accuracy(self, K: Matrix, signs: Matrix) -> Matrix:
        """Share of rows, given their kernel values with the training rows, classified rightly.

        One share per cost; NaN where no fit was tried.
        """
        decision = self.coef @ K.T + self.intercept[:, None]
        share = np.where(decision > 0, 1, -1) == signs
        accuracy: Matrix = np.where(np.isnan(self.intercept), np.nan, share.mean(axis=1))
        return accuracy


def svm_path(K: Matrix, signs: Matrix, costs: Sequence[float]) -> Path:
    """Fit the SVM with Gram matrix K and labels −1 and 1, both present, at each increasing cost.

    A fit in which no multiplier is at its bound is that of every larger cost. The path ends at
    the first cost at which libsvm does not reach its tolerance in `STEPS_PER_ROW` steps a row.
    """
    path = Path.untried(len(costs), len(signs))
    for i, C in enumerate(costs):
        model = _fit(K, signs, C)
        coef = np.zeros(len(signs))
        coef[model.support_] = model.dual_coef_[0]
        solved = model.fit_status_ == 0
        separated = solved and np.abs(coef).max() < C * (1 - 1e-9)
        path.put(slice(i, None) if separated else i, coef, float(model.intercept_[0]), solved)
        if separated or not solved:
            break
    return path


def _fit(K: Matrix, signs: Matrix, C: float) -> Any:
    model = SVC(C=C, kernel="precomputed", max_iter=STEPS_PER_ROW * len(signs))
    with (
        warnings.catch_warnings(),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):  # checks would take longer than small fits
        warnings.simplefilter("ignore", ConvergenceWarning)  # which the path records
        return model.fit(K, signs)
