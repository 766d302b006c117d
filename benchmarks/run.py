"""Benchmarks: against the machine's matrix product, other people's code, n, m and memory.

Writes tidy CSVs and a page. Use a machine on which nothing else runs.
"""

import argparse
import gc
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_info

from benchmarks import page
from benchmarks.common import QUICK, Settings, load
from benchmarks.fits import choice, growth, memory, path, roof
from benchmarks.peers import peers
from workflow.lib.provenance import environment, write_csv, write_text

PARTS = {part.__name__: part for part in (roof, path, choice, peers, growth, memory)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the parts asked for, then write the page from all CSVs there are."""
    options = _parser().parse_args(arguments)
    settings = QUICK if options.quick else Settings()
    if options.max_m:
        settings = settings.up_to(options.max_m)
    repeats = options.repeats or settings.repeats
    settings = replace(settings, repeats=repeats, authors=options.authors_r)
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".rows-", dir=options.output) as place:
        data = load(settings.n, Path(place))
        settings = replace(settings, n=len(data.x))
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        made_by = {
            "data": data.source,
            "quick": options.quick,
            "threads": max(pool["num_threads"] for pool in pools),
            "load_before": os.getloadavg()[0],
            "settings": {**asdict(settings), "authors": settings.authors is not None},
        }
        record = {"parts": [], "made_by": made_by, "environment": environment()}
        for name in options.only:
            rows = []
            _note(options.output / "meta.json", name, record)
            for row in PARTS[name](settings, data):
                rows.append(row)
                write_csv(options.output / f"{name}.csv", pd.DataFrame(rows))
                gc.collect()
    page.write(options.output)
    print(options.output / "README.md")


def _note(file: Path, part: str, record: dict[str, Any]) -> None:
    """Add a part to the record of this call, and take it out of those of earlier calls."""
    record["parts"].append(part)
    records = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    for earlier in records:
        earlier["parts"] = [name for name in earlier["parts"] if name not in record["parts"]]
    records = [earlier for earlier in records if earlier["parts"]]
    write_text(file, json.dumps([*records, record], indent=1) + "\n")


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
        "--only", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}"
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
