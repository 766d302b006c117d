"""Settings of the stages: what jobs depend on, what they cost, and what is shown."""

from pathlib import Path

import pandas as pd
import pytest

from projects import TEST_SETTINGS, changed
from workflow.lib.exhibits import read_exhibits
from workflow.lib.settings import check
from workflow.stages.autoencoder.settings import Experiment
from workflow.stages.bounds.settings import Sweep
from workflow.stages.lupi.names import METHOD_NAMES
from workflow.stages.rpca.fit import Comparison
from workflow.stages.rpca.times import Timing


def stage(name, *changes):
    """Return a stage of config/test.yaml with other values, or none, at some places."""
    config = {"run": "try", name: TEST_SETTINGS[name]}
    for place, value in changes:
        config = changed(config, f"{name}.{place}", value)
    return getattr(check(config), name)


@pytest.mark.parametrize(
    ("name", "place", "changes"),
    [
        ("autoencoder", "digits", {"jobs": "many", "repeats": 9}),
        ("bounds", "sweeps.tiny", {"repeats": 1000, "published": True}),
        ("extensions", "clustering", {"dataset": "mnist"}),
        ("lupi", "digits", {"partitions": 3, "jobs": 2, "published": True}),
        ("rpca", "digits", {}),
    ],
)
def test_no_job_depends_on_titles_or_on_how_the_work_is_divided(name, place, changes):
    changes = {"title": "other", **changes}
    other = stage(name, *((f"{place}.{key}", value) for key, value in changes.items()))
    assert other.model_dump() == stage(name).model_dump()


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("autoencoder", "digits.features", 4000),
        ("bounds", "sweeps.tiny.n", [20, 5000]),
        ("bounds", "theorem4.n", [30, 2000]),
        ("extensions", "clustering.rows", 1500),
        ("lupi", "digits.features", [4000]),
        ("rpca", "digits.pca.rows", 1500),
        ("rpca", "digits.cca.times.exact", [30, 1500]),
    ],
)
def test_memory_follows_the_work(name, place, value):
    small, large = stage(name), stage(name, (place, value))
    assert large.largest_mem_mb() > small.largest_mem_mb() > 0


def test_large_autoencoders_are_a_job_for_each_repeat():
    given = {"dataset": "digits", "title": "digits", "components": 5, "features": 20, "repeats": 2}
    one, many = (Experiment.model_validate(given | {"jobs": jobs}) for jobs in ("one", "many"))
    assert one.parts() == {"all": [0, 1]}
    assert many.parts() == {"repeat-0": [0], "repeat-1": [1]}


def test_blocks_of_draws_cover_the_repeats_once():
    given = {"title": "one", "n": [100], "m": [10], "gamma": [1.0], "block": 5}
    few, many = (Sweep.model_validate(given | {"repeats": repeats}) for repeats in (12, 100))
    assert [block["repeats"] for block in few.blocks()] == [[0, 5], [5, 10], [10, 12]]
    assert few.blocks()[:2] == many.blocks()[:2]


def test_rpca_comparisons_and_races_get_what_they_depend_on_and_no_more():
    own, run = stage("rpca")["digits"], {"name": "one", "seed": 3}
    given = {"gamma": "median", "components": 3, "analysis": "cca"}
    *_, compared = (Comparison(**each, **run) for each in own.comparisons())
    *_, timed = (Timing(**each, **run) for each in own.timings())
    asked = {"rows": 100, "features": [10, 40], "repeats": 1, "reg": compared.reg}
    assert vars(compared) == given | run | asked
    times = {"exact": [30, 60], "random": [50, 100], "leading": [], "features": 20, "repeats": 1}
    assert vars(timed) == given | run | times | {"reg": timed.reg}


@pytest.mark.parametrize(
    ("name", "without", "unmade"),
    [
        ("bounds", ["sweeps"], {"bounds", "tightness"}),
        ("bounds", ["theorem4"], {"theorem4", "regularised_correlations", "estimates"}),
        ("extensions", ["clustering"], set()),
        ("extensions", ["clustering", "shapes"], {"extensions_clustering", "extensions_shapes"}),
        ("extensions", ["discriminants"], {"extensions_discriminants"}),
        ("extensions", ["dependence"], {"extensions_dependence"}),
        ("rcca", ["digits.cv", "speech.cv"], {"rcca_cv"}),
        ("rcca", ["digits-wide"], {"rcca_variants"}),
        ("rcca", ["speech"], {"rcca_model", "rcca_speakers"}),
        ("rpca", ["digits.pca"], {"rpca_scatter"}),
        ("rpca", ["digits.pca.times", "digits.cca.times"], {"rpca_times"}),
        ("rpca", ["digits.evaluation"], {"rpca_evaluation"}),
    ],
)
def test_only_exhibits_with_something_in_them_are_made(name, without, unmade):
    shown = read_exhibits(name).of(stage(name, *((place, ...) for place in without)))
    left = {Path(each.file).stem for each in read_exhibits(name).exhibits}
    assert left - {Path(each.file).stem for each in shown} == unmade


def test_settings_without_parts_show_and_cost_nothing():
    for name in ("bounds", "extensions", "rpca"):
        own = getattr(check({"run": "try", name: {}}), name)
        assert not own
        assert read_exhibits(name).of(own) == []
        assert own.largest_mem_mb() == 0


def test_run_leaves_rows_of_every_method(finished):
    results = finished.file("results/test")
    accuracy = pd.read_csv(results / "lupi/accuracy.csv")
    assert accuracy.groupby("method").size().to_dict() == dict.fromkeys(METHOD_NAMES, 2)
    assert sorted(accuracy["partition"].unique()) == [0, 1]
    errors = pd.read_csv(results / "rpca/errors.csv")
    assert errors.groupby("analysis").size().to_dict() == {"pca": 2 * 2 * 2, "cca": 2 * 2}
    times = pd.read_csv(results / "rpca/times.csv")
    assert set(times["method"]) == {"exact", "leading", "linear", "fourier", "nystroem"}
    assert {"fourier", "nystroem"} <= set(pd.read_csv(results / "tables/rpca_rates.csv")["method"])
