"""What every feature map has in common, and kernel widths: given, or read off the data."""

import hashlib
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from rnca._core.estimators import (
    RowsTransformer,
    assign,
    check_columns,
    check_count,
    is_number,
    warn,
)
from rnca.rows import FloatArray, Matrix, View, grid
from rnca.seeding import streams

_TRANSFORM_CHUNK = 2048
_MEDIAN_PAIRS = 4_000
# Largest rounding error allowed for distances, in widths of the kernel.
_LOST = 1e-5
# A fit warns if half of the columns or more make up less than this fraction of the squared
# distances. Less than a third do so of MNIST's pixels, SURF counts and cepstra.
_UNSEEN = 3e-3
# This fraction of the pairs of rows, the nearest, is looked at: outliers move no median.
_NO_OUTLIERS = 0.9
# Smaller numbers have fewer digits.
_SMALLEST = np.finfo(np.float64).tiny
# Parameters that show in the fitted attributes, whose checksum is taken.
_DRAWN_FROM = ("n_features", "gamma", "random_state", "dtype")


class FeatureMap(RowsTransformer):
    """Base of all feature maps: a transformer that RPCA and RCCA can also feed chunk by chunk.

    A subclass draws its parameters in `_draw` and evaluates them in `_map`; `_fitted_arrays`
    names the fitted attributes with one row per feature, `_identifying_arrays` those that tell
    the map from others, if not the same.
    """

    _fitted_arrays: ClassVar[tuple[str, ...]] = ()
    _identifying_arrays: tuple[str, ...] | None = None

    offset_: Matrix
    n_features_in_: int
    _float64_: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map for data of X's width and scale; y is ignored."""
        view = View(X)
        check_columns(self, X)
        for start, stop in grid(0, len(view), _TRANSFORM_CHUNK):
            view.read(start, stop)
        drawn = copy(self).fit_view(view)
        assign(self, drawn, **vars(drawn))
        return self

    def fit_view(self, view: View) -> Self:
        """Draw the map for a view whose rows are checked when they are read.

        A map whose drawing fails is of no use, unlike after `fit`.
        """
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = view.shape[1]
        if view.columns is not None:
            self.feature_names_in_ = view.columns
        # Numbers out of range are refused with the first features.
        with np.errstate(over="ignore", invalid="ignore"):
            pilot = view.pilot_rows()
            # Subtracted before any cast to float32: data far from the origin lose no digits.
            self.offset_ = pilot.mean(axis=0, dtype=np.float64)
            self._draw(view)
            self._float64_ = self._loses_digits(pilot)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Evaluate the features of rows, of shape (n, m).

        They are float32 for float32 input, else float64, unless the map has a ``dtype``.
        """
        view = self._view_to_use(X)
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
        working = self._working_dtype(out.dtype)
        z = out if working == out.dtype else np.empty(out.shape, working)
        with np.errstate(over="ignore", invalid="ignore"):
            centred = np.subtract(rows, self.offset_, dtype=np.float64)
            self._map(centred.astype(working, copy=False), z)
            if z is not out:
                out[:] = z
        if not np.isfinite(out).all():
            self._refuse_overflow(rows, centred, working)

    @property
    def n_features_out(self) -> int:
        """Number of features m."""
        return len(getattr(self, self._fitted_arrays[0]))

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out

    @property
    def feature_dtype(self) -> np.dtype[Any]:
        """Type in which RPCA and RCCA evaluate the features."""
        return np.dtype(getattr(self, "dtype", None) or np.float64)

    def prefix(self, m: int) -> Self:
        """Return the fitted map of the first ``m`` features; shares memory with this one."""
        shorter = copy(self)
        for name in self._fitted_arrays:
            setattr(shorter, name, getattr(self, name)[:m])
        if getattr(self, "landmarks", None) is not None:
            shorter.landmarks = self.landmarks[:m]
        elif "n_features" in self.get_params(deep=False):
            shorter.n_features = m  # so that a clone, fitted again, has as many
        return shorter

    def fingerprint(self) -> str:
        """Checksum of the fitted map: equal exactly if the features are the same functions."""
        settings = {
            name: value
            for name, value in sorted(self.get_params(deep=False).items())
            if name not in _DRAWN_FROM and isinstance(value, bool | int | float | str)
        }
        scalars = (type(self).__name__, getattr(self, "gamma_", None), settings)
        digest = hashlib.sha256(repr(scalars).encode())
        for name in ("offset_", *(self._identifying_arrays or self._fitted_arrays)):
            array = np.ascontiguousarray(getattr(self, name))
            digest.update(f"{name}{array.dtype}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def _refuse_overflow(self, rows: FloatArray, centred: Matrix, working: np.dtype[Any]) -> None:
        remedy = "" if working == np.float64 else ', or use dtype="float64"'
        self._refuse_far(
            rows,
            centred,
            f"the features of a row leave the range of {working.name}; entries, their squares and "
            "their products with the map's weights must be numbers of that type",
            remedy,
        )

    def _refuse_far(
        self, rows: FloatArray, centred: Matrix, problem: str, remedy: str = ""
    ) -> None:
        """Name the entry that is furthest from the mean."""
        distance = np.nan_to_num(np.abs(centred), nan=np.inf)
        row, column = np.unravel_index(distance.argmax(), distance.shape)
        width = f" with gamma={self.gamma_:.3g}" if hasattr(self, "gamma_") else ""
        raise ValueError(
            f"{type(self).__name__}{width}: {problem}. There is {rows[row, column]:.6g} in column "
            f"{column}, {distance[row, column]:.3g} away from the mean. Rescale the data, drop "
            f"such rows{remedy}."
        )

    def _working_dtype(self, out: np.dtype[Any]) -> np.dtype[Any]:
        return np.dtype(np.float64) if self._float64_ else out

    def _loses_digits(self, pilot: FloatArray) -> bool:
        """Whether rows are so far from the offset that float32 loses the kernel's distances.

        If float64 loses them as well, the rows are refused. One row at 10^15 deviations is enough:
        it moves the offset far away from all others.
        """
        if not hasattr(self, "gamma_"):
            return False
        centred = pilot - self.offset_
        # Root mean square, in widths of the kernel.
        spread = np.sqrt(2.0 * self.gamma_ * np.square(centred).sum(axis=1).mean())
        if not np.finfo(np.float64).eps * spread <= _LOST:
            self._refuse_far(
                pilot, centred, "rounding hides the distances of neighbours, so far apart are rows"
            )
        return bool(np.finfo(np.float32).eps * spread > _LOST)

    def _draw(self, view: View) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError(f"{type(self).__name__} defines no _draw(view).")

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        """Write the features of centred rows ``x`` to ``out``."""
        raise NotImplementedError(f"{type(self).__name__} defines no _map(x, out).")

    def _check_n_features(self) -> int:
        return check_count(self.n_features, "n_features")

    def _stored_dtype(self) -> np.dtype[Any]:
        dtype = self.feature_dtype
        if dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype.name}: features are float32 or float64.")
        return dtype


def seeded(unfitted: FeatureMap, seed: int, dtype: Any) -> FeatureMap:
    """Copy a map, with a dtype, and with the seed unless it has one of its own."""
    own: FeatureMap = clone(unfitted).set_params(dtype=dtype)
    if "random_state" in own.get_params() and own.get_params()["random_state"] is None:
        own.set_params(random_state=seed)
    return own


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
    rows = view.take(np.concatenate([first, second]))
    difference = np.subtract(*np.split(rows, 2), dtype=np.float64)
    squared = np.einsum("ij,ij->i", difference, difference)
    positive = squared[squared > 0]
    if not positive.size:
        raise ValueError(
            f'gamma="median": {_MEDIAN_PAIRS} random pairs of rows of {view.name} are all '
            "identical, so no kernel width can be read off them. Give gamma as a number, or "
            "drop the constant view."
        )
    gamma = _inverse("median", 1.0, np.median(positive), view)
    rest = squared <= np.quantile(positive, _NO_OUTLIERS)
    _warn_of_scales(rest.astype(np.float64) @ np.square(difference, out=difference), view)
    return gamma


def _warn_of_scales(parts: Matrix, view: View) -> None:
    """Warn if most columns are lost in squared distances, of which ``parts`` are the columns'."""
    varying = np.sort(parts[parts > 0])
    lost = int((varying.cumsum() <= _UNSEEN * varying.sum()).sum())
    if 2 * lost >= max(len(varying), 1):
        warn(
            f"the columns of {view.name} differ much in scale: {lost} of {len(varying)} make up "
            f"less than {_UNSEEN:.1%} of the squared distances of rows, column {parts.argmax()} "
            f"alone {parts.max() / varying.sum():.1%}. A kernel of the median width hardly sees "
            "the others. Scale the columns first, as sklearn.preprocessing.StandardScaler does; "
            "if the scales are meant, give gamma as a number."
        )


def _inverse(name: str, factor: float, squared: Any, view: View) -> float:
    """Return factor / squared distance; refuse what is not a positive finite number."""
    with np.errstate(over="ignore", divide="ignore"):
        gamma = float(factor / squared)
    if not _SMALLEST <= gamma < np.inf:
        raise ValueError(
            f'gamma="{name}": the squared distances in {view.name} (median {squared:.3g}) leave '
            "the range of float64. Rescale the data."
        )
    return gamma


def local_gamma(view: View, rows: int, rng: np.random.Generator) -> float:
    """Kernel width 1/(2σ²) by the distances of neighbours among a sample of rows.

    σ is the median distance of a row to its k-th nearest neighbour in the sample, k = ⌈log rows⌉:
    about as many as keep the graph of neighbours connected.
    """
    rows = min(rows, len(view))
    if rows < 2:
        raise ValueError(
            f'gamma="local" needs neighbours, but {view.name} has n_samples = {len(view)}. Give at '
            "least 2 rows, or gamma as a number."
        )
    sample = view.take(rng.permutation(len(view))[:rows]).astype(np.float64)
    with np.errstate(over="ignore"):
        _inverse("local", 0.5, max(np.square(sample - sample[0]).sum(), 1.0), view)
    neighbours = NearestNeighbors(n_neighbors=int(np.ceil(np.log(rows)))).fit(sample)
    furthest = neighbours.kneighbors()[0][:, -1]
    if not furthest.any():  # most rows are repeated
        return _median_gamma(view, rng)
    return _inverse("local", 0.5, np.median(furthest[furthest > 0]) ** 2, view)


def resolve_gamma(gamma: Any, view: View, rng: np.random.Generator) -> float:
    """Return gamma as a number; "median" is read off the view."""
    if isinstance(gamma, str):
        if gamma != "median":
            raise ValueError(f'gamma={gamma!r}: give "median" or a number > 0.')
        return _median_gamma(view, rng)
    if not is_number(gamma) or gamma < _SMALLEST:
        raise ValueError(
            f"gamma={gamma!r:.40}: the kernel width of exp(-gamma ‖x − y‖²) must be a finite "
            f'number > 0 (at least {_SMALLEST:.3g}), or "median".'
        )
    return float(gamma)
