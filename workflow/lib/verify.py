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
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from snakemake.exceptions import WorkflowError

from workflow.data import FetchError
from workflow.data.catalogue import CATALOGUE
from workflow.data.fetch import default_cache, fetch_source, mirror_directory
from workflow.lib.provenance import read_record
from workflow.lib.settings import check

# What `make publish` keeps of other commands, and the record itself.
_UNRECORDED = re.compile(r"bench/|record\.json$")


class Tolerance(NamedTuple):
    """How far numbers that are computed again agree, and why not further.

    ``csv`` and ``columns`` are regular expressions, of ``<stage>/<kind>`` and of names.
    """

    csv: str
    columns: str
    relative: float | None  # to the largest number of the column; None: not compared
    reason: str
    least: float = 0.0  # what the largest number counts as at least
    below: tuple[str, float] | None = None  # only in rows in which this column is smaller


# The first one that matches holds.
TOLERANCES = (
    Tolerance("lupi/accuracy", "", None, "rows of lupi/settings, which are compared, as chosen"),
    Tolerance("", "second|minute|peak_mb|megabytes|threads", None, "measured anew by each run"),
    Tolerance("", "smallest_pivot|predicted_error", None, "estimates of rounding errors"),
    Tolerance("", "solved|cost|chosen", None, "where a solver stops; ties in cross-validation"),
    Tolerance(
        "lupi|extensions",
        "accuracy|error|nmi|power",
        0.02,
        "shares of classified rows: a solver that stops at an accuracy of 1e-3 lets rows near a "
        "boundary change sides, by which cross-validation may choose another cost",
    ),
    Tolerance(
        "autoencoder",
        "(_error|_psnr)$",
        1e-3,
        "regressions that divide by eigenvalues near the rounding of double precision: errors "
        "differ by 2e-5 between one thread and two; tables show 1e-3 of them",
        below=("reg", 1e-12),
    ),
    Tolerance("", "sum", 1e-5, "correlations near zero have no relative accuracy", least=1.0),
    Tolerance(
        "",
        "",
        1e-5,
        "features are in single precision, whose rounding is 6e-8 of a number; fits divide by the "
        "square roots of small eigenvalues, down to 1e-4 or less",
    ),
)
# Smaller numbers, a tolerance of double precision, count as zero.
_ZERO = 1e-9
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
        jobs = repeatable(record)
        prepared = record["prepared_seconds"]
    except LookupError as error:
        print(f"Nothing can be recomputed: this record has no {error}.")
        return 2
    except WorkflowError as error:
        print(f"Nothing can be recomputed: the settings are those of an earlier version. {error}")
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


def repeatable(record: Mapping[str, Any]) -> list[Job]:
    """List the jobs that made published rows and read data alone, not what other jobs made."""
    config = record["requests"][record["jobs"]["report.html"]["request_file"]]["settings"]["config"]
    settings, published = check(config), record["files"]
    jobs = []
    for job in settings.jobs():
        kind, rule = settings.stages()[job.stage].kinds[job.kind], f"{job.stage}_{job.kind}"
        parts = {f"{job.place}.{what}.csv": f"{job.stage}/{what}.csv" for what in kind.csvs}
        parts = {part: name for part, name in parts.items() if name in published}
        made = record["jobs"].get(next(iter(parts), ""))
        if not (made and kind.repeatable) or made["seconds"] is None:
            continue
        request, inputs = made["request_file"], dict(made["inputs"])
        inputs.pop(request)
        if all(file.startswith("data/prepared/") for file in inputs):
            asked = record["requests"][request]
            jobs.append(Job(rule, parts, inputs, asked, made["seconds"]))
    return jobs


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
    command += ["--snakefile", str(Path("workflow", "Snakefile").resolve())]
    command += ["--directory", str(place)]
    command += ["--configfile", str(place / "config.json")]
    paths = {"RNCA_CACHE": default_cache(), "RNCA_MIRROR": mirror_directory()}
    absolute = {name: str(path.resolve()) for name, path in paths.items() if path}
    subprocess.run(command, env=os.environ | absolute, check=False)


def report(published: Path, results: Path, sample: Sequence[Job]) -> int:
    """Print how far what was recomputed agrees with what is published; return the exit code."""
    values, changed = 0, Counter[str]()
    different, failed = list[str](), list[str]()
    for job in sample:
        if not all((results / part).is_file() for part in job.parts):
            failed += [f"{job.rule}: {', '.join(job.parts)}"]
            continue
        changed.update(deviations(job, read_record(results / next(iter(job.parts)))))
        for part, name in job.parts.items():
            count, lines = differences(published / name, results / part)
            values, different = values + count, different + lines
    if failed:
        print("These jobs failed:", *failed, sep="\n  ")
    if len(failed) == len(sample):
        print("Nothing could be recomputed.")
        return 2
    for what, count in changed.items():
        print(f"{count} jobs were recomputed with other {what} than recorded.")
    print(
        f"{len(sample) - len(failed)} jobs recomputed: {values - len(different)} of {values} "
        "values agree."
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


def tolerances(kind: str, rows: pd.DataFrame) -> Any:
    """Return what each cell of rows of a ``<stage>/<kind>`` may differ by; NaN if by anything."""
    numbers = rows.apply(pd.to_numeric, errors="coerce").astype(float)
    allowed = np.full(rows.shape, np.nan)
    for number, name in enumerate(rows.columns):
        largest = np.fmax.reduce(np.abs(numbers[name].to_numpy()), initial=0.0)
        open_rows = np.ones(len(rows), dtype=bool)
        for each in TOLERANCES:
            if not (re.match(each.csv, kind) and re.search(each.columns, name)):
                continue
            wanted = open_rows
            if each.below:
                column, limit = each.below
                wanted = open_rows & (numbers.get(column, np.inf) < limit)
            if each.relative is not None:
                size = max(largest, each.least)
                allowed[wanted, number] = each.relative * size + _ZERO
            open_rows = open_rows & ~wanted
    return allowed


def differences(published: Path, part: Path) -> tuple[int, list[str]]:
    """Compare a part with the published rows of its job.

    Rows that were published before they named their job follow each other where they are most like
    those of the part. Returns how many values were compared, and a line for each that differs.
    """
    ours, expected = (pd.read_csv(file, dtype=str).fillna("") for file in (part, published))
    if "experiment" in expected:
        expected = expected[expected["experiment"] == part.parent.name]
    if "stem" in expected:
        expected = expected[expected["stem"] == part.name.partition(".")[0]]
    theirs = expected.reindex(columns=ours.columns, fill_value="")
    if len(theirs) < len(ours) or ("stem" in expected and len(theirs) > len(ours)):
        count = f"{len(theirs)} rows of {part.parent.name}/{part.name}, recomputed {len(ours)}"
        return ours.size, [f"{published}: {count}"]
    allowed = tolerances(f"{published.parent.name}/{published.stem}", ours)
    numbers, others = (
        each.apply(pd.to_numeric, errors="coerce").to_numpy(float) for each in (ours, theirs)
    )
    texts, other_texts = ours.to_numpy(str), theirs.to_numpy(str)

    def differ(start: int) -> Any:
        rows = slice(start, start + len(ours))
        is_near = np.abs(numbers - others[rows]) <= allowed
        return ~is_near & (texts != other_texts[rows]) & ~np.isnan(allowed)

    starts = range(len(theirs) - len(ours) + 1)
    first = min(starts, key=lambda start: np.count_nonzero(differ(start)))
    return int(np.count_nonzero(~np.isnan(allowed))), [
        f"{published}, line {theirs.index[first + row] + 2}, {ours.columns[column]}: "
        f"{other_texts[first + row, column]}, recomputed {texts[row, column]}"
        for row, column in np.argwhere(differ(first))
    ]
