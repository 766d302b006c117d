"""The cost model of a fit in shards: fitted to small sizes, checked at three others, extrapolated.

Every size is measured in a process of its own, on one thread and in CPU seconds, so that it
matters little what else runs. The tables go to standard output, the measurements to a CSV, and
with --page the tables also between the marks of docs/sizing.md.

Usage: python benchmarks/sizing.py [--quick] [--output DIRECTORY] [--page]
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time

import pandas as pd
from tqdm import tqdm

from cost_model import (
    Measured,
    Model,
    Size,
    comparison_table,
    file_bytes,
    forecast_table,
    peak_bytes,
    rate_table,
)
from data import load
from fit_memory import Peak, anonymous_bytes
from large import LargeFile, open_rows
from rnca import RCCA, Moments
from rnca._core.files import replacing
from sizes import REG, SEED
from workflow.lib.provenance import environment, write_csv

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sizing.md"
MARKS = ("<!-- measured -->", "<!-- end of measured -->")
COMPONENTS = 50


@dataclass(frozen=True)
class Sizes:
    """Where the model is fitted, where it is checked, and where it is asked."""

    fitted: tuple[Size, ...]
    checked: tuple[Size, ...]
    asked: tuple[Size, ...] = ((10**6, 6000), (10**6, 20_000), (10**7, 6000), (10**7, 20_000))


# Up to m = 1500 the truncated SVD is dense and costs next to nothing: no size below that.
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
    load_before = os.getloadavg()[0]
    try:
        fitted = _measure_all(large.directory, sizes.fitted, "to fit to")
        checked = _measure_all(large.directory, sizes.checked, "to check")
    finally:
        large.remove()
    model = Model.fitted_to(fitted, columns=data.x.shape[1])
    made_by = {"data": data.source, "load_before": load_before, "rates": model.rates}
    write_csv(options.output / "sizing.csv", _frame(model, fitted, checked), made_by)
    made = environment()
    text = "\n\n".join(
        [
            f"Measured on {made['processor']}, one core, in CPU seconds (load of the machine "
            f"before: {load_before:.1f}). Data: {data.source}. {COMPONENTS} components. "
            f"{', '.join(made['blas'])}; commit {made['commit']}.",
            rate_table(model),
            comparison_table(model, checked),
            forecast_table(model, sizes.asked),
        ]
    )
    print(text)
    if options.page:
        replace_in_page(text)


def _measure_all(directory: Path, sizes: Sequence[Size], what: str) -> list[Measured]:
    return [row for size in tqdm(sizes, what) for row in _measure_apart(directory, *size)]


def _measure_apart(directory: Path, n: int, m: int) -> list[Measured]:
    """Measure one size in a process of its own."""
    command = [sys.executable, __file__, "--measure", str(directory), str(n), str(m)]
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=os.environ | single, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return [Measured(**row) for row in json.loads(done.stdout)]


def measure(directory: Path, n: int, m: int) -> list[Measured]:
    """Make one shard of n rows, write it, merge it from its file, and solve."""
    x, y = open_rows(directory, n)
    model = RCCA(min(COMPONENTS, m // 4), n_features=m, reg=REG, random_state=SEED)
    file = directory / f"{n}-{m}.npz"
    found: list[Measured] = []
    before = anonymous_bytes()

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        watch, started = Peak(), process_time()
        watch.start()
        yield
        seconds = process_time() - started
        watch.stopped.set()
        watch.join()
        peak = max(watch.bytes, anonymous_bytes()) - before
        found.append(Measured(name, n, m, seconds, peak))

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
    assert file.stat().st_size < file_bytes(m) + 1e6
    file.unlink()
    with phase("solve"):
        model.solve(merged)
    return found


def _frame(model: Model, fitted: Sequence[Measured], checked: Sequence[Measured]) -> pd.DataFrame:
    rows = [
        {
            "use": use,
            **asdict(each),
            "model_seconds": model.seconds(each.phase, each.n, each.m),
            "model_bytes": peak_bytes(each.phase, each.m),
        }
        for use, measured in (("fitted", fitted), ("checked", checked))
        for each in measured
    ]
    return pd.DataFrame(rows)


def replace_in_page(text: str) -> None:
    """Put the tables between the marks of docs/sizing.md."""
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
        rows = measure(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        print(json.dumps([asdict(row) for row in rows]))
    else:
        main()
