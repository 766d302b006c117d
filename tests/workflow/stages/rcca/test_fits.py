"""Fits of the rcca stage: in shards, at other values of reg, cross-validated, timed, kept."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from projects import write_with_record
from rnca import RCCA, RCCACV, load_model, save_model
from workflow.data.errors import DataError
from workflow.data.prepared import load_prepared, write_prepared
from workflow.stages.rcca.cv import cross_validate
from workflow.stages.rcca.fit import Experiment, accumulate_shard, fit_path
from workflow.stages.rcca.model import fit_model
from workflow.stages.rcca.own import INFERENCE_COLUMNS, read_models
from workflow.stages.rcca.timing import time_fit, time_svds

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
        "other_regs": [],
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


def lost(path, fit, data):
    path.unlink()


def damaged_header(path, fit, data):
    path.write_bytes(b"?" + path.read_bytes()[1:])


def damaged_matrix(path, fit, data):
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)


def of_other_rows(path, fit, data):
    accumulate_shard(fit, data, 0, 2).save(path)


@pytest.mark.parametrize("harm", [lost, damaged_header, damaged_matrix, of_other_rows])
def test_lost_damaged_or_foreign_shard_is_computed_again_alone(
    data, tmp_path, monkeypatch, capsys, harm
):
    fit = experiment()
    paths = write_shards(tmp_path, data, fit, 4)
    whole = fit_path(fit, data, paths)
    harm(paths[2], fit, data)
    ranges = []
    original = RCCA.accumulate
    monkeypatch.setattr(
        RCCA, "accumulate", lambda *given: ranges.append(given[3:]) or original(*given)
    )
    mended = fit_path(fit, data, paths)
    assert ranges == [(4096, 6144)]
    assert "2.npz" in capsys.readouterr().err
    pd.testing.assert_frame_equal(mended.sums, whole.sums)


def test_linear_features_of_views_with_unequal_columns_have_other_regs_too(data):
    outcome = fit_path(experiment(feature_map="linear", reg=1e-8, other_regs=[1.0]), data)
    assert outcome.sums["m"].tolist() == outcome.regs["m"].tolist() == [5]
    assert outcome.regs["reg"].tolist() == [1.0]


def test_other_regs_of_one_pass_are_those_of_fits_of_their_own(data):
    outcome = fit_path(experiment(other_regs=[1e-1, 1e-5]), data)
    for reg, rows in outcome.regs.groupby("reg"):
        alone = fit_path(experiment(reg=reg), data).sums
        found = rows.drop(columns="reg").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, alone.drop(columns="reg"), rtol=1e-7)
    assert outcome.sums["reg"].eq(1e-3).all()


def test_features_are_float64_where_a_reg_is_below_the_rounding_of_float32(data):
    views = data.x, data.y
    assert experiment(reg=1e-8).estimator(views).dtype == "float32"
    assert experiment(reg=1e-8, other_regs=[1e-9]).estimator(views).dtype == "float64"


def test_floor_is_the_score_of_permuted_rows(data):
    fit = experiment()
    sums = fit_path(fit, data).sums
    expected = 3 * np.sqrt(2 / (np.pi * 500))  # three components of pure noise
    assert sums["floor_sum"].to_numpy() == pytest.approx(expected, rel=0.3)
    assert (sums["floor_sum"] < sums["test_sum"]).all()


def test_cross_validated_regs_have_the_test_sums_of_the_fit(data):
    regs = [1e-3, 1.0]
    found = cross_validate(experiment(other_regs=regs, folds=3), data)
    whole = fit_path(experiment(other_regs=regs[1:]), data)
    expected = pd.concat([whole.sums, whole.regs], ignore_index=True)
    columns = ["feature_map", "repeat", "reg", "m", "test_sum"]
    pd.testing.assert_frame_equal(found[columns], expected[columns], rtol=1e-7)
    assert found["cv_sum"].between(0.5 * found["test_sum"], 2 * found["test_sum"]).all()


@pytest.mark.parametrize("scheme", ["random", "groups"])
def test_folds_are_of_the_same_kind_as_the_split(tmp_path, data, monkeypatch, scheme):
    arrays = {"x": data.x, "y": data.y, "groups": np.arange(ROWS) // 100}
    write_prepared(tmp_path / "toy", arrays, META)
    grouped = load_prepared(tmp_path / "toy")
    searched = []
    monkeypatch.setattr(
        RCCACV, "fit", lambda self, x, y, groups: searched.append((self.cv, groups)) or 1 / 0
    )
    split = {"scheme": scheme, "train": 6000, "tune": None, "test": 1000}
    fit = experiment(split=split, other_regs=[1e-3], folds=3)
    with pytest.raises(ZeroDivisionError):
        cross_validate(fit, grouped)
    ((cv, groups),) = searched
    if scheme == "random":
        assert (cv.shuffle, cv.n_splits, groups) == (True, 3, None)
    else:
        assert cv == 3
        assert groups.tolist() == grouped.groups[fit.rows(grouped).train].tolist()


def test_reg_too_small_for_a_solution_has_no_sum(data, monkeypatch):
    def fails(*given):
        raise FloatingPointError("too ill-conditioned")

    monkeypatch.setattr(RCCACV, "path", fails)
    found = cross_validate(experiment(other_regs=[1e-3], folds=2), data)
    assert found["test_sum"].isna().all()


def test_both_ways_to_an_svd_are_timed_in_turns_at_every_size(data):
    times = time_svds(experiment(times=[3, 1]), data, threads=1)
    assert times["m"].tolist() == 6 * [10] + 2 * [20]
    assert times["method"].tolist() == 4 * ["truncated", "full"]
    repeats = times.groupby(["m", "method"])["repeat"].agg(list).tolist()
    assert repeats == 2 * [[0, 1, 2]] + 2 * [[0]]
    assert (times["seconds"] > 0).all()


def test_fit_is_timed_as_often_as_asked_on_each_number_of_threads(data):
    times = time_fit(experiment(times=2), data, threads=[1, 2])
    assert times["repeat"].tolist() == [0, 0, 1, 1]
    assert times["threads"].tolist() == [1, 2, 1, 2]


DIGITS = {
    "split": {"scheme": "random", "train": 1200, "tune": 200, "test": 397},
    "other_regs": [1e-3, 1e-1],
    "folds": 3,
    "permutations": 19,
}


@pytest.mark.parametrize("standardise", [False, True])
def test_what_is_kept_belongs_together(prepared, tmp_path, standardise):
    data, own = prepared("digits"), experiment(**DIGITS, standardise=standardise)
    kept = fit_model(own, data)
    assert len(kept.scores) == 4
    best = kept.scores.loc[kept.scores["mean_sum"].idxmax()]
    chosen = kept.inference.iloc[0]
    assert (chosen["m"], chosen["reg"]) == (best["m"], best["reg"])
    assert (kept.inference["p_value"] == 0.05).all()  # 19 permutations, and all are real
    save_model(kept.model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    rows = own.rows(data)
    test = kept.variables["part"] == "test"
    assert_array_equal(kept.variables["row"][test], rows.test)
    # From the prepared columns by what the table of loadings says.
    of_x = kept.loadings[kept.loadings["view"] == "x"]
    raw = (data.x[np.sort(rows.test)] - of_x["offset"].to_numpy()) / of_x["scale"].to_numpy()
    kept_x = kept.variables["x"][test]
    assert_allclose(again.transform(raw)[np.argsort(np.argsort(rows.test))], kept_x, atol=1e-4)
    assert (of_x["scale"] == 1).all() != standardise


def test_groups_stay_together_in_folds_and_permutations(prepared):
    split = {"scheme": "groups", "train": 3000, "tune": 500, "test": 500}
    own = experiment(**DIGITS | {"split": split, "feature_map": "linear", "standardise": True})
    kept = fit_model(own, prepared("synthetic-speech"))
    assert set(kept.variables["part"]) == {"train", "tune", "test"}
    assert kept.inference["m"].nunique() == 1
    assert kept.scores["m"].nunique() == 1  # linear features are as many as columns


# Peak memory belongs to a process. Memory maps count with the pages that were read.
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


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (None, None),
        (lambda x, y: (x, y[::-1]), "not what its job wrote"),
        (lambda x, y: (x[:, 0], y), "damaged"),
    ],
    ids=["as it was", "edited", "of another shape"],
)
def test_variables_that_do_not_have_the_correlation_of_the_csv_are_not_drawn(tmp_path, harm, words):
    x, y = np.random.default_rng(0).normal(size=(2, 50, 1))
    row = ("one", "fourier", 100, 1e-3, 1, np.corrcoef(x.T, y.T)[0, 1], 0.01, 0.1)
    inference = pd.DataFrame([row], columns=INFERENCE_COLUMNS)
    (tmp_path / "one").mkdir()
    loadings = write_with_record(tmp_path / "one" / "fourier.loadings.csv", inference)
    variables = str(tmp_path / "one" / "fourier.variables.npz")
    x, y = harm(x, y) if harm else (x, y)
    np.savez(variables, part=np.full(50, "test"), x=x, y=y)
    if harm is None:
        assert read_models([loadings], [variables], inference).keys() == {("one", "fourier")}
    else:
        with pytest.raises(DataError, match=f"npz: {words}.+Delete .+npz and run again"):
            read_models([loadings], [variables], inference)
