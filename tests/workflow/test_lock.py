"""`make run`: runs that are killed, doubled and interrupted, and settings it refuses to read."""

import os
import platform
import re
import signal
import subprocess
import sys
import time
import venv
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from snakemake.exceptions import WorkflowError

from projects import ROOT, Project, wait_for, write_record_of
from workflow import run
from workflow.lib import lock
from workflow.lib.checks import check_times, close

RUN = ["-m", "workflow.run"]
# `second` beats into a file, as a job that follows its run, until it may end.
SNAKEFILE = f"""
configfile: "config/config.yaml"

rule all:
    input: "first.txt", "second.txt"

rule first:
    output: "first.txt"
    shell: "echo first >> runs.txt; touch {{output}}"

rule second:
    input: "first.txt"
    output: "second.txt"
    shell: "echo second >> runs.txt; '{sys.executable}' beat.py; touch {{output}}"
"""
BEAT = """
import os, pathlib, time
from workflow.lib.lock import follow
follow()
while not os.path.exists("go"):
    with open("beats.txt", "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.1)
"""


class Toy(Project):
    """A small workflow in a directory of its own, and everything started in it."""

    def __init__(self, directory):
        self.directory = directory
        self.started = []
        self.environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.options = {"start_new_session": True}  # as a terminal's foreground group
        for path, text in {
            "Snakefile": SNAKEFILE,
            "beat.py": BEAT,
            "config/config.yaml": "run: default\n",
            "profiles/default/config.yaml": "cores: 1\nrerun-incomplete: true\nquiet: [rules]\n",
        }.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, encoding="utf-8")

    def start(self, *command, **variables):
        process = super().start(*command, **variables)
        self.started.append(process)
        return process

    def start_until_beating(self, *command):
        """Start a run; return it and the process of its second job once that is at work."""
        process = self.start(*(command or RUN))
        return process, psutil.Process(self.next_beat(process))

    def next_beat(self, process):
        """Wait for a beat; return the process id of the job."""
        beats = self.file("beats.txt")
        before = beats.stat().st_size if beats.exists() else 0
        wait_for(lambda: beats.exists() and beats.stat().st_size > before, process, seconds=120)
        return int(beats.read_text().split()[-1])

    def let_go(self):
        self.file("go").touch()

    def runs(self):
        return self.file("runs.txt").read_text().split()

    def locks(self):
        return [*self.directory.glob(".snakemake/locks/*.lock")]


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "a b").mkdir()
    toy = Toy(tmp_path / "a b")
    yield toy
    toy.let_go()
    for process in toy.started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def has_ended(process):
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_ZOMBIE
    return True


def test_killed_run_continues_when_its_job_has_ended(toy):
    process, job = toy.start_until_beating()
    process.kill()
    process.communicate()
    again, anew = toy.start_until_beating()
    assert has_ended(job)
    assert anew.pid != job.pid
    toy.let_go()
    screen, _ = again.communicate(timeout=180)
    assert again.returncode == 0
    assert "The last run was killed: continuing it." in screen
    assert toy.runs() == ["first", "second", "second"]
    assert "The last run" not in toy.ends()


def test_job_whose_run_is_killed_ends_by_itself(toy):
    process, job = toy.start_until_beating()
    process.kill()
    wait_for(lambda: has_ended(job), seconds=60)


def test_job_goes_on_while_its_run_lives_and_without_one(toy):
    process, job = toy.start_until_beating()
    time.sleep(4 * lock.POLL_SECONDS)
    assert toy.next_beat(process) == job.pid
    toy.let_go()
    assert process.wait(timeout=180) == 0
    toy.file("second.txt").unlink()
    toy.file("go").unlink()
    plain, job = toy.start_until_beating("-m", "snakemake")
    time.sleep(4 * lock.POLL_SECONDS)
    assert toy.next_beat(plain) == job.pid


def test_second_of_two_at_once_names_the_first_and_a_copy_leaves_it_alone(toy, tmp_path):
    pair = [toy.start(*RUN), toy.start(*RUN)]
    wait_for(lambda: any(process.poll() is not None for process in pair), seconds=120)
    winner, loser = sorted(pair, key=lambda process: process.poll() is not None)
    assert loser.returncode == 1
    assert f"in use by another run: process {winner.pid} on {lock.HOST}." in loser.stdout.read()

    job = toy.next_beat(winner)
    assert "Directory cannot be locked" in toy.run("-m", "snakemake")[1]
    copy = Toy(tmp_path / "copy")
    (copy.directory / ".snakemake").mkdir()
    copy.file(str(lock.RUN)).write_text(toy.file(str(lock.RUN)).read_text())
    copy.let_go()
    assert "continuing it" in copy.ends()
    assert toy.next_beat(winner) == job
    toy.let_go()
    assert winner.wait(timeout=180) == 0
    assert toy.runs() == ["first", "second"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_signal_stops_a_run_and_the_same_command_continues(toy, number):
    """Ctrl-C and a closed terminal reach its jobs, too; a termination waits for them."""
    process, job = toy.start_until_beating()
    if number == signal.SIGTERM:
        process.terminate()
        assert toy.next_beat(process) == job.pid
        toy.let_go()
    else:
        os.killpg(process.pid, number)
    process.communicate(timeout=180)
    wait_for(lambda: has_ended(job), seconds=60)
    assert toy.file("second.txt").exists() == (number == signal.SIGTERM)
    if number != signal.SIGHUP:
        assert not toy.locks()
    toy.let_go()
    toy.ends()


def test_lock_of_plain_snakemake_is_respected(toy, tmp_path):
    plain, _ = toy.start_until_beating("-m", "snakemake")
    assert "--unlock" in toy.fails()
    assert toy.locks()
    run.remove_snakemakes_lock(toy.directory)
    assert toy.locks()
    plain.kill()
    plain.wait()
    assert "--unlock" in toy.fails()
    toy.let_go()
    wait_for(lambda: not run.remove_snakemakes_lock(toy.directory) and not toy.locks())
    toy.ends()


@pytest.mark.parametrize("text", ["elsewhere 1 2", "\0", " "])
def test_killed_run_of_another_host_or_unknown_is_refused(tmp_path, text):
    (tmp_path / ".snakemake").mkdir()
    (tmp_path / lock.RUN).write_text(text)
    with pytest.raises(SystemExit, match=r"remove .*rnca-run\.lock"), lock.held(tmp_path):
        pass
    assert (tmp_path / lock.RUN).read_text() == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such file of settings under"),
        ('__use_yte__: true\n?open("ran", "w"): 1\n', "__use_yte__: settings are values"),
    ],
    ids=["missing", "template"],
)
def test_missing_file_and_one_that_would_run_code_are_refused_before_anything_runs(
    tmp_path, monkeypatch, text, words
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["run", "--configfile", "mine.yaml"])
    monkeypatch.setattr(run, "snakemake", None)
    if text is not None:
        Path("mine.yaml").write_text(text)
    with pytest.raises(SystemExit, match=rf"^mine\.yaml: {words}"):
        run.main()
    assert not Path("ran").exists()


# Other file systems than Linux's in memory do not take every date.
@pytest.mark.parametrize("date", [2**32, 2**45] if platform.system() == "Linux" else [2**32])
def test_file_of_the_future_is_named_with_the_remedy(tmp_path, monkeypatch, date):
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    Path("results", "summary.txt").touch()
    os.utime("results/summary.txt", (date, date))
    with pytest.raises(WorkflowError, match=r"results/summary.txt: its time lies ") as refused:
        check_times()
    remedy = str(refused.value).partition("present time: ")[2]
    subprocess.run(remedy, shell=True, check=False, capture_output=True)
    check_times()


@pytest.mark.parametrize(
    ("dag", "started", "is_shown"),
    [
        ({}, 1e12, True),
        ({"targets": ["first.txt"]}, 1e12, False),
        ({"until": ["first"]}, 1e12, False),
        ({"targets": ["summary"]}, 0.0, True),
    ],
)
def test_old_summary_is_not_shown_for_a_part_of_the_run(
    tmp_path, monkeypatch, capsys, dag, started, is_shown
):
    monkeypatch.chdir(tmp_path)
    for name in ("summary.txt", "report.html"):
        path = Path("results", "default", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the headline: 1.0 ± 0.5\n", encoding="utf-8")
        write_record_of(path)
    usual = {"targets": [], "until": [], "omit_from": []}
    close(SimpleNamespace(**usual | dag), "results/default", started)
    assert ("the headline: 1.0 ± 0.5\n" in capsys.readouterr().out) == is_shown


def test_environment_in_a_directory_with_a_space(project):
    """Snakemake does not quote its interpreter's path. Memory is limited to the machine's."""
    venv.create(project.file("venv"), symlinks=True)
    installed = [path for path in sys.path if path.endswith("site-packages")]
    (site,) = project.directory.glob("venv/lib/python*/site-packages")
    (site / "outer.pth").write_text("\n".join(installed))
    for module, name in (("workflow.run", "digits"), ("snakemake", "patches")):
        done = subprocess.run(
            [project.file("venv/bin/python"), "-m", module, f"data/prepared/{name}"],
            cwd=project.directory,
            env=project.environment | {"VERBOSE": "1", "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert project.file(f"data/prepared/{name}").exists()
        limit = psutil.virtual_memory().total // 10**6
        assert re.search(rf"Provided resources: mem_mb=\D*{limit}\b", done.stderr)
