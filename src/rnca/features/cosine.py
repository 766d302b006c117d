"""Cosines of random projections, which differ in how the projections are drawn."""

from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import ndtri
from scipy.stats import qmc

from rnca._core.blas import product_into
from rnca._core.rows import FloatArray, Matrix, View
from rnca._core.seeding import streams
from rnca._core.workers import over_row_blocks
from rnca.features.base import FeatureMap
from rnca.features.width import resolve_gamma

# Sobol' points are multiples of 2^-bits.
_SOBOL_BITS = 30


class FourierFeatures(FeatureMap):
    """Random Fourier features z(x) = cos(Wx + b) of the Gaussian kernel exp(-gamma ‖x − y‖²).

    W has rows drawn from N(0, 2·gamma·I) and b from U(0, 2π) (Eq. 4 of the paper). The features
    are unscaled: 2/m times their dot product estimates the kernel without bias.

    Parameters
    ----------
    n_features : int, default=1000
        Number of random features m.
    gamma : float or "median", default="median"
        Kernel width.
    random_state : int, numpy Generator, numpy RandomState or None
    dtype : {None, "float32", "float64"}
        Type of the features; None keeps the input's.

    Attributes
    ----------
    gamma_ : float
    weights_ : ndarray of shape (m, d)
    phases_ : ndarray of shape (m,)
    offset_ : ndarray of shape (d,)
        Pilot mean, subtracted from every row first.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> FourierFeatures(n_features=4, random_state=0).fit_transform(X).shape
    (5, 4)
    """

    _fitted_arrays: tuple[str, ...] = ("weights_", "phases_")

    def __init__(
        self,
        n_features: int = 1000,
        *,
        gamma: float | str = "median",
        random_state: Any = None,
        dtype: Any = None,
    ) -> None:
        self.n_features = n_features
        self.gamma = gamma
        self.random_state = random_state
        self.dtype = dtype

    def _draw(self, view: View) -> None:
        m, dtype = self._check_n_features(), self._stored_dtype()
        of_gamma, of_weights, of_phases = streams(self.random_state, 3)
        self.gamma_ = resolve_gamma(self.gamma, view, of_gamma)
        phases = of_phases.uniform(0.0, 2.0 * np.pi, m)
        self.phases_ = phases.astype(dtype, copy=False)
        self._draw_weights(m, view.shape[1], of_weights)

    def _draw_weights(self, m: int, d: int, rng: np.random.Generator) -> None:
        weights = self._standard_weights(m, d, rng)
        weights *= np.sqrt(2.0 * self.gamma_)
        self.weights_ = weights.astype(self._stored_dtype(), copy=False)

    def _standard_weights(self, m: int, d: int, rng: np.random.Generator) -> Matrix:
        """Draw m rows, each from N(0, I)."""
        # Drawn row by row: numpy fills C order, so m rows are the first m of any longer draw.
        return rng.standard_normal((m, d))

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        product_into(x, self.weights_.astype(out.dtype, copy=False), out)
        phases = self.phases_.astype(out.dtype, copy=False)

        def cosines(block: slice) -> None:
            z = out[block]
            z += phases
            np.cos(z, out=z)

        over_row_blocks(cosines, len(out))


class OrthogonalFeatures(FourierFeatures):
    """Fourier features whose projections are orthogonal to each other in blocks of d.

    Each row of W still follows N(0, 2·gamma·I), so that 2/m times the dot product of features
    estimates the kernel without bias, but within a block directions do not repeat each other,
    which lowers the variance (Yu et al., Orthogonal random features, 2016). Evaluation costs what
    Fourier features cost; drawing costs a QR factorisation of each block.

    Parameters and fitted attributes are those of `FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import OrthogonalFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> W = OrthogonalFeatures(n_features=3, random_state=0).fit(X).weights_
    >>> bool(abs(W @ W.T - np.diag(np.diag(W @ W.T))).max() < 1e-12)
    True
    """

    # A factorisation's last digits depend on the machine, what it was made from does not.
    _identifying_arrays = ("phases_",)

    def _standard_weights(self, m: int, d: int, rng: np.random.Generator) -> Matrix:
        of_directions, of_lengths = rng.spawn(2)
        weights = np.empty((m, d))
        for start in range(0, m, d):
            block = weights[start : start + d]
            block[:] = _orthonormal_rows(of_directions.standard_normal(block.shape))
        weights *= np.sqrt(of_lengths.chisquare(d, m))[:, None]
        return weights


def _orthonormal_rows(gaussian: Matrix) -> Matrix:
    """Orthonormalise the rows in order, so that the first ones do not depend on those after."""
    Q, R = scipy.linalg.qr(gaussian.T, mode="economic", overwrite_a=True)
    # Positive diagonals make the factorisation unique and Q uniform over orthonormal frames.
    rows: Matrix = (Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T
    return rows


class QuasiMonteCarloFeatures(FourierFeatures):
    """Fourier features whose projections and phases fill their space evenly.

    Points of a scrambled Sobol' sequence in d + 1 dimensions take the place of independent draws
    (Yang et al., Quasi-Monte Carlo feature maps for shift-invariant kernels, 2014): the first
    coordinate gives b, the normal quantiles of the others give W. Each row of W follows
    N(0, 2·gamma·I), so that 2/m times the dot product of features estimates the kernel without
    bias. Evaluation costs what Fourier features cost.

    Parameters and fitted attributes are those of `FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import QuasiMonteCarloFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> QuasiMonteCarloFeatures(n_features=4, random_state=0).fit_transform(X).shape
    (5, 4)
    """

    def _standard_weights(self, m: int, d: int, rng: np.random.Generator) -> Matrix:
        limit = int(qmc.Sobol.MAXDIM) - 1
        if d > limit:
            raise ValueError(
                f"quasi-Monte-Carlo features of data with {d} columns: Sobol' sequences are known "
                f"for up to {limit} of them. Use Fourier, orthogonal or Fastfood features."
            )
        sequence = qmc.Sobol(d + 1, bits=_SOBOL_BITS, rng=rng)
        # A sequence is balanced at powers of 2; cut after that, it is still a prefix. Points move
        # to the middle of their cells, since 0 has no normal quantile.
        points: Matrix = sequence.random(1 << (m - 1).bit_length())[:m] + 0.5 ** (_SOBOL_BITS + 1)
        self.phases_ = (2.0 * np.pi * points[:, 0]).astype(self._stored_dtype(), copy=False)
        weights: Matrix = ndtri(points[:, 1:])
        return weights
