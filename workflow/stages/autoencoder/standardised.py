"""The encoder's features in the authors' code: each divided by its standard deviation."""

import numpy as np

from rnca._core.rows import FloatArray, View, grid
from rnca.features import FourierFeatures

_CHUNK = 2048


class StandardisedFeatures(FourierFeatures):
    """Fourier features with unit variance over the rows they are fitted to.

    Their principal components are those of the correlation matrix, as in ``rpca.m`` of the
    authors' code, which standardises every random feature before the SVD. Fitting takes a pass over
    the rows; ``deviations_`` is then the standard deviation of each feature, 1 where that is 0.
    """

    _fitted_arrays = ("weights_", "phases_", "deviations_")

    def _draw(self, view: View) -> None:
        super()._draw(view)
        m = self.n_features_out
        self.deviations_ = np.ones(m, dtype=self.phases_.dtype)
        sums, squares, shift = np.zeros(m), np.zeros(m), None
        for start, stop in grid(0, len(view), _CHUNK):
            z = np.empty((stop - start, m), dtype=self.feature_dtype)
            self.features(view.read(start, stop), z)
            shift = z[0].astype(np.float64) if shift is None else shift
            centred = z - shift
            sums += centred.sum(axis=0)
            squares += np.square(centred).sum(axis=0)
        variance = np.maximum(squares - sums**2 / len(view), 0.0) / (len(view) - 1)
        self.deviations_ = np.where(variance > 0, np.sqrt(variance), 1.0).astype(self.phases_.dtype)

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        super()._map(x, out)
        out /= self.deviations_
