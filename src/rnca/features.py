"""Random nonlinear feature maps z(x) (Section 2 of the paper).

Every map has the *prefix property*: its first m features are those of any larger draw with the
same ``random_state``. One pass over the data at the largest m therefore serves every smaller m.
"""

import hashlib
from abc import abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca.rows import FloatArray, View, grid
from rnca.seeding import streams

_TRANSFORM_CHUNK = 2048
_MEDIAN_PAIRS = 4_000
# Added to the diagonal of the landmark kernel before it is factored. Fixed, since a value that
# depended on m would break the prefix property.
_JITTER = 1e-10


def median_gamma(X: Any, *, random_state: Any = None) -> float:
    """Kernel width by the median heuristic.

    Parameters
    ----------
    X : array-like or memory map of shape (n, d)
    random_state : int, numpy Generator, numpy RandomState or None
        Draws the 4,000 pairs of rows.

    Returns
    -------
    float
        1 / median of the non-zero squared distances over random pairs of rows: the gamma of
        k(x, y) = exp(-gamma ‖x − y‖²).

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import median_gamma
    >>> median_gamma(np.array([[0.0], [2.0]]), random_state=0)
    0.25
    """
    return _median_gamma(View(X), streams(random_state, 1)[0])


def _median_gamma(view: View, rng: np.random.Generator) -> float:
    n = len(view)
    if n < 2:
        raise ValueError(
            f'gamma="median" needs pairs of rows, but {view.name} has n_samples = {n}. '
            "Give at least 2 rows, or gamma as a number."
        )
    first = rng.integers(n, size=_MEDIAN_PAIRS)
    second = rng.integers(n - 1, size=_MEDIAN_PAIRS)
    second += second >= first
    difference = view.take(first) - view.take(second).astype(np.float64)
    squared = np.einsum("ij,ij->i", difference, difference)
    squared = squared[squared > 0]
    if not squared.size:
        raise ValueError(
            f'gamma="median": {_MEDIAN_PAIRS} random pairs of rows of {view.name} are all '
            "identical, so no kernel width can be read off them. Give gamma as a number, or "
            "drop the constant view."
        )
    with np.errstate(over="ignore", divide="ignore"):
        gamma = float(1.0 / np.median(squared))
    if not 0 < gamma < np.inf:
        raise ValueError(
            f'gamma="median": the squared distances in {view.name} (median '
            f"{np.median(squared):.3g}) leave the range of float64. Rescale the data."
        )
    return gamma


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all feature maps: a transformer that RPCA and RCCA can also feed chunk by chunk.

    A subclass draws its parameters in `_draw` and evaluates them in `_map`; `_fitted_arrays`
    names the fitted attributes with one row per feature.
    """

    _fitted_arrays: tuple[str, ...] = ()

    offset_: npt.NDArray[np.float64]
    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map for data of X's width and scale.

        Parameters
        ----------
        X : array-like or memory map of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        view = View(X)
        validate_data(self, X, skip_check_array=True)
        for start, stop in grid(0, len(view), _TRANSFORM_CHUNK):
            view.read(start, stop)
        return self.fit_view(view)

    def fit_view(self, view: View) -> Self:
        """Draw the map for a view whose rows are checked when they are read."""
        self.n_features_in_ = view.shape[1]
        self.offset_ = view.pilot_mean()
        self._draw(view)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Evaluate the features.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, m)
            float32 for float32 input, else float64, unless the map has a ``dtype``.
        """
        check_is_fitted(self)
        view = View(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        out = None
        for start, stop in grid(0, len(view), _TRANSFORM_CHUNK):
            rows = view.read(start, stop)
            if out is None:
                dtype = np.dtype(getattr(self, "dtype", None) or rows.dtype)
                out = np.empty((len(view), self.n_features_out), dtype)
            self.features(rows, out[start:stop])
        assert out is not None
        return out

    def features(self, rows: FloatArray, out: FloatArray) -> None:
        """Evaluate the features of one chunk of checked rows into ``out``, in its dtype."""
        centred = np.subtract(rows, self.offset_, dtype=np.float64)
        self._map(centred.astype(self._working_dtype(out.dtype), copy=False), out)

    @property
    def n_features_out(self) -> int:
        """Number of features m."""
        return len(getattr(self, self._fitted_arrays[0]))

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out

    def prefix(self, m: int) -> Self:
        """Return the fitted map of the first ``m`` features; shares memory with this one."""
        shorter = copy(self)
        for name in self._fitted_arrays:
            setattr(shorter, name, getattr(self, name)[:m])
        return shorter

    def fingerprint(self) -> str:
        """Checksum of the fitted map: equal exactly if the features are the same functions."""
        scalars = (
            type(self).__name__,
            getattr(self, "gamma_", None),
            getattr(self, "whiten", None),
        )
        digest = hashlib.sha256(repr(scalars).encode())
        for name in ("offset_", *self._fitted_arrays):
            array = np.ascontiguousarray(getattr(self, name))
            digest.update(f"{name}{array.dtype}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def _working_dtype(self, out: np.dtype[Any]) -> np.dtype[Any]:
        return out

    @abstractmethod
    def _draw(self, view: View) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _map(self, x: FloatArray, out: FloatArray) -> None:
        """Write the features of centred rows ``x`` to ``out``."""

    def _check_n_features(self) -> int:
        m = self.n_features
        if not isinstance(m, int | np.integer) or isinstance(m, bool) or m < 1:
            raise ValueError(f"n_features={m!r}: the number of random features m must be >= 1.")
        return int(m)

    def _stored_dtype(self) -> np.dtype[Any]:
        dtype = np.dtype(getattr(self, "dtype", None) or np.float64)
        if dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype.name}: features are float32 or float64.")
        return dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _resolve_gamma(gamma: Any, view: View, rng: np.random.Generator) -> float:
    if isinstance(gamma, str):
        if gamma != "median":
            raise ValueError(f'gamma={gamma!r}: give "median" or a number > 0.')
        return _median_gamma(view, rng)
    if not np.isscalar(gamma) or not 0 < gamma < np.inf:  # type: ignore[operator]
        raise ValueError(
            f"gamma={gamma!r}: the kernel width of exp(-gamma ‖x − y‖²) must be a finite number "
            '> 0, or "median".'
        )
    return float(gamma)  # type: ignore[arg-type]


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

    _fitted_arrays = ("weights_", "phases_")

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
        self.gamma_ = _resolve_gamma(self.gamma, view, of_gamma)
        # Drawn row by row: numpy fills C order, so m rows are the first m of any longer draw.
        weights = of_weights.standard_normal((m, view.shape[1]))
        weights *= np.sqrt(2.0 * self.gamma_)
        self.weights_ = weights.astype(dtype, copy=False)
        self.phases_ = of_phases.uniform(0.0, 2.0 * np.pi, m).astype(dtype, copy=False)

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        np.matmul(x, self.weights_.T.astype(out.dtype, copy=False), out=out)
        out += self.phases_.astype(out.dtype, copy=False)
        np.cos(out, out=out)


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
        Type of the features; None keeps the input's.

    Attributes
    ----------
    gamma_ : float
    landmarks_ : ndarray of shape (m, d)
        Less the pilot mean ``offset_``.
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

    def __init__(
        self,
        n_features: int = 1000,
        *,
        landmarks: Any = None,
        gamma: float | str = "median",
        whiten: bool = False,
        random_state: Any = None,
        dtype: Any = None,
    ) -> None:
        self.n_features = n_features
        self.landmarks = landmarks
        self.gamma = gamma
        self.whiten = whiten
        self.random_state = random_state
        self.dtype = dtype

    def _draw(self, view: View) -> None:
        dtype = self._stored_dtype()
        of_gamma, of_landmarks = streams(self.random_state, 2)
        self.gamma_ = _resolve_gamma(self.gamma, view, of_gamma)
        landmarks = self._landmark_rows(view, of_landmarks) - self.offset_
        self.landmarks_ = landmarks.astype(np.float64 if self.whiten else dtype, copy=False)
        if self.whiten:
            kernel = np.empty((len(landmarks), len(landmarks)))
            _gaussian_kernel(self.landmarks_, self.landmarks_, self.gamma_, kernel)
            kernel[np.diag_indices_from(kernel)] = 1.0 + _JITTER
            self._factor = scipy.linalg.cholesky(kernel, lower=True, overwrite_a=True)

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
        return np.dtype(np.float64) if self.whiten else out

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        landmarks = self.landmarks_.astype(x.dtype, copy=False)
        if not self.whiten:
            _gaussian_kernel(x, landmarks, self.gamma_, out)
            return
        kernel = np.empty((len(x), len(landmarks)))
        _gaussian_kernel(x, landmarks, self.gamma_, kernel)
        m = len(landmarks)  # the leading block of the factor is the factor of the leading block
        out[:] = scipy.linalg.solve_triangular(self._factor[:m, :m], kernel.T, lower=True).T


def _gaussian_kernel(x: FloatArray, y: FloatArray, gamma: float, out: FloatArray) -> None:
    """Write exp(-gamma ‖x_i − y_j‖²) to ``out``, by ‖x − y‖² = ‖x‖² + ‖y‖² − 2x·y."""
    scale = np.asarray(np.sqrt(gamma), dtype=x.dtype)
    x, y = x * scale, y * scale
    np.matmul(x, (2 * y).T, out=out)
    out -= np.einsum("ij,ij->i", y, y)
    out -= np.einsum("ij,ij->i", x, x)[:, None]
    np.minimum(out, 0, out=out)  # rounding can leave a distance slightly negative
    np.exp(out, out=out)


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
