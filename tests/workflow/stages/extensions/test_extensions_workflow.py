"""Stage extensions in the workflow: its plan, its files, and a dataset that is left out."""

import pandas as pd
import pytest
import yaml

from workflow.plan.extensions import MINUTES_BESIDE, MINUTES_IF_UNKNOWN, ExtensionsPlan
from workflow.stages.extensions.clustering import Comparison
from workflow.stages.extensions.dependence import Simulation
from workflow.stages.extensions.discriminants import Contest

SHAPES = {"rows": 100, "features": [10], "width": 25.0, "repeats": 1}
CLUSTERING = {"dataset": "mnist", "title": "MNIST"} | SHAPES
DISCRIMINANTS = {
    "dataset": "digits",
    "title": "digits",
    "split": {"scheme": "random", "train": 100, "tune": 10, "test": 10},
    "features": [20],
    "reg_grid": [1e-3],
    "svm_grid": [0.1],
    "repeats": 1,
}
DEPENDENCE = {"rows": 50, "noise": [1.0], "repeats": 4}


def plan(**parts):
    return ExtensionsPlan("extensions", {"run": "try", "seed": 3, "extensions": parts})


def test_settings_of_jobs_are_what_the_stage_takes():
    own = plan(clustering=CLUSTERING, discriminants=DISCRIMINANTS, dependence=DEPENDENCE)
    assert Comparison(**own.job("clustering")).seed == 3
    assert Contest(**own.job("discriminants")).features == [20]
    assert Simulation(**own.job("dependence")).rows == 50
    assert own.uses == ["mnist", "digits"]


@pytest.mark.parametrize(
    ("parts", "reports"),
    [
        ({"shapes": SHAPES}, ["clustering"]),
        ({"dependence": DEPENDENCE}, ["dependence"]),
        (
            {"clustering": CLUSTERING, "discriminants": DISCRIMINANTS},
            ["clustering", "discriminants"],
        ),
        ({}, []),
    ],
)
def test_only_what_the_settings_ask_for_is_reported(parts, reports):
    own = plan(**parts)
    assert own.reports() == reports
    assert len(own.outputs()) == 2 * len(reports)
    assert bool(own.largest_mem_mb()) == bool(parts)


def test_memory_and_time_follow_the_exact_solver_and_the_rows():
    few, many = plan(clustering=CLUSTERING), plan(clustering=CLUSTERING | {"rows": 10_000})
    assert many.mem_mb("clustering") - few.mem_mb("clustering") > 3000
    assert few.minutes("clustering", 1) >= MINUTES_BESIDE
    assert few.minutes_here("mnist", 1) == 2 * few.minutes_here("mnist", 2) > 0
    assert few.minutes_here("digits", 1) == 0
    assert plan(discriminants=DISCRIMINANTS).minutes("discriminants", 1) == MINUTES_IF_UNKNOWN


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"clustering": CLUSTERING | {"dataset": "minst"}}, "clustering.dataset: unknown dataset"),
        ({"clustering": CLUSTERING | {"dataset": "mocha"}}, "'mocha' has no labelled pictures"),
        ({"shapes": SHAPES | {"features": [20, 10]}}, "shapes.features: [20, 10] must increase"),
        (
            {"discriminants": DISCRIMINANTS | {"split": {"scheme": "official", "tune": 5}}},
            "discriminants.split.scheme: 'digits' has no given_split to split by",
        ),
    ],
)
def test_mistakes_that_no_schema_finds(parts, sentence):
    arrays = {"digits": ["images", "labels"], "mocha": ["x", "y"], "mnist": ["images", "labels"]}
    (found,) = ExtensionsPlan.inconsistencies(parts, arrays)
    assert sentence in found


def test_finished_run_has_tables_figures_and_rows_of_every_method(finished):
    results = finished.file("results/test")
    for name in ("clustering", "discriminants", "dependence"):
        assert (results / f"figures/extensions_{name}.svg").stat().st_size > 0
        table = pd.read_csv(results / f"tables/extensions_{name}.csv")
        assert set(table["method"]) >= {"fourier", "nystroem"} or name == "dependence"
    scores = pd.read_csv(results / "extensions/clustering.scores.csv")
    assert set(scores["dataset"]) == {"digits"}
    points = pd.read_csv(results / "extensions/shapes.points.csv")
    assert set(points["data"]) == {"rings", "moons"}


def test_left_out_dataset_shows_as_not_run_and_the_rest_runs(project):
    settings = {
        "run": "without",
        "skip": ["mnist"],
        "extensions": {
            "shapes": SHAPES,
            "clustering": CLUSTERING,
            "discriminants": DISCRIMINANTS | {"dataset": "mnist", "title": "MNIST"},
        },
    }
    project.file("mine.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    code, screen = project.launch("--configfile", "mine.yaml")
    assert code == 0, screen
    assert "MNIST: left out by `skip` in the configuration" in screen
    table = project.file("results/without/tables/extensions_clustering.md").read_text("utf-8")
    assert "**MNIST**: not run, left out by `skip`" in table
    assert "two rings" in table
