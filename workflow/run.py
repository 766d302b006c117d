"""Run Snakemake so that a run that was killed continues when the same command is given again.

What it adds to plain `snakemake`: a lock that tells whether a run is alive. So a second run in the
same directory is refused, jobs end when their run is gone, and what a killed run has left of
Snakemake's own lock is removed. It also refuses settings files that would run code when they are
read, or grow beyond reason.

Usage: python -m workflow.run [Snakemake's targets and options …]
"""

import io
import os
import sys
from argparse import Namespace
from contextlib import ExitStack, redirect_stderr, suppress
from pathlib import Path

import psutil
from snakemake.cli import main as snakemake
from snakemake.cli import parse_args
from snakemake.exceptions import WorkflowError

from workflow.lib import lock
from workflow.lib.strict_yaml import load


def main() -> None:
    """Run Snakemake with the arguments of the command line; exit with its code."""
    options = Namespace(configfile=None, directory=None, executor=None)
    # What is wrong with arguments or profiles is left for Snakemake to say.
    with suppress(Exception, SystemExit), redirect_stderr(io.StringIO()):
        options = parse_args(sys.argv[1:])[1]
    directory = Path(options.directory or ".")
    for file in options.configfile or [directory / "config" / "config.yaml"]:
        if not file.is_file():
            sys.exit(f"{file}: there is no such file of settings under {Path.cwd()}")
        try:
            load(file)
        except WorkflowError as error:
            sys.exit(f"{file}: {error}")
    with ExitStack() as stack:
        try:
            was_killed = stack.enter_context(lock.held(directory))
        except OSError as error:
            sys.exit(f"No lock can be held in {directory}: {error}. Use plain snakemake")
        if was_killed:
            print("The last run was killed: continuing it.", file=sys.stderr)
            remove_snakemakes_lock(directory)
        if options.executor not in (None, "local"):
            del os.environ[lock.VARIABLE]  # on a cluster jobs outlive Snakemake
        snakemake(sys.argv[1:])


def remove_snakemakes_lock(directory: Path) -> None:
    """Remove Snakemake's lock unless it may be that of a plain Snakemake, started since."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        names = {Path(argument).name for argument in process.info["cmdline"] or []}
        if process.info["cwd"] == str(directory.resolve()) and "snakemake" in names:
            return
    for file in (directory / ".snakemake" / "locks").glob("*.lock"):
        file.unlink()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
