"""Stage lupi in the workflow: its defaults, what its jobs cost, and what a run leaves."""

import pandas as pd
import pytest

from workflow.stages.lupi.methods import METHODS
from workflow.stages.lupi.settings import SETTINGS
from workflow.stages.lupi.training import PREPROCESSING


def stage(**changes):
    experiment = {"dataset": "digits-attributes", "title": "digits", "classes": 2, "train": 60}
    experiment |= {"test": 40, "features": [10, 20], "regs": [0.1]}
    return SETTINGS.model_validate({"one": experiment | changes})


def test_settings_and_fits_know_the_same_names_and_use_all_by_default():
    assert tuple(stage()["one"].methods) == METHODS
    assert tuple(stage()["one"].preprocessing) == PREPROCESSING


def test_fits_do_not_depend_on_how_they_are_divided_or_called():
    first = stage()["one"].job()
    assert first == stage(title="other", partitions=3, jobs=2, published=True)["one"].job()
    assert first != stage(folds=3)["one"].job()


def test_time_and_memory_follow_rows_features_and_jobs():
    small, large = stage(partitions=4), stage(partitions=4, train=120)
    assert large.minutes("awa", 2) == 0
    minutes = [each.minutes("digits-attributes", 2) for each in (small, large)]
    assert minutes[1] == pytest.approx(4 * minutes[0])
    divided = stage(partitions=4, jobs=4)
    assert divided.minutes("digits-attributes", 2) == pytest.approx(minutes[0] / 2)
    assert stage(train=2000)["one"].job_minutes() > stage(train=1000)["one"].job_minutes()
    assert small["one"].mem_mb() == small.largest_mem_mb()
    assert stage(features=[4000])["one"].mem_mb() > small["one"].mem_mb() + 3 * 8 * 16


def test_run_leaves_verdict_table_figures_and_csvs(finished):
    results = finished.file("results/test")
    accuracy = pd.read_csv(results / "lupi/accuracy.csv")
    assert accuracy.groupby("method").size().to_dict() == dict.fromkeys(METHODS, 2)
    assert sorted(accuracy["partition"].unique()) == [0, 1]
    verdict = (results / "tables/lupi_verdict.md").read_text(encoding="utf-8")
    assert verdict.startswith("**digits with attributes**\n\nIn short: ")
    sentence = pd.read_csv(results / "lupi/sentences.csv")["sentence"].iloc[0]
    conclusion = verdict.splitlines()[2].removeprefix("In short: ")
    assert sentence == f"Digits with attributes: {conclusion}"
    for name in ("tables/lupi.md", "tables/lupi_pairs.csv", "figures/lupi_reg.png"):
        assert (results / name).stat().st_size > 0
