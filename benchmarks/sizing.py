"""The cost model of a fit in shards: fitted to small sizes, checked at three others, extrapolated.

Every size is measured in a process of its own, on one thread and in CPU seconds, so that it does
not matter much what else runs. The tables go to standard output, the measurements to a CSV, and
with --page also between the marks of docs/sizing.md.

Usage: python benchmarks/sizing.py [--quick] [--output DIRECTORY] [--page]
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls
from tqdm import tqdm

from data import Data, load
from fit_memory import Peak, anonymous_bytes
from large import LargeFile, open_rows
from rnca import RCCA, Moments
from rnca.files import replacing
from rnca.provenance import environment, write_csv
from roof import CHUNK
from sizes import REG, SEED

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sizing.md"
MARKS = ("<!-- measured -->", "<!-- end of measured -->")
COMPONENTS = 50
PHASES = ("pass", "write", "merge", "solve")

Size = tuple[int, int]
"""Rows n and features m."""


@dataclass(frozen=True)
class Sizes:
    """Where the model is fitted, where it is checked, and where it is asked."""

    fitted: tuple[Size, ...]
    checked: tuple[Size, ...]
    asked: tuple[Size, ...] = (
        (10**6, 6000),
        (10**6, 20_000),
        (10**7, 6000),
        (10**7, 20_000),
    )


# Truncated SVDs are dense up to m = 1500, where they cost next to nothing: no size below that.
FULL = Sizes(
    fitted=((32_768, 1600), (8_192, 2000), (16_384, 2000), (8_192, 3000), (8_192, 4000)),
    checked=((65_536, 1800), (24_576, 2500), (12_288, 5000)),
)
QUICK = Sizes(fitted=((4_096, 100), (8_192, 200)), checked=((8_192, 150),))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all sizes, fit the model, write the tables."""
    options = _parser().parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    rows = max(n for n, _ in (*sizes.fitted, *sizes.checked))
    data = load(rows)
    large = LargeFile(data.x, data.y, rows, options.output)
    measured = []
    try:
        for use, (n, m) in tqdm([(u, s) for u in ("fitted", "checked") for s in getattr(sizes, u)]):
            measured += [{"use": use, **row} for row in _measured(large.directory, n, m)]
    finally:
        large.remove()
    frame = pd.DataFrame(measured)
    model = Model.fitted_to(frame[frame["use"] == "fitted"], columns=data.x.shape[1])
    frame["model_seconds"] = [
        model.seconds(row.phase, row.n, row.m) for row in frame.itertuples(index=False)
    ]
    frame["model_bytes"] = [_model_bytes(row.phase, row.m) for row in frame.itertuples(index=False)]
    made_by = {"data": data.source, "load_before": os.getloadavg()[0], "model": model.rates}
    write_csv(options.output / "sizing.csv", frame, made_by)
    text = _tables(frame, model, data, sizes)
    print(text)
    if options.page:
        _replace_in_page(text)


@dataclass(frozen=True)
class Model:
    """CPU seconds of each phase as sums of powers of n and m, with fitted rates.

    Attributes
    ----------
    rates : dict of str to list of float
        Seconds per unit of each term of a phase.
    columns : int
        Of each view.
    """

    rates: dict[str, list[float]]
    columns: int

    @classmethod
    def fitted_to(cls, measured: pd.DataFrame, columns: int) -> "Model":
        """Fit the rates, none negative, to relative errors."""
        rates = {}
        for phase in PHASES:
            of_phase = measured[measured["phase"] == phase]
            seconds = of_phase["cpu_seconds"].to_numpy()
            terms = np.array(
                [_terms(phase, row.n, row.m, columns) for row in of_phase.itertuples(index=False)]
            )
            rates[phase] = nnls(terms / seconds[:, None], np.ones(len(seconds)))[0].tolist()
        return cls(rates, columns)

    def seconds(self, phase: str, n: int, m: int) -> float:
        """Foresee the CPU seconds of a phase: of n rows, or of one file."""
        return float(np.dot(self.rates[phase], _terms(phase, n, m, self.columns)))


def _terms(phase: str, n: int, m: int, columns: int) -> list[float]:
    if phase == "pass":  # covariances; projections and their cosines
        return [4.0 * n * m**2, 2.0 * n * m * (2 * columns + 20)]
    if phase == "solve":  # factorisation and whitening; truncated SVD
        return [float(m) ** 3, float(m) ** 2]
    return [_file_bytes(m)]


def _file_bytes(m: int) -> float:
    return 24.0 * m**2


def _model_bytes(phase: str, m: int) -> float:
    """Foresee the peak memory of a phase beyond the libraries' own."""
    if phase in ("pass", "write"):  # three moments; features of both views in two chunks, a third
        return 24.0 * m**2 + 2 * (2 * 8 + 4) * CHUNK * m
    return 32.0 * m**2  # three moments, and one array of a file or D


def _measured(directory: Path, n: int, m: int) -> list[dict[str, Any]]:
    """Measure one size in a process of its own."""
    command = [sys.executable, __file__, "--measure", str(directory), str(n), str(m)]
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=os.environ | single, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def measure(directory: Path, n: int, m: int) -> list[dict[str, Any]]:
    """Make one shard of n rows, write it, merge it from its file, and solve."""
    x, y = open_rows(directory, n)
    model = RCCA(COMPONENTS if m > 1500 else 10, n_features=m, reg=REG, random_state=SEED)
    file = directory / f"{n}-{m}.npz"
    found: list[dict[str, Any]] = []

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        watch, before, started = Peak(), base, process_time()
        watch.start()
        yield
        seconds = process_time() - started
        watch.stopped.set()
        watch.join()
        row = {"phase": name, "n": n, "m": m, "cpu_seconds": seconds}
        found.append(row | {"peak_bytes": max(watch.bytes, anonymous_bytes()) - before})

    base = anonymous_bytes()
    model.draw(x, y)
    with phase("pass"):
        moments = model.accumulate(x, y)
    with phase("write"):
        moments.save(file)
    del moments
    merged = model.empty_moments()
    with phase("merge"):
        Moments.check_file(file, features=merged.features, n=n)
        merged.merge_file(file)
    assert file.stat().st_size < 1.01 * _file_bytes(m) + 1e6
    file.unlink()
    with phase("solve"):
        model.solve(merged)
    return found


def _tables(frame: pd.DataFrame, model: Model, data: Data, sizes: Sizes) -> str:
    made = environment()
    parts = [
        f"Measured on {made['processor']}, one core, in CPU seconds; data: {data.source}; "
        f"{COMPONENTS} components; {', '.join(made['blas'])}; commit {made['commit']}.",
        _rates(model),
        _comparison(frame[frame["use"] == "checked"]),
        _forecast(model, sizes),
    ]
    return "\n\n".join(parts)


def _rates(model: Model) -> str:
    flops, features = model.rates["pass"]
    cube, square = model.rates["solve"]
    write, merge = model.rates["write"][0], model.rates["merge"][0]
    covariance = f"{1e-9 / flops:.1f} GF/s" if flops else "not seen beside the features"
    lines = [
        "| phase | CPU seconds | rate |",
        "|---|---|---|",
        f"| pass, covariances | a·4nm² | {covariance} |",
        f"| pass, features | b·2nm(2d + 20) | {_rate(features, 1e9)} G terms/s |",
        f"| write a shard | w·24m² bytes | {_rate(write, 1e6)} MB/s |",
        f"| check and merge a shard | v·24m² bytes | {_rate(merge, 1e6)} MB/s |",
        f"| solve | c·m³ + e·m² | c = {cube:.2e} s, e = {square:.2e} s |",
    ]
    return "\n".join(lines)


def _rate(seconds: float, unit: float) -> str:
    return f"{1 / seconds / unit:.1f}" if seconds else "too fast to see, in"


def _comparison(checked: pd.DataFrame) -> str:
    lines = [
        "| n | m | phase | CPU s, model | measured | ratio | MB, model | measured | ratio |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in checked[checked["phase"].isin(["pass", "solve"])].itertuples(index=False):
        seconds, peak = row.cpu_seconds / row.model_seconds, row.peak_bytes / row.model_bytes
        lines.append(
            f"| {row.n:,} | {row.m:,} | {row.phase} | {row.model_seconds:.1f} "
            f"| {row.cpu_seconds:.1f} | {seconds:.2f} | {row.model_bytes / 1e6:.0f} "
            f"| {row.peak_bytes / 1e6:.0f} | {peak:.2f} |"
        )
    whole = checked.groupby(["n", "m"], sort=False)[["cpu_seconds", "model_seconds"]].sum()
    for (n, m), row in whole.iterrows():
        lines.append(
            f"| {n:,} | {m:,} | **all** | {row.model_seconds:.1f} | {row.cpu_seconds:.1f} "
            f"| {row.cpu_seconds / row.model_seconds:.2f} | | | |"
        )
    return "\n".join(lines)


def _forecast(model: Model, sizes: Sizes) -> str:
    lines = [
        "| n | m | pass, core hours | solve, core minutes | merge a shard, s | a shard's file, GB "
        "| memory of a shard, GB | of merge and solve, GB | shards until the solve is longer |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n, m in sizes.asked:
        work, solve = model.seconds("pass", n, m), model.seconds("solve", n, m)
        lines.append(
            f"| {n:,} | {m:,} | {work / 3600:.1f} | {solve / 60:.1f} "
            f"| {model.seconds('merge', n, m):.1f} | {_file_bytes(m) / 1e9:.1f} "
            f"| {_model_bytes('pass', m) / 1e9:.1f} | {_model_bytes('solve', m) / 1e9:.1f} "
            f"| {ceil(work / solve)} |"
        )
    return "\n".join(lines)


def _replace_in_page(text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    with replacing(PAGE) as partial:
        partial.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure the cost model of docs/sizing.md.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try things out")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "sizing")
    parser.add_argument("--page", action="store_true", help="write the tables into docs/sizing.md")
    return parser


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
    else:
        main()
