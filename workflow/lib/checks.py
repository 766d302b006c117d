"""What is checked before the first job of a run and after its last."""

import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

from workflow.data import DataError
from workflow.lib.provenance import checked, has_record, mixed_versions, verify

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
CLOCK_SECONDS = 2
CONTINUES = "The same command continues where this run stopped."


def check_times() -> None:
    """Refuse files whose time lies in the future: Snakemake deletes what is made from them."""
    now = time.time()
    for file in (file for place in DATED for file in Path(place).rglob("*")):
        if file.is_file() and (ahead := file.stat().st_mtime - now) > CLOCK_SECONDS:
            raise WorkflowError(
                f"{file}: its time lies {ahead / 3600:.1f} hours in the future. Set the clock "
                "right; or, if it is right, give such files the present time: "
                f"find {' '.join(DATED)} -newermt now -exec touch {{}} +"
            )


def close(dag: Any, results: str, started: float) -> None:
    """Check what a run was asked for, Snakemake's ``dag_settings``; print its summary if new.

    Exit with an error if a file, or one that it was made from, is not what its job wrote.
    """
    summary, report = Path(results, "summary.txt"), Path(results, "report.html")
    all_made = set(dag.targets) <= {"all"} and not dag.until and not dag.omit_from
    is_shown = summary.is_file() and (all_made or summary.stat().st_mtime >= started)
    files = [file for file in map(Path, dag.targets) if file.parts[:1] == ("results",)]
    # The summary can be asked for alone, and then there may be no report.
    files += [summary, report] if is_shown else []
    try:
        # Shards, which only a target by name keeps, have their checksums inside and no record.
        records = verify(*(file for file in files if has_record(file) and file.is_file()))
        if is_shown:
            minutes, seconds = divmod(int(time.time() - started), 60)
            mixed = "; ".join(mixed_versions(records))
            print(f"\n{checked(summary).decode()}", end="")
            print(f"Made with several versions: {mixed}\n" if mixed else "", end="")
            print(f"Time: {minutes} min {seconds} s · log: {results}/logs\nReport: {report}")
        if "data" in dag.targets:
            print(checked(Path(results, "tables", "data.md")).decode())
    except DataError as error:
        sys.exit(f"Not all results are what this run computed. {error}")


class NothingDone(logging.Handler):
    """Calls a function when Snakemake has nothing to do, for which it has no hook."""

    def __init__(self, function: Callable[[], None]) -> None:
        super().__init__()
        self.function = function

    def emit(self, record: logging.LogRecord) -> None:
        """Call the function if this is the message."""
        if record.getMessage().startswith("Nothing to be done"):
            self.function()
