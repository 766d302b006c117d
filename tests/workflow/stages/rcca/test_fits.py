"""Jobs of the rcca stage: fits in shards, at other values of reg, cross-validated, timed, kept.

And deep and kernel CCA: their rows, their columns, and what a killed job leaves.
"""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from projects import write_with_record
from rnca import RCCA, RCCACV, load_model, save_model
from workflow.data import DataError
from workflow.data.prepared import load_prepared, write_prepared
from workflow.stages.rcca import kernel
from workflow.stages.rcca.cv import cross_validate, searched
from workflow.stages.rcca.deep import NETWORKS, Deep, fit_deep
from workflow.stages.rcca.figures import read_models
from workflow.stages.rcca.fit import Experiment, accumulate_shard, fit_path
from workflow.stages.rcca.grid import fit_grid, shuffled, tuned
from workflow.stages.rcca.kernel import KCCA_COLUMNS, PartialRows, fit_kcca
from workflow.stages.rcca.model import fit_model
from workflow.stages.rcca.tables import INFERENCE_COLUMNS
from workflow.stages.rcca.timing import time_fit, time_svds
from workflow.stages.rcca.trial import Trial, state_file

ROWS = 7000
META = {"name": "toy", "kind": "own", "title": "toy"}


SPLIT = {"scheme": "random", "train": 6500, "tune": None, "test": 500}
OF_DIGITS = {"scheme": "random", "train": 1200, "tune": 200, "test": 397}
TRIAL = {"name": "toy", "draws": "toy", "split": SPLIT, "standardise": False, "components": 3}
TRIAL |= {"repeat": 0, "seed": 1}
SETTINGS = TRIAL | {"features": [10, 20], "reg": 1e-3, "regs": [], "width": 1.0}
SETTINGS |= {"same_landmarks": False, "feature_map": "fourier"}


def experiment(**changes):
    return Experiment(**SETTINGS | changes)


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


@pytest.mark.parametrize("harm", ["lost", "header", "matrix", "of other rows"])
def test_lost_damaged_or_foreign_shard_is_computed_again_alone(
    data, tmp_path, monkeypatch, capsys, harm
):
    fit = experiment()
    paths = write_shards(tmp_path, data, fit, 4)
    whole = fit_path(fit, data, paths)
    content = bytearray(paths[2].read_bytes())
    if harm == "lost":
        paths[2].unlink()
    elif harm == "of other rows":
        accumulate_shard(fit, data, 0, 2).save(paths[2])
    else:
        content[0 if harm == "header" else len(content) // 2] ^= 1
        paths[2].write_bytes(content)
    ranges = []
    original = RCCA.accumulate
    monkeypatch.setattr(
        RCCA, "accumulate", lambda *given: ranges.append(given[3:]) or original(*given)
    )
    mended = fit_path(fit, data, paths)
    assert ranges == [(4096, 6144)]
    assert "2.npz" in capsys.readouterr().err
    pd.testing.assert_frame_equal(mended.sums, whole.sums)


@pytest.mark.parametrize("kind", ["fourier", "linear"])  # of views with unequal columns
def test_the_grid_has_the_sums_of_fits_of_their_own(data, kind):
    split = SPLIT | {"train": 6000, "tune": 500}
    grid = fit_grid(experiment(feature_map=kind, regs=[1e-1, 1e-5], split=split), data)
    columns = ["m", "train_sum", "test_sum", "components", "n_train", "n_test", "noise_level"]
    for reg, rows in grid.groupby("reg"):
        alone = fit_path(experiment(feature_map=kind, reg=reg, split=split), data).sums
        found = rows[columns].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, alone[columns], rtol=1e-6)
    assert grid["tune_sum"].between(0, 3).all()
    assert not np.isclose(grid["tune_sum"], grid["test_sum"]).any()
    assert grid["pairing"].eq("paired").all()


def test_unrelated_pairs_leave_nothing_on_test_rows(data):
    grid = fit_grid(experiment(regs=[1e-3], pairing="permuted"), data)
    true = fit_grid(experiment(regs=[1e-3]), data)
    assert (grid["test_sum"] < 0.3 * true["test_sum"]).all()
    assert (grid["train_sum"] < 1.1 * grid["noise_level"] * grid["components"]).all()
    assert grid["tune_sum"].isna().all()


def test_linear_cca_is_tuned_on_tuning_rows_and_kept_untuned_beside(data):
    split = SPLIT | {"train": 6000, "tune": 500}
    fit = experiment(feature_map="linear", regs=[1e-3, 1e3], split=split)
    grid, rows = fit_grid(fit, data), tuned(fit, data)
    assert rows["tuned"].tolist() == [False, True]
    assert rows["reg"][0] == fit.reg
    assert rows["tune_sum"][1] == grid["tune_sum"].max()
    assert rows["on_edge"].tolist() == [False, True]


def test_other_order_of_rows_keeps_groups_together():
    groups = np.repeat([3, 1, 2], [2, 3, 4])
    order = shuffled(9, groups, np.random.default_rng(1))
    assert sorted(order) == list(range(9))
    assert (np.diff(order[np.argsort(groups[order], kind="stable")]) == 1).sum() >= 6
    assert groups[order].tolist() != groups.tolist()
    assert (np.diff(groups[order]) != 0).sum() == 2
    assert sorted(shuffled(9, None, np.random.default_rng(0))) == list(range(9))


def test_grid_has_no_sums_where_there_is_no_solution(data, monkeypatch):
    path = RCCA.path

    def fails(self, sizes, regs):
        if regs[0] < 1e-4 and 20 in sizes:
            raise FloatingPointError("too ill-conditioned")
        return path(self, sizes, regs)

    monkeypatch.setattr(RCCA, "path", fails)
    grid = fit_grid(experiment(regs=[1e-5, 1e-3]), data)
    assert grid["m"].tolist() == [10, 20, 10, 20]
    assert grid["test_sum"].isna().tolist() == [False, True, False, False]


def test_features_are_float64_where_a_reg_is_below_the_rounding_of_float32(data):
    views = data.x, data.y
    assert experiment(reg=1e-8).estimator(views).dtype == "float32"
    assert experiment(reg=1e-8, regs=[1e-9]).estimator(views).dtype == "float64"


def test_floor_is_the_score_of_permuted_rows(data):
    sums = fit_path(experiment(), data).sums
    expected = 3 * np.sqrt(2 / (np.pi * 500))  # three components of pure noise
    assert sums["floor_sum"].to_numpy() == pytest.approx(expected, rel=0.3)
    assert (sums["floor_sum"] < sums["test_sum"]).all()


def test_cross_validated_regs_have_the_test_sums_of_the_fit(data):
    regs = [1e-3, 1.0]
    found = cross_validate(experiment(regs=regs, folds=3), data)
    fits = [fit_path(experiment(reg=reg), data).sums for reg in regs]
    expected = pd.concat(fits, ignore_index=True)
    columns = ["feature_map", "repeat", "reg", "m", "test_sum"]
    pd.testing.assert_frame_equal(found[columns], expected[columns], rtol=1e-7)
    assert found["cv_sum"].between(0.5 * found["test_sum"], 2 * found["test_sum"]).all()


@pytest.mark.parametrize("scheme", ["random", "groups"])
def test_folds_are_of_the_same_kind_as_the_split(tmp_path, data, monkeypatch, scheme):
    arrays = {"x": data.x, "y": data.y, "groups": np.arange(ROWS) // 100}
    write_prepared(tmp_path / "toy", arrays, META)
    grouped = load_prepared(tmp_path / "toy")
    monkeypatch.setattr(RCCACV, "fit", lambda self, x, y, groups: (self.cv, groups))
    split = {"scheme": scheme, "train": 6000, "tune": None, "test": 1000}
    fit = experiment(split=split, regs=[1e-3], folds=3)
    rows = fit.rows(grouped)
    cv, groups = searched(fit, grouped, rows, fit.views(grouped, rows, "train"))
    if scheme == "random":
        assert (cv.shuffle, cv.n_splits, groups) == (True, 3, None)
    else:
        assert cv == 3
        assert groups.tolist() == grouped.groups[rows.train].tolist()


def test_reg_too_small_for_a_solution_has_no_sum(data, monkeypatch):
    def fails(*given):
        raise FloatingPointError("too ill-conditioned")

    monkeypatch.setattr(RCCACV, "path", fails)
    found = cross_validate(experiment(regs=[1e-3], folds=2), data)
    assert found["test_sum"].isna().all()


def test_fits_and_both_ways_to_an_svd_are_timed_as_often_as_asked_in_turns(data):
    times = time_fit(experiment(times=2), data, threads=[1, 2])
    assert times["repeat"].tolist() == [0, 0, 1, 1]
    assert times["threads"].tolist() == [1, 2, 1, 2]
    times = time_svds(experiment(times=3), data, threads=1)
    assert times["m"].tolist() == 6 * [10] + 6 * [20]
    assert times["method"].tolist() == 6 * ["truncated", "full"]
    repeats = times.groupby(["m", "method"])["repeat"].agg(list).tolist()
    assert repeats == 4 * [[0, 1, 2]]
    assert (times["seconds"] > 0).all()


DIGITS = {"split": OF_DIGITS, "regs": [1e-3, 1e-1], "folds": 3, "permutations": 19}


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
from workflow.stages.rcca.deep import NETWORKS, Deep, fit_deep
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


def test_variables_that_do_not_have_the_correlation_of_the_csv_are_not_drawn(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(2, 50, 1))
    row = ("one", "fourier", 100, 1e-3, 1, np.corrcoef(x.T, y.T)[0, 1], 0.01, 0.1)
    inference = pd.DataFrame([row], columns=INFERENCE_COLUMNS)
    (tmp_path / "one").mkdir()
    loadings = write_with_record(tmp_path / "one" / "fourier.loadings.csv", inference)
    variables = str(tmp_path / "one" / "fourier.variables.npz")
    np.savez(variables, part=np.full(50, "test"), x=x, y=y)
    assert read_models([loadings], [variables], inference).keys() == {("one", "fourier")}
    for words, first in (("not what its job wrote", x[::-1]), ("damaged", x[:, 0])):
        np.savez(variables, part=np.full(50, "test"), x=first, y=y)
        with pytest.raises(DataError, match=f"npz: {words}.+Delete .+npz and run again"):
            read_models([loadings], [variables], inference)


COMMON = TRIAL | {"split": OF_DIGITS, "components": 4, "seed": 3}
NETWORK = {"layers": 2, "widths": [20], "regs": [1e-4, 1e-1], "patience": 5, "epochs": 3}
ADAM = {"learning_rates": [1e-2, 1e-4], "batch_size": 200}
LBFGS = {"decays": [1e-3], "noise": 0.5, "pretraining_decay": 1e-3, "steps": 3}
DEEP = Deep(**COMMON, network="dcca", baseline=NETWORK | ADAM)
DEEP_2013 = Deep(**COMMON, network="dcca2013", baseline=NETWORK | LBFGS)
SIZES = {"sizes": [100, 400, 5000], "regs": [1e-3, 1e-2], "chosen_up_to": 400}
KERNEL = Trial(**COMMON, baseline=SIZES)


@pytest.fixture
def digits(prepared):
    return prepared("digits")


def test_split_without_tuning_rows_sets_training_rows_aside(digits):
    split = {"scheme": "random", "train": 1400, "tune": None, "test": 397}
    assert Deep(**COMMON | {"split": split}).rows_with_tuning(digits).sizes == (1260, 140, 397)
    assert DEEP.rows_with_tuning(digits).sizes == (1200, 200, 397)


@pytest.mark.parametrize("deep", [DEEP, DEEP_2013], ids=NETWORKS)
def test_deep_rows_say_what_was_fitted_and_how_long_it_took(digits, tmp_path, deep):
    first, again = (
        fit_deep(deep, digits, lambda number: tmp_path / f"{number}.npz") for _ in range(2)
    )
    sums, curve, search = first.values()
    (row,) = sums.to_dict("records")
    units = {"dcca": "relu", "dcca2013": "cube root"}[deep.network]
    assert row["method"] == deep.network
    assert row["architecture"] == f"32-20-20-4; 32-20-20-4; {units}"
    assert row["parameters"] == 2 * (33 * 20 + 21 * 20 + 21 * 4)
    assert (row["n_train"], row["n_tune"], row["n_test"]) == (1200, 200, 397)
    assert curve["epoch"].tolist() == [1, 2, 3]
    assert curve["minutes"].is_monotonic_increasing
    assert row["minutes"] > curve["minutes"].iloc[-1] > 0
    assert row["tune_sum"] == pytest.approx(curve["tune_sum"].max(), abs=1e-9)
    assert 0 < row["test_sum_signed"] <= row["test_sum"] < 4
    # Every candidate was judged on tuning rows, and none but the best of them on test rows.
    assert len(search) == len(deep.candidates()) == search["tune_sum"].nunique()
    assert search["n_tune"].eq(200).all()
    assert not any("test" in column for column in search)
    best = search.loc[search["tune_sum"].idxmax()]
    assert search["is_chosen"].sum() == best["is_chosen"] == 1
    assert (row["reg"], row["tune_sum"]) == (best["reg"], best["tune_sum"])
    # Again, from its checkpoints, training was at its end.
    assert again["dcca"]["test_sum"].tolist() == sums["test_sum"].tolist()
    assert again["curve"]["minutes"].tolist() == curve["minutes"].tolist()
    assert again["dcca"]["minutes"].iloc[0] > curve["minutes"].iloc[-1]


def test_candidates_are_all_combinations_and_start_from_the_same_weights():
    found = [(each["reg"], each["learning_rate"]) for each in DEEP.candidates()]
    assert found == [(1e-4, 1e-2), (1e-4, 1e-4), (1e-1, 1e-2), (1e-1, 1e-4)]
    assert len({DEEP.estimator(each).seed for each in DEEP.candidates()}) == 1
    wider = Deep(**COMMON, network="dcca", baseline=NETWORK | ADAM | {"widths": [20, 40]})
    built = [wider.estimator(each).hidden for each in wider.candidates()]
    assert built == [[20, 20]] * 4 + [[40, 40]] * 4


def test_kernel_rows_choose_reg_on_tuning_rows_and_keep_it_beyond(digits, tmp_path):
    rows = fit_kcca(KERNEL, digits, tmp_path / "state.json")
    assert list(rows) == KCCA_COLUMNS
    assert rows["n"].tolist() == [100, 400, 1200]  # no more than the training rows
    assert rows["parameters"].tolist() == [n * (64 + 8) for n in rows["n"]]
    assert (rows["test_sum"].diff().dropna() > 0).all()
    tried = PartialRows(tmp_path / "state.json").rows
    assert [(row["n"], row["reg_over_n"]) for row in tried] == [
        *((n, reg) for n in (100, 400) for reg in (1e-3, 1e-2)),
        (1200, rows["reg_over_n"][1]),
    ]
    for n, chosen in zip(rows["n"], rows["tune_sum"], strict=True):
        assert chosen == max(row["tune_sum"] for row in tried if row["n"] == n)


def test_size_beyond_memory_is_left_out_with_the_reason(digits, tmp_path, monkeypatch):
    free = kernel.kcca_bytes(500, 64)
    monkeypatch.setattr(kernel.psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    rows = fit_kcca(KERNEL, digits, tmp_path / "state.json")
    assert rows["test_sum"].isna().tolist() == [False, False, True]
    assert "GB of memory" in rows["left_out"].iloc[-1]


@pytest.mark.parametrize("harm", ["none", "flip", "cut", "empty"])
def test_finished_fits_are_made_again_only_if_damaged(tmp_path, capsys, harm):
    file = tmp_path / "rows.json"
    first = PartialRows(file).get({"n": 5}, lambda: {"n": 5, "value": 7.0})
    content = file.read_bytes()
    harmed = {"flip": content.replace(b"7.0", b"8.0"), "cut": content[:-3], "empty": b""}
    file.write_bytes(harmed.get(harm, content))
    again = PartialRows(file).get({"n": 5}, lambda: {"n": 5, "value": 9.0})
    assert (first["value"], again["value"]) == (7.0, 7.0 if harm == "none" else 9.0)
    assert ("rows.json: damaged" in capsys.readouterr().err) == (harm != "none")


def test_state_is_named_after_what_it_depends_on(tmp_path):
    output = tmp_path / "rcca" / "mnist" / "0.dcca.csv"
    old = state_file(output, "mnist.npz", {"epochs": 3})
    assert old.parent == tmp_path / "state" / "rcca"
    old.parent.mkdir(parents=True)
    old.write_text("state")
    other_job = state_file(output, "mnist-official.npz", {"epochs": 3})
    other_job.write_text("state")
    assert state_file(output, "mnist.npz", {"epochs": 3}) == old
    assert old.exists()
    assert state_file(output, "mnist.npz", {"epochs": 4}) != old
    assert not old.exists()
    assert other_job.exists()
