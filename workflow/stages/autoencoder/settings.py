"""Settings of stage autoencoder, and what its jobs cost."""

from collections.abc import Iterator
from math import ceil
from typing import Any, Literal

from pydantic import Field

from workflow.data.catalogue import Facts, facts_of
from workflow.lib import models
from workflow.lib.models import Count, Distinct, Experiments, Increasing, Positive, Repeats
from workflow.lib.resources import (
    CAUTIOUS_OPERATIONS_PER_SECOND,
    OPERATIONS_PER_SECOND,
    PROCESSES_MB,
)

TRAINING_SHARE = 0.8
# Fits of a repeat, of which one is linear, and of a sweep at each of its sizes.
TABLE_FITS, SWEEP_FITS = 5, 4
MINUTES_BESIDE = 15


class Search(models.Settings):
    """What widths and regularisers are chosen from."""

    share: float = Field(
        default=0.2,
        gt=0,
        le=1,
        description="share of the training and tuning rows that candidates are compared on",
    )
    encoder: Distinct[Positive] = Field(
        default=[0.3, 0.1, 0.03],
        description="widths of the encoder, as multiples of the median heuristic's gamma",
    )
    decoder: Distinct[Positive] = Field(
        default=[0.01, 0.003, 0.001],
        description="widths of the decoder, as multiples of the median heuristic's gamma",
    )
    widen: int = Field(
        default=3,
        ge=0,
        description="how often widths are added while the best one is the smallest or largest",
    )
    regs: Distinct[Positive] = Field(
        default=[10.0**exponent for exponent in range(-14, -2)],
        description="regularisers, added to the diagonal of the covariance of the decoder's "
        "features",
    )


class Sweeps(models.Settings):
    """Other numbers of factors and of features to try."""

    d: Increasing[Count] | None = Field(
        default=None, description="numbers of latent factors, increasing, at m = `features`"
    )
    m: Increasing[Count] | None = Field(
        default=None, description="numbers of random features, increasing, at d = `components`"
    )


class Experiment(models.Experiment):
    """Autoencoders of one dataset at one number of latent factors."""

    needs = ("images",)

    components: Count = Field(description="number of latent factors d")
    features: Count = Field(
        description="number of random features m of the encoder, and as many of the decoder; "
        "more than `components`"
    )
    white: Positive = Field(
        255.0,
        description="the pixel value that counts as 1; "
        "the width of the authors' code depends on the unit",
    )
    ridge: float = Field(
        1e-6,
        ge=0,
        description="added to the sums of squares of the decoder's features (the authors'); "
        "the methods with chosen widths have a chosen one",
    )
    search: Search = Field(Search(), description="what widths and regularisers are chosen from")
    sweeps: Sweeps = Field(
        Sweeps(),
        description="other numbers to try on the split of the first repeat",
        exclude=True,
    )
    shown: Count = Field(10, description="test pictures that are shown with their reconstructions")
    repeats: Repeats = Field(
        3, description="how often the split and the features are redrawn", exclude=True
    )
    jobs: Literal["one", "many"] = Field(
        "one",
        description="whether an experiment is `one` job, or each repeat and each sweep one of its "
        "own (`many`)",
        exclude=True,
    )

    def parts(self) -> dict[str, dict[str, Any]]:
        """Return the parts that an experiment is made in, one job each: repeats and sweeps.

        ``all`` in one job, or ``repeat-0`` and so on, ``sweep-d`` and ``sweep-m``.
        """
        sweeps = {axis: sizes for axis, sizes in self.sweeps if sizes}
        if self.jobs == "one":
            return {"all": {"repeats": list(range(self.repeats)), "sweeps": sweeps}}
        parts: dict[str, dict[str, Any]] = {
            f"repeat-{i}": {"repeats": [i], "sweeps": {}} for i in range(self.repeats)
        }
        for axis, sizes in sweeps.items():
            parts[f"sweep-{axis}"] = {"repeats": [], "sweeps": {axis: sizes}}
        return parts

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the numbers of factors and features."""
        yield from super().problems(data)
        d, m = self.components, self.features
        numbers = {"components": d, "sweeps.d": max(self.sweeps.d or [1])}
        for key, number in numbers.items():
            if number >= m:
                yield f"{key}: d = {number} must be less than features = {m}"
            if data.columns is not None and number > data.columns:
                yield (
                    f"{key}: d = {number} is more than the {data.columns} pixels of a picture "
                    f"of {self.dataset!r}"
                )
        if (least := min(self.sweeps.m or [m])) <= d < m:
            yield f"sweeps.m: m = {least} must be more than components = {d}"

    def mem_mb(self) -> int:
        """Return the memory of a part, in millions of bytes.

        That is the moments of both passes and the eigenvectors' working space, chunks of features
        and pixels, and what Python and its libraries take.
        """
        pixels = facts_of(self.dataset).columns or 0
        m = max([self.features, *(self.sweeps.m or [])])
        matrices = 3 * max(m, pixels) ** 2 + 3 * m * pixels + 2 * m**2
        chunks = 6 * 2048 * (m + pixels)
        return PROCESSES_MB + ceil(8 * (matrices + chunks) / 1e6)

    def part_minutes(self, part: str, threads: int) -> int:
        """Return the minutes that a part may take."""
        operations = self._operations(**self.parts()[part])
        return MINUTES_BESIDE + ceil(operations / CAUTIOUS_OPERATIONS_PER_SECOND / threads / 60)

    def forecast(self, cores: int) -> float:
        """Estimate the minutes of all parts from their operations."""
        operations = sum(self._operations(**part) for part in self.parts().values())
        return operations / OPERATIONS_PER_SECOND / cores / 60

    def _operations(self, repeats: list[int], sweeps: dict[str, list[int]]) -> float:
        """Count the operations of repeats, with their searches, and sweeps."""
        a_repeat = TABLE_FITS * self._fit_operations(self.features) + self._search_operations()
        operations = len(repeats) * a_repeat
        for axis, sizes in sweeps.items():
            features = sizes if axis == "m" else [self.features] * len(sizes)
            operations += SWEEP_FITS * sum(self._fit_operations(m) for m in features)
        return operations

    def _search_operations(self) -> float:
        """Count the operations of a search: for each width of the decoder a fit to a share of rows.

        How often widths will be added is not known: once is assumed. Each regulariser takes a
        factor, a solution for all pixels, and the error on tuning rows.
        """
        data = facts_of(self.dataset)
        rows, pixels, m = data.rows or 0, data.columns or 0, self.features
        tuning_rows = 0.1 * self.search.share * rows
        each_reg = m**3 / 3 + 2.0 * m**2 * pixels + 4.0 * tuning_rows * m * pixels
        # Beside the decoders tried, the two methods chosen try all regularisers once more.
        decoders = (1 + len(self.search.decoder)) * (2 + len(self.search.encoder))
        share = self.search.share * self._fit_operations(m)
        return decoders * share + (decoders + 2) * len(self.search.regs) * each_reg

    def _fit_operations(self, m: int) -> float:
        """Count the operations of a fit: features of pixels twice, and products of both passes."""
        data = facts_of(self.dataset)
        rows, pixels = data.rows or 0, data.columns or 0
        return TRAINING_SHARE * rows * (6.0 * m * pixels + 2.0 * m**2)


class Autoencoder(Experiments[Experiment]):
    """Pictures reconstructed from a few numbers (Section 5.4): experiments by name."""


SETTINGS = Autoencoder
