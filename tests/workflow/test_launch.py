"""The launcher against real Snakemake runs that are killed, doubled and interrupted."""

import os
import platform
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import psutil
import pytest

from workflow import launch

LAUNCHER = Path(__file__).parents[2] / "workflow" / "launch.py"
MARK = "RNCA_RUN_ID"
SNAKEMAKE = [sys.executable, "-m", "snakemake"]

# `second` beats into a file until it is told to end, so that an orphan is seen to write.
SNAKEFILE = """
configfile: "config/config.yaml"

rule all:
    input: "first.txt", "second.txt"

rule first:
    output: "first.txt"
    shell: "echo first >> runs.txt; touch {output}"

rule second:
    input: "first.txt"
    output: "second.txt"
    shell:
        "echo second >> runs.txt; "
        "until [ -e go ]; do date >> beats.txt; sleep 0.1; done; touch {output}"
"""


def heed_signals() -> None:
    """Undo what nohup and background jobs of a shell leave to their children: deaf ears."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Toy:
    """A small workflow in a directory of its own, and everything started in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.started: list[subprocess.Popen[str]] = []
        for path, text in {
            "Snakefile": SNAKEFILE,
            "config/config.yaml": "run: default\n",
            "profiles/default/config.yaml": "cores: 1\nrerun-incomplete: true\nquiet: [rules]\n",
            "results/default/summary.txt": "the headline\n",
            "results/other/summary.txt": "another headline\n",
        }.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)

    def start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,
        )
        self.started.append(process)
        return process

    def launch(self, *arguments: str) -> subprocess.Popen[str]:
        return self.start(sys.executable, str(LAUNCHER), *arguments)

    def launch_to_end(self, *arguments: str) -> tuple[int, str, str]:
        process = self.launch(*arguments)
        out, err = process.communicate(timeout=180)
        return process.returncode, out, err

    def beats(self) -> int:
        beats = self.directory / "beats.txt"
        return beats.stat().st_size if beats.exists() else 0

    def wait_until_beating(self) -> None:
        before, deadline = self.beats(), time.monotonic() + 30
        while self.beats() == before:
            assert time.monotonic() < deadline, "the job did not start"
            time.sleep(0.05)

    def is_still(self) -> bool:
        before = self.beats()
        time.sleep(0.4)
        return self.beats() == before

    def let_go(self) -> None:
        (self.directory / "go").touch()

    def runs(self) -> list[str]:
        return (self.directory / "runs.txt").read_text().split()

    def snakemake_of(self, launcher: subprocess.Popen[str]) -> psutil.Process:
        (child,) = psutil.Process(launcher.pid).children()
        return child

    def stop(self) -> None:
        self.let_go()
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "a b").mkdir()
    toy = Toy(tmp_path / "a b")
    yield toy
    toy.stop()


def test_killed_run_continues_and_its_orphan_ends(toy):
    launcher = toy.launch()
    toy.wait_until_beating()
    snakemake = toy.snakemake_of(launcher)
    orphan = snakemake.children()[0]
    snakemake.kill()
    launcher.kill()
    launcher.wait()
    toy.wait_until_beating()
    assert MARK in orphan.environ()

    again = toy.launch()
    assert "left-over processes ended" in again.stderr.readline()
    assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
    toy.let_go()
    out, _ = again.communicate(timeout=180)
    assert again.returncode == 0
    assert out == "\nthe headline\n\nReport: results/default/report.html\n"
    assert toy.runs() == ["first", "second", "second"]


def test_killed_snakemake_leaves_nothing_behind(toy):
    launcher = toy.launch()
    toy.wait_until_beating()
    toy.snakemake_of(launcher).kill()
    _, err = launcher.communicate(timeout=180)
    assert launcher.returncode == 128 + signal.SIGKILL
    assert "The same command continues" in err
    assert toy.is_still()
    toy.let_go()
    assert toy.launch_to_end()[0] == 0


def test_snakemake_that_outlives_its_launcher_keeps_the_directory(toy):
    launcher = toy.launch()
    toy.wait_until_beating()
    snakemake = toy.snakemake_of(launcher)
    launcher.kill()
    launcher.wait()
    code, _, err = toy.launch_to_end()
    assert code == 1
    assert f"process {snakemake.pid}, since" in err
    toy.wait_until_beating()


def test_second_of_two_at_once_names_the_first(toy):
    pair = [toy.launch(), toy.launch()]
    deadline = time.monotonic() + 30
    while all(process.poll() is None for process in pair):
        assert time.monotonic() < deadline, "both hold the directory"
        time.sleep(0.05)
    (loser,) = (process for process in pair if process.poll() is not None)
    (winner,) = (process for process in pair if process is not loser)
    assert loser.returncode == 1
    assert "is in use by another run" in loser.stderr.read()

    toy.wait_until_beating()
    code, _, err = toy.launch_to_end()
    assert code == 1
    assert f"process {winner.pid}, since" in err
    toy.let_go()
    assert winner.wait(timeout=180) == 0
    assert toy.runs() == ["first", "second"]


def test_lock_of_plain_snakemake_is_respected_alive_and_dead(toy):
    plain = toy.start(*SNAKEMAKE)
    toy.wait_until_beating()
    code, _, err = toy.launch_to_end()
    assert code == 1
    assert f"process {plain.pid}, since" in err

    plain.kill()
    plain.wait()
    toy.let_go()
    code, _, err = toy.launch_to_end()
    assert code == 1
    unlock = err.splitlines()[-1].partition("unlock it: ")[2]
    subprocess.run(unlock, shell=True, check=True, capture_output=True, cwd=toy.directory)
    assert toy.launch_to_end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_interrupt_stops_the_jobs_and_leaves_no_lock(toy, number):
    launcher = toy.launch()
    toy.wait_until_beating()
    os.kill(launcher.pid, number)
    launcher.communicate(timeout=180)
    assert launcher.returncode == 1
    assert toy.is_still()
    assert not list(toy.directory.glob(".snakemake/locks/*"))


def test_termination_lets_the_current_job_finish(toy):
    launcher = toy.launch()
    toy.wait_until_beating()
    launcher.terminate()
    toy.wait_until_beating()
    toy.let_go()
    launcher.communicate(timeout=180)
    assert (toy.directory / "second.txt").exists()


def test_summary_is_that_of_the_run_named_last(toy):
    toy.let_go()
    (toy.directory / "other.yaml").write_text("run: other\n")
    _, out, _ = toy.launch_to_end("--configfile", "config/config.yaml", "other.yaml")
    assert out.startswith("\nanother headline\n")
    _, out, _ = toy.launch_to_end("--configfile", "other.yaml", "--config", "run=default")
    assert out.startswith("\nthe headline\n")


def test_old_summary_is_not_shown_for_a_part_of_the_run(toy):
    code, out, _ = toy.launch_to_end("first.txt", "--configfile=config/config.yaml")
    assert code == 0
    assert out == ""
    code, out, _ = toy.launch_to_end("--until", "first")
    assert code == 0
    assert out == ""


def test_summary_made_by_the_run_is_shown_whatever_its_target(toy):
    rule = """
rule summary:
    output: "results/default/summary.txt"
    shell: "echo new headline > {output}"
"""
    (toy.directory / "Snakefile").write_text(SNAKEFILE + rule)
    _, out, _ = toy.launch_to_end("summary", "--forcerun", "summary")
    assert out.startswith("\nnew headline\n")


def test_holder_that_cannot_be_seen_is_told_of_in_a_sentence():
    ended = {"run_id": "of no process", "host": platform.node(), "pid": 2**30, "started": 0.0}
    assert launch.describe_holder(ended).startswith("its processes are just ending")


def test_config_file_that_is_not_there_is_named_in_a_line(toy):
    code, out, err = toy.launch_to_end("--configfile", "config/confg.yaml")
    assert code == 1
    assert "--configfile config/confg.yaml: there is no such file under" in out + err
    assert "Traceback" not in out + err


def test_dry_run_prints_no_summary(toy):
    code, out, _ = toy.launch_to_end("-np")
    assert code == 0
    assert "headline" not in out
    assert not (toy.directory / "first.txt").exists()


def test_exit_code_of_snakemake_is_passed_on(toy):
    code, out, err = toy.launch_to_end("no-such-target")
    assert code == 1
    assert out == ""
    assert "MissingRuleException" in err
    assert "The same command continues where this run stopped" in err.splitlines()[-1]


MEMORY_SNAKEFILE = """
rule all:
    input: "memory.txt"

rule memory:
    output: "memory.txt"
    resources: mem_mb=10**9
    shell: "echo {resources.mem_mb} > {output}"
"""


@pytest.mark.parametrize("given", [(), ("--resources", "mem_mb=123")])
def test_no_job_is_promised_more_memory_than_there_is(toy, given):
    (toy.directory / "Snakefile").write_text(MEMORY_SNAKEFILE)
    assert toy.launch_to_end("memory.txt", *given)[0] == 0
    promised = int((toy.directory / "memory.txt").read_text())
    assert promised == (123 if given else psutil.virtual_memory().total // 10**6)


def test_scripts_run_by_an_environment_in_a_directory_with_a_space(tmp_path):
    """Snakemake does not quote the interpreter's path when it runs a script."""
    place = tmp_path / "a b"
    venv.create(place / "venv", symlinks=True)
    installed = [path for path in sys.path if path.endswith("site-packages")]
    (site,) = (place / "venv").glob("lib/python*/site-packages")
    (site / "outer.pth").write_text("\n".join(installed))
    (place / "Snakefile").write_text('rule all:\n    output: "made.txt"\n    script: "make.py"\n')
    (place / "config").mkdir()
    (place / "config" / "config.yaml").write_text("run: toy")
    (place / "results" / "toy").mkdir(parents=True)
    (place / "make.py").write_text('open(snakemake.output[0], "w").write("made")')
    python = place / "venv" / "bin" / "python"
    done = subprocess.run(
        [python, LAUNCHER, "--cores", "1"], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (place / "made.txt").read_text() == "made"
