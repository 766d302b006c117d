"""Estimators that draw maps, make one pass over the rows, and solve the moments it leaves."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca._core.estimators import (
    assign,
    check_columns,
    check_count,
    check_dtype,
    pair,
    single,
    warn,
)
from rnca._core.streaming import check_width, head_means, with_progress
from rnca.features import FEATURE_MAPS, FeatureMap, LinearFeatures
from rnca.features.base import seeded
from rnca.method import accumulate, draw
from rnca.moments import Moments
from rnca.rows import (
    View,
    check_at_least_two_rows,
    check_pair,
    grid,
    rechunk,
    view_of_columns,
)
from rnca.seeding import seeds

Chunk = TypeVar("Chunk")
Maps = Sequence[FeatureMap]


class FeatureFit(BaseEstimator):
    """Base of the estimators on random features of one view, or of two: draw, accumulate, solve.

    The steps compute values; `assign` then sets the fitted attributes, all at once. So a failed
    or interrupted call leaves the old model. Only the old moments, which `path` reads, are dropped
    before a new pass takes memory for its own.
    """

    _map_names: tuple[str, ...] = ("map_x_", "map_y_")  # one per view

    def _unfitted_maps(self) -> list[FeatureMap]:
        """Check the parameters, and build the map of each view."""
        raise NotImplementedError

    def _check_components(self, maps: Maps, n: int | None = None) -> None:
        """Refuse more components than features or, if n is known, than rows allow."""

    def _solution(self, maps: Maps, moments: Moments) -> dict[str, Any]:
        """Solve the moments of the features of the maps, for attributes by name."""
        raise NotImplementedError

    def _warn(self) -> None:
        """Warn of a fit whose results may mislead."""

    def _views(self, X: Any, y: Any = None) -> list[View]:
        """One view, or two of equal length."""
        views = [View(X, "X")]
        if len(self._map_names) == 2:
            views.append(view_of_columns(y, "y"))
            check_pair(*views)
            _warn_of_another_order(X, y)
        return views

    @property
    def _maps(self) -> list[FeatureMap]:
        """The fitted maps, one per view."""
        return [vars(self)[name] for name in self._map_names if name in vars(self)]

    def _assign(self, maps: Maps, **solution: Any) -> None:
        assign(self, maps[0], **dict(zip(self._map_names, maps, strict=True)), **solution)

    def _drawn(self, views: Sequence[View]) -> list[FeatureMap]:
        check_at_least_two_rows(len(views[0]), "X")
        maps = draw(self._unfitted_maps(), views)
        self._check_components(maps)
        return maps

    def _empty(self, maps: Maps, *, targets: bool = False) -> Moments:
        sizes = [fitted.n_features_out for fitted in maps]
        return Moments(*sizes, features=_fingerprint(maps), targets=targets)

    def empty_moments(self) -> Moments:
        """Return moments of no rows yet, for the drawn maps: what shards are merged into."""
        return self._empty(self._maps)

    def _added(
        self,
        moments: Moments,
        maps: Maps,
        views: Sequence[View],
        start: int,
        stop: int,
        *,
        progress: bool = True,
    ) -> Moments:
        """Add the features of rows ``start:stop`` of the views to ``moments``, chunk by chunk."""
        for view, fitted in zip(views, maps, strict=True):
            check_width(view, fitted)
        if moments.n == 0:
            moments.shift(*head_means(maps, views, start, stop))
        return accumulate(moments, maps, views, self._chunks(start, stop, progress=progress))

    def _chunks(self, start: int, stop: int, *, progress: bool = True) -> Iterable[tuple[int, int]]:
        chunks = list(grid(start, stop, check_count(self.chunk_size, "chunk_size")))
        return self._with_progress(chunks) if progress else chunks

    def _with_progress(self, chunks: Iterable[Chunk]) -> Iterable[Chunk]:
        return with_progress(chunks, type(self).__name__, self.verbose)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of one view, or of two views of the same samples.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, p)
        y : likewise, of shape (n, q) or (n,)
            The second view, or the targets; ignored by an estimator of one view.
        """
        views = self._views(X, y)
        check_columns(self, X)
        maps, n = self._drawn(views), len(views[0])
        self._check_components(maps, n)
        self._forget_moments()
        return self._solved(maps, self._added(self._empty(maps), maps, views, 0, n))

    def fit_chunks(self, chunks: Iterable[Any]) -> Self:
        """Fit to a stream of (x, y) chunks, or chunks of one view, of any lengths, read once.

        The stream's head, its first max(m, chunk_size) rows, gives the pilot means, median kernel
        widths and Nyström landmarks.
        """
        names = "Xy"[: len(self._map_names)]
        parts = chunks if len(names) == 2 else ((chunk,) for chunk in chunks)
        stream = rechunk(parts, head_rows(self), names)
        head = next(stream)
        maps = self._drawn(head)
        self._forget_moments()
        moments = self._empty(maps)
        for views in self._with_progress(chain([head], stream)):
            self._added(moments, maps, views, 0, len(views[0]), progress=False)
        return self._solved(maps, moments)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to the fit, and solve anew.

        The first call draws the maps from its rows: give it as many rows as features, or more.
        Equals `fit_chunks` if these are its head. Fits by `fit` and `fit_chunks` grow as well.
        Each call costs a solution, m³ steps, and memory for a copy of the moments: if no model is
        needed in between, `fit_chunks` solves once.

        Parameters
        ----------
        X : array-like of shape (rows, p)
        y : array-like of shape (rows, q) or (rows,), ignored by an estimator of one view
        """
        views, maps = self._views(X, y), self._maps
        if maps:
            self._check_has_moments("partial_fit")
            validate_data(self, X, reset=False, skip_check_array=True)
            moments = self._empty(maps).merge(self.moments_)
        else:
            check_columns(self, X)
            maps = self._drawn(views)
            moments = self._empty(maps)
        return self._solved(maps, self._added(moments, maps, views, 0, len(views[0])))

    def draw(self, X: Any, y: Any = None) -> Self:
        """Draw the feature maps (widths, weights, landmarks) without a pass over the data.

        First of the three steps of `fit`, for passes split over processes: every process draws
        the same maps from the same data and an integer ``random_state``. A sample of the rows
        suffices, if reading them all is expensive. A model that was fitted is then no longer
        fitted.
        """
        views = self._views(X, y)
        check_columns(self, X)
        self._assign(self._drawn(views))
        return self

    def accumulate(self, X: Any, y: Any = None, start: int = 0, stop: int | None = None) -> Moments:
        """Accumulate the moments of the features of rows ``start:stop``.

        Second step of `fit`. Ranges that `shard_bounds` gives, merged in order,
        agree with one pass.
        """
        check_is_fitted(self, self._map_names[0])
        views = self._views(X, y)
        n = len(views[0])
        stop = n if stop is None else stop
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"rows {start}:{stop}: there are {n} rows. Take ranges from `shard_bounds`."
            )
        return self._added(self.empty_moments(), self._maps, views, start, stop)

    def solve(self, moments: Moments) -> Self:
        """Solve for the components: third step of `fit`.

        Parameters
        ----------
        moments : Moments
            Of the maps of this estimator. Kept as ``moments_``.
        """
        check_is_fitted(self, self._map_names[0])
        return self._solved(self._maps, moments)

    def _solved(self, maps: Maps, moments: Moments, *, warn: bool = True) -> Self:
        if moments.features != _fingerprint(maps):
            raise ValueError(
                "these moments belong to other features (other data, seed, width or map); "
                "accumulate them with this estimator's maps."
            )
        check_at_least_two_rows(moments.n, "X")
        self._check_components(maps, moments.n)
        self._assign(maps, **self._solution(maps, moments), moments_=moments)
        if warn:
            self._warn()
        return self

    def _forget_moments(self) -> None:
        """Drop the moments of an earlier pass before memory for new ones is taken."""
        for name in {"moments_", "_whitened_"} & vars(self).keys():
            delattr(self, name)

    def _check_has_moments(self, method: str = "path") -> None:
        if not hasattr(self, "moments_"):
            raise ValueError(
                f"{method} needs the moments of a fit in this process: pickled models leave them "
                "behind, and models of a path have none. Fit again, or keep Moments.save files."
            )

    def __getstate__(self) -> Any:
        # Moments serve `path` and can take gigabytes: a pickled model is one to deploy.
        state: Any = super().__getstate__()
        return {key: state[key] for key in state if key not in ("moments_", "_whitened_")}

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(vars(self))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(deepcopy(vars(self), memo))
        return copied


def unfitted_maps(model: Any, views: int = 2) -> list[FeatureMap]:
    """Build the maps that the parameters of an estimator of one or two views describe.

    The second view's draw does not depend on the first's.
    """
    split = pair if views == 2 else lambda value, name: (single(value, name),)
    names = ("feature_map", "n_features", "gamma")
    parameters = zip(*(split(getattr(model, name), name) for name in names), strict=True)
    return [
        unfitted_map(kind, count, gamma, seed, model.dtype)
        for (kind, count, gamma), seed in zip(
            parameters, seeds(model.random_state, 2), strict=False
        )
    ]


def unfitted_map(kind: Any, count: Any, gamma: Any, seed: int, dtype: Any) -> FeatureMap:
    """Build the map that parameters describe.

    Linear features are float64 unless the instance says otherwise: they cost no cosines, and
    the covariances of data can be ill-conditioned. So are "whitened" ones: float32 would hide
    small values of the kernel matrix.
    """
    dtype = check_dtype(dtype)
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
    if kind == "whitened":
        dtype = np.dtype(np.float64)
    return FEATURE_MAPS[kind](count, gamma=gamma, random_state=seed, dtype=dtype)


def head_rows(model: Any) -> int:
    """Return how many rows of a stream the maps of an estimator are drawn from."""
    kinds, counts = pair(model.feature_map, "feature_map"), pair(model.n_features, "n_features")
    wanted = [
        kind.n_features if isinstance(kind, FeatureMap) else count
        for kind, count in zip(kinds, counts, strict=True)
    ]
    # Anything but an integer is refused, or ignored, when the maps are drawn.
    numbers = [int(m) for m in wanted if isinstance(m, int | np.integer)]
    return max(check_count(model.chunk_size, "chunk_size"), *numbers, 0)


def check_components(k: Any, what: str, maps: Maps, n: int | None) -> None:
    """Refuse more components than features or, if n is known, than rows allow."""
    sizes = [fitted.n_features_out for fitted in maps]
    limit = min(sizes) if n is None else min(*sizes, n - 1)
    if check_count(k, "n_components") > limit:
        rows = "" if n is None else f" and n_samples = {n}"
        raise ValueError(
            f"n_components={k}: with {' and '.join(map(str, sizes))} features{rows} there are at "
            f"most {limit} {what}."
        )


def check_size(m: Any, fitted: FeatureMap) -> int:
    """Refuse more features than there are in a fit."""
    if check_count(m, "m in sizes") > fitted.n_features_out:
        raise ValueError(
            f"m={m} in sizes is beyond the fitted {fitted.n_features_out} features. Fit with "
            "n_features at least as large as the largest size."
        )
    return int(m)


def shortened(kind: Any, prefix: FeatureMap) -> Any:
    """Return the ``feature_map`` of a model of a path: it gives ``prefix`` with n_features = m."""
    if isinstance(kind, str) and kind != "linear":
        return kind
    own = clone(prefix)
    if not isinstance(kind, str) and "random_state" in own.get_params():
        own.set_params(random_state=kind.random_state)
    return own


def _warn_of_another_order(X: Any, y: Any) -> None:
    """Warn of two data frames whose rows have the same labels in different orders."""
    labels: list[Any] = [getattr(frame, "index", None) for frame in (X, y)]
    if not all(hasattr(of_rows, "get_indexer") for of_rows in labels):
        return
    x_labels, y_labels = labels
    if x_labels.equals(y_labels) or not (x_labels.is_unique and y_labels.is_unique):
        return
    if (x_labels.get_indexer(y_labels) >= 0).all():
        warn(
            "the rows of X and y have the same labels (their index) in different orders, but are "
            "paired by position. If equal labels are the same sample, give y.loc[X.index]."
        )


def _fingerprint(maps: Maps) -> str:
    return "-".join(fitted.fingerprint() for fitted in maps)
