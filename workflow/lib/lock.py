"""The lock of `make run`, by which the next run and the jobs of this one tell whether it is alive.

A run holds an exclusive lock on a file with its name: host, process id, start time. The kernel
releases the lock when the process ends, however it ends. A job on the same host ends within a
second if the lock is free or names another run. Jobs share a second lock, so that a new run can
wait until the jobs of a killed one have ended.
"""

import fcntl
import os
import platform
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

# The environment variable by which jobs know the name of their run.
VARIABLE = "RNCA_RUN"
HOST = platform.node() or "localhost"
RUN, JOBS = (Path(".snakemake", f"rnca-{what}.lock") for what in ("run", "jobs"))
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 5.0


@contextmanager
def held(directory: Path) -> Iterator[bool]:
    """Lock a directory, or exit and say who holds it; tell whether its last run was killed.

    The jobs of the killed run have ended then. An empty file says that no run was killed.
    """
    with _open(directory / RUN) as run:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _is_free(run, fcntl.LOCK_EX):  # a job of a killed run may be testing it
            if time.monotonic() > deadline:
                host, pid, *_ = [*_read(run).split(), "?", "?"]
                sys.exit(
                    f"{directory.resolve()} is in use by another run: process {pid} on {host}. "
                    "Wait for it to end, or let it finish its current jobs and stop: "
                    f"kill {pid}"
                )
            time.sleep(0.1)
        last = _read(run)
        if last and last.split()[:1] != [HOST]:
            sys.exit(
                f"The last run was killed; it was {last!r} (host, process). Start it there again "
                f"or, if none of its processes is left, remove {directory / RUN}"
            )
        name = f"{HOST} {os.getpid()} {time.time_ns()}"
        run.truncate(0)
        run.write(name)
        run.flush()
        if last:
            with _open(directory / JOBS) as jobs:
                if not _is_free(jobs, fcntl.LOCK_EX):
                    print("Waiting for the last jobs of the killed run to end …", file=sys.stderr)
                    fcntl.flock(jobs, fcntl.LOCK_EX)
        os.environ[VARIABLE] = name
        try:
            yield bool(last)
        finally:
            run.truncate(0)


def follow() -> None:
    """End this process, a job, as soon as the run that started it is gone."""
    name = os.environ.get(VARIABLE, "")
    if name.split()[:1] != [HOST]:
        return
    jobs = _open(JOBS)
    fcntl.flock(jobs, fcntl.LOCK_SH)

    def watch() -> None:
        with jobs:
            while _is_alive(name):
                time.sleep(POLL_SECONDS)
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_alive(name: str) -> bool:
    """Tell whether the run of a name, which works in the present directory, is alive."""
    with suppress(FileNotFoundError), RUN.open(encoding="utf-8") as run:
        return run.read() == name and not _is_free(run, fcntl.LOCK_SH)
    return False


def _open(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+", encoding="utf-8", errors="replace")


def _read(file: TextIO) -> str:
    file.seek(0)
    return file.read()


def _is_free(file: TextIO, kind: int) -> bool:
    """Lock a file, until it is closed, if it is free."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
