"""Settings of stage bounds: blocks of draws, memory and time, and what a run makes of them."""

from workflow.lib.exhibits import read_exhibits
from workflow.stages.bounds.settings import MINUTES_BESIDE, Bounds, Sweep

THEOREM4 = {"n": [500, 2000], "ratios": [1.0, 4.0], "gamma": [1e-3, 0.3]}
THEOREM4 |= {"correlations": {"n": 400, "m": [6400], "gamma": [1.0]}}


def sweep(**changes):
    settings = {"title": "one", "n": [100, 5000], "m": [10], "gamma": [1.0], **changes}
    return Sweep.model_validate(settings)


def test_blocks_cover_the_repeats_and_more_repeats_change_no_whole_block():
    assert sweep(repeats=12, block=5).blocks() == [[0, 5], [5, 10], [10, 12]]
    few, many = sweep(repeats=10), sweep(repeats=1000, title="more", published=True)
    assert few.blocks() == many.blocks()[:2]
    assert few.model_dump() == many.model_dump()


def test_memory_is_that_of_kernels_and_features_and_minutes_follow_a_block():
    assert sweep().mem_mb() == 700 + 1200 + 160
    # Six matrices and eight factors of 2000 rows, and twice 8000 features of either view.
    assert Bounds.model_validate({"theorem4": THEOREM4}).largest_mem_mb() == 700 + 448 + 512
    minutes = [sweep(block=size).job_minutes() - MINUTES_BESIDE for size in (1, 20)]
    assert minutes == [1, 6]


def test_either_part_may_be_left_out():
    both = {"sweeps": {"one": sweep()}, "theorem4": THEOREM4}
    for part, first in (("sweeps", "bounds"), ("theorem4", "theorem4")):
        shown = read_exhibits("bounds").of(Bounds.model_validate({part: both[part]}))
        assert shown[0].file == f"tables/{first}.md"
    assert len(read_exhibits("bounds").of(Bounds.model_validate(both))) == 5
    assert read_exhibits("bounds").of(Bounds()) == []
