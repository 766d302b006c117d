"""Files of fitted models: the same answers, no code, and a clear word on damage."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rnca import RCCA, RPCA, FourierFeatures, NystroemFeatures, load_model, save_model

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
    forged = {"format": 1, "model": {"class": "Popen", "state": {"dict": {}}}}
    np.savez(tmp_path / "forged.npz", settings=np.array(json.dumps(forged)))
    with pytest.raises(ValueError, match="not a complete file of save_model"):
        load_model(tmp_path / "forged.npz")


def test_damage_is_named(halves, tmp_path):
    path = tmp_path / "model.npz"
    save_model(RCCA(2, n_features=5, random_state=0).fit(*halves), path)
    content = path.read_bytes()
    for damaged in (content[:-100], content[:50], b"nothing"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.npz: not a complete file of save_model"):
            load_model(path)
    np.savez(path, settings=np.array(json.dumps({"format": 2})))
    with pytest.raises(ValueError, match="format 2, this version reads 1"):
        load_model(path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.npz")
