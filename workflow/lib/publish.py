"""Copy what a finished run shows to ``results/published``, with one record for all of it.

The record is written twice: as JSON, and as a Workflow Run RO-Crate, a form that archives read.
Tables, figures and the report can be rendered again from the published CSVs alone.
"""

import hashlib
import json
import mimetypes
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rocrate.rocrate import ROCrate

from workflow.data import DataError
from workflow.data.catalogue import CATALOGUE
from workflow.data.sources import Bundle, File, Url
from workflow.lib.exhibits import stage_names
from workflow.lib.provenance import (
    environment,
    is_rendering,
    read_record,
    record_of,
    verify,
    write_text,
)
from workflow.lib.requests import spelled
from workflow.lib.verify import damages

# One CSV per stage and kind, tables, and the report; pictures in CSVs are other people's data.
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


def publish(run: Path, published: Path) -> int:
    """Replace what is published by what a run has made; return the number of files.

    Its fits must come from one commit without changes, and so must its tables and figures; all
    files, and those that they were made from, must be what their jobs wrote.
    """
    records = _records(run)
    fits = {name: record for name, record in records.items() if not is_rendering(record)}
    for name, record in fits.items():
        record["seconds"] = _seconds(run, name, str(record["rule"]))
    commits = {
        "fits": _commit(fits),
        "rendering": _commit({name: each for name, each in records.items() if name not in fits}),
    }
    verify(*_shown(run))
    prepared = {file.stem: _benchmark(file) for file in run.glob("benchmarks/prepare/*.tsv")}
    return _write(run, published, records, **commits, prepared_seconds=prepared)


def render(published: Path, configfile: Path, config: Mapping[str, Any]) -> int:
    """Make tables, figures and report again from the published CSVs, with the code there is now.

    Returns the number of files.
    """
    _commit({"report.html": {"environment": environment()}})
    with TemporaryDirectory(prefix="rnca-render-") as directory:
        run, record, records, made = rendered(published, configfile, config, Path(directory))
        commits = {"fits": record["fits"], "rendering": _commit(made)}
        kept = {"prepared_seconds": record["prepared_seconds"]}
        return _write(run, published, records | made, **commits, **kept)


def rendered(
    published: Path,
    configfile: Path,
    config: Mapping[str, Any],
    place: Path,
    target: str = "report.html",
) -> tuple[Path, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Make a file of a run, and what it is made of, from the published CSVs in another directory.

    The settings may differ from those of the published run in titles alone. A report that reads
    what is not published, such as pictures, is not made again: its exhibits stay. Returns the run's
    directory, the published record, and the records of what was published and of what was made.
    """
    record = json.loads((published / "record.json").read_text(encoding="utf-8"))
    if damaged := damages(published, record["files"]):
        raise DataError(f"{published} is damaged, restore it first: {'; '.join(damaged)}")
    asked = record["requests"][record["jobs"]["report.html"]["request_file"]]["settings"]["config"]
    if _untitled(asked) != _untitled(config):
        raise DataError(
            f"other settings than those of the published run, {asked['run']}: only titles may "
            "differ when it is rendered again. Restore them, or run with them and publish that"
        )
    rules = _renderable(record)
    records = {
        name: job
        | {
            "environment": record["environments"][job["environment"]],
            "request": spelled(record["requests"][job["request_file"]]),
        }
        for name, job in record["jobs"].items()
        if job["rule"] not in rules
    }
    report = f"results/{asked['run']}/{target}"
    for name in ("docs", "resources", "workflow"):
        (place / name).symlink_to(Path(name).resolve())
    run = place / "results" / asked["run"]
    _restore(published, records, place, run)
    command = [sys.executable, "-m", "snakemake", report, "--cores", "1"]
    command += ["--snakefile", str(Path("Snakefile").resolve()), "--directory", str(place)]
    # What no allowed rule makes is taken as it is there.
    command += ["--configfile", str(configfile.resolve()), "--allowed-rules", *rules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DataError(f"the report cannot be rendered again:\n{done.stdout}{done.stderr}")
    made = {name: each for name, each in _records(run).items() if each["rule"] in rules}
    return run, record, records, made


def _untitled(settings: Any) -> Any:
    """Leave out the titles in settings."""
    if not isinstance(settings, Mapping):
        return settings
    return {key: _untitled(value) for key, value in settings.items() if key != "title"}


def _renderable(record: Mapping[str, Any]) -> list[str]:
    """List the rules that render, but for reports that read results that are not published."""
    results = f"results/{record['jobs']['report.html']['request_file'].split('/')[1]}/"
    unpublished = {
        job["rule"]
        for job in record["jobs"].values()
        for file in job["inputs"]
        if file.startswith(results)
        and file != job["request_file"]
        and file.removeprefix(results) not in record["files"]
    }
    reports = {f"{stage}_report" for stage in stage_names()}
    return [*sorted(reports - unpublished), "claims", "page"]


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


def _shown(run: Path) -> list[Path]:
    """List the files of a run that are published."""
    found = [file for pattern in PUBLISHED for file in run.glob(pattern)]
    return [file for file in sorted(found) if "pictures" not in file.name and file.is_file()]


def _records(run: Path) -> dict[str, dict[str, Any]]:
    """Read the records of all results of a run, by their names."""
    records = (file for file in run.rglob("*.json") if not record_of(file).is_file())
    files = {file.relative_to(run).as_posix(): file for file in records}
    return {
        name.removesuffix(".json"): read_record(file.with_suffix(""))
        for name, file in files.items()
        if not name.startswith("requests/")
    }


def _write(run: Path, published: Path, records: dict[str, dict[str, Any]], **merged: Any) -> int:
    """Publish the shown files of a run with one record; return their number."""
    contents = {file.relative_to(run).as_posix(): file.read_bytes() for file in _shown(run)}
    files = {name: records[name]["sha256"] for name in contents}
    # The crate must hold the workflow.
    contents["Snakefile"] = Path("Snakefile").read_bytes()
    files["Snakefile"] = hashlib.sha256(contents["Snakefile"]).hexdigest()
    merged |= {"published_by": environment()["commit"], "files": files, **_each_once(records)}
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
    write_text(new / "record.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
    if published.is_dir():
        if (published / "bench").is_dir():
            shutil.copytree(published / "bench", new / "bench", dirs_exist_ok=True)
        published.rename(old)
    new.rename(published)
    shutil.rmtree(old, ignore_errors=True)


def _seconds(run: Path, name: str, rule: str) -> float | None:
    """Return how long the job of an output took; None if its benchmark is not found.

    Benchmarks are named after what a job makes: the output without its suffixes or its directory,
    with the last word of the rule where one directory or stem has several.
    """
    path, word = (run / "benchmarks" / name).with_suffix(""), rule.rpartition("_")[2]
    stem = path.with_suffix("")
    named = [path, stem, f"{stem}.{word}", path.parent / word, path.parent, path.parents[1] / rule]
    found = (Path(f"{each}.tsv") for each in named)
    return next((_benchmark(file) for file in found if file.is_file()), None)


def _benchmark(file: Path) -> float:
    """Read the seconds of a job from Snakemake's benchmark."""
    return float(file.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])


def _commit(records: dict[str, dict[str, Any]]) -> str:
    """Return the one clean commit that all records come from."""
    found: dict[str, str] = {}
    for name, each in records.items():
        found.setdefault(str(each["environment"]["commit"]), name)
    if len(found) != 1 or any(commit.endswith("+changes") for commit in found):
        listed = "\n".join(f"  {commit}: {name}, for one" for commit, name in found.items())
        raise DataError(
            f"only results of one commit, without changes, are published; these are of\n{listed}\n"
            "Commit, and run again from that commit."
        )
    if "None" in found:
        raise DataError("the commit of the results is unknown: run in a git clone of the project.")
    return next(iter(found))


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
            "version": record["rendering"],
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
            "description": f"The fits were made at commit {record['fits']}. record.json has the "
            "settings, code, inputs, versions and time of each job.",
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
