"""The jobs of a run: each stage lists its own once, in plain Python, in its ``settings.py``.

Stage, experiment, stem and kind name a job's files alike: its rule is ``<stage>_<kind>``, its CSVs
are ``<stage>/<experiment>/<stem>.<…>.csv``, and its request, log and benchmark are
``<stage>/<experiment>/<stem>.<kind>`` below ``requests``, ``logs`` and ``benchmarks``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """What the jobs of a kind run, a module relative to ``workflow/``, and what they write."""

    script: str
    csvs: tuple[str, ...] = ()  # which the stage's report gathers, each in one CSV
    others: tuple[str, ...] = ()  # with their suffix
    minutes: int = 60  # after which a job is taken for stuck, at its first attempt
    timed: bool = False  # whether it measures times, alone on all cores
    repeatable: bool = True  # whether it gives the same numbers each time

    def files(self) -> tuple[str, ...]:
        """Return the ends of the names of all files that a job writes."""
        return (*(f"{what}.csv" for what in self.csvs), *self.others)


@dataclass(frozen=True)
class Job:
    """One job: a row of a stage's list."""

    stage: str
    kind: str
    experiment: str
    stem: str
    settings: Mapping[str, Any]  # those that its results depend on
    mem_mb: int
    dataset: str | None = None

    @property
    def place(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.stage}/{self.experiment}/{self.stem}"

    @property
    def name(self) -> str:
        """The name of its request, log and benchmark, but for their suffixes."""
        return f"{self.place}.{self.kind}"
