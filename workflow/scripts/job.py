"""What every script does around its own few lines: threads, log, and errors worth reading."""

import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script's body with the rule's threads.

    An uncaught error goes to the rule's log in full; the screen gets the cause, the log, and the
    command that runs this job alone.
    """
    log = Path(snakemake.log[0])
    _write(log, "")
    try:
        with threadpool_limits(snakemake.threads):
            yield
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


def _write(log: Path, text: str) -> None:
    # On a full disk or in a directory that may not be written to, the screen still gets the cause.
    with suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
