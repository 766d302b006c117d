"""Stage extensions: its files, and the memory and time of its jobs."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

from workflow.plan.data import PREPARED
from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Stage, unknown_dataset

# Each has a table and a figure, made from the settings of the same name and of these others.
REPORTS = {
    "clustering": ("shapes", "clustering"),
    "discriminants": ("discriminants",),
    "dependence": ("dependence",),
}
# Those that read a dataset; the others draw their data.
ON_DATA = ("clustering", "discriminants")
SHAPE_TITLES = {"rings": "two rings", "moons": "two moons"}
# Of datasets whose rows and pixels no setting tells: to foresee time and memory.
ROWS = {"mnist": 70_000}
PIXELS = 784
# What a core was measured to do in a second, all told.
OPERATIONS_A_SECOND = 15e9
# Time limits are this many times as long as foreseen, and a little more.
CAUTION = 3
MINUTES_BESIDE = 15
MINUTES_IF_UNKNOWN = 6 * 60


class OnData:
    """A part of the stage that reads a dataset.

    Parameters
    ----------
    settings : dict
        Its own; empty if the run leaves it out.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def dataset(self, wildcards: Any = None) -> str:
        """Return the name of its dataset."""
        return str(self.settings["dataset"])

    def prepared(self, wildcards: Any = None) -> str:
        """Return its prepared dataset."""
        return f"{PREPARED}/{self.dataset()}"


class ExtensionsPlan(Stage):
    """Spectral clustering, discriminant analysis and dependence."""

    title = "Extensions: spectral clustering, discriminant analysis, dependence"

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        super().__init__(name, config)
        self.clustering, self.discriminants = (
            OnData(self.settings.get(part, {})) for part in ON_DATA
        )

    @property
    def uses(self) -> list[str]:
        """The datasets of clustering and discriminants."""
        parts = (self.clustering, self.discriminants)
        return [part.dataset() for part in parts if part.settings]

    def reports(self) -> list[str]:
        """List what has a table and a figure."""
        return [name for name, parts in REPORTS.items() if any(p in self.settings for p in parts)]

    def outputs(self) -> list[str]:
        """List a table and a figure of each report."""
        return [*self._reported("tables", "md"), *self._reported("figures", "svg")]

    def tables(self) -> list[str]:
        """List the tables that are short: not that of clusters."""
        return [file for file in self._reported("tables", "md") if "clustering" not in file]

    def _reported(self, folder: str, ending: str) -> list[str]:
        return [f"{self.results}/{folder}/extensions_{name}.{ending}" for name in self.reports()]

    def outcomes(self) -> dict[str, str]:
        """Return the CSV of each part that reads a dataset."""
        return {
            file: self.settings[part]["title"] for part in ON_DATA for file in self.result(part)
        }

    def result(self, part: str, what: str = "scores") -> list[str]:
        """List the CSV of a part; none if the run leaves the part out."""
        there = part in self.settings
        return [f"{self.results}/extensions/{part}.{what}.csv"] if there else []

    def titles(self) -> dict[str, str]:
        """Return what tables and figures call each set of rows that is clustered or classified."""
        of = {part: self.settings[part]["title"] for part in ON_DATA if part in self.settings}
        some = {"subset": "some", "all": "all"}
        clustered = {
            data: f"{of['clustering']}, {word}" for data, word in some.items() if "clustering" in of
        }
        return SHAPE_TITLES | clustered | of

    def job(self, part: str) -> dict[str, Any]:
        """Return the settings of a part's job; changing another part reruns nothing here."""
        own = {
            key: value
            for key, value in self.settings.get(part, {}).items()
            if key not in ("dataset", "title")
        }
        return own | {"seed": self.config["seed"]}

    def memory(self, part: str) -> Callable[[Any], int]:
        """Return `mem_mb` of a part as a function of a job's wildcards."""
        return lambda _wildcards: self.mem_mb(part)

    def time(self, part: str) -> Callable[[Any, int], int]:
        """Return `minutes` of a part as a function of a job's wildcards and threads."""
        return lambda _wildcards, threads: self.minutes(part, threads)

    def mem_mb(self, part: str) -> int:
        """Return the memory a part may take, in millions of bytes."""
        own = self.settings.get(part, {})
        m: int = max(own.get("features", [0]))
        kernel: int = own.get("rows", 0) ** 2 if "features" in own else 0
        pictures = ROWS.get(own.get("dataset", ""), 0) * PIXELS
        # Numbers of float64: the kernel matrix of exact clustering and what its eigensolver takes;
        # matrices of m × m and chunks; scikit-learn's copies of all pictures.
        numbers = 4 * kernel + 6 * m**2 + 8 * 2048 * m + 3 * pictures
        return PROCESSES_MB + ceil(8 * numbers / 1e6)

    def largest_mem_mb(self) -> int:
        """Return the memory that its largest job may take."""
        return max((self.mem_mb(part) for part in self.settings), default=0)

    def minutes(self, part: str, threads: int) -> int:
        """Return the minutes a part may take."""
        own = self.settings.get(part, {})
        if part in ON_DATA and own and own["dataset"] not in ROWS:
            return MINUTES_IF_UNKNOWN
        return MINUTES_BESIDE + ceil(CAUTION * self._operations(part) / self._speed(threads) / 60)

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of what reads a dataset."""
        parts = [p for p in ON_DATA if self.settings.get(p, {}).get("dataset") == dataset]
        return sum(self._operations(part) for part in parts) / self._speed(cores) / 60

    @staticmethod
    def _speed(cores: int) -> float:
        return OPERATIONS_A_SECOND * cores

    def _operations(self, part: str) -> float:
        """Foresee operations: of every fit, n·m² and the maps' n·m·d, some three times over."""
        own = self.settings.get(part, {})
        if part not in ON_DATA or not own:
            return 0.0
        rows, sizes = ROWS.get(own["dataset"], 0), own["features"]
        fitted = sizes if part == "clustering" else [max(sizes)] * (1 + len(own["reg_grid"]))
        return float(own["repeats"] * 2 * sum(3 * rows * m * (m + 2 * PIXELS) for m in fitted))

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with datasets, sizes or the split."""
        for part, own in settings.items():
            sizes = own.get("features", [])
            if sizes != sorted(set(sizes)):
                yield f"{part}.features: {sizes} must increase"
            if part not in ON_DATA:
                continue
            dataset = own["dataset"]
            if dataset not in arrays:
                yield f"{part}.dataset: {unknown_dataset(dataset, arrays)}"
            elif not {"images", "labels"} <= set(arrays[dataset]):
                yield f"{part}.dataset: {dataset!r} has no labelled pictures"
            elif own.get("split", {}).get("scheme") == "official" and (
                "given_split" not in arrays[dataset]
            ):
                yield f"{part}.split.scheme: {dataset!r} has no given_split to split by"
