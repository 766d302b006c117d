"""Randomized nonlinear linear discriminant analysis: RCCA of data and class indicators.

Section 4 of the paper names it as an extension of RCCA.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from rnca._core.conditioning import ERROR_LIMIT
from rnca._core.estimators import RowsTransformer, assign, check_columns, check_count, warn
from rnca.cca import RCCA
from rnca.moments import Moments
from rnca.rows import ComputedRows, FloatArray, Matrix, View, refuse_masked

# Within-class variance below this fraction counts as zero.
_NO_SPREAD = 1e-9
# Regularisers to choose from, as fractions of the features' largest variance along a direction.
_FRACTIONS = np.logspace(-12, 1, 53)
# Weight of the degrees of freedom in cross-validation. With 1 too small a regulariser is chosen now
# and then (Kim and Gu 2004).
_CAUTION = 1.4


@dataclass(eq=False, repr=False)
class RLDA(ClassifierMixin, RowsTransformer):
    """Linear discriminant analysis on random nonlinear features.

    RCCA of z(X) with class indicators. Canonical variable k, divided by √(1 − ρ_k²), has unit
    variance within classes; the nearest class mean, with the classes' shares as priors, is then
    LDA's answer. ``RLDA(feature_map="linear", reg=0)`` is LDA. One pass over the data, whatever
    the number of rows; memory as of `RCCA`.

    Parameters
    ----------
    n_components : int, optional
        Discriminants that `transform` returns, at most c − 1 for c classes (the default).
        Classification always uses all.
    feature_map, n_features, gamma
        As in `RCCA`, of the one view.
    reg : float or "auto", default="auto"
        Added to the diagonal of the covariance of the unscaled features, within classes and in
        total. "auto" minimises the generalised cross-validation error of ridge regression from
        features to class indicators, which takes one eigendecomposition and no other pass.
    random_state, chunk_size, dtype, verbose
        As in `RCCA`.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    priors_ : ndarray of shape (c,)
        Share of each class among the training rows.
    centroids_ : ndarray of shape (c, r)
        Class means in the space of all r = min(c − 1, m) discriminants.
    scalings_ : ndarray of shape (r,)
        From canonical variables to discriminants.
    reg_ : float
        The regulariser given or chosen.
    rcca_ : RCCA
        The fit of data and class indicators.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from rnca import RLDA
    >>> X, ring = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    >>> RLDA(dtype="float64", random_state=0).fit(X[:200], ring[:200]).score(X[200:], ring[200:])
    1.0
    """

    n_components: int | None = None
    _: KW_ONLY
    feature_map: Any = "fourier"
    n_features: int = 1000
    gamma: float | str = "median"
    reg: float | str = "auto"
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, d)
        y : array-like of shape (n,)
            Classes: numbers or text.
        """
        view = View(X)
        check_columns(self, X, y)
        labels, codes = self._classes(y, len(view))
        # Of all classes but the last, which is what the others leave of 1.
        others = np.arange(len(labels) - 1)
        indicators = ComputedRows(View(codes[:, None]), lambda rows: rows == others, len(others))
        rcca = self._unfitted_rcca().draw(X, indicators)
        rcca.set_params(n_components=min(len(labels) - 1, rcca.map_x_.n_features_out))
        moments = rcca.accumulate(X, indicators)
        if self.reg == "auto":
            rcca.set_params(reg=(_cross_validated_reg(moments), 0.0))
        rcca._solved(rcca._maps, moments, warn=False)
        self._assign(rcca, moments, labels, np.bincount(codes) / len(view))
        self._warn(moments)
        return self

    def path(self, sizes: Sequence[int], regs: Sequence[float] | None = None) -> list["RLDA"]:
        """Models at smaller m, at least c − 1, and other reg than ``reg_``: as `RCCA.path`."""
        check_is_fitted(self, "rcca_")
        pairs = [(m, len(self.classes_) - 1) for m in sizes]
        both = [(reg, 0.0) for reg in ([self.reg_] if regs is None else regs)]
        models = []
        for rcca in self.rcca_.path(pairs, both):
            model = copy(self)
            model.set_params(
                reg=rcca.reg[0], n_features=rcca.n_features[0], feature_map=rcca.feature_map[0]
            )
            model._assign(rcca, self.rcca_.moments_, self.classes_, self.priors_)
            models.append(model)
        return models

    def transform(self, X: Any) -> FloatArray:
        """Discriminants of rows, of shape (n, n_components).

        They are uncorrelated, of unit variance within classes, and centred.
        """
        return self._discriminants(X)[:, : self._n_features_out]

    def decision_function(self, X: Any) -> FloatArray:
        """Log posterior of each class, up to a constant for each row, of shape (n, c).

        Of two classes the log odds of the second, of shape (n,).
        """
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Most probable class of each row."""
        scores = self._class_scores(X)
        labels: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Posterior probability of each class, as ndarray of shape (n, c)."""
        probabilities: FloatArray = softmax(self._class_scores(X), axis=1)
        return probabilities

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of `predict_proba`."""
        logarithms: FloatArray = log_softmax(self._class_scores(X), axis=1)
        return logarithms

    def _classes(self, y: Any, n: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the classes, and the class of each row as an index into them."""
        refuse_masked(y, "y")
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        c = len(classes)
        if len(codes) != n:
            raise ValueError(f"y has {len(codes)} labels but X has {n} rows: give one for each.")
        if c < 2:
            raise ValueError(
                f"y has the one class {classes[0]!r}: discriminants need at least 2 classes."
            )
        if n <= c:
            raise ValueError(
                f"y has {c} classes in n_samples = {n} rows: without more rows than classes there "
                "is no spread within them."
            )
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
            if self.n_components > c - 1:
                raise ValueError(
                    f"n_components={self.n_components}: {c} classes have at most {c - 1} "
                    "discriminants."
                )
        return classes, codes

    def _unfitted_rcca(self) -> RCCA:
        if isinstance(self.reg, str) and self.reg != "auto":
            raise ValueError(f'reg={self.reg!r}: give "auto" or a finite number >= 0.')
        return RCCA(
            1,
            feature_map=(self.feature_map, "linear"),
            n_features=(self.n_features, 1),
            gamma=(self.gamma, "median"),
            reg=(0.0 if self.reg == "auto" else self.reg, 0.0),
            random_state=self.random_state,
            chunk_size=self.chunk_size,
            dtype=self.dtype,
            verbose=self.verbose,
        )

    def _assign(self, rcca: RCCA, moments: Moments, classes: Any, priors: Matrix) -> None:
        n, F = moments.n, rcca.F_
        within = np.maximum(1.0 - rcca.correlations_**2, _NO_SPREAD)
        # Moments divide by n − 1; LDA's covariance within classes, of largest likelihood, by n.
        scalings = np.sqrt(n / (n - 1) / within)
        # Cov(z, 1{y = j}) = p_j (mean of class j − mean): no pass for the means.
        offsets = moments.covariance(0, 1, len(F)).T * (n - 1) / n / priors[:-1, None]
        last = -(priors[:-1] @ offsets) / priors[-1]
        assign(
            self,
            rcca,
            rcca_=rcca,
            reg_=float(rcca.reg[0]),
            centroids_=np.vstack([offsets, last]) @ F * scalings,
            scalings_=scalings,
            classes_=classes,
            priors_=priors,
        )

    def _warn(self, moments: Moments) -> None:
        """Warn if rounding of the features or of their covariance shows in the probabilities."""
        squares = moments.products[0, 0].diagonal() / moments.n + moments.mean(0) ** 2
        weights = self.rcca_.F_ * self.scalings_ @ self.centroids_.T
        rounding = np.finfo(self.rcca_.map_x_.feature_dtype).eps / 2
        error = 3 * rounding * np.sqrt((squares @ weights**2).max())  # of nearly all rows
        error += self.rcca_.conditioning_["predicted_error"]
        if error > ERROR_LIMIT:
            warn(
                f"the covariance of the features is ill-conditioned with reg={self.reg_:.3g}: "
                f"probabilities may be off by {error:.0e}. Raise reg, use fewer features, or "
                'dtype="float64". See docs/own-data.md.'
            )

    def _discriminants(self, X: Any) -> FloatArray:
        check_is_fitted(self, "centroids_")
        variables: FloatArray = self.rcca_.transform(X)
        discriminants: FloatArray = (variables * self.scalings_).astype(variables.dtype, copy=False)
        return discriminants

    def _class_scores(self, X: Any) -> FloatArray:
        discriminants = self._discriminants(X)
        constants = np.log(self.priors_) - (self.centroids_**2).sum(axis=1) / 2
        scores: FloatArray = discriminants @ self.centroids_.T + constants
        return scores.astype(discriminants.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return min(self.n_components or len(self.scalings_), len(self.scalings_))


def _cross_validated_reg(moments: Moments) -> float:
    """Regulariser of least generalised cross-validation error, of features on class indicators."""
    values, vectors = scipy.linalg.eigh(moments.covariance(0, 0), overwrite_a=True)
    values = np.maximum(values, 0.0)[:, None]
    cross, targets = vectors.T @ moments.covariance(0, 1), moments.covariance(1, 1)
    # The last class's indicator is 1 less the others: its covariances are minus their sums.
    explained = (cross**2).sum(axis=1, keepdims=True) + cross.sum(axis=1, keepdims=True) ** 2
    total = targets.trace() + targets.sum()
    regs = (values[-1] or 1.0) * _FRACTIONS
    shrunk = values + regs
    residual = total - (explained * (shrunk + regs) / shrunk**2).sum(axis=0)
    left = 1.0 - _CAUTION * (1.0 + (values / shrunk).sum(axis=0)) / moments.n
    error = np.divide(residual, left**2, out=np.full(len(regs), np.inf), where=left > 0)
    error[-1] = min(error[-1], np.finfo(np.float64).max)  # the last resort of very few rows
    return float(regs[np.argmin(error)])
