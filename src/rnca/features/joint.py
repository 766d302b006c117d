"""Feature maps side by side."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from rnca._core.rows import FloatArray, View
from rnca._core.seeding import seeds
from rnca.features.base import FeatureMap, seeded


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

    def __init__(
        self, maps: Sequence[FeatureMap], *, random_state: Any = None, dtype: Any = None
    ) -> None:
        self.maps = maps
        self.random_state = random_state
        self.dtype = dtype

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
