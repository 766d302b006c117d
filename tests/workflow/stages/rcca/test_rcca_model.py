"""A model kept for later: chosen on training rows, tested on test rows, read back as it was."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from projects import write_with_record
from rnca import load_model, save_model
from workflow.data.catalogue import prepare
from workflow.data.errors import DataError
from workflow.data.prepared import load_prepared
from workflow.stages.rcca.fit import Experiment
from workflow.stages.rcca.model import fit_model
from workflow.stages.rcca.own import INFERENCE_COLUMNS, read_models

ASKED = {"other_regs": [1e-3, 1e-1], "folds": 3, "permutations": 19}


def experiment(**given):
    settings = {
        "name": "digits",
        "draws": "digits",
        "split": {"scheme": "random", "train": 1200, "tune": 200, "test": 397},
        "standardise": False,
        "components": 3,
        "features": [10, 20],
        "feature_map": "fourier",
        "reg": 1e-3,
        "width": 1.0,
        "same_landmarks": False,
        "repeat": 0,
        "seed": 3,
        **ASKED,
    }
    return Experiment(**settings | given)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data")
    for name in ("digits", "synthetic-speech"):
        prepare(name, directory / name)
    return lambda name: load_prepared(directory / name)


@pytest.mark.parametrize("standardise", [False, True])
def test_what_is_kept_belongs_together(prepared, tmp_path, standardise):
    data, own = prepared("digits"), experiment(standardise=standardise)
    kept = fit_model(own, data)
    assert len(kept.scores) == 4
    best = kept.scores.loc[kept.scores["mean_sum"].idxmax()]
    chosen = kept.inference.iloc[0]
    assert (chosen["m"], chosen["reg"]) == (best["m"], best["reg"])
    assert (kept.inference["p_value"] == 0.05).all()  # 19 permutations, and all are real
    save_model(kept.model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    rows = own.rows(data)
    test = kept.variables["part"] == "test"
    assert_array_equal(kept.variables["row"][test], rows.test)
    # From the prepared columns by what the table of loadings says.
    of_x = kept.loadings[kept.loadings["view"] == "x"]
    raw = (data.x[np.sort(rows.test)] - of_x["offset"].to_numpy()) / of_x["scale"].to_numpy()
    kept_x = kept.variables["x"][test]
    assert_allclose(again.transform(raw)[np.argsort(np.argsort(rows.test))], kept_x, atol=1e-4)
    assert (of_x["scale"] == 1).all() != standardise


def test_groups_stay_together_in_folds_and_permutations(prepared):
    split = {"scheme": "groups", "train": 3000, "tune": 500, "test": 500}
    own = experiment(name="speech", split=split, feature_map="linear", standardise=True)
    kept = fit_model(own, prepared("synthetic-speech"))
    assert set(kept.variables["part"]) == {"train", "tune", "test"}
    assert kept.inference["m"].nunique() == 1
    assert kept.scores["m"].nunique() == 1  # linear features are as many as columns


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (None, None),
        (lambda x, y: (x, y[::-1]), "not what its job wrote"),
        (lambda x, y: (x[:, 0], y), "damaged"),
    ],
    ids=["as it was", "edited", "of another shape"],
)
def test_variables_that_do_not_have_the_correlation_of_the_csv_are_not_drawn(tmp_path, harm, words):
    x, y = np.random.default_rng(0).normal(size=(2, 50, 1))
    row = ("one", "fourier", 100, 1e-3, 1, np.corrcoef(x.T, y.T)[0, 1], 0.01, 0.1)
    inference = pd.DataFrame([row], columns=INFERENCE_COLUMNS)
    (tmp_path / "one").mkdir()
    loadings = write_with_record(tmp_path / "one" / "fourier.loadings.csv", inference)
    variables = str(tmp_path / "one" / "fourier.variables.npz")
    x, y = harm(x, y) if harm else (x, y)
    np.savez(variables, part=np.full(50, "test"), x=x, y=y)
    if harm is None:
        assert read_models([loadings], [variables], inference).keys() == {("one", "fourier")}
    else:
        with pytest.raises(DataError, match=f"npz: {words}.+Delete .+npz and run again"):
            read_models([loadings], [variables], inference)
