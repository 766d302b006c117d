"""What a run makes, from its checked settings: file names, and the settings of each job."""

from math import ceil
from pathlib import Path
from typing import Any

from rnca.datasets.catalogue import CATALOGUE

PREPARED = "data/prepared"
FETCHED = "data/fetched"
# Of the source's own split, which no setting tells: to foresee how long an experiment takes.
TRAINING_ROWS = {"mnist": 60_000, "xrmb": 30_000, "xrmb-full": 1_429_236, "mocha": 30_000}
# Less than any core of today does in the covariance pass of a fit, 4·n·m² operations.
CAUTIOUS_OPERATIONS_A_SECOND = 20e9
# For reading, drawing, solving and scoring; and for a pass over an unknown number of rows.
MINUTES_BESIDE_THE_PASS = 15
MINUTES_IF_UNKNOWN = 12 * 60


class Plan:
    """The files of one run and the settings of the jobs that make them.

    Parameters
    ----------
    config : dict
        Checked by `settings.check`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.results = f"results/{config['run']}"
        # Read once, before any job runs: see `last_failure`.
        self._last_failures = {name: _last_failure(name) for name in CATALOGUE}

    def final_outputs(self) -> list[str]:
        """Everything a run leaves for its reader.

        The records are there because Snakemake does not miss one that is gone, say with a run
        that was killed while it fetched, as long as there is something made from it.
        """
        return [
            *self.fetch_records(self.datasets()),
            f"{self.results}/tables/data.md",
            f"{self.results}/tables/rcca.md",
            f"{self.results}/tables/leaks.md",
            f"{self.results}/figures/rcca.svg",
            f"{self.results}/summary.txt",
        ]

    def datasets(self) -> list[str]:
        """List the datasets the settings ask for, without those they leave out."""
        used = [each["dataset"] for each in self.config["rcca"].values()]
        asked = dict.fromkeys([*used, *self.config["prepare"]])
        return [name for name in asked if name not in self.config["skip"]]

    def is_fetched(self, dataset: str) -> bool:
        """Tell whether a dataset comes from elsewhere: neither embedded nor the user's own."""
        return dataset in CATALOGUE and CATALOGUE[dataset].source is not None

    def fetch_records(self, datasets: list[str]) -> list[str]:
        """List what says of each dataset to be fetched whether it could be had."""
        return [f"{FETCHED}/{name}.json" for name in datasets if self.is_fetched(name)]

    def fetch_record(self, wildcards: Any) -> list[str]:
        """Return that of one dataset; none if it need not be fetched."""
        return self.fetch_records([wildcards.dataset])

    def last_failure(self, wildcards: Any) -> str:
        """Return when fetching a dataset last failed, before this run.

        As a parameter of the job it makes Snakemake fetch again what failed in the run before,
        and never what succeeded: a success leaves the time as it was.
        """
        return self._last_failures[wildcards.dataset]

    def checksums(self, wildcards: Any) -> dict[str, str]:
        """Return the user's checksums for files of a job's dataset."""
        return self.checksums_of(wildcards.dataset)

    def checksums_of(self, name: str) -> dict[str, str]:
        """Return the user's checksums for files of a dataset."""
        source = CATALOGUE[name].source if name in CATALOGUE else None
        files = source.files if source is not None else {}
        return {file: sha for file, sha in self.config["checksums"].items() if file in files}

    def own_entry(self, wildcards: Any) -> dict[str, Any] | None:
        """Return the description of a dataset of the user's own; None for any other."""
        entry: dict[str, Any] | None = self.config["datasets"].get(wildcards.dataset)
        return entry

    def own_files(self, wildcards: Any) -> list[str]:
        """List the files of a dataset of the user's own."""
        entry = self.own_entry(wildcards) or {}
        places = [entry[key] for key in ("x", "y", "split", "groups") if key in entry]
        files = [place if isinstance(place, str) else place["file"] for place in places]
        return list(dict.fromkeys(files))

    def rcca_titles(self) -> dict[str, str]:
        """Return what tables and figures call each experiment."""
        return {name: experiment["title"] for name, experiment in self.config["rcca"].items()}

    def rcca_published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, experiment in self.config["rcca"].items() if experiment["published"]]

    def rcca_dataset(self, wildcards: Any) -> str:
        """Return the name of an experiment's dataset."""
        return str(self.config["rcca"][wildcards.experiment]["dataset"])

    def rcca_data(self, wildcards: Any) -> str:
        """Return the prepared dataset of an experiment."""
        return f"{PREPARED}/{self.rcca_dataset(wildcards)}"

    def rcca_gathered(self, what: str) -> list[str]:
        """List the CSVs ("sums" or "leaks") of all experiments, in the order of the settings."""
        return [f"{self.results}/rcca/{name}.{what}.csv" for name in self.config["rcca"]]

    def rcca_sums(self, wildcards: Any) -> list[str]:
        """List the CSVs of all fits of an experiment."""
        experiment = self.config["rcca"][wildcards.experiment]
        return [
            f"{self.results}/rcca/{wildcards.experiment}/{feature_map}-{repeat}.sums.csv"
            for feature_map in experiment["maps"]
            for repeat in range(experiment["repeats"])
        ]

    def rcca_leaks(self, wildcards: Any) -> str:
        """Return the leak audit of an experiment."""
        return f"{self.results}/rcca/{wildcards.experiment}/leaks.csv"

    def rcca_split(self, wildcards: Any) -> str:
        """Return the rows of an experiment's first repeat, which all its maps share."""
        first = self.config["rcca"][wildcards.experiment]["maps"][0]
        return f"{self.results}/rcca/{wildcards.experiment}/{first}-0.split.npz"

    def rcca_shard_count(self, wildcards: Any) -> int:
        """Return into how many jobs the pass of a fit is split."""
        return int(self.config["rcca"][wildcards.experiment]["shards"])

    def rcca_shards(self, wildcards: Any) -> list[str]:
        """List the shards to merge; none if the fit makes its pass itself."""
        count = self.rcca_shard_count(wildcards)
        fit = f"{wildcards.feature_map}-{wildcards.repeat}"
        stem = f"{self.results}/rcca/{wildcards.experiment}/{fit}"
        return [f"{stem}.shard-{shard}.npz" for shard in range(count)] if count > 1 else []

    def rcca_mem_mb(self, wildcards: Any) -> int:
        """Return the memory a fit may take, in millions of bytes."""
        return fit_mem_mb(max(self.config["rcca"][wildcards.experiment]["features"]))

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest fit of the run may take; 0 if there is none."""
        sizes = [max(each["features"]) for each in self.config["rcca"].values()]
        return fit_mem_mb(max(sizes)) if sizes else 0

    def rcca_minutes(self, wildcards: Any, threads: int) -> int:
        """Return the minutes a fit that makes its own pass, or one shard of it, may take."""
        experiment = self.config["rcca"][wildcards.experiment]
        rows = training_rows(experiment)
        if rows is None:
            return MINUTES_IF_UNKNOWN
        operations: float = 4 * rows / experiment["shards"] * max(experiment["features"]) ** 2
        seconds = operations / (CAUTIOUS_OPERATIONS_A_SECOND * threads)
        return MINUTES_BESIDE_THE_PASS + ceil(seconds / 60)

    def rcca_experiment(self, wildcards: Any) -> dict[str, Any]:
        """Return a fit's own settings: changing another experiment reruns nothing here."""
        experiment = self.config["rcca"][wildcards.experiment]
        return {
            "name": str(wildcards.experiment),
            "split": dict(experiment["split"]),
            "standardise": experiment["standardise"],
            "components": experiment["components"],
            "sizes": list(experiment["features"]),
            "reg": experiment["reg"],
            "feature_map": str(wildcards.feature_map),
            "repeat": int(wildcards.repeat),
            "seed": self.config["seed"],
        }


def fit_mem_mb(features: int) -> int:
    """Foresee the memory of a fit of two views, in millions of bytes.

    That is four m × m matrices of float64, four buffers of a chunk for each view, and what Python
    and its libraries take.
    """
    matrices = 4 * 8 * features**2
    chunks = 2 * 4 * 8 * 2048 * features
    return 300 + ceil((matrices + chunks) / 1e6)


def training_rows(experiment: dict[str, Any]) -> int | None:
    """Return the training rows of an experiment; None if the settings do not tell."""
    return experiment["split"].get("train") or TRAINING_ROWS.get(experiment["dataset"])


def failure_note(dataset: str) -> Path:
    """Return where a failed fetch leaves its time and message; no output of a rule."""
    return Path(FETCHED, f"{dataset}.failure.txt")


def _last_failure(dataset: str) -> str:
    note = failure_note(dataset)
    return note.read_text(encoding="utf-8").partition("\n")[0] if note.is_file() else "never"
