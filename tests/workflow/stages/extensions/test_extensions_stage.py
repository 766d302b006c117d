"""Stage extensions on small data: what should win wins, what is drawn is drawn again alike."""

from types import SimpleNamespace

import pandas as pd
import pytest

from workflow.stages.extensions.clustering import Comparison, on_dataset
from workflow.stages.extensions.dependence import power
from workflow.stages.extensions.discriminants import Contest, classify
from workflow.stages.extensions.shapes import on_shapes

COMPARISON = Comparison(rows=150, features=(20, 100), width=25.0, repeats=2, seed=1)
CONTEST = Contest(
    split={"scheme": "random", "train": 700, "tune": 200, "test": 400},
    features=(50, 200),
    reg_grid=(1e-4, 1e-2, 10.0),
    svm_grid=(0.1, 1e-6),
    repeats=1,
    seed=1,
)
SIMULATION = SimpleNamespace(rows=60, noise=[0.1, 50.0], repeats=30, seed=1)


@pytest.fixture(scope="module")
def digits(prepared):
    return prepared("digits")


def without_times(frame):
    return frame.drop(columns="seconds")


def test_shapes_are_told_apart_by_spectral_clustering_and_not_by_k_means():
    scores, points = on_shapes(COMPARISON)
    mean = scores.groupby(["data", "method", "m"], dropna=False)["nmi"].mean()
    for shape in ("rings", "moons"):
        assert mean[shape, "kmeans"].item() < 0.3
        assert mean[shape, "exact"].item() == 1
        assert mean[shape, "nystroem", 100] > 0.99
        assert mean[shape, "nystroem", 20] < mean[shape, "nystroem", 100]
    assert points.groupby(["data", "method"]).size().eq(150).all()
    again, _ = on_shapes(COMPARISON)
    pd.testing.assert_frame_equal(without_times(again), without_times(scores))


def test_exact_clusters_are_compared_with_where_they_can_be_had(digits):
    scores = on_dataset(Comparison(**vars(COMPARISON) | {"width": 1.0, "repeats": 1}), digits)
    subset, whole = (scores[scores["data"] == name] for name in ("subset", "all"))
    assert set(subset["n"]) == {150}
    assert set(whole["n"]) == {1797}
    assert "exact" not in set(whole["method"])
    assert whole["nmi_exact"].isna().all()
    agreement = subset.set_index(["method", "m"])["nmi_exact"]
    assert agreement["nystroem", 100] > agreement["nystroem", 20]
    assert agreement["nystroem", 100] > agreement["fourier", 100]
    assert (scores["nmi"] > 0.4).all()


def test_rlda_beats_lda_and_choices_are_made_on_tune_rows(digits):
    errors = classify(CONTEST, digits)
    by = errors.set_index(["method", "m"])
    rlda = by.loc[["fourier", "nystroem"]].xs(200, level="m")
    linear = errors[errors["method"].isin(["lda", "svm"])]
    assert rlda["test_error"].max() < linear["test_error"].min()
    assert by.loc["svm", "chosen"].item() == 0.1
    assert (rlda["chosen"] < 10).all()
    assert by.loc[("fourier", 200), "test_error"] < by.loc[("fourier", 50), "test_error"]
    assert rlda["seconds"].notna().all()
    assert set(errors["n_train"]) == {700}
    pd.testing.assert_frame_equal(without_times(classify(CONTEST, digits)), without_times(errors))


def test_repeats_draw_other_rows(digits):
    rows = [CONTEST.rows(digits, repeat).test for repeat in (0, 1)]
    assert len(set(rows[0]) - set(rows[1])) > 100


def test_power_is_one_without_noise_where_a_method_sees_the_pattern_and_the_level_elsewhere():
    found = power(SIMULATION).set_index(["pattern", "method", "noise"])["power"]
    assert (found["line"].xs(0.1, level="noise") == 1).all()
    for pattern in ("parabola", "circle"):
        assert found[pattern, "rdc", 0.1] > 0.8
        assert found[pattern, "pearson", 0.1] < 0.5
        assert found[pattern, "spearman", 0.1] < 0.5
    # In noise alone all that is left is the level of 5 %, from 30 samples.
    assert found.xs(50.0, level="noise").mean() == pytest.approx(0.05, abs=0.06)
    pd.testing.assert_series_equal(
        power(SIMULATION).set_index(["pattern", "method", "noise"])["power"], found
    )
