"""The workflow on a real SLURM, through profiles/slurm: `make test-slurm`, not `make test`."""

import re
import signal

import pytest
from cluster import command, jobs
from submitted import SHARDS, ended, wait_for

from projects import assert_same_numbers, numbers_of

pytestmark = pytest.mark.slurm


def shard_jobs():
    """Return the job ids of the shards that wait or run, by shard."""
    found = (
        (re.search(r"rule_rcca_shard_wildcards_.*_(\d)$", what), job)
        for job, what in jobs().items()
    )
    return {int(match[1]): job for match, job in found if match}


def running_shards():
    """Return those that run, once one does."""
    states = command("squeue", "--noheader", "--format=%i %T").splitlines()
    begun = {line.split()[0] for line in states if line.endswith("RUNNING")}
    return {shard: job for shard, job in shard_jobs().items() if job in begun}


def assert_fit_is_that_of(reference, project):
    for kind in ("sums", "components"):
        name = f"{project.FIT}.{kind}.csv"
        assert_same_numbers(project.file(name), reference.file(name))


def test_job_over_its_memory_is_killed_and_tried_again_with_more(prepared):
    target = f"{prepared.FIT}.shard-0.npz"
    with prepared.edited("workflow/lib/resources.py", "PROCESSES_MB = 700", "PROCESSES_MB = 250"):
        code, screen = ended(prepared.submit(target))
    assert code == 0, screen
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
    code, screen = ended(prepared.submit(target))
    assert code == 0, screen
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
    code, screen = ended(run)
    assert code == 0, screen
    assert_fit_is_that_of(reference, prepared)


def test_interrupted_run_leaves_no_job_and_continues(prepared, reference):
    target = f"{prepared.FIT}.sums.csv"
    run = prepared.submit(target)
    wait_for(running_shards, run)
    run.send_signal(signal.SIGINT)
    code, _ = ended(run)
    assert code == 1
    assert shard_jobs() == {}
    code, screen = ended(prepared.submit(target))
    assert code == 0, screen
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
    code, screen = ended(prepared.submit(target))
    assert code == 0, screen
    assert_fit_is_that_of(reference, prepared)


def test_whole_run_gives_the_numbers_of_a_local_one(project, reference):
    reference.local()
    code, screen = ended(project.submit())
    assert code == 0, screen
    names = numbers_of(reference)
    assert len(names) > 10
    for name in names:
        assert_same_numbers(project.directory / name, reference.directory / name)
    submitted = re.findall(r"rule_(\w+)/\S*?\d+\.log", screen)
    assert submitted.count("rcca_shard") == SHARDS + 2
    # The small ones went together.
    assert not {"summary", "rcca_report", "gather", "data_table"} & set(submitted)
    assert len(re.findall(r"slurm_logs/group_\w+", screen)) == 1, screen
