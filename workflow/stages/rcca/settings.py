"""Settings of stage rcca, and what its jobs cost."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from workflow.data.catalogue import Facts, facts_of
from workflow.lib import models
from workflow.lib.models import (
    Count,
    Distinct,
    Experiments,
    Increasing,
    Name,
    Positive,
    Repeats,
    Settings,
    Split,
)
from workflow.lib.resources import (
    CAUTIOUS_OPERATIONS_PER_SECOND,
    OPERATIONS_PER_SECOND,
    PROCESSES_MB,
    fit_mem_mb,
)

# Of the factorisations and of the singular vectors, times m³.
SOLVE_OPERATIONS = 20
# Up to which m a full SVD takes seconds, not minutes.
FULL_SVD_FEATURES = 2000
# While a split is drawn and checked.
SPLIT_BYTES_PER_ROW = 110
# For reading, drawing and scoring; and for a pass over an unknown number of rows.
MINUTES_BESIDE = 15
MINUTES_IF_UNKNOWN = 12 * 60
# A variant takes these from its experiment unless it gives its own.
INHERITED = (
    "dataset",
    "split",
    "standardise",
    "components",
    "features",
    "maps",
    "reg",
    "width",
    "same_landmarks",
)


class Deep(Settings):
    """What deep CCA of either kind is asked for. Tuning rows choose among the lists' values."""

    hidden: Annotated[list[Count], Field(min_length=1)] = Field(
        [400, 400], description="units of each hidden layer"
    )
    regs: Distinct[Positive] = Field(
        [1e-4], description="added to the diagonals of the outputs' covariances, to choose from"
    )
    patience: Repeats = Field(
        5, description="epochs without gain on tuning rows after which training ends"
    )
    repeats: Repeats | None = Field(
        None, description="how many of the experiment's repeats; all if not given", exclude=True
    )

    def operations(self, weights: int, rows: int) -> float:
        """Return the multiplications and additions of one fit with so many weights and rows."""
        raise NotImplementedError


class DeepCCA(Deep):
    """Deep CCA as trained today, on the rows of the experiment: relu, Adam on mini-batches."""

    learning_rates: Distinct[Positive] = Field(
        [3e-3], description="step sizes at the start, to choose from; they fall to 0"
    )
    batch_size: int = Field(500, ge=2, description="rows of a step, more than `components`")
    epochs: Repeats = Field(20, description="passes over the training rows")

    def operations(self, weights: int, rows: int) -> float:
        """Return the multiplications and additions of all candidates."""
        candidates = len(self.regs) * len(self.learning_rates)
        return 6.0 * weights * rows * self.epochs * candidates


class DeepCCA2013(Deep):
    """Deep CCA after Andrew et al. (2013): pretrained cube-root units, L-BFGS on all rows."""

    decays: Distinct[Positive] = Field(
        [1e-4], description="weights of the squared parameters, to choose from"
    )
    noise: Positive = Field(
        0.5, description="standard deviation of the noise in pretraining, where views have 1"
    )
    pretraining_decay: Positive = Field(
        1e-4, description="weight of the squared parameters in pretraining"
    )
    steps: Repeats = Field(
        20, description="steps of L-BFGS in an epoch and in the pretraining of each layer"
    )
    epochs: Repeats = Field(10, description="how often so many steps are taken at most")

    def operations(self, weights: int, rows: int) -> float:
        """Return the multiplications and additions of all candidates."""
        candidates = len(self.regs) * len(self.decays)
        # Pretraining costs about as much as one epoch and a half.
        return 6.0 * weights * rows * self.steps * (self.epochs + 1.5) * candidates


class KernelCCA(Settings):
    """Exact kernel CCA on growing parts of the training rows."""

    sizes: Increasing[Count] = Field(description="numbers of training rows n, increasing")
    regs: Distinct[Positive] = Field(
        [1e-3, 3e-4, 1e-4, 3e-5],
        description="regularisers, divided by n, to choose from on tuning rows",
    )
    chosen_up_to: Count = Field(
        4000, description="the largest n at which the tuning rows choose; larger ones reuse it"
    )


class Model(Settings):
    """A model to keep: m and reg by cross-validation, p-values, loadings, canonical variables."""

    regs: Distinct[Positive] = Field(
        [1e-8, 1e-6, 1e-4, 1e-2], description="values of reg to choose from, at every m"
    )
    folds: int = Field(5, ge=2, description="parts of the training rows, each held out once")
    permutations: Repeats = Field(
        999, description="random pairings of the test rows; p-values are at least 1/(this + 1)"
    )


class Experiment(models.Experiment):
    """Test correlation of RCCA at several m, and of what it is compared with."""

    variant_of: Name | None = Field(
        None,
        description="the experiment that this one varies: it takes over its data, split and draws, "
        "lists only what it changes, and stands in a table of variants",
        exclude=True,
    )
    split: Split = Field(description="how rows are divided")
    standardise: bool = Field(
        False, description="whether columns get mean 0 and standard deviation 1 (training rows)"
    )
    components: Count = Field(description="canonical variables to sum over")
    features: Increasing[Count] = Field(description="numbers of random features m, increasing")
    maps: Distinct[Literal["linear", "fourier", "nystroem"]] = Field(
        ["linear", "fourier", "nystroem"], description="feature maps to compare", exclude=True
    )
    reg: float = Field(1e-8, ge=0, description="added to the diagonal of the feature covariances")
    reg_grid: Annotated[list[Positive], Field()] = Field(
        [], description="other values of reg to try at every m, judged on the tuning rows"
    )
    width: Positive = Field(1.0, description="factor on the gamma of the median heuristic")
    same_landmarks: bool = Field(
        False, description="whether the Nyström landmarks of both views are the same samples"
    )
    timing: list[Count] = Field(
        [],
        description="values of m at which a fit is timed alone, on one thread and on all cores",
        exclude=True,
    )
    repeats: Repeats = Field(
        3, description="how often the split and the features are redrawn", exclude=True
    )
    shards: Repeats = Field(
        1, description="jobs that the pass over the training rows is divided into", exclude=True
    )
    model: Model | None = Field(
        None,
        description="keep a model of each map: m among `features` and reg by cross-validation, "
        "p-values and loadings on test rows, canonical variables of all rows",
        exclude=True,
    )
    dcca: DeepCCA | None = Field(
        None, description="deep CCA as trained today, on the same rows", exclude=True
    )
    dcca2013: DeepCCA2013 | None = Field(
        None, description="deep CCA after Andrew et al. (2013), on the same rows", exclude=True
    )
    kcca: KernelCCA | None = Field(
        None, description="exact kernel CCA on the same rows", exclude=True
    )

    @property
    def training_rows(self) -> int | None:
        """The number of training rows; None if only the data tell."""
        return self.split.training_rows(self.dataset)

    def job(self, **more: Any) -> dict[str, Any]:
        """Return the settings of a job; ``draws`` names the experiment whose draws it shares."""
        return super().job(draws=self.variant_of or more["name"], **more)

    def networks(self) -> dict[str, Deep]:
        """Return the settings of deep CCA, of each kind that is asked for."""
        kinds = {"dcca": self.dcca, "dcca2013": self.dcca2013}
        return {kind: each for kind, each in kinds.items() if each}

    def deep_fits(self) -> list[str]:
        """Name the fits of deep CCA by kind and repeat."""
        return [
            f"{kind}-{repeat}"
            for kind, each in self.networks().items()
            for repeat in range(min(each.repeats or self.repeats, self.repeats))
        ]

    def baseline(self, kind: str, **more: Any) -> dict[str, Any]:
        """Return the settings of a job of deep or kernel CCA, on the rows of the experiment."""
        shared = {key: self.job(**more)[key] for key in ("draws", "split", "standardise")}
        own = getattr(self, kind).model_dump(mode="json")
        return {**shared, "components": self.components, "baseline": own, **more}

    def decomposed(self) -> list[int]:
        """List the timed m at which a full SVD is timed too: not too large, the least always."""
        return [m for m in self.timing if m <= FULL_SVD_FEATURES] or self.timing[:1]

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the sizes, the split or the baselines."""
        yield from super().problems(data)
        yield from self.split.problems(self.dataset, data)
        least, most = self.features[0], self.features[-1]
        if least < self.components:
            yield f"features: m = {least} is less than components = {self.components}"
        rows = self.training_rows
        if "nystroem" in self.maps and rows is not None and most > rows:
            yield f"features: m = {most} landmarks are more than the {rows} training rows"
        has_tuning_rows = self.split.scheme == "given" or (self.split.tune or 0) >= 2
        if self.reg_grid and self.reg not in self.reg_grid:
            yield f"reg_grid: reg = {self.reg} must be one of them, to compare with"
        if len(set(self.reg_grid)) < len(self.reg_grid):
            yield f"reg_grid: {self.reg_grid} repeats a value"
        if self.reg_grid and not has_tuning_rows:
            yield "reg_grid: split.tune must be at least 2, to choose reg on"
        if (self.networks() or self.kcca) and not has_tuning_rows:
            yield "split.tune: at least 2 rows are needed, by which deep and kernel CCA are chosen"
        if self.dcca and self.dcca.batch_size <= self.components + 1:
            yield f"dcca.batch_size: must exceed components = {self.components} by two"
        if self.kcca and self.kcca.sizes[0] <= self.components:
            yield f"kcca.sizes: must be larger than components = {self.components}"

    def mem_mb(self) -> int:
        """Return the memory of a fit or one shard of it, in millions of bytes."""
        split = SPLIT_BYTES_PER_ROW * (self.training_rows or 0)
        return fit_mem_mb(max(self.features)) + ceil(split / 1e6)

    def job_minutes(self, threads: int) -> int:
        """Return the minutes that a fit with its own pass, or one shard of it, may take."""
        if self.training_rows is None:
            return MINUTES_IF_UNKNOWN
        m, solutions = max(self.features), 1 + len(self.reg_grid)
        operations = 4.0 * self.training_rows / self.shards * m**2
        operations += solutions * SOLVE_OPERATIONS * m**3
        return _cautious_minutes(operations, threads)

    def model_mem_mb(self) -> int:
        """Return the memory of a cross-validation, in millions of bytes: moments of each fold."""
        assert self.model is not None
        return self.mem_mb() + ceil(24e-6 * self.model.folds * max(self.features) ** 2)

    def model_minutes(self, threads: int) -> int:
        """Return the minutes that a cross-validation may take: two passes, and its solutions."""
        if self.training_rows is None or self.model is None:
            return MINUTES_IF_UNKNOWN
        m, solutions = max(self.features), self.model.folds * len(self.model.regs)
        operations = 8.0 * self.training_rows * m**2 + solutions * SOLVE_OPERATIONS * m**3
        return _cautious_minutes(operations, threads)

    def deep_mem_mb(self) -> int:
        """Return the memory of deep CCA, in millions of bytes: both views, twice."""
        rows, columns = self.training_rows or 100_000, facts_of(self.dataset).columns or 1000
        return PROCESSES_MB + ceil(rows * columns * (8 + 4) / 1e6)

    def deep_minutes(self, kind: str, threads: int) -> int:
        """Return the minutes that one repeat of deep CCA may take."""
        if self.training_rows is None:
            return MINUTES_IF_UNKNOWN
        return _cautious_minutes(self._deep_operations(kind), min(threads, 2))

    def kernel_mem_mb(self) -> int:
        """Return the memory of the largest kernel CCA, in millions of bytes: n × n numbers."""
        return 1000 + ceil(9e-6 * max(self._kernel_sizes()) ** 2)

    def kernel_minutes(self, threads: int) -> int:
        """Return the minutes that kernel CCA at all n may take."""
        return _cautious_minutes(self._kernel_operations(), threads)

    def forecast(self, cores: int) -> float:
        """Estimate the minutes of all jobs of the experiment from their operations."""
        fits = self.repeats * len(set(self.maps) - {"linear"})
        operations = fits * 4.0 * (self.training_rows or 0) * max(self.features) ** 2
        operations += sum(self._deep_operations(fit.split("-")[0]) for fit in self.deep_fits())
        operations += self._kernel_operations()
        return operations / OPERATIONS_PER_SECOND / cores / 60

    def _deep_operations(self, kind: str) -> float:
        own = self.networks()[kind]
        columns = (facts_of(self.dataset).columns or 1000) // 2
        sizes = (columns, *own.hidden, self.components)
        weights = 2 * sum(before * after for before, after in pairwise(sizes))
        return own.operations(weights, self.training_rows or 0)

    def _kernel_sizes(self) -> list[int]:
        assert self.kcca is not None
        return [min(n, self.training_rows or n) for n in self.kcca.sizes]

    def _kernel_operations(self) -> float:
        if self.kcca is None:
            return 0.0
        chosen, regs = self.kcca.chosen_up_to, len(self.kcca.regs)
        return sum(float(n) ** 3 * (regs if n <= chosen else 1) for n in self._kernel_sizes())


class Rcca(Experiments[Experiment]):
    """RCCA beside linear, deep and kernel CCA (Table 1): experiments by name."""

    @model_validator(mode="before")
    @classmethod
    def _complete_variants(cls, given: Any) -> Any:
        """Let each variant take over what it does not give itself."""
        if not isinstance(given, Mapping):
            return given
        complete: dict[Any, Any] = {}
        unknown: list[InitErrorDetails] = []
        for name, each in given.items():
            base = each.get("variant_of") if isinstance(each, Mapping) else None
            if isinstance(base, str) and base not in given:
                # Here, since without it keys that it would take over are missing too.
                mistake = PydanticCustomError("variant", "is no other experiment")
                unknown.append({"type": mistake, "loc": (name, "variant_of"), "input": base})
            elif isinstance(base, str) and isinstance(given[base], Mapping):
                inherited = {key: given[base][key] for key in INHERITED if key in given[base]}
                each = {**inherited, **each}
            complete[name] = each
        if unknown:
            raise ValidationError.from_exception_data(cls.__name__, unknown)
        return complete

    def having(self, key: str) -> list[str]:
        """List the experiments that set a key which is empty by default."""
        return [name for name, each in self.items() if getattr(each, key)]

    def timed(self) -> list[str]:
        """List the experiments with timed fits."""
        return self.having("timing")

    def tuned(self) -> list[str]:
        """List the experiments that try other values of reg."""
        return self.having("reg_grid")

    def deep(self) -> list[str]:
        """List the experiments with deep CCA of either kind."""
        return [name for name, each in self.items() if each.networks()]

    def compared(self) -> list[str]:
        """List the experiments with deep or kernel CCA."""
        return [name for name, each in self.items() if each.networks() or each.kcca]

    def clocked(self) -> list[str]:
        """List the experiments in which a method is timed."""
        return [name for name, _ in self.items() if name in {*self.timed(), *self.compared()}]

    def raced(self) -> list[str]:
        """List the experiments in which deep CCA runs against timed RCCA."""
        return [name for name in self.timed() if name in self.deep()]

    def variants(self) -> dict[str, str]:
        """Return of which experiment each variant is one."""
        return {name: each.variant_of for name, each in self.items() if each.variant_of}

    def main_titles(self) -> dict[str, str]:
        """Return the titles of the experiments that are not variants."""
        return {name: each.title for name, each in self.items() if not each.variant_of}

    def problems(self, known: Mapping[str, Facts]) -> Iterator[str]:
        """Yield what is wrong with each experiment, and with what it is a variant of."""
        yield from super().problems(known)
        for name, base in self.variants().items():
            if base == name or self[base].variant_of:
                yield f"{name}.variant_of: {base!r} is no other experiment that is not a variant"


def _cautious_minutes(operations: float, threads: int) -> int:
    return MINUTES_BESIDE + ceil(operations / CAUTIOUS_OPERATIONS_PER_SECOND / threads / 60)


SETTINGS = Rcca
