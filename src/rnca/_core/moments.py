"""Streaming means, (cross-)covariances and correlations of one or two tables."""

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from rnca._core.files import opened_archive, read_member, replacing
from rnca._core.rows import FloatArray, Matrix, grid

_FORMAT = 1
_BLOCK = 512
# Standard deviations that rounding gives a constant, relative to its root mean square.
_CONSTANT = 1e-12


class Moments:
    """Count, means and second moments of features, accumulated in float64.

    Memory is 8·(m_x² + m_y² + m_x·m_y) bytes whatever the number of rows, less 8·m_y² with
    ``targets``. The sums are taken about the mean of the first rows seen, so that features with a
    large mean lose no digits.

    Parameters
    ----------
    m_x : int
        Number of features of the first view.
    m_y : int, optional
        Number of features of the second view; None for one view.
    features : str, default=""
        Fingerprint of the feature maps; moments of different fingerprints do not merge.
    targets : bool, default=False
        The second view is to be regressed on the first, for which its own second moments, often
        the larger part of the work, are not needed: ``yy`` is then empty.

    Attributes
    ----------
    n : int
        Rows seen.
    xx, yy : ndarray of shape (m_x, m_x), (m_y, m_y)
        Shifted second moments; only the lower triangle is meaningful.
    xy : ndarray of shape (m_x, m_y)

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import Moments
    >>> Z = np.random.default_rng(0).normal(size=(100, 3))
    >>> moments = Moments(3).update(Z[:60]).merge(Moments(3).update(Z[60:]))
    >>> bool(np.allclose(moments.covariance("xx"), np.cov(Z.T)))
    True
    """

    def __init__(
        self, m_x: int, m_y: int | None = None, *, features: str = "", targets: bool = False
    ) -> None:
        for name, m in (("m_x", m_x), ("m_y", m_y)):
            if m is not None and m < 1:
                raise ValueError(f"{name}={m}: the number of features must be >= 1.")
        if targets and m_y is None:
            raise ValueError("targets=True: targets are a second view. Give m_y as well.")
        self.m_x, self.m_y, self.features, self.targets = m_x, m_y, features, targets
        self.n = 0
        self.xx = np.zeros((m_x, m_x))
        self.shift_x, self.sum_x = np.zeros(m_x), np.zeros(m_x)
        if m_y is not None:
            self.yy = np.zeros((0, 0) if targets else (m_y, m_y))
            self.xy = np.zeros((m_x, m_y))
            self.shift_y, self.sum_y = np.zeros(m_y), np.zeros(m_y)

    @property
    def two_views(self) -> bool:
        """Whether there is a second view."""
        return self.m_y is not None

    def update(self, zx: FloatArray, zy: FloatArray | None = None) -> Self:
        """Add rows.

        Parameters
        ----------
        zx : ndarray of shape (rows, m_x)
        zy : ndarray of shape (rows, m_y), if there are two views
        """
        self._check_update(zx, zy)
        if len(zx) == 0:
            return self
        given = [zx] if zy is None else [zx, zy]
        if self.n == 0:
            self.shift(*(z.mean(axis=0, dtype=np.float64) for z in given))
        self.add_centred(
            *(
                np.subtract(part, shift, dtype=np.float64, order="C")
                for part, shift in zip(given, self.shifts, strict=True)
            )
        )
        return self

    def add_centred(self, *views: Matrix) -> None:
        """Add rows in C order from which `shifts` are already subtracted."""
        self.n += len(views[0])
        for view, z in zip("xy", views, strict=False):
            getattr(self, f"sum_{view}")[:] += z.sum(axis=0)
        zx, zy = views[0], views[-1]
        self.xx = _plus_gram(self.xx, zx)  # n·Cxx
        if self.two_views:
            # BLAS reads by columns: it sees the transposes, and adds zyᵀ·zx.
            transposed = blas.dgemm(
                1.0, zy.T, zx.T, beta=1.0, c=self.xy.T, trans_b=1, overwrite_c=1
            )
            self.xy = transposed.T  # n·Cxy
            if not self.targets:
                self.yy = _plus_gram(self.yy, zy)  # n·Cyy

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
        deltas = [its - own for its, own in zip(other.shifts, self.shifts, strict=True)]
        moved = {
            view: (getattr(other, f"sum_{view}"), delta)
            for view, delta in zip("xy", deltas, strict=False)
        }
        for which in self._products():
            product = getattr(self, which)
            product += getattr(other, which)
            _add_shifted(product, *moved[which[0]], *moved[which[1]], other.n)
        for view, (total, delta) in moved.items():
            getattr(self, f"sum_{view}")[:] += total + other.n * delta
        self.n += other.n
        return self

    @property
    def shifts(self) -> list[Matrix]:
        """What the sums are taken about, per view."""
        return [self.shift_x, self.shift_y] if self.two_views else [self.shift_x]

    def shift(self, *shifts: npt.NDArray[np.floating[Any]]) -> None:
        """Choose what the sums are taken about, before any row is added."""
        for view, shift in zip("xy", shifts, strict=False):
            setattr(self, f"shift_{view}", shift.astype(np.float64))

    def mean(self, view: str) -> Matrix:
        """Mean of the features of view ``"x"`` or ``"y"``."""
        self._check_rows()
        mean: Matrix = getattr(self, f"shift_{view}") + getattr(self, f"sum_{view}") / self.n
        return mean

    def covariance(self, which: str, m: int | None = None) -> Matrix:
        """Unbiased covariance ``"xx"``, ``"yy"`` or ``"xy"`` as a new array.

        With ``m`` only its leading block of m rows and, but for ``"xy"``, columns.
        """
        self._check_rows()
        if which == "yy" and self.targets:
            raise ValueError(
                "moments with targets=True do not hold the targets' own covariance yy. "
                "Accumulate with targets=False to have it."
            )
        moment: Matrix = getattr(self, which)
        block: Matrix = moment[:m].copy() if which == "xy" else moment[:m, :m].copy()
        if which != "xy":
            _mirror_lower(block)
        totals = (getattr(self, f"sum_{view}") for view in which)
        left, right = (total[:size] for total, size in zip(totals, block.shape, strict=True))
        blas.dger(-1.0 / self.n, right, left, a=block.T, overwrite_a=1)
        block /= self.n - 1
        return block

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an npz file, under a temporary name until it is complete."""
        arrays = {name: getattr(self, name) for name in self._array_names()}
        if self.targets:
            arrays["targets"] = np.array(True)
        header = np.array([_FORMAT, self.n, self.m_x, self.m_y or 0], dtype=np.int64)
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
            header = read_member(stored, "header")
            version, n_seen, m_x, m_y = (int(entry) for entry in header)
            if version != _FORMAT:
                raise ValueError(f"format {version}, this version reads {_FORMAT}")
            if n_seen < 0:
                raise ValueError(f"{n_seen} rows")
            held = {name: read_member(stored, name) for name in stored}
            # Before memory for as many features is taken.
            if held["xx"].shape[0] != m_x or (m_y and held["xy"].shape[1] != m_y):
                raise ValueError(f"a header of {m_x} and {m_y} features before other arrays")
            moments = cls(
                m_x, m_y or None, features=str(held["features"]), targets="targets" in held
            )
            moments.n = n_seen
            for name in moments._array_names():
                _check_form(name, held[name], getattr(moments, name))
                setattr(moments, name, held[name])
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

    def _products(self) -> tuple[str, ...]:
        """Names of the second moments that are held."""
        if not self.two_views:
            return ("xx",)
        return ("xx", "xy") if self.targets else ("xx", "xy", "yy")

    def _array_names(self) -> tuple[str, ...]:
        sums = ("shift_x", "sum_x", "shift_y", "sum_y")
        return (*self._products(), *(sums if self.two_views else sums[:2]))

    def _check_rows(self) -> None:
        if self.n < 2:
            raise ValueError(f"moments of {self.n} rows: at least 2 rows are needed.")

    def _check_update(self, zx: FloatArray, zy: FloatArray | None) -> None:
        if (zy is None) == self.two_views:
            raise ValueError(
                f"moments of {2 if self.two_views else 1} view(s), "
                f"updated with {1 if zy is None else 2}."
            )
        for name, z, m in (("zx", zx, self.m_x), ("zy", zy, self.m_y)):
            if z is not None and (z.ndim != 2 or z.shape[1] != m or len(z) != len(zx)):
                raise ValueError(f"{name} has shape {z.shape}, expected ({len(zx)}, {m}).")

    def _check_merge(self, other: "Moments") -> None:
        for what, own, its in (
            ("sizes", (self.m_x, self.m_y), (other.m_x, other.m_y)),
            ("targets", self.targets, other.targets),
            ("features", self.features, other.features),
        ):
            if own != its:
                raise ValueError(f"cannot merge moments of other {what}: {its} into {own}.")


def _check_form(name: str, array: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    if array.shape != expected.shape or array.dtype != expected.dtype:
        raise ValueError(
            f"{name} is {array.dtype}{array.shape}, not {expected.dtype}{expected.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has a value that is not finite")


def _plus_gram(moment: Matrix, z: Matrix) -> Matrix:
    """Add zᵀz to the lower triangle of a moment, in place."""
    # BLAS reads by columns: the lower triangle is its upper one.
    total: Matrix = blas.dsyrk(1.0, z.T, beta=1.0, c=moment.T, lower=0, overwrite_c=1)
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
