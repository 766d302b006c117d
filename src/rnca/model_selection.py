"""Choice of the number of features and the regulariser by cross-validation from one pass."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from itertools import product
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rnca._core.conditioning import refuse_above_one
from rnca._core.estimators import (
    RowsMixin,
    check_count,
    check_regs,
    import_pyplot,
    pair,
    warn,
)
from rnca._core.streaming import feature_chunks, head_means
from rnca.cca import RCCA
from rnca.features import LinearFeatures
from rnca.inference import check_groups
from rnca.method import Factor, canonical, joined, whiten
from rnca.moments import Moments, paired
from rnca.rows import Matrix, View
from rnca.spectral import refined_svd

Sizes = list[tuple[int, int]]
Problem = tuple[Sizes, list[Moments]]
"""Sizes to solve for, and the moments of each fold, whose leading blocks are those of the sizes."""

# Of two rows every correlation is 1 or -1.
_FEWEST_ROWS = 3
# Up to this order the bases of each candidate are exact; beyond, squared singular values have
# residuals below this fraction of the largest, which moves scores by much less than their errors.
_EXACT_ORDER = 500
_TOLERANCE = 3e-3
# A score still rises if it gains this many standard errors, and this share, over the one before.
_CLEAR_ERRORS = 2.0
_CLEAR_SHARE = 0.01


def _of_best(name: str) -> Any:
    """Make the method of `RCCA` that asks the best model."""

    @wraps(getattr(RCCA, name))
    def method(self: "RCCACV", *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        answer = getattr(self.best_estimator_, name)(*args, **kwargs)
        return self if answer is self.best_estimator_ else answer

    return method


def _best_has(name: str) -> Callable[["RCCACV"], bool]:
    return lambda search: hasattr(search.best_estimator_, name)


@dataclass(eq=False, repr=False)
class RCCACV(RowsMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """RCCA with the number of features m and ``reg`` chosen by cross-validation.

    One pass over the rows leaves the moments of each fold. They merge into those of every training
    set, and give the scores of every held-out one. So the cost is that of one fit, a factorisation
    for each fold and ``reg``, and a truncated SVD for each candidate. Beyond m = 500 this starts
    from the solution at the next larger ``reg``, and stops when it moves scores by much less than
    their standard errors. (Where ``reg`` leaves the training correlations at 1, bases are arbitrary
    and scores, whatever the method, that of one of them.) Memory is 24·m²·(folds + 3)
    bytes for the largest m, whatever the number of rows. After `fit` all methods of `RCCA` that
    use a fitted model are those of the best one.

    Feature maps (pilot means, kernel widths, landmarks) are drawn once from all rows, those held
    out too, without their pairing; a hand-written loop with the same maps gives the same scores.

    Parameters
    ----------
    n_components : int, default=50
        Number of canonical variables.
    sizes : sequence of int or (m_x, m_y) pairs, default=(250, 500, 1000)
        Numbers of features to try; linear features always have one per column.
    regs : sequence of float or pairs, default=(1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1)
        Regularisers to try. Fourier features, of variance about ½, need 1e-2 to 1 where rows are
        few, Nyström features 1e-8 to 1e-4; beyond either end scores changed little, or fell.
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
        The candidate of largest mean score. `fit` warns if it lies at an end of ``regs`` or
        ``sizes`` where the score still rises.
    best_params_ : dict
        The same as parameters of `RCCA`: ``n_features`` and ``reg``.
    best_regs_ : list
        The best ``reg`` of each size.
    best_estimator_ : RCCA
        Of all rows, by merging the folds.
    sizes_, regs_ : list
        The sizes and regularisers tried.
    cv_results_ : dict
        The scores as in scikit-learn's `GridSearchCV`, by candidate.

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

    n_components: int = 50
    _: KW_ONLY
    sizes: Sequence[Any] = (250, 500, 1000)
    regs: Sequence[Any] = (1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
    cv: Any = 5
    feature_map: Any = "fourier"
    gamma: Any = "median"
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

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
        moments, problems = _moments_of_folds(full, views, fold_of_row, sizes)
        scores = np.concatenate([self._scores(full, *each) for each in problems], axis=2)
        del problems
        mean = scores.mean(axis=0)
        if np.isnan(mean).all():
            raise ValueError(
                f"regs={self.regs!r}: the covariances are too ill-conditioned for all of these. "
                'Add larger ones, use fewer features, or dtype="float64".'
            )
        full.moments_ = moments
        reg, size = (int(at) for at in np.unravel_index(np.nanargmax(mean), mean.shape))
        (best,) = full.path([sizes[size]], [self.regs[reg]])
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(full, name):
                setattr(self, name, getattr(full, name))
        self.scores_, self.mean_scores_, self._full_ = scores, mean, full
        self.standard_errors_ = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
        self.sizes_ = [m_x if m_x == m_y else (m_x, m_y) for m_x, m_y in sizes]
        self.regs_ = list(self.regs)
        self.best_size_, self.best_reg_ = self.sizes_[size], self.regs_[reg]
        self.best_params_ = {"n_features": self.best_size_, "reg": self.best_reg_}
        self.best_score_, self.best_estimator_ = float(mean[reg, size]), best
        ranked = np.where(np.isnan(mean), -np.inf, mean).argmax(axis=0)
        self.best_regs_ = [self.regs_[at] for at in ranked]
        ends = (
            _end_that_rises(scores, self.regs_, "regs"),
            _end_that_rises(scores.swapaxes(1, 2), self.sizes_, "sizes"),
        )
        if any(ends):
            further = " and ".join(filter(None, ends))
            warn(
                f"the best score is at an end of the values tried, and rises there: try {further}."
            )
        return self

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The scores by candidate."""
        if not hasattr(self, "scores_"):
            raise AttributeError("call fit(X, y) first.")
        candidates = product(self.regs_, self.sizes_)
        by_fold = self.scores_.reshape(len(self.scores_), -1)
        mean = by_fold.mean(axis=0)
        return {
            "params": [{"n_features": size, "reg": reg} for reg, size in candidates],
            **{f"split{fold}_test_score": scores for fold, scores in enumerate(by_fold)},
            "mean_test_score": mean,
            "std_test_score": by_fold.std(axis=0),
            "rank_test_score": rankdata(np.nan_to_num(-mean, nan=np.inf), "min").astype(int),
        }

    transform, component_correlations, score, loadings = map(
        _of_best, ("transform", "component_correlations", "score", "loadings")
    )
    fit_predictor, permutation_test, plot_columns, get_feature_names_out = map(
        _of_best, ("fit_predictor", "permutation_test", "plot_columns", "get_feature_names_out")
    )
    predict, prediction_score = (
        available_if(_best_has(name))(_of_best(name)) for name in ("predict", "prediction_score")
    )

    def path(self, sizes: Sequence[Any], regs: Sequence[Any] | None = None) -> list[RCCA]:
        """Models of all rows at other m and reg, without a pass: as `RCCA.path`.

        ``regs`` default to the best one.
        """
        check_is_fitted(self, "best_estimator_")
        return self._full_.path(sizes, [self.best_reg_] if regs is None else regs)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that `transform` returns: as `RCCA.set_output`."""
        for model in (vars(self).get(name) for name in ("_full_", "best_estimator_")):
            if model is not None:
                model.set_output(transform=transform)
        RCCA.set_output(self, transform=transform)
        return self

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean scores against m, one line per reg, with errors. Returns the axes."""
        pyplot = import_pyplot()
        check_is_fitted(self, "best_estimator_")
        ax = pyplot.subplots()[1] if ax is None else ax
        at = [pair(size, "sizes")[0] for size in self.sizes_]
        for reg, mean, error in zip(
            self.regs_, self.mean_scores_, self.standard_errors_, strict=True
        ):
            ax.errorbar(at, mean, error, marker="o", capsize=2, label=f"reg = {reg}")
        ax.set(xlabel="number of features m", ylabel="held-out sum of |correlation|")
        ax.legend()
        return ax

    def _unfitted(self) -> RCCA:
        """Build RCCA at the largest size of each view."""
        for name in ("sizes", "regs"):
            if not hasattr(given := getattr(self, name), "__len__"):
                raise ValueError(
                    f"{name}={given!r}: give a sequence of values to try, as [{given!r}]."
                )
            if len(given) == 0:
                raise ValueError(f"{name} is empty: give at least one value to try.")
        pairs = [pair(size, "sizes") for size in self.sizes]
        for m in (m for size in pairs for m in size):
            check_count(m, "m in sizes")
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in own if name not in ("sizes", "regs", "cv")}
        full = RCCA(n_features=tuple(max(ms) for ms in zip(*pairs, strict=True)), **shared)
        for reg in self.regs:
            check_regs(reg)
        return full.set_output(**getattr(self, "_sklearn_output_config", {}))

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
        if groups is not None:
            groups = check_groups(groups, n)
        cv = 5 if self.cv is None else self.cv  # what scikit-learn takes None for
        whole_groups = groups is not None and isinstance(cv, Integral)
        splitter = GroupKFold(int(cv)) if whole_groups else check_cv(cv)
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
            full._check_components(full._maps, len(train))
        if (fold_of_row < 0).any():
            raise ValueError(
                f"cv={self.cv!r} does not hold out each row once and train on all others. Give an "
                "integer or a splitter such as KFold, GroupKFold or LeaveOneGroupOut."
            )
        return fold_of_row

    def _scores(self, full: RCCA, sizes: Sizes, moments: Sequence[Moments]) -> Matrix:
        """Score every reg and size on each fold, fitted to the others; NaN if that fails."""
        scores = np.full((len(moments), len(self.regs), len(sizes)), np.nan)
        failures = []
        regs = [check_regs(reg) for reg in self.regs]
        from_largest = sorted(range(len(regs)), key=regs.__getitem__, reverse=True)
        # Smaller ones first: they may have a solution where larger ones have none.
        from_smallest = sorted(range(len(sizes)), key=sizes.__getitem__)
        rng = np.random.default_rng(0)
        k = self.n_components
        first = [rng.standard_normal((m_y, min(k + k // 2, m_y))) for _, m_y in sizes]
        for fold, held_out in enumerate(moments):
            train, score = _merged(moments, without=fold), scorer(held_out)
            C, guesses = train.covariance(0, 1), list(first)
            for i in from_largest:
                try:
                    factors = [whiten(train, view, reg) for view, reg in enumerate(regs[i])]
                    for j in from_smallest:
                        F, guesses[j] = _bases(train.n, factors, C, sizes[j], guesses[j], k)
                        scores[fold, i, j] = score(F, guesses[j][:, :k])
                except (ValueError, FloatingPointError) as error:
                    failures.append(f"the first with reg={self.regs[i]}: {error}")
                if i == from_largest[0]:
                    first = list(guesses)
        if failures:
            warn(f"{np.isnan(scores).sum()} of {scores.size} scores are NaN, {failures[0]}")
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _moments_of_folds(
    full: RCCA, views: Sequence[View], fold_of_row: npt.NDArray[np.int64], sizes: Sizes
) -> tuple[Moments, list[Problem]]:
    """Accumulate the moments of all rows and of those of each fold, in one pass over the rows.

    The features of fewer rows than features span as many dimensions as there are rows. Their
    coordinates there, which are others for each size, have the same canonical correlations.
    """
    n, folds = len(fold_of_row), fold_of_row.max() + 1
    few = n < max(map(max, sizes))
    moments = [full.empty_moments() for _ in range(1 if few else folds)]
    shifts = head_means(full._maps, views, 0, n)
    for part in moments:
        part.shift(*shifts)
    held: list[list[Matrix]] = []
    for rows, z in feature_chunks(full._maps, views, shifts, full._chunks(0, n)):
        if few:
            moments[0].add_centred(*z)
            held.append([view.copy() for view in z])
            continue
        for fold in np.unique(fold_of_row[rows]):
            chosen = fold_of_row[rows] == fold
            moments[fold].add_centred(*(z if chosen.all() else [view[chosen] for view in z]))
    for part in moments:
        part.refuse_overflow()
    if not few:
        return _merged(moments), [(sizes, moments)]
    features = [np.concatenate(chunks) for chunks in zip(*held, strict=True)]
    problems = []
    for size in sizes:
        spanned = [_in_their_span(z[:, :m]) for z, m in zip(features, size, strict=True)]
        m_x, m_y = (z.shape[1] for z in spanned)
        by_fold = [
            Moments(m_x, m_y).update(*(z[fold_of_row == fold] for z in spanned))
            for fold in range(folds)
        ]
        problems.append(([(m_x, m_y)], by_fold))
    return moments[0], problems


def _in_their_span(z: Matrix) -> Matrix:
    """Coordinates of rows in an orthonormal basis of their span, if that has fewer dimensions."""
    if z.shape[1] <= len(z):
        return z
    coordinates: Matrix = np.linalg.qr(z.T, mode="r").T  # type: ignore[attr-defined]
    return coordinates


def _merged(moments: Sequence[Moments], without: int | None = None) -> Moments:
    """Merge the moments of all folds but one.

    Additions alone: subtracting that one from the moments of all rows could cost digits, would
    need these in memory as well, and would save little beside the factorisations.
    """
    merged = Moments(*moments[0].sizes, features=moments[0].features)
    for fold, part in enumerate(moments):
        if fold != without:
            merged.merge(part)
    return merged


def _bases(
    n: int, factors: Sequence[Factor], C: Matrix, size: tuple[int, int], guess: Matrix, k: int
) -> tuple[Matrix, Matrix]:
    """Canonical bases F and G of the leading features, from a guess of G.

    Few digits suffice to choose among candidates: a few steps of an iteration, which does without
    the whitened cross-covariance. The first k columns of G count.
    """
    x, y = (factor.leading(m) for factor, m in zip(factors, size, strict=True))
    C = C[: size[0], : size[1]]

    def times(V: Matrix) -> Matrix:
        return x.whiten(C @ y.unwhiten(V))

    def back(U: Matrix) -> Matrix:
        return y.whiten(C.T @ x.unwhiten(U))

    found = None
    if min(size) > max(_EXACT_ORDER, 5 * k):
        found = refined_svd(times, back, y.L.T @ guess, k, _TOLERANCE)
    if found is None:
        return canonical(joined(n, x, y, C.copy()), *size, k)[1:]
    U, correlations, V = found
    refuse_above_one(correlations, x, y, *size)
    return x.unwhiten(U[:, :k]), y.unwhiten(V)


def scorer(moments: Moments) -> Callable[[Matrix, Matrix], float]:
    """Return the sum of correlations, on the rows of moments, of the variables by bases F and G."""
    covariances = [moments.covariance(view, view) for view in range(2)]
    across = moments.covariance(0, 1)
    squares = [C.diagonal() + moments.mean(view) ** 2 for view, C in enumerate(covariances)]

    def score(F: Matrix, G: Matrix) -> float:
        variances = []
        for C, square, basis in zip(covariances, squares, (F, G), strict=True):
            m = len(basis)
            variance = paired(basis, C[:m, :m] @ basis)
            # Rounding leaves a variable without variance this much.
            rounding = m * np.finfo(np.float64).eps * (square[:m] @ basis**2)
            variances.append(np.where(variance > rounding, variance, np.inf))
        covariance = paired(F, across[: len(F), : len(G)] @ G)
        return float(np.abs(covariance / np.sqrt(variances[0] * variances[1])).sum())

    return score


def _end_that_rises(scores: Matrix, values: Sequence[Any], name: str) -> str | None:
    """Say where to look further, if the best value along axis 1 is an end that still rises.

    It does if its score, at the best of axis 2, gains clearly on the next value's.
    """
    mean = np.nan_to_num(scores.mean(axis=0), nan=-np.inf)
    order = sorted(range(len(values)), key=lambda i: pair(values[i], name))
    place = order.index(int(mean.max(axis=1).argmax()))
    if len(order) == 1 or 0 < place < len(order) - 1 or pair(values[order[place]], name) == (0, 0):
        return None
    end, neighbour = (
        scores[:, i, mean[i].argmax()] for i in (order[place], order[1 if place == 0 else -2])
    )
    gains = end - neighbour
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    if not gains.mean() > max(_CLEAR_ERRORS * error, _CLEAR_SHARE * end.mean()):
        return None
    return f"{name} {'below' if place == 0 else 'above'} {values[order[place]]}"
