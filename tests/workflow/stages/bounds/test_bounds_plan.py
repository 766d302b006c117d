"""Blocks of draws: what each job gets, and that more repeats keep the blocks there are."""

from types import SimpleNamespace

import pytest

from workflow import settings
from workflow.plan.bounds import MINUTES_BESIDE_THE_DRAWS, BoundsPlan


def plan(**changes):
    sweep = {"title": "one", "n": [100, 5000], "m": [10], "gamma": [1.0], **changes}
    config = {"run": "try", "bounds": {"sweeps": {"one": sweep}}}
    settings.check(config)
    return BoundsPlan("bounds", config)


def block(number):
    return SimpleNamespace(sweep="one", block=str(number))


def test_blocks_cover_the_repeats_once():
    few = plan(repeats=12, block=5)
    files = [f"results/try/bounds/one/block-{number}.csv" for number in range(3)]
    assert few.blocks() == files
    spans = [few.repeats(block(number)) for number in range(3)]
    assert spans == [[0, 5], [5, 10], [10, 12]]


def test_more_repeats_change_no_whole_block():
    few, many = plan(repeats=10), plan(repeats=1000)
    assert set(few.blocks()) < set(many.blocks())
    for number in range(2):
        assert few.repeats(block(number)) == many.repeats(block(number))
        assert few.sweep(block(number)) == many.sweep(block(number))


def test_memory_is_that_of_the_kernels_and_the_features():
    assert plan().mem_mb(block(0)) == plan().largest_mem_mb() == 700 + 1200 + 160


@pytest.mark.parametrize(("size", "minutes"), [(1, 1), (20, 6)])
def test_minutes_follow_the_draws_of_a_block(size, minutes):
    assert plan(block=size).minutes(block(0)) == MINUTES_BESIDE_THE_DRAWS + minutes


def test_stage_left_out_plans_nothing():
    config = {"run": "try"}
    settings.check(config)
    without = BoundsPlan("bounds", config)
    assert without.outputs() == without.blocks() == []
    assert without.largest_mem_mb() == 0
