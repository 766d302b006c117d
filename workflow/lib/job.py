"""What every job does around its own few lines: threads, log, records, errors worth reading."""

import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from threadpoolctl import threadpool_limits

from workflow.lib.provenance import write_record


@contextmanager
def job(snakemake: Any) -> Iterator[SimpleNamespace]:
    """Run a job's body with the rule's threads, then record what it made.

    Yields the job's settings as attributes. An uncaught error goes to the rule's log in full; the
    screen gets the cause, the log, and the command that runs this job alone.
    """
    log = Path(snakemake.log[0])
    _write(log, "")
    try:
        with threadpool_limits(snakemake.threads):
            yield SimpleNamespace(**snakemake.params.request["settings"])
        for output in snakemake.output:
            write_record(output, snakemake)
    except Exception as error:
        _write(log, traceback.format_exc())
        start = os.environ.get("RNCA_LAUNCHER", "snakemake")
        command = f"{start} {shlex.quote(str(snakemake.output[0]))}"
        if files := os.environ.get("RNCA_CONFIGFILES"):
            command += f" --configfile {files}"
        print(
            f"\n{snakemake.rule} failed: {type(error).__name__}: {error}\n"
            f"  log:        {log}\n"
            f"  this alone: {command}\n",
            file=sys.stderr,
        )
        sys.exit(1)


def by_name(files: Any) -> dict[str, str]:
    """Return a rule's output files by their names without directory, say ``rcca.md``."""
    return {Path(file).name: str(file) for file in files}


def _write(log: Path, text: str) -> None:
    # On a full disk or in a directory that may not be written to, the screen still gets the cause.
    with suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
