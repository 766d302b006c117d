"""What every job does around its own few lines: threads, log, records, errors worth reading."""

import json
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

from workflow.lib.lock import follow
from workflow.lib.provenance import write_record


@contextmanager
def job(snakemake: Any) -> Iterator[SimpleNamespace]:
    """Run a job's body with the rule's threads, then record what it made.

    Yields the job's settings as attributes. What the job prints goes to the rule's log, and so does
    an uncaught error in full; the screen gets the cause, the log, and the command that runs this
    job alone. An error in data or settings is not tried again in the same run.
    """
    follow()
    log = Path(snakemake.log[0])
    failed = log.with_suffix(".failed")
    run = os.environ.get("RNCA_STARTED")
    if run and failed.is_file() and failed.read_text(encoding="utf-8") == run:
        sys.exit(f"{snakemake.rule} fails as it did before in this run; see {log}")
    try:
        request = Path(snakemake.input.request).read_text(encoding="utf-8")
        with _printing_to(log), threadpool_limits(snakemake.threads):
            yield SimpleNamespace(**json.loads(request)["settings"])
        for output in snakemake.output:
            write_record(output, request, snakemake)
    except Exception as error:
        # On a full disk or in a directory that may not be written to, the screen still says why.
        with suppress(OSError), log.open("a", encoding="utf-8") as file:
            file.write(traceback.format_exc())
            if run and isinstance(error, ValueError):  # as a DataError is
                failed.write_text(run, encoding="utf-8")
        python = os.environ.get("RNCA_PYTHON", "python")
        command = shlex.join([python, "-m", "snakemake", str(snakemake.output[0])])
        if files := os.environ.get("RNCA_CONFIGFILES"):
            command += f" --configfile {files}"
        print(
            f"\n{snakemake.rule} failed: {type(error).__name__}: {error}\n"
            f"  log:        {log}\n"
            f"  this alone: {command}\n",
            file=sys.stderr,
        )
        sys.exit(1)


def blas_threads() -> int:
    """Return the number of threads that BLAS may use."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=1)


def by_name(files: Any) -> dict[str, str]:
    """Return a rule's output files by their names without directory, say ``rcca.md``."""
    return {Path(file).name: str(file) for file in files}


@contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    """Send standard output and error, of libraries too, to a file; with VERBOSE to the screen."""
    if os.environ.get("VERBOSE"):
        yield
        return
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    except OSError:
        file = os.open(os.devnull, os.O_WRONLY)
    kept = [os.dup(1), os.dup(2)]
    try:
        for number in (1, 2):
            os.dup2(file, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)
        os.close(file)
