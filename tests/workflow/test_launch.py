"""The launcher against real Snakemake runs that are killed, doubled and interrupted."""

import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import venv
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from projects import ROOT, Project, wait_for, write_record_of
from workflow import launch
from workflow.lib.provenance import record_of

LAUNCHER = ["-m", "workflow.launch"]
ADVICE = "The same command continues where this run stopped"

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


class Toy(Project):
    """A small workflow in a directory of its own, and everything started in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.record = directory / ".snakemake" / "rnca-launch.json"
        self.started: list[subprocess.Popen[str]] = []
        # A terminal that cannot show every sign.
        self.environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
        self.options = {"preexec_fn": heed_signals}
        for path, text in {
            "Snakefile": SNAKEFILE,
            "config/config.yaml": "run: default\n",
            "profiles/default/config.yaml": "cores: 1\nrerun-incomplete: true\nquiet: [rules]\n",
            "results/default/summary.txt": "the headline: 1.0 ± 0.5\n",
            "results/default/report.html": "the report\n",
        }.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, encoding="utf-8")
            if path.startswith("results"):
                write_record_of(directory / path, name=path)

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        process = super().start(*command, **variables)
        self.started.append(process)
        return process

    def launch_until_beating(self) -> tuple[subprocess.Popen[str], psutil.Process]:
        """Launch; return the launcher and its Snakemake once the second job is at work."""
        launcher = self.start(*LAUNCHER)
        self.wait_until_beating()
        (snakemake,) = psutil.Process(launcher.pid).children()
        return launcher, snakemake

    def fails(self, *arguments: str, **variables: str) -> str:
        screen = super().fails(*arguments, **variables)
        assert "Traceback" not in screen
        assert "headline" not in screen
        return screen

    def beats(self) -> int:
        beats = self.directory / "beats.txt"
        return beats.stat().st_size if beats.exists() else 0

    def wait_until_beating(self) -> None:
        before = self.beats()
        wait_for(lambda: self.beats() != before, seconds=120)

    def is_still(self) -> bool:
        before = self.beats()
        time.sleep(0.4)
        return self.beats() == before

    def let_go(self) -> None:
        (self.directory / "go").touch()

    def runs(self) -> list[str]:
        return (self.directory / "runs.txt").read_text().split()

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


@pytest.fixture
def refusal(monkeypatch):
    """Call the launcher in this process; return why it does not come to run Snakemake."""

    def refusal(directory: Path, *arguments: str) -> str:
        monkeypatch.chdir(directory)
        monkeypatch.setattr(sys, "argv", ["launch", *arguments])
        monkeypatch.setattr(launch, "run", None)
        with pytest.raises(SystemExit) as refused:
            launch.main()
        return str(refused.value)

    return refusal


def test_killed_run_continues_and_its_orphan_ends(toy):
    launcher, snakemake = toy.launch_until_beating()
    (orphan,) = snakemake.children()
    launcher.kill()
    launcher.wait()
    assert f"kill {snakemake.pid}\n" in toy.fails()
    snakemake.kill()
    toy.wait_until_beating()
    assert launch.MARK in orphan.environ()

    again = toy.start(*LAUNCHER)
    assert "left-over processes ended" in again.stdout.readline()
    assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
    toy.let_go()
    screen, _ = again.communicate(timeout=180)
    assert again.returncode == 0
    assert "\n\nthe headline: 1.0 ? 0.5\n" in screen
    assert screen.endswith("\nReport: results/default/report.html\n")
    assert toy.runs() == ["first", "second", "second"]


def test_killed_snakemake_leaves_nothing_behind(toy):
    launcher, snakemake = toy.launch_until_beating()
    snakemake.kill()
    screen, _ = launcher.communicate(timeout=180)
    assert launcher.returncode == 128 + signal.SIGKILL
    assert ADVICE in screen
    assert toy.is_still()
    toy.let_go()
    toy.ends()


def test_second_of_two_at_once_names_the_first_and_a_copy_leaves_it_alone(toy, tmp_path):
    pair = [toy.start(*LAUNCHER), toy.start(*LAUNCHER)]
    wait_for(lambda: any(process.poll() is not None for process in pair), seconds=120)
    winner, loser = sorted(pair, key=lambda process: process.poll() is not None)
    assert loser.returncode == 1
    assert "is in use by another run" in loser.stdout.read()

    toy.wait_until_beating()
    (snakemake,) = psutil.Process(winner.pid).children()
    assert f"kill {snakemake.pid}\n" in toy.fails()
    assert "Directory cannot be locked" in toy.run("-m", "snakemake")[1]
    shutil.copytree(toy.directory, tmp_path / "copy")
    said = Toy(tmp_path / "copy").fails()
    assert f"in {toy.directory}. Start it there again, or, if none of its processes is left" in said
    toy.wait_until_beating()
    toy.let_go()
    assert winner.wait(timeout=180) == 0
    assert toy.runs() == ["first", "second"]


def test_lock_of_plain_snakemake_is_respected_alive_and_dead(toy):
    plain = toy.start("-m", "snakemake")
    toy.wait_until_beating()
    assert "is locked by a Snakemake that was not started by this launcher" in toy.fails()

    plain.kill()
    plain.wait()
    toy.let_go()
    unlock = toy.fails().splitlines()[-1].partition("unlock it: ")[2]
    subprocess.run(unlock, shell=True, check=True, capture_output=True, cwd=toy.directory)
    toy.ends()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_interrupt_stops_the_jobs_and_leaves_no_lock(toy, number):
    launcher, _ = toy.launch_until_beating()
    os.kill(launcher.pid, number)
    launcher.communicate(timeout=180)
    assert launcher.returncode == 1
    assert toy.is_still()
    assert not list(toy.directory.glob(".snakemake/locks/*"))


def test_hangup_stops_a_run_that_a_shell_started_in_the_background(toy):
    """Such a shell starts it with SIGINT ignored."""
    command = f"{shlex.join([sys.executable, *LAUNCHER])} & echo $!; wait $!"
    shell = toy.start("-c", f"import os; os.execvp('sh', ['sh', '-c', {command!r}])")
    launcher = psutil.Process(int(shell.stdout.readline()))
    toy.wait_until_beating()
    launcher.send_signal(signal.SIGINT)
    toy.wait_until_beating()
    launcher.send_signal(signal.SIGHUP)
    shell.communicate(timeout=60)
    assert toy.is_still()
    assert not list(toy.directory.glob(".snakemake/locks/*"))


def test_termination_lets_the_current_job_finish(toy):
    launcher, _ = toy.launch_until_beating()
    launcher.terminate()
    toy.wait_until_beating()
    toy.let_go()
    launcher.communicate(timeout=180)
    assert (toy.directory / "second.txt").exists()


def test_signal_before_it_can_be_passed_on_stops_the_run(toy):
    """Snakemake has started, but the launcher has not yet said where to send signals."""
    early = """
import os, signal, subprocess, sys
from workflow import launch
class Popen(subprocess.Popen):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        if "snakemake" in given[0]:
            os.kill(os.getpid(), signal.SIGHUP)
launch.subprocess.Popen = Popen
sys.exit(launch.main())
"""
    code, screen = toy.run("-c", early)
    assert code > 0
    assert ADVICE in screen
    assert toy.is_still()
    assert not toy.record.read_text()


def test_interrupt_while_results_are_compared_ends_the_launcher(toy):
    toy.let_go()
    large = toy.directory / "results" / "large.bin"
    large.touch()
    os.truncate(large, 2**39)  # without content: minutes to read, no room on the disk
    record = record_of(toy.directory / "results" / "default" / "summary.txt")
    found = json.loads(record.read_text()) | {"inputs": {"results/large.bin": "0" * 64}}
    record.write_text(json.dumps(found))
    launcher = toy.start(*LAUNCHER)

    def is_reading():
        with suppress(psutil.NoSuchProcess):
            opened = psutil.Process(launcher.pid).open_files()
            return str(large) in [file.path for file in opened]

    wait_for(is_reading, launcher, seconds=180)
    os.kill(launcher.pid, signal.SIGINT)
    screen, _ = launcher.communicate(timeout=60)
    assert launcher.returncode == 128 + signal.SIGINT
    assert "headline" not in screen
    assert "Traceback" not in screen


MISTAKEN = f"raise __import__('snakemake').exceptions.WorkflowError('mistakes')\n{SNAKEFILE}"


@pytest.mark.parametrize(
    ("snakefile", "targets", "words", "is_advised"),
    [
        (SNAKEFILE, ["no-such-target"], "MissingRuleException", False),
        (MISTAKEN, [], "mistakes", False),
        (SNAKEFILE.replace("touch {output}", "false"), [], "successfully", True),
    ],
    ids=["no target", "mistaken settings", "failed job"],
)
def test_only_what_a_repetition_may_mend_brings_the_advice(
    toy, snakefile, targets, words, is_advised
):
    (toy.directory / "Snakefile").write_text(snakefile)
    screen = toy.fails(*targets)
    assert words in screen
    assert (ADVICE in screen.splitlines()[-1]) == is_advised


@pytest.mark.parametrize("path", ["", "/nowhere"])
def test_path_that_leads_to_no_program_does_no_harm(toy, path):
    toy.let_go()
    toy.ends(PATH=path)


MEMORY_SNAKEFILE = """
rule memory:
    output: "memory.txt"
    resources: mem_mb=10**9
    shell: "echo {resources.mem_mb} > {output}"
"""


@pytest.mark.parametrize("given", [(), ("--resources", "mem_mb=123")])
def test_no_job_is_promised_more_memory_than_there_is(toy, given):
    (toy.directory / "Snakefile").write_text(MEMORY_SNAKEFILE)
    toy.ends("memory.txt", *given)
    promised = int((toy.directory / "memory.txt").read_text())
    assert promised == (123 if given else psutil.virtual_memory().total // 10**6)


@pytest.mark.parametrize("option", ["-np", "--list-rules", "--dag", "--summary", "--unlock"])
def test_what_runs_nothing_prints_no_summary(toy, option):
    assert "headline" not in toy.ends(option)
    assert not (toy.directory / "first.txt").exists()


@pytest.mark.parametrize(
    ("profile", "arguments", "name"),
    [
        ("", ["--configfile", "config/config.yaml", "other.yaml"], "other"),
        ("", ["--configfile", "other.yaml", "--config", "run=default"], "default"),
        ("configfile: other.yaml", ["--profile", "mine"], "other"),
        ("config: [run=other]", ["--profile", "mine"], "other"),
        ("configfile: other.yaml", ["--workflow-profile", "mine"], "other"),
        ("config: [run=other]", ["--workflow-profile", "mine"], "other"),
    ],
)
def test_summary_is_that_of_the_run_named_last(toy, monkeypatch, profile, arguments, name):
    monkeypatch.chdir(toy.directory)
    Path("other.yaml").write_text("run: other\n")
    Path("mine").mkdir()
    Path("mine", "config.yaml").write_text(f"cores: 1\n{profile}\n")
    assert launch.read_config(launch.read_options(arguments), toy.directory)["run"] == name


@pytest.mark.parametrize(
    ("arguments", "started", "is_shown"),
    [
        ([], 1e12, True),
        (["first.txt", "--configfile=config/config.yaml"], 1e12, False),
        (["--until", "first"], 1e12, False),
        (["summary"], 0.0, True),
    ],
)
def test_old_summary_is_not_shown_for_a_part_of_the_run(
    toy, monkeypatch, capsys, arguments, started, is_shown
):
    monkeypatch.chdir(toy.directory)
    options = launch.read_options(arguments)
    assert launch.finish(options, Path("results", "default"), started) == 0
    assert ("the headline" in capsys.readouterr().out) == is_shown


def test_missing_file_of_settings_is_named(toy, refusal):
    said = refusal(toy.directory, "--configfile", "mine.yaml")
    assert said.startswith("mine.yaml: there is no such file of settings under")


# Other file systems than Linux's in memory do not take every date.
MEMORY = Path("/dev/shm")


@pytest.mark.parametrize("date", [2**32, 2**45] if MEMORY.is_dir() else [2**32])
def test_file_of_the_future_is_named_with_the_remedy(refusal, date):
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
        toy = Toy(Path(place))
        os.utime(toy.directory / "results" / "default" / "summary.txt", (date, date))
        said = refusal(toy.directory)
        assert said.startswith("results/default/summary.txt: its time lies ")
        assert (toy.directory / "results" / "default" / "report.html").is_file()
        remedy = said.partition("present time: ")[2]
        subprocess.run(remedy, shell=True, check=False, capture_output=True, cwd=place)
        launch.check_times(toy.directory)


@pytest.fixture
def bystander():
    """A process with the id of a run that it may not belong to, and that run's record."""
    run_id = uuid.uuid4().hex
    environment = os.environ | {launch.MARK: run_id}
    process = subprocess.Popen(["sleep", "600"], env=environment, process_group=0)
    process.record = {
        "run_id": run_id,
        "pid": process.pid,
        "started": 0.0,
        "uid": os.getuid(),
        "host": platform.node(),
    }
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "text",
    [
        *["null", "true", "[1, 2]", "{}", "no JSON", "[" * 100_000, "\0" * 99, "\udcff"],
        {"run_id": None},
        {"run_id": ""},
        {"run_id": 3},
        {"pid": "1"},
        {"pid": True},
        {"started": None},
        {"uid": 0.5},
        {"directory": None},
        {"more": 1},
    ],
    ids=lambda text: str(text)[:20],
)
def test_what_is_no_record_is_refused_by_name(toy, refusal, bystander, text):
    if isinstance(text, dict):
        text = json.dumps(bystander.record | {"directory": str(toy.directory)} | text)
    toy.record.parent.mkdir()
    toy.record.write_text(text, errors="surrogateescape")
    said = refusal(toy.directory)
    assert said.startswith(f"{toy.record} is not a record of a run.")
    assert said.endswith("remove that file.")
    assert bystander.poll() is None


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("../mine")])
def test_what_is_no_file_in_the_place_of_the_record_is_named(toy, refusal, make):
    toy.record.parent.mkdir()
    make(toy.record)
    assert "rnca-launch.json" in refusal(toy.directory)
    assert not (toy.directory / "mine").exists()


@pytest.mark.parametrize(
    "change",
    [{"pid": 1}, {"started": 2.0**40}, {"uid": 65534}, {"run_id": "0" * 32}],
    ids=lambda change: next(iter(change)),
)
def test_process_that_is_not_provably_the_runs_is_not_ended(tmp_path, bystander, change):
    run = launch.Run(**bystander.record | {"directory": str(tmp_path)} | change)
    if "run_id" in change:  # no process has it
        assert launch.end(run) == 0
    else:
        with pytest.raises(SystemExit, match=rf"not all of them.+: {bystander.pid} \(sleep\)"):
            launch.end(run)
    assert bystander.poll() is None


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give a file to another user")
def test_lock_of_another_user_stays(tmp_path):
    locks = tmp_path / launch.LOCKS
    locks.mkdir(parents=True)
    for name in ("own", "other"):
        (locks / f"{name}.lock").touch()
    os.chown(locks / "other.lock", 65534, 65534)
    launch.clear_lock(tmp_path)
    assert [lock.name for lock in locks.iterdir()] == ["other.lock"]


def test_environment_in_a_directory_with_a_space(project):
    """Snakemake does not quote the path of its interpreter."""
    venv.create(project.file("venv"), symlinks=True)
    installed = [path for path in sys.path if path.endswith("site-packages")]
    (site,) = project.directory.glob("venv/lib/python*/site-packages")
    (site / "outer.pth").write_text("\n".join(installed))
    for module, name in (("workflow.launch", "digits"), ("snakemake", "patches")):
        done = subprocess.run(
            [project.file("venv/bin/python"), "-m", module, f"data/prepared/{name}"],
            cwd=project.directory,
            env=project.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert project.file(f"data/prepared/{name}").exists()
