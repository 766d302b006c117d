"""One fit in shards through the workflow, on as many synthetic rows as wanted: what each job took.

Usage: python benchmarks/sharded.py DIRECTORY [--rows N] [--features M] [--shards K] [options …]

Writes two memory-mappable views and the settings to DIRECTORY, runs Snakemake there up to the fit
with all other options (such as ``--cores 2``, or ``--workflow-profile profiles/slurm``), and prints
a table of its jobs from Snakemake's benchmark files.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from tqdm import tqdm

from sizes import SEED

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 40
TEST_ROWS = 10_000
_BLOCK = 65_536
RUN = "sharded"


def main() -> int:
    """Write, run, report; return Snakemake's exit code."""
    options, others = _parser().parse_known_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    write_views(options.directory, options.rows + TEST_ROWS)
    settings = options.directory / "settings.yaml"
    settings.write_text(yaml.safe_dump(_settings(options)), encoding="utf-8")
    code = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", f"results/{RUN}/rcca/big/fourier-0.sums.csv"),
            *("--snakefile", ROOT / "Snakefile", "--directory", options.directory),
            *("--configfile", settings, *others),
        ],
        check=False,
    ).returncode
    if code == 0:
        print(job_table(options.directory / "results" / RUN / "benchmarks"))
    return code


def write_views(directory: Path, n: int) -> None:
    """Write two views of n rows that share latent variables, block by block."""
    rng = np.random.default_rng(SEED)
    mixings = rng.standard_normal((2, 10, COLUMNS), dtype=np.float32)
    files = [
        np.lib.format.open_memmap(directory / f"{name}.npy", "w+", np.float32, (n, COLUMNS))
        for name in "xy"
    ]
    for start in tqdm(range(0, n, _BLOCK), "writing"):
        stop = min(start + _BLOCK, n)
        latent = rng.standard_normal((stop - start, 10), dtype=np.float32)
        for file, mixing in zip(files, mixings, strict=True):
            noise = rng.standard_normal((stop - start, COLUMNS), dtype=np.float32)
            file[start:stop] = np.tanh(latent @ mixing / 3) + 0.3 * noise
    for file in files:
        file.flush()


def _settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "run": RUN,
        "threads": options.threads,
        "datasets": {"big": {"kind": "npy", "x": "x.npy", "y": "y.npy"}},
        "rcca": {
            "big": {
                "title": "synthetic",
                "dataset": "big",
                "split": {"scheme": "random", "train": options.rows, "test": TEST_ROWS},
                "components": 50,
                "features": [options.features],
                "maps": ["fourier"],
                "repeats": 1,
                "shards": options.shards,
            }
        },
    }


def job_table(benchmarks: Path) -> str:
    """Return a row for each job: seconds, CPU seconds, and memory with and without mapped files."""
    lines = [
        "| job | s | CPU s | MB at most | of it its own |",
        "|---|---:|---:|---:|---:|",
    ]
    for file in sorted(benchmarks.rglob("*.tsv")):
        row = pd.read_csv(file, sep="\t").iloc[-1]
        name = file.relative_to(benchmarks).with_suffix("")
        lines.append(
            f"| {name} | {row['s']:.0f} | {row['cpu_time']:.0f} | {row['max_rss']:.0f} "
            f"| {row['max_uss']:.0f} |"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Run one fit in shards through the workflow.",
        epilog="All other options go to Snakemake.",
        allow_abbrev=False,
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
