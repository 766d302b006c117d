"""Run Snakemake so that a run that was killed continues when the same command is given again.

The launcher locks the directory for the life of a run and keeps a record of the run there. A record
without a lock means that the last run was killed: its remaining processes are ended and Snakemake's
lock is removed. A process is only ended if it has the run's id in its environment and is in the
recorded process group, of the same user and not older than the run.

Jobs that together need more memory than the machine has do not run at once.

Usage: python -m workflow.launch [Snakemake's targets and options …]
"""

import fcntl
import io
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import asdict, dataclass, fields
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import psutil

# Importing Snakemake runs programs, also where PATH leads to none.
os.environ["PATH"] = os.pathsep.join(filter(None, [os.environ.get("PATH"), os.defpath]))

from snakemake.cli import get_argument_parser, parse_args, parse_config
from snakemake.exceptions import WorkflowError

from workflow.lib.strict_yaml import load

MARK = "RNCA_RUN_ID"
RECORD = Path(".snakemake", "rnca-launch.json")
LOCKS = Path(".snakemake", "locks")
# What jobs read, but for the cache.
DATED = (
    "data/fetched",
    "data/prepared",
    "data/requests",
    "resources",
    "results",
    "workflow",
    "docs",
)
# Targets by the hundred are not repeated on the screen.
LONGEST_COMMAND = 300
GRACE_SECONDS = 5
# Start times are counted from the boot time, which moves when the clock is set.
CLOCK_SECONDS = 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Run:
    """The record of a run: how to recognise its processes, and where they are."""

    run_id: str  # the value of MARK in their environment
    pid: int  # Snakemake's, and that of the process group they are in
    started: float
    uid: int
    host: str
    directory: str

    def __post_init__(self) -> None:
        for field in fields(self):
            if type(getattr(self, field.name)) is not field.type:
                raise TypeError(f"{field.name} is not of type {field.type}")
        if not re.fullmatch("[0-9a-f]{32}", self.run_id):
            raise ValueError(f"run_id: {self.run_id!r}")

    def owns(self, process: psutil.Process) -> bool:
        """Tell whether a process that has the run's id is provably the run's."""
        return (
            os.getpgid(process.pid) == self.pid
            and process.uids().real == self.uid
            and process.create_time() >= self.started - CLOCK_SECONDS
        )


def main() -> int:
    """Run Snakemake with the arguments of the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):  # a terminal may not know every sign
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    arguments = sys.argv[1:]
    options = read_options(arguments)
    directory = Path(options.directory or ".").resolve()
    config = read_config(options, directory)
    if not (options.resources or options.executor or options.profile or options.workflow_profile):
        arguments += ["--resources", f"mem_mb={psutil.virtual_memory().total // 10**6}"]
    with take(directory) as record:
        clean_up(record, directory)
        check_times(directory)
        started, locks = time.time(), time_of(directory / LOCKS)
        code = run(arguments, directory, record)
    # Snakemake takes its lock once the settings are checked and the jobs are planned: what fails
    # before that fails again, unless it was for the disk; what only lists or draws never takes it.
    has_run = options.nolock or time_of(directory / LOCKS) != locks
    if code > 128 or code == os.EX_IOERR or (code and has_run):
        again = f": {shlex.join(sys.orig_argv)}"
        shown = again if len(again) <= LONGEST_COMMAND else "."
        print(f"The same command continues where this run stopped{shown}", file=sys.stderr)
    elif not code and has_run and not (options.dryrun or options.unlock):
        os.chdir(directory)
        code = finish(options, Path("results", str(config.get("run"))), started)
    return code


def read_options(arguments: list[str]) -> Namespace:
    """Read the command line, and the profiles that Snakemake will take options from."""
    options: Namespace = get_argument_parser().parse_known_args(arguments)[0]
    # What is wrong with a profile is left for Snakemake to say.
    with suppress(Exception, SystemExit), redirect_stderr(io.StringIO()):
        options = parse_args(arguments)[1]
    return options


def read_config(options: Namespace, directory: Path) -> dict[str, Any]:
    """Read the settings that Snakemake will read, or exit with what is wrong with a file."""
    config: dict[str, Any] = {}
    for file in options.configfile or [directory / "config" / "config.yaml"]:
        if not file.is_file():
            sys.exit(f"{file}: there is no such file of settings under {Path.cwd()}")
        try:
            config |= load(file)
        except WorkflowError as error:
            sys.exit(f"{file}: {error}")
    return config | dict(parse_config(options.config))


def time_of(path: Path) -> int:
    """Return when a file or directory last changed, or 0 if it is not there."""
    return path.stat().st_mtime_ns if path.exists() else 0


def take(directory: Path) -> FileIO:
    """Lock `directory`, or exit and say who holds it; return the record: of a killed run, or empty.

    It is locked until this process and the Snakemake that inherits the file have ended.
    """

    def open_without_links(path: str, how: int) -> int:  # they may lead to anyone's file
        return os.open(path, how | os.O_NOFOLLOW, 0o666)

    try:
        (directory / LOCKS).mkdir(parents=True, exist_ok=True)
        record = FileIO(directory / RECORD, "a+", opener=open_without_links)
    except OSError as error:
        sys.exit(f"The launcher cannot keep its record: {error}")
    try:
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = ", which is just starting or ending."
        with suppress(ValueError):
            if holder := read(record):
                who = (
                    f": process {holder.pid} on {holder.host}. Wait for it to end, or let it "
                    f"finish its current jobs and stop: kill {holder.pid}"
                )
        sys.exit(f"{directory} is in use by another run{who}")
    return record


def read(record: FileIO) -> Run | None:
    """Return the run on record, or None. Raise ValueError if there is anything else."""
    try:
        record.seek(0)
        text = record.read()
        return Run(**json.loads(text)) if text else None
    except (OSError, RecursionError, TypeError) as error:
        raise ValueError(error) from error


def clean_up(record: FileIO, directory: Path) -> None:
    """End what a killed run has left: its processes and Snakemake's lock."""
    try:
        last = read(record)
    except ValueError:
        sys.exit(
            f"{directory / RECORD} is not a record of a run. Make sure that no earlier run still "
            f"works in {directory}, then remove that file."
        )
    if last:
        here = (os.getuid(), platform.node(), str(directory))
        if (last.uid, last.host, last.directory) != here:
            sys.exit(
                f"The last run was killed; user {last.uid} had started it on {last.host} in "
                f"{last.directory}. Start it there again, or, if none of its processes is left, "
                f"remove {directory / RECORD}"
            )
        ended = end(last)
        clear_lock(directory)
        print(
            f"The last run was killed: continuing it ({ended} left-over processes ended).",
            file=sys.stderr,
        )
    if any((directory / LOCKS).glob("*.lock")):
        unlock = [sys.orig_argv[0], "-m", "snakemake", "--unlock", "--directory", str(directory)]
        sys.exit(
            f"{directory} is locked by a Snakemake that was not started by this launcher. "
            f"Wait for it to end. If it was killed, unlock it: {shlex.join(unlock)}"
        )


def check_times(directory: Path) -> None:
    """Refuse files whose time lies in the future: Snakemake deletes what is made from them."""
    now = time.time()
    for file in (file for place in DATED for file in (directory / place).rglob("*")):
        if file.is_file() and (ahead := file.stat().st_mtime - now) > CLOCK_SECONDS:
            sys.exit(
                f"{file.relative_to(directory)}: its time lies {ahead / 3600:.1f} hours in the "
                "future. Set the clock right; or, if it is right, give such files the present "
                f"time: find {' '.join(DATED)} -newermt now -exec touch {{}} +"
            )


def end(run: Run) -> int:
    """End all processes of a run and return their number, or exit and name those that are left."""
    ended: set[psutil.Process] = set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_SECONDS
        while (left := processes_with(run.run_id)) and time.monotonic() < deadline:
            for process in left:
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    if not run.owns(process):
                        refuse(left, "have this run's id, but not all of them are provably its own")
                    process.send_signal(number)
            ended |= set(left)
            time.sleep(0.1)
    if left:
        refuse(left, "of this run do not end")
    return len(ended)


def processes_with(run_id: str) -> list[psutil.Process]:
    """Return the live processes that have a run's id in their environment."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error, OSError):  # it has ended, or is another user's
            if process.environ().get(MARK) == run_id:
                found.append(process)
    return found


def refuse(processes: list[psutil.Process], why: str) -> NoReturn:
    """Exit and name processes that may still write."""
    names = ", ".join(f"{process.pid} ({process.info['name']})" for process in processes)
    sys.exit(f"These processes {why}: {names}. Wait for them or end them, then start again.")


def clear_lock(directory: Path) -> None:
    """Remove Snakemake's lock, unless it is, or may be, that of a Snakemake of another command.

    Where other users' processes work cannot be seen, but their files can.
    """
    for process in psutil.process_iter(["cmdline", "cwd"]):
        names = {Path(argument).name for argument in process.info["cmdline"] or []}
        if process.info["cwd"] == str(directory) and "snakemake" in names:
            return
    for lock in (directory / LOCKS).glob("*.lock"):
        if lock.stat().st_uid == os.getuid():
            lock.unlink()


def run(arguments: list[str], directory: Path, record: FileIO) -> int:
    """Run Snakemake to its end, and leave none of its processes behind."""
    run_id = uuid.uuid4().hex
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # What a failed job names as the command that runs it alone.
    launcher = shlex.join([sys.orig_argv[0], "-m", "workflow.launch"])
    # A signal that comes before it can be passed on waits. In a process group of its own Snakemake
    # gets Ctrl-C once, from the launcher.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        env=os.environ | {MARK: run_id, "PATH": path, "RNCA_LAUNCHER": launcher},
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=heed_signals,
        pass_fds=[record.fileno()],
    )
    with passing_on_signals(process):
        began = psutil.Process(process.pid).create_time()
        this = Run(run_id, process.pid, began, os.getuid(), platform.node(), str(directory))
        try:
            record.truncate(0)
            record.write(json.dumps(asdict(this)).encode())
            code = process.wait()
        except OSError as error:
            sys.exit(f"The launcher cannot keep its record: {error}")
        finally:
            end(this)
            clear_lock(directory)
            record.truncate(0)
    return code if code >= 0 else 128 - code


def heed_signals() -> None:
    """Let Snakemake get signals, also SIGINT, which background jobs of a shell ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


@contextmanager
def passing_on_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let SIGINT and SIGHUP stop Snakemake with its jobs, and SIGTERM after its current jobs."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if process.returncode is not None:  # its number may be another's by now
            return
        with suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                process.terminate()
            else:
                os.killpg(process.pid, signal.SIGINT)

    kept = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in kept.items():
        if handler is not signal.SIG_IGN:  # as SIGHUP is under nohup
            signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def finish(options: Namespace, results: Path, started: float) -> int:
    """Check what the run was asked for against the records; print its summary if that is new.

    Return 1 if a file, or one that it was made from, is not what its job wrote, else 0.
    """
    from workflow.data import DataError
    from workflow.lib.provenance import checked, has_record, verify  # slow to import
    from workflow.lib.summary import closing

    summary = results / "summary.txt"
    all_made = set(options.targets) <= {"all"} and not options.until and not options.omit_from
    is_shown = summary.is_file() and (all_made or summary.stat().st_mtime >= started)
    files = [file for file in map(Path, options.targets) if file.parts[:1] == ("results",)]
    # Shards, which only a target by name keeps, have their checksums inside and no record.
    files = [file for file in files if has_record(file) and file.is_file()]
    try:
        verify(*files)
        if is_shown:
            print(closing(results, time.time() - started))
        if "data" in options.targets:
            print(checked(results / "tables" / "data.md").decode())
    except DataError as error:
        print(f"Not all results are what this run computed. {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
