"""Stage autoencoder: its files, and the memory and time of its jobs."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from workflow.plan.rcca import (
    CAUTIOUS_OPERATIONS_A_SECOND,
    MINUTES_BESIDE_THE_PASS,
    OPERATIONS_A_SECOND,
)
from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Experiments

# Pictures and pixels of each, which no setting tells: to foresee memory and time.
SHAPES = {
    "digits": (1_797, 64),
    "patches": (8_480, 192),
    "mnist": (70_000, 784),
    "cifar10": (60_000, 3_072),
}
TRAINING_SHARE = 0.8
# Fits of a repeat, of which one is linear, and of a sweep at each of its sizes.
TABLE_FITS, SWEEP_FITS = 4, 3
FIGURES = ("autoencoder", "autoencoder_errors", "autoencoder_latent")


class AutoencoderPlan(Experiments):
    """Autoencoders beside linear PCA."""

    title = "Randomized autoencoders"

    def outputs(self) -> list[str]:
        """List the table and the figures."""
        if not self.settings:
            return []
        return [*self.tables(), *(f"{self.results}/figures/{name}.svg" for name in FIGURES)]

    def tables(self) -> list[str]:
        """List the table of errors and seconds."""
        return [f"{self.results}/tables/autoencoder.md"] if self.settings else []

    def outcomes(self) -> dict[str, str]:
        """Return the gathered errors of each experiment."""
        return dict(zip(self.gathered("errors"), self.titles().values(), strict=True))

    def published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, experiment in self.settings.items() if experiment["published"]]

    def parts(self, wildcards: Any) -> list[str]:
        """List the parts an experiment is made in, one job each.

        ``all`` in one job, or ``repeat-0`` and so on, ``sweep-d`` and ``sweep-m``.
        """
        experiment = self.of(wildcards)
        if experiment["jobs"] == "one":
            return ["all"]
        repeats = [f"repeat-{repeat}" for repeat in range(experiment["repeats"])]
        return [*repeats, *(f"sweep-{axis}" for axis in experiment["sweeps"])]

    def errors(self, wildcards: Any) -> list[str]:
        """List the CSVs of errors of all parts of an experiment."""
        stem = f"{self.results}/autoencoder/{wildcards.experiment}"
        return [f"{stem}/{part}.errors.csv" for part in self.parts(wildcards)]

    def pictures(self, wildcards: Any) -> list[str]:
        """List the CSV of pictures of the part that has those of repeat 0."""
        stem = f"{self.results}/autoencoder/{wildcards.experiment}"
        return [f"{stem}/{self.parts(wildcards)[0]}.pictures.csv"]

    def chosen(self, wildcards: Any) -> list[str]:
        """List, for a part that is a sweep, the errors of repeat 0, where widths were chosen."""
        stem = f"{self.results}/autoencoder/{wildcards.experiment}"
        is_sweep = wildcards.part.startswith("sweep-")
        return [f"{stem}/repeat-0.errors.csv"] if is_sweep else []

    def experiment(self, wildcards: Any) -> dict[str, Any]:
        """Return an experiment's own settings, but for how it is cut into jobs."""
        experiment = self.of(wildcards)
        names = ("components", "features", "white", "ridge", "search", "sweeps", "shown")
        return {
            "name": str(wildcards.experiment),
            **{name: experiment[name] for name in names},
            "seed": self.config["seed"],
        }

    def repeats(self, wildcards: Any) -> list[int]:
        """List the repeats of a part."""
        if wildcards.part == "all":
            return list(range(self.of(wildcards)["repeats"]))
        kind, _, which = wildcards.part.partition("-")
        return [int(which)] if kind == "repeat" else []

    def axes(self, wildcards: Any) -> list[str]:
        """List the sweeps of a part."""
        if wildcards.part == "all":
            return list(self.of(wildcards)["sweeps"])
        kind, _, which = wildcards.part.partition("-")
        return [which] if kind == "sweep" else []

    def mem_mb(self, wildcards: Any) -> int:
        """Return the memory that a part may take, in millions of bytes."""
        return _mem_mb(self.of(wildcards))

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest part may take; 0 if there is none."""
        return max((_mem_mb(each) for each in self.settings.values()), default=0)

    def minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes that a part may take."""
        experiment = self.of(wildcards)
        operations = len(self.repeats(wildcards)) * _repeat_operations(experiment)
        operations += sum(_sweep_operations(experiment, axis) for axis in self.axes(wildcards))
        seconds = operations / (CAUTIOUS_OPERATIONS_A_SECOND * threads)
        return MINUTES_BESIDE_THE_PASS + ceil(seconds / 60)

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of all experiments on a dataset from their operations."""
        operations = 0.0
        for each in self.settings.values():
            if each["dataset"] == dataset:
                operations += each["repeats"] * _repeat_operations(each)
                operations += sum(_sweep_operations(each, axis) for axis in each["sweeps"])
        return operations / OPERATIONS_A_SECOND / cores / 60

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with an experiment's dataset or numbers."""
        yield from super().inconsistencies(settings, arrays)
        for name, experiment in settings.items():
            dataset = experiment["dataset"]
            if "images" not in arrays.get(dataset, ["images"]):
                yield f"{name}.dataset: {dataset!r} has no pictures"
            d, m = experiment["components"], experiment["features"]
            if d >= m:
                yield f"{name}.components: d = {d} must be less than features = {m}"
            for axis, limit in (("d", m), ("m", None)):
                sizes = experiment["sweeps"].get(axis, [])
                if sizes != sorted(set(sizes)):
                    yield f"{name}.sweeps.{axis}: {sizes} must increase"
                elif limit is not None and sizes and sizes[-1] >= limit:
                    yield f"{name}.sweeps.d: d = {sizes[-1]} must be less than features = {m}"
                elif limit is None and sizes and sizes[0] <= d:
                    yield f"{name}.sweeps.m: m = {sizes[0]} must be more than components = {d}"


def _fit_operations(experiment: dict[str, Any], features: int) -> float:
    """Operations of a fit: features of the pixels twice, and the products of both passes."""
    rows, pixels = SHAPES.get(experiment["dataset"], (0, 0))
    return TRAINING_SHARE * rows * (6.0 * features * pixels + 2.0 * features**2)


def _repeat_operations(experiment: dict[str, Any]) -> float:
    """Operations of a repeat: its fits, and the search on a share of the rows."""
    search, m = experiment["search"], experiment["features"]
    fit = _fit_operations(experiment, m)
    candidates = len(search["decoder"]) * (1 + len(search["encoder"]))
    return fit * float(TABLE_FITS + candidates * search["share"])


def _sweep_operations(experiment: dict[str, Any], axis: str) -> float:
    sizes, m = experiment["sweeps"][axis], experiment["features"]
    features = sizes if axis == "m" else [m] * len(sizes)
    return SWEEP_FITS * sum(_fit_operations(experiment, each) for each in features)


def _mem_mb(experiment: dict[str, Any]) -> int:
    """Foresee the memory of a part, in millions of bytes.

    That is the moments of both passes and the eigenvectors' working space, chunks of features and
    pixels, and what Python and its libraries take.
    """
    _, pixels = SHAPES.get(experiment["dataset"], (0, 0))
    m: int = max([experiment["features"], *experiment["sweeps"].get("m", [])])
    matrices = 8 * (3 * max(m, pixels) ** 2 + 3 * m * pixels + 2 * m**2)
    chunks = 6 * 8 * 2048 * (m + pixels)
    return PROCESSES_MB + ceil((matrices + chunks) / 1e6)
