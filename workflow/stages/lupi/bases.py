"""RCCA features of the lupi stage: every variant, m and reg from one factor per fit and reg."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnca._core.moments import Moments
from rnca._core.whitening import Factor
from rnca.lupi import Cells, canonical_bases, nearest_rotation, second_view

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


class Variant(NamedTuple):
    """What RCCA correlates the pictures with: second views that are functions of a kind of row.

    ``table`` of shape (kinds, q) has the columns of all views, ``views`` which of them each view
    takes; it gets at most ``components`` canonical variables. If there is a seed, a view with
    fewer directions is filled up with random ones, orthogonal to the defined ones in the whitened
    space: what an SVD returns for singular values of zero is as arbitrary, but depends on the
    machine.
    """

    table: npt.NDArray[Any]
    views: Sequence[Sequence[int]]
    components: int
    seed: int | None = None


class System(NamedTuple):
    """Variants that share their cells: the kind (the animal, say) of each of n training rows."""

    kinds: npt.NDArray[np.integer[Any]]
    variants: Mapping[str, Variant]


class Basis(NamedTuple):
    """Canonical variables of one variant, m and reg, from one fit.

    Attributes
    ----------
    F : ndarray of shape (m, r)
        Of the features less their mean; what all views of a system share.
    mean : ndarray of shape (m,)
    frame : ndarray of shape (n, r)
        ``(z − mean)·F`` of all training rows, those of other folds too.
    directions : ndarray of shape (r, k)
        The canonical variables are ``frame @ directions``.
    views : ndarray of int of shape (k,)
        The second view that each belongs to.
    """

    F: Matrix
    mean: Matrix
    frame: Matrix
    directions: Matrix
    views: npt.NDArray[np.intp]

    def gram(self) -> Matrix:
        """Gram matrix of the canonical variables of all training rows."""
        gram: Matrix = self.frame @ (self.directions @ self.directions.T) @ self.frame.T
        return gram

    def variables(self, rows: Rows | slice = slice(None)) -> Matrix:
        """Canonical variables of training rows."""
        variables: Matrix = self.frame[rows] @ self.directions
        return variables


def fit_bases(
    z: Matrix, rows: Rows, systems: Sequence[System], sizes: Sequence[int], regs: Sequence[float]
) -> Iterator[tuple[tuple[str, int, float], Basis]]:
    """Fit every variant at every m and reg to some of the training rows.

    ``z`` of shape (n, m) has the features of all of them; bases come with (variant, m, reg).
    """
    moments = Moments(z.shape[1]).update(z[rows])
    mean = moments.mean("x")
    centred = z - mean
    problems = [_Problems(system, rows, z, mean) for system in systems]
    for reg in regs:
        factor = Factor(moments, "x", reg)
        for each in problems:
            means = each.means.copy()
            means = factor.whiten_rows(means)
            for m in sizes:
                for name, basis in each.bases(means[:m], factor, centred[:, :m], mean[:m]):
                    yield (name, m, reg), basis


class _Problems:
    """The cells of a system among the rows fitted to, and its variants' whitened views."""

    def __init__(self, system: System, rows: Rows, z: Matrix, mean: Matrix) -> None:
        cells = Cells.of(system.kinds[rows, None])
        present = cells.values[:, 0]
        self.means = cells.weighted_means(cells.sums(z[rows]), mean)
        self.views: dict[str, dict[int, Matrix]] = {name: {} for name in system.variants}
        self.variants = system.variants
        for name, variant in system.variants.items():
            for i, columns in enumerate(variant.views):
                own = Cells.of(variant.table[present][:, list(columns)])
                if len(own.counts) > 1:  # a constant view has no canonical variable
                    # Indicators, unregularised: any other map that tells the view's values apart
                    # gives the same variables, rotated at most.
                    indicators = np.eye(len(own.counts))[own.code]
                    self.views[name][i] = second_view(indicators, cells.roots, 0.0)

    def bases(
        self, means: Matrix, factor: Factor, centred: Matrix, mean: Matrix
    ) -> Iterator[tuple[str, Basis]]:
        every = [view for views in self.views.values() for view in views.values()]
        most = max(variant.components for variant in self.variants.values())
        found = canonical_bases(means, every, most)
        F = factor.unwhiten(found.frame)
        frame, directions = centred @ F, iter(found.directions)
        for name, views in self.views.items():
            variant = self.variants[name]
            own = [next(directions)[:, : variant.components] for _ in views]
            if variant.seed is None:
                belongs = np.repeat(list(views), [part.shape[1] for part in own])
                yield name, Basis(F, mean, frame, np.hstack(own), belongs)
            else:
                rng = np.random.default_rng([variant.seed, len(means)])
                random, filled = _filled(own, found.frame, variant.components, rng)
                F_all = np.hstack([F, factor.unwhiten(random)])
                belongs = np.repeat(list(views), variant.components)
                yield name, Basis(F_all, mean, centred @ F_all, filled, belongs)


def _filled(
    own: Sequence[Matrix], frame: Matrix, components: int, rng: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """Fill each view's directions up with random ones, orthogonal to the frame and each other.

    ``own`` are the defined ones, of shape (r, k ≤ components) each, and ``frame``, of shape (m, r),
    is orthonormal in the whitened space. Returns s more columns of the frame, of shape (m, s), and
    all directions, of shape (r + s, components · views).
    """
    drawn = []
    for part in own:
        normal = rng.standard_normal((len(frame), components - part.shape[1]))
        drawn.append(np.linalg.qr(normal - frame @ (frame.T @ normal))[0])
    random = np.hstack(drawn)
    directions = np.zeros((frame.shape[1] + random.shape[1], components * len(own)))
    row = frame.shape[1]
    for i, (part, more) in enumerate(zip(own, drawn, strict=True)):
        start, k, s = components * i, part.shape[1], more.shape[1]
        directions[: len(part), start : start + k] = part
        directions[row : row + s, start + k : start + components] = np.eye(s)
        row += s
    return random, directions


def cross_fitted(
    whole: Basis, parts: Sequence[Basis], folds: Sequence[tuple[Rows, Rows]]
) -> Matrix:
    """Canonical variables of each fold from the fit to the others, turned towards the whole fit's.

    The result has shape (n, k); ``parts`` are in the order of the folds (rows fitted to, rows held
    out).
    """
    target = whole.variables()
    out = np.zeros_like(target)
    for part, (fitted, held) in zip(parts, folds, strict=True):
        seen, new = part.variables(fitted), part.variables(held)
        for view in np.unique(part.views):
            theirs, ours = part.views == view, whole.views == view
            turn = nearest_rotation(seen[:, theirs], target[np.ix_(fitted, ours)])
            out[np.ix_(held, ours)] = new[:, theirs] @ turn
    return out
