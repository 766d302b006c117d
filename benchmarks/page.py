"""The page: one table for each part, from its CSV."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from rnca.files import replacing
from workflow.lib.tables import fitted_exponent

# A heading and a paragraph for each part.
SECTIONS = {
    "roof": (
        "Against the machine's matrix product",
        "The pass over the rows (features included) and the whole fit, counted as 4·n·m² flops, "
        "beside as many flops of numpy's product of two chunks of 2048 rows, which is measured "
        "before and after in the same process. Of dgemm: speed relative to that product.",
    ),
    "path": (
        "All models of a path from one pass",
        "As above at the largest m; `others` are the seconds that all other m take.",
    ),
    "choice": (
        "Choosing m and reg by cross-validation",
        "`RCCACV` (ours) beside scikit-learn's `GridSearchCV` of `RCCA` over the same candidates "
        "and folds, and one fit at the largest m.",
    ),
    "peers": (
        "Against other people's code",
        "Peers get the Fourier features from our maps as one float64 array, so that both sides "
        "solve the same problem; turns alternate after a warm-up. Ours includes the draw of the "
        "maps; the ratio is their time to ours. The answer is the sum of the k correlations on the "
        "training rows for CCA, of the k variances for PCA. Nyström + PCA makes its own features "
        "from other random landmarks, so its answer agrees only roughly. Peers that would take "
        "hours have fewer rows, and so have we beside them.\n\ncca-zoo and mvlearn are not "
        "dependencies of this project: `pip install cca-zoo seaborn` and `pip install --no-deps "
        "mvlearn` (it requires an old matplotlib) add them. `--authors-r code/rca.r` adds the "
        "authors' own code.",
    ),
    "growth": (
        "Against n and m",
        "A fit with Fourier features: against n from a memory-mapped file, against m in memory. "
        "The exponents are slopes of straight lines through the logarithms; those of the upper "
        "half leave out sizes at which the O(m³) part counts.",
    ),
    "memory": (
        "Memory against n",
        "Peak anonymous memory of a fit from a memory-mapped file, in a process of its own, beyond "
        "what the process had before; pages of the file do not count. Expected: 32·m² bytes of "
        "moments and D, and the features of both views in two chunks of 2048 rows. The rows "
        "sampled for the kernel widths, some 0.1 GB, are freed before the pass and exceed all this "
        "only at small m.",
    ),
}


def write(output: Path) -> None:
    """Write ``README.md`` beside the CSVs."""
    records = json.loads((output / "meta.json").read_text(encoding="utf-8"))
    blocks = ["# Benchmarks", *map(_conditions, records)]
    noted = {name for record in records for name in record["parts"]}
    measured = [name for name in SECTIONS if name in noted and (output / f"{name}.csv").is_file()]
    for name in measured:
        frame = pd.read_csv(output / f"{name}.csv")
        heading, text = SECTIONS[name]
        notes = []
        if "skipped" in frame:
            skipped = frame[frame["skipped"].notna()]
            notes = [f"- {row.peer}: left out, {row.skipped}" for row in skipped.itertuples()]
            frame = frame.drop(index=skipped.index, columns="skipped").convert_dtypes()
        if name == "growth":
            notes = [_growth(group, against) for against, group in frame.groupby("against")]
        blocks += [f"## {heading}", text, _table(frame), *notes]
    if missing := [name for name in SECTIONS if name not in measured]:
        blocks.append(f"Not measured: {', '.join(missing)}.")
    with replacing(output / "README.md") as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _conditions(record: dict[str, Any]) -> str:
    """Describe the conditions under which parts were measured."""
    made, environment = record["made_by"], record["environment"]
    packages = ", ".join(f"{key} {value}" for key, value in environment["packages"].items())
    text = (
        f"{', '.join(record['parts'])}: Data: {made['data']}. Machine: {environment['processor']}, "
        f"{environment['cores']} cores, {made['threads']} BLAS threads; load before "
        f"{made['load_before']:.1f}. Software: Python {environment['python']}, {packages}, "
        f"{', '.join(environment['blas'])}; commit {environment['commit']}."
    )
    quick = " **Quick run: tiny sizes, which say nothing about speed.**"
    return text + quick if made["quick"] else text


def _table(frame: pd.DataFrame) -> str:
    heads = [str(name).replace("_", " ") for name in frame]
    body = [
        [_cell(str(name), value) for name, value in row.items()]
        for row in frame.to_dict(orient="records")
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *body))


def _cell(name: str, value: Any) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}" if "answer" in name else f"{value:.3g}"
    return str(value)


def _growth(group: pd.DataFrame, against: Any) -> str:
    whole, upper = (_exponent(rows, against) for rows in (group, group.iloc[len(group) // 2 :]))
    return f"Seconds ∝ {against}^{whole}, in the upper half {against}^{upper}."


def _exponent(group: pd.DataFrame, against: Any) -> str:
    if len(group) < 2:
        return "(one size only)"
    fit = fitted_exponent(group[against], group["seconds"])
    return f"{fit.value:.2f}" + (f" ± {fit.error:.2f}" if fit.error < float("inf") else "")
