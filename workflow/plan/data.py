"""What a run fetches and prepares."""

from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import Any

from workflow.data.catalogue import CATALOGUE
from workflow.plan.resources import PROCESSES_MB

PREPARED = "data/prepared"
FETCHED = "data/fetched"
# Less than any machine of today parses, checks and writes.
MB_A_MINUTE = 100
MINUTES_BESIDE_READING = 10


class DataPlan:
    """The datasets of one run.

    Parameters
    ----------
    config : dict
        Checked by `settings.check`.
    used : iterable of str
        The datasets that the stages read.
    """

    def __init__(self, config: dict[str, Any], used: Iterable[str]) -> None:
        self.config = config
        asked = dict.fromkeys([*used, *config["prepare"]])
        # Without those that the settings leave out.
        self.names = [name for name in asked if name not in config["skip"]]
        # Read once, before any job runs: see `last_failure`.
        self._last_failures = {name: _last_failure(name) for name in CATALOGUE}

    def is_fetched(self, dataset: str) -> bool:
        """Tell whether a dataset comes from elsewhere: neither embedded nor the user's own."""
        return dataset in CATALOGUE and CATALOGUE[dataset].source is not None

    def all_records(self) -> list[str]:
        """List what says of each dataset to be fetched whether it could be had."""
        return [record(name) for name in self.names if self.is_fetched(name)]

    def record(self, wildcards: Any) -> list[str]:
        """Return that of one dataset; none if it need not be fetched."""
        return [record(wildcards.dataset)] if self.is_fetched(wildcards.dataset) else []

    def last_failure(self, wildcards: Any) -> str:
        """Return when fetching a dataset last failed, before this run.

        As a parameter of the job it makes Snakemake fetch again what failed in the run before,
        and never what succeeded: a success leaves the time as it was.
        """
        return self._last_failures[wildcards.dataset]

    def failure_note(self, wildcards: Any) -> str:
        """Return where a failed fetch leaves its time and message; no output of a rule."""
        return str(_failure_note(wildcards.dataset))

    def checksums(self, wildcards: Any) -> dict[str, str]:
        """Return the user's checksums for files of a job's dataset."""
        return self.checksums_of(wildcards.dataset)

    def checksums_of(self, name: str) -> dict[str, str]:
        """Return the user's checksums for files of a dataset."""
        source = CATALOGUE[name].source if name in CATALOGUE else None
        files = source.files if source is not None else {}
        return {file: sha for file, sha in self.config["checksums"].items() if file in files}

    def size_mb(self, wildcards: Any) -> int:
        """Return the size of a dataset, in millions of bytes: prepared, or as the user's files."""
        if wildcards.dataset in CATALOGUE:
            return CATALOGUE[wildcards.dataset].prepared_mb
        files = map(Path, self.own_files(wildcards))
        return ceil(sum(file.stat().st_size for file in files if file.is_file()) / 1e6)

    def mem_mb(self, wildcards: Any) -> int:
        """Return the memory that preparing a dataset should need, in millions of bytes."""
        # As read, as parsed, and once more where a type is converted.
        return PROCESSES_MB + 3 * self.size_mb(wildcards)

    def minutes(self, wildcards: Any) -> int:
        """Return the minutes that preparing a dataset should need."""
        return MINUTES_BESIDE_READING + ceil(self.size_mb(wildcards) / MB_A_MINUTE)

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


def record(dataset: str) -> str:
    """Return what says of a dataset to be fetched whether it could be had."""
    return f"{FETCHED}/{dataset}.json"


def _failure_note(dataset: str) -> Path:
    return Path(FETCHED, f"{dataset}.failure.txt")


def _last_failure(dataset: str) -> str:
    note = _failure_note(dataset)
    return note.read_text(encoding="utf-8").partition("\n")[0] if note.is_file() else "never"
