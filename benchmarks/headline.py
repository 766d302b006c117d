"""The headline: what the README shows of the benchmarks, one line for each question."""

import pandas as pd

Frames = dict[str, pd.DataFrame]
_MAPS = {"fourier": "Fourier", "nystroem": "Nyström"}


def headline(frames: Frames) -> str:
    """Return the table as Markdown, with lines of the parts that were measured."""
    lines = ["| what | ours | beside it | |", "|---|---:|---:|---|"]
    for name, rows in _LINES.items():
        if name in frames:
            lines += [f"| {' | '.join(line)} |" for line in rows(frames[name])]
    return "\n".join(lines) + "\n"


def _roof(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    passes = rows[rows["what"] == "pass"].sort_values(["feature_map", "m"])
    return [
        (
            f"pass over n = {row['n']:,} rows, {_MAPS[row['feature_map']]}, m = {row['m']}",
            f"{row['gflops']:.0f} GF/s",
            f"{row['dgemm_gflops']:.0f} GF/s",
            f"{row['of_dgemm']:.0%} of BLAS's own matrix product",
        )
        for _, row in passes.iterrows()
    ]


def _path(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    wholes = rows[rows["phase"] == "whole"]
    return [
        (
            f"all models m = {row['sizes'].replace(' ', ', ')} from one pass, "
            f"{_MAPS[row['feature_map']]}, {row['components']} components",
            f"{row['seconds']:.0f} s",
            f"{row['floor_seconds']:.0f} s",
            f"{row['of_floor']:.0%} of the speed of 4·n·m² flops by that product",
        )
        for _, row in wholes.iterrows()
    ]


def _peers(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    measured = rows[rows["ratio"].notna()] if "ratio" in rows else rows[:0]
    return [
        (
            f"{row['task']} of n = {row['n']:,} rows, m = {row['m']}, {row['components']} "
            "components",
            f"{row['ours_seconds']:.1f} s",
            f"{row['feature_seconds'] + row['solve_seconds']:.1f} s",
            f"**{row['ratio']:.1f}×** as fast as {row['peer']}",
        )
        for _, row in measured.iterrows()
    ]


def _memory(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    automatic = rows[(rows["asked"] == "auto")] if "peak_bytes" in rows else rows[:0]
    pairs = zip(automatic[:-1].iterrows(), automatic[1:].iterrows(), strict=True)
    return [
        (
            f"peak memory beyond the inputs, n = {row['n']:,}, m = {row['m']}",
            f"{row['peak_bytes'] / 1e6:.0f} MB",
            f"{before['peak_bytes'] / 1e6:.0f} MB",
            f"at n = {before['n']:,}",
        )
        for (_, before), (_, row) in pairs
    ]


def _serving(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    best = rows.loc[rows.groupby("feature_map")["rows_per_second"].idxmax()]
    single = rows[rows["batch"] == 1].set_index("feature_map")["p99_seconds"]
    return [
        (
            f"`transform` of one view, {_MAPS[row['feature_map']]}, m = {row['m']}",
            f"{row['rows_per_second']:,.0f} rows/s",
            f"{single[row['feature_map']] * 1e3:.1f} ms",
            "for a single row, 99 of 100 times",
        )
        for _, row in best.iterrows()
    ]


_LINES = {
    "roof": _roof,
    "path": _path,
    "peers": _peers,
    "memory": _memory,
    "serving": _serving,
}
