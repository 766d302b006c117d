"""Settings of stage rcca, and what its jobs cost."""

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from workflow.data.catalogue import Facts, facts_of
from workflow.lib import models
from workflow.lib.jobs import Job, Kind
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
    Title,
)
from workflow.lib.resources import PROCESSES_MB, fit_mem_mb

# Up to which m a timed fit takes seconds, and is repeated.
REPEATED_FEATURES = 3000
# The interval of a median takes six times at least.
TIMED_REPEATS, SVD_REPEATS = 3, 6
# Of a training row: while a split is drawn and checked; while rows are looked up among others.
SPLIT_BYTES, LEAK_BYTES = 40, 110
# A variant takes these from its experiment unless it gives its own.
INHERITED = (
    "dataset", "split", "standardise", "components", "features", "maps", "reg", "width",
    "same_landmarks",
)  # fmt: skip
# What the schemes of splits are called where frames of speech are divided.
PROTOCOLS = {"random": "frames", "groups": "utterances"}


class Deep(Settings):
    """What deep CCA of either kind is asked for. Tuning rows choose among the lists' values."""

    layers: Annotated[int, Field(ge=1, le=100)] = Field(2, description="hidden layers")
    widths: Distinct[Count] = Field([400], description="units of each hidden layer, to choose from")
    regs: Distinct[Positive] = Field(
        [1e-4], description="added to the diagonals of the outputs' covariances, to choose from"
    )
    patience: Repeats = Field(
        5, description="epochs without gain on tuning rows after which training ends"
    )
    repeats: Repeats | None = Field(
        None, description="how many of the experiment's repeats; all if not given", exclude=True
    )


class DeepCCA(Deep):
    """Deep CCA as trained today, on the rows of the experiment: relu, Adam on mini-batches."""

    learning_rates: Distinct[Positive] = Field(
        [3e-3], description="step sizes at the start, to choose from; they fall to 0"
    )
    batch_size: int = Field(500, ge=2, description="rows of a step, more than `components`")
    epochs: Repeats = Field(20, description="passes over the training rows")


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


class CrossValidation(Settings):
    """The regulariser chosen by cross-validation on the training rows."""

    regs: Increasing[Positive] = Field(description="values of reg to choose from, increasing")
    features: Increasing[Count] | None = Field(
        None, description="values of m to choose at; those of the experiment by default"
    )
    folds: int = Field(3, ge=2, le=100, description="folds: of rows, or of groups as the split is")
    repeats: Repeats = Field(1, description="of how many repeats, from the first on", exclude=True)


class Grid(Settings):
    """Sums of correlations over a grid of m and reg."""

    regs: Increasing[Positive] = Field(
        [1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0], description="values of reg, increasing"
    )
    features: Increasing[Count] | None = Field(
        None,
        description="values of m in all repeats but the first, which has those of the experiment, "
        "and for unrelated pairs; those of the experiment by default",
    )
    repeats: Repeats | None = Field(
        None, description="how many of the experiment's repeats; all if not given"
    )
    unrelated: bool = Field(
        False,
        description="whether the first repeat is also fitted to unrelated pairs: rows of the "
        "second view, or whole groups as the split is, in another order",
    )


class Linear(Settings):
    """Linear CCA with reg chosen on the tuning rows, and with the fixed one."""

    regs: Increasing[Positive] = Field(description="values of reg to choose from, increasing")
    repeats: Repeats = Field(20, description="how often the split is redrawn")


class Model(Settings):
    """A model to keep: m and reg by cross-validation, p-values, loadings, canonical variables."""

    regs: Increasing[Positive] = Field(
        [1e-8, 1e-6, 1e-4, 1e-2], description="values of reg to choose from, increasing"
    )
    folds: int = Field(5, ge=2, le=100, description="folds: of rows, or of groups as the split is")
    permutations: Repeats = Field(
        999, description="random pairings of the test rows; p-values are at least 1/(this + 1)"
    )


class Series(Settings):
    """Experiments that differ in the speaker alone, or in how its rows are divided."""

    name: Name = Field(description="the same in all experiments of the series")
    title: Title = Field(description="what tables call the series")
    paper: str | None = Field(
        None, description="dataset whose published numbers stand beside, of another speaker"
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
    maps: Distinct[Literal["linear", "fourier", "nystroem", "whitened"]] = Field(
        ["linear", "fourier", "nystroem"], description="feature maps to compare", exclude=True
    )
    reg: float = Field(1e-8, ge=0, description="added to the diagonal of the feature covariances")
    grid: Grid | None = Field(
        None, description="training and test sums over a grid of m and reg", exclude=True
    )
    linear: Linear | None = Field(
        None, description="linear CCA tuned on the tuning rows, over many splits", exclude=True
    )
    cv: CrossValidation | None = Field(
        None, description="reg chosen by cross-validation, beside the fixed one", exclude=True
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
    series: Series | None = Field(
        None,
        description="the series that the experiment belongs to: one table averages over its "
        "datasets, with random rows and whole groups held out side by side",
        exclude=True,
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
        return super().job(draws=self.variant_of or more["name"], regs=[], **more)

    def networks(self) -> dict[str, DeepCCA | DeepCCA2013]:
        """Return the settings of deep CCA, of each kind that is asked for."""
        kinds = {"dcca": self.dcca, "dcca2013": self.dcca2013}
        return {kind: each for kind, each in kinds.items() if each}

    def shard_stems(self, fit: str) -> list[str]:
        """Name the shards of a fit; there are none if it is one job."""
        return [f"{fit}-{shard}" for shard in range(self.shards) if self.shards > 1]

    def rows(self, name: str, seed: int) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        """Yield kind, stem, key of `mem_mb` and settings of each job."""
        own: dict[str, Any] = {"name": name, "seed": seed}
        for feature_map in self.maps:
            shared = own | {"feature_map": feature_map}
            for repeat in range(self.repeats):
                stem, fit = f"{feature_map}-{repeat}", self.job(**shared, repeat=repeat)
                yield "fit", stem, "fit", fit
                for shard, part in enumerate(self.shard_stems(stem)):
                    yield "shard", part, "fit", fit | {"shards": self.shards, "shard": shard}
            for repeat in range(self.cv.repeats if self.cv else 0):
                choice = self.job(**shared, repeat=repeat) | self.choice("cv")
                yield "cv", f"{feature_map}-{repeat}", "cv", choice
            first = self.job(**shared, repeat=0)
            if self.model:
                yield "model", feature_map, "model", first | self.choice("model")
            # Linear features are the columns; whitened ones are Nyström features times a matrix.
            for m in {"linear": self.timing[:1], "whitened": []}.get(feature_map, self.timing):
                timed = {"features": [m], "times": timed_repeats(m)}
                yield "timing", f"{feature_map}-m{m}", "fit", first | timed
        nonlinear = [feature_map for feature_map in self.maps if feature_map != "linear"]
        if self.timing and nonlinear:
            times = {"features": self.timing, "times": SVD_REPEATS}
            first = self.job(**own, feature_map=nonlinear[0], repeat=0)
            yield "svd", nonlinear[0], "fit", first | times
        yield "leaks", "all", "leaks", {}
        for network, deep in self.networks().items():
            for repeat in range(min(deep.repeats or self.repeats, self.repeats)):
                asked = self.baseline(network, **own, network=network, repeat=repeat)
                yield "deep", f"{network}-{repeat}", "deep", asked
        if self.kcca:
            yield "kcca", "all", "kcca", self.baseline("kcca", **own, repeat=0)
        if self.linear:
            fits = [{"repeat": repeat} for repeat in range(self.linear.repeats)]
            asked = {"regs": self.linear.regs, "fits": fits}
            yield "linear", "all", "fit", self.job(**own, feature_map="linear") | asked
        if self.grid:
            asked = {"regs": self.grid.regs, "fits": self._grid_fits(self.grid)}
            for feature_map in self.maps:
                yield "grid", feature_map, "grid", self.job(**own, feature_map=feature_map) | asked

    def _grid_fits(self, grid: Grid) -> list[dict[str, Any]]:
        """List repeat and values of m of each fit of the grid; and the pairing, if unrelated."""
        few = grid.features or self.features
        repeats = range(min(grid.repeats or self.repeats, self.repeats))
        fits = [{"repeat": each, "features": few if each else self.features} for each in repeats]
        other = {"repeat": 0, "features": few, "pairing": "permuted"}
        return fits + [other] * grid.unrelated

    def baseline(self, kind: str, **more: Any) -> dict[str, Any]:
        """Return the settings of a job of deep or kernel CCA, on the rows of the experiment."""
        shared = {key: self.job(**more)[key] for key in ("draws", "split", "standardise")}
        own = getattr(self, kind).model_dump(mode="json")
        return {**shared, "components": self.components, "baseline": own, **more}

    def choice(self, key: str) -> dict[str, Any]:
        """Return what a job that chooses reg is asked for by ``cv`` or ``model``, beside the fit's.

        The values of m are those of the fit unless ``cv`` gives its own.
        """
        own: dict[str, Any] = getattr(self, key).model_dump(mode="json", exclude_none=True)
        return own

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the sizes, the split or the baselines."""
        yield from super().problems(data)
        yield from self.split.problems(self.dataset, data)
        least, most = self.features[0], self.features[-1]
        if least < self.components:
            yield f"features: m = {least} is less than components = {self.components}"
        rows = self.training_rows
        if {"nystroem", "whitened"} & set(self.maps) and rows is not None and most > rows:
            yield f"features: m = {most} landmarks are more than the {rows} training rows"
        if self.grid and not set(self.grid.features or []) <= set(self.features):
            yield f"grid.features: {self.grid.features} must be some of {self.features}"
        if self.cv and self.reg not in self.cv.regs:
            yield f"cv.regs: reg = {self.reg} must be one of them, to compare with"
        if self.cv and not set(self.cv.features or []) <= set(self.features):
            yield f"cv.features: {self.cv.features} must be some of {self.features}"
        if self.series and self.split.scheme not in PROTOCOLS:
            yield f"series: the split must be one of {', '.join(PROTOCOLS)}"
        if self.linear and self.reg not in self.linear.regs:
            yield f"linear.regs: reg = {self.reg} must be one of them, to compare with"
        has_tuning_rows = self.split.scheme == "given" or (self.split.tune or 0) >= 2
        if (self.networks() or self.kcca or self.linear) and not has_tuning_rows:
            yield (
                "split.tune: at least 2 rows are needed, by which deep, kernel and linear CCA are "
                "chosen"
            )
        if self.dcca and self.dcca.batch_size <= self.components + 1:
            yield f"dcca.batch_size: must exceed components = {self.components} by two"
        if self.kcca and self.kcca.sizes[0] <= self.components:
            yield f"kcca.sizes: must be larger than components = {self.components}"

    def mem_mb(self, kind: str = "fit") -> int:
        """Return the megabytes of a "fit", "grid", "leaks", "cv", "model", "deep" or "kcca"."""
        rows, columns = self.training_rows or 100_000, facts_of(self.dataset).columns or 1000
        if kind == "deep":  # both views, twice
            return PROCESSES_MB + ceil(rows * columns * (8 + 4) / 1e6)
        if kind == "kcca":  # n × n numbers
            return 1000 + ceil(9e-6 * max(self._kernel_sizes()) ** 2)
        m, folds = max(self.features), 0
        if kind == "cv" and self.cv:
            m, folds = max(self.cv.features or self.features), self.cv.folds + 1
        if kind == "grid":  # covariances of tuning and test rows
            folds = 2
        if kind == "model" and self.model:
            folds = self.model.folds + 1
        per_row = LEAK_BYTES if kind == "leaks" else SPLIT_BYTES
        moments, held = folds * 24 * m**2, per_row * (self.training_rows or 0)
        return fit_mem_mb(m) + ceil((moments + held) / 1e6)

    def _kernel_sizes(self) -> list[int]:
        assert self.kcca is not None
        return [min(n, self.training_rows or n) for n in self.kcca.sizes]


def _having(*keys: str) -> Callable[["Rcca"], list[str]]:
    """Make a method that lists the experiments which set one of these keys, empty by default."""
    return lambda stage: [
        name for name, each in stage.items() if any(getattr(each, key) for key in keys)
    ]


class Rcca(Experiments[Experiment]):
    """RCCA beside linear, deep and kernel CCA (Table 1): experiments by name."""

    kinds: ClassVar[Mapping[str, Kind]] = {
        "fit": Kind("stages/rcca/fit.py", ("sums",), ("components.csv", "split.npz"), minutes=120),
        "shard": Kind("stages/rcca/fit.py", (), ("shard.npz",), minutes=120),
        "cv": Kind("stages/rcca/cv.py", ("cv",)),
        "grid": Kind("stages/rcca/grid.py", ("regs",), minutes=120),
        "linear": Kind("stages/rcca/grid.py", ("linear",)),
        "model": Kind(
            "stages/rcca/model.py",
            ("inference",),
            ("model.npz", "variables.npz", "scores.csv", "loadings.csv"),
            minutes=120,
        ),
        "timing": Kind(
            "stages/rcca/timing.py", ("timing",), timed=True, repeatable=False, minutes=120
        ),
        "svd": Kind("stages/rcca/timing.py", ("svd",), timed=True, repeatable=False, minutes=120),
        "leaks": Kind("data/audit.py", ("leaks",)),
        # In the training of networks rounding grows without bound.
        "deep": Kind(
            "stages/rcca/deep.py",
            ("dcca", "curve", "search"),
            timed=True,
            repeatable=False,
            minutes=120,
        ),
        "kcca": Kind("stages/rcca/kernel.py", ("kcca",), timed=True, minutes=120),
    }
    reads: ClassVar[Mapping[str, str]] = {"loadings": "loadings.csv", "variables": "variables.npz"}
    paper: ClassVar[Mapping[str, str]] = {
        "published": "table1_rcca.csv",
        "layers": "dcca_layers.csv",
    }

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage."""
        for name, each in self.items():
            for kind, stem, size, asked in each.rows(name, seed):
                yield Job("rcca", kind, name, stem, asked, each.mem_mb(size), each.dataset)

    def report(self) -> dict[str, Any]:
        """Return the settings of the report."""
        return super().report() | {
            "main_titles": self.main_titles(),
            "regs": {name: each.reg for name, each in self.items()},
            "series": self.series(),
            "variants": self.variants(),
            "compared": self.compared(),
            "tuned": self.tuned(),
        }

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

    # Lists of experiments, for rules and exhibits.
    modelled = _having("model")
    timed = _having("timing")
    chosen = _having("cv")
    gridded = _having("grid")
    tuned = _having("linear")
    deep = _having("dcca", "dcca2013")
    compared = _having("dcca", "dcca2013", "kcca")

    def series(self) -> dict[str, dict[str, Any]]:
        """Return series and protocol of the experiments that belong to one."""
        return {
            name: {**each.series.model_dump(), "protocol": PROTOCOLS[each.split.scheme]}
            for name, each in self.items()
            if each.series
        }

    def raced(self) -> list[str]:
        """List the experiments in which deep CCA runs against timed RCCA."""
        return [name for name in self.timed() if name in self.deep()]

    def variants(self) -> dict[str, str]:
        """Return of which experiment each variant is one; those of a series have its table."""
        own = {name: each for name, each in self.items() if not each.series}
        return {name: each.variant_of for name, each in own.items() if each.variant_of}

    def main_titles(self) -> dict[str, str]:
        """Return the titles of the experiments that are neither variants nor of a series."""
        own = {name: each for name, each in self.items() if not each.series}
        return {name: each.title for name, each in own.items() if not each.variant_of}

    def problems(self, known: Mapping[str, Facts]) -> Iterator[str]:
        """Yield what is wrong with each experiment, and with what it is a variant of."""
        yield from super().problems(known)
        for name, each in self.items():
            base = each.variant_of
            if base and (base == name or self[base].variant_of):
                yield f"{name}.variant_of: {base!r} is no other experiment that is not a variant"


def timed_repeats(m: int) -> int:
    """Return how often a fit at m is timed."""
    return TIMED_REPEATS if m <= REPEATED_FEATURES else 1


SETTINGS = Rcca
