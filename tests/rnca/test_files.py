"""Files of moments and of models: complete or not there at all, no code, and damage is named."""

import json
import os
import signal
import subprocess
import sys
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.exceptions import NotFittedError

from rnca import RCCA, RPCA, FourierFeatures, Moments, NystroemFeatures, load_model, save_model
from rnca.files import replacing

KILLED = """
import os, signal, sys
from rnca.files import replacing
with replacing(sys.argv[1]) as partial:
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
ZX, ZY = np.random.default_rng(0).normal(size=(2, 500, 4)) + 3
ZY = ZX[:, :3] ** 2 + ZY[:, :3]


def write_and_fail(file):
    with replacing(file) as partial:
        partial.write_text("half")
        raise RuntimeError


def test_failed_writer_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(RuntimeError):
        write_and_fail(file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_next_writer_clears_away_what_killed_ones_left(tmp_path):
    file = tmp_path / "a.txt"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    with replacing(file) as partial:
        assert not partial.exists()
        partial.write_text("new")
    assert file.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "moments.npz"
    Moments(4, 3, features="abc").update(ZX, ZY).save(path)
    return path


def assert_same(moments, other):
    assert vars(moments).keys() == vars(other).keys()
    for name, value in vars(other).items():
        assert_equal(getattr(moments, name), value)  # arrays in lists and dictionaries, too


@pytest.mark.parametrize(
    "empty",
    [
        lambda: Moments(4, 3, features="abc"),
        lambda: Moments(4),
        lambda: Moments(4, 3, targets=True),
        lambda: Moments(4, 3, 2),
    ],
)
def test_saved_moments_come_back_and_are_merged(tmp_path, empty):
    path = tmp_path / "no-suffix"
    views = (ZX, ZY, ZX[:, :2])[: len(empty().sizes)]
    head, tail = (
        empty().update(*(view[rows] for view in views)) for rows in (slice(200), slice(200, None))
    )
    for _ in range(2):
        tail.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["no-suffix"]
    loaded = Moments.load(path, features=tail.features, n=300)
    whole, merged = empty().update(*views), head.merge(loaded)
    empty().merge(loaded).update(*views)
    for pair in whole.products:
        assert_allclose(merged.covariance(*pair), whole.covariance(*pair), atol=1e-12)
    assert_same(loaded, tail)  # whatever it was merged into


def test_a_failed_save_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        Moments(4, 3).update(ZX, ZY).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_of_other_features_or_rows_is_refused(saved):
    with pytest.raises(ValueError, match=r"moments.npz: computed with other features .*abc.*xyz"):
        Moments.load(saved, features="xyz")
    with pytest.raises(ValueError, match=r"moments.npz: moments of 500 rows, not of 400"):
        Moments.load(saved, n=400)


@pytest.mark.parametrize("mask", [0xFF, 0x01, 0x20])
def test_a_file_with_a_damaged_byte_is_refused_or_harmless(saved, mask):
    whole, expected = saved.read_bytes(), Moments.load(saved)
    harmless = 0
    for position in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[position] ^= mask
        saved.write_bytes(damaged)
        try:
            loaded = Moments.load(saved, features="abc")
        except ValueError:
            continue
        assert_same(loaded, expected)  # a timestamp or attribute of the archive
        harmless += 1
    assert harmless < len(whole) / 5 / 2


def archived(write, *arrays, **named):
    file = BytesIO()
    write(file, *arrays, **named)
    return file.getvalue()


def settings(**written):
    return archived(np.savez, settings=np.array(json.dumps(written)))


OTHER_KINDS = [
    b"",
    bytes(range(256)) * 9,
    b"n,m\n1,2\n",
    b"\x80\x04N.",  # a pickle
    archived(np.save, np.eye(3)),
    archived(np.savez, weights=np.eye(3)),
    settings(format=1, model={"class": "Popen", "state": {"dict": {}}}),
]


def test_a_file_cut_anywhere_or_of_another_kind_is_refused(halves, saved):
    model = saved.with_name("model.npz")
    save_model(RCCA(2, n_features=5, random_state=0).fit(*halves), model)
    for path, load, what, step in (
        (saved, Moments.load, "moments", 61),
        (model, load_model, "save_model", 997),
    ):
        whole = path.read_bytes()
        for content in (*(whole[:end] for end in range(0, len(whole), step)), *OTHER_KINDS):
            path.write_bytes(content)
            message = rf"{path.name}: not a complete file of {what} .* Delete it"
            with pytest.raises(ValueError, match=message):
                load(path)
        path.unlink()
        with pytest.raises(FileNotFoundError):
            load(path)
    model.write_bytes(settings(format=2))
    with pytest.raises(ValueError, match="format 2, this version reads 1"):
        load_model(model)


def hollow(**state):
    return {"class": "RPCA", "state": {"dict": state}}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (5, "5 is not an estimator"),
        ({"array": "settings"}, "not an estimator"),
        ({"dict": {}}, "not an estimator"),
        (hollow(), "'chunk_size'"),
        (hollow(**RPCA().get_params()), "not fitted"),
        ({"list": [{"array": "settings"}] * 400}, "settings is used more than once"),
        (hollow(n_components=hollow()), "'chunk_size'"),
    ],
    ids=str.split("number array settings empty unfitted repeated inner"),
)
def test_files_without_a_whole_model_are_refused(tmp_path, model, words):
    (tmp_path / "model.npz").write_bytes(settings(format=1, model=model))
    with pytest.raises(ValueError, match=f"model.npz: not a complete file of save_model .*{words}"):
        load_model(tmp_path / "model.npz")


def test_models_that_are_not_fitted_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(RPCA(2), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("header", np.array([99, 500, 0, 4, 3]), "format 99, this version reads"),
        ("header", np.array([1, 500, 4, 3]), "format 1, this version reads 2.*compute it again"),
        ("header", np.array([2, 500, 0, 5, 3]), r"shift_0 is float64\(4,\), not float64\(5,\)"),
        ("product_0_0", np.zeros((4, 4), np.float32), "product_0_0 is float32"),
        ("sum_1", np.zeros(2), "sum_1"),
        ("header", np.array([2, -1, 0, 4, 3]), "-1 rows"),
        ("product_0_0", np.full((4, 4), np.nan), "product_0_0 has a value that is not finite"),
        ("sum_0", np.full(4, np.inf), "sum_0 has a value that is not finite"),
    ],
)
def test_a_file_of_other_shapes_or_format_is_refused(saved, name, array, words):
    with np.load(saved) as stored:
        arrays = {**stored, name: array}
    np.savez(saved, **arrays)
    with pytest.raises(ValueError, match=words):
        Moments.load(saved)


MAPS = ["fourier", "nystroem", "linear", "fastfood", ("linear", FourierFeatures(9, gamma=0.1))]


@pytest.mark.parametrize("feature_map", MAPS)
def test_a_loaded_model_answers_alike(halves, tmp_path, feature_map):
    X, Y = halves
    model = RCCA(3, feature_map=feature_map, n_features=(20, 30), reg=0.1, random_state=0)
    model.fit(X, Y).fit_predictor(X, Y)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert_array_equal(again.transform(X, Y), model.transform(X, Y))
    assert_array_equal(again.predict(X), model.predict(X))
    assert repr(again) == repr(model)
    assert again.conditioning_ == model.conditioning_
    with pytest.raises(ValueError, match="path needs the moments of a fit"):
        again.path([5])


def test_other_estimators_and_column_names(halves, tmp_path):
    frame = pd.DataFrame(halves[0]).add_prefix("pixel")
    whitened = NystroemFeatures(10, whiten=True)
    model = RPCA(2, feature_map=whitened, random_state=np.random.default_rng(0))
    save_model(model.fit(frame), tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert_array_equal(again.transform(frame), model.transform(frame))
    assert again.random_state is None
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(frame[frame.columns[::-1]])


def test_only_models_of_the_library_are_saved_and_loaded(halves, tmp_path):
    class Mine(RCCA):
        pass

    model = Mine(2, n_features=5, random_state=0).fit(*halves)
    with pytest.raises(TypeError, match="is no estimator of rnca"):
        save_model(model, tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()
