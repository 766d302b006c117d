"""Settings of stage extensions: its parts, what each job depends on, and what the jobs cost."""

import pytest

from workflow.lib.exhibits import read_exhibits
from workflow.lib.settings import check
from workflow.stages.extensions.settings import MINUTES_BESIDE

SHAPES = {"rows": 100, "features": [10], "repeats": 1}
CLUSTERING = {"dataset": "mnist", "title": "MNIST"} | SHAPES
DISCRIMINANTS = {
    "dataset": "digits",
    "title": "digits",
    "split": {"scheme": "random", "train": 100, "tune": 10, "test": 10},
    "features": [20],
    "repeats": 1,
}
DEPENDENCE = {"rows": 50, "noise": [1.0], "repeats": 4}


def checked(**parts):
    return check({"run": "try", "extensions": parts}).extensions


def test_a_job_depends_on_its_own_part_but_not_on_title_and_dataset_name():
    own = checked(shapes=SHAPES, clustering=CLUSTERING, discriminants=DISCRIMINANTS)
    assert own.shapes.job(seed=3) == SHAPES | {"width": 25.0, "seed": 3}
    assert own.clustering.job(seed=3) == SHAPES | {"width": 1.0, "seed": 3}
    assert own.datasets() == {"clustering": "mnist", "discriminants": "digits"}
    assert own.titles() == {"clustering": "MNIST", "discriminants": "digits"}


BOTH = {"clustering": CLUSTERING, "discriminants": DISCRIMINANTS}


@pytest.mark.parametrize(
    ("parts", "reports"),
    [
        ({"shapes": SHAPES}, ["clustering"]),
        ({"dependence": DEPENDENCE}, ["dependence"]),
        (BOTH, ["clustering", "discriminants"]),
        ({}, []),
    ],
)
def test_only_what_the_settings_ask_for_is_reported(parts, reports):
    own = checked(**parts)
    assert own.reports() == reports
    shown = [each.file for each in read_exhibits("extensions").of(own)]
    figures = [file for file in shown if file.endswith(".svg")]
    assert figures == [f"figures/extensions_{name}.svg" for name in reports]
    assert bool(own) == bool(own.largest_mem_mb()) == bool(parts)


def test_memory_and_time_follow_the_exact_solver_and_the_rows():
    few, many = (
        checked(clustering=CLUSTERING | {"rows": rows}).clustering for rows in (100, 10_000)
    )
    # The kernel matrix and three copies of it, of float64.
    assert many.mem_mb() - few.mem_mb() == pytest.approx(4 * 8e-6 * (1e8 - 1e4), abs=1)
    stage = checked(clustering=CLUSTERING, discriminants=DISCRIMINANTS)
    assert stage.minutes("mnist", 1) == 2 * stage.minutes("mnist", 2) > 0
    assert stage.minutes("mnist", 1) > 10 * stage.minutes("digits", 1) > 0
    assert few.job_minutes(1) > MINUTES_BESIDE
