"""The page: one table for each part, from its CSV."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.exponents import fitted_exponent


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, and for each column of the table its head and its format."""

    heading: str
    text: str
    columns: dict[str, str]


SECTIONS = {
    "roof": Section(
        "Against the machine's matrix product",
        "The pass over the rows (features included) and the whole fit, counted as 4·n·m² flops, "
        "beside as many flops of numpy's product of two chunks of 2048 rows, which is measured "
        "before and after in the same process.",
        {
            "map": "{feature_map}",
            "n": "{n:,}",
            "m": "{m}",
            "speed of pass / dgemm": "{pass_of_dgemm:.0%}",
            "of fit / dgemm": "{fit_of_dgemm:.0%}",
            "pass s": "{pass_seconds:.2f}",
            "fit s": "{fit_seconds:.2f}",
            "dgemm GF/s": "{dgemm_gflops:.1f}",
            "repeats": "{repeats}",
        },
    ),
    "path": Section(
        "All models of a path from one pass",
        "The product's time is that of the 4·n·m² flops at the largest m; shares are of the whole.",
        {
            "map": "{feature_map}",
            "n": "{n:,}",
            "models at m =": "{sizes}",
            "speed / dgemm": "{of_dgemm:.0%}",
            "pass": "{pass_share:.1%}",
            "solve at the largest m": "{solve_share:.1%}",
            "all other m": "{others_share:.1%}",
            "whole s": "{seconds:.1f}",
            "dgemm s": "{dgemm_seconds:.1f}",
            "repeats": "{repeats}",
        },
    ),
    "choice": Section(
        "Choosing m and reg by cross-validation",
        "`RCCACV` beside scikit-learn's `GridSearchCV` of `RCCA` over the same candidates and "
        "folds, and one fit at the largest m.",
        {
            "n": "{n:,}",
            "m": "{sizes}",
            "values of reg": "{regs}",
            "folds": "{folds}",
            "RCCACV / one fit": "{of_fit:.1f}",
            "GridSearchCV / RCCACV": "{of_ours:.1f}",
            "RCCACV s": "{ours_seconds:.2f}",
            "GridSearchCV s": "{grid_seconds:.2f}",
            "repeats": "{repeats}",
        },
    ),
    "peers": Section(
        "Against other people's code",
        "Peers get the Fourier features from our maps as one float64 array, so that both sides "
        "solve the same problem; turns alternate after a warm-up. Ours includes the draw of the "
        "maps. The answer is the sum of the k correlations on the training rows for CCA, of the k "
        "variances for PCA. Nyström + PCA makes its own features from other random landmarks, so "
        "its answer agrees only roughly. Peers that would take hours have fewer rows, and so have "
        "we beside them.\n\ncca-zoo and mvlearn are not dependencies of this project: `pip install "
        "cca-zoo seaborn` and `pip install --no-deps mvlearn` (it requires an old matplotlib) add "
        "them. `--authors-r code/rca.r` adds the authors' own code.",
        {
            "task": "{task}",
            "peer": "{peer} {version}",
            "n": "{n:,}",
            "m": "{m}",
            "k": "{components}",
            "its time / ours": "{ratio:.1f}",
            "its answer": "{answer:.6g}",
            "our answer": "{ours_answer:.6g}",
            "its s (features + solve)": "{feature_seconds:.2f} + {solve_seconds:.2f}",
            "our s": "{ours_seconds:.2f}",
            "repeats": "{repeats:.0f}",
        },
    ),
    "growth": Section(
        "Against n and m",
        "A fit with Fourier features: against n from a memory-mapped file, against m in memory. "
        "The exponents are slopes of straight lines through the logarithms; those of the upper "
        "half leave out sizes at which the O(m³) part counts.",
        {"against": "{against}", "n": "{n:,}", "m": "{m:,}", "s": "{seconds:.3f}"},
    ),
    "memory": Section(
        "Memory against n",
        "Peak anonymous memory of a fit from a memory-mapped file, in a process of its own, beyond "
        "what the process had before; pages of the file do not count. Expected: 32·m² bytes of "
        "moments and D, and the features of both views in two chunks of 2048 rows. The rows "
        "sampled for the kernel widths, some 0.1 GB, are freed before the pass and exceed all this "
        "only at small m.",
        {
            "n": "{n:,}",
            "m": "{m}",
            "peak MB": "{peak_mb:.0f}",
            "expected MB": "{expected_mb:.0f}",
            "inputs MB": "{input_mb:.0f}",
        },
    ),
}


def write(output: Path) -> None:
    """Write ``README.md`` beside the CSVs."""
    frames = {
        name: pd.read_csv(output / f"{name}.csv")
        for name in SECTIONS
        if (output / f"{name}.csv").is_file()
    }
    blocks = ["# Benchmarks", *_conditions(output, list(frames))]
    for name, frame in frames.items():
        section = SECTIONS[name]
        blocks += [f"## {section.heading}", section.text, _table(section, _derived(name, frame))]
        blocks += _notes(name, frame)
    if missing := [name for name in SECTIONS if name not in frames]:
        blocks.append(f"Not measured: {', '.join(missing)}.")
    with replacing(output / "README.md") as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _conditions(output: Path, names: list[str]) -> list[str]:
    """Return a paragraph for each set of conditions under which CSVs were made; usually one."""
    groups: dict[str, list[str]] = {}
    for name in names:
        record = json.loads((output / f"{name}.meta.json").read_text(encoding="utf-8"))
        made, environment = record["made_by"], record["environment"]
        packages = ", ".join(f"{key} {value}" for key, value in environment["packages"].items())
        text = (
            f"Data: {made['data']}. Machine: {environment['processor']}, "
            f"{environment['cores']} cores, {made['threads']} BLAS threads; load before "
            f"{made['load_before']:.1f}. Software: Python {environment['python']}, {packages}, "
            f"{', '.join(environment['blas'])}; commit {environment['commit']}."
        )
        if made["quick"]:
            text += " **Quick run: tiny sizes, which say nothing about speed.**"
        groups.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in groups.items()]


def _derived(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Add what the table shows as ratios, and leave out what was not measured."""
    if name == "roof":
        flops = 4 * rows["n"] * rows["m"] ** 2
        return rows.assign(
            dgemm_gflops=flops / rows["dgemm_seconds"] / 1e9,
            pass_of_dgemm=rows["dgemm_seconds"] / rows["pass_seconds"],
            fit_of_dgemm=rows["dgemm_seconds"] / rows["fit_seconds"],
        )
    if name == "path":
        shares = {
            f"{phase}_share": rows[f"{phase}_seconds"] / rows["seconds"]
            for phase in ("pass", "solve", "others")
        }
        return rows.assign(of_dgemm=rows["dgemm_seconds"] / rows["seconds"], **shares)
    if name == "choice":
        return rows.assign(
            of_fit=rows["ours_seconds"] / rows["fit_seconds"],
            of_ours=rows["grid_seconds"] / rows["ours_seconds"],
        )
    if name == "peers":
        return rows[rows["ratio"].notna()].fillna({"version": ""}) if "ratio" in rows else rows[:0]
    if name == "memory":
        kinds = ("peak", "expected", "input")
        return rows.assign(**{f"{kind}_mb": rows[f"{kind}_bytes"] / 1e6 for kind in kinds})
    return rows


def _table(section: Section, rows: pd.DataFrame) -> str:
    heads = list(section.columns)
    body: list[Any] = [
        [cell.format_map(row) for cell in section.columns.values()]
        for row in rows.to_dict(orient="records")
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *body))


def _notes(name: str, rows: pd.DataFrame) -> list[str]:
    if name == "peers" and "skipped" in rows:
        skipped = rows[rows["skipped"].notna()]
        return [f"- {row['peer']}: left out, {row['skipped']}." for _, row in skipped.iterrows()]
    if name == "growth":
        return [
            f"Seconds ∝ {against}^{_exponent(group, against)}, in the upper half "
            f"{against}^{_exponent(group.iloc[len(group) // 2 :], against)}."
            for against, group in rows.groupby("against", sort=False)
        ]
    return []


def _exponent(group: pd.DataFrame, against: Any) -> str:
    if len(group) < 2:
        return "(one size only)"
    fit = fitted_exponent(group[against], group["seconds"])
    return f"{fit.value:.2f}" + (f" ± {fit.error:.2f}" if fit.error < float("inf") else "")
