"""Settings of stage lupi, and what its jobs cost."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, ClassVar, Literal

from pydantic import Field

from workflow.data.catalogue import Facts
from workflow.lib import models
from workflow.lib.jobs import Job, Kind
from workflow.lib.models import Count, Distinct, Experiments, Increasing, Positive, Repeats
from workflow.lib.resources import PROCESSES_MB
from workflow.stages.lupi.names import METHOD_NAMES, PREPROCESSING_NAMES

Method: Any = Literal[*METHOD_NAMES]
Preprocessing: Any = Literal[*PREPROCESSING_NAMES]


class Experiment(models.Experiment):
    """Classifications of some classes against others, all methods on the same rows."""

    needs = ("x", "labels", "attributes")

    partitions: Repeats = Field(14, description="how often rows are drawn", exclude=True)
    jobs: Repeats = Field(1, description="jobs the partitions are divided into", exclude=True)
    classes: Count = Field(description="classes on either side")
    grouping: Literal["redrawn", "fixed"] = Field(
        "redrawn",
        description="whether the classes of either side are drawn anew for each partition, or once",
    )
    train: Count = Field(description="training rows of a partition")
    test: Count = Field(description="test rows of a partition")
    balanced: bool = Field(False, description="whether either side has half of the rows")
    preprocessing: Distinct[Preprocessing] = Field(
        list(PREPROCESSING_NAMES),
        description="what is done to the counts, for all methods alike: nothing (`raw`), each row "
        "divided by its length (`unit`), `zscore` of each column on training rows, or the square "
        "root of each row's shares (`hellinger`)",
    )
    methods: Distinct[Method] = Field(
        list(METHOD_NAMES),
        description="methods to compare, `surf` and `rcca` among them",
    )
    features: Increasing[Count] = Field(
        description="numbers of random features m to choose from, increasing"
    )
    regs: Distinct[Positive] = Field(description="regularisers of RCCA to choose from")
    costs: Increasing[Positive] = Field(
        [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4],
        description="costs of the SVM to choose from, increasing",
    )
    gammas: Distinct[Positive] = Field(
        [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3], description="γ of SVM+ to choose from"
    )
    folds: int = Field(
        5,
        ge=2,
        description="folds of the cross-validation on training rows, by which all these are chosen",
    )

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the methods, the jobs or the rows."""
        yield from super().problems(data)
        if missing := {"surf", "rcca"} - set(self.methods):
            yield f"methods: {', '.join(sorted(missing))} must be there to compare with"
        if self.jobs > self.partitions:
            yield f"jobs: {self.jobs} are more than partitions = {self.partitions}"
        if self.balanced and (self.train % 2 or self.test % 2):
            yield "balanced: train and test must be even to be halved"
        if data.rows is not None and self.train + self.test > data.rows:
            yield (
                f"train: train + test = {self.train + self.test} rows are more than the "
                f"{data.rows} of {self.dataset!r}"
            )

    def mem_mb(self) -> int:
        """Return the memory of a job, in millions of bytes.

        That is three m × m matrices, a dozen n × n ones, three of features, the sixty columns or so
        that all settings of all fits keep, with random directions some four per attribute more (of
        85), and what Python and its libraries take.
        """
        n, m = self.train, max(self.features)
        fits = len(self.features) * len(self.regs) * (self.folds + 1)
        kept = 60 * n + (340 * (n + m) if "rcca-five" in self.methods else 0)
        numbers = 3 * m**2 + 12 * n**2 + 3 * n * (m + 2000) + fits * kept
        return PROCESSES_MB + ceil(8 * numbers / 1e6)


class Lupi(Experiments[Experiment]):
    """Learning with privileged information (Section 5.3): experiments by name."""

    kinds: ClassVar[Mapping[str, Kind]] = {
        "fit": Kind("stages/lupi/fit.py", ("accuracy", "settings"), minutes=240)
    }
    paper: ClassVar[Mapping[str, str]] = {"published": "fig_lupi.csv"}

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage: each makes every so-manieth partition."""
        for name, each in self.items():
            for block in range(each.jobs):
                numbers = list(range(block, each.partitions, each.jobs))
                asked = each.job(name=name, seed=seed, numbers=numbers)
                yield Job("lupi", "fit", name, str(block), asked, each.mem_mb(), each.dataset)


SETTINGS = Lupi
