"""Stage rpca: its files, and the memory and time of its jobs."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Experiments

ANALYSES = ("pca", "cca")
NEEDED = {"pca": ("labels",), "cca": ("x", "y")}
# Operations of the exact solvers, in n³: all eigenpairs of one kernel matrix; those of two, and a
# full singular value decomposition.
DENSE = {"pca": 10, "cca": 50}
# Of matrices of n × n in memory at once.
MATRICES = {"pca": 4, "cca": 10}
OPERATIONS_A_SECOND = 10e9
MINUTES_BESIDE = 15


class RpcaPlan(Experiments):
    """Comparisons with exact kernel methods, and races against them."""

    title = "Against exact kernel methods"

    def outputs(self) -> list[str]:
        """List the table, what it is made of, and the figures."""
        if not self.settings:
            return []
        numbers = ("rpca_merits", "rpca_rates", "rpca_exponents")
        return [
            *self.tables(),
            *(f"{self.results}/tables/{name}.csv" for name in numbers),
            *(f"{self.results}/figures/{name}.svg" for name in self.figures()),
        ]

    def tables(self) -> list[str]:
        """List the table of the stage."""
        return [f"{self.results}/tables/rpca.md"] if self.settings else []

    def outcomes(self) -> dict[str, str]:
        """Return the errors of each experiment."""
        return dict(zip(self.gathered("errors"), self.titles().values(), strict=True))

    def figures(self) -> dict[str, str]:
        """Return the names of the figures there is something to show in, each with a label."""
        kinds = {kind for each in self.settings.values() for kind, _ in _analyses(each)}
        possible = {
            "rpca_pca": ("pca" in kinds, "kernel PCA"),
            "rpca_cca": ("cca" in kinds, "kernel CCA"),
            "rpca_scatter": ("pca" in kinds, "first components"),
            "rpca_times": (bool(self.times()), "wall time"),
        }
        return {name: label for name, (is_there, label) in possible.items() if is_there}

    def times(self) -> list[str]:
        """List the times of the experiments that ask for them."""
        timed = (name for name, each in self.settings.items() if list(_timed(each)))
        return [f"{self.results}/rpca/{name}.times.csv" for name in timed]

    def comparisons(self, wildcards: Any) -> list[dict[str, Any]]:
        """Return the settings of an experiment's comparisons."""
        return [
            self._common(wildcards, analysis, own)
            | {"rows": own["rows"], "sizes": list(own["features"]), "repeats": own["repeats"]}
            for analysis, own in _analyses(self.of(wildcards))
        ]

    def timings(self, wildcards: Any) -> list[dict[str, Any]]:
        """Return the settings of an experiment's races."""
        return [
            self._common(wildcards, analysis, own) | dict(own["times"])
            for analysis, own in _timed(self.of(wildcards))
        ]

    def _common(self, wildcards: Any, analysis: str, own: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": str(wildcards.experiment),
            "analysis": analysis,
            "components": own["components"],
            "gamma": own["gamma"],
            "reg": own.get("reg", 0.0),
            "seed": self.config["seed"],
        }

    def compare_mem_mb(self, wildcards: Any) -> int:
        """Return the memory of an experiment's comparisons, in millions of bytes."""
        return max(_compare_mem_mb(kind, each) for kind, each in _analyses(self.of(wildcards)))

    def times_mem_mb(self, wildcards: Any) -> int:
        """Return the memory of an experiment's races, in millions of bytes."""
        return max(_times_mem_mb(kind, each) for kind, each in _timed(self.of(wildcards)))

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest job may take; 0 if there is none."""
        needs = [
            need
            for each in self.settings.values()
            for need in (
                *(_compare_mem_mb(kind, own) for kind, own in _analyses(each)),
                *(_times_mem_mb(kind, own) for kind, own in _timed(each)),
            )
        ]
        return max(needs, default=0)

    def compare_minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes an experiment's comparisons may take."""
        operations = sum(_compare_operations(*each) for each in _analyses(self.of(wildcards)))
        return MINUTES_BESIDE + ceil(operations / OPERATIONS_A_SECOND / threads / 60)

    def times_minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes an experiment's races may take."""
        operations = sum(_times_operations(*each) for each in _timed(self.of(wildcards)))
        return MINUTES_BESIDE + ceil(operations / OPERATIONS_A_SECOND / threads / 60)

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of all experiments on a dataset from their operations."""
        operations = sum(
            sum(_compare_operations(*own) for own in _analyses(each))
            + sum(_times_operations(*own) for own in _timed(each))
            for each in self.settings.values()
            if each["dataset"] == dataset
        )
        return operations / OPERATIONS_A_SECOND / cores / 60

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with an experiment's dataset or sizes."""
        yield from super().inconsistencies(settings, arrays)
        for name, experiment in settings.items():
            if not list(_analyses(experiment)):
                yield f"{name}: give pca, cca or both"
            for analysis, own in _analyses(experiment):
                has = arrays.get(experiment["dataset"], NEEDED[analysis])
                for array in (each for each in NEEDED[analysis] if each not in has):
                    yield f"{name}.{analysis}: {experiment['dataset']!r} has no {array}"
                yield from _inconsistencies(f"{name}.{analysis}", own)


def _analyses(experiment: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((kind, experiment[kind]) for kind in ANALYSES if kind in experiment)


def _timed(experiment: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((kind, own) for kind, own in _analyses(experiment) if "times" in own)


def _inconsistencies(place: str, own: dict[str, Any]) -> Iterator[str]:
    sizes = own["features"]
    if sizes != sorted(set(sizes)):
        yield f"{place}.features: {sizes} must increase"
    if sizes[0] < own["components"]:
        yield f"{place}.features: m = {sizes[0]} is less than components = {own['components']}"
    if sizes[-1] > own["rows"]:
        yield f"{place}.features: m = {sizes[-1]} landmarks are more than rows = {own['rows']}"
    for key in ("exact", "leading", "random"):
        for n in own.get("times", {}).get(key, []):
            if n <= own["components"]:
                yield f"{place}.times.{key}: n = {n} must exceed components = {own['components']}"
    times = own.get("times")
    if times and min(times["random"]) < times["features"]:
        yield (
            f"{place}.times.random: n = {min(times['random'])} rows are fewer than the "
            f"{times['features']} landmarks"
        )


def _compare_mem_mb(analysis: str, own: dict[str, Any]) -> int:
    n, m = own["rows"], max(own["features"])
    return _mem_mb(MATRICES[analysis] * n * n + 6 * n * m + 8 * m * m)


def _times_mem_mb(analysis: str, own: dict[str, Any]) -> int:
    n, m = max(own["times"]["exact"] + own["times"]["leading"]), own["times"]["features"]
    return _mem_mb(MATRICES[analysis] * n * n + 8 * 2048 * m + 8 * m * m)


def _mem_mb(numbers: int) -> int:
    return PROCESSES_MB + ceil(8 * numbers / 1e6)


def _compare_operations(analysis: str, own: dict[str, Any]) -> float:
    n, m = own["rows"], max(own["features"])
    fits = 2 * own["repeats"] * (8 * n * m * m + 2 * m**3)
    return float(DENSE[analysis] * n**3 + fits)


def _times_operations(analysis: str, own: dict[str, Any]) -> float:
    times = own["times"]
    exact = DENSE[analysis] * sum(n**3 for n in times["exact"])
    randomized = 12 * times["features"] ** 2 * sum(times["random"])
    return float((times["repeats"] + 1) * (exact + randomized))
