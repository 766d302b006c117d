"""Make one table or figure and what it needs, after saying how much that is.

Usage: python -m workflow.one NAME [--configfile FILE] [Snakemake's options …]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import available_cpu_count

from workflow import settings
from workflow.doctor import describe_dataset
from workflow.plan import Plan, report
from workflow.publish import jobs_left


def main() -> int:
    """Say what has to be done, then let the launcher do it."""
    parser = argparse.ArgumentParser(description="Make one table or figure of a run.")
    parser.add_argument("name", nargs="?", default="", help="of a table or figure, say rcca")
    parser.add_argument("--configfile", type=Path, default=Path("config", "paper.yaml"))
    options, others = parser.parse_known_args()
    try:
        plan = Plan(settings.read(options.configfile))
    except WorkflowError as error:
        print(f"{options.configfile}: {error}")
        return 1
    wanted = [
        (stage, file)
        for stage in plan.stages.values()
        for file in report.exhibits(stage)
        if Path(file).stem == options.name
    ]
    if not wanted:
        names = {
            Path(file).stem for stage in plan.stages.values() for file in report.exhibits(stage)
        }
        print(f"NAME={options.name}: no table or figure of {options.configfile}; there are:")
        print(*(f"  {name}" for name in sorted(names)), sep="\n")
        return 1
    files = [file for _, file in wanted]
    work = describe_work(plan, options.configfile, wanted[0][0].name, files)
    print(f"{', '.join(files)}: {work}", flush=True)
    command = [
        sys.executable,
        "-m",
        "workflow.launch",
        *files,
        f"--configfile={options.configfile}",
        *others,
    ]
    return subprocess.call(command)


def describe_work(plan: Plan, configfile: Path, stage: str, files: list[str]) -> str:
    """Say which jobs are left, how long the whole stage takes here, and the room its data take."""
    left = jobs_left(configfile, files)
    if not left:
        return "up to date"
    datasets = sorted(set(plan.stages[stage].uses) - set(plan.config["skip"]))
    minutes = sum(plan.stages[stage].minutes_here(name, available_cpu_count()) for name in datasets)
    lines = [f"{name}: {describe_dataset(name, plan)}" for name in datasets]
    jobs = left.strip().splitlines()[-1].split()[-1]
    return "\n  ".join(
        [f"{jobs} jobs; all of stage {stage} takes at least {max(1, round(minutes))} min", *lines]
    )


if __name__ == "__main__":
    sys.exit(main())
