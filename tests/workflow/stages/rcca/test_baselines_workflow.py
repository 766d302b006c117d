"""The baselines stage in the workflow: what it plans, what it leaves, what a kill leaves."""

import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest
from numpy.testing import assert_allclose
from snakemake.exceptions import WorkflowError

from workflow import settings
from workflow.plan.baselines import MINUTES_BESIDE, BaselinesPlan
from workflow.plan.rcca import MINUTES_IF_UNKNOWN

FIT = SimpleNamespace(experiment="one")


def config(**changes):
    experiment = {
        "dataset": "mnist",
        "title": "one",
        "split": {"scheme": "random", "train": 54000, "tune": 6000, "test": 10000},
        "components": 50,
        "dcca": {"hidden": [800, 800]},
        "kcca": {"sizes": [1000, 54000]},
    }
    return {"run": "try", "baselines": {"one": experiment | changes}}


def checked(**changes):
    valid = config(**changes)
    settings.check(valid)
    return BaselinesPlan("baselines", valid)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"split": {"scheme": "random", "train": 9, "test": 9}}, "one.split.tune: at least 2 rows"),
        ({"kcca": {"sizes": [200, 100]}}, "one.kcca.sizes: [200, 100] must increase"),
        (
            {"kcca": {"sizes": [50]}},
            "one.components: kcca.sizes and dcca.batch_size",
        ),
        ({"dataset": "patches"}, "one.dataset: 'patches' does not have two views"),
        ({"dcca": {"hiden": [3]}}, "one.dcca.hiden: unknown key; did you mean 'hidden'?"),
    ],
)
def test_mistake_is_named(changes, sentence):
    with pytest.raises(WorkflowError) as caught:
        settings.check(config(**changes))
    assert f"baselines.{sentence}" in str(caught.value)


def test_repeats_are_fits_of_their_own_on_the_rows_of_rcca():
    first, second = checked(dcca={"hidden": [8], "repeats": 2}).deep_fits(FIT)
    assert (first["repeat"], second["repeat"]) == (0, 1)
    assert first["draws"] == "one"
    assert first["network"]["batch_size"] == 500
    assert "repeats" not in first["network"]


def test_memory_and_minutes_follow_the_sizes():
    plan = checked()
    assert plan.kernel_mem_mb(FIT) == pytest.approx(8 * 54000**2 / 1e6, rel=0.2)
    assert plan.deep_mem_mb(FIT) == plan.largest_mem_mb() < 2000
    small = checked(kcca={"sizes": [1000, 2000]})
    assert small.kernel_minutes(FIT, 1) <= MINUTES_BESIDE + 1 < plan.kernel_minutes(FIT, 1)
    assert plan.kernel_minutes(FIT, 1) > plan.kernel_minutes(FIT, 2)
    assert checked(dataset="mnist").deep_minutes(FIT, 1) < 60
    given = checked(split={"scheme": "given"}, dataset="synthetic-speech")
    assert given.deep_minutes(FIT, 1) == MINUTES_IF_UNKNOWN


def test_race_needs_timed_rcca_of_the_same_name():
    assert checked().race() == []
    both = config() | {"rcca": {"one": {"timing": [10]}, "two": {"timing": []}}}
    assert BaselinesPlan("baselines", both).race() == ["results/try/tables/baselines_race.csv"]


def test_run_leaves_sums_curves_race_and_no_state(finished):
    results = finished.file("results/test")
    deep = pd.read_csv(results / "baselines/digits.dcca.csv")
    curve = pd.read_csv(results / "baselines/digits.curve.csv")
    kernel = pd.read_csv(results / "baselines/digits.kcca.csv")
    assert deep["n_train"].tolist() == [1400]
    assert len(curve) == deep["epochs"].iloc[0] == 2
    assert kernel["n"].tolist() == [100, 200]
    race = pd.read_csv(results / "tables/baselines_race.csv")
    assert set(race["feature_map"]) == {"linear", "fourier"}
    assert not list((results / "state").rglob("*.*"))
    assert "deep CCA (32-10-10-3" in (results / "tables/baselines.md").read_text("utf-8")


def test_killed_training_goes_on_where_it_was(project):
    target, curve = (f"results/test/baselines/digits.{what}.csv" for what in ("dcca", "curve"))
    arguments = ("-m", "workflow.launch", target, "--configfile", "config/test.yaml")
    with project.edited("config/test.yaml", "epochs: 2 }", "epochs: 300, patience: 300 }"):
        launcher = project.start(*arguments)
        state = project.file("results/test/state/baselines")
        while not list(state.glob("digits-dcca-0-*.npz")):
            assert launcher.poll() is None
            time.sleep(0.02)
        for process in [*psutil.Process(launcher.pid).children(recursive=True), launcher]:
            process.kill()
        launcher.communicate()
        assert not project.file(target).exists()
        (kept,) = state.glob("digits-dcca-0-*.npz")
        with np.load(kept) as stored:
            history = stored["history"]
        assert 0 < len(history) < 300

        code, screen = project.launch(*arguments[1:])
    assert code == 0, screen
    epochs = pd.read_csv(project.file(curve))
    assert len(epochs) == 300
    # To the last digit of the times too: these epochs were not trained again.
    assert_allclose(epochs["minutes"][: len(history)] * 60, history[:, 1], rtol=1e-12)
    assert not kept.exists()
