"""The maps stage: its mistakes are named, its files and memory foreseen."""

from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError
from workflow.plan.rcca import fit_mem_mb

from workflow import settings
from workflow.plan import Plan
from workflow.plan.maps import MapsPlan

JOB = SimpleNamespace(experiment="one", repeat="1")


def valid(**changes):
    experiment = {
        "dataset": "digits",
        "title": "digits",
        "train": 1000,
        "test": 300,
        "kernel_rows": 100,
        "components": 5,
        "features": [10, 20],
    }
    return {"run": "try", "maps": {"one": experiment | changes}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dataset": "minst"}, "maps.one.dataset: unknown dataset 'minst'"),
        ({"dataset": "patches"}, "maps.one.dataset: 'patches' does not have two views"),
        ({"features": [20, 10]}, "maps.one.features: [20, 10] must increase"),
        ({"features": [2]}, "maps.one.features: m = 2 is less than components = 5"),
        ({"features": [1001]}, "m = 1001 is more than train = 1000, of which Nyström's landmarks"),
        ({"kernel_rows": 301}, "maps.one.kernel_rows: 301 is more than test = 300"),
        ({"dimensions": []}, "maps.one.dimensions: [] should be non-empty"),
        ({"timed_row": 1}, "maps.one.timed_row: unknown key; did you mean 'timed_rows'?"),
    ],
)
def test_mistake_is_named(changes, sentence):
    with pytest.raises(WorkflowError) as caught:
        settings.check(valid(**changes))
    assert sentence in str(caught.value)


@pytest.fixture
def stage():
    config = valid(repeats=2)
    settings.check(config)
    return Plan(config).maps


def test_a_repeat_is_a_job(stage):
    assert stage.scores(JOB) == [f"results/try/maps/one/{repeat}.scores.csv" for repeat in (0, 1)]
    assert stage.comparison(JOB) == {
        "name": "one",
        "train": 1000,
        "test": 300,
        "kernel_rows": 100,
        "components": 5,
        "reg": 1e-8,
        "sizes": [10, 20],
        "repeat": 1,
        "seed": 2014,
    }


def test_baselines_of_the_paper_s_protocol_are_measured(stage):
    assert stage.baselines("dcca") == []
    others = {"one": {"published": True}, "two": {"published": False}}
    with_both = MapsPlan("maps", {"run": "try", "baselines": others})
    assert with_both.measured() == ["one"]
    assert with_both.baselines("kcca") == ["results/try/baselines/one.kcca.csv"]


def test_memory_is_that_of_the_fit_or_of_the_widest_map(stage):
    assert stage.mem_mb(JOB) == fit_mem_mb(20)
    assert stage.largest_mem_mb() == stage.timing_mem_mb(JOB) > 48 * 1000 * 8192 / 1e6


def test_minutes_grow_with_rows_and_shrink_with_threads():
    config = valid(dataset="mnist", train=54_000, features=[4000], repeats=2)
    settings.check(config)
    stage = Plan(config).maps
    alone, both = (stage.minutes(JOB, threads) for threads in (1, 2))
    assert alone > both > 15
    assert stage.minutes_here("mnist", 2) == pytest.approx(2 * 5 * 4 * 54e3 * 16e6 / 33e9 / 2 / 60)
    assert stage.minutes_here("digits", 2) == 0


def test_a_run_without_the_stage_makes_none_of_it():
    config = {"run": "try"}
    settings.check(config)
    stage = Plan(config).maps
    assert stage.outputs() == stage.tables() == []
    assert stage.largest_mem_mb() == 0
