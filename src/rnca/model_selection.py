"""Choice of the number of features and the regulariser by cross-validation from one pass."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from rnca._core.estimators import RowsMixin, check_count, pair
from rnca._core.moments import Correlations, Moments
from rnca._core.rows import Matrix, View
from rnca._core.whitening import Whitened
from rnca.cca import RCCA
from rnca.features import LinearFeatures

Bases = list[tuple[Matrix, Matrix]]

# Of two rows every correlation is 1 or -1.
_FEWEST_ROWS = 3


class RCCACV(RowsMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """RCCA with the number of features m and ``reg`` chosen by cross-validation.

    The products of the features are computed once: moments of each fold merge into the moments of
    every training set, and one more pass evaluates the features to score all candidates. The cost
    is that of one fit, one transform, and a factorisation for each fold and ``reg``. Memory is
    24·m²·(folds + 3) bytes for the largest m, whatever the number of rows.

    Feature maps (pilot means, kernel widths, landmarks) are drawn once from all rows, those held
    out too, without their pairing; a hand-written loop with the same maps gives the same scores.

    Parameters
    ----------
    n_components : int, default=50
        Number of canonical variables.
    sizes : sequence of int or (m_x, m_y) pairs, default=(250, 500, 1000)
        Numbers of features to try; linear features always have one per column.
    regs : sequence of float or pairs, default=(1e-8, 1e-6, 1e-4, 1e-2)
        Regularisers to try.
    cv : int or scikit-learn splitter, default=5
        Must hold out each row once. An int cuts the rows, in their order, into so many folds, or
        with ``groups`` into folds of whole groups.
    feature_map, gamma, random_state, chunk_size, dtype, verbose : as in `RCCA`

    Attributes
    ----------
    scores_ : ndarray of shape (folds, regs, sizes)
        Sum over components of the absolute correlation on the held-out rows. NaN where the
        covariances of a training set are too ill-conditioned for a solution.
    mean_scores_, standard_errors_ : ndarray of shape (regs, sizes)
        Over the folds.
    best_size_, best_reg_, best_score_
        The candidate of largest mean score.
    best_regs_ : list
        The best ``reg`` of each size.
    best_estimator_ : RCCA
        Of all rows, by merging the folds.
    sizes_ : list
        The sizes tried.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import RCCACV
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-2, 2, size=500)
    >>> X = np.column_stack([t**2, rng.normal(size=500)])
    >>> Y = np.column_stack([np.sin(3 * t), rng.normal(size=500)])
    >>> search = RCCACV(1, sizes=(20, 100), regs=(1e-6, 1e-2), random_state=0).fit(X, Y)
    >>> search.scores_.shape
    (5, 2, 2)
    >>> search.best_size_
    100
    """

    def __init__(
        self,
        n_components: int = 50,
        *,
        sizes: Sequence[Any] = (250, 500, 1000),
        regs: Sequence[Any] = (1e-8, 1e-6, 1e-4, 1e-2),
        cv: Any = 5,
        feature_map: Any = "fourier",
        gamma: Any = "median",
        random_state: Any = None,
        chunk_size: int = 2048,
        dtype: Any = "float32",
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.sizes = sizes
        self.regs = regs
        self.cv = cv
        self.feature_map = feature_map
        self.gamma = gamma
        self.random_state = random_state
        self.chunk_size = chunk_size
        self.dtype = dtype
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Score all candidates, and fit the best one to all rows.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, p)
        y : likewise, of shape (n, q) or (n,)
            The second view.
        groups : array-like of shape (n,), optional
            Samples of one group are held out together.
        """
        full = self._unfitted().draw(X, y)
        views, sizes = full._views(X, y), self._resolved_sizes(full)
        fold_of_row = self._fold_of_rows(full, len(views[0]), groups)
        moments = _moments_of_folds(full, views, fold_of_row)
        bases = [
            self._bases(full, _merged(full, moments, without=fold), sizes)
            for fold in range(len(moments))
        ]
        full.moments_ = _merged(full, moments)
        del moments
        scores = self._scores(full, views, fold_of_row, sizes, bases)
        mean = scores.mean(axis=0)
        if np.isnan(mean).all():
            raise ValueError(
                f"regs={self.regs!r}: the covariances are too ill-conditioned for all of these. "
                'Add larger ones, use fewer features, or dtype="float64".'
            )
        reg, size = (int(at) for at in np.unravel_index(np.nanargmax(mean), mean.shape))
        (best,) = full.path([sizes[size]], [self.regs[reg]])
        self.scores_, self.mean_scores_, self._full_ = scores, mean, full
        self.standard_errors_ = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
        self.sizes_ = [m_x if m_x == m_y else (m_x, m_y) for m_x, m_y in sizes]
        self.best_size_, self.best_reg_ = self.sizes_[size], self.regs[reg]
        self.best_score_, self.best_estimator_ = float(mean[reg, size]), best
        ranked = np.where(np.isnan(mean), -np.inf, mean).argmax(axis=0)
        self.best_regs_ = [self.regs[each] for each in ranked]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(full, name):
                setattr(self, name, getattr(full, name))
        return self

    def path(self, sizes: Sequence[Any], regs: Sequence[Any]) -> list[RCCA]:
        """Models of all rows at other m and reg, without a pass: as `RCCA.path`."""
        check_is_fitted(self, "best_estimator_")
        return self._full_.path(sizes, regs)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Canonical variables by the best model: as `RCCA.transform`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.transform(X, y)

    def component_correlations(self, X: Any, y: Any) -> Matrix:
        """Correlation of each pair of canonical variables: as `RCCA.component_correlations`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.component_correlations(X, y)

    def score(self, X: Any, y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows."""
        return float(np.abs(self.component_correlations(X, y)).sum())

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean scores against m, one line per reg, with standard errors.

        Returns
        -------
        matplotlib Axes
        """
        from matplotlib import pyplot

        check_is_fitted(self, "best_estimator_")
        ax = pyplot.subplots()[1] if ax is None else ax
        at = [pair(size, "sizes")[0] for size in self.sizes_]
        for reg, mean, error in zip(
            self.regs, self.mean_scores_, self.standard_errors_, strict=True
        ):
            ax.errorbar(at, mean, error, marker="o", capsize=2, label=f"reg = {reg}")
        ax.set(xlabel="number of features m", ylabel="held-out sum of |correlation|")
        ax.legend()
        return ax

    def _unfitted(self) -> RCCA:
        """Build RCCA at the largest size of each view."""
        for name in ("sizes", "regs"):
            if len(getattr(self, name)) == 0:
                raise ValueError(f"{name} is empty: give at least one value to try.")
        pairs = [pair(size, "sizes") for size in self.sizes]
        for m in (m for size in pairs for m in size):
            check_count(m, "m in sizes")
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in own if name not in ("sizes", "regs", "cv")}
        full = RCCA(n_features=tuple(max(ms) for ms in zip(*pairs, strict=True)), **shared)
        for reg in self.regs:
            full._regs(reg)
        return full

    def _resolved_sizes(self, full: RCCA) -> list[tuple[int, int]]:
        """Sizes as pairs, without repetition; linear features are as many as columns."""
        linear = [
            fitted.n_features_out if isinstance(fitted, LinearFeatures) else None
            for fitted in full._maps
        ]
        sizes = []
        for size in self.sizes:
            m_x, m_y = (all_ or m for all_, m in zip(linear, pair(size, "sizes"), strict=True))
            sizes.append(full._check_sizes((m_x, m_y)))
            if self.n_components > min(m_x, m_y):
                raise ValueError(
                    f"n_components={self.n_components} is more than the {min(m_x, m_y)} features "
                    f"of size {size!r} in sizes. Ask for fewer components or more features."
                )
        return list(dict.fromkeys(sizes))

    def _fold_of_rows(self, full: RCCA, n: int, groups: Any) -> npt.NDArray[np.int64]:
        """Return the fold in which each row is held out."""
        whole_groups = groups is not None and isinstance(self.cv, int)
        splitter = GroupKFold(self.cv) if whole_groups else check_cv(self.cv)
        fold_of_row = np.full(n, -1)
        for fold, (train, test) in enumerate(splitter.split(np.empty((n, 1)), None, groups)):
            if (fold_of_row[test] >= 0).any() or len(train) + len(test) != n:
                fold_of_row[0] = -1
                break
            if len(test) < _FEWEST_ROWS:
                raise ValueError(
                    f"fold {fold} of cv={self.cv!r} holds out {len(test)} row(s): a correlation "
                    f"needs at least {_FEWEST_ROWS}. Use fewer folds, larger groups or more rows."
                )
            fold_of_row[test] = fold
            full._check_components(len(train))
        if (fold_of_row < 0).any():
            raise ValueError(
                f"cv={self.cv!r} does not hold out each row once and train on all others. Give an "
                "integer or a splitter such as KFold, GroupKFold or LeaveOneGroupOut."
            )
        return fold_of_row

    def _bases(self, full: RCCA, train: Moments, sizes: list[tuple[int, int]]) -> Bases:
        """Solve for every reg at each size: canonical bases side by side, NaN if that fails."""
        k = self.n_components
        bases = [tuple(np.full((m, len(self.regs), k), np.nan) for m in size) for size in sizes]
        for i, reg in enumerate(self.regs):
            try:
                whitened = Whitened(train, *full._regs(reg))
                # Smaller ones first: they may have a solution where larger ones have none.
                for at in sorted(range(len(sizes)), key=sizes.__getitem__):
                    F, G = bases[at]
                    _, F[:, i], G[:, i] = full._canonical(whitened, *sizes[at])
            except (ValueError, FloatingPointError) as error:
                warnings.warn(f"a score is NaN, with reg={reg}: {error}", stacklevel=3)
        return [(F.reshape(len(F), -1), G.reshape(len(G), -1)) for F, G in bases]

    def _scores(
        self,
        full: RCCA,
        views: Sequence[View],
        fold_of_row: npt.NDArray[np.int64],
        sizes: list[tuple[int, int]],
        bases: list[Bases],
    ) -> Matrix:
        """Score all candidates on the rows of each fold, in one pass of features."""
        found = [[Correlations() for _ in sizes] for _ in bases]
        means = [full.moments_.mean(view) for view in range(2)]
        for fold, (zx, zy) in _chunks_by_fold(full, views, means, fold_of_row):
            for (m_x, m_y), (F, G), correlations in zip(
                sizes, bases[fold], found[fold], strict=True
            ):
                correlations.update(zx[:, :m_x] @ F, zy[:, :m_y] @ G)
        values = np.array([[each.values() for each in row] for row in found])
        by_reg = np.abs(values).reshape(len(bases), len(sizes), len(self.regs), -1).sum(axis=3)
        scores: Matrix = by_reg.swapaxes(1, 2)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _moments_of_folds(
    full: RCCA, views: Sequence[View], fold_of_row: npt.NDArray[np.int64]
) -> list[Moments]:
    """Accumulate the moments of the rows of each fold, in one pass over the rows in order."""
    moments = [full.empty_moments() for _ in range(fold_of_row.max() + 1)]
    shifts = full._head_means(views, 0, len(fold_of_row))
    for each in moments:
        each.shift(*shifts)
    for fold, z in _chunks_by_fold(full, views, shifts, fold_of_row):
        moments[fold].add_centred(*z)
    for each in moments:
        each.refuse_overflow()
    return moments


def _chunks_by_fold(
    full: RCCA, views: Sequence[View], shifts: Sequence[Matrix], fold_of_row: npt.NDArray[np.int64]
) -> Iterator[tuple[int, list[Matrix]]]:
    """Yield each fold of which a chunk has rows, and their features less a shift."""
    for rows, z in full._feature_chunks(views, shifts, 0, len(fold_of_row)):
        folds = np.unique(fold_of_row[rows])
        for fold in folds:
            chosen = fold_of_row[rows] == fold
            yield int(fold), z if len(folds) == 1 else [each[chosen] for each in z]


def _merged(full: RCCA, moments: Sequence[Moments], without: int | None = None) -> Moments:
    """Merge the moments of all folds but one.

    Additions alone: subtracting that one from the moments of all rows could cost digits, would
    need these in memory as well, and would save little beside the factorisations.
    """
    merged = full.empty_moments()
    for fold, each in enumerate(moments):
        if fold != without:
            merged.merge(each)
    return merged
