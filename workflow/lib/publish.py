"""Copy what a finished run shows to ``results/published``, with one record for all of it.

The record is written twice: as JSON, and as a Workflow Run RO-Crate, a form that archives read.
Tables, figures and the report can be rendered again from the published CSVs alone.
"""

import hashlib
import json
import mimetypes
import os
import runpy
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import chdir
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from rocrate.rocrate import ROCrate

from workflow.data import DataError
from workflow.data.catalogue import CATALOGUE
from workflow.data.sources import Bundle, File, Url
from workflow.lib.plan import Plan, Report
from workflow.lib.provenance import (
    environment,
    has_record,
    is_rendering,
    read_record,
    record_of,
    verify,
    write_text,
)
from workflow.lib.requests import ROOT, spelled
from workflow.lib.settings import check
from workflow.lib.verify import damages

# One CSV per stage and kind, tables, and the report.
PUBLISHED = (
    "*/*.csv", "*/numbers.json", "tables/*.md", "tables/*.tex", "figures/*.svg", "claims.json",
    "report.html",
)  # fmt: skip
CRATE = "ro-crate-metadata.json"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
Jobs = Iterable[Mapping[str, Any]]


def publish(plan: Plan, config: Mapping[str, Any], published: Path) -> int:
    """Replace what is published by what a run has made; return the number of files.

    Each result must come from a clean commit and be what the present commit asks for (settings and
    code), and what its job wrote; so must be what it was made from. The times of a stage must come
    from one commit and one machine.
    """
    run, records = Path(plan.results), dict[str, dict[str, Any]]()
    lacking, timed = list[str](), dict[str, dict[tuple[Any, ...], str]]()
    for file, asked, job in plan.requests(config):
        if not has_record(file):
            continue
        if not (Path(file).is_file() and record_of(file).is_file()):
            lacking += [f"{file}: not made"]
            continue
        record = records[Path(file).relative_to(run).as_posix()] = read_record(file)
        if record["request"] != asked:
            lacking += [f"{file}: made with other settings or code"]
        if job:
            record["seconds"] = _benchmark(run / "benchmarks" / f"{job.name}.tsv")
            if plan.stages[job.stage].kinds[job.kind].timed:
                made_by = (record["environment"][key] for key in ("commit", "processor", "cores"))
                timed.setdefault(job.stage, {}).setdefault(tuple(made_by), file)
    if lacking:
        raise DataError(
            f"{run} is not finished, so nothing was published. {len(lacking)} files are not what "
            f"the present commit asks for:\n{_listed(lacking)}\nRun it first: make paper"
        )
    _require_clean(records)
    for stage, places in timed.items():
        if len(places) > 1:
            files = _listed(
                f"{file}: {' '.join(map(str, place))}" for place, file in places.items()
            )
            raise DataError(
                f"the times of stage {stage} come from several commits or machines:\n{files}\n"
                "Delete those of all but one, and run again."
            )
    verify(*_shown(run, records))
    prepared = {
        file.name.partition(".")[0]: _benchmark(file)
        for file in run.glob("benchmarks/data/*.prepare.tsv")
    }
    return _write(run, published, records, prepared)


def render(published: Path, config: Mapping[str, Any]) -> int:
    """Make tables, figures and report again from the published CSVs, with the code there is now.

    Returns the number of files.
    """
    _require_clean({"report.html": {"environment": environment()}})
    with TemporaryDirectory(prefix="rnca-render-") as directory:
        run, record, records, made = rendered(published, config, Path(directory))
        return _write(run, published, records | made, record["prepared_seconds"])


def rendered(
    published: Path, config: Mapping[str, Any], place: Path, target: str = "report.html"
) -> tuple[Path, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Make the claims or the report, and all it shows, from the published CSVs in another place.

    Settings may have changed since the published run: experiments that they have no more are left
    out, new ones say that they were not run, and the report shows the settings of the run. A
    stage's report that reads what is not published, such as pictures, is not made again: its
    exhibits stay. Returns the run's directory, the published record, and the records of what stayed
    and of what was made.
    """
    record = json.loads((published / "record.json").read_text(encoding="utf-8"))
    if damaged := damages(published, record["files"]):
        raise DataError(f"{published} is damaged, restore it first: {'; '.join(damaged)}")
    asked = record["requests"][record["jobs"]["report.html"]["request_file"]]["settings"]["config"]
    keys = ("run", "seed")
    if wrong := [key for key in keys if asked.get(key) != config.get(key)]:
        raise DataError(
            f"{wrong[0]} {config.get(wrong[0])} is not that of the published run, "
            f"{asked.get(wrong[0])}. Give the settings of that run, or run these and publish that"
        )
    records = {
        name: job
        | {
            "environment": record["environments"][job["environment"]],
            "request": spelled(record["requests"][job["request_file"]]),
        }
        for name, job in record["jobs"].items()
    }
    for name in ("docs", "resources", "workflow"):
        (place / name).symlink_to(Path(name).resolve())
    run = place / "results" / asked["run"]
    _restore(published, records, place, run)
    with chdir(place):
        plan = Plan(check(config))
        remade = list(_render(plan, asked, target))
    names = [Path(file).relative_to(plan.results).as_posix() for file in remade]
    made = {name: _records(run)[name] for name in names if has_record(name)}
    return run, record, {name: records[name] for name in records.keys() - made.keys()}, made


class _Files(list[str]):
    """Inputs or outputs of a job, by name too, as Snakemake hands them to it."""

    def __init__(self, **named: str | list[str]) -> None:
        lists = ([files] if isinstance(files, str) else files for files in named.values())
        super().__init__(str(file) for files in lists for file in files)
        self.__dict__ |= named

    def get(self, name: str, default: Any = None) -> Any:
        """Return the files of a name."""
        return self.__dict__.get(name, default)


def _run(job: Report, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    """Run a job that renders without Snakemake; return what it has written."""
    files = _Files(**outputs)
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    given = _Files(**{**inputs, "request": job.request({})})
    snakemake = SimpleNamespace(rule=job.rule, threads=1, input=given, output=files, log=[job.log])
    try:
        runpy.run_path(str(ROOT / "workflow" / job.script), {"snakemake": snakemake}, "__main__")
    except SystemExit:
        raise DataError(f"{job.rule}: cannot be rendered again; the reason is above") from None
    return files


def _render(plan: Plan, config: Mapping[str, Any], target: str) -> Iterator[str]:
    """Make the claims or the report, and all it shows, from gathered CSVs; yield the files."""
    for stage, shown in plan.exhibits.items():
        job, own = plan.report(stage), plan.stages[stage]
        others = [file for what in own.reads.values() for file in plan.parts(f"{stage}/{what}")]
        if shown and not others and all(map(_is_published, job.outputs["gathered"])):
            gathered = list(filter(os.path.isfile, job.outputs["gathered"]))
            papers = {name: job.inputs[name] for name in own.paper}
            inputs = {"gathered": gathered, **papers}
            yield from _run(job, inputs, {"shown": job.outputs["shown"]})
    for job in (plan.claims(), *([plan.page(config)] if target == "report.html" else [])):
        yield from _run(job, job.inputs, job.outputs)


def _restore(published: Path, records: dict[str, dict[str, Any]], place: Path, run: Path) -> None:
    """Lay out published files in a run's directory, with their records and those of its fits.

    Requests go where no run writes its own: the files were made with the code of their time.
    """
    for name, record in records.items():
        file, source = run / name, published / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if source.is_file():
            shutil.copy(source, file)
        request = Path("published", record["request_file"])
        write_text(place / request, record["request"])
        restored = record | {
            "path": str(Path("results", run.name, name)),
            "request_file": str(request),
        }
        write_text(record_of(file), json.dumps(restored))


def _shown(run: Path, records: Collection[str]) -> list[Path]:
    """List the files of a run that are published: some of those whose records are given."""
    found = [file for pattern in PUBLISHED for file in run.glob(pattern)]
    known = {run / name for name in records}
    shown = sorted(known.intersection(found))
    return [file for file in shown if _is_published(file) and file.is_file()]


def _is_published(csv: str | os.PathLike[str]) -> bool:
    """Tell whether a gathered CSV is published: pictures are other people's data."""
    return "pictures" not in Path(csv).name


def _records(run: Path) -> dict[str, dict[str, Any]]:
    """Read the records of all results of a run, by their names."""
    records = (file for file in run.rglob("*.json") if not record_of(file).is_file())
    files = {file.relative_to(run).as_posix(): file for file in records}
    return {
        name.removesuffix(".json"): read_record(file.with_suffix(""))
        for name, file in files.items()
        if not name.startswith("requests/")
    }


def _write(
    run: Path, published: Path, records: dict[str, dict[str, Any]], prepared: Mapping[str, Any]
) -> int:
    """Publish the shown files of a run with one record; return their number."""
    contents = {
        file.relative_to(run).as_posix(): file.read_bytes() for file in _shown(run, records)
    }
    files = {name: records[name]["sha256"] for name in contents}
    # The crate must hold the workflow.
    contents["Snakefile"] = Path("workflow", "Snakefile").read_bytes()
    files["Snakefile"] = hashlib.sha256(contents["Snakefile"]).hexdigest()
    merged = {
        "published_by": environment()["commit"],
        "commits": _commits(records),
        "prepared_seconds": prepared,
        "files": files,
        **_each_once(records),
    }
    contents[CRATE] = crate(merged).encode()
    files[CRATE] = hashlib.sha256(contents[CRATE]).hexdigest()
    _replace(published, contents, merged)
    return len(contents) + 1


def _each_once(records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Keep what several records repeat in one place: a job has the number of its environment."""
    environments: list[Any] = []
    requests, jobs = {}, {}
    for name, each in records.items():
        if each["environment"] not in environments:
            environments.append(each["environment"])
        requests[each["request_file"]] = json.loads(each["request"])
        own = {key: value for key, value in each.items() if key not in ("path", "request")}
        jobs[name] = own | {"environment": environments.index(each["environment"])}
    return {"environments": environments, "requests": requests, "jobs": jobs}


def _replace(published: Path, contents: dict[str, bytes], record: dict[str, Any]) -> None:
    """Put files in the place of those that are published, all at once; benchmarks stay."""
    if published.is_symlink():
        raise DataError(
            f"{published} is a link: what it leads to would be deleted; remove the link"
        )
    new, old = (published.with_name(f".{published.name}.{kind}") for kind in ("new", "old"))
    if old.is_dir() and not published.exists():
        old.rename(published)  # of a call that was killed between its two renames
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    for name, content in contents.items():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).write_bytes(content)
    write_text(new / "record.json", json.dumps(record, indent=1) + "\n")
    if published.is_dir():
        if (published / "bench").is_dir():
            shutil.copytree(published / "bench", new / "bench", dirs_exist_ok=True)
        published.rename(old)
    new.rename(published)
    shutil.rmtree(old, ignore_errors=True)


def _benchmark(file: Path) -> float | None:
    """Read the seconds of a job from Snakemake's benchmark; None if there is none."""
    if not file.is_file():
        return None
    return float(file.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])


def _require_clean(records: dict[str, dict[str, Any]]) -> None:
    """Raise DataError unless all records come from commits without changes."""
    found = {str(each["environment"]["commit"]): name for name, each in records.items()}
    if "None" in found:
        raise DataError("the commit of the results is unknown: run in a git clone of the project.")
    if changed := {commit: name for commit, name in found.items() if commit.endswith("+changes")}:
        listed = _listed(f"{commit}: {name}, for one" for commit, name in changed.items())
        raise DataError(
            f"only results of commits without changes are published; these are of\n{listed}\n"
            "Commit, and run again from that commit."
        )


def _listed(lines: Iterable[str]) -> str:
    """Write lines below each other, at most ten."""
    every = list(lines)
    more = [f"and {len(every) - 10} more"] if len(every) > 10 else []
    return "\n".join(f"  {line}" for line in (*every[:10], *more))


def _commits(records: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """List the commits that the fits of each stage come from, and what renders."""
    found: dict[str, set[str]] = {}
    for name, record in records.items():
        stage = "rendering" if is_rendering(record) else name.partition("/")[0]
        found.setdefault(stage, set()).add(str(record["environment"]["commit"]))
    return {stage: sorted(commits) for stage, commits in sorted(found.items())}


def crate(record: Mapping[str, Any]) -> str:
    """Say what a record says in the form of a crate's metadata."""
    jobs, made = record["jobs"].values(), ROCrate(version="1.1")
    started, ended = _times(jobs)
    made.name = "Randomized nonlinear component analysis, reproduced"
    made.description = "Tables, figures and report of one run of the workflow, and its record."
    made.datePublished = ended
    made.license = _add(made, "https://spdx.org/licenses/MIT", "CreativeWork", name="MIT License")
    developers = _add(made, "#developers", "Organization", name="The rnca developers")
    made.root_dataset["author"] = made.publisher = developers
    software = [
        _add(made, f"#{name}-{version}", "SoftwareApplication", name=name, softwareVersion=version)
        for name, version in _software(record["environments"])
    ]
    workflow = made.add_workflow(
        dest_path="Snakefile",
        main=True,
        lang="snakemake",
        properties={
            "name": "Snakefile",
            "sha256": record["files"]["Snakefile"],
            "description": "From public data to tables, figures, claims and report.",
            "version": record["published_by"],
            "conformsTo": {"@id": _BIOSCHEMAS},
            "encodingFormat": "text/x-python",
            "softwareRequirements": software,
        },
    )
    made.root_dataset["conformsTo"] = [
        _add(made, address, "CreativeWork", name=name, version=address.rpartition("/")[2])
        for address, name in _PROFILES.items()
    ]
    made.add_file(dest_path="record.json", properties=_file("record.json"))
    made.root_dataset["mentions"] = made.add_action(
        workflow,
        "#run",
        object=list(_datasets(made, jobs)),
        result=[
            made.add_file(dest_path=name, properties=_file(name) | {"sha256": sha256})
            for name, sha256 in record["files"].items()
            if name != "Snakefile"
        ],
        properties={
            "name": "Run of the workflow",
            "description": "record.json has the commits, and the settings, code, inputs, versions "
            "and time of each job.",
            "startTime": started,
            "endTime": ended,
        },
    )
    return json.dumps(made.metadata.generate(), indent=1, ensure_ascii=False) + "\n"


def _add(made: ROCrate, identifier: str, kind: str, **properties: Any) -> Any:
    return made.add_jsonld({"@id": identifier, "@type": kind, **properties})


def _file(name: str) -> dict[str, str]:
    kind = mimetypes.guess_type(name)[0]
    return {"name": Path(name).name, "encodingFormat": kind or "text/plain"}


def _times(jobs: Jobs) -> tuple[str, str]:
    """Return when the first job began, if that is known, and when the last one ended."""
    ends = [(datetime.fromisoformat(each["written"]), each.get("seconds") or 0) for each in jobs]
    began = min(end - timedelta(seconds=round(seconds)) for end, seconds in ends)
    return began.isoformat(), max(end for end, _ in ends).isoformat()


def _software(environments: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """List the versions of Python, packages and BLAS that the jobs ran with."""
    found = set()
    for each in environments:
        found |= {("python", each["python"]), *each["packages"].items()}
        found |= {tuple(library.split(" ", 1)) for library in each["blas"]}
    return sorted(found)


def _datasets(made: ROCrate, jobs: Jobs) -> Iterator[Any]:
    """Add the datasets that the jobs read, with addresses and checksums of what is fetched."""
    prepared = {
        Path(file).name: sha256
        for each in jobs
        for file, sha256 in each["inputs"].items()
        if file.startswith("data/prepared/")
    }
    for name, sha256 in sorted(prepared.items()):
        entry = CATALOGUE.get(name)
        properties: dict[str, Any] = {
            "name": entry.title if entry else name,
            "description": "Prepared from what it has part in; the sha256 of the description of "
            f"the prepared arrays, meta.json, is {sha256}.",
        }
        if entry and (source := entry.source):
            properties |= {"license": source.licence, "citation": source.citation}
            properties |= {"url": source.homepage}
            properties |= {"hasPart": [_fetched(made, file) for file in source.files.values()]}
        yield _add(made, f"#{name}", "Dataset", **properties)


def _fetched(made: ROCrate, file: File) -> Any:
    """Add a file of a source, or the archive that has it, under the first of its addresses."""
    forms = [*file.forms()]
    forms += [each.archive for form in forms for each in form.origins if isinstance(each, Bundle)]
    found = ((str(each), form) for form in forms for each in form.origins if isinstance(each, Url))
    address, form = next(found, (None, file))
    if address is None:
        return _add(made, f"#{file.checksum.cache_name}", "CreativeWork", name=file.name)
    checksum = form.checksum
    key = "sha256" if checksum.algorithm == "sha256" else "identifier"
    properties = _file(form.name) | {key: checksum.digest if key == "sha256" else str(checksum)}
    if form.size is not None:
        properties["contentSize"] = str(form.size)
    return made.get(address) or made.add_file(address, properties=properties)
