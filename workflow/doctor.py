"""Say what this machine offers to a run; exit with 1 if something set for it cannot be used."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import numpy  # noqa: F401  (threadpoolctl sees only libraries that are loaded)
import psutil
from snakemake.utils import available_cpu_count
from threadpoolctl import threadpool_info

GIB = 2**30


def main() -> int:
    """Print one line per finding."""
    mirror, mirror_is_fine = check_mirror(os.environ.get("RNCA_MIRROR"))
    memory = psutil.virtual_memory()
    findings = {
        "Python": f"{platform.python_version()} in {sys.prefix}",
        "Snakemake": version("snakemake"),
        "Cores": str(available_cpu_count()),
        "Memory": f"{memory.total / GIB:.1f} GiB, {memory.available / GIB:.1f} GiB of it available",
        "Disk": f"{shutil.disk_usage('.').free / GIB:.1f} GiB free here",
        "BLAS": describe_blas(),
        "RNCA_MIRROR": mirror,
    }
    for name, finding in findings.items():
        print(f"{name:<12} {finding}")
    return 0 if mirror_is_fine else 1


def describe_blas() -> str:
    """Name the BLAS that numpy uses, and its threads."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    if not found:  # Accelerate on macOS has no threads that can be set
        return "none that threadpoolctl can steer"
    return ", ".join(
        f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
        for library in found
    )


def check_mirror(mirror: str | None) -> tuple[str, bool]:
    """Describe the local mirror of the data sets, and say whether it can be used."""
    if not mirror:
        return "not set: data sets are downloaded when a run needs them", True
    if not (Path(mirror).is_dir() and os.access(mirror, os.R_OK | os.X_OK)):
        return f"{mirror} is not a readable directory: correct or unset it", False
    held = sorted(entry.name for entry in Path(mirror).iterdir() if entry.is_dir())
    return f"{mirror}, holding {', '.join(held) or 'no data set'}", True


if __name__ == "__main__":
    sys.exit(main())
