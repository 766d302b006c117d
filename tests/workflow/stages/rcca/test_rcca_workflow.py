"""Stage rcca in the workflow: its settings, what it costs, what it leaves, what a kill leaves."""

import time
from math import ceil

import numpy as np
import pandas as pd
import psutil
import pytest
from numpy.testing import assert_allclose

from workflow.lib.resources import PROCESSES_MB, fit_mem_mb, growing
from workflow.lib.settings import check
from workflow.stages.rcca.settings import SPLIT_BYTES

ONE = {
    "dataset": "mnist",
    "title": "one",
    "split": {"scheme": "random", "train": 50_000, "tune": 6_000, "test": 10_000},
    "components": 5,
    "features": [10, 6000],
}


def checked(others=(), **changes):
    one = {key: value for key, value in (ONE | changes).items() if value is not None}
    return check({"run": "try", "rcca": {"one": one, **dict(others)}}).rcca


def stems(stage, kind):
    return [job.stem for job in stage.jobs(1) if job.kind == kind]


def test_every_kind_of_job_is_listed_once_under_its_own_name():
    own = checked(
        maps=["linear", "fourier"], repeats=2, shards=3, timing=[10, 20],
        cv={"regs": [1e-8], "repeats": 1}, model={}, kcca={"sizes": [100]},
    )  # fmt: skip
    jobs = list(own.jobs(7))
    assert len({job.name for job in jobs}) == len(jobs)
    assert stems(own, "fit") == ["linear-0", "linear-1", "fourier-0", "fourier-1"]
    assert stems(own, "shard")[:4] == ["linear-0-0", "linear-0-1", "linear-0-2", "linear-1-0"]
    assert stems(own, "cv") == ["linear-0", "fourier-0"]
    assert stems(own, "timing") == ["linear-m10", "fourier-m10", "fourier-m20"]
    assert stems(own, "svd") == stems(own, "model")[1:] == ["fourier"]
    assert stems(own, "kcca") == stems(own, "leaks") == ["all"]
    assert stems(checked(maps=["linear"], timing=[10]), "svd") == []
    assert {job.settings["seed"] for job in jobs if job.kind != "leaks"} == {7}
    shard = next(job for job in jobs if job.kind == "shard" and job.stem == "fourier-1-2")
    asked = {"repeat": 1, "shard": 2, "shards": 3, "feature_map": "fourier"}
    assert shard.settings.items() >= asked.items()


def test_memory_is_that_of_matrices_chunks_row_numbers_and_processes():
    assert fit_mem_mb(6000) == PROCESSES_MB + 1728 + 787
    assert checked()["one"].mem_mb() == fit_mem_mb(6000) + ceil(50_000 * SPLIT_BYTES / 1e6)
    assert checked()["one"].mem_mb("leaks") == checked().largest_mem_mb()
    own = checked(cv={"regs": [1e-8], "folds": 3}, model={}, kcca={"sizes": [1000, 50_000]})["one"]
    assert (
        own.mem_mb("model")
        > own.mem_mb("cv")
        == fit_mem_mb(6000) + ceil(4 * 864 + 50_000 * SPLIT_BYTES / 1e6)
    )
    assert own.mem_mb("kcca") == pytest.approx(8 * 50_000**2 / 1e6, rel=0.2)
    assert own.mem_mb("deep") < 2000


def test_amounts_double_with_each_attempt():
    assert [growing(30)(None, attempt) for attempt in (1, 2, 3)] == [30, 60, 120]
    assert growing(lambda w: 1000)(None, 2) == 2000


def test_jobs_are_asked_for_what_they_depend_on():
    cv = {"regs": [1e-8, 1e-3], "features": [10]}
    own = checked(cv=cv, dcca={"widths": [8], "repeats": 2})["one"]
    job = own.job(name="one", repeat=0, seed=1) | own.choice("cv")
    assert (job["features"], job["regs"], job["folds"]) == ([10], [1e-8, 1e-3], 3)
    assert "features" not in checked(cv={"regs": [1e-8]})["one"].choice("cv")  # then the fit's
    job = own.baseline("dcca", name="one", repeat=1, seed=3)
    assert (job["draws"], job["repeat"], job["components"]) == ("one", 1, 5)
    assert job["split"] == ONE["split"]
    assert job["baseline"]["batch_size"] == 500
    assert "repeats" not in job["baseline"]


def test_the_grid_has_all_m_in_its_first_repeat_and_unrelated_pairs_if_wanted():
    grid = {"regs": [1e-3], "features": [10], "unrelated": True}
    stage = checked(features=[10, 20], repeats=2, grid=grid)
    jobs = [job.settings for job in stage.jobs(1) if job.kind == "grid"]
    assert [job["feature_map"] for job in jobs] == stage["one"].maps
    assert jobs[0]["fits"] == [
        {"repeat": 0, "features": [10, 20]},
        {"repeat": 1, "features": [10]},
        {"repeat": 0, "features": [10], "pairing": "permuted"},
    ]
    assert checked(grid=grid)["one"].mem_mb("grid") > checked()["one"].mem_mb()


def test_deep_cca_has_the_repeats_of_its_experiment_unless_it_asks_for_fewer():
    own = checked(repeats=3, dcca={}, dcca2013={"repeats": 2})
    assert stems(own, "deep") == ["dcca-0", "dcca-1", "dcca-2", "dcca2013-0", "dcca2013-1"]
    assert stems(checked(repeats=1, dcca2013={"repeats": 2}), "deep") == ["dcca2013-0"]
    # It races against timed RCCA.
    assert checked(dcca={}).raced() == []
    assert checked(dcca={}, timing=[10]).raced() == ["one"]


def test_variant_takes_over_what_it_does_not_change():
    base = {"reg": 1e-5, "dcca": {"widths": [8]}, "timing": [10], "published": True}
    series = {"name": "z", "title": "Z", "paper": "xrmb"}
    raw = {"variant_of": "one", "title": "raw", "series": series, "standardise": True}
    wide = {"variant_of": "one", "title": "wide", "width": 0.5}
    found = checked({"wide": wide, "raw": raw}, **base)
    base_job, variant_job = (found[name].job(name=name) for name in ("one", "wide"))
    assert {key for key in base_job if base_job[key] != variant_job[key]} == {"name", "width"}
    assert variant_job["draws"] == "one"
    assert not any(getattr(found["wide"], key) for key in ("dcca", "timing", "published"))
    # One within a series stands in its table, not among variants.
    assert found.main_titles() == {"one": "one"}
    assert found.variants() == {"wide": "one"}
    assert found.series() == {"raw": {**series, "protocol": "frames"}}


def test_run_leaves_sums_curves_race_and_no_state(finished):
    results = finished.file("results/test")
    deep, curve, search, kernel = (
        pd.read_csv(results / f"rcca/{name}.csv") for name in ("dcca", "curve", "search", "kcca")
    )
    assert deep["method"].tolist() == ["dcca", "dcca2013"]
    assert len(curve) == deep["epochs"].sum() == 4
    assert search["is_chosen"].sum() == 2
    assert kernel["n"].tolist() == [100, 200]
    race = pd.read_csv(results / "tables/baselines_race.csv")
    assert set(race["feature_map"]) == {"linear", "fourier"}
    assert not list((results / "state").rglob("*.*"))
    table = (results / "tables/baselines.md").read_text("utf-8")
    assert "deep CCA (32-10-10-3" in table
    assert "2013: one of 2 candidates, chosen in each repeat on its 97 tuning rows" in table


def test_killed_training_goes_on_where_it_was(project):
    target, curve = (f"results/test/rcca/digits/dcca-0.{what}.csv" for what in ("dcca", "curve"))
    arguments = ("-m", "workflow.run", target, "--configfile", "config/test.yaml")
    with project.edited("config/test.yaml", "epochs: 2 }", "epochs: 300, patience: 300 }"):
        run = project.start(*arguments)
        state = project.file("results/test/state/rcca")
        while not list(state.glob("digits-dcca-0-0-*.npz")):
            assert run.poll() is None
            time.sleep(0.02)
        for process in [*psutil.Process(run.pid).children(recursive=True), run]:
            process.kill()
        run.communicate()
        assert not project.file(target).exists()
        (kept,) = state.glob("digits-dcca-0-0-*.npz")
        with np.load(kept) as stored:
            history = stored["history"]
        assert 0 < len(history) < 300

        code, screen = project.launch(*arguments[2:])
    assert code == 0, screen
    epochs = pd.read_csv(project.file(curve))
    assert len(epochs) == 300
    # To the last digit of the times too: these epochs were not trained again.
    assert_allclose(epochs["minutes"][: len(history)] * 60, history[:, 1], rtol=1e-12)
    assert not kept.exists()
