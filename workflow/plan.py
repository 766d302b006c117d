"""What a run makes, from its checked settings: file names, and the settings of each job."""

from typing import Any

PREPARED = "data/prepared"


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

    def final_outputs(self) -> list[str]:
        """Everything a run leaves for its reader."""
        return [
            f"{self.results}/tables/rcca.md",
            f"{self.results}/figures/rcca.svg",
            f"{self.results}/summary.txt",
        ]

    def rcca_titles(self) -> dict[str, str]:
        """Return what tables and figures call each experiment."""
        return {name: experiment["title"] for name, experiment in self.config["rcca"].items()}

    def rcca_sums(self) -> list[str]:
        """List the CSVs of all fits, in the order of the settings."""
        return [
            f"{self.results}/rcca/{name}/{feature_map}-{repeat}.sums.csv"
            for name, experiment in self.config["rcca"].items()
            for feature_map in experiment["maps"]
            for repeat in range(experiment["repeats"])
        ]

    def rcca_data(self, wildcards: Any) -> str:
        """Return the prepared dataset of an experiment."""
        return f"{PREPARED}/{self.config['rcca'][wildcards.experiment]['dataset']}"

    def rcca_shard_count(self, wildcards: Any) -> int:
        """Return into how many jobs the pass of a fit is split."""
        return int(self.config["rcca"][wildcards.experiment]["shards"])

    def rcca_shards(self, wildcards: Any) -> list[str]:
        """List the shards to merge; none if the fit makes its pass itself."""
        count = self.rcca_shard_count(wildcards)
        fit = f"{wildcards.feature_map}-{wildcards.repeat}"
        stem = f"{self.results}/rcca/{wildcards.experiment}/{fit}"
        return [f"{stem}.shard-{shard}.npz" for shard in range(count)] if count > 1 else []

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
