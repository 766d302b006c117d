"""What a run makes, from its checked settings: file names, and the settings of each job."""

from typing import Any

from workflow.plan.autoencoder import AutoencoderPlan
from workflow.plan.baselines import BaselinesPlan
from workflow.plan.bounds import BoundsPlan
from workflow.plan.data import DataPlan
from workflow.plan.extensions import ExtensionsPlan
from workflow.plan.lupi import LupiPlan
from workflow.plan.maps import MapsPlan
from workflow.plan.rcca import RccaPlan
from workflow.plan.rpca import RpcaPlan
from workflow.plan.stage import Stage

# In the order of the paper, which is that of the summary.
STAGES: dict[str, type[Stage]] = {
    "rpca": RpcaPlan,
    "bounds": BoundsPlan,
    "rcca": RccaPlan,
    "lupi": LupiPlan,
    "baselines": BaselinesPlan,
    "autoencoder": AutoencoderPlan,
    "maps": MapsPlan,
    "extensions": ExtensionsPlan,
}


class Plan:
    """The files of one run and the settings of the jobs that make them.

    Parameters
    ----------
    config : dict
        Checked by `settings.check`.

    Attributes
    ----------
    results : str
        Directory of the run.
    data : DataPlan
    stages : dict of str to Stage
        Those of the settings, by name; each is an attribute of that name too.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.results = f"results/{config['run']}"
        self.stages = {name: stage(name, config) for name, stage in STAGES.items()}
        self.data = DataPlan(config, [used for each in self.stages.values() for used in each.uses])

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["stages"][name]
        except KeyError:
            raise AttributeError(f"the plan has no stage {name!r}") from None

    def final_outputs(self) -> list[str]:
        """Everything a run leaves for its reader.

        The records are there because Snakemake does not miss one that is gone, say with a run
        that was killed while it fetched, as long as there is something made from it.
        """
        return [
            *self.data.all_records(),
            f"{self.results}/tables/data.md",
            *self.shown(),
            f"{self.results}/tables/claims.md",
            f"{self.results}/report.html",
            f"{self.results}/summary.txt",
        ]

    def shown(self) -> list[str]:
        """List what the stages show, alone and together."""
        alone = [file for stage in self.stages.values() for file in stage.outputs()]
        return [*alone, *self.baselines.race()]

    def tables(self) -> list[str]:
        """List the tables that the screen shows at the end of a run."""
        return [table for stage in self.stages.values() for table in stage.tables()]

    def outcomes(self) -> dict[str, str]:
        """Return the CSVs that hold rows or the reason why there are none, each with its title."""
        return {
            file: title
            for stage in self.stages.values()
            for file, title in stage.outcomes().items()
        }

    def largest_mem_mb(self) -> int:
        """Return the memory that the largest job of the run may take; 0 if there is none."""
        return max((stage.largest_mem_mb() for stage in self.stages.values()), default=0)
