"""What every stage of a run has in common."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from workflow.plan.data import PREPARED

Arrays = Mapping[str, Collection[str]]


class Stage(ABC):
    """The files of one stage and the settings of its jobs.

    A subclass sets ``title``, what the report calls the stage.

    Parameters
    ----------
    name : str
        Its key in the settings.
    config : dict
        The settings of the whole run.

    Attributes
    ----------
    settings : dict
        Its own settings; empty if the run leaves the stage out.
    results : str
        Directory of the run.
    """

    title: str

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.name = name
        self.config = config
        self.settings: dict[str, Any] = config.get(name, {})
        self.results = f"results/{config['run']}"

    @property
    def uses(self) -> list[str]:
        """The datasets its jobs read."""
        return []

    @abstractmethod
    def outputs(self) -> list[str]:
        """List what the stage leaves for the reader; empty if the run leaves it out."""

    def tables(self) -> list[str]:
        """List its tables to show on the screen at the end of a run, a few lines each."""
        return []

    def outcomes(self) -> dict[str, str]:
        """Return its CSVs that hold rows or the reason why there are none, each with a title."""
        return {}

    def largest_mem_mb(self) -> int:
        """Return the memory that its largest job may take, in millions of bytes."""
        return 0

    @abstractmethod
    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee the minutes that its jobs on a dataset take at least."""

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield a sentence for each mistake that the schema cannot find.

        Parameters
        ----------
        settings : dict
            The stage's, valid by the schema and with defaults filled in.
        arrays : mapping of dataset to the names of its arrays
        """
        yield from ()


class Experiments(Stage):
    """A stage whose settings are experiments by name, each with a ``dataset`` and a ``title``."""

    @property
    def uses(self) -> list[str]:
        """The datasets of the experiments."""
        return [experiment["dataset"] for experiment in self.settings.values()]

    def titles(self) -> dict[str, str]:
        """Return what tables and figures call each experiment."""
        return {name: experiment["title"] for name, experiment in self.settings.items()}

    def of(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of a job's experiment."""
        experiment: dict[str, Any] = self.settings[wildcards.experiment]
        return experiment

    def dataset(self, wildcards: Any) -> str:
        """Return the name of a job's dataset."""
        return str(self.of(wildcards)["dataset"])

    def prepared(self, wildcards: Any) -> str:
        """Return the prepared dataset of a job."""
        return f"{PREPARED}/{self.dataset(wildcards)}"

    def gathered(self, what: str) -> list[str]:
        """List the CSVs ``<stage>/<experiment>.<what>.csv``, in the order of the settings."""
        return [f"{self.results}/{self.name}/{name}.{what}.csv" for name in self.settings]

    @classmethod
    def inconsistencies(cls, settings: dict[str, Any], arrays: Arrays) -> Iterator[str]:
        """Yield a sentence for each experiment on an unknown dataset."""
        for name, experiment in settings.items():
            if experiment["dataset"] not in arrays:
                yield f"{name}.dataset: {unknown_dataset(experiment['dataset'], arrays)}"


def unknown_dataset(name: str, arrays: Arrays) -> str:
    """Say that a dataset is unknown, and which are known."""
    return f"unknown dataset {name!r}; known are {', '.join(arrays)}"
