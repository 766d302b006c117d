"""The headline: what the README shows of the benchmarks, one line for each question."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pandas as pd

Line = tuple[str, ...]
"""What was measured, our value, what stands beside it, and what that is."""

_MAPS = {"fourier": "Fourier", "nystroem": "Nyström"}


def headline(frames: dict[str, pd.DataFrame]) -> str:
    """Return the table as Markdown, with lines of the parts that were measured."""
    lines = ["| what | ours | beside it | |", "|---|---:|---:|---|"]
    for name, lines_of in _PARTS.items():
        if name in frames:
            lines += [f"| {' | '.join(line)} |" for line in lines_of(frames[name])]
    return "\n".join(lines) + "\n"


def _roof(rows: pd.DataFrame) -> Iterator[Line]:
    for row in _records(rows[rows["what"] == "pass"].sort_values(["feature_map", "m"])):
        yield (
            f"pass over n = {row['n']:,} rows, {_MAPS[row['feature_map']]}, m = {row['m']}",
            *(f"{row[rate]:.0f} GF/s" for rate in ("gflops", "dgemm_gflops")),
            f"{row['of_dgemm']:.0%} of numpy's own matrix product",
        )


def _path(rows: pd.DataFrame) -> Iterator[Line]:
    for row in _records(rows[rows["phase"] == "whole"]):
        yield (
            f"all models m = {row['sizes'].replace(' ', ', ')} from one pass, "
            f"{_MAPS[row['feature_map']]}, {row['components']} components",
            *(f"{row[span]:.0f} s" for span in ("seconds", "floor_seconds")),
            f"{row['of_floor']:.0%} of the speed of 4·n·m² flops by that product",
        )


def _peers(rows: pd.DataFrame) -> Iterator[Line]:
    for row in _records(rows[rows["ratio"].notna()] if "ratio" in rows else rows[:0]):
        yield (
            f"{row['task']} of n = {row['n']:,} rows, m = {row['m']}, {row['components']} "
            "components",
            *(f"{row[span]:.1f} s" for span in ("ours_seconds", "seconds")),
            f"**{row['ratio']:.1f}×** as fast as {row['peer']}",
        )


def _memory(rows: pd.DataFrame) -> Iterator[Line]:
    automatic = rows[rows["asked"] == "auto"] if "peak_bytes" in rows else rows[:0]
    for before, row in pairwise(_records(automatic)):
        yield (
            f"peak memory beyond the inputs, n = {row['n']:,}, m = {row['m']}",
            *(f"{each['peak_bytes'] / 1e6:.0f} MB" for each in (row, before)),
            f"at n = {before['n']:,}",
        )


def _serving(rows: pd.DataFrame) -> Iterator[Line]:
    single = rows[rows["batch"] == 1].set_index("feature_map")["p99_seconds"]
    for row in _records(rows.loc[rows.groupby("feature_map")["rows_per_second"].idxmax()]):
        yield (
            f"`transform` of one view, {_MAPS[row['feature_map']]}, m = {row['m']}",
            f"{row['rows_per_second']:,.0f} rows/s",
            f"{single[row['feature_map']] * 1e3:.1f} ms",
            "for a single row, 99 of 100 times",
        )


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for _, row in rows.iterrows()]


_PARTS: dict[str, Callable[[pd.DataFrame], Iterator[Line]]] = {
    "roof": _roof,
    "path": _path,
    "peers": _peers,
    "memory": _memory,
    "serving": _serving,
}
