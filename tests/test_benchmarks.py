"""The benchmarks run and write what they promise; how fast anything is, no test asks."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def bench(output, *arguments):
    # No mirror, no cache, one thread: synthetic data, and neighbours are not disturbed.
    own = {"RNCA_CACHE": str(output / "cache"), "RNCA_MIRROR": "", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, BENCHMARKS / "run.py", "--quick", "--output", output, *arguments],
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    output = tmp_path_factory.mktemp("bench")
    options = ["--max-m", "100", "--repeats", "1"]
    done = bench(output, "--only", "roof,path,scaling,memory,serving", *options)
    assert done.returncode == 0, done.stderr
    assert "left] roof: fourier, m = 100" in done.stderr
    return output


def test_ratios_are_of_the_measured_seconds(results):
    rows = pd.read_csv(results / "roof.csv")
    assert set(rows["what"]) == {"pass", "fit", "automatic fit"}
    flops = 4 * rows["n"] * rows["m"] ** 2
    np.testing.assert_allclose(
        rows["of_dgemm"], flops / rows["seconds"] / 1e9 / rows["dgemm_gflops"]
    )


def test_phases_of_the_path_add_up(results):
    rows = pd.read_csv(results / "path.csv")
    for _, group in rows[rows["components"] == 10].groupby("feature_map"):
        by = group.set_index("phase")
        assert by["seconds"].drop("whole").sum() == pytest.approx(by.loc["whole", "seconds"])


@pytest.mark.skipif(sys.platform != "linux", reason="anonymous memory is read from /proc")
def test_memory_leaves_out_the_pages_of_the_inputs(results):
    rows = pd.read_csv(results / "memory.csv").query("asked == 'float64'").set_index("n")
    fewest, most = rows.loc[rows.index.min()], rows.loc[rows.index.max()]
    grown = most["input_bytes"] - fewest["input_bytes"]
    assert most["peak_bytes"] - fewest["peak_bytes"] < grown / 2


def test_page_shows_every_part_that_was_measured_and_names_the_rest(results):
    page = (results / "README.md").read_text(encoding="utf-8")
    for heading in ("roof", "path", "Cost against n and m", "Memory against n", "Serving"):
        assert heading in page
    assert "Not measured: peers." in page
    assert "synthetic rows" in page
    assert "Quick run" in page
    assert (results / "roofline.png").stat().st_size > 0
    assert (results / "roofline.svg").stat().st_size > 0


def test_headline_has_a_line_for_each_part_but_the_peers(results):
    rows = (results / "headline.md").read_text(encoding="utf-8").splitlines()[2:]
    roof = pd.read_csv(results / "roof.csv").query("what == 'pass'")
    for kind, share in zip(["Fourier", "Nyström"], roof["of_dgemm"], strict=True):
        (line,) = (row for row in rows if row.startswith("| pass") and kind in row)
        assert f"| {share:.0%} of numpy's own matrix product |" in line
    starts = ["pass", "pass", *["all models"] * 4, "peak memory", "`transform`", "`transform`"]
    assert [row[2 : 2 + len(start)] for row, start in zip(rows, starts, strict=True)] == starts


def test_large_file_is_removed(results):
    assert list(results.glob(".large-*")) == []


def test_unknown_part_is_refused_by_name(tmp_path):
    done = bench(tmp_path, "--only", "roof,rof")
    assert done.returncode == 2
    assert "'rof' is none of roof, path, peers" in done.stderr


@pytest.fixture
def modules(monkeypatch):
    """Let a test import the modules of the benchmarks."""
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.usefixtures("modules")
def test_textbook_solves_the_same_problem_as_ours(halves):
    import peers
    from data import Data
    from sizes import Settings

    settings = Settings(n=1500, few=1500, m=60, components=5, repeats=1)
    data = Data(*(half.astype(np.float32) for half in halves), "digits")
    (row,) = peers.compare(settings, data, peers.cca_peers(settings)[0])
    assert row["peer"].startswith("numpy")
    assert row["answer"] == pytest.approx(row["ours_answer"], rel=1e-5)
    assert row["seconds"] == row["feature_seconds"] + row["solve_seconds"]


@pytest.mark.usefixtures("modules")
def test_peer_that_is_not_installed_is_left_out_with_the_reason(halves):
    import peers
    from data import Data
    from sizes import Settings

    settings = Settings(n=100, few=100, m=20, components=2)
    absent = replace(peers.cca_peers(settings)[0], module="no_such_package")
    (row,) = peers.compare(settings, Data(*halves, "digits"), absent)
    assert "No module named 'no_such_package'" in row["skipped"]


@pytest.mark.usefixtures("modules")
def test_cost_model_recovers_the_rates_its_measurements_were_made_with():
    from cost_model import PHASES, Measured, Model
    from sizing import FULL

    rates = {"pass": [3e-11, 1e-10], "write": [1e-8], "merge": [2e-8], "solve": [2e-10, 5e-7]}
    truth = Model(rates, columns=392)
    measured = [
        Measured(phase, n, m, truth.seconds(phase, n, m), 0)
        for phase in PHASES
        for n, m in FULL.fitted
    ]
    found = Model.fitted_to(measured, columns=392)
    for phase in PHASES:
        np.testing.assert_allclose(found.rates[phase], rates[phase], rtol=1e-6)


@pytest.mark.usefixtures("modules")
def test_sizing_measures_every_phase_of_a_shard(halves, tmp_path):
    from cost_model import PHASES
    from large import LargeFile
    from sizing import measure

    large = LargeFile(*(half.astype(np.float32) for half in halves), 3000, tmp_path)
    rows = measure(large.directory, 3000, 40)
    assert tuple(row.phase for row in rows) == PHASES
    assert all(row.cpu_seconds > 0 and row.peak_bytes > 0 for row in rows)


@pytest.mark.usefixtures("modules")
def test_sizing_page_keeps_its_text_and_takes_new_tables(tmp_path, monkeypatch):
    import sizing

    page = tmp_path / "sizing.md"
    page.write_text(sizing.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(sizing, "PAGE", page)
    before, after = page.read_text(encoding="utf-8").split(sizing.MARKS[0])[0], "## Once for real"
    sizing.replace_in_page("new tables")
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"{before}{sizing.MARKS[0]}\nnew tables\n{sizing.MARKS[1]}")
    assert after in text


@pytest.mark.usefixtures("modules")
def test_sharded_benchmark_writes_views_that_share_something(tmp_path):
    import sharded
    from rnca import RCCA

    sharded.write_views(tmp_path, 3000)
    x, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy")
    assert x.shape == y.shape == (3000, sharded.COLUMNS)
    fitted = RCCA(1, n_features=30, reg=1e-3, random_state=0).fit(x[:2000], y[:2000])
    assert fitted.score(x[2000:], y[2000:]) > 0.5
