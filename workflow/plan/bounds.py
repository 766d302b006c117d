"""Stage bounds: its files, and the memory and time of its simulations."""

from math import ceil
from typing import Any

from workflow.plan.resources import PROCESSES_MB
from workflow.plan.stage import Stage

# Kernels of n rows with their factors, copies of leading blocks, and what makes them, at one time.
MATRICES_AT_A_TIME = 6
# Less than any core of today does in the factorisations of a draw.
CAUTIOUS_OPERATIONS_A_SECOND = 5e9
MINUTES_BESIDE_THE_DRAWS = 15


class BoundsPlan(Stage):
    """The simulations of Theorems 3 and 4."""

    title = "Theorems 3 and 4 by simulation"

    @property
    def sweeps(self) -> dict[str, dict[str, Any]]:
        """The settings of the sweeps, by name."""
        found: dict[str, dict[str, Any]] = self.settings.get("sweeps", {})
        return found

    def outputs(self) -> list[str]:
        """List the tables and the figures."""
        tables, figures = f"{self.results}/tables", f"{self.results}/figures"
        of_theorem4 = [
            f"{tables}/theorem4.md",
            f"{tables}/regularised_correlations.md",
            f"{figures}/theorem4.svg",
        ]
        return [
            *self.tables(),
            *([f"{figures}/bounds.svg"] if self.sweeps else []),
            *(of_theorem4 if "theorem4" in self.settings else []),
        ]

    def tables(self) -> list[str]:
        """List the table of exponents."""
        return [f"{self.results}/tables/bounds.md"] if self.sweeps else []

    def titles(self) -> dict[str, str]:
        """Return what tables and figures call each sweep."""
        return {name: sweep["title"] for name, sweep in self.sweeps.items()}

    def published(self) -> list[str]:
        """List the sweeps over the paper's points."""
        return [name for name, sweep in self.sweeps.items() if sweep["published"]]

    def fixed(self) -> dict[str, dict[str, Any]]:
        """Return n, m and γ of each sweep while they do not vary."""
        return {name: dict(sweep["fixed"]) for name, sweep in self.sweeps.items()}

    def blocks(self) -> list[str]:
        """List the CSVs of all draws."""
        return [
            f"{self.results}/bounds/{name}/block-{block}.csv"
            for name, sweep in self.sweeps.items()
            for block in range(ceil(sweep["repeats"] / sweep["block"]))
        ]

    def sweep(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of a sweep that its draws depend on."""
        sweep = self.sweeps[wildcards.sweep]
        return {
            "name": str(wildcards.sweep),
            "columns": sweep["columns"],
            "width": sweep["width"],
            "n": list(sweep["n"]),
            "m": list(sweep["m"]),
            "gamma": list(sweep["gamma"]),
            "fixed": dict(sweep["fixed"]),
            "seed": self.config["seed"],
        }

    def repeats(self, wildcards: Any) -> list[int]:
        """Return the first repeat of a block and the one after its last.

        Only a last block that is not whole depends on how many repeats there are.
        """
        sweep = self.sweeps[wildcards.sweep]
        start = int(wildcards.block) * int(sweep["block"])
        return [start, min(start + int(sweep["block"]), int(sweep["repeats"]))]

    def counterexample(self) -> dict[str, Any]:
        """Return the settings of the counterexample to Theorem 4."""
        settings = self.settings.get("theorem4", {})
        kept = {key: value for key, value in settings.items() if key != "correlations"}
        return kept | {"seed": self.config["seed"]}

    def correlations(self) -> dict[str, Any]:
        """Return the settings of the comparison of eigenvalues."""
        settings = self.settings.get("theorem4", {}).get("correlations", {})
        return dict(settings) | {"seed": self.config["seed"]}

    def mem_mb(self, wildcards: Any) -> int:
        """Return the memory a block of draws may take, in millions of bytes."""
        return draw_mem_mb(self.sweeps[wildcards.sweep])

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest draw may take; 0 if there is none."""
        return max((draw_mem_mb(sweep) for sweep in self.sweeps.values()), default=0)

    def minutes(self, wildcards: Any) -> int:
        """Return the minutes a block of draws may take."""
        sweep = self.sweeps[wildcards.sweep]
        seconds = float(sweep["block"]) * operations(sweep) / CAUTIOUS_OPERATIONS_A_SECOND
        return MINUTES_BESIDE_THE_DRAWS + ceil(seconds / 60)

    def minutes_here(self, dataset: str, cores: int) -> float:
        """Foresee nothing: the stage draws its data."""
        return 0.0


def draw_mem_mb(sweep: dict[str, Any]) -> int:
    """Foresee the memory of one draw, in millions of bytes."""
    n, m = (int(max(*sweep[key], sweep["fixed"][key])) for key in ("n", "m"))
    matrices = MATRICES_AT_A_TIME * 8 * n**2
    features = 2 * 2 * 8 * max(n * int(sweep["fixed"]["m"]), int(sweep["fixed"]["n"]) * m)
    return PROCESSES_MB + ceil((matrices + features) / 1e6)


def operations(sweep: dict[str, Any]) -> float:
    """Count the operations of the largest factorisations of one draw."""
    return 2 / 3 * float(max(*sweep["n"], sweep["fixed"]["n"])) ** 3
