"""Peak anonymous memory of a fit in a process of its own, against the number of rows."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from jobs import Job, Row
from large import LargeFile
from roof import CHUNK
from sizes import Settings

_STATUS = Path("/proc/self/status")


def jobs(settings: Settings, large: LargeFile) -> list[Job]:
    """List one fit for each number of rows and each precision of the products."""
    return [
        Job(
            "memory",
            f"memory: n = {n}, accumulation = {accumulation}",
            4.0 * n * settings.m**2 + 1e11,
            partial(_peak, settings, large, n, accumulation),
        )
        for n in settings.memory_rows
        for accumulation in ("float64",)
    ]


def expected_bytes(m: int) -> int:
    """Three moments and D, and the features of both views in two chunks, in float64."""
    return 4 * 8 * m**2 + 2 * 2 * 8 * CHUNK * m


def _peak(settings: Settings, large: LargeFile, n: int, accumulation: str) -> list[Row]:
    row = {"n": n, "m": settings.m, "asked": accumulation}
    if not _STATUS.is_file():
        return [{**row, "skipped": f"{_STATUS} is not there: anonymous memory is read on Linux"}]
    child = Path(__file__).with_name("fit_memory.py")
    arguments = [large.directory, n, settings.m, settings.components, accumulation]
    done = subprocess.run(
        [sys.executable, child, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{child.name} {' '.join(map(str, arguments))} failed:\n{done.stderr}")
    return [{**row, **json.loads(done.stdout), "expected_bytes": expected_bytes(settings.m)}]
