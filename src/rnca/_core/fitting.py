"""Fits by one pass over the rows, which leaves moments, and a solution of these."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from rnca._core.blas import over_row_blocks
from rnca._core.estimators import check_count, check_reg, pair, single, unfitted_copy
from rnca._core.moments import Moments
from rnca._core.rows import (
    FloatArray,
    Matrix,
    View,
    check_at_least_two_rows,
    check_pair,
    check_same_columns,
    grid,
    view_of_columns,
)
from rnca._core.seeding import seeds
from rnca.features import FEATURE_MAPS, FeatureMap, LinearFeatures
from rnca.features.base import seeded

Chunk = TypeVar("Chunk")

# Rows whose mean the sums are taken about.
_HEAD = 256
# Seconds after which a pass shows its progress on a terminal, also without ``verbose``.
_PATIENCE = 10
# What `draw` leaves; everything else that is fitted belongs to a solution.
DRAWN = ("map_", "map_x_", "map_y_", "n_features_in_", "feature_names_in_", "_one_column_")


class FeatureFit(BaseEstimator):
    """Base of the estimators on random features: draws maps, makes the pass, projects rows.

    A fit is made on an unfitted copy, whose state then replaces the old one by a single
    assignment: a failed or interrupted fit leaves the old model, never a mixture. Only the old
    moments, which `path` reads, are dropped before a new pass takes memory for its own.
    """

    n_components: int
    feature_map: Any
    n_features: Any
    gamma: Any
    random_state: Any
    chunk_size: int
    dtype: Any
    verbose: bool = False

    # What its components are called; empty for an estimator without n_components.
    _components = ""
    # Whether the second view is to be regressed on the first.
    _targets = False

    def _draw_maps(self, *views: View) -> None:
        """Check the parameters, and draw the maps of views."""
        raise NotImplementedError

    def _warn(self) -> None:
        """Warn of a fit whose results may mislead."""

    def _set_solution(self, moments: Moments) -> None:
        """Set the fitted attributes that follow from the moments of the drawn maps."""
        raise NotImplementedError

    @property
    def _maps(self) -> list[FeatureMap]:
        """The fitted maps, one per view."""
        return [vars(self)[name] for name in ("map_", "map_x_", "map_y_") if name in vars(self)]

    def _views(self, X: Any, *second: Any) -> list[View]:
        views = [View(X, "X"), *(view_of_columns(y, "y") for y in second)]
        check_pair(views[0], views[-1])
        return views

    def _draw(self, *data: Any) -> list[View]:
        """Check the data of each view, and draw the maps."""
        views = self._views(*data)
        validate_data(self, data[0], skip_check_array=True)
        self._draw_maps(*views)
        return views

    def _check_components(self, n: int | None) -> None:
        """Refuse more components than features or, if n is known, than rows allow."""
        if not self._components:
            return
        check_count(self.n_components, "n_components")
        sizes = [fitted.n_features_out for fitted in self._maps]
        limit = min(sizes) if n is None else min(*sizes, n - 1)
        if self.n_components > limit:
            rows = "" if n is None else f" and n_samples = {n}"
            raise ValueError(
                f"n_components={self.n_components}: with {' and '.join(map(str, sizes))} "
                f"features{rows} there are at most {limit} {self._components}."
            )

    def empty_moments(self) -> Moments:
        """Return moments of no rows yet, for the drawn maps: what shards are merged into."""
        sizes = [fitted.n_features_out for fitted in self._maps]
        return Moments(*sizes, features=self._fingerprint(), targets=self._targets)

    def _fingerprint(self) -> str:
        return "-".join(fitted.fingerprint() for fitted in self._maps)

    def _chunk_size(self) -> int:
        check_count(self.chunk_size, "chunk_size")
        return int(self.chunk_size)

    def _feature_dtype(self) -> np.dtype[Any]:
        if self.dtype not in ("float32", "float64", np.float32, np.float64):
            raise ValueError(f'dtype={self.dtype!r}: features are "float32" or "float64".')
        dtype: np.dtype[Any] = np.dtype(self.dtype)
        return dtype

    def _regs(self, reg: Any) -> tuple[float, float]:
        """Check the regularisers of the two views."""
        reg_x, reg_y = pair(reg, "reg")
        return check_reg(reg_x), check_reg(reg_y)

    def _unfitted_map(self, kind: Any, count: Any, gamma: Any, seed: int) -> FeatureMap:
        """Build the map that parameters describe.

        Linear features are float64 unless the instance says otherwise: they cost no cosines, and
        the covariances of data can be ill-conditioned.
        """
        dtype = self._feature_dtype()
        if isinstance(kind, FeatureMap):
            is_linear = isinstance(kind, LinearFeatures)
            return seeded(kind, seed, (kind.dtype or np.float64) if is_linear else dtype)
        if not isinstance(kind, str) or kind not in FEATURE_MAPS:
            raise ValueError(
                f"feature_map={kind!r}: give one of {', '.join(map(repr, FEATURE_MAPS))}, an "
                "instance of a feature map, or a pair of these."
            )
        if kind == "linear":
            return LinearFeatures(dtype=np.float64)
        return FEATURE_MAPS[kind](count, gamma=gamma, random_state=seed, dtype=dtype)

    def _fitted_maps(self, *views: View) -> list[FeatureMap]:
        """One fitted map per view; the second view's draw does not depend on the first's."""
        split = pair if len(views) == 2 else lambda value, name: (single(value, name),)
        names = ("feature_map", "n_features", "gamma")
        parameters = zip(*(split(getattr(self, name), name) for name in names), strict=True)
        own_seeds = seeds(self.random_state, 2)
        check_at_least_two_rows(len(views[0]), "X")
        self.n_features_in_ = views[0].shape[1]
        if views[0].columns is not None:
            self.feature_names_in_ = views[0].columns
        return [
            self._unfitted_map(kind, count, gamma, seed).fit_view(view)
            for (kind, count, gamma), seed, view in zip(parameters, own_seeds, views, strict=False)
        ]

    def _head_rows(self) -> int:
        """How many rows of a stream the maps are drawn from."""
        kinds, counts = pair(self.feature_map, "feature_map"), pair(self.n_features, "n_features")
        wanted = [
            kind.n_features if isinstance(kind, FeatureMap) else count
            for kind, count in zip(kinds, counts, strict=True)
        ]
        # Anything but an integer is refused, or ignored, when the maps are drawn.
        return max(
            self._chunk_size(), *(int(m) if isinstance(m, int | np.integer) else 0 for m in wanted)
        )

    def _fit_rows(self, *data: Any) -> Self:
        """Draw the maps, make the pass over all rows and solve."""
        fresh = unfitted_copy(self)
        views = fresh._draw(*data)
        fresh._check_components(len(views[0]))
        self._forget_moments()
        return self._become(fresh, fresh._moments_of_rows(views, 0, None))

    def _fit_stream(self, stream: Iterator[list[View]]) -> Self:
        """Draw the maps from the first chunk of a stream, make the pass over it and solve."""
        fresh = unfitted_copy(self)
        head = next(stream)
        fresh._draw_maps(*head)
        self._forget_moments()
        moments = fresh.empty_moments()
        for views in fresh._with_progress(chain([head], stream)):
            fresh._add_rows(moments, views, 0, len(views[0]), progress=False)
        return self._become(fresh, moments)

    def _fit_part(self, *data: Any) -> Self:
        """Add rows to a copy of the moments, and solve anew; the first rows draw the maps."""
        views = self._views(*data)
        grown = bool(self._maps)
        if grown:
            self._check_has_moments("partial_fit")
        fresh = unfitted_copy(self, keep=DRAWN if grown else ())
        validate_data(fresh, data[0], reset=not grown, skip_check_array=True)
        if not grown:
            fresh._draw_maps(*views)
        moments = fresh.empty_moments()
        if grown:
            moments.merge(self.moments_)
        fresh._add_rows(moments, views, 0, len(views[0]))
        return self._become(fresh, moments)

    def _become(self, fresh: Self, moments: Moments) -> Self:
        """Solve in the copy, and take its state."""
        fresh._solve(moments)
        self.__dict__ = fresh.__dict__
        self._warn()
        return self

    def _draw_again(self, *data: Any) -> Self:
        fresh = unfitted_copy(self)
        fresh._draw(*data)
        self.__dict__ = fresh.__dict__
        return self

    def solve(self, moments: Moments) -> Self:
        """Solve for the components: third step of `fit`.

        Parameters
        ----------
        moments : Moments
            Of the maps of this estimator. Kept as ``moments_``.
        """
        check_is_fitted(self, ["map_", "map_x_"], all_or_any=any)
        return self._become(unfitted_copy(self, keep=DRAWN), moments)

    def _forget_moments(self) -> None:
        """Drop the moments of an earlier pass before memory for new ones is taken."""
        for name in ("moments_", "_whitened_"):
            self.__dict__.pop(name, None)

    def _moments_of_rows(self, views: Sequence[View], start: int, stop: int | None) -> Moments:
        n = len(views[0])
        stop = n if stop is None else stop
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"rows {start}:{stop}: there are {n} rows. Take ranges from `shard_bounds`."
            )
        moments = self.empty_moments()
        self._add_rows(moments, views, start, stop)
        return moments

    def _add_rows(
        self,
        moments: Moments,
        views: Sequence[View],
        start: int,
        stop: int,
        *,
        progress: bool = True,
    ) -> None:
        """Add the features of rows ``start:stop`` of the views to ``moments``, chunk by chunk."""
        for view, fitted in zip(views, self._maps, strict=True):
            check_width(view, fitted)
        if moments.n == 0:
            moments.shift(*self._head_means(views, start, stop))
        for _, z in self._feature_chunks(views, moments.shifts, start, stop, progress=progress):
            moments.add_centred(*z)  # zᵀz for the covariances of Sections 3 and 4
        moments.refuse_overflow()

    def _head_means(self, views: Sequence[View], start: int, stop: int) -> list[Matrix]:
        """Mean features of the first rows, per view: what sums are taken about."""
        heads = [view.read(start, min(start + _HEAD, stop)) for view in views]
        return [
            centred_features(fitted, head, 0.0).mean(axis=0)
            for fitted, head in zip(self._maps, heads, strict=True)
        ]

    def _with_progress(self, chunks: Iterable[Chunk]) -> Iterable[Chunk]:
        """Show the progress over chunks: with ``verbose``, or on a terminal if it takes long."""
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        shown: Iterable[Chunk] = tqdm(
            chunks,
            f"{type(self).__name__}: rows",
            unit="chunk",
            delay=0 if self.verbose else _PATIENCE,
            disable=not (self.verbose or is_terminal),
        )
        return shown

    def _feature_chunks(
        self,
        views: Sequence[View],
        shifts: Sequence[Matrix],
        start: int,
        stop: int,
        *,
        progress: bool = True,
    ) -> Iterator[tuple[slice, list[Matrix]]]:
        """Yield the rows of each chunk and the features of each view less its shift.

        The features are in memory that the next chunk overwrites.
        """
        size, maps = self._chunk_size(), self._maps
        # Kept over the pass: new pages for each chunk would cost a tenth of it.
        buffers = [feature_buffers(fitted, min(size, stop - start)) for fitted in maps]
        chunks = list(grid(start, stop, size))
        for low, high in self._with_progress(chunks) if progress else chunks:
            yield (
                slice(low, high),
                [
                    centred_features(fitted, view.read(low, high), shift, buffer)
                    for view, fitted, shift, buffer in zip(
                        views, maps, shifts, buffers, strict=True
                    )
                ],
            )

    def _solve(self, moments: Moments) -> None:
        if moments.features != self._fingerprint():
            raise ValueError(
                "these moments belong to other features (other data, seed, width or map); "
                "accumulate them with this estimator's maps."
            )
        check_at_least_two_rows(moments.n, "X")
        self._set_solution(moments)
        self.moments_ = moments

    def _check_has_moments(self, method: str = "path") -> None:
        if not hasattr(self, "moments_"):
            raise ValueError(
                f"{method} needs the moments of a fit in this process: pickled models leave them "
                "behind, and models of a path have none. Fit again, or keep Moments.save files."
            )

    def _check_size(self, m: Any, fitted: FeatureMap) -> None:
        check_count(m, "m in sizes")
        if m > fitted.n_features_out:
            raise ValueError(
                f"m={m} in sizes is beyond the fitted {fitted.n_features_out} features. Fit with "
                "n_features at least as large as the largest size."
            )

    def _projected_chunks(
        self, view: View, fitted: FeatureMap, mean: Matrix, basis: Matrix
    ) -> Iterator[Matrix]:
        """Features less their training mean, times a basis, chunk by chunk in float64."""
        check_width(view, fitted)
        for low, high in grid(0, len(view), self._chunk_size()):
            yield centred_features(fitted, view.read(low, high), mean) @ basis

    def _projected(
        self,
        view: View,
        fitted: FeatureMap,
        mean: Matrix,
        basis: Matrix,
        out: FloatArray | None = None,
    ) -> FloatArray:
        shape = len(view), basis.shape[1]
        if out is None:
            out = np.empty(shape, view.read(0, 1).dtype)
        form = getattr(out, "shape", None), getattr(out, "dtype", None)
        if form[0] != shape or form[1] not in (np.float32, np.float64):
            raise ValueError(
                f"out for {view.name} has shape {form[0]} and dtype {form[1]}: give an array of "
                f"shape {shape} and dtype float32 or float64."
            )
        filled = 0
        for projected in self._projected_chunks(view, fitted, mean, basis):
            out[filled : filled + len(projected)] = projected
            filled += len(projected)
        return out

    def __getstate__(self) -> Any:
        # Moments serve `path` and can take gigabytes: a pickled model is one to deploy.
        state: Any = super().__getstate__()
        return {key: state[key] for key in state if key not in ("moments_", "_whitened_")}

    def __copy__(self) -> Self:
        return unfitted_copy(self, keep=tuple(vars(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = copy(self)
        copied.__dict__ = deepcopy(self.__dict__, memo)
        return copied


class TwoViewFit(FeatureFit):
    """Base of the fits to rows of X and y."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to two views of the same samples.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, p)
        y : likewise, of shape (n, q) or (n,)
            The second view, or the targets.
        """
        return self._fit_rows(X, y)

    def draw(self, X: Any, y: Any) -> Self:
        """Draw the feature maps (widths, weights, landmarks) without a pass over the data.

        First of the three steps of `fit`, for passes split over processes: every process draws
        the same maps from the same data and an integer ``random_state``. A sample of the rows
        suffices, if reading them all is expensive. A model that was fitted is then no longer
        fitted.
        """
        return self._draw_again(X, y)

    def accumulate(self, X: Any, y: Any, start: int = 0, stop: int | None = None) -> Moments:
        """Accumulate the moments of the features of rows ``start:stop``.

        Second step of `fit`. Ranges that `shard_bounds` gives, merged in order,
        agree with one pass.
        """
        check_is_fitted(self, ["map_", "map_x_"], all_or_any=any)
        return self._moments_of_rows(self._views(X, y), start, stop)


def shortened(kind: Any, prefix: FeatureMap) -> Any:
    """Return the ``feature_map`` of a model of a path: it gives ``prefix`` with n_features = m."""
    if isinstance(kind, str) and kind != "linear":
        return kind
    own = clone(prefix)
    if not isinstance(kind, str) and "random_state" in own.get_params():
        own.set_params(random_state=kind.random_state)
    return own


def check_width(view: View, fitted: Any) -> None:
    """Refuse a view whose columns are not those the map was fitted to, in number or by name."""
    columns = getattr(fitted, "feature_names_in_", None)
    check_same_columns(view, fitted.n_features_in_, columns, "the map was fitted to")


def centred_features(
    fitted: FeatureMap,
    rows: FloatArray,
    shift: Matrix | float,
    buffers: tuple[FloatArray, Matrix] | None = None,
) -> Matrix:
    """Features of checked rows less a shift, in float64; into the buffers, if there are any."""
    z, centred = buffers or feature_buffers(fitted, len(rows))
    z, centred = z[: len(rows)], centred[: len(rows)]
    fitted.features(rows, z)  # Eq. 4
    over_row_blocks(lambda block: np.subtract(z[block], shift, out=centred[block]), len(rows))
    return centred


def feature_buffers(fitted: FeatureMap, rows: int) -> tuple[FloatArray, Matrix]:
    """Memory for the features of so many rows, as they are and in float64."""
    shape = (rows, fitted.n_features_out)
    return np.empty(shape, fitted.feature_dtype), np.empty(shape)
