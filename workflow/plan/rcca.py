"""Stage rcca: its files, and the memory and time of its fits."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Arrays, Experiments

# Of the source's own split, which no setting tells: to foresee how long an experiment takes.
TRAINING_ROWS = {"mnist": 60_000, "xrmb": 30_000, "xrmb-full": 1_429_236, "mocha": 30_000}
# Less than any core of today does in the covariance pass of a fit, 4·n·m² operations.
CAUTIOUS_OPERATIONS_A_SECOND = 20e9
# What it was measured to do a second on one core.
OPERATIONS_A_SECOND = 33e9
# Of the factorisations and of the singular vectors, times m³.
SOLVE_OPERATIONS = 20
# Up to which m a full SVD takes seconds, not minutes.
FULL_SVD_FEATURES = 2000
# While a split is drawn and checked.
SPLIT_BYTES_A_ROW = 110
# For reading, drawing and scoring; and for a pass over an unknown number of rows.
MINUTES_BESIDE_THE_PASS = 15
MINUTES_IF_UNKNOWN = 12 * 60
# What an experiment of stage baselines must share with one of rcca to stand beside it.
SHARED = ("dataset", "split", "standardise", "components")


class RccaPlan(Experiments):
    """The fits of Table 1."""

    title = "Canonical correlations (Table 1)"

    def outputs(self) -> list[str]:
        """List the tables and the figures."""
        if not self.settings:
            return []
        tables, figures = f"{self.results}/tables", f"{self.results}/figures"
        wanted = {
            "timing": [f"{figures}/rcca_minutes.svg", *self.of_those_having("timing", "svd")],
            "reg_grid": [f"{tables}/rcca_tuning.md", f"{figures}/rcca_tuning.svg"],
            "variant_of": [f"{tables}/rcca_variants.md"],
        }
        more = [file for key, files in wanted.items() if self.having(key) for file in files]
        return [*self.tables(), f"{tables}/leaks.md", f"{figures}/rcca.svg", *more]

    def tables(self) -> list[str]:
        """List the table of correlations."""
        return [f"{self.results}/tables/rcca.md"] if self.settings else []

    def outcomes(self) -> dict[str, str]:
        """Return the gathered sums of each experiment."""
        return dict(zip(self.gathered("sums"), self.titles().values(), strict=True))

    def main_titles(self) -> dict[str, str]:
        """Return the titles of the experiments that are no variants."""
        variants = self.variants()
        return {name: title for name, title in self.titles().items() if name not in variants}

    def compared(self) -> list[str]:
        """List the experiments, variants aside, that stage baselines has on the same rows."""
        others = self.config.get("baselines", {})
        return [
            name
            for name in self.main_titles()
            if name in others
            and all(self.settings[name][key] == others[name][key] for key in SHARED)
        ]

    def baselines(self, what: str) -> list[str]:
        """List the CSVs of deep CCA (dcca, curve) or kernel CCA (kcca) that Table 1 takes up."""
        return [f"{self.results}/baselines/{name}.{what}.csv" for name in self.compared()]

    def regs(self) -> dict[str, float]:
        """Return the fixed regulariser of each experiment that also tries a grid."""
        return {name: self.settings[name]["reg"] for name in self.having("reg_grid")}

    def having(self, key: str) -> list[str]:
        """List the experiments that set a key which is empty by default."""
        return [name for name, experiment in self.settings.items() if experiment.get(key)]

    def of_those_having(self, key: str, what: str) -> list[str]:
        """List the gathered CSVs of the experiments that set a key."""
        return [f"{self.results}/rcca/{name}.{what}.csv" for name in self.having(key)]

    def variants(self) -> dict[str, str]:
        """Return of which experiment each variant is one."""
        return {name: self.settings[name]["variant_of"] for name in self.having("variant_of")}

    def published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, experiment in self.settings.items() if experiment["published"]]

    def sums(self, wildcards: Any) -> list[str]:
        """List the CSVs of sums of all fits of an experiment."""
        return self._of_fits(wildcards, "sums")

    def more(self, wildcards: Any) -> list[str]:
        """List the CSVs of tuning, timing or SVDs of an experiment."""
        if wildcards.what == "tuning":
            return self._of_fits(wildcards, "tuning")
        experiment, stem = self.of(wildcards), f"{self.results}/rcca/{wildcards.experiment}"
        if wildcards.what == "svd":
            random = [name for name in experiment["maps"] if name != "linear"]
            return [f"{stem}/{random[0]}.svd.csv"]
        return [
            f"{stem}/{feature_map}-m{m}.timing.csv"
            for feature_map in experiment["maps"]
            for m in (experiment["timing"] if feature_map != "linear" else experiment["timing"][:1])
        ]

    def _of_fits(self, wildcards: Any, what: str) -> list[str]:
        experiment = self.of(wildcards)
        return [
            f"{self.results}/rcca/{wildcards.experiment}/{feature_map}-{repeat}.{what}.csv"
            for feature_map in experiment["maps"]
            for repeat in range(experiment["repeats"])
        ]

    def leaks(self, wildcards: Any) -> str:
        """Return the leak audit of an experiment."""
        return f"{self.results}/rcca/{wildcards.experiment}/leaks.csv"

    def leaks_table(self) -> list[str]:
        """List the leak audit of all experiments; none if there are no experiments."""
        return [f"{self.results}/tables/leaks.csv"] if self.settings else []

    def split(self, wildcards: Any) -> str:
        """Return the rows of an experiment's first repeat, which all its maps share."""
        first = self.of(wildcards)["maps"][0]
        return f"{self.results}/rcca/{wildcards.experiment}/{first}-0.split.npz"

    def shard_count(self, wildcards: Any) -> int:
        """Return into how many jobs the pass of a fit is split."""
        return int(self.of(wildcards)["shards"])

    def shards(self, wildcards: Any) -> list[str]:
        """List the shards to merge; none if the fit makes its pass itself."""
        count = self.shard_count(wildcards)
        fit = f"{wildcards.feature_map}-{wildcards.repeat}"
        stem = f"{self.results}/rcca/{wildcards.experiment}/{fit}"
        return [f"{stem}.shard-{shard}.npz" for shard in range(count)] if count > 1 else []

    def mem_mb(self, wildcards: Any) -> int:
        """Return the memory a fit or one shard of it should need, in millions of bytes."""
        return _mem_mb(self.of(wildcards))

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest fit should need; 0 if there is none."""
        return max(map(_mem_mb, self.settings.values()), default=0)

    def minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes a fit that makes its own pass, or one shard of it, should need."""
        experiment = self.of(wildcards)
        rows = training_rows(experiment)
        if rows is None:
            return MINUTES_IF_UNKNOWN
        m, factorisations = max(experiment["features"]), 1 + len(experiment["reg_grid"])
        operations: float = 4 * rows / experiment["shards"] * m**2
        operations += factorisations * SOLVE_OPERATIONS * m**3
        seconds = operations / (CAUTIOUS_OPERATIONS_A_SECOND * threads)
        return MINUTES_BESIDE_THE_PASS + ceil(seconds / 60)

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes of all experiments on a dataset from their operations."""
        operations = 0.0
        for each in self.settings.values():
            if each["dataset"] == dataset:
                fits = each["repeats"] * len(set(each["maps"]) - {"linear"})
                rows = training_rows(each) or 0
                operations += fits * 4 * rows * max(each["features"]) ** 2
        return operations / OPERATIONS_A_SECOND / cores / 60

    def experiment(self, wildcards: Any) -> dict[str, Any]:
        """Return a fit's own settings: changing another experiment reruns nothing here."""
        return self._experiment(wildcards, int(wildcards.repeat))

    def timed_experiment(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of a fit that is timed at one m alone."""
        only = {"sizes": [int(wildcards.m)], "reg_grid": []}
        return self._experiment(wildcards, 0) | only

    def decomposed_experiment(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of a fit whose SVD is timed, at the timed m that are not too large.

        A full SVD of the smallest is always timed.
        """
        timed = self.of(wildcards)["timing"]
        sizes = [m for m in timed if m <= FULL_SVD_FEATURES] or timed[:1]
        return self._experiment(wildcards, 0) | {"sizes": sizes, "reg_grid": []}

    def _experiment(self, wildcards: Any, repeat: int) -> dict[str, Any]:
        experiment = self.of(wildcards)
        return {
            "name": str(wildcards.experiment),
            "draws": experiment.get("variant_of", str(wildcards.experiment)),
            "split": dict(experiment["split"]),
            "standardise": experiment["standardise"],
            "components": experiment["components"],
            "sizes": list(experiment["features"]),
            "reg": experiment["reg"],
            "reg_grid": list(experiment["reg_grid"]),
            "width": experiment["width"],
            "same_landmarks": experiment["same_landmarks"],
            "feature_map": str(wildcards.feature_map),
            "repeat": repeat,
            "seed": self.config["seed"],
        }

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield what is wrong with an experiment's dataset, sizes or split."""
        yield from super().inconsistencies(settings, arrays)
        for name, experiment in settings.items():
            if experiment["dataset"] in arrays:
                yield from _inconsistencies(name, experiment, arrays[experiment["dataset"]])
            base = experiment.get("variant_of")
            if base is not None and (base == name or base not in settings):
                yield f"{name}.variant_of: {base!r} is no other experiment of this stage"


def _inconsistencies(name: str, experiment: dict[str, Any], arrays: Any) -> Iterator[str]:
    dataset = experiment["dataset"]
    if not {"x", "y"} <= set(arrays):
        yield f"{name}.dataset: {dataset!r} does not have two views"
    sizes = experiment["features"]
    if sizes != sorted(set(sizes)):
        yield f"{name}.features: {sizes} must increase"
    if sizes[0] < experiment["components"]:
        yield (
            f"{name}.features: m = {sizes[0]} is less than components = {experiment['components']}"
        )
    own_tune_rows = experiment["split"]["scheme"] == "given" or experiment["split"].get("tune")
    if experiment["reg_grid"] and experiment["reg"] not in experiment["reg_grid"]:
        yield f"{name}.reg_grid: reg = {experiment['reg']} must be one of them, to compare with"
    if experiment["reg_grid"] and not own_tune_rows:
        yield f"{name}.reg_grid: split.tune must be at least 2, to choose reg on"
    scheme, needs = experiment["split"]["scheme"], {"groups": "groups"}
    needs |= {"given": "given_split", "official": "given_split"}
    if scheme in needs and needs[scheme] not in arrays:
        yield f"{name}.split.scheme: {dataset!r} has no {needs[scheme]} to split by"


def _mem_mb(experiment: dict[str, Any]) -> int:
    return fit_mem_mb(max(experiment["features"]), training_rows(experiment) or 0)


def fit_mem_mb(features: int, rows: int = 0) -> int:
    """Foresee the memory of a fit of two views, in millions of bytes.

    That is six m × m matrices of float64, four buffers of a chunk for each view, the row numbers
    of the split, and what Python and its libraries take. Of the views only chunks are held.
    """
    matrices = 6 * 8 * features**2
    chunks = 2 * 4 * 8 * 2048 * features
    return PROCESSES_MB + ceil((matrices + chunks + SPLIT_BYTES_A_ROW * rows) / 1e6)


def training_rows(experiment: dict[str, Any]) -> int | None:
    """Return the training rows of an experiment; None if the settings do not tell."""
    return experiment["split"].get("train") or TRAINING_ROWS.get(experiment["dataset"])
