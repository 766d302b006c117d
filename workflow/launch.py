"""Run Snakemake so that a run that was killed just continues when it is started again.

A kill -9 leaves Snakemake's lock behind, and jobs that go on writing. So the launcher holds a lock
of the operating system for the life of a run, which tells for certain whether the last run is dead,
and marks every process of the run with an environment variable, by which the next call finds and
ends those that are left.

Jobs that together need more memory than the machine has do not run at once.

Usage: python -m workflow.launch [Snakemake's targets and options …]
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import psutil
import yaml

MARK = "RNCA_RUN_ID"
GRACE_SECONDS = 5


def main() -> int:
    """Run Snakemake with the arguments of the command line and return its exit code."""
    options, others = parse(sys.argv[1:])
    directory = Path(options.directory or ".").resolve()
    for file in options.configfile:
        if not Path(file).is_file():
            sys.exit(f"--configfile {file}: there is no such file under {Path.cwd()}")
    with take(directory) as record:
        clean_up_after(read(record), directory)
        refuse_foreign_lock(directory)
        results = results_of(options, directory)
        if not sets_resources(others):
            others += ["--resources", f"mem_mb={psutil.virtual_memory().total // 10**6}"]
        started = time.time()
        code = run(options, others, directory, record)
    if code:
        again = shlex.join(sys.orig_argv)
        print(f"The same command continues where this run stopped: {again}", file=sys.stderr)
    elif not is_dry_run(others):
        print_summary(directory, results, since=0 if makes_all(others) else started)
    return code


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Split off the options the launcher must know; everything else is Snakemake's."""
    parser = argparse.ArgumentParser(
        description="Run Snakemake; a run that was killed just continues.",
        usage="%(prog)s [Snakemake's targets and options …]",
        allow_abbrev=False,
    )
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="extend", default=[])
    parser.add_argument("--config", "-C", nargs="+", action="extend", default=[])
    parser.add_argument("--directory", "-d")
    parser.add_argument("--cores")
    return parser.parse_known_args(arguments)


def is_dry_run(arguments: list[str]) -> bool:
    """Tell whether Snakemake is only asked what it would do: -n, also inside -np."""
    return any(re.fullmatch(r"--dry-?run|-[kpqF]*n[kpqF]*", argument) for argument in arguments)


def makes_all(arguments: list[str]) -> bool:
    """Tell whether Snakemake makes, or finds up to date, everything a run leaves."""
    from snakemake.cli import get_argument_parser  # here, since it takes a second

    parsed, _ = get_argument_parser().parse_known_args(arguments)
    return set(parsed.targets) <= {"all"} and not parsed.until and not parsed.omit_from


def sets_resources(arguments: list[str]) -> bool:
    """Tell whether the user, or a profile of theirs, says what memory there is for all jobs."""
    options = {"--resources", "--res", "--profile", "--workflow-profile", "--executor", "-e"}
    return any(argument.partition("=")[0] in options for argument in arguments)


def take(directory: Path) -> TextIO:
    """Lock `directory` for this run, or exit and say who holds it.

    Returns
    -------
    file
        Holds the record of the last run if that was killed, and nothing otherwise. Its lock lasts
        until this process and the Snakemake it starts, which inherits the file, have ended.
    """
    path = directory / ".snakemake" / "rnca-launch.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{directory} is in use by another run: {describe_holder(read(record))}")
    return record


def read(record: TextIO) -> dict[str, Any] | None:
    """Return the run on record, or None."""
    record.seek(0)
    with suppress(json.JSONDecodeError):  # empty, or not yet written
        loaded: dict[str, Any] = json.load(record)
        return loaded
    return None


def write(record: TextIO, run_id: str) -> None:
    """Put this process on record."""
    this = psutil.Process()
    record.truncate(0)
    json.dump(
        {
            "run_id": run_id,
            "host": platform.node(),
            "pid": this.pid,
            "started": this.create_time(),
            "command": shlex.join(sys.orig_argv),
        },
        record,
    )
    record.flush()


def describe_holder(last: dict[str, Any] | None) -> str:
    """Describe who holds the directory: the launcher, or the Snakemake that outlived it."""
    if last is None:
        return "it is just starting."
    if last["host"] != platform.node():
        return f"process {last['pid']} on {last['host']}, {last['command']}"
    with suppress(psutil.NoSuchProcess):
        launcher = psutil.Process(last["pid"])
        if launcher.create_time() == last["started"]:
            return describe(launcher)
    with suppress(psutil.NoSuchProcess):
        oldest = min(marked(last["run_id"]), key=psutil.Process.create_time, default=None)
        if oldest is not None:
            return describe(oldest)
    return "its processes are just ending, or another user's. Try again, or ask who works there."


def describe(process: psutil.Process) -> str:
    """Name a live process, since when it runs, and how to be rid of it."""
    since = datetime.fromtimestamp(process.create_time()).strftime("%Y-%m-%d %H:%M:%S")
    command = shlex.join(process.cmdline())
    return (
        f"process {process.pid}, since {since}, {command}\n"
        f"Wait for it to end, or let it finish its current jobs and stop: kill {process.pid}"
    )


def clean_up_after(last: dict[str, Any] | None, directory: Path) -> None:
    """End what a killed run left: its processes and Snakemake's lock."""
    if last is None:
        return
    if last["host"] != platform.node():
        sys.exit(
            f"The last run in {directory} was started on {last['host']} and did not end properly. "
            f"Start this one there, or, if nothing of it runs any more, first remove "
            f"{directory / '.snakemake' / 'rnca-launch.json'}"
        )
    ended = end(last["run_id"])
    clear_lock(directory)
    print(
        f"The last run was killed: continuing it ({ended} left-over processes ended).",
        file=sys.stderr,
    )


def marked(run_id: str) -> list[psutil.Process]:
    """Return the live processes of a run, wherever they stand in the process tree."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # gone meanwhile, a zombie, or another user's
            if process.environ().get(MARK) == run_id:
                found.append(process)
    return found


def end(run_id: str) -> int:
    """End all processes of a run, with those they start meanwhile; return how many."""
    ended: set[int] = set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_SECONDS
        while (left := marked(run_id)) and time.monotonic() < deadline:
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            ended |= {process.pid for process in left}
            time.sleep(0.1)
    if left:
        pids = " ".join(str(process.pid) for process in left)
        sys.exit(f"These processes of the last run do not end, and may still write: {pids}")
    return len(ended)


def clear_lock(directory: Path) -> None:
    """Remove Snakemake's lock, unless a Snakemake works in the directory."""
    if not snakemakes_in(directory):
        for lock in locks_in(directory):
            lock.unlink()


def locks_in(directory: Path) -> list[Path]:
    """Return the files that make up Snakemake's lock."""
    return list((directory / ".snakemake" / "locks").glob("*.lock"))


def snakemakes_in(directory: Path) -> list[psutil.Process]:
    """Return the live Snakemake processes that work in `directory`, jobs included."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.info["cwd"] == str(directory)
        and "snakemake" in {Path(argument).name for argument in process.info["cmdline"] or []}
    ]


def refuse_foreign_lock(directory: Path) -> None:
    """Exit if the directory is locked by a Snakemake that the launcher did not start."""
    if not locks_in(directory):
        return
    lead = f"{directory} is locked by a Snakemake that was started without this launcher"
    if living := snakemakes_in(directory):
        sys.exit(f"{lead}: {describe(min(living, key=psutil.Process.create_time))}")
    unlock = [sys.orig_argv[0], "-m", "snakemake", "--unlock"]
    if directory != Path.cwd():
        unlock += ["--directory", str(directory)]
    sys.exit(
        f"{lead} and was killed. "
        f"If none works there from another machine, unlock it: {shlex.join(unlock)}"
    )


def run(options: argparse.Namespace, others: list[str], directory: Path, record: TextIO) -> int:
    """Run Snakemake to its end, however it comes, and leave none of its processes behind."""
    run_id = uuid.uuid4().hex
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    # What a failed job names as the command that runs it alone.
    launcher = shlex.join([sys.orig_argv[0], "-m", "workflow.launch"])
    write(record, run_id)
    try:
        with interpreter() as python:
            # A process group of its own: Ctrl-C then reaches Snakemake once, through the launcher.
            process = subprocess.Popen(
                [python, "-m", "snakemake", *others, *snakemake_options(options)],
                env=os.environ | {MARK: run_id, "PATH": path, "RNCA_LAUNCHER": launcher},
                stdin=subprocess.DEVNULL,
                process_group=0,
                pass_fds=[record.fileno()],
            )
            pass_on_signals(process)
            code = process.wait()
    finally:
        end(run_id)
        clear_lock(directory)
        record.truncate(0)
    return code if code >= 0 else 128 - code


@contextmanager
def interpreter() -> Iterator[str]:
    """Give this Python under a path without spaces: Snakemake runs scripts by it unquoted."""
    if " " not in sys.executable:
        yield sys.executable
        return
    with tempfile.TemporaryDirectory(prefix="rnca-") as place:
        link = Path(place, "python")
        link.symlink_to(sys.prefix, target_is_directory=True)
        yield str(link / Path(sys.executable).relative_to(sys.prefix))


def snakemake_options(options: argparse.Namespace) -> list[str]:
    """Give back to Snakemake the options that `parse` split off."""
    arguments = []
    for name, value in vars(options).items():
        if value:
            arguments += [f"--{name}", *([value] if isinstance(value, str) else value)]
    return arguments


def pass_on_signals(process: subprocess.Popen[bytes]) -> None:
    """Let SIGINT and SIGHUP stop Snakemake with its jobs, and SIGTERM after its current jobs."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                process.terminate()
            else:
                os.killpg(process.pid, signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, pass_on)


def results_of(options: argparse.Namespace, directory: Path) -> Path:
    """Return where the run writes: results/<run>, by the settings' key ``run``."""
    config: dict[str, Any] = {}
    for file in options.configfile or [directory / "config" / "config.yaml"]:
        with suppress(OSError, ValueError, yaml.YAMLError):  # Snakemake says what is wrong with it
            loaded = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
            config |= loaded if isinstance(loaded, dict) else {}
    config |= dict(item.partition("=")[::2] for item in options.config)
    return Path("results", str(config.get("run")))


def print_summary(directory: Path, results: Path, *, since: float) -> None:
    """Print results/<run>/summary.txt, unless it is older than `since`, and where the report is."""
    summary = directory / results / "summary.txt"
    if summary.is_file() and summary.stat().st_mtime >= since:
        print("\n" + summary.read_text(encoding="utf-8"), end="")
        print(f"\nReport: {results / 'report.html'}")


if __name__ == "__main__":
    sys.exit(main())
