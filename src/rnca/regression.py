"""Ridge regression on random nonlinear features: many nonlinear regressors at once."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from rnca._core.estimators import RowsMixin, check_reg, unfitted_copy
from rnca._core.fitting import DRAWN, TwoViewFit
from rnca._core.moments import Moments
from rnca._core.rows import FloatArray, View
from rnca._core.whitening import Factor
from rnca.features import FeatureMap, JointFeatures, LinearFeatures


class FeatureRidge(RowsMixin, RegressorMixin, TwoViewFit):
    """Linear ridge regression, with an intercept, of several targets on features z(X).

    One pass and one Cholesky factor serve all targets. Memory, 8·(m² + m·q) bytes and a few
    chunks for q targets, does not depend on the number of rows.

    Parameters
    ----------
    feature_map, n_features, gamma
        As in `RCCA`, of the one view.
    linear_part : bool, default=False
        Put the columns of X themselves beside the random features.
    reg : float, default=1e-8
        Added to the diagonal of the covariance of the unscaled features: a ridge of λ on sums of
        squares is reg = λ/(n − 1).
    random_state, chunk_size, dtype, verbose
        As in `RCCA`.

    Attributes
    ----------
    map_, map_y_ : FeatureMap
        The fitted feature map, and the targets less their pilot mean.
    mean_ : ndarray of shape (m,)
        Training mean of the features.
    coef_ : ndarray of shape (m, q)
    intercept_ : ndarray of shape (q,)
        Training mean of the targets.
    moments_ : Moments
        What the pass over the data left; `path` reads it. Not pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca.regression import FeatureRidge
    >>> X = np.linspace(-3, 3, 500)[:, None]
    >>> Y = np.hstack([np.sin(X), X**2])
    >>> model = FeatureRidge(n_features=50, random_state=0).fit(X, Y)
    >>> bool(np.abs(model.predict(X) - Y).max() < 0.01)
    True
    """

    _targets = True

    def __init__(
        self,
        *,
        feature_map: Any = "fourier",
        n_features: int = 1000,
        gamma: float | str = "median",
        linear_part: bool = False,
        reg: float = 1e-8,
        random_state: Any = None,
        chunk_size: int = 2048,
        dtype: Any = "float32",
        verbose: bool = False,
    ) -> None:
        self.feature_map = feature_map
        self.n_features = n_features
        self.gamma = gamma
        self.linear_part = linear_part
        self.reg = reg
        self.random_state = random_state
        self.chunk_size = chunk_size
        self.dtype = dtype
        self.verbose = verbose

    def path(self, regs: Sequence[float]) -> Iterator["FeatureRidge"]:
        """Yield the models at other ``reg``, each from the pass already made."""
        check_is_fitted(self, "coef_")
        self._check_has_moments()
        for reg in regs:
            model = unfitted_copy(self, keep=DRAWN).set_params(reg=reg)
            model._solve(self.moments_)
            yield model

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n, q), or (n,) if the targets in `fit` were
        """
        view = self._view_to_use(X, "coef_")
        predicted = self._projected(view, self.map_, self.mean_, self.coef_)
        predicted += self.intercept_.astype(predicted.dtype)
        return predicted[:, 0] if self._one_column_ else predicted

    def _draw(self, X: Any, y: Any) -> list[View]:
        self._one_column_ = len((y if hasattr(y, "shape") else np.asarray(y)).shape) == 1
        return super()._draw(X, y)

    def _draw_maps(self, *views: View) -> None:
        check_reg(self.reg)
        (self.map_,) = self._fitted_maps(views[0])
        self.map_y_ = LinearFeatures(dtype=self._feature_dtype()).fit_view(views[1])

    def _unfitted_map(self, kind: Any, count: Any, gamma: Any, seed: int) -> FeatureMap:
        chosen = super()._unfitted_map(kind, count, gamma, seed)
        if not self.linear_part:
            return chosen
        return JointFeatures([LinearFeatures(), chosen], dtype=self._feature_dtype())

    def _set_solution(self, moments: Moments) -> None:
        factor = Factor(moments, 0, check_reg(self.reg))
        self.coef_ = factor.unwhiten(factor.whiten_rows(moments.covariance(0, 1)))
        self.mean_ = moments.mean(0)
        self.intercept_ = moments.mean(1) + self.map_y_.offset_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
