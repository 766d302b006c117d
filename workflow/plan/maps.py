"""Stage maps: its files, and the memory and time of its jobs."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from workflow.plan.rcca import (
    CAUTIOUS_OPERATIONS_A_SECOND,
    MINUTES_BESIDE_THE_PASS,
    OPERATIONS_A_SECOND,
    fit_mem_mb,
)
from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Experiments

# Maps that a repeat compares, one fit each.
MAPS = 5
TIMED_REPEATS = 3
KINDS = ("maps", "maps_speed", "maps_sizes")


class MapsPlan(Experiments):
    """The comparison of all feature maps."""

    title = "Feature maps compared"

    def outputs(self) -> list[str]:
        """List the tables and the figures."""
        if not self.settings:
            return []
        tables = [f"{self.results}/tables/{kind}.md" for kind in KINDS]
        return [*tables, *(f"{self.results}/figures/{kind}.svg" for kind in KINDS)]

    def tables(self) -> list[str]:
        """List the table of kernel errors and correlations."""
        return [f"{self.results}/tables/maps.md"] if self.settings else []

    def outcomes(self) -> dict[str, str]:
        """Return the gathered scores of each experiment."""
        return dict(zip(self.gathered("scores"), self.titles().values(), strict=True))

    def published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, experiment in self.settings.items() if experiment["published"]]

    def measured(self) -> list[str]:
        """List the experiments of stage baselines that follow the paper's protocol."""
        others = self.config.get("baselines", {})
        return [name for name, experiment in others.items() if experiment["published"]]

    def baselines(self, what: str) -> list[str]:
        """List the CSVs of deep CCA (dcca) or kernel CCA (kcca) whose sizes stand in a table."""
        return [f"{self.results}/baselines/{name}.{what}.csv" for name in self.measured()]

    def scores(self, wildcards: Any) -> list[str]:
        """List the CSVs of all repeats of an experiment."""
        stem = f"{self.results}/maps/{wildcards.experiment}"
        return [f"{stem}/{repeat}.scores.csv" for repeat in range(self.of(wildcards)["repeats"])]

    def comparison(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of one repeat."""
        experiment = self.of(wildcards)
        names = ("train", "test", "kernel_rows", "components", "reg")
        return {
            "name": str(wildcards.experiment),
            **{name: experiment[name] for name in names},
            "sizes": list(experiment["features"]),
            "repeat": int(wildcards.repeat),
            "seed": self.config["seed"],
        }

    def timing(self, wildcards: Any) -> dict[str, Any]:
        """Return what of an experiment is timed."""
        experiment = self.of(wildcards)
        return {
            "name": str(wildcards.experiment),
            "dimensions": list(experiment["dimensions"]),
            "sizes": list(experiment["timed_features"]),
            "rows": experiment["timed_rows"],
            "repeats": TIMED_REPEATS,
            "seed": self.config["seed"],
        }

    def mem_mb(self, wildcards: Any) -> int:
        """Return the memory that a repeat may take, in millions of bytes."""
        return _comparison_mem_mb(self.of(wildcards))

    def timing_mem_mb(self, wildcards: Any) -> int:
        """Return the memory that timing may take, in millions of bytes."""
        return _timing_mem_mb(self.of(wildcards))

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest job may take; 0 if there is none."""
        foresee = (_comparison_mem_mb, _timing_mem_mb)
        jobs = [mem_mb(each) for each in self.settings.values() for mem_mb in foresee]
        return max(jobs, default=0)

    def minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes that a repeat may take."""
        operations = _operations(self.of(wildcards))
        return MINUTES_BESIDE_THE_PASS + ceil(
            operations / (CAUTIOUS_OPERATIONS_A_SECOND * threads) / 60
        )

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of all experiments on a dataset from their operations."""
        operations = 0.0
        for each in self.settings.values():
            if each["dataset"] == dataset:
                operations += each["repeats"] * _operations(each)
        return operations / OPERATIONS_A_SECOND / cores / 60

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with an experiment's dataset or numbers."""
        yield from super().inconsistencies(settings, arrays)
        for name, experiment in settings.items():
            dataset, sizes = experiment["dataset"], experiment["features"]
            if not {"x", "y"} <= set(arrays.get(dataset, "xy")):
                yield f"{name}.dataset: {dataset!r} does not have two views"
            if sizes != sorted(set(sizes)):
                yield f"{name}.features: {sizes} must increase"
            if sizes[0] < experiment["components"]:
                yield (
                    f"{name}.features: m = {sizes[0]} is less than components = "
                    f"{experiment['components']}"
                )
            if sizes[-1] > experiment["train"]:
                yield (
                    f"{name}.features: m = {sizes[-1]} is more than train = {experiment['train']}, "
                    "of which Nyström's landmarks are drawn"
                )
            if experiment["kernel_rows"] > experiment["test"]:
                yield (
                    f"{name}.kernel_rows: {experiment['kernel_rows']} is more than test = "
                    f"{experiment['test']}"
                )


def _operations(experiment: dict[str, Any]) -> float:
    """Return the operations of the covariance passes of one repeat."""
    return float(MAPS * 4 * experiment["train"] * max(experiment["features"]) ** 2)


def _comparison_mem_mb(experiment: dict[str, Any]) -> int:
    return fit_mem_mb(max(experiment["features"]))


def _timing_mem_mb(experiment: dict[str, Any]) -> int:
    """Foresee the memory of timing: rows, features, and the matrices of the maps."""
    d: int = max(experiment["dimensions"])
    m: int = max(experiment["timed_features"])
    rows: int = experiment["timed_rows"]
    drawn = (4 * 4 + 4 * 8) * m * d  # four maps in float32, one with its copies in float64
    return PROCESSES_MB + ceil((4 * (max(rows, m) * d + 4 * rows * m) + drawn) / 1e6)
