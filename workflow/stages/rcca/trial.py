"""Which rows of two views an experiment trains, tunes and tests on."""

from dataclasses import dataclass
from typing import Any

from rnca._core.seeding import derived_seed
from workflow.data.prepared import Prepared
from workflow.data.splits import Split, given_split, group_split, official_split, random_split
from workflow.data.views import RowView, standardised

Views = tuple[RowView, RowView]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The rows of one fit: the same for every method that is compared on them.

    Attributes
    ----------
    name : str
        Of the experiment.
    draws : str
        The experiment whose splits and random features it shares, so that methods and variants
        are compared in pairs; its own name if none.
    split : dict
        ``scheme`` (random, given, official or groups) and, where it needs them, the sizes
        ``train``, ``tune`` and ``test``.
    standardise : bool
        Whether columns are brought to mean 0 and standard deviation 1 on training rows.
    components : int
        Canonical variables summed over.
    repeat : int
    seed : int
        Of the whole run.
    """

    name: str
    draws: str
    split: dict[str, Any]
    standardise: bool
    components: int
    repeat: int
    seed: int

    def rows(self, data: Prepared) -> Split:
        """Draw the split: the same for every feature map of a repeat."""
        seed = derived_seed(self.seed, "rcca", self.draws, self.repeat, "split")
        sizes = [self.split.get(part, 0) for part in ("train", "tune", "test")]
        match self.split["scheme"]:
            case "random":
                return random_split(data.n_rows, sizes, seed)
            case "groups":
                return group_split(data.need("groups"), sizes, seed)
            case "official":
                return official_split(data.need("given_split"), sizes[1], seed)
            case "given":
                return given_split(data.need("given_split"))
            case scheme:
                raise ValueError(
                    f"split scheme {scheme!r} of experiment {self.name}: "
                    "known are random, given, official and groups."
                )

    def views(self, data: Prepared, rows: Split, part: str) -> Views:
        """Open the two views of the train, tune or test rows, without loading them."""
        wanted = getattr(rows, part)
        if not self.standardise:
            return RowView(data.x, wanted), RowView(data.y, wanted)
        return (
            standardised(data.x, wanted, by=rows.train),
            standardised(data.y, wanted, by=rows.train),
        )
