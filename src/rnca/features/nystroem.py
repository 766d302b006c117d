"""Kernel values at landmarks."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from rnca._core.blas import over_row_blocks, product_into
from rnca.features.base import FeatureMap, resolve_gamma
from rnca.rows import FloatArray, View
from rnca.seeding import streams

# Added to the diagonal of the landmark kernel before it is factored. Fixed, since a value that
# depended on m would break the prefix property.
_JITTER = 1e-10
# Largest rounding error allowed for an exponent of the kernel.
_EXPONENT_ERROR = 1e-5


@dataclass(eq=False, repr=False)
class NystroemFeatures(FeatureMap):
    """Gaussian kernel values exp(-gamma ‖x − l‖²) at m landmarks l.

    Parameters
    ----------
    n_features : int, default=1000
        Number of landmarks m, drawn without replacement from the training rows.
    landmarks : array-like of shape (m, d), optional
        Landmarks of your own; ``n_features`` is then ignored.
    gamma : float or "median", default="median"
        Kernel width.
    whiten : bool, default=False
        Multiply by the inverse Cholesky factor of the landmarks' own kernel matrix, so that dot
        products of features approximate the kernel (needed for kernel PCA; the paper's CCA uses
        the plain values). Computed in float64 whatever the dtype of the result.
    random_state : int, numpy Generator, numpy RandomState or None
    dtype : {None, "float32", "float64"}
        Type of the features; None keeps the input's. Kernel values are computed in float64, and
        only then rounded, where squared distances would cancel in float32: where its eps times
        gamma times a landmark's largest squared distance to the mean exceeds 1e-5. Where they
        would cancel in float64 too, they are computed from differences, which is slower.

    Attributes
    ----------
    gamma_ : float
    landmarks_ : ndarray of shape (m, d)
        Less the pilot mean ``offset_``, in float64.
    offset_ : ndarray of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import NystroemFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> float(NystroemFeatures(n_features=4, random_state=0).fit_transform(X).max())
    1.0
    """

    _fitted_arrays = ("landmarks_",)

    n_features: int = 1000
    _: KW_ONLY
    landmarks: Any = None
    gamma: float | str = "median"
    whiten: bool = False
    random_state: Any = None
    dtype: Any = None

    def _draw(self, view: View) -> None:
        self._stored_dtype()
        of_gamma, of_landmarks = streams(self.random_state, 2)
        self.gamma_ = resolve_gamma(self.gamma, view, of_gamma)
        self.landmarks_ = self._landmark_rows(view, of_landmarks) - self.offset_
        # Of all landmarks, so that a prefix of the map computes as the whole does.
        self._exponent_ = self.gamma_ * np.square(self.landmarks_).sum(axis=1).max()
        self._factor_ = None
        if self.whiten:
            kernel = np.empty((len(self.landmarks_), len(self.landmarks_)))
            _gaussian_kernel(self.landmarks_, self.landmarks_, self.gamma_, kernel)
            if not np.isfinite(kernel).all():
                rows = self.landmarks_ + self.offset_
                self._refuse_overflow(rows, self.landmarks_, np.dtype(np.float64))
            kernel[np.diag_indices_from(kernel)] = 1.0 + _JITTER
            self._factor_ = scipy.linalg.cholesky(kernel, lower=True, overwrite_a=True)

    def _landmark_rows(self, view: View, rng: np.random.Generator) -> FloatArray:
        n, d = view.shape
        if self.landmarks is None:
            m = self._check_n_features()
            if m > n:
                raise ValueError(
                    f"n_features={m}: Nyström landmarks are distinct training rows, and "
                    f"{view.name} has n_samples = {n}. Use at most {n} features, give "
                    "landmarks=…, or use Fourier features."
                )
            # The first m of a whole permutation: choice(n, m) has no prefix property.
            return view.take(rng.permutation(n)[:m])
        own = View(self.landmarks, "landmarks")
        if own.shape[1] != d:
            raise ValueError(
                f"landmarks have {own.shape[1]} columns, but {view.name} has {d}: landmarks are "
                "points of the same space."
            )
        return own.read(0, len(own))

    def _working_dtype(self, out: np.dtype[Any]) -> np.dtype[Any]:
        # The inverse factor is as large as 1/sqrt(jitter): float32 kernel values would be noise.
        if self._factor_ is not None or _cancels(self._exponent_, np.float32):
            return np.dtype(np.float64)
        return super()._working_dtype(out)

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        landmarks = self.landmarks_.astype(x.dtype, copy=False)
        _gaussian_kernel(x, landmarks, self.gamma_, out)
        if self._factor_ is not None:
            m = len(landmarks)  # the leading block of the factor is the factor of the leading block
            out[:] = scipy.linalg.solve_triangular(self._factor_[:m, :m], out.T, lower=True).T


whitened_nystroem = partial(NystroemFeatures, whiten=True)


def _cancels(exponent: float, dtype: Any) -> bool:
    """Whether kernel exponents as sums of terms of this size lose too many digits."""
    return not np.finfo(dtype).eps * exponent <= _EXPONENT_ERROR


def _gaussian_kernel(x: FloatArray, y: FloatArray, gamma: float, out: FloatArray) -> None:
    """Write exp(-gamma ‖x_i − y_j‖²) to ``out``, by ‖x − y‖² = ‖x‖² + ‖y‖² − 2x·y.

    Where that would cancel, for landmarks y far from the origin, by differences: without BLAS.
    """
    scale = np.asarray(np.sqrt(gamma), dtype=x.dtype)
    x, y = x * scale, y * scale
    x_squares, y_squares = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)
    if _cancels(y_squares.max(), x.dtype):
        np.exp(-cdist(x, y, "sqeuclidean"), out=out)
        return
    product_into(x, 2 * y, out)

    def exponentials(block: slice) -> None:
        z = out[block]
        z -= y_squares
        z -= x_squares[block, None]
        np.minimum(z, 0, out=z)  # rounding can leave a distance slightly negative
        np.exp(z, out=z)

    over_row_blocks(exponentials, len(out))
