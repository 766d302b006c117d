"""Randomized nonlinear principal component analysis (Section 3 of the paper)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rnca._core.estimators import RowsMixin, check_count, unfitted_copy, warn
from rnca._core.fitting import FeatureFit, shortened
from rnca._core.moments import Moments
from rnca._core.rows import FloatArray, View, rechunk
from rnca._core.spectral import column_signs, leading_eigh
from rnca.features import FeatureMap

# Predicted relative error of the variances above which a fit warns.
_ERROR_LIMIT = 1e-3


class RPCA(RowsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureFit):
    """Principal component analysis of random nonlinear features.

    Linear PCA of z(X): an approximation of kernel PCA whose cost is linear in the number of rows
    n. Memory does not depend on n: about 16·m² bytes and one chunk of features.

    Parameters
    ----------
    n_components : int, default=2
        Number of principal components.
    feature_map : {"fourier", "nystroem", "linear", "orthogonal", "fastfood", "qmc"} or FeatureMap \
instance, default="fourier"
        "nystroem" is whitened here, since dot products of features must approximate the kernel.
    n_features, gamma, random_state, chunk_size, dtype, verbose
        As in `RCCA`, of the one view.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, m)
        Orthonormal loadings F of the features, by decreasing variance.
    explained_variance_ : ndarray of shape (n_components,)
        Leading eigenvalues of the covariance of the unscaled features. With Fourier features,
        2(n − 1)/m times these approach the eigenvalues of the centred kernel matrix.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        As a share of the features' total variance.
    map_ : FeatureMap
        The fitted feature map.
    mean_ : ndarray of shape (m,)
        Training mean of the features.
    moments_ : Moments
        What the pass over the data left; `path` reads it. Not pickled.
    n_samples_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import RPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> RPCA(2, n_features=50, random_state=0).fit_transform(X).shape
    (200, 2)
    """

    _components = "principal components"

    def __init__(
        self,
        n_components: int = 2,
        *,
        feature_map: Any = "fourier",
        n_features: int = 1000,
        gamma: float | str = "median",
        random_state: Any = None,
        chunk_size: int = 2048,
        dtype: Any = "float32",
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.n_features = n_features
        self.gamma = gamma
        self.random_state = random_state
        self.chunk_size = chunk_size
        self.dtype = dtype
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, d)
        y : ignored
        """
        return self._fit_rows(X)

    def fit_chunks(self, chunks: Iterable[Any]) -> Self:
        """Fit to a stream of chunks of rows of any lengths, read once: as `RCCA.fit_chunks`."""
        return self._fit_stream(rechunk(((chunk,) for chunk in chunks), self._head_rows(), "X"))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to the fit, and solve anew: as `RCCA.partial_fit`.

        Parameters
        ----------
        X : array-like of shape (rows, d)
        y : ignored
        """
        return self._fit_part(X)

    def draw(self, X: Any) -> Self:
        """Draw the feature map without a pass over the data: as `RCCA.draw`."""
        return self._draw_again(X)

    def accumulate(self, X: Any, start: int = 0, stop: int | None = None) -> Moments:
        """Accumulate the moments of the features of rows ``start:stop``: second step of `fit`."""
        check_is_fitted(self, "map_")
        return self._moments_of_rows(self._views(X), start, stop)

    def path(self, sizes: Sequence[int]) -> list["RPCA"]:
        """Models at smaller m from the pass already made, each like a fit of its own.

        Parameters
        ----------
        sizes : sequence of int
            Each at most the fitted number of features.
        """
        check_is_fitted(self, "map_")
        self._check_has_moments()
        for m in sizes:
            self._check_size(m, self.map_)
        models = []
        for m in sizes:
            model = unfitted_copy(self, keep=("n_features_in_", "feature_names_in_"))
            model.map_ = self.map_.prefix(m)
            # Not by set_params, which does not know the parameters behind **kwargs.
            model.n_features = m
            model.feature_map = shortened(self.feature_map, model.map_)
            model._set_solution(self.moments_)
            models.append(model)
        return models

    def transform(self, X: Any, *, out: FloatArray | None = None) -> FloatArray:
        """Principal components of new rows, centred by the training mean.

        Parameters
        ----------
        X : array-like of shape (n, d)
        out : array of shape (n, n_components), optional
            As in `RCCA.transform`.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        view = self._view_to_use(X, "components_")
        return self._projected(view, self.map_, self.mean_, self.components_.T, out)

    def _draw_maps(self, *views: View) -> None:
        check_count(self.n_components, "n_components")
        (self.map_,) = self._fitted_maps(*views)
        self._check_components(None)

    def _set_solution(self, moments: Moments) -> None:
        m, n, k = self.map_.n_features_out, moments.n, self.n_components
        self._check_components(n)
        covariance = moments.covariance(0, 0, m)
        values, vectors = leading_eigh(covariance, k)
        self.components_ = (vectors * column_signs(vectors)).T
        self.explained_variance_ = np.maximum(values, 0.0)
        self.mean_, self.n_samples_ = moments.mean(0)[:m], n
        # Constant data leave nothing but rounding, of which there are no shares.
        negligible = (10 * np.finfo(np.float64).eps) ** 2 * (self.mean_ @ self.mean_)
        total = max(covariance.trace(), negligible, np.finfo(np.float64).tiny)
        self.explained_variance_ratio_ = self.explained_variance_ / total

    def _warn(self) -> None:
        """Warn if rounding of the features shows in the variances."""
        rounding = np.finfo(self.map_.feature_dtype).eps / 2
        variance = self.explained_variance_[0]
        noise = rounding * np.linalg.norm(self.mean_ * self.components_[0])
        if 0 < _ERROR_LIMIT * variance < noise * (noise + 2 * np.sqrt(variance / self.n_samples_)):
            warn(
                f"the features hardly vary: their largest variance, {variance:.1g}, may be off by "
                'more than a thousandth of it. Use dtype="float64" or a larger gamma.'
            )

    def _unfitted_map(self, kind: Any, count: Any, gamma: Any, seed: int) -> FeatureMap:
        unfitted = super()._unfitted_map(kind, count, gamma, seed)
        return unfitted.set_params(whiten=True) if kind == "nystroem" else unfitted

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")
