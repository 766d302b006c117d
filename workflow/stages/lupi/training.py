"""Training rows of stage lupi: preprocessed, mapped, and correlated with what is privileged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rnca.features import FourierFeatures
from workflow.stages.lupi.bases import Basis, System, Variant, fit_bases

Matrix = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Fold = tuple[Index, Index]

PREPROCESSING = ("raw", "zscore", "hellinger")
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


class Rows(NamedTuple):
    """Training or test rows of a partition.

    Counts of visual words, of shape (n, d), are the regular features; the sign of a row is 1 for
    animals of the positive side, −1 for the others.
    """

    counts: Matrix
    animal: Index
    signs: Matrix


def preprocessor(name: str, counts: Matrix) -> Callable[[Matrix], Matrix]:
    """Return one of `PREPROCESSING`, fitted to the counts of training rows.

    Raw counts, z-scores of each column, or square roots of histograms that sum to 1.
    """
    if name == "raw":
        return lambda rows: rows
    if name == "zscore":
        mean, deviation = counts.mean(axis=0), counts.std(axis=0)
        deviation[deviation == 0] = 1.0
        return lambda rows: (rows - mean) / deviation
    if name == "hellinger":
        return lambda rows: np.sqrt(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0))
    raise ValueError(f"preprocessing {name!r}: known are {', '.join(PREPROCESSING)}.")


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
    variants: Sequence[str]
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
        kinds = {"animal": (self.rows.animal, by_animal)}
        kinds["donor and label"] = (2 * donor + (self.rows.signs > 0), by_donor)
        wanted = [
            System(codes, {name: each for name, each in variants.items() if name in self.variants})
            for codes, variants in kinds.values()
        ]
        return [system for system in wanted if system.variants]
