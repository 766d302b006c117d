"""The data themselves as features."""

from typing import Any

import numpy as np

from rnca._core.rows import FloatArray, View
from rnca.features.base import FeatureMap


class LinearFeatures(FeatureMap):
    """The data themselves, less their pilot mean: with these RPCA is PCA and RCCA is CCA.

    Parameters
    ----------
    n_features : int, optional
        Keep the first ``n_features`` columns; None keeps all.
    dtype : {None, "float32", "float64"}
        Type of the features; None keeps the input's.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import LinearFeatures
    >>> LinearFeatures().fit_transform(np.array([[1.0, 2.0], [3.0, 6.0]]))
    array([[-1., -2.],
           [ 1.,  2.]])
    """

    _fitted_arrays = ("columns_",)

    def __init__(self, n_features: int | None = None, *, dtype: Any = None) -> None:
        self.n_features = n_features
        self.dtype = dtype

    def _draw(self, view: View) -> None:
        self._stored_dtype()
        d = view.shape[1]
        m = d if self.n_features is None else self._check_n_features()
        if m > d:
            raise ValueError(f"n_features={m}: linear features of {view.name} number {d} at most.")
        self.columns_ = np.arange(m)

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        out[:] = x[:, : len(self.columns_)]
