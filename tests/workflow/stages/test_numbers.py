"""The numbers that prose names, by hand from small frames, and the chart and table of a model."""

import json

import numpy as np
import pandas as pd
import pytest

from workflow.lib.tables import write_numbers
from workflow.stages.autoencoder import report as autoencoder
from workflow.stages.bounds import report as bounds
from workflow.stages.extensions import report as extensions
from workflow.stages.rcca import figures, headlines, tables
from workflow.stages.rpca import report as rpca

TITLES = {"one": "MNIST", "z": "XRMB by speakers"}


def frame(columns, *rows):
    return pd.DataFrame(rows, columns=columns.split())


def test_missing_numbers_are_left_out_and_names_are_those_of_variables(tmp_path):
    file = tmp_path / "numbers.json"
    numbers = {"a-b": np.float64(1.5), "none": np.nan, "in": {"x": [np.int64(2), np.inf]}}
    write_numbers(str(file), numbers)
    assert json.loads(file.read_text("utf-8")) == {"a_b": 1.5, "in": {"x": [2, None]}}


SUMS = "experiment method m components test_mean paper difference minutes_one_core"


def test_numbers_of_table_1_are_those_of_the_largest_m():
    rows = [("one", "fourier", m, 50, m / 100, 41.0, d, 0.1) for m, d in ((9, -0.2), (8, 0.1))]
    rows += [("one", "dcca", np.nan, 50, 47.0, np.nan, np.nan, 0.6)]
    found = headlines.of_table1(frame(SUMS, *rows))["one"]
    assert (found["m"], found["m_first"], found["components"]) == (9, 8, 50)
    fourier = found["fourier"]
    assert [fourier[key] for key in ("sum", "first", "paper", "least", "most", "off")] == (
        pytest.approx([0.09, 0.08, 41.0, -0.2, 0.1, 0.2])
    )
    assert found["dcca"]["sum"] == 47.0


def test_numbers_of_series_are_by_protocol_and_those_of_a_choice_by_map():
    rows = [
        ("z", protocol, "fixed", "fourier", m, 112, test, np.nan, np.nan, leaked)
        for protocol, leaked, tests in (("frames", 0.998, (80, 99)), ("utterances", 0.0, (66, 19)))
        for m, test in zip((1000, 6000), tests, strict=True)
    ]
    rows += [("z", "frames", "chosen", "fourier", 6000, 112, 1.0, np.nan, np.nan, 0.998)]
    over = frame("series protocol reg method m components test_mean paper difference leaked", *rows)
    found = headlines.of_series(over)["z"]
    assert found["frames"]["fourier"]["sum"] == 99
    assert found["frames"]["leaked"] == pytest.approx(99.8)
    assert found["utterances"]["fourier"]["first"] == 66
    columns = "experiment protocol feature_map m fixed_mean chosen_mean"
    choice = frame(
        columns,
        ("z", "utterances", "fourier", 9, 30.0, 47.0),
        ("one", None, "fourier", 9, 1.0, 2.0),
    )
    found = headlines.of_choice(choice)
    assert found["z"]["utterances"]["fourier"] == {"fixed": 30.0, "chosen": 47.0, "m": 9}
    assert found["one"]["rows"]["fourier"]["chosen"] == 2.0


def test_model_of_own_data_says_what_was_chosen_and_what_is_real():
    rows = [
        ("one", "linear", 3, 1e-3, 1, 0.99, 0.06, 0.1),
        ("one", "fourier", 100, 1e-3, 1, 0.95, 0.01, 0.1),
        ("one", "fourier", 100, 1e-3, 2, 0.05, 0.3, 0.1),
    ]
    inference = pd.DataFrame(rows, columns=tables.INFERENCE_COLUMNS)
    leaks = frame(
        "experiment part kind share",
        ("one", "tune", "duplicate in both", 0.9),
        ("one", "test", "duplicate in x", 0.5),
        ("one", "test", "duplicate in both", 0.2),
        ("two", "test", "duplicate in both", 0.3),
    )
    best, linear = headlines.of_models(inference, leaks, TITLES)["models"]
    assert best["given_away"] == linear["given_away"] == 0.2
    assert (best["title"], best["real"], best["p"], best["m"]) == (
        "MNIST, RCCA, Fourier", [0.95], 0.01, 100,
    )  # fmt: skip
    assert (linear["map"], linear["real"]) == ("linear", [])
    loadings = frame("view column component_1", ("x", 0, 0.2), ("x", "a_b", -0.9), ("y", 0, 0.5))
    of_models = {("one", "fourier"): loadings, ("one", "linear"): loadings}
    block, other = tables.model_blocks(inference, TITLES, of_models)
    assert other.title == "MNIST, linear CCA"
    (note,) = block.notes
    assert (
        note
        == r"Largest loadings on component 1: of view x a\_b (-0.90), 0 (0.20); of view y 0 (0.50)."
    )
    assert block.text == "m = 100, reg = 0.001, by cross-validation"
    assert block.cells[1] == ["2", "0.050", "0.3", "0.100"]
    model = loadings, np.zeros(3), np.ones(3)
    models = {("one", kind): model for kind in ("fourier", "linear")}
    panels = figures.model_figure(inference, models, TITLES)
    assert list(panels[1].y.ticks.values()) == ["x, a_b", "x, 0", "y, 0"]  # the largest on top


def test_rpca_extrapolates_times_by_their_law():
    laws = frame(
        "experiment analysis method n_to seconds factor exponent",
        ("one", "pca", "exact", 10, 8.0, 0.008, 3.0),
        ("one", "pca", "fourier", 100, 5.0, 0.05, 1.0),
    )
    times = frame("experiment analysis n", ("one", "pca", 100))
    errors = frame(
        "experiment analysis method m n mean_angle_mean", ("one", "pca", "fourier", 9, 50, 2.0)
    )
    found = rpca.numbers(errors, laws, times)["one"]["pca"]
    assert found["times"]["exact"]["seconds"] == pytest.approx(8000)
    assert found["times"]["exact"]["extrapolated"]
    assert found["times"]["fourier"]["seconds"] == 5.0
    assert found["fourier"]["angle"] == 2.0


def test_autoencoders_stand_beside_pca_in_per_cent():
    rows = [("one", "pca", 9, 0.2, 0.0, 1.0), ("one", "median", 9, 0.1, -0.5, 9.0)]
    summary = frame("experiment method d test_mean against_mean fit_seconds", *rows)
    (found,) = autoencoder.numbers(summary).values()
    assert found == {
        "d": 9, "best": "RPCA (median heuristic)", "against": {"pca": 0.0, "median": -50.0},
        "seconds": 9.0,
    }  # fmt: skip


def test_numbers_of_bounds_and_extensions():
    cases = frame(
        "features gamma n m repeats excess", ("unit", 1, 9, 4, 5, 0.4), ("unit", 2, 8, 4, 5, 1.5)
    )
    found = bounds.of_counterexample(cases)
    assert (found["excess"], found["n"], found["cases"], found["broken"]) == (1.5, 8, 2, 1)
    power = frame(
        "pattern noise method power",
        ("line", 1, "rdc", 0.5), ("line", 2, "rdc", 0.7), ("circle", 1, "rdc", 0.9),
    )  # fmt: skip
    found = extensions.of_dependence(power)
    assert found["line"] == {"rdc": pytest.approx(0.6)}
    assert found["all"] == {"rdc": pytest.approx(0.7)}
    scores = frame(
        "data method m nmi_mean", ("rings", "fourier", 5, 0.1), ("rings", "fourier", 9, 0.2)
    )
    assert extensions.of_clustering(scores) == {"rings": {"fourier": 0.2}}
