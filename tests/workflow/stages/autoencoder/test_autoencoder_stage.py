"""The autoencoder stage on digits: what it measures, chooses and keeps."""

import base64
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.decomposition import PCA

from workflow.stages.autoencoder.fit import (
    AUTHORS,
    AUTHORS_ENCODER,
    Experiment,
    Fit,
    Method,
    Pixels,
    Search,
    StandardisedFeatures,
    run_part,
    shown_rows,
    to_png,
)
from workflow.stages.autoencoder.report import METHODS

EXPERIMENT = Experiment(
    name="digits",
    components=4,
    features=60,
    white=16,
    ridge=1e-6,
    search={"share": 0.5, "encoder": [0.1, 1e3], "decoder": [0.1], "widen": 0, "regs": [1e-4, 1e3]},
    shown=20,
    seed=3,
)


@pytest.fixture(scope="module")
def data(prepared):
    return prepared("digits")


@pytest.fixture(scope="module")
def outcome(data):
    return run_part(EXPERIMENT, data, [0, 1])


def pixels_of(png):
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        return np.asarray(picture)


def test_linear_rows_are_those_of_pca(outcome, data):
    pixels = Pixels.of(EXPERIMENT, data, 0)
    train, test = np.asarray(pixels.train), np.asarray(pixels.test)
    pca = PCA(4, svd_solver="full").fit(train)
    rest = test - pca.inverse_transform(pca.transform(test))
    expected = np.sum(rest**2) / np.sum(test**2)
    row = outcome[0].query("method == 'pca' and repeat == 0").iloc[0]
    assert row["test_error"] == pytest.approx(expected, rel=1e-5)
    assert row["test_psnr"] == pytest.approx(-10 * np.log10(np.mean(rest**2)), abs=1e-4)
    assert (row["n_train"], row["n_tune"], row["n_test"]) == (1439, 179, 179)


def test_every_method_is_measured_in_every_repeat(outcome):
    counts = outcome[0].groupby("method")["repeat"].nunique().to_dict()
    assert counts == dict.fromkeys(METHODS, 2)
    assert (outcome[0][["train_error", "tune_error", "test_error"]].to_numpy() < 1).all()
    assert (outcome[0][["encoder_seconds", "decoder_seconds", "peak_mb"]].to_numpy() > 0).all()


def test_widths_are_multiples_of_the_median_heuristics(outcome):
    widths = outcome[0].groupby("method")[["encoder_width", "decoder_width"]]
    assert (widths.get_group("median") == 1.0).all(axis=None)
    # 2·gamma², gamma = 1/median, as a multiple of gamma: about 2/9.5 and 2/(2·4).
    authors = widths.get_group("authors").mean()
    assert authors.to_numpy() == pytest.approx([0.21, 0.25], rel=0.3)
    assert widths.get_group("pca").isna().all(axis=None)


def test_the_authors_encoder_is_the_pca_of_standardised_features(data):
    """As ``rpca.m``: every feature less its mean, over its deviation, then the SVD, whitened."""
    train = Pixels.of(EXPERIMENT, data, 0).train
    fit = Fit(EXPERIMENT, AUTHORS_ENCODER, 0).encoder(train)
    plain = Fit(EXPERIMENT, AUTHORS, 0).encoder(train)
    z = plain.model.encoder_.map_.transform(np.asarray(train))
    z = (z - z.mean(axis=0)) / z.std(axis=0, ddof=1)
    U, _, _ = np.linalg.svd(z, full_matrices=False)
    expected = U[:, :4] * np.sqrt(len(z) - 1)
    found = fit.model.encoder_.transform(train) / fit.model.scale_
    assert np.abs(np.sum(found * expected, axis=0)) / (len(z) - 1) == pytest.approx(1, abs=1e-4)


def test_a_constant_feature_is_left_as_it_is():
    features = StandardisedFeatures(3, gamma=1.0, random_state=0).fit(np.zeros((5, 2)))
    assert (features.deviations_ == 1).all()


def test_the_search_chooses_what_tuning_rows_favour(outcome):
    rows = outcome[0].set_index("method")
    assert (rows.loc["chosen", ["encoder_width", "reg"]] == [0.1, 1e-4]).all(axis=None)
    assert (rows.loc["combined", "reg"] == 1e-4).all()
    assert rows.loc["combined", "encoder_width"].isna().all()
    # The encoder of RPCA with the decoder that gives PCA's encoder its linear part back.
    assert rows.loc["rpca-combined", "encoder_width"].notna().all()
    errors = outcome[0].pivot(index="repeat", columns="method", values="tune_error")
    assert (errors["rpca-combined"] < errors["chosen"]).all()
    # Each is an end of its grid; the decoder's has one value.
    edges = outcome[0].groupby("method")["on_edge"].unique()
    assert edges.map(list).to_dict() == {name: [""] for name in METHODS} | {
        "chosen": ["encoder, regs"],
        "rpca-combined": ["encoder, regs"],
        "combined": ["regs"],
    }


def test_a_grid_grows_until_the_best_width_is_inside_or_no_more_is_allowed(data, monkeypatch):
    pixels = Pixels.of(EXPERIMENT, data, 0)
    grids = {"encoder": [1.0, 10.0], "decoder": [0.1, 0.3], "regs": [1e-4]}
    # Least at an encoder of 0.01 and a decoder of 0.9.
    monkeypatch.setattr(
        Search,
        "error",
        lambda _, encoder, decoder: abs(np.log(encoder / 0.01)) + abs(np.log(decoder / 0.9)),
    )
    found = {}
    for widen in (0, 1, 3):
        experiment = Experiment(**vars(EXPERIMENT) | {"search": grids | {"widen": widen}})
        best = Search(experiment, Method("chosen"), 0, pixels, {}).best()
        found[widen] = (best.encoder_width, best.decoder_width, best.on_edge)
    both = ("encoder", "decoder")
    assert found[0] == (1.0, 0.3, both)
    assert found[1][:2] == pytest.approx((0.1, 0.9))
    assert found[1][2] == both
    assert found[3][:2] == pytest.approx((0.01, 0.9))
    assert found[3][2] == ()


def test_parts_made_apart_are_the_whole(outcome, data):
    again, pictures = run_part(EXPERIMENT, data, [1])
    assert not len(pictures)
    columns = [name for name in again if "seconds" not in name and name != "peak_mb"]
    whole = outcome[0][outcome[0]["repeat"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(again[columns], whole[columns], rtol=1e-6)


def test_pictures_are_test_rows_and_their_reconstructions(outcome, data):
    pictures = outcome[1]
    assert set(pictures["experiment"]) == {"digits"}
    test = set(Pixels.of(EXPERIMENT, data, 0).test.rows)
    assert set(pictures["row"]) <= test
    assert (pictures["method"].value_counts() == 20).all()
    original = pictures[pictures["method"] == "original"]
    assert (original["label"].value_counts() == 2).all()
    shown = pixels_of(original["png"].iloc[0]) / 255 * 16
    assert np.abs(shown - data.images[original["row"].iloc[0]]).max() < 0.05


def test_few_pictures_are_shown_once_each_and_pixels_outside_the_range_are_cut_off(data):
    few = Pixels.of(EXPERIMENT, data, 0).test
    index = shown_rows(data, replace(few, rows=few.rows[:5]), 20)
    assert sorted(index) == [0, 1, 2, 3, 4]
    assert pixels_of(to_png(np.array([[-1.0, 0.5, 2.0]]))).tolist() == [[0, 128, 255]]
