"""Settings of stage maps, and what its jobs cost."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from pydantic import Field

from workflow.data.catalogue import Facts
from workflow.lib import models
from workflow.lib.models import Count, Distinct, Experiments, Increasing, Repeats
from workflow.lib.resources import (
    CAUTIOUS_OPERATIONS_PER_SECOND,
    OPERATIONS_PER_SECOND,
    PROCESSES_MB,
    fit_mem_mb,
)

# Maps that a repeat compares, one fit each.
MAPS = 5
# For reading, drawing and scoring.
MINUTES_BESIDE = 15


class Experiment(models.Experiment):
    """A comparison of all feature maps on the same rows with the same kernel width."""

    train: Count = Field(description="training rows, drawn at random")
    test: Count = Field(description="test rows, drawn at random")
    kernel_rows: Count = Field(
        description="test rows on which the kernel error is measured, in the first view"
    )
    components: Count = Field(description="canonical variables to sum over")
    features: Increasing[Count] = Field(
        description="numbers of random features m, increasing, "
        "none below `components` or above `train`"
    )
    reg: float = Field(1e-8, ge=0, description="added to the diagonal of the feature covariances")
    repeats: Repeats = Field(3, description="how often rows and features are redrawn", exclude=True)
    # These are the settings of the timing job alone.
    dimensions: Distinct[Count] = Field(
        [392, 1024, 3072, 8192],
        description="numbers of columns d at which features are timed, on normal rows and with "
        "nothing else running",
        exclude=True,
    )
    timed_features: Distinct[Count] = Field(
        [1000], description="numbers of random features m that are timed", exclude=True
    )
    timed_rows: Count = Field(2048, description="rows whose features are timed", exclude=True)

    def timing(self, **more: Any) -> dict[str, Any]:
        """Return the settings of the timing job, and ``more``."""
        keys = ("dimensions", "timed_features", "timed_rows")
        return {key: getattr(self, key) for key in keys} | more

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the numbers of features or rows."""
        yield from super().problems(data)
        least, largest = self.features[0], self.features[-1]
        if least < self.components:
            yield f"features: m = {least} is less than components = {self.components}"
        if largest > self.train:
            yield (
                f"features: m = {largest} is more than train = {self.train}, from which the "
                "Nyström landmarks are drawn"
            )
        if self.kernel_rows > self.test:
            yield f"kernel_rows: {self.kernel_rows} is more than test = {self.test}"
        if data.rows is not None and self.train + self.test > data.rows:
            yield (
                f"train: train + test = {self.train + self.test} rows are more than the "
                f"{data.rows} of {self.dataset!r}"
            )

    def mem_mb(self) -> int:
        """Return the memory of the largest job, in millions of bytes."""
        return max(self.fit_mem_mb(), self.timing_mem_mb())

    def fit_mem_mb(self) -> int:
        """Return the memory of a repeat, in millions of bytes."""
        return fit_mem_mb(self.features[-1])

    def timing_mem_mb(self) -> int:
        """Return the memory of timing: rows, features, and the matrices of the maps."""
        d, m, rows = max(self.dimensions), max(self.timed_features), self.timed_rows
        drawn = (4 * 4 + 4 * 8) * m * d  # four maps in float32, one with its copies in float64
        return PROCESSES_MB + ceil((4 * (max(rows, m) * d + 4 * rows * m) + drawn) / 1e6)

    def job_minutes(self, threads: int) -> int:
        """Return the minutes that a repeat may take."""
        seconds = self._operations() / (CAUTIOUS_OPERATIONS_PER_SECOND * threads)
        return MINUTES_BESIDE + ceil(seconds / 60)

    def forecast(self, cores: int) -> float:
        """Estimate the minutes of all repeats."""
        return self.repeats * self._operations() / OPERATIONS_PER_SECOND / cores / 60

    def _operations(self) -> float:
        """Count the operations of the covariance passes of one repeat."""
        return float(MAPS * 4 * self.train * self.features[-1] ** 2)


class Maps(Experiments[Experiment]):
    """Comparison of all feature maps: experiments by name."""


SETTINGS = Maps
