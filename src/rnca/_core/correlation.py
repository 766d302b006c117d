"""Correlations of columns, accumulated chunk by chunk."""

from collections.abc import Callable
from typing import Self

import numpy as np

from rnca._core.rows import FloatArray, Matrix

# Standard deviations that rounding gives a constant, relative to 1 + |mean|.
_CONSTANT = 1e-12


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
            square <= _CONSTANT**2 * (1 + mean**2) * max(self._n - 1, 1)
            for square, mean in zip(self._squares, self._means, strict=True)
        ]
        norms = [
            np.where(c, np.inf, np.sqrt(s)) for c, s in zip(constant, self._squares, strict=True)
        ]
        correlations: Matrix = self._cross / self._of_rows(*norms)
        return correlations

    def _of_rows(self, a: Matrix, b: Matrix) -> Matrix:
        return self._product(a[None], b[None])
