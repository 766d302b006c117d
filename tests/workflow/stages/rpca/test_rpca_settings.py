"""Stage rpca in the workflow: what its jobs get and cost, and what a run leaves."""

import pandas as pd
import pytest

from workflow.lib.exhibits import read_exhibits
from workflow.stages.rpca.fit import Comparison
from workflow.stages.rpca.settings import SETTINGS
from workflow.stages.rpca.times import Timing

OWN = {"rows": 1000, "components": 5, "features": [10, 200], "repeats": 2}
TIMES = {"exact": [100, 1500], "random": [1700], "features": 1000, "repeats": 1}
RUN = {"name": "one", "seed": 3}


def stage(**analyses):
    return SETTINGS.model_validate({"one": {"dataset": "digits", "title": "one", **analyses}})


def test_comparisons_and_races_get_what_they_depend_on_and_no_more():
    own = stage(pca=OWN | {"times": TIMES}, cca=OWN | {"reg": 2.0})["one"]
    pca, cca = (Comparison(**each, **RUN) for each in own.comparisons())
    assert vars(pca) == {"analysis": "pca", "gamma": "median", **OWN, **RUN}
    assert vars(cca) == {"analysis": "cca", "gamma": "median", "reg": 2.0, **OWN, **RUN}
    (timing,) = (Timing(**each, **RUN) for each in own.timings())
    shared = {"analysis": "pca", "gamma": "median", "components": 5, "leading": []}
    assert vars(timing) == shared | TIMES | RUN


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
    assert many.compare_mem_mb() - few.compare_mem_mb() > 10 * 8 * (1e8 - 1e6) / 1e6
    assert many.compare_minutes(1) > few.compare_minutes(1) + 60
    assert few.times_mem_mb() == 0
    timed = stage(pca=OWN | {"times": TIMES | {"exact": [100, 6000]}})
    assert timed["one"].times_mem_mb() == timed.largest_mem_mb()
    assert timed["one"].times_minutes(1) > timed["one"].times_minutes(2) > 15
    assert timed.minutes("digits", 1) == 2 * timed.minutes("digits", 2) > 0
    assert timed.minutes("mnist", 1) == 0


def test_run_leaves_table_figures_and_tidy_rows(finished):
    results = finished.file("results/test")
    for name in ("pca", "cca", "scatter", "times"):
        assert (results / f"figures/rpca_{name}.png").stat().st_size > 0
    summary = (results / "summary.txt").read_text(encoding="utf-8")
    assert "\nrpca: " in summary
    errors = pd.read_csv(results / "rpca/errors.csv")
    assert errors.groupby("analysis").size().to_dict() == {"pca": 2 * 2 * 2, "cca": 2 * 2}
    times = pd.read_csv(results / "rpca/times.csv")
    assert set(times["method"]) == {"exact", "leading", "linear", "fourier", "nystroem"}
    assert {"fourier", "nystroem"} <= set(pd.read_csv(results / "tables/rpca_rates.csv")["method"])
