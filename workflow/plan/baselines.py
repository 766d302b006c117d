"""Stage baselines: its files, and the memory and time of its fits."""

from collections.abc import Iterator
from itertools import pairwise
from math import ceil
from typing import Any

from workflow.plan.rcca import CAUTIOUS_OPERATIONS_A_SECOND, MINUTES_IF_UNKNOWN, training_rows
from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Experiments

# What no setting tells: columns of one view.
COLUMNS = 500
# For reading, scoring, and finding canonical variables once the kernels are factored.
MINUTES_BESIDE = 15
# What it was measured to do a second on one core.
OPERATIONS_A_SECOND = 30e9


class BaselinesPlan(Experiments):
    """Deep CCA and exact kernel CCA on the rows of rcca's experiments of the same names."""

    title = "Deep CCA and exact kernel CCA"

    def outputs(self) -> list[str]:
        """List the table and the figures."""
        if not self.settings:
            return []
        figures = (f"{self.results}/figures/{name}.svg" for name in self.figures())
        return [*self.tables(), *figures]

    def tables(self) -> list[str]:
        """List the table of the stage."""
        return [f"{self.results}/tables/baselines.md"] if self.settings else []

    def figures(self) -> list[str]:
        """List the names of the figures."""
        return ["baselines", "baselines_kcca"]

    def race(self) -> list[str]:
        """List the race with RCCA; none without an experiment in which RCCA is timed."""
        timed = [name for name, each in self.config.get("rcca", {}).items() if each["timing"]]
        shared = set(timed) & set(self.settings)
        return [f"{self.results}/tables/baselines_race.csv"] if shared else []

    def outcomes(self) -> dict[str, str]:
        """Return the sums of deep CCA in each experiment."""
        titles = (f"baselines, {title}" for title in self.titles().values())
        return dict(zip(self.gathered("dcca"), titles, strict=True))

    def published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, experiment in self.settings.items() if experiment["published"]]

    def deep_fits(self, wildcards: Any) -> list[dict[str, Any]]:
        """Return the settings of an experiment's fits of deep CCA, one per repeat."""
        network = dict(self.of(wildcards)["dcca"])
        repeats = network.pop("repeats")
        return [self._trial(wildcards, repeat) | {"network": network} for repeat in range(repeats)]

    def kernel_fits(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of an experiment's fits of exact kernel CCA."""
        return self._trial(wildcards, 0) | dict(self.of(wildcards)["kcca"])

    def _trial(self, wildcards: Any, repeat: int) -> dict[str, Any]:
        experiment = self.of(wildcards)
        return {
            "name": str(wildcards.experiment),
            "draws": str(wildcards.experiment),
            "split": dict(experiment["split"]),
            "standardise": experiment["standardise"],
            "components": experiment["components"],
            "repeat": repeat,
            "seed": self.config["seed"],
        }

    def state(self) -> str:
        """Return where jobs keep what outlives them if they are killed; no output of a rule."""
        return f"{self.results}/state/baselines"

    def deep_mem_mb(self, wildcards: Any) -> int:
        """Return the memory of a fit of deep CCA, in millions of bytes: both views, twice."""
        return _deep_mem_mb(self.of(wildcards))

    def kernel_mem_mb(self, wildcards: Any) -> int:
        """Return the memory of the largest kernel CCA, in millions of bytes: n × n numbers."""
        return 1000 + ceil(9e-6 * max(_sizes(self.of(wildcards))) ** 2)

    def largest_mem_mb(self) -> int:
        """Return the memory of the largest deep CCA: kernel CCA makes do with what there is."""
        return max((_deep_mem_mb(each) for each in self.settings.values()), default=0)

    def deep_minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes that an experiment's fits of deep CCA may take."""
        return _minutes(_deep_operations(self.of(wildcards)), min(threads, 2))

    def kernel_minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes that an experiment's fits of kernel CCA may take."""
        return _minutes(_kernel_operations(self.of(wildcards)), threads)

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of all experiments on a dataset from their operations."""
        operations = sum(
            (_deep_operations(each) or 0) + _kernel_operations(each)
            for each in self.settings.values()
            if each["dataset"] == dataset
        )
        return operations / OPERATIONS_A_SECOND / cores / 60

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with an experiment's dataset, rows or sizes."""
        yield from super().inconsistencies(settings, arrays)
        for name, experiment in settings.items():
            if not {"x", "y"} <= set(arrays.get(experiment["dataset"], ("x", "y"))):
                yield f"{name}.dataset: {experiment['dataset']!r} does not have two views"
            split = experiment["split"]
            if split["scheme"] != "given" and split.get("tune", 0) < 2:
                yield f"{name}.split.tune: at least 2 rows are needed, to end training by"
            sizes = experiment["kcca"]["sizes"]
            if sizes != sorted(set(sizes)):
                yield f"{name}.kcca.sizes: {sizes} must increase"
            components = experiment["components"]
            if min(sizes[0], experiment["dcca"]["batch_size"] - 1) <= components:
                yield (
                    f"{name}.components: kcca.sizes and dcca.batch_size must be larger than "
                    f"{components}"
                )


def _sizes(experiment: dict[str, Any]) -> list[int]:
    """Return the sizes of kernel CCA, none beyond the training rows where these are known."""
    rows = training_rows(experiment)
    return [n if rows is None else min(n, rows) for n in experiment["kcca"]["sizes"]]


def _deep_mem_mb(experiment: dict[str, Any]) -> int:
    rows = training_rows(experiment) or 100_000
    return PROCESSES_MB + ceil(rows * 2 * COLUMNS * (8 + 4) / 1e6)


def _deep_operations(experiment: dict[str, Any]) -> float | None:
    rows, network = training_rows(experiment), experiment["dcca"]
    if rows is None:
        return None
    sizes = (COLUMNS, *network["hidden"], experiment["components"])
    weights = 2 * sum(before * after for before, after in pairwise(sizes))
    return float(6 * weights * rows * network["epochs"] * network["repeats"])


def _kernel_operations(experiment: dict[str, Any]) -> float:
    chosen, regs = experiment["kcca"]["chosen_up_to"], len(experiment["kcca"]["regs"])
    return sum(n**3 * (regs if n <= chosen else 1) for n in _sizes(experiment))


def _minutes(operations: float | None, threads: int) -> int:
    if operations is None:
        return MINUTES_IF_UNKNOWN
    return MINUTES_BESIDE + ceil(operations / CAUTIOUS_OPERATIONS_A_SECOND / threads / 60)
