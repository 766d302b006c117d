"""Randomized nonlinear principal component analysis (Section 3 of the paper)."""

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rnca._core import fitting
from rnca._core.conditioning import ERROR_LIMIT
from rnca._core.estimators import RowsTransformer, check_count, warn
from rnca._core.fitting import FeatureFit, Maps
from rnca._core.streaming import projected
from rnca.features import FeatureMap
from rnca.method import principal
from rnca.moments import Moments
from rnca.rows import FloatArray


@dataclass(eq=False, repr=False)
class RPCA(RowsTransformer, FeatureFit):
    """Principal component analysis of random nonlinear features.

    Linear PCA of z(X): an approximation of kernel PCA whose cost is linear in the number of rows
    n. Memory does not depend on n: about 16·m² bytes and one chunk of features.

    Parameters
    ----------
    n_components : int, default=2
        Number of principal components.
    feature_map : str or FeatureMap instance, default="fourier"
        A name as in `RCCA`. "nystroem" is whitened here, since dot products of features must
        approximate the kernel; "whitened" is the same in float64.
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

    _map_names = ("map_",)

    n_components: int = 2
    _: KW_ONLY
    feature_map: Any = "fourier"
    n_features: int = 1000
    gamma: float | str = "median"
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

    def accumulate(self, X: Any, start: int = 0, stop: int | None = None) -> Moments:  # type: ignore[override]
        """Accumulate the moments of the features of rows ``start:stop``: second step of `fit`."""
        return super().accumulate(X, None, start, stop)

    def path(self, sizes: Sequence[int]) -> list["RPCA"]:
        """Models at smaller m from the pass already made, each like a fit of its own."""
        check_is_fitted(self, "map_")
        self._check_has_moments()
        for m in sizes:
            fitting.check_size(m, self.map_)
        models = []
        for m in sizes:
            maps = [self.map_.prefix(m)]
            model = copy(self)
            # Not by set_params, which does not know the parameters behind **kwargs.
            model.n_features = m
            model.feature_map = fitting.shortened(self.feature_map, maps[0])
            model._check_components(maps, self.moments_.n)
            model._assign(maps, **model._solution(maps, self.moments_))
            models.append(model)
        return models

    def transform(self, X: Any, *, out: FloatArray | None = None) -> FloatArray:
        """Principal components of new rows, centred by the training mean.

        They are of shape (n, n_components); ``out`` is as in `RCCA.transform`.
        """
        view = self._view_to_use(X, "components_")
        return projected(self.map_, view, self.mean_, self.components_.T, self.chunk_size, out)

    def _unfitted_maps(self) -> list[FeatureMap]:
        check_count(self.n_components, "n_components")
        (unfitted,) = fitting.unfitted_maps(self, 1)
        return [unfitted.set_params(whiten=True) if self.feature_map == "nystroem" else unfitted]

    def _check_components(self, maps: Maps, n: int | None = None) -> None:
        fitting.check_components(self.n_components, "principal components", maps, n)

    def _solution(self, maps: Maps, moments: Moments) -> dict[str, Any]:
        m = maps[0].n_features_out
        C, mean = moments.covariance(0, 0, m), moments.mean(0)[:m]
        variances, F = principal(C, self.n_components)
        # Constant data leave nothing but rounding, of which there are no shares.
        negligible = (10 * np.finfo(np.float64).eps) ** 2 * (mean @ mean)
        total = max(C.trace(), negligible, np.finfo(np.float64).tiny)
        return {
            "components_": F.T,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / total,
            "mean_": mean,
            "n_samples_": moments.n,
        }

    def _warn(self) -> None:
        """Warn if rounding of the features shows in the variances."""
        rounding = np.finfo(self.map_.feature_dtype).eps / 2
        variance = self.explained_variance_[0]
        noise = rounding * np.linalg.norm(self.mean_ * self.components_[0])
        if 0 < ERROR_LIMIT * variance < noise * (noise + 2 * np.sqrt(variance / self.n_samples_)):
            warn(
                f"the features hardly vary: their largest variance, {variance:.1g}, may be off by "
                'more than a thousandth of it. Use dtype="float64" or a larger gamma.'
            )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")
