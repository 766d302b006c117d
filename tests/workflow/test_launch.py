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
import venv
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from projects import ROOT, Project, wait_for, write_record_of
from workflow import launch
from workflow.lib.provenance import record_of

LAUNCHER = [sys.executable, "-m", "workflow.launch"]
MARK = "RNCA_RUN_ID"
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


class Toy:
    """A small workflow in a directory of its own, and everything started in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.record = directory / ".snakemake" / "rnca-launch.json"
        self.started: list[subprocess.Popen[str]] = []
        for path, text in {
            "Snakefile": SNAKEFILE,
            "config/config.yaml": "run: default\n",
            "profiles/default/config.yaml": "cores: 1\nrerun-incomplete: true\nquiet: [rules]\n",
            "results/default/summary.txt": "the headline\n",
            "results/default/report.html": "the report\n",
            "results/other/summary.txt": "another headline\n",
            "results/other/report.html": "another report\n",
        }.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
            if path.startswith("results"):
                write_record_of(directory / path)

    def summarise(self, text: str) -> None:
        summary = self.directory / "results" / "default" / "summary.txt"
        summary.write_text(text, encoding="utf-8")
        write_record_of(summary)

    def start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            preexec_fn=heed_signals,
        )
        self.started.append(process)
        return process

    def launch(self, *arguments: str) -> subprocess.Popen[str]:
        return self.start(*LAUNCHER, *arguments)

    def launch_to_end(self, *arguments: str) -> tuple[int, str, str]:
        process = self.launch(*arguments)
        out, err = process.communicate(timeout=180)
        return process.returncode, out, err

    def ends(self, *arguments: str) -> str:
        """Launch; return what it prints when it ends well."""
        code, out, err = self.launch_to_end(*arguments)
        assert code == 0, err
        return out

    def fails(self, *arguments: str) -> str:
        """Launch; return what it says when it fails."""
        code, out, err = self.launch_to_end(*arguments)
        assert (code, out) == (1, "")
        assert "Traceback" not in err
        return err

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


def kill_both(toy):
    """Kill the launcher and Snakemake; return the record of the run and the job that is left."""
    launcher = toy.launch()
    toy.wait_until_beating()
    snakemake = toy.snakemake_of(launcher)
    (orphan,) = snakemake.children()
    snakemake.kill()
    launcher.kill()
    launcher.wait()
    return json.loads(toy.record.read_text()), orphan


def test_killed_run_continues_and_its_orphan_ends(toy):
    _, orphan = kill_both(toy)
    toy.wait_until_beating()
    assert MARK in orphan.environ()

    again = toy.launch()
    assert "left-over processes ended" in again.stderr.readline()
    assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
    toy.let_go()
    out, _ = again.communicate(timeout=180)
    assert again.returncode == 0
    assert out.startswith("\nthe headline\n")
    assert out.endswith("\nReport: results/default/report.html\n")
    assert toy.runs() == ["first", "second", "second"]


def test_killed_snakemake_leaves_nothing_behind(toy):
    launcher = toy.launch()
    toy.wait_until_beating()
    toy.snakemake_of(launcher).kill()
    _, err = launcher.communicate(timeout=180)
    assert launcher.returncode == 128 + signal.SIGKILL
    assert ADVICE in err
    assert toy.is_still()
    toy.let_go()
    toy.ends()


def test_snakemake_that_outlives_its_launcher_keeps_the_directory(toy):
    launcher = toy.launch()
    toy.wait_until_beating()
    snakemake = toy.snakemake_of(launcher)
    launcher.kill()
    launcher.wait()
    assert f"kill {snakemake.pid}\n" in toy.fails()
    toy.wait_until_beating()


def test_second_of_two_at_once_names_the_first(toy):
    pair = [toy.launch(), toy.launch()]
    wait_for(lambda: any(process.poll() is not None for process in pair), seconds=120)
    winner, loser = sorted(pair, key=lambda process: process.poll() is not None)
    assert loser.returncode == 1
    assert "is in use by another run" in loser.stderr.read()

    toy.wait_until_beating()
    assert f"kill {toy.snakemake_of(winner).pid}\n" in toy.fails()
    plain = toy.start(sys.executable, "-m", "snakemake")
    assert "Directory cannot be locked" in plain.communicate(timeout=180)[1]
    toy.let_go()
    assert winner.wait(timeout=180) == 0
    assert toy.runs() == ["first", "second"]


def test_lock_of_plain_snakemake_is_respected_alive_and_dead(toy):
    plain = toy.start(sys.executable, "-m", "snakemake")
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
    out = toy.ends("--configfile", "config/config.yaml", "other.yaml")
    assert out.startswith("\nanother headline\n")
    out = toy.ends("--configfile", "other.yaml", "--config", "run=default")
    assert out.startswith("\nthe headline\n")


@pytest.mark.parametrize("option", ["--profile", "--workflow-profile"])
@pytest.mark.parametrize("text", ["configfile: other.yaml", "config: [run=other]"])
def test_summary_is_that_of_the_run_that_a_profile_names(toy, option, text):
    toy.let_go()
    (toy.directory / "other.yaml").write_text("run: other\n")
    (toy.directory / "mine").mkdir()
    (toy.directory / "mine" / "config.yaml").write_text(f"cores: 1\n{text}\n")
    assert toy.ends(option, "mine").startswith("\nanother headline\n")


@pytest.mark.parametrize(
    "arguments", [("first.txt", "--configfile=config/config.yaml"), ("--until", "first")]
)
def test_old_summary_is_not_shown_for_a_part_of_the_run(toy, arguments):
    assert "headline" not in toy.ends(*arguments)
    assert (toy.directory / "first.txt").exists()


def test_summary_made_by_the_run_is_shown_whatever_its_target(toy):
    rule = """
rule summary:
    output: "results/default/summary.txt"
    shell: "echo new headline > {output}"
"""
    toy.summarise("new headline\n")
    (toy.directory / "Snakefile").write_text(SNAKEFILE + rule)
    assert toy.ends("summary", "--forcerun", "summary").startswith("\nnew headline\n")


@pytest.mark.parametrize("name", ["summary.txt", "report.html"])
@pytest.mark.parametrize("harm", ["cut", "no record"])
def test_result_that_is_not_what_a_job_wrote_is_not_announced(toy, name, harm):
    toy.let_go()
    file = toy.directory / "results" / "default" / name
    if harm == "no record":
        record_of(file).unlink()
    else:
        file.write_text(file.read_text()[:-5])
    assert f"Not all results are what this run computed. results/default/{name}" in toy.fails()


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnop")
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such file of settings under"),
        ("run: a\nrun: b\n", "line 2: the key 'run' is given twice"),
        ("run: a\nrcca: {one: {m: 1, m: 2}}\n", "line 2: the key 'm' is given twice"),
        ("run: a\n<<: {seed: 1}\n<<: {seed: 2}\n", "line 3: the key '<<' is given twice"),
        ("run: a\nseed: 0042\n", "line 2: 0042: write numbers in decimal digits"),
        ("run: a\nseed: 1:30\n", "line 2: 1:30: write numbers in decimal digits"),
        (BOMB, "more than 100000 values, aliases included"),
        ("run: &a [*a]\n", "line 1: a value that contains itself"),
        ("run: " + "[" * 10_000, "nested too deeply"),
        ('__use_yte__: true\n?open("ran", "w"): 1\n', "__use_yte__: settings are values"),
    ],
    ids=[
        *("missing", "twice", "below", "merged", "octal", "base 60"),
        *("bomb", "itself", "deep", "template"),
    ],
)
def test_file_that_says_more_or_less_than_it_seems_is_refused_before_anything_runs(
    toy, text, words
):
    if text is not None:
        (toy.directory / "mine.yaml").write_text(text)
    started = time.monotonic()
    err = toy.fails("--configfile", "mine.yaml")
    assert time.monotonic() - started < 30
    assert err.startswith("mine.yaml: ")
    assert words in err
    assert not (toy.directory / "ran").exists()


def test_file_of_the_future_is_named_before_anything_is_deleted(toy):
    toy.let_go()
    os.utime(toy.directory / "results" / "default" / "summary.txt", (2**32, 2**32))
    err = toy.fails()
    assert "results/default/summary.txt: of 2106-02-07" in err
    assert not (toy.directory / "runs.txt").exists()
    advice = err.partition("present time: ")[2]
    subprocess.run(advice, shell=True, check=False, capture_output=True, cwd=toy.directory)
    toy.ends()


def test_summary_is_shown_where_not_every_sign_can_be(toy):
    toy.let_go()
    toy.summarise("1.0 ± 0.5\n")
    shell = toy.start("env", "PYTHONIOENCODING=ascii", *LAUNCHER)
    out, _ = shell.communicate(timeout=180)
    assert shell.returncode == 0
    assert "1.0 ? 0.5" in out


@pytest.mark.parametrize("option", ["-np", "--list-rules", "--dag", "--summary", "--unlock"])
def test_what_runs_nothing_prints_no_summary(toy, option):
    assert "headline" not in toy.ends(option)
    assert not (toy.directory / "first.txt").exists()


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
    launcher = toy.start(sys.executable, "-c", early)
    _, err = launcher.communicate(timeout=180)
    assert launcher.returncode > 0
    assert ADVICE in err
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
    launcher = toy.launch()
    wait_for(lambda: is_reading(launcher, large), launcher, seconds=180)
    os.kill(launcher.pid, signal.SIGINT)
    out, err = launcher.communicate(timeout=60)
    assert launcher.returncode == 128 + signal.SIGINT
    assert out == ""
    assert "Traceback" not in err


def is_reading(process, file):
    with suppress(psutil.NoSuchProcess):
        return str(file) in [opened.path for opened in psutil.Process(process.pid).open_files()]
    return False


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
    toy.ends("memory.txt", *given)
    promised = int((toy.directory / "memory.txt").read_text())
    assert promised == (123 if given else psutil.virtual_memory().total // 10**6)


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
    err = toy.fails(*targets)
    assert words in err
    assert (ADVICE in err.splitlines()[-1]) == is_advised


def test_hangup_stops_a_run_that_a_shell_started_in_the_background(toy):
    """Such a shell starts it with SIGINT ignored."""
    command = f"{shlex.join(LAUNCHER)} & echo $!; wait $!"
    shell = toy.start("sh", "-c", command)
    launcher = psutil.Process(int(shell.stdout.readline()))
    toy.wait_until_beating()
    launcher.send_signal(signal.SIGINT)
    toy.wait_until_beating()
    launcher.send_signal(signal.SIGHUP)
    shell.communicate(timeout=60)
    assert toy.is_still()
    assert not list(toy.directory.glob(".snakemake/locks/*"))


@pytest.fixture
def bystander():
    """A process that no launcher started."""
    environment = {key: value for key, value in os.environ.items() if key != MARK}
    process = subprocess.Popen(["sleep", "600"], env=environment, process_group=0)
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
def test_what_is_no_record_is_refused_by_name(tmp_path, bystander, text):
    valid = {
        "run_id": "0" * 32,
        "pid": bystander.pid,
        "started": 0.0,
        "uid": os.getuid(),
        "host": platform.node(),
        "directory": str(tmp_path),
    }
    if isinstance(text, dict):
        text = json.dumps(valid | text)
    (tmp_path / ".snakemake").mkdir()
    (tmp_path / launch.RECORD).write_text(text, errors="surrogateescape")
    with (
        launch.take(tmp_path) as record,
        pytest.raises(SystemExit, match=r"json is not a record of a run\..+remove that file"),
    ):
        launch.clean_up(record, tmp_path)
    assert bystander.poll() is None


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("../mine")])
def test_what_is_no_file_in_the_place_of_the_record_is_named(tmp_path, make):
    (tmp_path / ".snakemake").mkdir()
    make(tmp_path / launch.RECORD)
    with pytest.raises(SystemExit, match=r"rnca-launch\.json"), launch.take(tmp_path) as record:
        launch.clean_up(record, tmp_path)
    assert not (tmp_path / "mine").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give a file to another user")
def test_lock_of_another_user_stays(tmp_path):
    locks = tmp_path / launch.LOCKS
    locks.mkdir(parents=True)
    for name in ("own", "other"):
        (locks / f"{name}.lock").touch()
    os.chown(locks / "other.lock", 65534, 65534)
    launch.clear_lock(tmp_path)
    assert [lock.name for lock in locks.iterdir()] == ["other.lock"]


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a file system with any date")
def test_file_of_a_date_beyond_all_calendars_is_named():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        file = Path(place, "results", "report.html")
        file.parent.mkdir()
        file.touch()
        os.utime(file, (2**45, 2**45))
        with pytest.raises(SystemExit, match=r"results/report\.html: of .+ in the future"):
            launch.check_times(Path(place))


@pytest.mark.parametrize(
    "change",
    [{"pid": 1}, {"started": 2.0**40}, {"run_id": "0" * 32}],
    ids=lambda change: next(iter(change)),
)
def test_process_that_is_not_provably_the_runs_is_not_ended(toy, change):
    record, orphan = kill_both(toy)
    toy.record.write_text(json.dumps(record | change))
    if "run_id" in change:  # no process has it
        assert "(0 left-over processes ended)" in toy.launch_to_end("--dry-run")[2]
    else:
        assert f"{orphan.pid} (" in toy.fails("--dry-run")
    toy.wait_until_beating()
    orphan.kill()


def test_copy_of_a_directory_does_not_end_the_run_in_the_original(toy, tmp_path):
    launcher = toy.launch()
    toy.wait_until_beating()
    shutil.copytree(toy.directory, tmp_path / "copy")
    err = Toy(tmp_path / "copy").fails()
    assert f"in {toy.directory}. Start it there again, or, if none of its processes is left" in err
    assert launcher.poll() is None
    toy.wait_until_beating()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to see another user's processes")
def test_process_of_another_user_is_not_ended(toy):
    record, orphan = kill_both(toy)
    orphan.kill()
    environment = os.environ | {MARK: record["run_id"]}
    other = subprocess.Popen(["sleep", "600"], env=environment, user=65534, process_group=0)
    toy.record.write_text(json.dumps(record | {"pid": other.pid}))
    assert f"{other.pid} (sleep)" in toy.fails()
    assert other.poll() is None
    other.kill()
    other.wait()
    toy.let_go()
    toy.ends()


@pytest.mark.parametrize("module", ["workflow.launch", "snakemake"])
def test_environment_in_a_directory_with_a_space(tmp_path, module):
    """Snakemake does not quote the path of its interpreter."""
    project = Project(tmp_path / "a b")
    venv.create(project.file("venv"), symlinks=True)
    installed = [path for path in sys.path if path.endswith("site-packages")]
    (site,) = project.directory.glob("venv/lib/python*/site-packages")
    (site / "outer.pth").write_text("\n".join(installed))
    done = subprocess.run(
        [project.file("venv/bin/python"), "-m", module, "data/prepared/digits"],
        cwd=project.directory,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert project.file("data/prepared/digits").exists()
