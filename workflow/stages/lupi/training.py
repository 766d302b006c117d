"""Training rows of stage lupi: preprocessed, mapped, and correlated with what is privileged."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnca.features import FourierFeatures
from rnca.lupi import Cells, canonical_bases, nearest_rotation, second_view
from rnca.method import Factor, whiten
from rnca.moments import Moments

Matrix = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Fold = tuple[Index, Index]

VARIANTS = (
    "rcca",
    "rcca-five",
    "rcca-y",
    "rcca-attributes",
    "rcca-permuted-animals",
    "rcca-permuted-images",
    "rcca-animal",
    "lda",
)
COMPONENTS = 5


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

    def variables(self, rows: Index | slice = slice(None)) -> Matrix:
        """Canonical variables of training rows."""
        variables: Matrix = self.frame[rows] @ self.directions
        return variables


def fit_bases(
    z: Matrix, rows: Index, systems: Sequence[System], sizes: Sequence[int], regs: Sequence[float]
) -> Iterator[tuple[tuple[str, int, float], Basis]]:
    """Fit every variant at every m and reg to some of the training rows.

    ``z`` of shape (n, m) has the features of all of them; bases come with (variant, m, reg).
    """
    moments = Moments(z.shape[1]).update(z[rows])
    mean = moments.mean(0)
    centred = z - mean
    problems = [_Problems(system, rows, z, mean) for system in systems]
    for reg in regs:
        factor = whiten(moments, 0, reg)
        for each in problems:
            means = factor.whiten(each.means.copy())
            for m in sizes:
                for name, basis in each.bases(means[:m], factor, centred[:, :m], mean[:m]):
                    yield (name, m, reg), basis


class _Problems:
    """The cells of a system among the rows fitted to, and its variants' whitened views."""

    def __init__(self, system: System, rows: Index, z: Matrix, mean: Matrix) -> None:
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


def cross_fitted(whole: Basis, parts: Sequence[Basis], folds: Sequence[Fold]) -> Matrix:
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


class Rows(NamedTuple):
    """Training or test rows of a partition.

    Counts of visual words, of shape (n, d), are the regular features; the sign of a row is 1 for
    animals of the positive side, −1 for the others.
    """

    counts: Matrix
    animal: Index
    signs: Matrix


def preprocessor(name: str, counts: Matrix) -> Callable[[Matrix], Matrix]:
    """Return a preprocessing, fitted to the counts of training rows.

    Raw counts, rows of length 1, z-scores of each column, or square roots of histograms that sum to
    1.
    """
    if name == "raw":
        return lambda rows: rows
    if name == "unit":
        return lambda rows: rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    if name == "zscore":
        mean, deviation = counts.mean(axis=0), counts.std(axis=0)
        deviation[deviation == 0] = 1.0
        return lambda rows: (rows - mean) / deviation
    if name == "hellinger":
        return lambda rows: np.sqrt(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0))
    raise ValueError(f"unknown preprocessing {name!r}")


@dataclass(frozen=True)
class Training:
    """The training rows of one partition under one preprocessing.

    Attributes have shape (animals, p); a fold is (rows fitted to, rows held out); seeds are those
    of ``features``, ``animals``, ``images`` and ``directions``.
    """

    rows: Rows
    attributes: Matrix
    preprocessing: str
    folds: Sequence[Fold]
    sizes: Sequence[int]
    regs: Sequence[float]
    methods: Sequence[str]
    seeds: Mapping[str, int]

    @cached_property
    def prepare(self) -> Callable[[Matrix], Matrix]:
        """The preprocessing, fitted to these rows."""
        return preprocessor(self.preprocessing, self.rows.counts)

    @cached_property
    def x(self) -> Matrix:
        """The preprocessed regular features."""
        return self.prepare(self.rows.counts)

    @cached_property
    def gram(self) -> Matrix:
        """Gram matrix of the preprocessed regular features."""
        return self.x @ self.x.T

    @cached_property
    def features(self) -> FourierFeatures:
        """z_x, drawn for these rows."""
        seed = self.seeds["features"]
        return FourierFeatures(max(self.sizes), random_state=seed, dtype="float32").fit(self.x)

    @cached_property
    def z(self) -> Matrix:
        """The random features of these rows."""
        return self.map(self.x)

    def map(self, x: Matrix) -> Matrix:
        """Evaluate the random features of preprocessed rows."""
        return self.features.transform(x).astype(np.float64)

    @cached_property
    def permuted(self) -> Matrix:
        """The attributes, permuted among the animals of these rows."""
        present = np.unique(self.rows.animal)
        table = self.attributes.copy()
        donors = np.random.default_rng(self.seeds["animals"]).permutation(present)
        table[present] = self.attributes[donors]
        return table

    @cached_property
    def bases(self) -> dict[tuple[str, int, float], list[Basis]]:
        """The RCCA fits by variant, m and reg: one for each fold, and the fit to all rows last."""
        found: dict[tuple[str, int, float], list[Basis]] = {}
        systems = self.systems()
        for rows in [*(fitted for fitted, _ in self.folds), np.arange(len(self.z))]:
            for key, basis in fit_bases(self.z, rows, systems, self.sizes, self.regs):
                found.setdefault(key, []).append(basis)
        return found

    def systems(self) -> list[System]:
        """Return what RCCA correlates the pictures with.

        ``rcca``: each attribute with the label. ``rcca-five``: the same, but always five
        directions, of which at most three are defined. ``rcca-y``: the label.
        ``rcca-attributes``: each attribute. ``rcca-permuted-animals``: as the first, but each
        animal has the attributes of another one of the partition. ``rcca-permuted-images``: each
        picture has those of another picture's animal, so that they say nothing about it.
        ``rcca-animal``: each attribute with the animal. That amounts to the animal alone, since
        attributes are a function of it: the first variables of its discriminant analysis.
        ``lda``: all of those.
        """
        animals, p = self.attributes.shape
        label = np.zeros((animals, 1))
        label[self.rows.animal, 0] = self.rows.signs
        number = np.arange(animals)[:, None]
        both = np.hstack([self.attributes, label])
        alone, labelled = [(i,) for i in range(p)], [(i, p) for i in range(p)]
        by_animal = {
            "rcca": Variant(both, labelled, COMPONENTS),
            "rcca-five": Variant(both, labelled, COMPONENTS, self.seeds["directions"]),
            "rcca-y": Variant(label, [(0,)], COMPONENTS),
            "rcca-attributes": Variant(self.attributes, alone, COMPONENTS),
            "rcca-permuted-animals": Variant(
                np.hstack([self.permuted, label]), labelled, COMPONENTS
            ),
            "rcca-animal": Variant(number, [(0,)], COMPONENTS),
            "lda": Variant(number, [(0,)], animals),
        }
        donor = np.random.default_rng(self.seeds["images"]).permutation(self.rows.animal)
        table = np.column_stack([self.attributes.repeat(2, axis=0), np.tile([-1, 1], animals)])
        by_donor = {"rcca-permuted-images": Variant(table, labelled, COMPONENTS)}
        by_donor_and_label = 2 * donor + (self.rows.signs > 0)
        wanted = [
            System(kinds, {name: each for name, each in variants.items() if name in self.methods})
            for kinds, variants in ((self.rows.animal, by_animal), (by_donor_and_label, by_donor))
        ]
        return [system for system in wanted if system.variants]
