"""Stage lupi: its files, and the memory and time of its jobs."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Experiments

# Of one method in one partition of 1000 training rows under one preprocessing, on one core.
MINUTES_A_METHOD = 0.06
# A slow core beside the one it was measured on, and what else may run there.
CAUTION = 5
NEEDED = ("surf", "rcca")


class LupiPlan(Experiments):
    """The partitions of Section 5.3."""

    title = "Learning with privileged information"

    def outputs(self) -> list[str]:
        """List the verdict, the table and the figures."""
        if not self.settings:
            return []
        return [
            *self.tables(),
            f"{self.results}/tables/lupi.md",
            *(f"{self.results}/figures/{name}.svg" for name in ("lupi", "lupi_methods")),
            f"{self.results}/figures/lupi_reg.svg",
        ]

    def tables(self) -> list[str]:
        """List the verdict."""
        return [f"{self.results}/tables/lupi_verdict.md"] if self.settings else []

    def outcomes(self) -> dict[str, str]:
        """Return the gathered accuracies of each experiment."""
        return dict(zip(self.gathered("accuracy"), self.titles().values(), strict=True))

    def published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, experiment in self.settings.items() if experiment["published"]]

    def accuracy(self, wildcards: Any) -> list[str]:
        """List the chosen accuracies of all jobs of an experiment."""
        return self._parts(wildcards, "accuracy")

    def all_settings(self, wildcards: Any) -> list[str]:
        """List the accuracies at all settings, of all jobs of an experiment."""
        return self._parts(wildcards, "settings")

    def _parts(self, wildcards: Any, what: str) -> list[str]:
        jobs = range(self.of(wildcards)["jobs"])
        stem = f"{self.results}/lupi/{wildcards.experiment}"
        return [f"{stem}/{block}.{what}.csv" for block in jobs]

    def partitions(self, wildcards: Any) -> list[int]:
        """List the partitions of a job: every so-manieth."""
        experiment = self.of(wildcards)
        return list(range(int(wildcards.block), experiment["partitions"], experiment["jobs"]))

    def experiment(self, wildcards: Any) -> dict[str, Any]:
        """Return a job's own settings: changing another experiment reruns nothing here."""
        experiment = self.of(wildcards)
        keys = ("classes", "train", "test", "balanced", "folds")
        lists = ("preprocessing", "methods", "features", "regs", "costs", "gammas")
        return {
            "name": str(wildcards.experiment),
            **{key: experiment[key] for key in keys},
            **{key if key != "features" else "sizes": list(experiment[key]) for key in lists},
            "seed": self.config["seed"],
        }

    def mem_mb(self, wildcards: Any) -> int:
        """Return the memory a job may take, in millions of bytes."""
        return _mem_mb(self.of(wildcards))

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest job may take; 0 if there is none."""
        return max(map(_mem_mb, self.settings.values()), default=0)

    def minutes(self, wildcards: Any) -> int:
        """Return the minutes a job may take."""
        experiment = self.of(wildcards)
        each: int = ceil(experiment["partitions"] / experiment["jobs"])
        return 10 + ceil(CAUTION * each * _minutes(experiment))

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of all experiments on a dataset."""
        return float(
            sum(
                each["partitions"] * _minutes(each) / min(cores, each["jobs"])
                for each in self.settings.values()
                if each["dataset"] == dataset
            )
        )

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with an experiment's dataset, lists or jobs."""
        yield from super().inconsistencies(settings, arrays)
        for name, experiment in settings.items():
            if experiment["dataset"] in arrays:
                yield from _inconsistencies(name, experiment, arrays[experiment["dataset"]])


def _inconsistencies(name: str, experiment: dict[str, Any], arrays: Any) -> Iterator[str]:
    if missing := {"x", "labels", "attributes"} - set(arrays):
        what = " and ".join(sorted(missing))
        yield f"{name}.dataset: {experiment['dataset']!r} has no {what}, so nothing privileged"
    for key in ("features", "costs"):
        values = experiment[key]
        if values != sorted(set(values)):
            yield f"{name}.{key}: {values} must increase"
    if missing := set(NEEDED) - set(experiment["methods"]):
        yield f"{name}.methods: {', '.join(sorted(missing))} must be there to compare with"
    if experiment["jobs"] > experiment["partitions"]:
        yield f"{name}.jobs: {experiment['jobs']} are more than the partitions"
    if experiment["balanced"] and (experiment["train"] % 2 or experiment["test"] % 2):
        yield f"{name}.balanced: train and test must be even to be halved"


def _minutes(experiment: dict[str, Any]) -> float:
    """Foresee the minutes of one partition on one core: SVMs dominate, square in the rows."""
    each: float = MINUTES_A_METHOD * (experiment["train"] / 1000) ** 2
    return len(experiment["preprocessing"]) * len(experiment["methods"]) * each


def _mem_mb(experiment: dict[str, Any]) -> int:
    """Foresee the memory of a job, in millions of bytes.

    That is three m × m matrices, a dozen n × n ones, three of features, those that all settings of
    all fits keep (some sixty columns each), and what Python and its libraries take.
    """
    n, m = int(experiment["train"]), int(max(experiment["features"]))
    fits = len(experiment["features"]) * len(experiment["regs"]) * int(experiment["folds"] + 1)
    numbers = 3 * m**2 + 12 * n**2 + 3 * n * (m + 2000) + fits * 60 * n
    return PROCESSES_MB + ceil(8 * numbers / 1e6)
