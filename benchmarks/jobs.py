"""Measurements as a list of jobs, run with progress and an estimate of the time left."""

import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pandas as pd

from workflow.lib.provenance import write_csv

Row = dict[str, Any]

# Flops a second assumed until the first job has shown the machine's own rate.
_FIRST_GUESS = 5e10
# What a job takes besides its work, in flops.
_OVERHEAD = 5e10


@dataclass(frozen=True)
class Job:
    """One measurement.

    Attributes
    ----------
    table : str
        Name of the CSV its rows go to.
    label : str
        For the progress line.
    work : float
        Expected cost in flops, or what takes as long.
    run : callable
        Measures, and returns rows.
    """

    table: str
    label: str
    work: float
    run: Callable[[], list[Row]]


def run_all(jobs: Sequence[Job], output: Path, made_by: dict[str, Any]) -> None:
    """Run the jobs in turn, each time writing the table that has grown."""
    tables: dict[str, list[Row]] = {}
    total, done = sum(job.work + _OVERHEAD for job in jobs), 0.0
    started = perf_counter()
    for number, job in enumerate(jobs, 1):
        elapsed = perf_counter() - started
        rate = done / elapsed if done else _FIRST_GUESS
        left = _duration((total - done) / rate)
        print(f"[{number}/{len(jobs)}, {left} left] {job.label}", file=sys.stderr, flush=True)
        rows = tables.setdefault(job.table, [])
        rows += job.run()
        gc.collect()
        write_csv(output / f"{job.table}.csv", pd.DataFrame(rows), made_by)
        done += job.work + _OVERHEAD
    print(f"measured in {_duration(perf_counter() - started)}", file=sys.stderr)


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds a call takes, and what it returns."""
    started = perf_counter()
    value = call()
    return perf_counter() - started, value


def medians(measure: Callable[[], Row], repeats: int, budget: float) -> Row:
    """Repeat a measurement: medians of its floats, the rest from the last, and ``repeats``."""
    found: list[Row] = []
    started = perf_counter()
    while not found or (len(found) < repeats and perf_counter() - started < budget):
        found.append(measure())
        gc.collect()
    together = {
        key: median(row[key] for row in found) if isinstance(value, float) else value
        for key, value in found[-1].items()
    }
    return {**together, "repeats": len(found)}


def _duration(span: float) -> str:
    return f"{span:.0f} s" if span < 90 else f"{span / 60:.0f} min"
