"""Settings of stage bounds, and what its jobs cost."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from workflow.lib.jobs import Job, Kind
from workflow.lib.models import (
    Count,
    Distinct,
    Name,
    Positive,
    Repeats,
    Settings,
    Stage,
    Title,
    must,
)
from workflow.lib.resources import PROCESSES_MB

# The theorems contain log n, which must be above 0.
Rows = Annotated[int, Field(ge=2, le=10**9)]
# So that a number of features remains a number.
Ratio = Annotated[float, Field(gt=0, le=10**6)]
# What a figure can tell apart.
AtMostFour = Field(max_length=4)
# Kernels of n rows, their factors, copies of leading blocks and temporary matrices.
MATRICES_AT_A_TIME = 6


class Fixed(Settings):
    """The point around which a sweep varies."""

    n: Rows = Field(description="number of rows, at least 2")
    m: Count = Field(description="number of random features")
    gamma: Positive = Field(description="regulariser γ, above 0")


class Step(Settings):
    """Repeats of the points with few rows, which cost little."""

    n: Rows = Field(description="largest number of rows of these points")
    repeats: Repeats = Field(description="how often they are redrawn")


def _is_stairs(given: list[Step]) -> bool:
    pairs = list(pairwise(given))
    return all(one.n < two.n and one.repeats > two.repeats for one, two in pairs)


STAIRS = must("steps must increase in n and decrease in repeats", _is_stairs)


class Sweep(Settings):
    """One protocol of the simulation: n, m and γ vary one at a time around a fixed point."""

    title: Title = Field(description="what tables and figures call it", exclude=True)
    published: bool = Field(
        False,
        description="whether the points are the paper's: its values then stand beside",
        exclude=True,
    )
    width: Literal["median", "squared", "doubled"] | Positive = Field(
        "median",
        description="kernel width from s = 1/median of squared distances: `median` is s, "
        "`squared` s², `doubled` 2s² (weights drawn with deviation 2s instead of √(2s)); "
        "or a number above 0",
    )
    columns: Count = Field(10, description="columns of X and of Y, which have normal entries")
    n: Distinct[Rows] = Field(description="numbers of rows, at least 2")
    m: Distinct[Count] = Field(description="numbers of random features")
    gamma: Distinct[Positive] = Field(description="regularisers γ, above 0")
    fixed: Fixed = Field(
        Fixed(n=1000, m=1000, gamma=1e-3), description="n, m and γ while they do not vary"
    )
    repeats: Repeats | Annotated[list[Step], Field(min_length=1), STAIRS] = Field(
        100,
        description="how often data and features are redrawn, a number or a list of steps, as in "
        "`[{ n: 2000, repeats: 1000 }, { n: 5000, repeats: 300 }]`; more repeats extend fewer",
        exclude=True,
    )
    block: Repeats = Field(
        5,
        description="repeats in one job; a stopped run keeps the jobs that are done",
        exclude=True,
    )

    @model_validator(mode="after")
    def _steps_reach_all_rows(self) -> Self:
        if (last := self.steps()[-1][0]) < max(*self.n, self.fixed.n):
            raise ValueError(f"repeats: the last step ends at n = {last}, below the largest n")
        return self

    def steps(self) -> list[tuple[int, int]]:
        """Return largest n and number of repeats of each step."""
        if isinstance(self.repeats, int):
            return [(max(*self.n, self.fixed.n), self.repeats)]
        return [(step.n, step.repeats) for step in self.repeats]

    def blocks(self) -> list[dict[str, Any]]:
        """Return of each block of repeats the first, the one after the last, and the largest n.

        Only the last block of a step that is not whole depends on how many repeats there are.
        """
        blocks, done = [], 0
        for n, repeats in reversed(self.steps()):
            for start in range(done, repeats, self.block):
                stop = min(start + self.block, repeats)
                blocks.append({"repeats": [start, stop], "largest_n": n})
            done = repeats
        return blocks

    def mem_mb(self) -> int:
        """Return the memory of a draw, in millions of bytes."""
        n, m = max(*self.n, self.fixed.n), max(*self.m, self.fixed.m)
        matrices = MATRICES_AT_A_TIME * n**2
        features = 2 * 2 * max(n * self.fixed.m, self.fixed.n * m)
        return PROCESSES_MB + ceil(8 * (matrices + features) / 1e6)


class Correlations(Settings):
    """Regularised canonical correlations by kernels and by features."""

    columns: Count = Field(10, description="columns of X and of Y")
    n: Rows = Field(description="number of rows; full decompositions, so a few hundred")
    m: Distinct[Count] = Field(description="numbers of random features")
    gamma: Annotated[Distinct[Positive], AtMostFour] = Field(
        description="regularisers γ, above 0, at most four"
    )
    repeats: Repeats = Field(3, description="how often data and features are redrawn")


class Theorem4(Settings):
    """The counterexample to Theorem 4, and what holds in its place."""

    columns: Count = Field(10, description="columns of X and of Y")
    widths: Annotated[list[Positive], Field(min_length=2, max_length=2)] = Field(
        [10.0, 0.001], description="kernel widths s of x and of y, above 0"
    )
    n: Annotated[Distinct[Rows], AtMostFour] = Field(
        description="numbers of rows, at least 2, at most four numbers"
    )
    ratios: Distinct[Ratio] = Field(description="numbers of features over rows, m/n, above 0")
    gamma: Distinct[Positive] = Field(description="regularisers γ, above 0")
    repeats: Repeats = Field(3, description="how often data and features are redrawn")
    correlations: Correlations = Field(
        description="regularised canonical correlations by kernels and by features"
    )

    def mem_mb(self) -> int:
        """Return the memory of the job, in millions of bytes.

        For each γ and kind of features, of which there are two, both views' factors are kept.
        """
        n, other = max(self.n), self.correlations
        factors = 2 * 2 * len(self.gamma)
        draws = [
            (MATRICES_AT_A_TIME + factors) * n**2 + 2 * 2 * n * ceil(max(self.ratios) * n),
            MATRICES_AT_A_TIME * other.n**2 + 2 * 2 * other.n * max(other.m),
        ]
        return PROCESSES_MB + ceil(8 * max(draws) / 1e6)


class Bounds(Settings, Stage):
    """Theorems 3 and 4 by simulation; the stage draws its data.

    In a sweep, the first n rows and the first m features of a draw serve every smaller n and m.
    """

    sweeps: dict[Name, Sweep] = Field(
        {},
        description="protocols of the simulation, by name; the figure shows the first five",
    )
    theorem4: Theorem4 | None = Field(
        None, description="the counterexample to Theorem 4, and what holds in its place"
    )

    kinds: ClassVar[Mapping[str, Kind]] = {
        "sweep": Kind("stages/bounds/fit.py", ("draws",), minutes=30),
        "theorem4": Kind("stages/bounds/theorem4.py", ("counterexample", "correlations")),
    }
    paper: ClassVar[Mapping[str, str]] = {"published": "fig_bounds.csv"}

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage."""
        for name, sweep in self.sweeps.items():
            own = sweep.model_dump(mode="json") | {"name": name, "seed": seed}
            for number, block in enumerate(sweep.blocks()):
                stem = f"block-{number}"
                yield Job("bounds", "sweep", name, stem, own | block, sweep.mem_mb())
        if part := self.theorem4:
            asked = part.model_dump(mode="json") | {"seed": seed}
            yield Job("bounds", "theorem4", "theorem4", "all", asked, part.mem_mb())

    def report(self) -> dict[str, Any]:
        """Return the settings of the report."""
        fixed = {name: sweep.fixed.model_dump() for name, sweep in self.sweeps.items()}
        return super().report() | {"fixed": fixed}

    def __bool__(self) -> bool:
        return bool(self.sweeps) or self.theorem4 is not None

    def titles(self) -> dict[str, str]:
        """Return what tables and figures call each sweep."""
        return {name: sweep.title for name, sweep in self.sweeps.items()}

    def published(self) -> list[str]:
        """List the sweeps over the paper's points."""
        return [name for name, sweep in self.sweeps.items() if sweep.published]


SETTINGS = Bounds
