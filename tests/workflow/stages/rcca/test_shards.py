"""Fits of the rcca stage in shards: the same answer, in little memory; and timed SVDs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rnca.cca import RCCA
from workflow.data.prepared import load_prepared, write_prepared
from workflow.stages.rcca.fit import Experiment, accumulate_shard, fit_path
from workflow.stages.rcca.timing import time_svds

ROWS = 7000
META = {"name": "toy", "kind": "own", "title": "toy"}


def experiment(**changes):
    settings = {
        "name": "toy",
        "draws": "toy",
        "split": {"scheme": "random", "train": 6500, "tune": None, "test": 500},
        "standardise": False,
        "components": 3,
        "features": [10, 20],
        "reg": 1e-3,
        "reg_grid": [],
        "width": 1.0,
        "same_landmarks": False,
        "feature_map": "fourier",
        "repeat": 0,
        "seed": 1,
    }
    return Experiment(**settings | changes)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, 5))
    path = tmp_path_factory.mktemp("prepared") / "toy"
    write_prepared(path, {"x": x, "y": x[:, :4] ** 2 + rng.standard_normal((ROWS, 4))}, META)
    return load_prepared(path)


def write_shards(directory, data, fit, count):
    paths = [directory / f"{shard}.npz" for shard in range(count)]
    for shard, path in enumerate(paths):
        accumulate_shard(fit, data, shard, count).save(path)
    return paths


@pytest.mark.parametrize("changes", [{}, {"feature_map": "nystroem", "standardise": True}])
@pytest.mark.parametrize("count", [2, 4])
def test_shards_give_the_answer_of_one_pass(data, tmp_path, count, changes):
    fit = experiment(**changes)
    whole = fit_path(fit, data)
    merged = fit_path(fit, data, write_shards(tmp_path, data, fit, count))
    for name in ("sums", "components"):
        pd.testing.assert_frame_equal(
            getattr(merged, name), getattr(whole, name), rtol=1e-7, atol=1e-7
        )


def harm_header(path):
    path.write_bytes(b"?" + path.read_bytes()[1:])


def harm_matrix(path):
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)


@pytest.mark.parametrize("harm", [Path.unlink, harm_header, harm_matrix])
def test_lost_or_damaged_shard_is_computed_again_alone(data, tmp_path, monkeypatch, capsys, harm):
    fit = experiment()
    paths = write_shards(tmp_path, data, fit, 4)
    whole = fit_path(fit, data, paths)
    harm(paths[2])
    ranges = []
    original = RCCA.accumulate
    monkeypatch.setattr(
        RCCA, "accumulate", lambda *given: ranges.append(given[3:]) or original(*given)
    )
    mended = fit_path(fit, data, paths)
    assert ranges == [(4096, 6144)]
    assert "2.npz" in capsys.readouterr().err
    pd.testing.assert_frame_equal(mended.sums, whole.sums)


def test_shard_of_other_rows_is_computed_again(data, tmp_path):
    fit = experiment()
    paths = write_shards(tmp_path, data, fit, 2)
    accumulate_shard(fit, data, 0, 4).save(paths[0])
    assert fit_path(fit, data, paths).sums["n_train"].eq(6500).all()


# Peak memory belongs to a process. Memory maps count with the pages that were read.
def test_linear_features_of_views_with_unequal_columns_are_tuned_too(data):
    split = {"scheme": "random", "train": 6000, "tune": 500, "test": 500}
    fit = experiment(feature_map="linear", split=split, reg=1e-8, reg_grid=(1e-8, 1.0))
    outcome = fit_path(fit, data)
    assert outcome.sums["m"].tolist() == [5]
    assert outcome.tuning["reg"].tolist() == [1e-8, 1.0]
    assert outcome.tuning["tune_sum"].gt(0).all()


def test_both_ways_to_an_svd_are_timed_in_turns_at_every_size(data):
    times = time_svds(experiment(), data, threads=1)
    assert times["m"].tolist() == 6 * [10] + 6 * [20]
    assert times["method"].tolist() == 6 * ["truncated", "full"]
    assert times.groupby(["m", "method"])["repeat"].agg(list).tolist() == 4 * [[0, 1, 2]]
    assert (times["seconds"] > 0).all()


PEAK = """
import json, re, sys
from workflow.data.prepared import load_prepared
from workflow.stages.rcca.fit import Experiment, accumulate_shard

def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1e3

fit = Experiment(**json.loads(sys.argv[2]))
data = load_prepared(sys.argv[1])
before = peak_mb()
if sys.argv[3] == "shard":
    accumulate_shard(fit, load_prepared(sys.argv[1], verify=True), 0, 1)
else:
    data.x.sum()
print(peak_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_shard_never_holds_a_whole_view(tmp_path):
    n, columns = 100_000, 200
    x = np.random.default_rng(0).standard_normal((n, columns), dtype=np.float32)
    write_prepared(tmp_path / "toy", {"x": x, "y": x[:, :2]}, META)
    split = {"scheme": "random", "train": n - 500, "tune": None, "test": 500}
    settings = json.dumps(vars(experiment(split=split)))

    def grown(what):
        command = [sys.executable, "-c", PEAK, tmp_path / "toy", settings, what]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(done.stdout)

    view = x.nbytes / 1e6
    assert grown("whole view") > 0.9 * view
    assert grown("shard") < 0.5 * view
