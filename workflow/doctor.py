"""Say what this machine offers to a run, and whether its datasets can be had.

Exit with 1 if something set for it cannot be used.

Usage: python -m workflow.doctor [--configfile FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import psutil
import scipy.linalg  # noqa: F401  (threadpoolctl sees only libraries that are loaded)
from snakemake.exceptions import WorkflowError
from snakemake.utils import available_cpu_count
from threadpoolctl import threadpool_info

from workflow import settings
from workflow.data.catalogue import CATALOGUE, availability
from workflow.data.fetch import default_cache
from workflow.plan import Plan
from workflow.plan.data import PREPARED

GIB = 2**30


def main() -> int:
    """Print one line per finding and per dataset."""
    parser = argparse.ArgumentParser(description="Say what this machine offers to a run.")
    parser.add_argument("--configfile", type=Path, default=Path("config", "paper.yaml"))
    file = parser.parse_args().configfile
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
    try:
        plan = Plan(settings.read(file))
    except WorkflowError as error:
        print(f"\n{file}: {error}")
        return 1
    print(f"{'Fits':<12} {describe_memory(plan, memory.total)}")
    print(f"\nDatasets of {file}:")
    for name in plan.data.names:
        print(f"{name:<17} {describe_dataset(name, plan)}")
    for name in plan.config["skip"]:
        print(f"{name:<17} left out by `skip`")
    return 0 if mirror_is_fine else 1


def describe_memory(plan: Plan, total: int) -> str:
    """Set the memory that the fits of a run take at most against what there is."""
    if not (each := plan.largest_mem_mb()):
        return "none in these settings"
    at_once = max(1, available_cpu_count() // plan.config["threads"])
    need, there = at_once * each * 1e6, f"the {total / GIB:.1f} GiB there are"
    fits = f"{need / GIB:.1f} GiB of memory at most ({at_once} at once)"
    if each * 1e6 > total:
        return f"{fits}, but one takes more than {there}: lower `features`"
    return f"{fits}, more than {there}: fewer at once" if need > total else f"{fits}, of {there}"


def describe_dataset(name: str, plan: Plan) -> str:
    """Say where a dataset would come from, the room it takes, and how long its fits take."""
    config = plan.config
    if name in config["datasets"]:
        found, room = "your own", "as large as your files"
    else:
        entry = CATALOGUE[name]
        found = availability(entry, default_cache(), plan.data.checksums_of(name))
        room = f"{entry.prepared_mb} MB prepared"
        if entry.source is not None:
            size = entry.source.size
            room = f"{f'{size / 1e6:.0f} MB' if size else 'unknown size'} fetched, {room}"
        if Path(PREPARED, name).is_dir():
            found = "prepared already"
    return f"{found}; {room}; {describe_time(name, plan)}"


def describe_time(name: str, plan: Plan) -> str:
    """Foresee the minutes of all jobs on a dataset."""
    users = [stage for stage in plan.stages.values() if name in stage.uses]
    if not users:
        return "no experiment uses it yet"
    stages = f"for {', '.join(stage.name for stage in users)}"
    minutes = sum(stage.minutes_here(name, available_cpu_count()) for stage in users)
    return f"{stages}, at least {minutes:.0f} min here" if minutes >= 1 else f"{stages}, a minute"


def describe_blas() -> str:
    """Name the BLAS of numpy and of scipy, which may be two, and their threads."""
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
