"""Copy what a finished run shows to ``results/published``, with one record for all of it."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from workflow.data.errors import DataError
from workflow.lib.ancestry import verify
from workflow.lib.crate import crate
from workflow.lib.provenance import environment, is_rendering, read_record, write_text

# One CSV per stage and kind, tables, and the report; pictures in CSVs are other people's data.
PUBLISHED = ("*/*.csv", "tables/*.md", "tables/*.tex", "report.html")
FIGURES = ("rcca", "rcca_minutes", "bounds", "autoencoder")


def publish(run: Path, published: Path) -> int:
    """Replace what is published by what a run has made; return the number of files.

    Raises
    ------
    DataError
        If the fits of the run do not come from one commit without changes, nor its tables and
        figures from one, or if a file, or one that it was made from, is not what its job wrote.
    """
    files = sorted(
        [
            *(file for pattern in PUBLISHED for file in run.glob(pattern)),
            *(run / "figures" / f"{name}.png" for name in FIGURES),
        ]
    )
    files = [file for file in files if "pictures" not in file.name and file.is_file()]
    jobs = {record.relative_to(run).as_posix(): record for record in run.rglob("*.json")}
    records = {
        name.removesuffix(".json"): read_record(file.with_suffix(""))
        for name, file in jobs.items()
        if not name.startswith("requests/")
    }
    for name, each in records.items():
        if not is_rendering(each):
            each["seconds"] = _seconds(run, name, str(each["rule"]))
    merged = {
        "fits": _commit({name: each for name, each in records.items() if not is_rendering(each)}),
        "rendering": _commit({name: each for name, each in records.items() if is_rendering(each)}),
        "published_by": environment()["commit"],
        "files": {},
        **_each_once(records),
        "prepared_seconds": {
            file.stem: _benchmark(file) for file in run.glob("benchmarks/prepare/*.tsv")
        },
    }
    verify(*files)
    contents = {file.relative_to(run).as_posix(): file.read_bytes() for file in files}
    merged["files"] = {name: records[name]["sha256"] for name in contents}
    # The crate must hold the workflow.
    contents["Snakefile"] = Path("Snakefile").read_bytes()
    merged["files"]["Snakefile"] = hashlib.sha256(contents["Snakefile"]).hexdigest()
    contents["ro-crate-metadata.json"] = crate(merged).encode()
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
        own = {key: value for key, value in each.items() if key != "request"}
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
    path, word = run / "benchmarks" / name.removesuffix(".csv"), rule.rpartition("_")[2]
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
