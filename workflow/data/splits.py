"""Train, tune and test rows: drawn once from a seed, disjoint by construction, kept as indices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnca.files import read_member, replacing
from workflow.data import DataError

Seed = int | Sequence[int] | np.random.SeedSequence
Rows = NDArray[np.int64]
PARTS = ("train", "tune", "test")


@dataclass(frozen=True)
class Split:
    """Which rows are for fitting, for choosing settings, and for the final figure.

    The parts are sorted, disjoint row numbers from 0 to ``n_rows`` − 1. Tune may be empty; not
    every row need be used.
    """

    train: Rows
    tune: Rows
    test: Rows
    n_rows: int

    def __post_init__(self) -> None:
        for part in PARTS:
            rows = getattr(self, part)
            if rows.dtype != np.int64 or rows.ndim != 1 or (np.diff(rows) <= 0).any():
                raise DataError(f"{part} rows must be increasing int64 numbers")
            if len(rows) and (rows[0] < 0 or rows[-1] >= self.n_rows):
                raise DataError(f"{part} rows must lie in 0 to {self.n_rows - 1}")
            rows.setflags(write=False)
        if not len(self.train) or not len(self.test):
            raise DataError(f"a split needs train and test rows, got sizes {self.sizes}")
        together = np.concatenate([self.train, self.tune, self.test])
        together.sort(kind="stable")  # of three sorted parts: merges them
        if (together[1:] == together[:-1]).any():
            raise DataError("train, tune and test rows overlap")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many rows each part has."""
        return len(self.train), len(self.tune), len(self.test)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the row numbers to an .npz file, as a whole or not at all."""
        with replacing(path) as partial, partial.open("wb") as stream:
            np.savez(
                stream,
                train=self.train,
                tune=self.tune,
                test=self.test,
                n_rows=np.int64(self.n_rows),
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, n_rows: int | None = None) -> Split:
        """Read what `save` wrote, and check it; `n_rows`, if given, must be the dataset's."""
        try:
            # Opened here, since numpy forgets to close a file that is not a whole archive.
            with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                train, tune, test = (read_member(stored, part) for part in PARTS)
                split = cls(train, tune, test, int(read_member(stored, "n_rows")))
        except MemoryError:
            raise
        # zipfile and numpy raise almost anything on a broken file.
        except Exception as error:
            message = f"{path}: not a usable split ({error}); delete it and run again"
            raise DataError(message) from error
        if n_rows is not None and split.n_rows != n_rows:
            raise DataError(
                f"{path}: made for {split.n_rows} rows, but the dataset has {n_rows}; "
                "delete it and run again"
            )
        return split


@dataclass(frozen=True)
class Partition:
    """One task of the privileged-information experiment: some classes against others.

    Its split is of rows of these classes, without tune.
    """

    positive: tuple[int, ...]
    negative: tuple[int, ...]
    split: Split


def random_split(n_rows: int, sizes: Sequence[int], seed: Seed) -> Split:
    """Draw train, tune and test rows of the given sizes at random; the rest is not used."""
    _check_sizes(sizes, n_rows)
    return _cut(np.random.default_rng(seed).permutation(n_rows), sizes, n_rows)


def fraction_split(n_rows: int, seed: Seed) -> Split:
    """Draw a tenth of all rows as tune, a tenth as test, and the rest as train rows."""
    tenth = int(n_rows * 0.1)
    return random_split(n_rows, (n_rows - 2 * tenth, tenth, tenth), seed)


def official_split(given: ArrayLike, n_tune: int, seed: Seed) -> Split:
    """Keep the source's test rows; draw `n_tune` tuning rows from all others, train on the rest."""
    codes = np.asarray(given)
    test = np.flatnonzero(codes == 2)
    others = np.flatnonzero(codes != 2)
    _check_sizes((len(others) - n_tune, n_tune, len(test)), len(codes))
    drawn = np.random.default_rng(seed).permutation(others)
    return _split(drawn[n_tune:], drawn[:n_tune], test, len(codes))


def given_split(given: ArrayLike) -> Split:
    """Take the source's own split (0 = train, 1 = tune, 2 = test) as it is."""
    codes = np.asarray(given)
    train, tune, test = (np.flatnonzero(codes == code) for code in range(3))
    return _split(train, tune, test, len(codes))


def group_split(groups: ArrayLike, sizes: Sequence[int], seed: Seed, fold: int = 0) -> Split:
    """Draw whole groups, so that no group is on two sides.

    The sizes (train, tune, test) are aimed at, not reached exactly: groups in random order go to
    test, then tune, then train, each until one more group would take it further from its size. The
    test groups of one fold come last in the order of the next: folds have different test groups as
    long as there are enough.
    """
    codes = np.asarray(groups)
    _check_sizes(sizes, len(codes))
    names, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    for _ in range(fold):
        order = np.roll(order, -_nearest(counts[order], sizes[2]))
    side = np.full(len(names), -1)
    for code in (2, 1, 0):
        count = _nearest(counts[order], sizes[code])
        side[order[:count]] = code
        order = order[count:]
    return given_split(side[inverse])


def _nearest(counts: Rows, size: int) -> int:
    """Return how many of the first groups come nearest to a size."""
    return int(np.abs(np.concatenate([[0], np.cumsum(counts)]) - size).argmin())


def privileged_partition(
    labels: ArrayLike,
    seed: Seed,
    *,
    classes_per_side: int = 10,
    n_train: int = 1000,
    n_test: int = 1000,
    balanced: bool = False,
    classes_seed: Seed | None = None,
) -> Partition:
    """Draw one partition: some classes against as many others, and rows of them at random.

    If `balanced`, either side has half of the training and half of the test rows; otherwise it has
    what the draw from all rows of these classes gives. Partitions that share a `classes_seed` have
    the same classes and differ in their rows only.
    """
    codes = np.asarray(labels)
    classes = np.unique(codes)
    if balanced and (n_train % 2 or n_test % 2):
        raise DataError(f"{n_train} training and {n_test} test rows cannot be halved: give even")
    if len(classes) < 2 * classes_per_side:
        raise DataError(
            f"{classes_per_side} classes a side need {2 * classes_per_side}, "
            f"but there are {len(classes)}"
        )
    rng = np.random.default_rng(seed)
    of_classes = rng if classes_seed is None else np.random.default_rng(classes_seed)
    drawn = of_classes.permutation(classes)[: 2 * classes_per_side]
    sides = np.split(drawn, 2)
    parts, share = (sides, 2) if balanced else ([drawn], 1)
    sizes = (n_train // share, 0, n_test // share)
    cuts = []
    for part in parts:
        eligible = np.flatnonzero(np.isin(codes, part))
        _check_sizes(sizes, len(eligible))
        cuts.append(_cut(rng.permutation(eligible), sizes, len(codes)))
    train, tune, test = (np.concatenate([getattr(cut, p) for cut in cuts]) for p in PARTS)
    positive, negative = (tuple(int(c) for c in np.sort(side)) for side in sides)
    return Partition(positive, negative, _split(train, tune, test, len(codes)))


def _check_sizes(sizes: Sequence[int], available: int) -> None:
    if len(sizes) != 3 or sizes[0] < 1 or sizes[1] < 0 or sizes[2] < 1 or sum(sizes) > available:
        raise DataError(
            f"sizes (train, tune, test) = {tuple(sizes)} do not fit {available} rows: train and "
            "test need at least one row, and together they must not exceed what there is"
        )


def _cut(rows: NDArray[Any], sizes: Sequence[int], n_rows: int) -> Split:
    first, second, third = np.cumsum(sizes)
    return _split(rows[:first], rows[first:second], rows[second:third], n_rows)


def _split(train: NDArray[Any], tune: NDArray[Any], test: NDArray[Any], n_rows: int) -> Split:
    train, tune, test = (np.sort(part).astype(np.int64) for part in (train, tune, test))
    return Split(train, tune, test, n_rows)
