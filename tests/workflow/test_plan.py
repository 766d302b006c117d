"""What the plan foresees of a fit: memory and time."""

from types import SimpleNamespace

import pytest

from workflow.plan.data import DataPlan
from workflow.plan.rcca import MINUTES_BESIDE_THE_PASS, MINUTES_IF_UNKNOWN, RccaPlan, fit_mem_mb
from workflow.plan.resources import PROCESSES_MB, growing


def plan(dataset="mnist", shards=1, reg_grid=(), **split):
    experiment = {
        "dataset": dataset,
        "split": split,
        "features": [10, 6000],
        "shards": shards,
        "reg_grid": reg_grid,
    }
    return RccaPlan("rcca", {"run": "try", "rcca": {"one": experiment}})


FIT = SimpleNamespace(experiment="one")


def test_memory_is_that_of_matrices_chunks_row_numbers_and_processes():
    assert fit_mem_mb(6000) == PROCESSES_MB + 1728 + 787
    assert fit_mem_mb(6000, 10**7) == fit_mem_mb(6000) + 1100
    assert plan().mem_mb(FIT) == plan().largest_mem_mb() == fit_mem_mb(6000, 60_000)


def test_amounts_double_with_each_attempt():
    memory, minutes = growing(plan().mem_mb), growing(plan(train=50_000).minutes)
    assert [memory(FIT, 1, attempt) for attempt in (1, 2, 3)] == [
        factor * plan().mem_mb(FIT) for factor in (1, 2, 4)
    ]
    assert minutes(FIT, 2, 2) == 2 * plan(train=50_000).minutes(FIT, 2)
    assert growing(30)(FIT, 1, 3) == 120


def test_preparing_needs_more_for_larger_data(tmp_path):
    (tmp_path / "x.npy").write_bytes(bytes(3_000_000))
    place = str(tmp_path / "x.npy")
    own = {"run": "try", "prepare": [], "skip": [], "datasets": {"mine": {"x": place, "y": place}}}
    data = DataPlan(own, ["mine"])
    mine, mnist, full = (SimpleNamespace(dataset=name) for name in ("mine", "mnist", "xrmb-full"))
    assert data.mem_mb(mine) == PROCESSES_MB + 9
    assert data.mem_mb(mine) < data.mem_mb(mnist) < data.mem_mb(full)
    assert data.minutes(mine) < data.minutes(mnist) < data.minutes(full)


@pytest.mark.parametrize(
    ("timing", "sizes"), [([100, 2000, 6000], [100, 2000]), ([4000, 6000], [4000])]
)
def test_full_svds_are_timed_where_they_take_seconds_but_at_one_size_at_least(timing, sizes):
    own = plan()
    own.settings["one"] |= {
        "timing": timing, "standardise": False, "components": 5, "reg": 1e-8, "width": 1.0,
        "same_landmarks": False,
    }  # fmt: skip
    own.config["seed"] = 1
    job = SimpleNamespace(experiment="one", feature_map="fourier")
    assert own.decomposed_experiment(job)["sizes"] == sizes


ROWS = {"dataset": "mnist", "split": {"scheme": "given"}, "standardise": False, "components": 5}


def compared(others, **changes):
    experiment = {"title": "one", **ROWS, **changes}
    config = {"run": "try", "rcca": {"one": experiment}, "baselines": others}
    return RccaPlan("rcca", config)


def test_baselines_of_the_same_name_and_rows_join_table_1():
    both = compared({"one": ROWS | {"title": "other"}, "two": ROWS})
    assert both.baselines("dcca") == ["results/try/baselines/one.dcca.csv"]


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "mocha"},
        {"split": {"scheme": "official"}},
        {"standardise": True},
        {"components": 6},
        {"variant_of": "two"},
    ],
)
def test_baselines_on_other_rows_or_of_a_variant_do_not(change):
    assert compared({"one": ROWS}, **change).baselines("dcca") == []


def test_table_1_needs_no_baselines():
    assert compared({}).baselines("curve") == []


def test_run_without_fits_needs_no_memory_for_them():
    assert RccaPlan("rcca", {"run": "try", "rcca": {}}).largest_mem_mb() == 0


@pytest.mark.parametrize(
    ("settings", "threads", "minutes"),
    [
        ({"train": 50_000}, 1, 10),
        ({"train": 50_000}, 2, 5),
        ({"train": 50_000, "shards": 3}, 1, 6),
        ({"train": 50_000, "reg_grid": [1e-8, 1e-3]}, 1, 17),
        ({"dataset": "xrmb"}, 1, 8),
    ],
)
def test_minutes_follow_rows_threads_shards_and_factorisations(settings, threads, minutes):
    assert plan(**settings).minutes(FIT, threads) == MINUTES_BESIDE_THE_PASS + minutes


def test_unknown_rows_get_generous_time():
    assert plan(dataset="mine").minutes(FIT, 2) == MINUTES_IF_UNKNOWN
