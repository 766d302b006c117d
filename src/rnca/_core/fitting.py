"""Fits by one pass over the rows, which leaves moments, and a solution of these."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from rnca._core.mapping import FeatureMapping, check_count, check_width, pair
from rnca._core.moments import Moments
from rnca._core.rows import FloatArray, View, check_at_least_two_rows
from rnca._core.seeding import seeds
from rnca._core.streaming import add_rows, exact_times
from rnca.features import FeatureMap

Matrix = npt.NDArray[np.float64]

CERTIFIED = 1e-5
"""Bound on the error of the result below which float32 products are taken."""

_PILOT_ROWS = 8192
_PILOT_FEATURES = 512
# A pass in vain costs more than float32 products save: so none is begun on a close call.
_PROMISING = 0.9


class MomentsFit(FeatureMapping, ABC):
    """Mixin: the pass over the rows, whose moments a solution is made of."""

    verbose: bool

    @abstractmethod
    def solve(self, moments: Moments) -> Self:
        """Solve for the components."""

    @property
    @abstractmethod
    def _maps(self) -> list[FeatureMap]:
        """The fitted maps, one per view."""

    def _fingerprint(self) -> str:
        return "-".join(fitted.fingerprint() for fitted in self._maps)

    def empty_moments(self) -> Moments:
        """Return moments of no rows yet, for the drawn maps: what shards are merged into."""
        sizes = [fitted.n_features_out for fitted in self._maps]
        return Moments(*sizes, features=self._fingerprint())

    def _moments_of_rows(
        self, views: Sequence[View], start: int, stop: int | None, precision: str = "float64"
    ) -> Moments:
        n = len(views[0])
        stop = n if stop is None else stop
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"rows {start}:{stop}: there are {n} rows. Take ranges from `shard_bounds`."
            )
        moments = self.empty_moments()
        self._add_rows(moments, views, start, stop, precision)
        return moments

    def _moments_of_stream(self, stream: Iterable[tuple[FloatArray, ...]]) -> Moments:
        moments = self.empty_moments()
        for parts in stream:
            views = [View(part, name) for part, name in zip(parts, "XY", strict=False)]
            self._add_rows(moments, views, 0, len(views[0]))
        return moments

    def _add_rows(
        self,
        moments: Moments,
        views: Sequence[View],
        start: int,
        stop: int,
        precision: str = "float64",
    ) -> None:
        """Add the features of rows ``start:stop`` of the views to ``moments``, chunk by chunk."""
        for view, fitted in zip(views, self._maps, strict=True):
            check_width(view, fitted)
        add_rows(
            moments,
            self._maps,
            views,
            start,
            stop,
            chunk_size=min(self._chunk_size(), stop - start),
            dtype=self._feature_dtype(),
            precision=precision,
            progress=self.verbose,
        )

    def _check_moments(self, moments: Moments) -> None:
        if moments.features != self._fingerprint():
            raise ValueError(
                "these moments belong to other features (other data, seed, width or map); "
                "accumulate them with this estimator's maps."
            )
        check_at_least_two_rows(moments.n, "X")

    def _check_has_moments(self) -> None:
        if not hasattr(self, "moments_"):
            raise ValueError(
                "path needs the moments of a fit in this process: pickled models leave them "
                "behind, and models of a path have none. Fit again, or keep Moments.save files."
            )

    def __getstate__(self) -> Any:
        # Moments serve `path` and can take gigabytes: a pickled model is one to deploy.
        state: Any = super().__getstate__()
        return {key: state[key] for key in state if key not in ("moments_", "_whitened")}


class CertifiedFit(MomentsFit):
    """Mixin: a pass with float32 products where their effect on the solution is small."""

    feature_map: Any
    n_features: Any
    gamma: Any
    random_state: Any
    accumulation: str
    n_components: int
    accumulation_error_: float

    @abstractmethod
    def _adopt(self, maps: Sequence[FeatureMap]) -> None:
        """Take fitted maps, one per view."""

    @abstractmethod
    def _float32_error(self, exact_times: Callable[[Matrix], Matrix]) -> float:
        """Estimate how far float32 products may have moved the result."""

    @property
    def _n_wanted(self) -> int:
        """How many eigenpairs or canonical variables a solution has."""
        return self.n_components

    def _fitted_maps(self, *views: View) -> list[FeatureMap]:
        """One fitted map per view; the second view's draw does not depend on the first's."""
        if self.accumulation not in ("auto", "float64"):
            raise ValueError(f'accumulation={self.accumulation!r}: give "auto" or "float64".')
        kinds = pair(self.feature_map, "feature_map")
        counts, gammas = pair(self.n_features, "n_features"), pair(self.gamma, "gamma")
        own_seeds = seeds(self.random_state, 2)
        return [
            self._unfitted_map(kind, count, gamma, seed).fit_view(view)
            for kind, count, gamma, seed, view in zip(
                kinds, counts, gammas, own_seeds, views, strict=False
            )
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

    def _fit_views(self, views: Sequence[View]) -> Self:
        """Make the pass over all rows and solve; in float32 where that is certified to do."""
        if self._float32_promises(views) and self._fit_certified(views, len(views[0])):
            return self
        self._forget()
        return self.solve(self._moments_of_rows(views, 0, None))

    def _fit_certified(self, views: Sequence[View], stop: int) -> bool:
        """Fit to rows ``0:stop`` with float32 products and tell whether they do."""
        self._forget()
        moments = self._moments_of_rows(views, 0, stop, "float32")
        try:
            self.solve(moments)
        except (ValueError, FloatingPointError):  # which float64 products may well avoid
            return False
        self.accumulation_error_ = self._float32_error(
            lambda vectors: exact_times(
                moments,
                self._maps,
                views,
                stop,
                vectors,
                chunk_size=self._chunk_size(),
                dtype=self._feature_dtype(),
            )
        )
        return self.accumulation_error_ <= CERTIFIED

    def _forget(self) -> None:
        """Drop the moments of an earlier pass before memory for new ones is taken."""
        for name in ("moments_", "_whitened"):
            self.__dict__.pop(name, None)

    def _float32_promises(self, views: Sequence[View]) -> bool:
        """Tell, from a small fit, whether float32 products are likely to be certified."""
        n, m = len(views[0]), min(fitted.n_features_out for fitted in self._maps)
        if (
            self.accumulation == "float64"
            or self._feature_dtype() == np.float64
            or n < 2 * _PILOT_ROWS
        ):
            return False
        size = min(m, max(_PILOT_FEATURES, 4 * self._n_wanted))
        pilot = clone(self).set_params(verbose=False)
        pilot._adopt([fitted.prefix(size) for fitted in self._maps])
        pilot._fit_certified(views, _PILOT_ROWS)
        if not hasattr(pilot, "accumulation_error_"):
            return False
        # Whitened rounding errors average out like n^-½ and were seen to grow like m.
        growth = (m / size) * (_PILOT_ROWS / n) ** 0.5
        return bool(pilot.accumulation_error_ * growth <= _PROMISING * CERTIFIED)

    def _check_size(self, m: Any, fitted: FeatureMap) -> None:
        check_count(m, "m in sizes")
        if m > fitted.n_features_out:
            raise ValueError(
                f"m={m} in sizes is beyond the fitted {fitted.n_features_out} features. Fit with "
                "n_features at least as large as the largest size."
            )

    def _hand_on_columns(self, model: "CertifiedFit") -> None:
        """Give a model of a path what scikit-learn notes about the columns of X."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
