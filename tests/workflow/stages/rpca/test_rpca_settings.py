"""Stage rpca in the workflow: what its jobs get and cost, and what a run leaves."""

import pandas as pd
import pytest

from workflow.lib.exhibits import read_exhibits
from workflow.stages.rpca.settings import SETTINGS

OWN = {"rows": 1000, "components": 5, "features": [10, 200], "repeats": 2}
TIMES = {"exact": [100, 1500], "random": [1700], "features": 1000, "repeats": 1}


def stage(**analyses):
    return SETTINGS.model_validate({"one": {"dataset": "digits", "title": "one", **analyses}})


def test_comparisons_and_races_get_what_they_depend_on_and_no_more():
    own = stage(pca=OWN | {"times": TIMES}, cca=OWN | {"reg": 2.0})["one"]
    pca = {"analysis": "pca", "gamma": "median"}
    assert own.comparisons() == [pca | OWN, pca | OWN | {"analysis": "cca", "reg": 2.0}]
    assert own.timings() == [pca | TIMES | {"components": 5, "leading": []}]


@pytest.mark.parametrize(
    ("analyses", "figures"),
    [
        ({"pca": OWN}, ["rpca_pca", "rpca_scatter"]),
        ({"cca": OWN}, ["rpca_cca"]),
        ({"cca": OWN | {"times": TIMES}}, ["rpca_cca", "rpca_times"]),
    ],
)
def test_only_figures_with_something_in_them_are_made(analyses, figures):
    files = [each.file for each in read_exhibits("rpca").of(stage(**analyses))]
    assert files == ["tables/rpca.md", *(f"figures/{name}.svg" for name in figures)]


def test_memory_and_time_follow_the_exact_solver():
    few, many = stage(cca=OWN)["one"], stage(cca=OWN | {"rows": 10_000})["one"]
    assert many.job_mem_mb("fit") - few.job_mem_mb("fit") > 10 * 8 * (1e8 - 1e6) / 1e6
    assert many.job_minutes("fit", 1) > few.job_minutes("fit", 1) + 60
    timed = stage(pca=OWN | {"times": TIMES | {"exact": [100, 6000]}})
    assert timed["one"].job_mem_mb("times") == timed.largest_mem_mb()
    assert timed["one"].job_minutes("times", 1) > timed["one"].job_minutes("times", 2) > 15
    assert timed.minutes("digits", 1) == 2 * timed.minutes("digits", 2) > 0
    assert timed.minutes("mnist", 1) == 0


def test_run_leaves_tidy_rows(finished):
    results = finished.file("results/test")
    errors = pd.read_csv(results / "rpca/errors.csv")
    assert errors.groupby("analysis").size().to_dict() == {"pca": 2 * 2 * 2, "cca": 2 * 2}
    times = pd.read_csv(results / "rpca/times.csv")
    assert set(times["method"]) == {"exact", "leading", "linear", "fourier", "nystroem"}
    assert {"fourier", "nystroem"} <= set(pd.read_csv(results / "tables/rpca_rates.csv")["method"])
