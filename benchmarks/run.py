"""Benchmarks: against the machine's matrix product, other people's code, n, m and memory.

Writes tidy CSVs, a page and a roofline figure. Use a machine on which nothing else runs.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import memory
import page
import path
import peers
import roof
import scaling
import serving
from data import Data, load
from jobs import Job, run_all
from large import LargeFile
from rnca._core.workers import blas_threads
from sizes import QUICK, Settings

PARTS = ("roof", "path", "peers", "scaling", "memory", "serving")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the parts asked for, then write the page from all CSVs there are."""
    options = _parser().parse_args(arguments)
    settings = _settings(options)
    data = load(settings.n)
    settings = replace(settings, n=len(data.x))
    rows = max(settings.scaling_rows + settings.memory_rows)
    large = LargeFile(data.x, data.y, rows, options.output)
    made_by = {
        "data": data.source,
        "quick": options.quick,
        "threads": blas_threads(),
        "load_before": os.getloadavg()[0],
        "settings": {**asdict(settings), "authors": settings.authors is not None},
    }
    try:
        run_all(_jobs(options.only, settings, data, large), options.output, made_by)
    finally:
        large.remove()
    page.write(options.output)
    print(options.output / "README.md")


def _jobs(parts: Sequence[str], settings: Settings, data: Data, large: LargeFile) -> list[Job]:
    of_part = {
        "roof": lambda: roof.jobs(settings, data),
        "path": lambda: path.jobs(settings, data),
        "peers": lambda: peers.jobs(settings, data),
        "scaling": lambda: scaling.jobs(settings, data, large),
        "memory": lambda: memory.jobs(settings, large),
        "serving": lambda: serving.jobs(settings, data),
    }
    return [job for part in PARTS if part in parts for job in of_part[part]()]


def _settings(options: argparse.Namespace) -> Settings:
    settings = QUICK if options.quick else Settings()
    if options.max_m:
        settings = settings.up_to(options.max_m)
    if options.repeats:
        settings = replace(settings, repeats=options.repeats)
    return replace(settings, authors=options.authors_r)


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    for part in parts:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"{part!r} is none of {', '.join(PARTS)}")
    return parts


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, about a minute")
    parser.add_argument(
        "--only", type=_parts, default=list(PARTS), help=f"parts, e.g. {','.join(PARTS[:2])}"
    )
    parser.add_argument("--output", type=Path, default=Path("results", "bench"))
    parser.add_argument("--max-m", type=_positive, help="leave out more features than these")
    parser.add_argument("--repeats", type=_positive, help="repeats, of which medians are taken")
    parser.add_argument(
        "--authors-r", type=Path, metavar="RCA_R", help="the authors' code/rca.r; needs Rscript"
    )
    return parser


if __name__ == "__main__":
    main()
