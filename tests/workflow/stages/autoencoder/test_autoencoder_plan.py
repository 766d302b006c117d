"""The autoencoder stage: its mistakes are named, its parts, memory and time foreseen."""

from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from workflow import settings
from workflow.plan import Plan


def valid(**changes):
    experiment = {"dataset": "digits", "title": "digits", "components": 5, "features": 20}
    return {"run": "try", "autoencoder": {"one": experiment | changes}}


def planned(**changes):
    config = valid(**changes)
    settings.check(config)
    return Plan(config).autoencoder


def job(part):
    return SimpleNamespace(experiment="one", part=part)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dataset": "minst"}, "autoencoder.one.dataset: unknown dataset 'minst'"),
        ({"dataset": "synthetic-speech"}, "dataset: 'synthetic-speech' has no pictures"),
        ({"components": 20}, "components: d = 20 must be less than features = 20"),
        ({"sweeps": {"d": [3, 2]}}, "autoencoder.one.sweeps.d: [3, 2] must increase"),
        ({"sweeps": {"d": [2, 20]}}, "sweeps.d: d = 20 must be less than features = 20"),
        ({"sweeps": {"m": [5, 20]}}, "sweeps.m: m = 5 must be more than components = 5"),
        ({"sweeps": {"n": [5]}}, "autoencoder.one.sweeps.n: unknown key"),
        ({"search": {"share": 0}}, "autoencoder.one.search.share: 0 is less than or equal to"),
        ({"jobs": "few"}, "autoencoder.one.jobs: 'few' is not one of ['one', 'many']"),
    ],
)
def test_mistake_is_named(changes, sentence):
    with pytest.raises(WorkflowError) as caught:
        settings.check(valid(**changes))
    assert sentence in str(caught.value)


def test_small_experiments_are_one_job():
    stage = planned(repeats=2, sweeps={"d": [2, 4]})
    assert stage.errors(job(None)) == ["results/try/autoencoder/one/all.errors.csv"]
    assert stage.pictures(job(None)) == ["results/try/autoencoder/one/all.pictures.csv"]
    assert stage.repeats(job("all")) == [0, 1]
    assert stage.axes(job("all")) == ["d"]
    assert stage.chosen(job("all")) == []


def test_large_experiments_are_a_job_for_each_repeat_and_sweep():
    stage = planned(repeats=2, sweeps={"d": [2, 4], "m": [10, 20]}, jobs="many")
    stem = "results/try/autoencoder/one"
    parts = ["repeat-0", "repeat-1", "sweep-d", "sweep-m"]
    assert stage.errors(job(None)) == [f"{stem}/{part}.errors.csv" for part in parts]
    assert stage.pictures(job(None)) == [f"{stem}/repeat-0.pictures.csv"]
    assert [stage.repeats(job(part)) for part in parts] == [[0], [1], [], []]
    assert [stage.axes(job(part)) for part in parts] == [[], [], ["d"], ["m"]]
    assert stage.chosen(job("repeat-1")) == []
    assert stage.chosen(job("sweep-m")) == [f"{stem}/repeat-0.errors.csv"]


def test_how_it_is_cut_into_jobs_is_no_setting_of_a_fit():
    one, many = (planned(jobs=jobs).experiment(job("all")) for jobs in ("one", "many"))
    assert one == many
    assert one["search"]["regs"] == [10.0**exponent for exponent in range(-11, -2)]


def test_memory_and_minutes_of_cifar_at_the_papers_size():
    stage = planned(dataset="cifar10", components=40, features=2000, jobs="many")
    assert 1000 < stage.mem_mb(job("repeat-0")) == stage.largest_mem_mb() < 4000
    alone, both = (stage.minutes(job("repeat-0"), threads) for threads in (1, 2))
    assert alone > both > 15
    assert 1 < stage.minutes_here("cifar10", 2) < 60
    assert stage.minutes_here("mnist", 2) == 0


def test_a_run_without_the_stage_makes_none_of_it():
    config = {"run": "try"}
    settings.check(config)
    stage = Plan(config).autoencoder
    assert stage.outputs() == stage.tables() == []
    assert stage.largest_mem_mb() == 0
