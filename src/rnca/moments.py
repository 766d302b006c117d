"""Streaming means, covariances and correlations of any number of tables."""

import os
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from rnca.files import opened_archive, read_member, replacing
from rnca.rows import FloatArray, Matrix, grid, refuse_masked

_FORMAT = 2
_BLOCK = 512
# Standard deviations that rounding gives a constant, relative to its root mean square.
_CONSTANT = 1e-12


class Moments:
    """Count, means and second moments of the features of any number of views, in float64.

    Memory is 8·m_i·m_j bytes for each pair of views i ≤ j, whatever the number of rows. The sums
    are taken about the mean of the first rows seen, so that features with a large mean lose no
    digits.

    Parameters
    ----------
    *sizes : int
        Number of features m_i of each view.
    features : str, default=""
        Fingerprint of the feature maps; moments of different fingerprints do not merge.
    targets : bool, default=False
        The last view is to be regressed on the others, for which its own second moments, often
        the larger part of the work, are not needed: they are left out.

    Attributes
    ----------
    n : int
        Rows seen.
    shifts, sums : list of ndarray of shape (m_i,)
        What each view's sums are taken about, and its sums.
    products : dict of (i, j) to ndarray of shape (m_i, m_j)
        Shifted second moments of the views i ≤ j; for i = j only the lower triangle is meaningful.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import Moments
    >>> Z = np.random.default_rng(0).normal(size=(100, 3))
    >>> moments = Moments(3).update(Z[:60]).merge(Moments(3).update(Z[60:]))
    >>> bool(np.allclose(moments.covariance(0, 0), np.cov(Z.T)))
    True
    """

    def __init__(self, *sizes: int, features: str = "", targets: bool = False) -> None:
        if not sizes or min(sizes) < 1:
            raise ValueError(f"sizes={sizes}: each view's number of features must be >= 1.")
        if targets and len(sizes) == 1:
            raise ValueError("targets=True: targets are a view besides others. Give its size too.")
        self.sizes, self.features, self.targets = sizes, features, targets
        self.n = 0
        self.shifts: list[Matrix] = [np.zeros(m) for m in sizes]
        self.sums: list[Matrix] = [np.zeros(m) for m in sizes]
        self.products: dict[tuple[int, int], Matrix] = {
            (i, j): np.zeros((sizes[i], sizes[j])) for i, j in _pairs(len(sizes), targets)
        }

    def update(self, *views: FloatArray) -> Self:
        """Add rows of all views, of shapes (rows, m_i)."""
        self._check_update(views)
        if len(views[0]) == 0:
            return self
        if self.n == 0:
            self.shift(*(z.mean(axis=0, dtype=np.float64) for z in views))
        self.add_centred(
            *(
                np.subtract(z, shift, dtype=np.float64, order="C")
                for z, shift in zip(views, self.shifts, strict=True)
            )
        )
        return self

    def add_centred(self, *views: Matrix) -> None:
        """Add rows in C order from which `shifts` are already subtracted."""
        self.n += len(views[0])
        for total, z in zip(self.sums, views, strict=True):
            total += z.sum(axis=0)
        for (i, j), product in self.products.items():
            other = None if i == j else views[j]
            self.products[i, j] = _plus_product(product, views[i], other)  # n·C_ij

    def merge(self, other: "Moments") -> Self:
        """Add the rows another `Moments` has seen; ``other`` is left as it is.

        Merge shards in one fixed order: sums of floats depend on it in their last bits.
        """
        self._check_merge(other)
        if other.n == 0:
            return self
        if self.n == 0:
            self.shift(*other.shifts)
        # About this shift, the other's rows are z − shift = (z − other.shift) + delta.
        deltas = [theirs - ours for theirs, ours in zip(other.shifts, self.shifts, strict=True)]
        for (i, j), product in self.products.items():
            product += other.products[i, j]
            _add_shifted(product, other.sums[i], deltas[i], other.sums[j], deltas[j], other.n)
        for total, theirs, delta in zip(self.sums, other.sums, deltas, strict=True):
            total += theirs + other.n * delta
        self.n += other.n
        return self

    def shift(self, *shifts: npt.NDArray[np.floating[Any]]) -> None:
        """Choose what the sums are taken about, before any row is added."""
        self.shifts = [shift.astype(np.float64) for shift in shifts]

    def mean(self, i: int) -> Matrix:
        """Mean of the features of view i."""
        self._check_rows()
        mean: Matrix = self.shifts[i] + self.sums[i] / self.n
        return mean

    def covariance(self, i: int, j: int, m: int | None = None) -> Matrix:
        """Unbiased covariance of the views i ≤ j as a new array.

        With ``m`` only its first m rows and, if i = j, columns.
        """
        self._check_rows()
        if (i, j) not in self.products:
            raise ValueError(
                f"these moments hold no products of views ({i}, {j}), only {list(self.products)}: "
                "with i <= j, and without the last view's own if targets=True."
            )
        product = self.products[i, j]
        block: Matrix = product[:m, :m].copy() if i == j else product[:m].copy()
        if i == j:
            _mirror_lower(block)
        left, right = self.sums[i][: block.shape[0]], self.sums[j][: block.shape[1]]
        blas.dger(-1.0 / self.n, right, left, a=block.T, overwrite_a=1)
        block /= self.n - 1
        return block

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an npz file, under a temporary name until it is complete."""
        header = np.array([_FORMAT, self.n, self.targets, *self.sizes], dtype=np.int64)
        arrays: dict[str, Any] = {
            f"product_{i}_{j}": product for (i, j), product in self.products.items()
        }
        for i, (shift, total) in enumerate(zip(self.shifts, self.sums, strict=True)):
            arrays |= {f"shift_{i}": shift, f"sum_{i}": total}
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(file, header=header, features=np.array(self.features), **arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, features: str | None = None, n: int | None = None
    ) -> Self:
        """Read a file written by `save`.

        Parameters
        ----------
        path : path
        features : str, optional
            Fingerprint that the file must carry.
        n : int, optional
            Number of rows it must have seen.

        Raises
        ------
        ValueError
            If the file is cut short or damaged, is not of this format, or belongs to other
            features or rows.
        """
        with opened_archive(path, "moments") as stored:
            version, n_seen, targets, *sizes = (int(part) for part in read_member(stored, "header"))
            if version != _FORMAT:
                raise ValueError(f"format {version}, this version reads {_FORMAT}")
            if n_seen < 0:
                raise ValueError(f"{n_seen} rows")

            def member(name: str, *shape: int) -> Matrix:
                return _checked(name, read_member(stored, name), shape)

            # All read before memory for as many features is taken.
            shifts = [member(f"shift_{i}", m) for i, m in enumerate(sizes)]
            sums = [member(f"sum_{i}", m) for i, m in enumerate(sizes)]
            products = {
                (i, j): member(f"product_{i}_{j}", sizes[i], sizes[j])
                for i, j in _pairs(len(sizes), bool(targets))
            }
            moments = cls(
                *sizes, features=str(read_member(stored, "features")), targets=bool(targets)
            )
            moments.n, moments.shifts, moments.sums = n_seen, shifts, sums
            moments.products = products
        if features is not None and moments.features != features:
            raise ValueError(
                f"{path}: computed with other features (fingerprint {moments.features[:12]}…, "
                f"expected {features[:12]}…). Delete it and compute it again."
            )
        if n is not None and moments.n != n:
            raise ValueError(
                f"{path}: moments of {moments.n} rows, not of {n}. Delete it and compute it again."
            )
        return moments

    def _check_rows(self) -> None:
        if self.n < 2:
            raise ValueError(f"moments of {self.n} rows: at least 2 rows are needed.")

    def _check_update(self, views: tuple[FloatArray, ...]) -> None:
        if len(views) != len(self.sizes):
            raise ValueError(
                f"moments of {len(self.sizes)} view(s), updated with {len(views)}: give all views."
            )
        for i, (z, m) in enumerate(zip(views, self.sizes, strict=True)):
            refuse_masked(z, f"view {i}")
            if z.ndim != 2 or z.shape[1] != m or len(z) != len(views[0]):
                raise ValueError(
                    f"view {i} has shape {z.shape}, expected ({len(views[0])}, {m}): as many rows "
                    "as the first view, and the number of features that the moments were made for."
                )

    def _check_merge(self, other: "Moments") -> None:
        for name in ("sizes", "targets", "features"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                raise ValueError(f"cannot merge moments of other {name}: {theirs} into {ours}.")

    def refuse_overflow(self) -> None:
        """Refuse squares that left the range of float64."""
        for (i, j), product in self.products.items():
            squares = product.diagonal()
            if i == j and not np.isfinite(squares).all():
                feature = int(np.flatnonzero(~np.isfinite(squares))[0])
                raise ValueError(
                    f"the squares of feature {feature} of view {i} add up to {squares[feature]}: "
                    "they must stay in the range of float64. Rescale the data, or drop rows far "
                    "away from the others."
                )


def _pairs(views: int, targets: bool) -> list[tuple[int, int]]:
    """Return the pairs of views whose products are held; not that of targets, the last view."""
    pairs = list(combinations_with_replacement(range(views), 2))
    return pairs[:-1] if targets else pairs


def _checked(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> Matrix:
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"{name} is {array.dtype}{array.shape}, not float64{shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has a value that is not finite")
    return array


def _plus_product(product: Matrix, x: Matrix, y: Matrix | None) -> Matrix:
    """Add xᵀy, or xᵀx to the lower triangle, to a moment in place."""
    # BLAS reads by columns: it sees the transposes. The lower triangle is its upper one.
    total: Matrix
    if y is None:
        total = blas.dsyrk(1.0, x.T, beta=1.0, c=product.T, lower=0, overwrite_c=1)
    else:
        total = blas.dgemm(1.0, y.T, x.T, beta=1.0, c=product.T, trans_b=1, overwrite_c=1)
    return total.T


def _mirror_lower(matrix: Matrix) -> None:
    """Copy what is below the diagonal to above it, block by block."""
    for start, stop in grid(0, len(matrix), _BLOCK):
        corner = matrix[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T


def _add_shifted(
    into: Matrix, sum_x: Matrix, delta_x: Matrix, sum_y: Matrix, delta_y: Matrix, n: int
) -> None:
    """Add what a change of shift adds to Σ(x − s)(y − t)ᵀ: three terms of rank one, in place."""
    for left, right in ((sum_x, delta_y), (delta_x, sum_y + n * delta_y)):
        blas.dger(1.0, right, left, a=into.T, overwrite_a=1)


def paired(u: Matrix, v: Matrix) -> Matrix:
    """Dot product of each column of ``u`` with its counterpart in ``v``."""
    products: Matrix = np.einsum("ij,ij->j", u, v)
    return products


def crossed(u: Matrix, v: Matrix) -> Matrix:
    """Dot product of each column of ``u`` with each of ``v``."""
    products: Matrix = u.T @ v
    return products


class Correlations:
    """Running correlations of the columns of two tables.

    Each chunk is centred by its own mean and merged by the update of Chan, Golub and LeVeque, so
    that columns far from the origin lose no digits. ``product`` is `paired` for columns in pairs,
    `crossed` for each with each.
    """

    def __init__(self, product: Callable[[Matrix, Matrix], Matrix] = paired) -> None:
        self._product = product
        self._n = 0
        self._means: list[Matrix] = []
        self._squares: list[Matrix] = []

    def update(self, u: FloatArray, v: FloatArray) -> Self:
        """Add rows of both tables."""
        means: list[Matrix] = [z.mean(axis=0, dtype=np.float64) for z in (u, v)]
        centred = [z - mean for z, mean in zip((u, v), means, strict=True)]
        cross = self._product(*centred)
        squares = [paired(z, z) for z in centred]
        if self._n:
            steps = [new - old for new, old in zip(means, self._means, strict=True)]
            share = len(u) / (self._n + len(u))
            weight = self._n * share
            cross = cross + self._cross + weight * self._of_rows(*steps)
            squares = [
                new + old + weight * step**2
                for new, old, step in zip(squares, self._squares, steps, strict=True)
            ]
            means = [
                np.add(old, share * step) for old, step in zip(self._means, steps, strict=True)
            ]
        self._n += len(u)
        self._cross: Matrix = cross
        self._squares, self._means = squares, means
        return self

    def values(self) -> Matrix:
        """Signed correlations; 0 where a column is constant."""
        constant = [
            square <= _CONSTANT**2 * (square + self._n * mean**2)
            for square, mean in zip(self._squares, self._means, strict=True)
        ]
        norms = [
            np.where(c, np.inf, np.sqrt(s)) for c, s in zip(constant, self._squares, strict=True)
        ]
        correlations: Matrix = self._cross / self._of_rows(*norms)
        return correlations

    def _of_rows(self, a: Matrix, b: Matrix) -> Matrix:
        return self._product(a[None], b[None])
