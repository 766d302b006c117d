"""Settings of stage bounds: blocks of draws, memory and time, and what a run makes of them."""

import pytest

from workflow.lib.exhibits import read_exhibits
from workflow.stages.bounds.settings import MINUTES_BESIDE, Bounds, Sweep

CORRELATIONS = {"n": 400, "m": [6400], "gamma": [1.0]}
THEOREM4 = {"n": [500, 2000], "ratios": [1.0, 4.0], "gamma": [1e-3, 0.3]}


def sweep(**changes):
    settings = {"title": "one", "n": [100, 5000], "m": [10], "gamma": [1.0], **changes}
    return Sweep.model_validate(settings)


def test_blocks_cover_the_repeats_once():
    assert sweep(repeats=12, block=5).blocks() == [[0, 5], [5, 10], [10, 12]]


def test_more_repeats_change_no_whole_block_and_no_setting_of_a_job():
    few, many = sweep(repeats=10), sweep(repeats=1000, title="more", published=True)
    assert few.blocks() == many.blocks()[:2]
    assert few.model_dump() == many.model_dump()


def test_memory_is_that_of_the_kernels_and_the_features():
    assert sweep().mem_mb() == 700 + 1200 + 160
    # Six matrices and eight factors of 2000 rows, and twice 8000 features of either view.
    theorem4 = THEOREM4 | {"correlations": CORRELATIONS}
    assert Bounds.model_validate({"theorem4": theorem4}).largest_mem_mb() == 700 + 448 + 512


@pytest.mark.parametrize(("size", "minutes"), [(1, 1), (20, 6)])
def test_minutes_follow_the_draws_of_a_block(size, minutes):
    assert sweep(block=size).job_minutes() == MINUTES_BESIDE + minutes


def test_either_part_may_be_left_out():
    sweeps = {"sweeps": {"one": sweep()}}
    theorem4 = {"theorem4": THEOREM4 | {"correlations": CORRELATIONS}}
    tables = {
        "bounds": Bounds.model_validate(sweeps),
        "theorem4": Bounds.model_validate(theorem4),
    }
    for name, settings in tables.items():
        files = [each.file for each in read_exhibits("bounds").of(settings)]
        assert files[0] == f"tables/{name}.md"
    assert len(read_exhibits("bounds").of(Bounds.model_validate(sweeps | theorem4))) == 5
    assert read_exhibits("bounds").of(Bounds()) == []
