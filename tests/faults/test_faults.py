"""Runs that are killed, starved of room and damaged come to the numbers of an undisturbed one.

`make test-faults`, not `make test`. At its end it prints a table of what was tried and survived.
"""

import ctypes
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager, suppress

import psutil
import pytest
import yaml

from projects import TEST_SETTINGS, Project, assert_same_numbers, numbers_of
from workflow.lib.exhibits import stage_names

pytestmark = pytest.mark.faults

# In seconds, for one run: on a machine that is at work on other things, a minute becomes an hour.
PATIENCE = 12 * 3600
CONTINUES = "The same command continues where this run stopped"


class HarmedProject(Project):
    """A project whose runs are compared with one that nothing disturbed."""

    config = "config/test.yaml"

    def started(self, *arguments):
        """Start a run of its settings whose screen goes to a file."""
        with self.file("screen.txt").open("w", encoding="utf-8") as stream:
            self.options["stdout"] = stream
            return self.start("-m", "workflow.run", *arguments, "--configfile", self.config)

    def ended(self, process):
        """Wait for a run; return its exit code and what was on screen."""
        return process.wait(timeout=PATIENCE), self.file("screen.txt").read_text(encoding="utf-8")

    def call(self, *arguments):
        began = time.monotonic()
        found = self.ended(self.started(*arguments))
        self.seconds = time.monotonic() - began
        return found

    def finish(self, reference):
        """Run to the end that an undisturbed run comes to."""
        code, screen = self.call()
        assert code == 0, screen
        assert "All that these settings ask for was run." in screen
        assert numbers_of(self) == numbers_of(reference)
        self.assert_no_wrong_number(reference)

    def assert_no_wrong_number(self, reference, place=""):
        for name in numbers_of(self):
            if place in ("", name.parent.name):
                assert_same_numbers(self.directory / name, reference.directory / name)


@pytest.fixture(scope="session")
def trying(request):
    """Count how many faults of each kind are tried, and how many the run survives."""
    tried, survived = Counter(), Counter()

    @contextmanager
    def trying(fault, times=1):
        tried[fault] += times
        yield
        survived[fault] += times

    yield trying
    plugins = request.config.pluginmanager
    screen = plugins.get_plugin("terminalreporter")
    with plugins.get_plugin("capturemanager").global_and_fixture_disabled():
        screen.write_line(f"\n{'fault':<50} {'tried':>6} {'survived':>9} {'failed':>7}")
        for fault, count in tried.items():
            failed = count - survived[fault]
            screen.write_line(f"{fault:<50} {count:>6} {survived[fault]:>9} {failed:>7}")


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    project = HarmedProject(tmp_path_factory.mktemp("undisturbed") / "project")
    code, screen = project.call()
    assert code == 0, screen
    return project


@pytest.fixture
def project(tmp_path):
    return HarmedProject(tmp_path / "project")


@pytest.fixture
def finished(reference, project):
    """A copy of the undisturbed run, with the times of its files."""
    for name in ("data", "results", ".snakemake"):
        shutil.copytree(reference.file(name), project.file(name), symlinks=True)
    return project


# kill -9 at random moments

KILLS = int(os.environ.get("RNCA_KILLS", "30"))
SEED = int(os.environ.get("RNCA_FAULT_SEED", "0"))
LONGEST_WAIT = 1 / 3  # as a share of an undisturbed run
# Fits, a timing, deep CCA in epochs, and the report.
KILLED = {key: value for key, value in TEST_SETTINGS.items() if key not in stage_names()}
KILLED["rcca"] = {"digits": TEST_SETTINGS["rcca"]["digits"]}
RUN, JOB, ALL = "the run", "a job", "the run and its jobs"


def family(run, kind):
    """List the processes of a run that a kind of kill hits, as far as they are there."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(run.pid)
        others = first.children(recursive=True)
        jobs = [each for each in others if ".snakemake/scripts" in " ".join(each.cmdline())]
        one = random.Random(len(jobs)).sample(jobs, min(1, len(jobs)))
        return {RUN: [first], JOB: one, ALL: [first, *others]}[kind]
    return []


def kill_at(project, moment, kind):
    """Start a run and kill at a moment; return whether that hit, the exit code and the screen."""
    process = project.started()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=moment)
    hit = family(process, kind) if process.poll() is None else []
    for each in hit:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    return bool(hit), *project.ended(process)


def assert_goes_on(kind, code, screen):
    """Assert that whoever outlives a kill says how to go on; a job may have ended just before."""
    if kind == JOB:
        assert code == 0 or CONTINUES in screen, screen
    else:
        assert code == -signal.SIGKILL
    assert kind == JOB or "Traceback" not in screen, screen  # a job's is Snakemake's


def test_killed_runs_come_to_the_numbers_of_an_undisturbed_one(project, tmp_path, trying):
    reference = HarmedProject(tmp_path / "undisturbed")
    for each in (project, reference):
        each.config = "killed.yaml"
        each.file(each.config).write_text(yaml.safe_dump(KILLED), encoding="utf-8")
    code, screen = reference.call()
    assert code == 0, screen
    rng = random.Random(SEED)
    done = 0
    while done < KILLS:
        kind, moment = rng.choice([RUN, JOB, ALL]), rng.uniform(0, LONGEST_WAIT * reference.seconds)
        hit, code, screen = kill_at(project, moment, kind)
        if hit:
            done += 1
            with trying(f"kill -9 of {kind}"):
                assert_goes_on(kind, code, screen)
        else:  # it came to its end before
            assert code == 0, screen
            with trying("calls after kills, to the end"):
                project.finish(reference)
            for name in ("data", "results"):
                shutil.rmtree(project.file(name))
    with trying("calls after kills, to the end"):
        project.finish(reference)


# Disks that are full, and directories that may not be written to

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of linux/prctl.h, linux/capability.h
# Less than the first file of any stage; then more and more of what a run writes.
SIZES = [4096, 65536, 524_288, 4_194_304]


@contextmanager
def small_disk(place, size):
    """Mount a file system of some bytes, and give a function that makes it larger."""

    def mount(*options):
        subprocess.run(["mount", *options, str(place)], check=True)

    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs")
    try:
        yield lambda more: mount("-o", f"remount,size={more}")
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def assert_fails(project, reference, cause):
    """Assert that a run fails by one cause, which it names with the way on."""
    code, screen = project.call()
    assert code != 0
    project.assert_no_wrong_number(reference)
    failed = re.findall(r"^(\w+) failed: (.+)$", screen, flags=re.MULTILINE)
    assert [found for _, found in failed if cause not in found] == [], screen
    assert cause in screen, screen
    assert CONTINUES in screen


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small file system")
@pytest.mark.parametrize("place", ["data", "results"])
def test_full_disk(project, reference, trying, place):
    with small_disk(project.file(place), SIZES[0]) as enlarge:
        for size in SIZES:
            enlarge(size)
            with trying(f"disk full, {place}"):
                assert_fails(project, reference, "No space left on device")
        enlarge(2**30)
        project.finish(reference)


def test_files_that_may_not_grow(project, reference, trying):
    for size in SIZES[1:3]:
        with trying("no file may grow beyond a size"):
            project.options["preexec_fn"] = lambda size=size: resource.setrlimit(
                resource.RLIMIT_FSIZE, (size, size)
            )
            assert_fails(project, reference, "File too large")
    del project.options["preexec_fn"]
    project.finish(reference)


def obedient():
    """Take from root the right to write where no one may (a capability is lost at exec)."""
    dropped = ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
    assert os.geteuid() != 0 or dropped == 0


@pytest.mark.parametrize("place", ["data", "results"])
def test_directory_that_may_not_be_written_to(project, reference, trying, place):
    locked = project.file(place)
    locked.mkdir()
    locked.chmod(0o555)
    project.options["preexec_fn"] = obedient
    with trying(f"read-only directory, {place}"):
        assert_fails(project, reference, "Permission denied")
        locked.chmod(0o755)
        project.finish(reference)


# Files that are damaged between two calls

SPEECH = "results/test/rcca/speech/nystroem-0"
RNG = random.Random(0)


def flip(file):
    """Change one bit: of a digit after a table's head, or in the middle; tell if there was any."""
    content = bytearray(file.read_bytes())
    places = [len(content) // 2]  # an array's, not what a zip file says of times and systems
    if file.suffix == ".csv":
        head = content.find(b"\n")
        places = [i for i in range(head + 1, len(content)) if content[i : i + 1].isdigit()]
    if places:
        content[RNG.choice(places)] ^= 1
        file.write_bytes(content)
    return bool(places)


def cut(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * 2 // 3])
    return True


def harm_all(harm, files):
    harmed = [file for file in sorted(files) if harm(file)]
    assert harmed
    return harmed


@pytest.mark.parametrize("harm", [flip, cut])
def test_damaged_prepared_data(finished, reference, trying, harm):
    harmed = harm_all(harm, finished.file("data/prepared").glob("*/[xyi]*.npy"))
    shutil.rmtree(finished.file("results"))
    with trying(f"prepared array, {harm.__name__}", times=len(harmed)):
        code, screen = finished.call()
        assert code != 0
        finished.assert_no_wrong_number(reference)
        named = set(re.findall(r"Delete the directory (data/prepared/\S+) and run again", screen))
        assert {finished.file(name) for name in named} == {file.parent for file in harmed}
        for name in named:
            shutil.rmtree(finished.file(name))
        finished.finish(reference)


@pytest.mark.parametrize("harm", [flip, cut])
def test_damaged_shards(finished, reference, trying, harm):
    for file in finished.directory.glob(f"{SPEECH}.*"):
        file.unlink()
    shards = [f"{SPEECH}-{number}.shard.npz" for number in range(2)]
    code, screen = finished.call(*shards, "--notemp")
    assert code == 0, screen
    with trying(f"shard, {harm.__name__}", times=len(shards)):
        harm_all(harm, map(finished.file, shards))
        finished.finish(reference)
        log = finished.file("results/test/logs/rcca/speech/nystroem-0.fit.log")
        told = log.read_text(encoding="utf-8")
        assert told.count("are gone through again") == len(shards)


@pytest.mark.parametrize("harm", [flip, cut])
def test_damaged_csvs(finished, reference, trying, harm):
    """All of a run's at once; deleting what is named leads back to tables that are right."""
    results, named = finished.file("results/test"), set()
    csvs = (file for name in stage_names() for file in (results / name).rglob("*.csv"))
    harmed = harm_all(harm, csvs)
    with trying(f"CSV, {harm.__name__}", times=len(harmed)):
        code, screen = finished.call()
        while code != 0:
            finished.assert_no_wrong_number(reference, "tables")
            found = set(re.findall(r"Delete (results/\S+\.csv) and run again", screen))
            assert found, screen
            for name in found:
                finished.file(name).unlink(missing_ok=True)
            named |= found
            code, screen = finished.call()
        assert named
        finished.assert_no_wrong_number(reference, "tables")
