"""What the plan foresees of a fit: memory and time."""

from types import SimpleNamespace

import pytest

from plan.rcca import MINUTES_BESIDE_THE_PASS, MINUTES_IF_UNKNOWN, RccaPlan, fit_mem_mb


def plan(dataset="mnist", shards=1, **split):
    experiment = {"dataset": dataset, "split": split, "features": [10, 6000], "shards": shards}
    return RccaPlan("rcca", {"run": "try", "rcca": {"one": experiment}})


FIT = SimpleNamespace(experiment="one")


def test_memory_is_that_of_the_matrices_the_chunks_and_the_libraries():
    assert fit_mem_mb(6000) == 300 + 1152 + 787
    assert plan().mem_mb(FIT) == plan().largest_mem_mb() == fit_mem_mb(6000)


def test_run_without_fits_needs_no_memory_for_them():
    assert RccaPlan("rcca", {"run": "try", "rcca": {}}).largest_mem_mb() == 0


@pytest.mark.parametrize(
    ("settings", "threads", "minutes"),
    [
        ({"train": 50_000}, 1, 6),
        ({"train": 50_000}, 2, 3),
        ({"train": 50_000, "shards": 3}, 1, 2),
        ({"dataset": "xrmb"}, 1, 4),
    ],
)
def test_minutes_follow_rows_threads_and_shards(settings, threads, minutes):
    assert plan(**settings).minutes(FIT, threads) == MINUTES_BESIDE_THE_PASS + minutes


def test_unknown_rows_get_generous_time():
    assert plan(dataset="mine").minutes(FIT, 2) == MINUTES_IF_UNKNOWN
