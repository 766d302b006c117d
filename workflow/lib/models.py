"""What the settings of the stages are made of.

A stage's ``settings.py`` is the one home of its settings: name, type, default and description of
each key, what must hold between keys, and what the jobs will cost. Fields marked ``exclude=True``
do not enter a job's settings, so that changing them reruns no fit.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel
from pydantic_core import PydanticCustomError

from workflow.data.catalogue import Facts, facts_of
from workflow.lib.jobs import Job, Kind

T = TypeVar("T")
E = TypeVar("E", bound="Experiment")

# What pandas or YAML would read as something else than a name.
_NOT_NAMES = {"nan", "na", "null", "none", "true", "false", "yes", "no", "on", "off"}
_NOT_NAMES |= {"inf", "infinity"}


def must(rule: str, holds: Callable[[Any], Any]) -> AfterValidator:
    """Make a check of a value, with a rule in words."""

    def check(value: T) -> T:
        if not holds(value):
            raise PydanticCustomError("rule", rule)
        return value

    return AfterValidator(check)


# Other text could move the cursor, colour the screen or hide what it says.
PRINTABLE = must("must not have line breaks or other control characters", str.isprintable)
Name = Annotated[
    str,
    must(
        "must be a name: lower-case letters, digits and hyphens, beginning with a letter, at most "
        "60 in all",
        re.compile("[a-z][a-z0-9-]{,59}").fullmatch,
    ),
    must("cannot be a name: tables would read it as a value", lambda name: name not in _NOT_NAMES),
]
Title = Annotated[
    str,
    must(
        "must be plain text, at most 200 characters, without any of ` * [ ] < > | $ and \\, which "
        "tables, figures or the report would take for more than text",
        re.compile(r"[^\s_`*\[\]<>|$\\][^`*\[\]<>|$\\]{,199}").fullmatch,
    ),
    PRINTABLE,
]
# Numbers of rows, features and the like; and of what becomes a job or a repeat of one.
Count = Annotated[int, Field(ge=1, le=10**9)]
Repeats = Annotated[int, Field(ge=1, le=10**5)]
Positive = Annotated[float, Field(gt=0)]
Increasing = Annotated[
    list[T], Field(min_length=1), must("must increase", lambda each: each == sorted(set(each)))
]
Distinct = Annotated[
    list[T],
    Field(min_length=1),
    must("must not repeat a value", lambda each: len(set(each)) == len(each)),
]


class Settings(BaseModel):
    """Settings: unknown keys, 2.0 for 2, and infinite numbers are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Split(Settings):
    """How rows are divided."""

    scheme: Literal["random", "given", "official", "groups"] = Field(
        description="`random` rows; the source's own split as `given`; its test rows only "
        "(`official`); or whole `groups`, so that no utterance is on two sides"
    )
    train: Count | None = Field(None, description="training rows; all there are by default")
    tune: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        None, description="rows to choose settings on"
    )
    test: Count | None = Field(None, description="test rows")

    def training_rows(self, dataset: str) -> int | None:
        """Return the number of training rows; None if only the data tell."""
        return self.train or facts_of(dataset).training_rows

    def problems(self, dataset: str, data: Facts) -> Iterator[str]:
        """Yield what is wrong in view of the dataset."""
        needs = {"groups": "groups", "given": "given_split", "official": "given_split"}
        if self.scheme in needs and needs[self.scheme] not in data.arrays:
            yield f"split.scheme: {dataset!r} has no {needs[self.scheme]} to split by"
        if self.scheme in ("random", "groups"):
            for part in ("train", "test"):
                if getattr(self, part) is None:
                    yield f"split.{part}: required for scheme {self.scheme!r}"
        wanted = sum(rows or 0 for rows in (self.train, self.tune, self.test))
        if data.rows is not None and wanted > data.rows:
            yield f"split: {wanted} rows are more than the {data.rows} of {dataset!r}"


class Stage:
    """What the rest of the workflow asks of a stage's settings."""

    kinds: ClassVar[Mapping[str, Kind]] = {}
    # What the report reads besides gathered CSVs: other files of jobs, by how their names end, and
    # files in resources/paper.
    reads: ClassVar[Mapping[str, str]] = {}
    paper: ClassVar[Mapping[str, str]] = {}

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage; ``seed`` is the run's."""
        yield from ()

    def report(self) -> dict[str, Any]:
        """Return the settings of the stage's report."""
        return {"titles": self.titles(), "published": self.published()}

    def items(self) -> Iterator[tuple[str, "Experiment"]]:
        """Yield name and settings of each experiment that reads a dataset."""
        yield from ()

    def titles(self) -> dict[str, str]:
        """Return what tables and figures call each experiment."""
        return {name: each.title for name, each in self.items()}

    def published(self) -> list[str]:
        """List the experiments that follow the paper's protocol."""
        return [name for name, each in self.items() if each.published]

    def datasets(self) -> dict[str, str]:
        """Return the dataset of each experiment."""
        return {name: each.dataset for name, each in self.items()}

    def problems(self, known: Mapping[str, Facts]) -> Iterator[str]:
        """Yield a sentence, beginning with the key, for each mistake that a type cannot show."""
        for name, each in self.items():
            if each.dataset not in known:
                yield f"{name}.dataset: {unknown_dataset(each.dataset, known)}"
            else:
                yield from (f"{name}.{problem}" for problem in each.problems(known[each.dataset]))

    def largest_mem_mb(self) -> int:
        """Return the memory of its largest job, in millions of bytes; 0 if it has none."""
        return max((job.mem_mb for job in self.jobs(0)), default=0)


class Experiment(Settings):
    """What every experiment on a dataset has.

    A subclass names the arrays it ``needs`` and says what its jobs cost.
    """

    needs: ClassVar[tuple[str, ...]] = ("x", "y")

    dataset: str = Field(description="the dataset to use", exclude=True)
    title: Title = Field(description="what tables and figures call it", exclude=True)
    published: bool = Field(
        False,
        description="whether the protocol is the paper's: its numbers then stand beside",
        exclude=True,
    )

    def job(self, **more: Any) -> dict[str, Any]:
        """Return the settings of a job: those that its result depends on, and ``more``."""
        return self.model_dump(mode="json") | more

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield a sentence for each mistake in view of the dataset."""
        if missing := [array for array in self.needs if array not in data.arrays]:
            yield f"dataset: {self.dataset!r} has no {' and no '.join(missing)}"


class Experiments(RootModel[dict[Name, E]], Stage, Generic[E]):
    """A stage whose settings are experiments by name."""

    root: dict[Name, E] = Field(default_factory=dict)

    def __getitem__(self, name: str) -> E:
        return self.root[name]

    def __len__(self) -> int:
        return len(self.root)

    def items(self) -> Iterator[tuple[str, E]]:
        """Yield name and settings of each experiment, in the order of the file."""
        yield from self.root.items()


def unknown_dataset(name: str, known: Mapping[str, Any]) -> str:
    """Say that a dataset is unknown, and which are known."""
    return f"unknown dataset {name!r}; known are {', '.join(known)}"
