"""Learning using privileged information: features that use columns known only at training.

The second view of each problem, [X⋆⁽ⁱ⁾, y] in Section 5.3 of the paper, takes few values. Rows that
share one form a cell, and the cells' means are all that canonical correlation analysis asks of
z_x(X) besides its covariance. Three things follow, and are tested:

- The problems share z_x(X), its covariance and one Cholesky factor; each adds a small SVD.
- A view of u values has at most u − 1 canonical variables: three for two binary columns.
- If all variables of a problem are kept, its second view's map, width and regulariser only rotate
  them. Privileged columns that are functions of a class of g values give features that span at
  most g − 1 dimensions, however many columns there are: those of the discriminant analysis of
  that class. The columns choose a metric in that space, nothing else.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, column_or_1d

from rnca._core.estimators import (
    RowsTransformer,
    assign,
    check_columns,
    check_count,
    check_regs,
    pair,
)
from rnca._core.fitting import unfitted_map
from rnca._core.streaming import centred_features, feature_chunks, projected
from rnca.features import FeatureMap
from rnca.method import draw, whiten
from rnca.moments import Moments
from rnca.rows import (
    FloatArray,
    Matrix,
    View,
    check_at_least_two_rows,
    check_pair,
    grid,
    refuse_masked,
)
from rnca.seeding import seeds
from rnca.spectral import column_signs

Codes = npt.NDArray[np.intp]

# Relative to the largest singular value: what rounding leaves of a direction that is not there.
_ROUNDING = 1e-10


class Cells(NamedTuple):
    """Rows grouped by the value of a second view.

    ``values`` holds the g distinct rows of the view, ``code`` the cell of each row, ``counts`` the
    number of rows in each cell.
    """

    values: npt.NDArray[Any]
    code: Codes
    counts: npt.NDArray[np.intp]

    @classmethod
    def of(cls, view: npt.NDArray[Any]) -> "Cells":
        """Group the rows of a view of shape (n, q)."""
        values, code, counts = np.unique(view, axis=0, return_inverse=True, return_counts=True)
        return cls(values, code.reshape(-1), counts)

    @property
    def roots(self) -> Matrix:
        """Square roots of the cells' shares of the unbiased covariance."""
        roots: Matrix = np.sqrt(self.counts / (len(self.code) - 1))
        return roots

    def sums(self, z: FloatArray, rows: slice = slice(None)) -> Matrix:
        """Sum the features ``z`` of the given rows within each cell."""
        code = self.code[rows]
        entries = (np.ones(len(code)), (code, np.arange(len(code))))
        members = scipy.sparse.csr_array(entries, shape=(len(self.counts), len(code)))
        sums: Matrix = members @ z.astype(np.float64, copy=False)
        return sums

    def weighted_means(self, sums: Matrix, mean: Matrix) -> Matrix:
        """Return B of shape (m, g): centred means, weighted so that B·Bᵀ is their covariance."""
        centred = sums / self.counts[:, None] - mean
        return np.ascontiguousarray((centred * self.roots[:, None]).T)


def second_view(z: FloatArray, roots: Matrix, reg: float) -> Matrix:
    """Whiten the features z, of shape (g, m_y), of a second view at its cells with `Cells.roots`.

    Returns A, of shape (g, r) for centred features of rank r, such that the whitened
    cross-covariance is L⁻¹·B·A up to a rotation from the right.
    """
    centred = z - np.average(z, axis=0, weights=roots**2)
    left, values, _ = scipy.linalg.svd(roots[:, None] * centred, full_matrices=False)
    kept = values > max(values[0] * _ROUNDING, np.finfo(np.float64).tiny)
    shrunk: Matrix = left[:, kept] * (values[kept] / np.sqrt(values[kept] ** 2 + reg))
    return shrunk


class Bases(NamedTuple):
    """Canonical directions of several problems that share a first view, before unwhitening.

    ``frame``, of shape (m, r), is orthonormal and spans the whitened means of the cells; each
    problem's ``directions`` in it, of shape (r, k_i), are orthonormal, too.
    """

    frame: Matrix
    directions: list[Matrix]
    correlations: list[Matrix]


def canonical_bases(means: Matrix, views: Sequence[Matrix], n_components: int) -> Bases:
    """Solve several canonical correlation problems with one whitened first view.

    ``means`` is L⁻¹·B, the whitened means of the cells; ``views`` are those of `second_view`. Each
    problem has at most ``n_components`` directions, fewer where fewer are defined.
    """
    frame, triangle = scipy.linalg.qr(means, mode="economic", check_finite=False)
    directions, correlations = [], []
    for view in views:
        U, values, _ = scipy.linalg.svd(triangle @ view, full_matrices=False)
        k = min(n_components, int((values > _ROUNDING).sum()))
        directions.append(U[:, :k])
        correlations.append(values[:k])
    return Bases(frame, directions, correlations)


@dataclass(eq=False, repr=False)
class PrivilegedFeatures(RowsTransformer):
    """Canonical variables of X that correlate with privileged columns and the label.

    For each privileged column i an RCCA of X and [X⋆⁽ⁱ⁾, y]; its top canonical variables of
    z_x(X), all side by side, are the features. `transform` needs X alone.

    Parameters
    ----------
    n_components : int, default=5
        Canonical variables per privileged column, at most; a second view of u values has u − 1.
    feature_map, n_features, gamma, reg, random_state, chunk_size, dtype
        As in `RCCA`; pairs are for X and for [X⋆⁽ⁱ⁾, y]. With ``reg`` too small for the number of
        rows the variables fit the training rows and nothing else.
    cv : int, cross-validation generator or None, default=None
        How `fit_transform` makes the variables of the training rows: None, from the fit to all of
        them; otherwise each fold's from a fit to the others, rotated towards the fit to all, so
        that what is trained on them sees variables as they will be on new rows.

    Attributes
    ----------
    map_ : FeatureMap
        z_x.
    mean_ : ndarray of shape (m,)
        Its training mean.
    F_ : ndarray of shape (m, k)
        The canonical bases of all problems, side by side.
    columns_ : ndarray of shape (k,)
        The privileged column each feature belongs to.
    correlations_ : ndarray of shape (k,)
        Singular values of the whitened cross-covariances.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import PrivilegedFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> columns = np.column_stack([X[:, 0] > 0, X[:, 1] ** 2 > 1])
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> features = PrivilegedFeatures(n_features=100, reg=0.1, random_state=0)
    >>> features.fit(X, y, privileged=columns).transform(X).shape
    (300, 6)
    """

    n_components: int = 5
    _: KW_ONLY
    feature_map: Any = "fourier"
    n_features: Any = 1000
    gamma: Any = "median"
    reg: Any = 1e-8
    cv: Any = None
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"

    def fit(self, X: Any, y: Any = None, *, privileged: Any = None) -> Self:
        """Fit to training rows.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, d)
        y : array-like of shape (n,), optional
            Labels: numbers as they are, anything else as the number of its class. None: the
            problems are RCCA(X, X⋆⁽ⁱ⁾).
        privileged : array-like of shape (n, p)
            X⋆, of these rows and of no others. Constant columns add what y alone gives.
        """
        check_count(self.n_components, "n_components")
        reg_x, reg_y = check_regs(self.reg)
        view = View(X, "X")
        check_columns(self, X)
        check_at_least_two_rows(len(view), "X")
        privileged_columns, labels = _second_views(view, y, privileged)
        of_x, of_y = seeds(self.random_state, 2)
        (fitted,) = draw([self._map_of(0, of_x)], [view])
        cells = Cells.of(np.column_stack([privileged_columns, labels]))
        problems = self._problems(cells, privileged_columns.shape[1], of_y, reg_y)
        moments, sums = self._pass(fitted, view, cells)
        mean, factor = moments.mean(0), whiten(moments, 0, reg_x)
        means = factor.whiten(cells.weighted_means(sums, mean))
        bases = canonical_bases(means, list(problems.values()), self.n_components)
        F = factor.unwhiten(bases.frame @ np.hstack(bases.directions))
        assign(
            self,
            fitted,
            map_=fitted,
            mean_=mean,
            F_=F * column_signs(F),
            columns_=np.repeat(list(problems), [part.shape[1] for part in bases.directions]),
            correlations_=np.concatenate(bases.correlations),
        )
        return self

    def fit_transform(self, X: Any, y: Any = None, *, privileged: Any = None) -> FloatArray:
        """Fit, and return the training rows' features: those of other folds' fits with ``cv``."""
        self.fit(X, y, privileged=privileged)
        own = self.transform(X)
        if self.cv is None:
            return own
        out, rows = np.zeros_like(own), np.arange(len(own))
        splits = list(check_cv(self.cv, y, classifier=y is not None).split(own, y))
        held_out = np.concatenate([rows[fold] for _, fold in splits])
        if (np.bincount(held_out, minlength=len(rows)) != 1).any():
            raise ValueError(
                f"cv={self.cv!r} does not hold out each row once. Give an integer or a splitter "
                "such as KFold or StratifiedKFold."
            )
        for rest, fold in splits:
            parts = [None if part is None else _safe_indexing(part, rest) for part in (y, X)]
            other = clone(self).set_params(cv=None)
            other.fit(parts[1], parts[0], privileged=_safe_indexing(privileged, rest))
            seen, new = other.transform(parts[1]), other.transform(_safe_indexing(X, fold))
            for column in np.unique(self.columns_):
                theirs, ours = other.columns_ == column, self.columns_ == column
                turn = nearest_rotation(seen[:, theirs], own[np.ix_(rest, ours)])
                out[np.ix_(fold, ours)] = new[:, theirs] @ turn
        return out

    def transform(self, X: Any) -> FloatArray:
        """Canonical variables of rows of which nothing privileged is known, of shape (n, k)."""
        view = self._view_to_use(X, "F_")
        return projected(self.map_, view, self.mean_, self.F_, self.chunk_size)

    def _map_of(self, view: int, seed: int) -> FeatureMap:
        """Build the unfitted map of X (0) or of a second view (1), as `RCCA` would."""
        kind, count, gamma = (
            pair(getattr(self, name), name)[view] for name in ("feature_map", "n_features", "gamma")
        )
        return unfitted_map(kind, count, gamma, seed, self.dtype)

    def _problems(self, cells: Cells, count: int, seed: int, reg: float) -> dict[int, Matrix]:
        """Whiten each [X⋆⁽ⁱ⁾, y] that is not constant, by privileged column."""
        problems = {}
        for i in range(count):
            values = cells.values[:, [i, *range(count, cells.values.shape[1])]]
            own = Cells.of(values)
            if len(own.counts) > 1:
                fitted = self._map_of(1, seed).fit_view(View(values[cells.code], "privileged"))
                z = centred_features(fitted, own.values, 0.0)
                problems[i] = second_view(z[own.code], cells.roots, reg)
        if not problems:
            raise ValueError(
                "privileged has constant columns only, and y is None: there is nothing to "
                "correlate X with. Give labels, or columns that vary."
            )
        return problems

    def _pass(self, fitted: FeatureMap, view: View, cells: Cells) -> tuple[Moments, Matrix]:
        """Accumulate the moments of z_x(X) and its sums over each cell, chunk by chunk."""
        m, size = fitted.n_features_out, check_count(self.chunk_size, "chunk_size")
        moments, sums = Moments(m), np.zeros((len(cells.counts), m))
        for rows, (z,) in feature_chunks([fitted], [view], [0.0], grid(0, len(view), size)):
            moments.update(z)
            sums += cells.sums(z, rows)
        return moments, sums

    @property
    def _n_features_out(self) -> int:
        return int(self.F_.shape[1])


def nearest_rotation(variables: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the (partial) rotation that brings ``variables`` nearest to ``targets``."""
    U, _, Vt = np.linalg.svd(variables.T @ targets, full_matrices=False)
    rotation: FloatArray = U @ Vt
    return rotation


def _second_views(view: View, y: Any, privileged: Any) -> tuple[Matrix, Matrix]:
    """Check X⋆ and y and return both as columns of numbers; y as none if it is None."""
    if privileged is None:
        raise ValueError(
            "privileged=None: PrivilegedFeatures is fitted to privileged columns of the training "
            "rows; give fit(X, y, privileged=…), in a Pipeline as <step>__privileged=…."
        )
    given = View(privileged, "privileged")
    check_pair(view, given)
    columns = given.read(0, len(given)).astype(np.float64)
    if y is None:
        return columns, np.empty((len(view), 0))
    refuse_masked(y, "y")
    labels = column_or_1d(y)
    if len(labels) != len(view):
        raise ValueError(f"X has {len(view)} rows but y has {len(labels)}: one label per row.")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(
            f"y has the single class {classes[0]!r}: there is nothing to tell apart. Give two or "
            "more classes, or y=None for the privileged columns alone."
        )
    values = View((labels if labels.dtype.kind in "biuf" else numbers).reshape(-1, 1), "y")
    return columns, values.read(0, len(labels)).astype(np.float64)
