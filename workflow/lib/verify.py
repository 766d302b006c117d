"""Check what is published: every file against the record, and a sample of jobs computed anew."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from workflow.data import FetchError
from workflow.data.catalogue import CATALOGUE
from workflow.data.fetch import default_cache, fetch_source, mirror_directory
from workflow.lib.provenance import is_rendering, read_record

# What `make publish` keeps of other commands, and the record itself.
_UNRECORDED = re.compile(r"bench/|record\.json$")
# Jobs that measure time, and the training of networks, in which rounding grows without bound.
_NOT_REPEATABLE = {"rcca_deep", "rcca_svd", "rcca_timing", "rpca_times"}
# Measured anew by each run; estimates of rounding errors, which are rounding errors themselves; and
# what depends on where a solver stops or on ties in cross-validation.
_NOT_COMPARED = re.compile(
    "second|minute|peak_mb|megabytes|threads|smallest_pivot|predicted_error|solved|cost|chosen"
)
# The rows of lupi/settings.csv, which are compared, that cross-validation has chosen.
_CHOSEN = "lupi/accuracy.csv"
# Relative to the largest number of a column. Features are in single precision, whose rounding is
# 6e-8 of a number; fits divide by the square roots of small eigenvalues, down to 1e-4 or less.
# Numbers below 1e-9, a tolerance of double precision, count as zero.
_TOLERANCE, _ZERO = 1e-5, 1e-9
# Shares of rows that are classified rightly: a solver that stops at an accuracy of 1e-3 lets rows
# near a boundary change sides, by which cross-validation may choose another cost.
_COUNTED, _COUNTED_TOLERANCE = re.compile("(lupi|extensions)/.*(accuracy|error|nmi|power)"), 0.02
# Below this reg an autoencoder's regression divides by eigenvalues near the rounding of double
# precision: its errors differ by 2e-5 between one thread and two. Tables show 1e-3 of them.
_SMALL_REG, _SMALL_REG_TOLERANCE = 1e-12, 1e-3
_SHOWN_DIFFERENCES = 10


@dataclass(frozen=True, eq=False)
class Job:
    """A job of the published run that can be repeated on its own."""

    rule: str
    parts: dict[str, str]  # CSVs under results/<run>, and the published CSV with the rows of each
    inputs: dict[str, str]  # the prepared dataset that it read, if any, and its identity
    request: dict[str, Any]  # its settings and the hash of its code
    seconds: float  # how long it took

    @property
    def datasets(self) -> set[str]:
        """The names of the datasets that it read."""
        return {Path(path).name for path in self.inputs}


def verify_published(published: Path, minutes: float) -> int:
    """Check files, recompute a sample, and print what was found.

    Returns 0 if all files are intact and all that was recomputed agrees; 1 if a file is damaged, a
    number differs or a job fails; 2 if nothing could be recomputed.
    """
    try:
        record = json.loads((published / "record.json").read_text(encoding="utf-8"))
        damaged = damages(published, record["files"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        print(f"{published / 'record.json'}: not a record of what is published ({error!r})")
        return 1
    if damaged:
        print(f"{published} is damaged:", *damaged, sep="\n  ")
        return 1
    print(f"{published}: all {len(record['files'])} files are as recorded.")
    try:
        page = record["jobs"]["report.html"]["request_file"]
        config = record["requests"][page]["settings"]["config"]
        results = f"results/{config['run']}/"
        jobs = repeatable(record, results)
        prepared = record["prepared_seconds"]
    except LookupError as error:
        print(f"Nothing can be recomputed: this record has no {error}.")
        return 2
    with TemporaryDirectory(prefix="rnca-verify-") as directory:
        place = Path(directory)
        (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
        sample, unavailable = available_sample(jobs, prepared, 60 * minutes)
        print(f"Recomputing {len(sample)} of {len(jobs)} jobs that can be repeated.", flush=True)
        if sample:
            launch(place, [results + next(iter(job.parts)) for job in sample])
        code = report(published, place / results, sample)
    for name, reason in unavailable.items():
        count = sum(name in job.datasets for job in jobs)
        print(f"Not verified: {count} jobs on {name}, which is unavailable ({reason}).")
    return code


def damages(published: Path, recorded: Mapping[str, str]) -> list[str]:
    """List the files that are missing, changed or new, that is not in the record."""
    found = {
        path.relative_to(published).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in published.rglob("*")
        if path.is_file()
    }
    return [
        f"{name}: " + ("missing" if name not in found else "changed" if name in recorded else "new")
        for name in sorted(found.keys() | recorded.keys())
        if found.get(name) != recorded.get(name) and not _UNRECORDED.match(name)
    ]


def repeatable(record: Mapping[str, Any], results: str) -> list[Job]:
    """List the jobs that made published rows and read data alone, not what other jobs made."""
    published = {name: name for name in record["files"] if name != _CHOSEN}
    for name, each in record["jobs"].items():
        if each["rule"] == "gather" and name in published:
            published |= {part.removeprefix(results): name for part in each["inputs"]}
    jobs = {}
    for each in record["jobs"].values():
        if is_rendering(each) or each["rule"] in _NOT_REPEATABLE or each["seconds"] is None:
            continue
        made = [output.removeprefix(results) for output in each["outputs"]]
        parts = {part: published[part] for part in made if part in published}
        request, inputs = each["request_file"], dict(each["inputs"])
        inputs.pop(request)
        if parts and all(file.startswith("data/prepared/") for file in inputs):
            asked = record["requests"][request]
            jobs[request] = Job(each["rule"], parts, inputs, asked, each["seconds"])
    return list(jobs.values())


def choose(jobs: Iterable[Job], prepared: Mapping[str, float], seconds: float) -> list[Job]:
    """Let stages take turns in giving their cheapest job per rule and dataset, then the next ones.

    ``seconds`` is what all jobs and the preparation of their datasets may take; ``prepared`` says
    how long preparing each dataset takes.
    """
    cheapest = sorted(jobs, key=lambda job: job.seconds)
    by_kind = _in_turns(cheapest, lambda job: (job.rule, *job.datasets))
    chosen: list[Job] = []
    there: set[str] = set()
    for job in _in_turns(by_kind, lambda job: job.rule.partition("_")[0]):
        cost = job.seconds + sum(prepared.get(name, 0) for name in job.datasets - there)
        if cost <= seconds:
            seconds -= cost
            there |= job.datasets
            chosen.append(job)
    return chosen


def _in_turns(jobs: Sequence[Job], group: Callable[[Job], Hashable]) -> list[Job]:
    """Let groups of jobs take turns; within a group, jobs stay in order."""
    seen = Counter[Hashable]()
    turns = []
    for job in jobs:
        turns.append((seen[group(job)], job))
        seen[group(job)] += 1
    return [job for _, job in sorted(turns, key=lambda each: each[0])]


def available_sample(
    jobs: Sequence[Job], prepared: Mapping[str, float], seconds: float
) -> tuple[list[Job], dict[str, str]]:
    """Choose jobs whose datasets can be fetched; return also why other datasets cannot."""
    fetched: set[str] = set()
    reasons: dict[str, str] = {}
    while True:
        available = [job for job in jobs if not job.datasets & reasons.keys()]
        sample = choose(available, prepared, seconds)
        untried = {name for job in sample for name in job.datasets} - fetched
        if not untried:
            return sample, reasons
        for name in sorted(untried):
            source = CATALOGUE[name].source if name in CATALOGUE else None
            try:
                if source:
                    fetch_source(source)
                fetched.add(name)
            except FetchError as error:
                reasons[name] = str(error).splitlines()[0].removesuffix(". Sources tried:")


def launch(place: Path, targets: Iterable[str]) -> None:
    """Run the workflow in another directory, with this clone's code and cache."""
    command = [sys.executable, "-m", "workflow.run", *targets]
    command += ["--snakefile", str(Path("Snakefile").resolve()), "--directory", str(place)]
    command += ["--configfile", str(place / "config.json")]
    paths = {"RNCA_CACHE": default_cache(), "RNCA_MIRROR": mirror_directory()}
    absolute = {name: str(path.resolve()) for name, path in paths.items() if path}
    subprocess.run(command, env=os.environ | absolute, check=False)


def report(published: Path, results: Path, sample: Sequence[Job]) -> int:
    """Print how far what was recomputed agrees with what is published; return the exit code."""
    rows, values, changed = 0, 0, Counter[str]()
    different, failed = list[str](), list[str]()
    for job in sample:
        if not all((results / part).is_file() for part in job.parts):
            failed += [f"{job.rule}: {', '.join(job.parts)}"]
            continue
        changed.update(deviations(job, read_record(results / next(iter(job.parts)))))
        for part, name in job.parts.items():
            shape, lines = differences(published / name, results / part)
            rows, values = rows + shape[0], values + shape[0] * shape[1]
            different += lines
    if failed:
        print("These jobs failed:", *failed, sep="\n  ")
    if len(failed) == len(sample):
        print("Nothing could be recomputed.")
        return 2
    for what, count in changed.items():
        print(f"{count} jobs were recomputed with other {what} than recorded.")
    print(
        f"{len(sample) - len(failed)} jobs recomputed, {rows} rows: {values - len(different)} of "
        f"{values} values agree. Tolerance, relative to the largest number of a column: "
        f"{_TOLERANCE:g}; {_COUNTED_TOLERANCE:g} for shares of classified rows, "
        f"{_SMALL_REG_TOLERANCE:g} for errors of autoencoders with a reg below {_SMALL_REG:g}."
    )
    for line in different[:_SHOWN_DIFFERENCES]:
        print(f"  {line}")
    return 1 if different or failed else 0


def deviations(job: Job, record: Mapping[str, Any]) -> Iterator[str]:
    """Name what a job was recomputed with other than it was recorded with."""
    asked, recorded = json.loads(record["request"]), job.request
    yield from (key for key in ("settings", "code") if asked[key] != recorded[key])
    if any(record["inputs"][path] != identity for path, identity in job.inputs.items()):
        yield "data"


def differences(published: Path, part: Path) -> tuple[tuple[int, ...], list[str]]:
    """Compare the rows of a part with those rows of a published CSV that are most like them.

    The rows of a part follow each other in the published CSV; where they begin is not recorded.
    Returns how many rows and columns were compared, and a line for each value that differs.
    """
    found, expected = (pd.read_csv(file, dtype=str).fillna("") for file in (part, published))
    if "experiment" in expected:
        expected = expected[expected["experiment"] == part.parent.name]
    columns = [name for name in found.columns.astype(str) if not _NOT_COMPARED.search(name)]
    ours, theirs = (each.reindex(columns=columns, fill_value="") for each in (found, expected))
    numbers, others = (
        each.apply(pd.to_numeric, errors="coerce").to_numpy(float) for each in (ours, theirs)
    )
    stage = published.parent.name
    is_counted = [bool(_COUNTED.match(f"{stage}/{name}")) for name in columns]
    tolerance = np.where(is_counted, _COUNTED_TOLERANCE, _TOLERANCE)
    if stage == "autoencoder" and "reg" in columns:
        is_small = numbers[:, columns.index("reg")] < _SMALL_REG
        is_error = [name.endswith(("_error", "_psnr")) for name in columns]
        tolerance = np.where(np.outer(is_small, is_error), _SMALL_REG_TOLERANCE, tolerance)
    # Sums of correlations absolutely: a correlation near zero has no relative accuracy.
    least = [float("sum" in name) for name in columns]
    allowed = tolerance * np.fmax(np.nanmax(np.abs(numbers), axis=0, initial=0), least) + _ZERO
    texts, other_texts = ours.to_numpy(str), theirs.to_numpy(str)

    def differ(start: int) -> Any:
        rows = slice(start, start + len(ours))
        return ~(np.abs(numbers - others[rows]) <= allowed) & (texts != other_texts[rows])

    starts = range(len(theirs) - len(ours) + 1)
    if not starts:
        return texts.shape, [f"{published}: has fewer rows than {part.parent.name}/{part.name}"]
    first = min(starts, key=lambda start: np.count_nonzero(differ(start)))
    return texts.shape, [
        f"{published}, line {theirs.index[first + row] + 2}, {columns[column]}: "
        f"{other_texts[first + row, column]}, recomputed {texts[row, column]}"
        for row, column in np.argwhere(differ(first))
    ]
