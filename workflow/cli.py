"""What people type besides running the workflow: doctor, figure, publish, verify, settings.

Usage: python -m workflow.cli COMMAND [--configfile FILE] …
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import version
from inspect import getdoc
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import scipy.linalg  # noqa: F401  (threadpoolctl sees only libraries that are loaded)
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from snakemake.exceptions import WorkflowError
from snakemake.utils import available_cpu_count
from threadpoolctl import threadpool_info

from workflow.data import DataError
from workflow.data.catalogue import CATALOGUE, availability
from workflow.data.fetch import default_cache
from workflow.lib.exhibits import read_exhibits, stage_names
from workflow.lib.plan import Plan
from workflow.lib.publish import publish, render
from workflow.lib.settings import (
    KeyPath,
    RunSettings,
    keys,
    read,
    run_model,
    schema,
    stage_model,
)
from workflow.lib.strict_yaml import load
from workflow.lib.verify import verify_published

GIB = 2**30
PUBLISHED = Path("results", "published")
# Work of more hours is asked for before it begins.
LONG_HOURS = 0.5
START = "<!-- `make settings` writes what follows from the settings' models; edit those. -->"
END = "<!-- Here it ends. -->"


def main() -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m workflow.cli", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in (
        ("doctor", doctor),
        ("figure", figure),
        ("publish", publish_run),
        ("verify", verify_run),
        ("settings", settings_tables),
    ):
        sub = commands.add_parser(name, help=getdoc(command), description=getdoc(command))
        sub.set_defaults(run=command)
        sub.add_argument("--configfile", type=Path, default=Path("config", "paper.yaml"))
        if name == "publish":
            told = "make tables, figures and report of results/published again from its CSVs"
            sub.add_argument("--render", action="store_true", help=told)
        if name == "verify":
            sub.add_argument("--minutes", type=float, default=5, help="what recomputing may take")
        if name == "figure":
            sub.add_argument("name", nargs="?", default="", help="of a table or figure, say rcca")
            sub.add_argument("--yes", action="store_true", help="do not ask before long work")
    options, others = parser.parse_known_args()
    if others and options.run is not figure:
        parser.error(f"unknown arguments: {' '.join(others)}")
    try:
        code: int = options.run(options, others)
    except (WorkflowError, DataError) as error:
        print(f"{options.configfile}: {error}")
        return 1
    return code


def doctor(options: argparse.Namespace, _: list[str]) -> int:
    """Say what this machine offers and which datasets are available."""
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
    settings = read(options.configfile)
    print(f"{'Fits':<12} {describe_memory(settings, memory.total)}")
    print(f"\nDatasets of {options.configfile}:")
    for name in settings.used():
        print(f"{name:<17} {describe_dataset(name, settings)}")
    for name in settings.skip:
        print(f"{name:<17} left out by `skip`")
    if took := published_times():
        stages = ", ".join(f"{name} {in_words(hours)}" for name, hours in took.stages.items())
        print(f"\nThe published run took, {took.machine()}: {stages}.")
        print(f"make paper: about {in_words(took.here(took.hours))} here; make run: 1 to 2 min.")
    return 0 if mirror_is_fine else 1


def figure(options: argparse.Namespace, others: list[str]) -> int:
    """Make one table or figure, after saying how much work that is."""
    settings = read(options.configfile)
    made = {
        f"results/{settings.run}/{each.file}": stage
        for stage in stage_names()
        for each in read_exhibits(stage).of(getattr(settings, stage))
    }
    wanted = [file for file in made if Path(file).stem == options.name]
    if not wanted:
        print(f"NAME={options.name}: no table or figure of {options.configfile}; there are:")
        print(*sorted({f"  {Path(file).stem}" for file in made}), sep="\n")
        return 1
    stage, left = made[wanted[0]], jobs_left(options.configfile, wanted)
    work = describe_work(settings, stage, left) if left else "up to date"
    print(f"{', '.join(wanted)}: {work}", flush=True)
    computes = any(re.match(f"{stage}_(?!report)", line) for line in left.splitlines())
    # What other settings than the paper's take is not known.
    if (took := published_times()) and settings.stages()[stage].published() and computes:
        hours = took.stages[stage]
        print(f"Stage {stage} of the published run took {in_words(hours)}, {took.machine()}.")
        is_agreed = options.yes or {"-n", "--dry-run"} & {*others}
        if took.here(hours) > LONG_HOURS and not is_agreed and not _answers_yes():
            return 1
    run = [sys.executable, "-m", "workflow.run", *wanted]
    return subprocess.call([*run, f"--configfile={options.configfile}", *others])


def publish_run(options: argparse.Namespace, _: list[str]) -> int:
    """Copy a finished run to results/published, or render again what is there."""
    settings, config = read(options.configfile), load(options.configfile)
    if options.render:
        print(f"{render(PUBLISHED, config)} files in {PUBLISHED}")
        return 0
    print(f"{publish(Plan(settings), config, PUBLISHED)} files in {PUBLISHED}")
    return 0


def verify_run(options: argparse.Namespace, _: list[str]) -> int:
    """Check results/published and recompute a sample of it."""
    return verify_published(PUBLISHED, options.minutes)


def settings_tables(_options: argparse.Namespace, _: list[str]) -> int:
    """Write the tables of keys in config/README.md, and config/schema.json for editors."""
    readme = Path("config", "README.md")
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")
    text = json.dumps(schema(), ensure_ascii=False, indent=1)
    Path("config", "schema.json").write_text(text + "\n", encoding="utf-8")
    return 0


def with_tables(readme: str) -> str:
    """Return the text of config/README.md with its tables made anew."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    blocks = ["## Top level", _table(keys(run_model()))]
    for name in stage_names():
        model = stage_model(name)
        place, found = name, list(keys(model))
        if all(path[0] == "<name>" for path, _ in found):
            place, found = f"{name}.<name>", [(path[1:], field) for path, field in found]
        blocks += [f"## Keys of `{place}`", getdoc(model) or "", _table(found)]
    return before + "\n\n".join([START, *blocks, END]) + after


def _table(found: Iterable[tuple[KeyPath, FieldInfo]]) -> str:
    """Write keys as a Markdown table; those that differ in their place alone share a row."""
    rows: dict[tuple[Any, ...], list[str]] = {}
    for path, field in found:
        rest = path[-1], _default(field), (field.description or "").removesuffix(".")
        rows.setdefault(rest, []).append(f"`{'.'.join(map(str, path))}`")
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for (_, default, meaning), paths in rows.items():
        lines.append(f"| {', '.join(paths)} | {default} | {meaning} |")
    return "\n".join(lines)


def _default(field: FieldInfo) -> str:
    """Write a default as one would write it in the file."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, BaseModel):
        default = default.model_dump(mode="json")
    text = yaml.safe_dump(default, default_flow_style=True, width=1000, sort_keys=False)
    return f"`{text.splitlines()[0]}`"


def jobs_left(configfile: Path, targets: list[str]) -> str:
    """Return Snakemake's table of the jobs that are still to do; empty if none."""
    command = [sys.executable, "-m", "snakemake", *targets, "--configfile", str(configfile)]
    done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    _, found, table = done.stdout.rpartition("Job stats:\n")
    return table.partition("\n\n")[0] if found else ""


class Times(NamedTuple):
    """For how many hours the published run, and each of its stages, was at work, and on what."""

    hours: float
    stages: dict[str, float]
    cores: int
    processor: str

    def machine(self) -> str:
        """Say on what it ran."""
        return f"on {self.cores} cores of {self.processor}"

    def here(self, hours: float) -> float:
        """Return the hours that the same takes here, as far as the number of cores tells."""
        return hours * self.cores / int(available_cpu_count())


def published_times() -> Times | None:
    """Read what the published run took from its record; None where there is none."""
    file = PUBLISHED / "record.json"
    if not file.is_file():
        return None
    record = json.loads(file.read_text(encoding="utf-8"))
    spans: dict[str, list[tuple[float, float]]] = {}
    for job in record["jobs"].values():
        if seconds := job.get("seconds"):
            end = datetime.fromisoformat(job["written"]).timestamp()
            spans.setdefault(job["rule"].partition("_")[0], []).append((end - seconds, end))
    machine = record["environments"][0]
    return Times(
        _covered(span for own in spans.values() for span in own) / 3600,
        {name: _covered(spans[name]) / 3600 for name in stage_names() if name in spans},
        machine["cores"],
        machine["processor"],
    )


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length of what intervals cover together."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def in_words(hours: float) -> str:
    """Write a number of hours as people say it."""
    return f"{hours:.1f} h" if hours >= 1 else f"{max(1, round(60 * hours))} min"


def _answers_yes() -> bool:
    """Ask whether to begin; where nobody can be asked, say how to answer."""
    if not sys.stdin.isatty():
        print("Nothing was begun, since this is not a terminal: answer with YES=1.")
        return False
    return input("Begin? What is done is kept if you stop it. [y/N] ").strip().lower() in (
        "y",
        "yes",
    )


def describe_work(settings: RunSettings, name: str, left: str) -> str:
    """Say how many jobs are left, and the room that the data of their stage take."""
    datasets = sorted(set(settings.stages()[name].datasets().values()) - set(settings.skip))
    lines = [f"{left.strip().splitlines()[-1].split()[-1]} jobs"]
    lines += [f"{dataset}: {describe_dataset(dataset, settings)}" for dataset in datasets]
    return "\n  ".join(lines)


def describe_memory(settings: RunSettings, total: int) -> str:
    """Compare the memory that the fits of a run take at most with what there is."""
    each = max(stage.largest_mem_mb() for stage in settings.stages().values())
    if not each:
        return "none in these settings"
    at_once = max(1, available_cpu_count() // settings.threads)
    need, there = at_once * each * 1e6, f"the {total / GIB:.1f} GiB there are"
    fits = f"{need / GIB:.1f} GiB of memory at most ({at_once} at once)"
    if each * 1e6 > total:
        return f"{fits}, but one takes more than {there}: lower `features`"
    return f"{fits}, more than {there}: fewer at once" if need > total else f"{fits}, of {there}"


def describe_dataset(name: str, settings: RunSettings) -> str:
    """Say where a dataset would come from, the room it takes, and which stages use it."""
    if name in settings.datasets:
        found, room = "your own", "as large as your files"
    else:
        entry = CATALOGUE[name]
        found = availability(entry, default_cache())
        room = f"{entry.prepared_mb} MB prepared"
        if entry.source is not None:
            size = entry.source.size
            room = f"{f'{size / 1e6:.0f} MB' if size else 'unknown size'} fetched, {room}"
        if Path("data", "prepared", name).is_dir():
            found = "prepared already"
    stages = settings.stages().items()
    users = ", ".join(key for key, stage in stages if name in stage.datasets().values())
    return f"{found}; {room}; {f'for {users}' if users else 'no experiment uses it yet'}"


def describe_blas() -> str:
    """Name the BLAS of numpy and of scipy, which may be two, and their threads."""
    found = ", ".join(
        f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    )
    # Accelerate on macOS has no threads that can be set.
    return found or "none whose threads threadpoolctl can set"


def check_mirror(mirror: str | None) -> tuple[str, bool]:
    """Describe the local mirror of the datasets, and say whether it can be used."""
    if not mirror:
        return "not set: datasets are downloaded when a run needs them", True
    if not (Path(mirror).is_dir() and os.access(mirror, os.R_OK | os.X_OK)):
        return f"{mirror} is not a readable directory: correct or unset it", False
    held = sorted(entry.name for entry in Path(mirror).iterdir() if entry.is_dir())
    return f"{mirror}, holding {', '.join(held) or 'no dataset'}", True


if __name__ == "__main__":
    sys.exit(main())
