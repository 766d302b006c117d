"""The benchmarks run and write what they promise; no test asks how fast anything is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import peers
from benchmarks.common import Data, Settings

ROOT = Path(__file__).parents[1]


def bench(output, *arguments):
    # No mirror, no cache, one thread: synthetic data, and neighbours are not disturbed.
    own = {"RNCA_CACHE": str(output / "cache"), "RNCA_MIRROR": "", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.run", "--quick", "--output", output, *arguments],
        cwd=ROOT,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    output = tmp_path_factory.mktemp("bench")
    options = ["--max-m", "100", "--repeats", "1"]
    done = bench(output, "--only", "roof,path,choice,growth,memory", *options)
    assert done.returncode == 0, done.stderr
    assert "roof: fourier, m = 100\n" in done.stderr
    return output


def test_the_page_has_the_rows_of_the_csvs_and_names_what_is_missing(results):
    page = (results / "README.md").read_text(encoding="utf-8")
    assert "Not measured: peers." in page
    assert "roof, path, choice, growth, memory: Data: 4,000 synthetic rows" in page
    assert "Quick run" in page
    assert list(results.glob(".rows-*")) == []  # rows on disk are removed
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    for name in ("roof", "path", "choice", "growth", "memory"):
        frame = pd.read_csv(results / f"{name}.csv")
        assert [column.replace("_", " ") for column in frame] in rows
        for row in frame.itertuples(index=False):
            formats = {float: "{:.3g}", int: "{:,}", str: "{}"}
            assert [formats[type(value)].format(value) for value in row] in rows


def test_ratios_are_of_the_measured_seconds(results):
    for name in ("roof", "path"):
        rows = pd.read_csv(results / f"{name}.csv")
        assert list(rows["feature_map"]) == ["fourier", "nystroem"]
        steps = [f"{step}_seconds" for step in ("draw", "pass", "solve", "others")]
        np.testing.assert_allclose(rows[steps].sum(axis=1), rows["seconds"])
        for ratio, whole in (("pass", "pass_seconds"), ("whole", "seconds")):
            expected = rows["dgemm_seconds"] / rows[whole]
            np.testing.assert_allclose(rows[f"{ratio}_of_dgemm"], expected)
    rows = pd.read_csv(results / "choice.csv")
    np.testing.assert_allclose(rows["ours_of_fit"], rows["ours_seconds"] / rows["fit_seconds"])
    np.testing.assert_allclose(rows["grid_of_ours"], rows["grid_seconds"] / rows["ours_seconds"])


def test_growth_has_every_number_of_rows_and_of_features(results):
    rows = pd.read_csv(results / "growth.csv")
    assert list(rows.query("against == 'n'")["n"]) == [500, 1000, 2000, 4000, 8000]
    assert list(rows.query("against == 'm'")["m"]) == [100]


@pytest.mark.skipif(sys.platform != "linux", reason="anonymous memory is read from /proc")
def test_memory_leaves_out_the_pages_of_the_inputs(results):
    rows = pd.read_csv(results / "memory.csv").set_index("n")
    fewest, most = rows.loc[rows.index.min()], rows.loc[rows.index.max()]
    grown = most["input_MB"] - fewest["input_MB"]
    assert most["peak_MB"] - fewest["peak_MB"] < grown / 2
    assert (rows["peak_MB"] > rows["expected_MB"] / 2).all()


def test_a_part_measured_again_moves_to_the_record_of_its_call(results, tmp_path):
    shutil.copytree(results, tmp_path / "bench")
    done = bench(tmp_path / "bench", "--only", "growth", "--max-m", "60", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    records = json.loads((tmp_path / "bench" / "meta.json").read_text(encoding="utf-8"))
    parts = [record["parts"] for record in records]
    assert parts == [["roof", "path", "choice", "memory"], ["growth"]]
    assert [record["made_by"]["settings"]["m"] for record in records] == [100, 60]
    page = (tmp_path / "bench" / "README.md").read_text(encoding="utf-8")
    assert page.count("commit") == 2


def test_unknown_part_is_refused_by_name(tmp_path):
    done = bench(tmp_path, "--only", "roof,rof")
    assert done.returncode == 2
    assert "'rof' is none of roof, path, choice" in done.stderr


def test_textbook_solves_the_same_problem_as_ours(halves, tmp_path):
    settings = Settings(n=1500, few=1500, m=60, components=5, repeats=1)
    data = Data(*(half.astype(np.float32) for half in halves), "digits", tmp_path)
    row = peers.compare(settings, data, peers.competitors(settings)[0])
    assert row["peer"].startswith("numpy")
    assert row["answer"] == pytest.approx(row["ours_answer"], rel=1e-5)
    assert row["seconds"] == row["feature_seconds"] + row["solve_seconds"]


def test_peer_that_is_not_installed_is_left_out_with_the_reason(halves, tmp_path):
    settings = Settings(n=100, few=100, m=20, components=2)
    absent = peers.competitors(settings)[0]._replace(package="no-such-package")
    row = peers.compare(settings, Data(*halves, "digits", tmp_path), absent)
    assert row["skipped"].startswith("PackageNotFoundError")
    assert "no-such-package" in row["skipped"]
