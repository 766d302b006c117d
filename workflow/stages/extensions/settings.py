"""Settings of stage extensions, and what its jobs cost."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, ClassVar, Literal

from pydantic import Field

from workflow.data.catalogue import Facts, facts_of
from workflow.lib import models
from workflow.lib.jobs import Job, Kind
from workflow.lib.models import Count, Distinct, Increasing, Positive, Repeats, Settings, Stage
from workflow.lib.resources import PROCESSES_MB


class Part(Settings):
    """A part of the stage; one job."""

    def job(self, **more: Any) -> dict[str, Any]:
        """Return the settings of the job: those that its result depends on, and ``more``."""
        return self.model_dump(mode="json") | more

    def mem_mb(self) -> int:
        """Return the memory of the job, in millions of bytes."""
        return PROCESSES_MB + ceil(8 * self._numbers() / 1e6)

    def _numbers(self) -> int:
        """Count the numbers of float64 that the job holds, where they are many."""
        return 0


class OnPictures(Part, models.Experiment):
    """A part that reads labelled pictures."""

    needs = ("images", "labels")
    # The paper has no such experiment.
    published: ClassVar[bool] = False  # type: ignore[misc]

    dataset: str = Field(
        description="a dataset of labelled pictures, such as `digits` or `mnist`", exclude=True
    )
    features: Increasing[Count] = Field(description="numbers of random features m, increasing")

    def _numbers(self) -> int:
        data = facts_of(self.dataset)
        # scikit-learn copies all pictures.
        return _fit_numbers(self.features[-1]) + 3 * (data.rows or 0) * (data.columns or 0)


class Shapes(Part):
    """Settings of part shapes."""

    rows: Count = Field(description="points of each shape")
    features: Increasing[Count] = Field(description="numbers of random features m, increasing")
    width: Positive = Field(25.0, description="factor on the gamma of the median heuristic")
    repeats: Repeats = Field(
        3, description="how often the features, and the starts of k-means, are redrawn"
    )

    def _numbers(self) -> int:
        return _exact_numbers(self.rows) + _fit_numbers(self.features[-1])


class Clustering(OnPictures):
    """Settings of part clustering."""

    rows: Count = Field(
        description="pictures drawn for the comparison with exact clustering, whose memory grows "
        "with their square; the other methods also cluster all pictures"
    )
    width: Positive = Field(1.0, description="factor on the gamma of the median heuristic")
    repeats: Repeats = Field(
        3, description="how often the features, and the starts of k-means, are redrawn"
    )

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the dataset or the rows."""
        yield from super().problems(data)
        if data.rows is not None and self.rows > data.rows:
            yield f"rows: {self.rows} is more than the {data.rows} of {self.dataset!r}"

    def _numbers(self) -> int:
        return _exact_numbers(self.rows) + super()._numbers()


class Split(models.Split):
    """How rows are divided."""

    scheme: Literal["random", "official"] = Field(
        description="`random` rows, or the source's own test rows (`official`)"
    )
    tune: Count = Field(description="rows to choose reg and C on")


class Discriminants(OnPictures):
    """Settings of part discriminants."""

    split: Split = Field(description="how rows are divided")
    reg_grid: Distinct[Positive] = Field(
        [1e-6, 1e-4, 1e-2], description="values of reg to choose from on the tune rows"
    )
    svm_grid: Distinct[Positive] = Field(
        [0.01, 0.1], description="costs C of the linear SVM to choose from on the tune rows"
    )
    repeats: Repeats = Field(
        3,
        description="how often the tune rows (with `random`: all rows) and the features are "
        "redrawn",
    )

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the dataset or the split."""
        yield from super().problems(data)
        yield from self.split.problems(self.dataset, data)


class Dependence(Part):
    """Settings of part dependence."""

    rows: int = Field(320, ge=2, le=10**9, description="size of a sample")
    noise: Distinct[Positive] = Field(description="standard deviations of the noise added to y")
    repeats: int = Field(
        500, ge=2, le=10**5, description="samples drawn with a pattern, and as many without"
    )


class Extensions(Settings, Stage):
    """Spectral clustering, discriminant analysis, dependence: parts; what is omitted is not run."""

    shapes: Shapes | None = Field(
        None,
        description="spectral clustering of two rings and of two moons, which k-means cannot tell "
        "apart",
    )
    clustering: Clustering | None = Field(
        None, description="spectral clustering of labelled pictures"
    )
    discriminants: Discriminants | None = Field(
        None, description="RLDA beside LDA and a linear SVM"
    )
    dependence: Dependence | None = Field(
        None,
        description="power of RDC beside Pearson's and Spearman's correlation on a line, a "
        "parabola and a circle",
    )

    kinds: ClassVar[Mapping[str, Kind]] = {
        "shapes": Kind("stages/extensions/shapes.py", ("shapes", "points")),
        "clustering": Kind("stages/extensions/clustering.py", ("clustering",)),
        "discriminants": Kind("stages/extensions/discriminants.py", ("discriminants",)),
        "dependence": Kind("stages/extensions/dependence.py", ("dependence",)),
    }

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage: one for each part."""
        datasets = self.datasets()
        for name, part in self.parts().items():
            asked, data = part.job(seed=seed), datasets.get(name)
            yield Job("extensions", name, name, "all", asked, part.mem_mb(), data)

    def __bool__(self) -> bool:
        return bool(self.parts())

    def parts(self) -> dict[str, Part]:
        """Return the parts that the run has."""
        every = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: part for name, part in every.items() if part is not None}

    def has_clusters(self) -> bool:
        """Tell whether there is anything for the table and the figure of clusters."""
        return self.shapes is not None or self.clustering is not None

    def items(self) -> Iterator[tuple[str, OnPictures]]:
        """Yield name and settings of each part that reads a dataset."""
        for name, part in self.parts().items():
            if isinstance(part, OnPictures):
                yield name, part


def _fit_numbers(m: int) -> int:
    """Count matrices of m × m and chunks of features."""
    return 6 * m**2 + 8 * 2048 * m


def _exact_numbers(rows: int) -> int:
    """Count the kernel matrix of exact clustering and its eigensolver's copies."""
    return 4 * rows**2


SETTINGS = Extensions
