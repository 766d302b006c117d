"""Stage lupi in the workflow: its settings, its jobs, and what a run leaves."""

from types import SimpleNamespace

import pandas as pd
import pytest
from snakemake.exceptions import WorkflowError
from workflow.plan.lupi import LupiPlan

from workflow import settings
from workflow.stages.lupi.methods import METHODS
from workflow.stages.lupi.training import PREPROCESSING


def checked(**changes):
    experiment = {
        "dataset": "digits-attributes",
        "title": "digits",
        "classes": 2,
        "train": 60,
        "test": 40,
        "features": [10, 20],
        "regs": [0.1],
    }
    config = {"run": "try", "lupi": {"one": experiment | changes}}
    settings.check(config)
    return config


def plan(**changes):
    return LupiPlan("lupi", checked(**changes))


def job(block=0):
    return SimpleNamespace(experiment="one", block=block)


MISTAKES = {
    "dataset": ({"dataset": "mnist"}, "lupi.one.dataset: 'mnist' has no attributes, so nothing"),
    "features": ({"features": [20, 10]}, "lupi.one.features: [20, 10] must increase"),
    "costs": ({"costs": [1.0, 1.0]}, "lupi.one.costs: [1.0, 1.0] must increase"),
    "zero reg": ({"regs": [0]}, "lupi.one.regs.0: 0 is less than or equal to the minimum of 0"),
    "method": ({"methods": ["surf", "rca"]}, "lupi.one.methods.1: 'rca' is not one of"),
    "reference": ({"methods": ["rcca", "lda"]}, "lupi.one.methods: surf must be there"),
    "jobs": ({"partitions": 3, "jobs": 4}, "lupi.one.jobs: 4 are more than the partitions"),
    "halves": ({"balanced": True, "test": 41}, "lupi.one.balanced: train and test must be even"),
    "folds": ({"folds": 1}, "lupi.one.folds: 1 is less than the minimum of 2"),
}


@pytest.mark.parametrize(("changes", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_named(changes, sentence):
    with pytest.raises(WorkflowError) as caught:
        checked(**changes)
    assert sentence in str(caught.value)


def test_defaults_are_all_methods_and_preprocessings():
    experiment = checked()["lupi"]["one"]
    assert tuple(experiment["methods"]) == METHODS
    assert tuple(experiment["preprocessing"]) == PREPROCESSING


def test_partitions_are_dealt_out_among_the_jobs():
    stage = plan(partitions=7, jobs=3)
    dealt = [stage.partitions(job(block)) for block in range(3)]
    assert sorted(number for part in dealt for number in part) == list(range(7))
    assert stage.accuracy(job()) == [f"results/try/lupi/one/{n}.accuracy.csv" for n in range(3)]


def test_time_follows_rows_methods_and_jobs():
    small, large = plan(partitions=4), plan(partitions=4, train=120)
    assert large.minutes_here("awa", 2) == 0
    minutes = [stage.minutes_here("digits-attributes", 2) for stage in (small, large)]
    assert minutes[1] == pytest.approx(4 * minutes[0])
    split = plan(partitions=4, jobs=4)
    assert split.minutes_here("digits-attributes", 2) == pytest.approx(minutes[0] / 2)
    assert plan(train=2000, test=2000).minutes(job()) > plan(train=1000).minutes(job())


def test_memory_follows_rows_and_features():
    stage = plan()
    assert stage.mem_mb(job()) == stage.largest_mem_mb()
    assert plan(features=[4000]).mem_mb(job()) > stage.mem_mb(job()) + 3 * 8 * 16
    assert LupiPlan("lupi", {"run": "try"}).largest_mem_mb() == 0
    assert LupiPlan("lupi", {"run": "try"}).outputs() == []


def test_run_leaves_verdict_table_figures_and_csvs(finished):
    results = finished.file("results/test")
    accuracy = pd.read_csv(results / "lupi/digits.accuracy.csv")
    assert accuracy.groupby("method").size().to_dict() == dict.fromkeys(METHODS, 2)
    verdict = (results / "tables/lupi_verdict.md").read_text(encoding="utf-8")
    assert verdict.startswith("**digits with attributes**\n\n- In short: ")
    assert verdict in finished.screen
    for name in ("tables/lupi.md", "tables/lupi_pairs.csv", "figures/lupi_reg.png"):
        assert (results / name).stat().st_size > 0


def test_dataset_that_is_left_out_is_told_as_not_run(project):
    config = project.file("config/test.yaml").read_text(encoding="utf-8")
    start = config.index("lupi:")
    text = f"run: gone\nskip: [digits-attributes]\n{config[start:]}"
    project.file("gone.yaml").write_text(text, encoding="utf-8")
    code, screen = project.launch("lupi", "--configfile", "gone.yaml")
    assert code == 0, screen
    verdict = project.file("results/gone/tables/lupi_verdict.md").read_text(encoding="utf-8")
    assert verdict == (
        "**digits with attributes**: not run, left out by `skip` in the configuration\n"
    )
