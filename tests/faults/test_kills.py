"""kill -9 at random moments: the next calls come to the numbers of an undisturbed run."""

import os
import random
import shutil
import signal
import time
from contextlib import suppress

import psutil
import pytest
from harmed import CONFIG, PATIENCE

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("RNCA_KILLS", "30"))
SEED = int(os.environ.get("RNCA_FAULT_SEED", "0"))
LONGEST_WAIT = 1 / 3  # as a share of an undisturbed run
LAUNCHER, SNAKEMAKE, JOB = "the launcher", "Snakemake", "a job"
KINDS = [LAUNCHER, SNAKEMAKE, JOB, "both controllers", "all processes"]


def family(launcher, kind):
    """List the processes of a run that a kind of kill hits, as far as they are there."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(launcher.pid)
        controllers, all_others = first.children(), first.children(recursive=True)
        jobs = [each for each in all_others if ".snakemake/scripts" in " ".join(each.cmdline())]
        return {
            LAUNCHER: [first],
            SNAKEMAKE: controllers,
            JOB: random.Random(len(jobs)).sample(jobs, min(1, len(jobs))),
            "both controllers": [first, *controllers],
            "all processes": [first, *all_others],
        }[kind]
    return []


def kill(launcher, kind):
    """Kill, and return whether there was anything to kill."""
    if launcher.poll() is not None or not (hit := family(launcher, kind)):
        return False
    for process in hit:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return True


def orphans(project):
    """List the Snakemakes that work in a project."""
    found = psutil.process_iter(["cwd", "cmdline"])
    return [
        each
        for each in found
        if each.info["cwd"] == str(project.directory)
        and "snakemake" in (each.info["cmdline"] or [])
    ]


def wait_for_orphans(project):
    deadline = time.monotonic() + PATIENCE
    while orphans(project):
        assert time.monotonic() < deadline
        time.sleep(0.5)


def launch(project):
    """Start the launcher, once a Snakemake that outlived an earlier one has ended."""
    wait_for_orphans(project)
    stream = project.file("screen.txt").open("w", encoding="utf-8")
    with stream:
        project.options["stdout"] = stream
        return project.start("-m", "workflow.launch", *CONFIG)


def kill_at(project, moment, kind):
    """Start a run and kill at a moment; return whether that hit, the exit code and the screen."""
    process = launch(project)
    until = time.monotonic() + moment
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    hit = kill(process, kind)
    code = process.wait(timeout=PATIENCE)
    return hit, code, project.file("screen.txt").read_text(encoding="utf-8")


def assert_said(kind, code, screen):
    """Assert that whoever outlives a kill says how to go on; a job may have ended just before."""
    if kind in (SNAKEMAKE, JOB):
        assert code == 0 or "The same command continues where this run stopped" in screen, screen
    else:
        assert code == -signal.SIGKILL
    assert kind == JOB or "Traceback" not in screen, screen  # a job's is Snakemake's


def test_killed_runs_come_to_the_numbers_of_an_undisturbed_one(project, reference, tally):
    rng = random.Random(SEED)
    done = 0
    while done < KILLS:
        kind, moment = rng.choice(KINDS), rng.uniform(0, LONGEST_WAIT * reference.seconds)
        hit, code, screen = kill_at(project, moment, kind)
        if hit:
            done += 1
            with tally.trying(f"kill -9 of {kind}"):
                assert_said(kind, code, screen)
        else:  # it came to its end before
            assert code == 0, screen
            with tally.trying("calls after kills, to the end"):
                project.finish(reference)
            for name in ("data", "results"):
                shutil.rmtree(project.file(name))
    wait_for_orphans(project)
    with tally.trying("calls after kills, to the end"):
        project.finish(reference)
