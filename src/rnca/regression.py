"""Ridge regression on random nonlinear features: many nonlinear regressors at once."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from rnca._core.estimators import RowsMixin, check_dtype, check_reg
from rnca._core.fitting import FeatureFit, Maps, unfitted_maps
from rnca._core.streaming import check_width, projected
from rnca.features import FeatureMap, JointFeatures, LinearFeatures
from rnca.method import whiten
from rnca.moments import Moments
from rnca.rows import FloatArray, View, view_of_columns


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureRidge(RowsMixin, RegressorMixin, FeatureFit):
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

    _map_names = ("map_", "map_y_")

    feature_map: Any = "fourier"
    n_features: int = 1000
    gamma: float | str = "median"
    linear_part: bool = False
    reg: float = 1e-8
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

    def path(self, regs: Sequence[float]) -> Iterator["FeatureRidge"]:
        """Yield the models at other ``reg``, each from the pass already made."""
        check_is_fitted(self, "coef_")
        self._check_has_moments()
        for reg in regs:
            yield copy(self).set_params(reg=reg).solve(self.moments_)

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of rows: of shape (n, q), or (n,) if those in `fit` were."""
        view = self._view_to_use(X, "coef_")
        predicted = projected(self.map_, view, self.mean_, self.coef_, self.chunk_size)
        predicted += self.intercept_.astype(predicted.dtype)
        is_flat = getattr(self.map_y_, "is_flat_", vars(self).get("_one_column_"))  # of 0.1.0
        return predicted[:, 0] if is_flat else predicted

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean over the columns of y of the share R² of variance that `predict` explains."""
        check_is_fitted(self, "coef_")
        check_width(view_of_columns(y, "y"), self.map_y_)
        return float(super().score(X, y, sample_weight))

    def _drawn(self, views: Sequence[View]) -> list[FeatureMap]:
        maps = super()._drawn(views)
        maps[1].is_flat_ = views[1].is_flat
        return maps

    def _unfitted_maps(self) -> list[FeatureMap]:
        check_reg(self.reg)
        dtype = check_dtype(self.dtype)
        (of_x,) = unfitted_maps(self, 1)
        if self.linear_part:
            of_x = JointFeatures([LinearFeatures(), of_x], dtype=dtype)
        return [of_x, LinearFeatures(dtype=dtype)]

    def _empty(self, maps: Maps, *, targets: bool = True) -> Moments:
        return super()._empty(maps, targets=targets)

    def _solution(self, maps: Maps, moments: Moments) -> dict[str, Any]:
        factor = whiten(moments, 0, check_reg(self.reg))
        return {
            "coef_": factor.unwhiten(factor.whiten(moments.covariance(0, 1))),
            "mean_": moments.mean(0),
            "intercept_": moments.mean(1) + maps[1].offset_,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
