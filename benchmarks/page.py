"""The page: tables of ratios and seconds from the CSVs, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from figure import write_roofline
from headline import headline
from rnca._core.files import replacing
from workflow.lib.exponents import fitted_exponent

TABLES = ("roof", "path", "peers", "scaling", "memory", "serving")
_MAPS = {"fourier": "Fourier", "nystroem": "Nyström"}


def write(output: Path) -> None:
    """Write ``README.md`` and ``headline.md``, and the roofline if measured, beside the CSVs."""
    found = {name: output / f"{name}.csv" for name in TABLES}
    frames = {
        name: pd.read_csv(path, dtype={"sizes": str})
        for name, path in found.items()
        if path.is_file()
    }
    records = {name: _record(found[name]) for name in frames}
    sections = ["# Benchmarks", _conditions(records)]
    sections += [_SECTIONS[name](frame) for name, frame in frames.items()]
    missing = [name for name in TABLES if name not in frames]
    if missing:
        sections.append(f"Not measured: {', '.join(missing)}.")
    if "roof" in frames:
        write_roofline(frames["roof"], [output / f"roofline.{kind}" for kind in ("png", "svg")])
    with replacing(output / "README.md") as partial:
        partial.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    with replacing(output / "headline.md") as partial:
        partial.write_text(headline(frames), encoding="utf-8")


def _record(csv: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(csv.with_suffix(".meta.json").read_text(encoding="utf-8"))
    return record


def _conditions(records: dict[str, dict[str, Any]]) -> str:
    """One paragraph for each set of conditions under which CSVs were made; usually one."""
    groups: dict[str, list[str]] = {}
    for name, record in records.items():
        made, environment = record["made_by"], record["environment"]
        packages = ", ".join(f"{key} {value}" for key, value in environment["packages"].items())
        text = (
            f"Data: {made['data']}. Machine: {environment['processor']}, "
            f"{environment['cores']} cores, {made['threads']} threads for all; load before "
            f"{made['load_before']:.1f}. Software: Python {environment['python']}, {packages}, "
            f"{', '.join(environment['blas'])}; commit {environment['commit']}."
        )
        if made["quick"]:
            text += " **Quick run: tiny sizes, which say nothing about speed.**"
        groups.setdefault(text, []).append(f"`{name}.csv`")
    return "\n\n".join(
        text if len(groups) == 1 else f"{', '.join(names)}: {text}"
        for text, names in groups.items()
    )


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


def _roof(rows: pd.DataFrame) -> str:
    body = []
    for (kind, m), group in rows.groupby(["feature_map", "m"]):
        by = group.set_index("what")
        automatic: Any = by.loc["automatic fit"]
        body.append(
            [
                _MAPS[str(kind)],
                str(m),
                *(f"{by.loc[what, 'of_dgemm']:.2f}" for what in by.index),
                f"{automatic['accumulation']}{_bound(automatic['certified_error'])}",
                *(f"{by.loc[what, 'seconds']:.2f}" for what in by.index),
                *(f"{by['gflops'].loc[what]:.1f}" for what in ("pass", "fit")),
                f"{by['dgemm_gflops'].max():.1f} ({by['dgemm_best_gflops'].max():.1f})",
                f"{by['sgemm_gflops'].max():.1f}",
                str(by["repeats"].max()),
            ]
        )
    header = ["map", "m", "pass / dgemm", "fit / dgemm", "automatic fit / dgemm", "products",
              "pass s", "fit s", "automatic fit s", "pass GF/s", "fit GF/s", "dgemm GF/s (best)",
              "sgemm GF/s", "repeats"]  # fmt: skip
    text = (
        f"## The machine's roof\n\nn = {rows['n'].max():,}. The pass (features included) and the "
        "whole fit, counted as 4·n·m² flops, beside the product of two chunks of 2048 rows by "
        "numpy, sustained for seconds before, between and after in the same process; its best "
        "single try stands in brackets. The automatic fit takes float32 products "
        "where their effect on the correlations is certified below 1e-5 (the bound stands "
        "in brackets); it may exceed dgemm.\n\n![roofline](roofline.png)\n\n"
    )
    return text + _table(header, body)


def _bound(error: float) -> str:
    return f" ({error:.0e})" if error > 0 else ""


def _path(rows: pd.DataFrame) -> str:
    body = []
    for (kind, k), group in rows.groupby(["feature_map", "components"]):
        by: Any = group.set_index("phase")
        whole: Any = by.loc["whole"]
        shares = [f"{by.loc[phase, 'share']:.1%}" for phase in ("draw", "pass", "whiten", "SVDs")]
        body.append(
            [_MAPS[str(kind)], str(k), f"{whole['of_floor']:.2f}", *shares,
             f"{whole['seconds']:.1f}", f"{whole['floor_seconds']:.1f}", str(whole["repeats"])]
        )  # fmt: skip
    sizes = rows["sizes"].iloc[0].split()
    text = (
        f"## The whole path\n\nn = {rows['n'].max():,}, models at m = {', '.join(sizes)} from one "
        f"pass in float64. The floor is 4·n·{sizes[-1]}² flops at dgemm's speed; shares are of "
        "the whole, from the draw of the maps to the last SVD. Medians of the repeats.\n\n"
    )
    header = ["map", "components", "floor / whole", "draw", "pass", "whiten", "SVDs", "whole s",
              "floor s", "repeats"]  # fmt: skip
    return text + _table(header, body)


def _peers(rows: pd.DataFrame) -> str:
    measured = rows if "ratio" not in rows else rows[rows["ratio"].notna()]
    skipped = rows[~rows.index.isin(measured.index)]
    body = [
        [
            row["task"],
            f"{row['peer']} {'' if pd.isna(row['version']) else row['version']}".strip(),
            f"{row['n']:,}",
            str(row["components"]),
            f"{row['ratio']:.1f}×",
            f"{row['ratio_float64']:.1f}×",
            f"{row['answer']:.6g}",
            f"{row['ours_answer']:.6g}",
            f"{row['feature_seconds']:.2f} + {row['solve_seconds']:.2f}",
            f"{row['ours_seconds']:.2f} ({row['ours_accumulation']})",
            f"{row['ours_float64_seconds']:.2f}",
            f"{row['repeats']:.0f}",
        ]
        for _, row in measured.iterrows()
    ]
    header = ["task", "peer", "n", "k", "its time / ours", "its time / ours in float64",
              "its answer", "our answer", "its s (features + solve)", "our s",
              "our s in float64", "repeats"]  # fmt: skip
    text = (
        f"## Other people's code\n\nm = {rows['m'].max()} Fourier features of each view. Peers get "
        "them from our maps as one float64 array, so both sides solve the same problem; turns "
        "alternate after a warm-up, and of several repeats medians are shown. Ours includes the "
        "draw of the maps. The answer is the sum of the k correlations on the training rows for "
        "CCA, of the k variances for PCA. Nyström + PCA makes its own features from other random "
        "landmarks, so its answer agrees only roughly. Peers that would take hours have fewer "
        "rows, and so have we beside them.\n\n"
    )
    notes = [f"- {row['peer']}: left out, {row['skipped']}." for _, row in skipped.iterrows()]
    notes.append(
        "\ncca-zoo and mvlearn are no dependencies of this project: `pip install cca-zoo seaborn` "
        "and `pip install --no-deps mvlearn` (its pin of an old matplotlib cannot be met; an "
        "attribute that newer scikit-learn asks for is supplied here) add them. "
        "`--authors-r code/rca.r` adds the authors' own code."
    )
    return text + _table(header, body) + "\n\n" + "\n".join(notes)


def _scaling(rows: pd.DataFrame) -> str:
    parts = ["## Cost against n and m\n\nSeconds of a fit with Fourier features in float64: "
             "against n from a memory-mapped file, against m in memory. The exponent is the "
             "slope of a straight line through the logarithms, ± its standard error; that of "
             "the upper half leaves out sizes where the O(m³) part counts."]  # fmt: skip
    for against in ("n", "m"):
        other = "m" if against == "n" else "n"
        group = rows[rows["against"] == against].sort_values(against)
        body = [[f"{row[against]:,}", f"{row['seconds']:.3f}"] for _, row in group.iterrows()]
        parts.append(
            f"{other} = {group[other].iloc[0]:,}: seconds ∝ {against}^{_power(group, against)}, "
            f"upper half {against}^{_power(group.iloc[len(group) // 2 :], against)}.\n\n"
            + _table([against, "s"], body)
        )
    return "\n\n".join(parts)


def _power(group: pd.DataFrame, against: str) -> str:
    if len(group) < 2:
        return "(one size only)"
    fit = fitted_exponent(group[against], group["seconds"])
    return f"{fit.value:.2f}" + (f" ± {fit.error:.2f}" if fit.error < float("inf") else "")


def _memory(rows: pd.DataFrame) -> str:
    text = (
        f"## Memory against n\n\nm = {rows['m'].max()}. Peak anonymous memory of a fit from a "
        "memory-mapped file, in a process of its own, beyond what the process had before; pages "
        "of the file do not count. Expected: 32·m² bytes of moments and D, and the features of "
        "both views in two chunks of 2048 rows. The rows sampled for the kernel widths, some "
        "0.1 GB, are freed before the pass and exceed all this only at small m.\n\n"
    )
    if "peak_bytes" not in rows:
        return text + f"Left out: {rows['skipped'].iloc[0]}."
    first = rows.groupby("asked")["peak_bytes"].first()
    body = [
        [
            f"{row['n']:,}",
            row["asked"],
            row["accumulation"],
            f"{row['peak_bytes'] / first[row['asked']]:.2f}",
            f"{row['peak_bytes'] / row['expected_bytes']:.2f}",
            f"{row['peak_bytes'] / 1e6:.0f}",
            f"{row['expected_bytes'] / 1e6:.0f}",
            f"{row['input_bytes'] / 1e6:.0f}",
        ]
        for _, row in rows.iterrows()
    ]
    header = ["n", "accumulation", "products", "peak / smallest n", "peak / expected", "peak MB",
              "expected MB", "inputs MB"]  # fmt: skip
    return text + _table(header, body)


def _serving(rows: pd.DataFrame) -> str:
    first = rows.groupby("feature_map")["rows_per_second"].first()
    body = [
        [
            _MAPS[row["feature_map"]],
            f"{row['batch']:,}",
            f"{row['rows_per_second'] / first[row['feature_map']]:.0f}×",
            f"{row['rows_per_second']:,.0f}",
            *(
                "" if pd.isna(row[f"{p}_seconds"]) else f"{row[f'{p}_seconds'] * 1e3:.2f}"
                for p in ("p50", "p99")
            ),
            f"{row['pickle_bytes'] / 1e6:.1f}",
        ]
        for _, row in rows.iterrows()
    ]
    header = ["map", "batch", "rows/s over single rows", "rows/s", "p50 ms", "p99 ms",
              "pickle MB"]  # fmt: skip
    text = (
        f"## Serving\n\n`transform` of one view by a pickled and restored model, "
        f"m = {rows['m'].max()}, {rows['components'].max()} components; "
        "latencies are of calls with a single row.\n\n"
    )
    return text + _table(header, body)


_SECTIONS = {
    "roof": _roof,
    "path": _path,
    "peers": _peers,
    "scaling": _scaling,
    "memory": _memory,
    "serving": _serving,
}
