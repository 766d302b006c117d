"""What the jobs share: which rows of two views they train, tune and test on, and their state."""

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from workflow.data.prepared import Prepared
from workflow.data.splits import Rows, Split, given_split, group_split, official_split, random_split
from workflow.data.views import RowView, standardised
from workflow.lib.seeding import derived_seed

Views = tuple[RowView, RowView]


class Trial(SimpleNamespace):
    """The rows of one fit: the same for every method that is compared on them.

    Its attributes are the settings of the experiment, and ``name``, ``repeat``, ``seed`` and
    ``draws``: the experiment whose splits and random features it shares, so that methods and
    variants are compared in pairs; its own name if none.
    """

    def rows(self, data: Prepared) -> Split:
        """Draw the split: the same for every feature map of a repeat."""
        seed = derived_seed(self.seed, "rcca", self.draws, self.repeat, "split")
        sizes = [self.split[part] or 0 for part in ("train", "tune", "test")]
        match self.split["scheme"]:
            case "random":
                return random_split(data.n_rows, sizes, seed)
            case "groups":  # repeats are folds of one order of the groups
                seed = derived_seed(self.seed, "rcca", self.draws, 0, "split")
                return group_split(data.need("groups"), sizes, seed, self.repeat)
            case "official":
                return official_split(data.need("given_split"), sizes[1], seed)
            case "given":
                return given_split(data.need("given_split"))
            case scheme:
                raise ValueError(
                    f"split scheme {scheme!r} of experiment {self.name}: "
                    "known are random, given, official and groups."
                )

    def groups(self, data: Prepared, rows: Rows) -> Rows | None:
        """Return the groups of some rows, such as utterances; None if there are not two."""
        if data.groups is None:
            return None
        groups = np.asarray(data.groups)[rows]
        return groups if len(np.unique(groups)) > 1 else None

    def views(self, data: Prepared, rows: Split, part: str) -> Views:
        """Open the two views of the train, tune or test rows, without loading them."""
        wanted = getattr(rows, part)
        if not self.standardise:
            return RowView(data.x, wanted), RowView(data.y, wanted)
        return (
            standardised(data.x, wanted, by=rows.train),
            standardised(data.y, wanted, by=rows.train),
        )

    def rows_with_tuning(self, data: Prepared) -> Split:
        """Draw the split; without tuning rows, a tenth of the training rows is set aside."""
        rows = self.rows(data)
        if len(rows.tune):
            return rows
        seed = derived_seed(self.seed, "baselines", "tune")
        order = np.random.default_rng(seed).permutation(rows.train)
        count = len(order) // 10
        return Split(np.sort(order[count:]), np.sort(order[:count]), rows.test, rows.n_rows)

    def parts(self, data: Prepared, rows: Split) -> tuple[Views, Views, Views]:
        """Open the training, tuning and test rows."""
        train, tune, test = (self.views(data, rows, part) for part in ("train", "tune", "test"))
        return train, tune, test


def state_file(output: str | PathLike[str], name: str, made_by: Mapping[str, Any]) -> Path:
    """Name the file in which a job keeps its state, after all that the state depends on.

    It lies in ``state/rcca`` of the run that ``output``, a file of the job, belongs to.

    It is no declared output, which Snakemake would delete when a job is killed. ``name`` is the
    job's, with the file's ending. A file that the same job left under other settings is deleted.
    """
    digest = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()
    plain = Path(output).parents[2] / "state" / "rcca" / name
    wanted = plain.with_stem(f"{plain.stem}-{digest[:16]}")
    for other in wanted.parent.glob(f"{plain.stem}-{'?' * 16}{plain.suffix}"):
        if other != wanted:
            other.unlink()
    return wanted
