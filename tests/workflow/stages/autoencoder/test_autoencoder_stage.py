"""The autoencoder stage on digits: what it measures, chooses and keeps."""

import base64
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.decomposition import PCA

from workflow.data.catalogue import prepare
from workflow.stages.autoencoder.fit import Experiment, Pixels, chosen_before, run_part
from workflow.stages.autoencoder.pictures import shown_rows, to_png

EXPERIMENT = Experiment(
    name="digits",
    components=4,
    features=60,
    white=16,
    ridge=1e-6,
    search={"share": 0.5, "encoder": [0.1, 1e3], "decoder": [0.1], "regs": [1e-4, 1e3]},
    sweeps={"d": [2, 4], "m": [30, 60]},
    shown=20,
    seed=3,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("prepared") / "digits")


@pytest.fixture(scope="module")
def outcome(data):
    return run_part(EXPERIMENT, data, [0, 1], ["d", "m"])


def error_of(errors, method, **where):
    rows = errors[errors["method"] == method]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    (error,) = rows["test_error"]
    return error


def test_linear_rows_are_those_of_pca(outcome, data):
    pixels = Pixels.of(EXPERIMENT, data, 0)
    train, test = np.asarray(pixels.train), np.asarray(pixels.test)
    pca = PCA(4, svd_solver="full").fit(train)
    rest = test - pca.inverse_transform(pca.transform(test))
    expected = np.sum(rest**2) / np.sum(test**2)
    row = outcome[0].query("method == 'pca' and axis == 'table' and repeat == 0").iloc[0]
    assert row["test_error"] == pytest.approx(expected, rel=1e-5)
    assert row["test_psnr"] == pytest.approx(-10 * np.log10(np.mean(rest**2)), abs=1e-4)
    assert (row["n_train"], row["n_tune"], row["n_test"]) == (1439, 179, 179)


def test_every_method_is_measured_in_every_repeat_and_sweep(outcome):
    counts = outcome[0].groupby("axis")["method"].value_counts().to_dict()
    table = dict.fromkeys(["pca", "median", "authors", "chosen", "combined"], 2)
    swept = dict.fromkeys(["pca", "median", "chosen", "combined"], 2)
    for axis, expected in (("table", table), ("d", swept), ("m", swept | {"pca": 1})):
        assert {name: n for (where, name), n in counts.items() if where == axis} == expected
    assert (outcome[0][["train_error", "tune_error", "test_error"]].to_numpy() < 1).all()
    assert (outcome[0][["encoder_seconds", "decoder_seconds", "peak_mb"]].to_numpy() > 0).all()


def test_widths_are_multiples_of_the_median_heuristics(outcome):
    widths = outcome[0].groupby("method")[["encoder_width", "decoder_width"]]
    assert (widths.get_group("median") == 1.0).all(axis=None)
    # 2·gamma², gamma = 1/median, as a multiple of gamma: about 2/9.5 and 2/(2·4).
    authors = widths.get_group("authors").mean()
    assert authors.to_numpy() == pytest.approx([0.21, 0.25], rel=0.3)
    assert widths.get_group("pca").isna().all(axis=None)


def test_the_search_chooses_what_tuning_rows_favour(outcome):
    chosen, combined = chosen_before(outcome[0])
    assert (chosen.encoder_width, chosen.reg) == (0.1, 1e-4)
    assert (combined.encoder, combined.linear_part, combined.reg) == ("linear", True, 1e-4)


def test_a_sweep_passes_through_the_table(outcome):
    errors = outcome[0]
    for method in ("pca", "median", "chosen", "combined"):
        at = error_of(errors, method, axis="table", repeat=0)
        assert error_of(errors, method, axis="d", d=4) == pytest.approx(at, rel=1e-3)
        if method != "pca":
            assert error_of(errors, method, axis="m", m=60) == pytest.approx(at, rel=1e-3)
        assert error_of(errors, method, axis="d", d=2) > at


def test_parts_made_apart_are_the_whole(outcome, data):
    whole = outcome[0].drop(columns=[name for name in outcome[0] if "seconds" in name])
    again, pictures = run_part(EXPERIMENT, data, [], ["m"], before=outcome[0])
    assert not len(pictures)
    expected = whole[whole["axis"] == "m"].reset_index(drop=True)
    columns = [name for name in expected if name != "peak_mb"]
    pd.testing.assert_frame_equal(again[columns], expected[columns], rtol=1e-6)


def test_pictures_are_test_rows_and_their_reconstructions(outcome, data):
    pictures = outcome[1]
    assert set(pictures["experiment"]) == {"digits"}
    test = set(Pixels.of(EXPERIMENT, data, 0).test.rows)
    assert set(pictures["row"]) <= test
    grid = pictures[pictures["use"] == "grid"]
    assert (grid["method"].value_counts() == 20).all()
    original = grid[grid["method"] == "original"]
    assert (original["label"].value_counts() == 2).all()
    with Image.open(io.BytesIO(base64.b64decode(original["png"].iloc[0]))) as picture:
        shown = np.asarray(picture) / 255 * 16
    assert np.abs(shown - data.images[original["row"].iloc[0]]).max() < 0.05


def test_pictures_of_the_latent_space_do_not_overlap(outcome):
    placed = outcome[1][outcome[1]["use"] == "map"]
    assert set(placed["method"]) == {"pca", "median"}
    for _, rows in placed.groupby("method"):
        points = rows[["factor_1", "factor_2"]].to_numpy()
        apart = np.abs(points[:, None] - points).max(axis=2) + 9 * np.eye(len(points))
        assert apart.min() > np.ptp(points, axis=0).max() / 16
        assert len(points) > 20


def test_too_few_pictures_are_shown_once_each(data):
    few = Pixels.of(EXPERIMENT, data, 0).test
    index = shown_rows(data, replace(few, rows=few.rows[:5]), 20)
    assert sorted(index) == [0, 1, 2, 3, 4]


def test_pixels_outside_the_range_are_cut_off():
    with Image.open(io.BytesIO(base64.b64decode(to_png(np.array([[-1.0, 0.5, 2.0]]))))) as picture:
        assert np.asarray(picture).tolist() == [[0, 128, 255]]
