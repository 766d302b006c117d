"""The workflow on a real SLURM, through profiles/slurm: `make test-slurm`, not `make test`."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from cluster import UnavailableError, command, jobs, running

from projects import TEST_SETTINGS, Project, assert_same_numbers, changed, numbers_of, wait_for

pytestmark = pytest.mark.slurm

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
        settings = changed(TEST_SETTINGS, "rcca.sharded", EXPERIMENT)
        settings = changed(settings, "bounds.sweeps.tiny.block", 1)
        settings["datasets"] = {"mine": {"kind": "npy", "x": "x.npy", "y": "y.npy"}}
        self.file("both.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    def submit(self, *arguments: str):
        """Start Snakemake with the profile; return its process."""
        options = [part for option in TEST_OPTIONS.items() for part in option]
        profile = ["--workflow-profile", "profiles/slurm", *options]
        return self.start("-m", "snakemake", *arguments, *profile, "--configfile", "both.yaml")

    def local(self, *arguments: str) -> None:
        """Run Snakemake without the cluster."""
        command = ["-m", "snakemake", *arguments, "--configfile", "both.yaml"]
        assert_ends_well(self.start(*command, "--cores", "2"))

    def shards(self) -> list[int]:
        """List the shards whose files are there."""
        names = (self.file(f"{self.FIT}-{shard}.shard.npz") for shard in range(SHARDS))
        return [shard for shard, name in enumerate(names) if name.exists()]


def ended(process, seconds=7200):
    """Wait for a process; return its exit code and what was on screen."""
    try:
        screen, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # so that it cancels its jobs
        raise
    return process.returncode, screen


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Let Snakemake hear Ctrl-C, to which what a shell runs in the background is deaf."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def cluster():
    try:
        with running() as started:
            yield started
    except UnavailableError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """A project in which the fit in shards has been made without the cluster."""
    project = SlurmProject(tmp_path_factory.mktemp("local") / "project")
    project.local(f"{project.FIT}.sums.csv")
    return project


@pytest.fixture
def project(cluster, tmp_path):
    return SlurmProject(tmp_path / "project")


@pytest.fixture
def prepared(project):
    """A project on the cluster whose own dataset is prepared."""
    project.local("data/prepared/mine")
    return project


def shard_jobs():
    """Return the job ids of the shards that wait or run, by shard."""
    found = (
        (re.search(r"rule_rcca_shard_wildcards_.*-(\d)$", what), job)
        for job, what in jobs().items()
    )
    return {int(match[1]): job for match, job in found if match}


def running_shards():
    """Return those that run, once one does."""
    states = command("squeue", "--noheader", "--format=%i %T").splitlines()
    begun = {line.split()[0] for line in states if line.endswith("RUNNING")}
    return {shard: job for shard, job in shard_jobs().items() if job in begun}


def assert_ends_well(process):
    code, screen = ended(process)
    assert code == 0, screen
    return screen


def assert_fit_is_that_of(reference, project):
    for kind in ("sums", "components"):
        name = f"{project.FIT}.{kind}.csv"
        assert_same_numbers(project.file(name), reference.file(name))


def test_job_over_its_memory_is_killed_and_tried_again_with_more(prepared):
    target = f"{prepared.FIT}-0.shard.npz"
    with prepared.edited("workflow/lib/resources.py", "PROCESSES_MB = 700", "PROCESSES_MB = 100"):
        screen = assert_ends_well(prepared.submit(target))
    assert prepared.shards() == [0]
    asked = []
    for job in re.findall(r"SLURM jobid (\d+)", screen):
        described = command("scontrol", "show", "job", job)
        asked.append(int(re.search(r"MinMemoryNode=(\d+)M", described)[1]))
    assert len(asked) > 1
    assert asked[1] == 2 * asked[0]
    logs = prepared.file(".snakemake/slurm_logs/rule_rcca_shard").rglob("*.log")
    assert "exceeded memory limit" in "".join(log.read_text() for log in logs)


def test_cancelled_shard_is_made_by_the_next_run_alone(prepared, reference):
    target = f"{prepared.FIT}.sums.csv"
    first = prepared.submit(target, "--retries", "0")
    command("scancel", wait_for(lambda: shard_jobs().get(2), first))
    code, screen = ended(first)
    assert code == 1
    assert "CANCELLED" in screen
    assert prepared.shards() == [0, 1, 3]
    assert prepared.planned(target, "--configfile", "both.yaml")["rcca_shard"] == 1
    assert_ends_well(prepared.submit(target))
    assert_fit_is_that_of(reference, prepared)
    assert prepared.shards() == []


def test_run_goes_on_when_the_controller_was_stopped_and_started_again(
    cluster, prepared, reference
):
    run = prepared.submit(f"{prepared.FIT}.sums.csv")
    wait_for(running_shards, run)
    cluster.interrupt_controller()
    with pytest.raises(Exception, match="squeue"):
        jobs()
    cluster.start_controller()
    assert_ends_well(run)
    assert_fit_is_that_of(reference, prepared)


def test_interrupted_run_leaves_no_job_and_continues(prepared, reference):
    target = f"{prepared.FIT}.sums.csv"
    run = prepared.submit(target)
    wait_for(running_shards, run)
    run.send_signal(signal.SIGINT)
    code, _ = ended(run)
    assert code == 1
    assert shard_jobs() == {}
    assert_ends_well(prepared.submit(target))
    assert_fit_is_that_of(reference, prepared)


def test_killed_run_continues_once_its_jobs_are_cancelled(prepared, reference):
    """The way that docs/cluster.md gives."""
    target = f"{prepared.FIT}.sums.csv"
    run = prepared.submit(target)
    wait_for(running_shards, run)
    run.kill()
    _, screen = ended(run)
    assert shard_jobs()
    command("scancel", f"--name={re.search(r'SLURM run ID: (.+)', screen)[1]}")
    prepared.local("--unlock")
    assert_ends_well(prepared.submit(target))
    assert_fit_is_that_of(reference, prepared)


def test_snakemake_itself_runs_as_a_job(prepared, reference):
    """Its own node is the one that there is, of which it leaves a core to the jobs."""
    options = [part for option in (TEST_OPTIONS | {"--cores": "1"}).items() for part in option]
    environment = prepared.environment | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    }
    target = f"{prepared.FIT}.sums.csv"
    submit = ["sbatch", "--wait", "--mem=500", "--time=60", "--output=head.log"]
    head = [*submit, "profiles/slurm/head.sh", target, *options, "--configfile", "both.yaml"]
    done = subprocess.run(head, cwd=prepared.directory, env=environment, timeout=3600, check=False)
    assert done.returncode == 0, prepared.file("head.log").read_text()
    assert_fit_is_that_of(reference, prepared)


def test_whole_run_gives_the_numbers_of_a_local_one(project, reference):
    reference.local()
    screen = assert_ends_well(project.submit())
    names = numbers_of(reference)
    assert len(names) > 10
    for name in names:
        assert_same_numbers(project.directory / name, reference.directory / name)
    submitted = re.findall(r"rule_(\w+)/\S*?\d+\.log", screen)
    assert submitted.count("rcca_shard") == SHARDS + 2
    # A sweep went as one array, the small ones together.
    assert len(set(re.findall(r"rule_bounds_sweep/\S*?(\d+)_\d+\.log", screen))) == 1, screen
    assert not {"summary", "rcca_report", "data_table"} & set(submitted)
    assert len(re.findall(r"slurm_logs/group_\w+", screen)) == 1, screen
