"""Copy what a finished run shows to results/published, and its tables into README.md.

Usage: python -m workflow.publish [--configfile FILE] [stage …]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from snakemake.exceptions import WorkflowError

from rnca._core.files import replacing
from workflow import settings
from workflow.lib.claims import judge, ledger, read_claims
from workflow.lib.claims_table import write_claims
from workflow.lib.page import Exhibit, Section, write_page
from workflow.lib.provenance import environment, write_csv
from workflow.plan import Plan, report
from workflow.plan.data import PREPARED
from workflow.plan.stage import Stage

PUBLISHED = Path("results", "published")
README = Path("README.md")
CLAIMS = Path("resources", "paper", "claims.yaml")
THEORY = Path("docs", "theory.md")
# In the README: a table of results/published between two comments, the first of which names it.
SHOWN = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
# What stands beside a table or a figure under the same name, and is shown with it.
NUMBERS = (".csv", ".meta.json")
BESIDE = (".md", ".tex", *NUMBERS, ".svg", ".png")


def main() -> int:
    """Publish the stages asked for, or all of the run's."""
    parser = argparse.ArgumentParser(description="Copy a finished run to results/published.")
    parser.add_argument("--configfile", type=Path, default=Path("config", "paper.yaml"))
    parser.add_argument("stages", nargs="*", metavar="stage")
    options = parser.parse_args()
    try:
        plan = Plan(settings.read(options.configfile))
    except WorkflowError as error:
        print(f"{options.configfile}: {error}")
        return 1
    known = [name for name, stage in plan.stages.items() if stage.outputs()]
    stages = options.stages or known
    if unknown := sorted(set(stages) - set(known)):
        print(f"{', '.join(unknown)}: no stage of {options.configfile}; it has {', '.join(known)}")
        return 1
    if planned := jobs_left(options.configfile, stages):
        print(
            f"{plan.results} is not finished, so nothing was published. Left to do:\n{planned}\n"
            f"Run it first: snakemake {' '.join(stages)} --configfile {options.configfile}"
        )
        return 1
    for name in stages:
        files = list(copy(plan.stages[name]))
        print(f"{name}: {len(files)} files to {PUBLISHED}")
    write_provenance(plan, options.configfile, stages)
    write_report(plan)
    if README.is_file():
        README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def with_tables(text: str) -> str:
    """Put the published tables into a text, where it names them."""

    def table(match: re.Match[str]) -> str:
        file = PUBLISHED / match[2]
        if not file.is_file():
            return match[0]
        return f"{match[1]}{file.read_text(encoding='utf-8').strip()}\n{match[3]}"

    return SHOWN.sub(table, text)


def jobs_left(configfile: Path, stages: list[str]) -> str:
    """Return Snakemake's table of the jobs that the stages still need; empty if none."""
    command = [sys.executable, "-m", "snakemake", *stages, "--configfile", str(configfile)]
    done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    table = done.stdout.partition("Job stats:\n")[2].partition("\n\n")[0]
    # What could not be fetched is tried again by every run; that alone leaves nothing undone.
    rules = {line.split()[0] for line in table.splitlines()[2:]}
    return table if rules - {"fetch", "total"} else ""


def copy(stage: Stage) -> Iterator[Path]:
    """Copy the outputs of a stage, what stands beside them, and its CSVs, which claims rest on."""
    run = Path(stage.results)
    outputs = [Path(file) for file in stage.outputs()]
    shown = [file.with_suffix(suffix) for file in outputs for suffix in BESIDE]
    names = (f"{stage.name}/*", f"tables/{stage.name}_*")
    found = [file for name in names for end in NUMBERS for file in run.glob(f"{name}{end}")]
    # Pictures are other people's data: those that figures show suffice.
    numbers = [file for file in found if ".pictures." not in file.name]
    for file in dict.fromkeys([*outputs, *shown, *sorted(numbers)]):
        if file.is_file():
            target = PUBLISHED / file.relative_to(run)
            with replacing(target) as partial:
                shutil.copyfile(file, partial)
            yield target


def write_provenance(plan: Plan, configfile: Path, stages: list[str]) -> None:
    """Record, per stage, settings, machine, data and the time of its jobs; keep other stages."""
    path = PUBLISHED / "provenance.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name in stages:
        stage = plan.stages[name]
        record[name] = {
            "configfile": configfile.as_posix(),
            "seed": plan.config["seed"],
            "settings": stage.settings,
            "environment": environment(),
            "data": {dataset: _meta(dataset) for dataset in sorted(set(stage.uses))},
            "seconds_by_rule": _seconds(stage),
        }
    with replacing(path) as partial:
        partial.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_report(plan: Plan) -> None:
    """Judge the claims by all that is published, and show it on one page."""
    data = PUBLISHED / "tables" / "data.md"
    of_run = Path(plan.results, "tables", "data.md")
    if of_run.is_file():
        with replacing(data) as partial:
            shutil.copyfile(of_run, partial)
    judgements = judge(read_claims(CLAIMS), PUBLISHED)
    stand_ins = report.standing_in(plan.data.names)
    write_csv(PUBLISHED / "tables" / "claims.csv", ledger(judgements), {"claims": str(CLAIMS)})
    write_claims(PUBLISHED / "tables" / "claims.md", judgements, stand_ins)
    sections = [
        Section(part["name"], part["title"], exhibits)
        for part in report.sections(plan.stages)
        if (exhibits := list(_published(plan, part["exhibits"])))
    ]
    sections.append(Section("theory", "Theory", text=THEORY.read_text(encoding="utf-8")))
    if data.is_file():
        sections.append(Section("data", "Data", [Exhibit(data, report.caption("data.md"))]))
    provenance = json.loads((PUBLISHED / "provenance.json").read_text(encoding="utf-8"))
    write_page(
        PUBLISHED / "report.html",
        run=plan.config["run"],
        sections=sections,
        judgements=judgements,
        standing_in=stand_ins,
        made_by=provenance,
    )


def _published(plan: Plan, exhibits: list[dict[str, str]]) -> Iterator[Exhibit]:
    for exhibit in exhibits:
        file = PUBLISHED / Path(exhibit["path"]).relative_to(plan.results)
        if file.is_file():
            yield Exhibit(file, exhibit["caption"])


def _meta(dataset: str) -> Any:
    meta = Path(PREPARED, dataset, "meta.json")
    if not meta.is_file():
        return "not to be had"
    return json.loads(meta.read_text(encoding="utf-8"))


def _seconds(stage: Stage) -> dict[str, float]:
    """Return the wall seconds of the stage's jobs, as Snakemake measured them, by kind of job."""
    place = Path(stage.results, "benchmarks")
    found: dict[str, float] = {}
    for file in sorted([*place.glob(f"{stage.name}/**/*.tsv"), *place.glob(f"{stage.name}*.tsv")]):
        kind = file.relative_to(place).parts[:2]
        key = "/".join(kind).removesuffix(".tsv")
        found[key] = found.get(key, 0.0) + float(pd.read_csv(file, sep="\t")["s"].iloc[0])
    return {key: round(seconds, 1) for key, seconds in found.items()}


if __name__ == "__main__":
    sys.exit(main())
