"""Settings of stage maps: what each job depends on, and what the jobs cost."""

import pytest

from workflow.lib.resources import fit_mem_mb
from workflow.lib.settings import check

ONE = {
    "dataset": "digits",
    "title": "digits",
    "train": 1000,
    "test": 300,
    "kernel_rows": 100,
    "components": 5,
    "features": [10, 20],
}


def checked(**changes):
    return check({"run": "try", "maps": {"one": ONE | changes}}).maps


def test_a_repeat_and_the_timing_have_settings_of_their_own():
    own = checked(repeats=2, timed_rows=64)["one"]
    assert own.job(repeat=1) == {
        "train": 1000,
        "test": 300,
        "kernel_rows": 100,
        "components": 5,
        "features": [10, 20],
        "reg": 1e-8,
        "repeat": 1,
    }
    assert own.timing(name="one") == {
        "dimensions": [392, 1024, 3072, 8192],
        "timed_features": [1000],
        "timed_rows": 64,
        "name": "one",
    }


def test_memory_is_that_of_the_fit_or_of_the_widest_map():
    stage = checked()
    assert stage["one"].fit_mem_mb() == fit_mem_mb(20)
    assert stage.largest_mem_mb() == stage["one"].timing_mem_mb() > 48 * 1000 * 8192 / 1e6
    large = checked(dataset="mnist", train=50_000, features=[20_000])
    assert large.largest_mem_mb() == fit_mem_mb(20_000)


def test_minutes_grow_with_rows_and_shrink_with_threads():
    stage = checked(dataset="mnist", train=54_000, features=[4000], repeats=2)
    alone, both = (stage["one"].job_minutes(threads) for threads in (1, 2))
    assert alone > both > 15
    assert stage.minutes("mnist", 2) == pytest.approx(2 * 5 * 4 * 54e3 * 16e6 / 33e9 / 2 / 60)
    assert stage.minutes("digits", 2) == 0
