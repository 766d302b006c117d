"""The record of a published run as a Workflow Run RO-Crate, a form that archives read."""

import json
import mimetypes
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rocrate.rocrate import ROCrate

from workflow.data.catalogue import CATALOGUE
from workflow.data.sources import Bundle, File, Url

_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
Jobs = Iterable[Mapping[str, Any]]


def crate(record: Mapping[str, Any]) -> str:
    """Say what the record of `workflow.lib.publish` says, in the form of a crate's metadata."""
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
    for environment in environments:
        found |= {("python", environment["python"]), *environment["packages"].items()}
        found |= {tuple(library.split(" ", 1)) for library in environment["blas"]}
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
