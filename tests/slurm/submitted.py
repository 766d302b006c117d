"""A project that is run on the cluster."""

import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import yaml

from projects import Project

# What profiles/slurm leaves to a real cluster: this one has two cores, and its jobs take seconds.
TEST_OPTIONS = {
    "--cores": "2",
    "--latency-wait": "5",
    "--slurm-init-seconds-before-status-checks": "3",
}
SHARDS = 4
EXPERIMENT = {
    "title": "in shards",
    "dataset": "mine",
    "split": {"scheme": "random", "train": 9000, "test": 1000},
    "components": 3,
    "features": [10, 20],
    "maps": ["fourier"],
    "reg": 1e-3,
    "repeats": 1,
    "shards": SHARDS,
}


class SlurmProject(Project):
    """A project with a dataset of its own, whose one fit is made in four shards."""

    FIT = "results/test/rcca/sharded/fourier-0"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        rng = np.random.default_rng(0)
        x = rng.standard_normal((10_000, 4))
        np.save(self.file("x.npy"), x)
        np.save(self.file("y.npy"), x[:, :3] ** 2 + rng.standard_normal((10_000, 3)))
        settings = yaml.safe_load(self.file("config/test.yaml").read_text(encoding="utf-8"))
        settings["datasets"] = {"mine": {"kind": "npy", "x": "x.npy", "y": "y.npy"}}
        settings["rcca"]["sharded"] = EXPERIMENT
        self.file("both.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    def submit(self, *arguments: str):
        """Start Snakemake with the profile; return its process."""
        options = [part for option in TEST_OPTIONS.items() for part in option]
        profile = ["--workflow-profile", "profiles/slurm", *options]
        return self.start("-m", "snakemake", *arguments, *profile, "--configfile", "both.yaml")

    def local(self, *arguments: str) -> None:
        """Run Snakemake without the cluster."""
        command = ["-m", "snakemake", *arguments, "--configfile", "both.yaml"]
        code, screen = ended(self.start(*command, "--cores", "2"))
        assert code == 0, screen

    def shards(self) -> list[int]:
        """List the shards whose files are there."""
        names = (self.file(f"{self.FIT}.shard-{shard}.npz") for shard in range(SHARDS))
        return [shard for shard, name in enumerate(names) if name.exists()]


def ended(process, seconds=7200):
    """Wait for a process; return its exit code and what was on screen."""
    try:
        screen, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # so that it cancels its jobs
        raise
    return process.returncode, screen


def wait_for(condition, process, seconds=1800):
    """Wait, while a process runs, until a condition gives something, and return that."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found
