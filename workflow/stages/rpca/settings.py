"""Settings of stage rpca, and what its jobs cost."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workflow.data.catalogue import Facts, facts_of
from workflow.lib import models
from workflow.lib.jobs import Job, Kind
from workflow.lib.models import Count, Distinct, Experiments, Increasing, Positive, Repeats
from workflow.lib.resources import PROCESSES_MB

AtLeastTwo = Annotated[int, Field(ge=2, le=10**9)]


class Times(models.Settings):
    """Wall time against the number of rows."""

    exact: Distinct[Count] = Field(description="numbers of rows for the exact method")
    leading: list[Count] = Field(
        [],
        description="numbers of rows for the exact method that computes the leading components "
        "only: quadratic in n for kernel PCA, still cubic for kernel CCA",
    )
    random: Distinct[Count] = Field(
        description="numbers of rows for the randomized and for the linear method, none below "
        "`times.features`"
    )
    features: Count = Field(description="number of random features m")
    repeats: Repeats = Field(3, description="how often each is timed")

    def problems(self, components: int, dataset: str, data: Facts) -> Iterator[str]:
        """Yield a sentence for each mistake, in view of the comparison and its dataset."""
        for key in ("exact", "leading", "random"):
            for n in getattr(self, key):
                if n <= components:
                    yield f"{key}: n = {n} must exceed components = {components}"
                if data.rows is not None and n > data.rows:
                    yield f"{key}: n = {n} rows are more than the {data.rows} of {dataset!r}"
        if self.features < components:
            yield f"features: m = {self.features} is less than components = {components}"
        if (fewest := min(self.random)) < self.features:
            yield f"random: n = {fewest} rows are fewer than the {self.features} landmarks"


class Analysis(models.Settings):
    """A comparison with an exact kernel method."""

    needs: ClassVar[tuple[str, ...]]
    # n × n matrices that the exact solver holds at once.
    solver_matrices: ClassVar[int]

    rows: AtLeastTwo = Field(
        description="number of rows n for the exact method, whose time grows with n³"
    )
    components: AtLeastTwo = Field(description="how many leading components are compared")
    features: Increasing[Count] = Field(
        description="numbers of random features m, increasing, none below `components` or above "
        "`rows`"
    )
    gamma: Literal["median"] | Positive = Field(
        "median",
        description="kernel width of exp(−gamma·‖x − y‖²): a number, or `median` for the median "
        "heuristic",
    )
    repeats: Repeats = Field(3, description="how often the features are redrawn")
    times: Times | None = Field(
        None,
        description="wall time against the number of rows, on all cores with nothing else "
        "running; not measured if left out",
    )

    def problems(self, dataset: str, data: Facts) -> Iterator[str]:
        """Yield a sentence for each mistake, in view of the dataset."""
        k, most = self.components, self.features[-1]
        if self.features[0] < k:
            yield f"features: m = {self.features[0]} is less than components = {k}"
        if most > self.rows:
            yield f"features: m = {most} landmarks are more than rows = {self.rows}"
        if self.rows <= k:
            yield f"rows: {self.rows} must exceed components = {k}"
        if data.rows is not None and self.rows > data.rows:
            yield f"rows: {self.rows} are more than the {data.rows} of {dataset!r}"
        if self.times is not None:
            timing = self.times.problems(k, dataset, data)
            yield from (f"times.{problem}" for problem in timing)

    def numbers(self, job: str) -> int:
        """Count the numbers of float64 that a job holds at once."""
        if job == "fit":
            n, m = self.rows, self.features[-1]
            return self.solver_matrices * n * n + 6 * n * m + 8 * m * m
        if self.times is None:
            return 0
        n, m = max(self.times.exact + self.times.leading), self.times.features
        return self.solver_matrices * n * n + 8 * 2048 * m + 8 * m * m


class Pca(Analysis):
    """Comparison with exact kernel PCA."""

    needs = ("labels",)
    solver_matrices = 4  # all eigenpairs of one kernel matrix


class Cca(Analysis):
    """Comparison with exact kernel CCA."""

    needs = ("x", "y")
    solver_matrices = 10  # all eigenpairs of two, and a full singular value decomposition

    reg: Positive = Field(
        1.0,
        description="γ that kernel CCA adds to its kernel matrices; RCCA gets the matching `reg`",
    )

    def problems(self, dataset: str, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the comparison, or that no rows are left to test on."""
        yield from super().problems(dataset, data)
        if self.rows == data.rows:
            yield f"rows: {self.rows} are all of {dataset!r}; leave some to test on"


class Evaluation(models.Settings):
    """Time that the evaluation of random features takes, alone and on one thread."""

    rows: Count = Field(7000, description="number of rows")
    features: Increasing[Count] = Field(
        description="numbers of random features m, increasing, none above `rows`"
    )
    repeats: Repeats = Field(8, description="how often each map is timed, in turns")

    def problems(self, dataset: str, data: Facts) -> Iterator[str]:
        """Yield a sentence for each mistake, in view of the dataset."""
        if not {"x", "images"} & {*data.arrays}:
            yield f"dataset: {dataset!r} has no x and no images, which evaluation needs"
        if self.features[-1] > self.rows:
            yield f"evaluation.features: m = {self.features[-1]} landmarks exceed {self.rows} rows"
        if data.rows is not None and self.rows > data.rows:
            yield f"evaluation.rows: {self.rows} are more than the {data.rows} of {dataset!r}"

    def mem_mb(self, columns: int) -> int:
        """Return the memory of the job, in millions of bytes: of rows, maps and their features."""
        m = self.features[-1]
        return PROCESSES_MB + ceil(8 * (2 * self.rows * (columns + m) + 4 * m * columns) / 1e6)


class Experiment(models.Experiment):
    """Randomized against exact methods on rows drawn from one dataset."""

    needs = ()
    # The paper has no such comparison.
    published: ClassVar[bool] = False  # type: ignore[misc]

    pca: Pca | None = Field(
        None, description="RPCA against exact kernel PCA; pictures are taken whole"
    )
    cca: Cca | None = Field(
        None,
        description="RCCA against exact kernel CCA; tested on as many other rows, or all that "
        "are left",
    )
    evaluation: Evaluation | None = Field(
        None,
        description="seconds of Fourier, Nyström and Fastfood features of the first view, or of "
        "whole pictures",
    )

    def analyses(self) -> dict[str, Analysis]:
        """Return the comparisons asked for."""
        both = {"pca": self.pca, "cca": self.cca}
        return {name: own for name, own in both.items() if own is not None}

    def is_timed(self) -> bool:
        """Tell whether wall times are asked for."""
        return any(own.times for own in self.analyses().values())

    def comparisons(self) -> list[dict[str, Any]]:
        """Return the settings of each comparison."""
        return [
            {"analysis": name} | own.model_dump(mode="json", exclude={"times"})
            for name, own in self.analyses().items()
        ]

    def timings(self) -> list[dict[str, Any]]:
        """Return the settings of each race."""
        shared = {"components", "gamma", "reg"}
        return [
            {"analysis": name}
            | own.model_dump(mode="json", include=shared)
            | own.times.model_dump(mode="json")
            for name, own in self.analyses().items()
            if own.times
        ]

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with either comparison."""
        if not self.analyses() and not self.evaluation:
            yield "pca: give pca, cca or evaluation"
        if self.evaluation:
            yield from self.evaluation.problems(self.dataset, data)
        for name, own in self.analyses().items():
            if missing := [array for array in own.needs if array not in data.arrays]:
                lacking = " and no ".join(missing)
                yield f"dataset: {self.dataset!r} has no {lacking}, which {name} needs"
            yield from (f"{name}.{problem}" for problem in own.problems(self.dataset, data))

    def mem_mb(self, job: str) -> int:
        """Return the memory of a job, in millions of bytes."""
        if job == "evaluation" and self.evaluation:
            return self.evaluation.mem_mb(facts_of(self.dataset).columns or 1000)
        numbers = max(own.numbers(job) for own in self.analyses().values())
        return PROCESSES_MB + ceil(8 * numbers / 1e6)


class Rpca(Experiments[Experiment]):
    """RPCA and RCCA against exact kernel methods: experiments by name."""

    kinds: ClassVar[Mapping[str, Kind]] = {
        "fit": Kind("stages/rpca/fit.py", ("errors", "merits", "scores")),
        "times": Kind("stages/rpca/times.py", ("times",), timed=True, repeatable=False),
        "evaluation": Kind(
            "stages/rpca/evaluation.py", ("evaluation",), timed=True, repeatable=False
        ),
    }

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage."""
        for name, each in self.items():
            own = {"name": name, "seed": seed}
            asked: dict[str, dict[str, Any]] = {}
            if each.analyses():
                asked["fit"] = own | {"comparisons": each.comparisons()}
            if each.is_timed():
                asked["times"] = own | {"timings": each.timings()}
            if each.evaluation:
                asked["evaluation"] = own | each.evaluation.model_dump(mode="json")
            for kind, settings in asked.items():
                yield Job("rpca", kind, name, "all", settings, each.mem_mb(kind), each.dataset)

    def has_pca(self) -> bool:
        """Tell whether any experiment compares with kernel PCA."""
        return any(own.pca for _, own in self.items())

    def has_cca(self) -> bool:
        """Tell whether any experiment compares with kernel CCA."""
        return any(own.cca for _, own in self.items())

    def is_timed(self) -> bool:
        """Tell whether any experiment asks for wall times."""
        return any(own.is_timed() for _, own in self.items())

    def is_evaluated(self) -> bool:
        """Tell whether any experiment asks for seconds of features alone."""
        return any(own.evaluation for _, own in self.items())


SETTINGS = Rpca
