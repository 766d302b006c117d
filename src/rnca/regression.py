"""Ridge regression on random nonlinear features: many nonlinear regressors at once."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rnca._core.fitting import MomentsFit
from rnca._core.mapping import check_reg
from rnca._core.moments import Moments
from rnca._core.rows import FloatArray, View, check_at_least_two_rows, check_pair
from rnca._core.seeding import seeds
from rnca._core.whitening import Factor
from rnca.features import FeatureMap, JointFeatures, LinearFeatures


class FeatureRidge(MomentsFit, BaseEstimator):
    """Linear ridge regression, with an intercept, of several targets on features z(X).

    One pass and one Cholesky factor serve all targets. Memory, 8·(m² + m·q) bytes and a few
    chunks for q targets, does not depend on the number of rows.

    Parameters
    ----------
    feature_map : {"fourier", "nystroem", "linear", "orthogonal", "fastfood", "qmc"} or FeatureMap \
instance, default="fourier"
    n_features : int, default=1000
        Number of random features m; ignored by linear features.
    gamma : float or "median", default="median"
        Kernel width of exp(-gamma ‖x − y‖²).
    linear_part : bool, default=False
        Put the columns of X themselves beside the random features.
    reg : float, default=1e-8
        Added to the diagonal of the covariance of the unscaled features: a ridge of λ on sums of
        squares is reg = λ/(n − 1).
    random_state : int, numpy Generator, numpy RandomState or None
    chunk_size : int, default=2048
        Rows read, mapped and accumulated at a time.
    dtype : {"float32", "float64"}, default="float32"
        Type of the features and of the targets; products are in float64.
    verbose : bool, default=False
        Show progress over chunks.

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

    def fit(self, X: Any, Y: Any) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, p)
        Y : likewise, of shape (n, q)

        Returns
        -------
        self
        """
        return self.draw(X, Y).solve(self.accumulate(X, Y))

    def draw(self, X: Any, Y: Any) -> Self:
        """Draw the feature map without a pass over the data: first step of `fit`.

        A sample of the rows will do, if reading them all is dear.
        """
        check_reg(self.reg)
        x, y = View(X, "X"), View(Y, "Y")
        check_pair(x, y)
        check_at_least_two_rows(len(x), "X")
        (seed,) = seeds(self.random_state, 1)
        chosen = self._unfitted_map(self.feature_map, self.n_features, self.gamma, seed)
        if self.linear_part:
            chosen = JointFeatures([LinearFeatures(), chosen], dtype=self._feature_dtype())
        self.map_ = chosen.fit_view(x)
        self.map_y_ = LinearFeatures(dtype=self._feature_dtype()).fit_view(y)
        return self

    def accumulate(self, X: Any, Y: Any, start: int = 0, stop: int | None = None) -> Moments:
        """Accumulate the moments of rows ``start:stop``: second step of `fit`."""
        check_is_fitted(self, "map_")
        x, y = View(X, "X"), View(Y, "Y")
        check_pair(x, y)
        return self._moments_of_rows([x, y], start, stop)

    def empty_moments(self) -> Moments:
        """Return moments of no rows yet, for the drawn map: what shards are merged into."""
        sizes = [fitted.n_features_out for fitted in self._maps]
        return Moments(*sizes, features=self._fingerprint(), targets=True)

    def solve(self, moments: Moments) -> Self:
        """Solve for the coefficients: third step of `fit`."""
        check_is_fitted(self, "map_")
        self._check_moments(moments)
        reg = check_reg(self.reg)
        self.moments_ = moments
        factor = Factor(moments, "x", reg)
        covariance = moments.covariance("xy")
        factor.whiten_rows(covariance)
        self.coef_ = factor.unwhiten(covariance)
        self.mean_ = moments.mean("x")
        self.intercept_ = moments.mean("y") + self.map_y_.offset_
        return self

    def path(self, regs: Sequence[float]) -> Iterator["FeatureRidge"]:
        """Yield the models at other ``reg``, each from the pass already made."""
        check_is_fitted(self, "coef_")
        self._check_has_moments()
        for reg in regs:
            yield copy(self).set_params(reg=reg).solve(self.moments_)

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n, q)
        """
        check_is_fitted(self, "coef_")
        predicted = self._projected(View(X), self.map_, self.mean_, self.coef_)
        predicted += self.intercept_.astype(predicted.dtype)
        return predicted

    @property
    def _maps(self) -> list[FeatureMap]:
        return [self.map_, self.map_y_]
