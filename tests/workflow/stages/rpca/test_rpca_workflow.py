"""Stage rpca in the workflow: its plan, its files, and a dataset that is left out."""

from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

from workflow.plan.rpca import RpcaPlan
from workflow.stages.rpca.fit import Comparison
from workflow.stages.rpca.times import Timing

JOB = SimpleNamespace(experiment="one")
OWN = {"rows": 1000, "components": 5, "features": [10, 200], "gamma": "median", "repeats": 2}
TIMES = {"exact": [100, 3000], "leading": [], "random": [50_000], "features": 1000, "repeats": 1}


def plan(**analyses):
    experiment = {"dataset": "digits", "title": "one", **analyses}
    return RpcaPlan("rpca", {"run": "try", "seed": 3, "rpca": {"one": experiment}})


def test_settings_of_jobs_are_what_the_stage_takes():
    own = plan(pca=OWN | {"times": TIMES}, cca=OWN | {"reg": 2.0})
    pca, cca = (Comparison(**each) for each in own.comparisons(JOB))
    assert (pca.analysis, pca.name, pca.sizes, pca.seed) == ("pca", "one", [10, 200], 3)
    assert (cca.analysis, cca.reg) == ("cca", 2.0)
    (timing,) = (Timing(**each) for each in own.timings(JOB))
    assert (timing.analysis, timing.random, timing.leading) == ("pca", [50_000], [])


@pytest.mark.parametrize(
    ("analyses", "figures"),
    [
        ({"pca": OWN}, ["rpca_pca", "rpca_scatter"]),
        ({"cca": OWN}, ["rpca_cca"]),
        ({"cca": OWN | {"times": TIMES}}, ["rpca_cca", "rpca_times"]),
    ],
)
def test_only_figures_with_something_in_them_are_made(analyses, figures):
    assert list(plan(**analyses).figures()) == figures


def test_run_without_the_stage_makes_nothing_and_needs_no_memory():
    empty = RpcaPlan("rpca", {"run": "try"})
    assert empty.outputs() == []
    assert empty.largest_mem_mb() == 0


def test_memory_and_time_follow_the_exact_solver():
    few, many = plan(cca=OWN), plan(cca=OWN | {"rows": 10_000})
    assert many.compare_mem_mb(JOB) - few.compare_mem_mb(JOB) > 10 * 8 * (1e8 - 1e6) / 1e6
    assert many.compare_minutes(JOB, 1) > few.compare_minutes(JOB, 1) + 60
    timed = plan(pca=OWN | {"times": TIMES})
    assert timed.times_mem_mb(JOB) == timed.largest_mem_mb()
    assert timed.times_minutes(JOB, 1) > timed.times_minutes(JOB, 2) > 15
    assert timed.minutes_here("digits", 1) == 2 * timed.minutes_here("digits", 2) > 0
    assert timed.minutes_here("mnist", 1) == 0


def test_run_leaves_table_figures_and_tidy_rows(finished):
    results = finished.file("results/test")
    for name in ("pca", "cca", "scatter", "times"):
        assert (results / f"figures/rpca_{name}.png").stat().st_size > 0
    assert (results / "tables/rpca.md").read_text(encoding="utf-8") in finished.screen
    errors = pd.read_csv(results / "rpca/digits.errors.csv")
    assert errors.groupby("analysis").size().to_dict() == {"pca": 2 * 2 * 2, "cca": 2 * 2}
    times = pd.read_csv(results / "rpca/digits.times.csv")
    assert set(times["method"]) == {"exact", "leading", "linear", "fourier", "nystroem"}
    assert {"fourier", "nystroem"} <= set(pd.read_csv(results / "tables/rpca_rates.csv")["method"])


def test_skipped_dataset_is_reported_with_the_reason(project):
    settings = {"run": "mine", "skip": ["mnist"], "rpca": {"mnist": {"dataset": "mnist"}}}
    settings["rpca"]["mnist"] |= {"title": "MNIST", "cca": OWN}
    project.file("mine.yaml").write_text(yaml.safe_dump(settings))
    code, screen = project.launch("rpca", "--configfile", "mine.yaml")
    assert code == 0, screen
    table = project.file("results/mine/tables/rpca.md").read_text(encoding="utf-8")
    assert table == "**MNIST**: not run, left out by `skip` in the configuration\n"
