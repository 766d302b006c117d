"""The data themselves as features, and feature maps side by side."""

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from rnca.features.base import FeatureMap, seeded
from rnca.rows import FloatArray, View
from rnca.seeding import seeds


@dataclass(eq=False, repr=False)
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

    n_features: int | None = None
    _: KW_ONLY
    dtype: Any = None

    def _draw(self, view: View) -> None:
        self._stored_dtype()
        d = view.shape[1]
        m = d if self.n_features is None else self._check_n_features()
        if m > d:
            raise ValueError(f"n_features={m}: linear features of {view.name} number {d} at most.")
        self.columns_ = np.arange(m)

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        out[:] = x[:, : len(self.columns_)]


@dataclass(eq=False, repr=False)
class JointFeatures(FeatureMap):
    """The features of several maps, one map's after the other's.

    Linear features beside random ones let a linear method fall back on the data themselves where
    the random features add nothing.

    Parameters
    ----------
    maps : sequence of FeatureMap
        Not fitted.
    random_state : int, numpy Generator, numpy RandomState or None
        Seeds those maps that have no ``random_state`` of their own.
    dtype : {None, "float32", "float64"}
        Type of the features; None keeps the input's.

    Attributes
    ----------
    maps_ : list of FeatureMap
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca.features import FourierFeatures, JointFeatures, LinearFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> JointFeatures([LinearFeatures(), FourierFeatures(4)]).fit_transform(X).shape
    (5, 7)
    """

    maps: Sequence[FeatureMap]
    _: KW_ONLY
    random_state: Any = None
    dtype: Any = None

    @property
    def n_features(self) -> int:
        """How many features are asked for; of linear ones that is not known before `fit`."""
        return sum(getattr(each, "n_features", None) or 0 for each in self.maps)

    @property
    def n_features_out(self) -> int:
        """Number of features m."""
        return sum(each.n_features_out for each in self.maps_)

    def features(self, rows: FloatArray, out: FloatArray) -> None:
        """Evaluate the features of one chunk of checked rows into ``out``, in its dtype."""
        edges = np.cumsum([each.n_features_out for each in self.maps_])[:-1]
        for each, part in zip(self.maps_, np.split(out, edges, axis=1), strict=True):
            each.features(rows, part)

    def prefix(self, m: int) -> Self:
        """Return the fitted map of the first ``m`` features; shares memory with this one."""
        shorter = copy(self)
        shorter.maps_ = []
        for each in self.maps_:
            taken = min(m, each.n_features_out)
            if taken:
                shorter.maps_.append(each.prefix(taken))
            m -= taken
        shorter.maps = [clone(each) for each in shorter.maps_]
        return shorter

    def fingerprint(self) -> str:
        """Checksum of the fitted maps: equal exactly if the features are the same functions."""
        return "+".join(each.fingerprint() for each in self.maps_)

    def _draw(self, view: View) -> None:
        self._stored_dtype()
        self.maps_ = [
            seeded(each, seed, self.dtype).fit_view(view)
            for each, seed in zip(self.maps, seeds(self.random_state, len(self.maps)), strict=True)
        ]
