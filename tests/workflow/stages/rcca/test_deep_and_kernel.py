"""Deep and kernel CCA: their rows, their columns, and what a killed job leaves."""

from types import SimpleNamespace

import numpy as np
import pytest

from workflow.stages.rcca import kernel
from workflow.stages.rcca.deep import NETWORKS, Deep, fit_deep
from workflow.stages.rcca.fit import Experiment
from workflow.stages.rcca.kernel import KCCA_COLUMNS, fit_kcca
from workflow.stages.rcca.partial import PartialRows, state_file
from workflow.stages.rcca.trial import Trial

COMMON = {
    "name": "digits",
    "draws": "digits",
    "split": {"scheme": "random", "train": 1200, "tune": 200, "test": 397},
    "standardise": False,
    "components": 4,
    "repeat": 0,
    "seed": 3,
}
NETWORK = {"hidden": [20, 20], "regs": [1e-4, 1e-1], "patience": 5, "epochs": 3}
ADAM = {"learning_rates": [1e-2, 1e-4], "batch_size": 200}
LBFGS = {"decays": [1e-3], "noise": 0.5, "pretraining_decay": 1e-3, "steps": 3}
DEEP = Deep(**COMMON, network="dcca", baseline=NETWORK | ADAM)
DEEP_2013 = Deep(**COMMON, network="dcca2013", baseline=NETWORK | LBFGS)
KERNEL = Trial(
    **COMMON, baseline={"sizes": [100, 200, 400], "regs": [1e-3, 1e-2], "chosen_up_to": 200}
)


@pytest.fixture
def digits(prepared):
    return prepared("digits")


def test_rows_are_those_of_rcca(digits):
    own = {"features": [10], "reg": 1.0, "reg_grid": [], "width": 1.0, "same_landmarks": False}
    rcca = Experiment(**COMMON, **own, feature_map="fourier")
    for part in ("train", "tune", "test"):
        assert np.array_equal(getattr(rcca.rows(digits), part), getattr(DEEP.rows(digits), part))


def test_split_without_tuning_rows_sets_training_rows_aside(digits):
    split = {"scheme": "random", "train": 1400, "tune": None, "test": 397}
    assert Deep(**COMMON | {"split": split}).rows_with_tuning(digits).sizes == (1260, 140, 397)
    assert DEEP.rows_with_tuning(digits).sizes == (1200, 200, 397)


@pytest.mark.parametrize("deep", [DEEP, DEEP_2013], ids=NETWORKS)
def test_deep_rows_say_what_was_fitted_and_how_long_it_took(digits, tmp_path, deep):
    first, again = (
        fit_deep(deep, digits, lambda number: tmp_path / f"{number}.npz") for _ in range(2)
    )
    sums, curve, search = first
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
    assert again.sums["test_sum"].tolist() == sums["test_sum"].tolist()
    assert again.curve["minutes"].tolist() == curve["minutes"].tolist()
    assert again.sums["minutes"].iloc[0] > curve["minutes"].iloc[-1]


def test_candidates_are_all_combinations_and_start_from_the_same_weights():
    found = [(each["reg"], each["learning_rate"]) for each in DEEP.candidates()]
    assert found == [(1e-4, 1e-2), (1e-4, 1e-4), (1e-1, 1e-2), (1e-1, 1e-4)]
    assert len({DEEP.estimator(each).seed for each in DEEP.candidates()}) == 1


def test_kernel_rows_choose_reg_on_tuning_rows_and_keep_it_beyond(digits, tmp_path):
    rows = fit_kcca(KERNEL, digits, tmp_path / "state.json")
    assert list(rows) == KCCA_COLUMNS
    assert rows["n"].tolist() == [100, 200, 400]
    assert rows["parameters"].tolist() == [n * (64 + 8) for n in (100, 200, 400)]
    assert (rows["test_sum"].diff().dropna() > 0).all()
    tried = PartialRows(tmp_path / "state.json").rows
    assert [(row["n"], row["reg_over_n"]) for row in tried[:4]] == [
        (n, reg) for n in (100, 200) for reg in (1e-3, 1e-2)
    ]
    assert [(row["n"], row["reg_over_n"]) for row in tried[4:]] == [(400, rows["reg_over_n"][1])]
    for n, chosen in zip(rows["n"], rows["tune_sum"], strict=True):
        assert chosen == max(row["tune_sum"] for row in tried if row["n"] == n)


def test_kernel_sizes_beyond_the_training_rows_are_all_of_them(digits, tmp_path):
    sizes = {"sizes": [100, 1200, 5000], "regs": [1e-2], "chosen_up_to": 100}
    rows = fit_kcca(Trial(**COMMON, baseline=sizes), digits, tmp_path / "state.json")
    assert rows["n"].tolist() == [100, 1200]


def test_size_beyond_memory_is_left_out_with_the_reason(digits, tmp_path, monkeypatch):
    free = kernel.kcca_bytes(300, 64)
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
    old = state_file(tmp_path, "mnist.npz", {"epochs": 3})
    old.write_text("state")
    other_job = state_file(tmp_path, "mnist-official.npz", {"epochs": 3})
    other_job.write_text("state")
    assert state_file(tmp_path, "mnist.npz", {"epochs": 3}) == old
    assert old.exists()
    assert state_file(tmp_path, "mnist.npz", {"epochs": 4}) != old
    assert not old.exists()
    assert other_job.exists()
