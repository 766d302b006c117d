"""The scikit-learn contract, in full for every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rnca import (
    RCCA,
    RCCACV,
    RLDA,
    RPCA,
    FastfoodFeatures,
    FourierFeatures,
    LinearFeatures,
    NystroemFeatures,
    OrthogonalFeatures,
    PrivilegedFeatures,
    QuasiMonteCarloFeatures,
    RandomizedAutoencoder,
    RSpectralClustering,
)
from rnca.features import JointFeatures
from rnca.regression import FeatureRidge


class Halved(PrivilegedFeatures):
    """PrivilegedFeatures that need no `privileged`, which scikit-learn's checks do not give."""

    def fit(self, X, y=None, *, privileged=None):
        n = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, y, privileged=(np.arange(n) % 2)[:, None])


# Estimators in float64: rows one by one agree with all at once to 1e-7, beyond float32's digits.
@parametrize_with_checks(
    [
        FourierFeatures(5, random_state=0),
        OrthogonalFeatures(5, random_state=0),
        FastfoodFeatures(5, random_state=0),
        QuasiMonteCarloFeatures(5, random_state=0),
        NystroemFeatures(3, random_state=0),
        NystroemFeatures(3, whiten=True, random_state=0),
        LinearFeatures(),
        JointFeatures([LinearFeatures(), FourierFeatures(3)], random_state=0),
        RPCA(1, n_features=5, random_state=0, dtype="float64"),
        RPCA(1, feature_map="linear", dtype="float64"),
        RPCA(1, feature_map=NystroemFeatures(2, random_state=0), dtype="float64"),
        RSpectralClustering(2, n_init=1, random_state=0, dtype="float64"),
        RSpectralClustering(
            2, feature_map="fourier", n_features=50, n_init=1, random_state=0, dtype="float64"
        ),
        RLDA(n_features=20, reg=1e-4, random_state=0, dtype="float64"),
        RLDA(feature_map="linear", dtype="float64"),
        RandomizedAutoencoder(
            1, n_features=5, n_decoder_features=5, reg=1e-3, random_state=0, dtype="float64"
        ),
        RandomizedAutoencoder(1, feature_map="linear", reg=1e-6, dtype="float64"),
        RCCA(1, n_features=5, reg=1e-3, random_state=0, dtype="float64"),
        RCCA(1, feature_map="linear", reg=1e-3),
        RCCACV(1, sizes=(5,), regs=(1e-3,), cv=2, random_state=0, dtype="float64"),
        FeatureRidge(n_features=50, reg=1e-6, random_state=0, dtype="float64"),
        FeatureRidge(feature_map="linear"),
        Halved(1, n_features=5, reg=1e-3, random_state=0, dtype="float64"),
    ]
)
@pytest.mark.filterwarnings("ignore:n_clusters=.* no clear gap:UserWarning")  # blobs of the checks
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def model():
    return RCCA(3, n_features=20, random_state=0)


def test_parameters_are_kept_as_given():
    given = {
        "n_components": 7,
        "feature_map": ("linear", FourierFeatures(9)),
        "n_features": (30, 40),
        "gamma": (0.1, "median"),
        "reg": (1e-3, 0.0),
        "random_state": 5,
        "chunk_size": 10,
        "dtype": "float64",
        "verbose": True,
    }
    model = RCCA(**given)
    assert model.get_params(deep=False) == given
    for name, value in given.items():
        assert getattr(model, name) is value
    copy = clone(RCCA().set_params(n_components=2, reg=1.0))
    assert (copy.n_components, copy.reg) == (2, 1.0)
    assert repr(RCCA(4, reg=1.0)) == "RCCA(n_components=4, reg=1.0)"


def test_fit_returns_the_estimator_and_changes_no_parameter(model, halves):
    before = model.get_params()
    assert model.fit(*halves) is model
    assert model.get_params() == before


def test_a_clone_fits_to_the_same_answer(model, halves):
    model.fit(*halves)
    assert_array_equal(clone(model).fit(*halves).F_, model.F_)


def test_fitting_again_forgets_the_first_fit(model, halves):
    X, Y = halves
    model.fit(X[:900, :10], Y[:900, :9]).fit(X, Y)
    assert_array_equal(model.F_, clone(model).fit(X, Y).F_)
    assert (model.n_features_in_, model.n_samples_) == (32, 1797)


def test_a_pickled_model_transforms_alike_and_leaves_its_moments_behind(model, halves):
    model.fit(*halves)
    pickled = pickle.dumps(model)
    again = pickle.loads(pickled)
    assert_array_equal(again.transform(*halves), model.transform(*halves))
    assert again.score(*halves) == model.score(*halves)
    assert not hasattr(again, "moments_")
    with pytest.raises(ValueError, match=r"path needs the moments of a fit .* Fit again"):
        again.path([5])


@pytest.mark.parametrize(
    "use",
    [
        lambda model, X, Y: model.transform(X),
        lambda model, X, Y: model.score(X, Y),
        lambda model, X, Y: model.component_correlations(X, Y),
        lambda model, X, Y: model.path([5]),
        lambda model, X, Y: model.accumulate(X, Y),
        lambda model, X, Y: model.solve(None),
        lambda model, X, Y: model.get_feature_names_out(),
    ],
    ids=["transform", "score", "component_correlations", "path", "accumulate", "solve", "names"],
)
def test_an_unfitted_model_says_so(model, halves, use):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(model, *halves)


def test_inputs_are_not_changed(model, halves):
    X, Y = (half.copy() for half in halves)
    for kind in ("fourier", "nystroem", "linear", "orthogonal", "fastfood", "qmc"):
        model.set_params(feature_map=kind).fit(X, Y).score(X, Y)
        model.transform(X, Y)
    assert_array_equal(X, halves[0])
    assert_array_equal(Y, halves[1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_memory_maps_will_do(model, halves, tmp_path, order):
    maps = []
    for name, half in zip("xy", halves, strict=True):
        np.save(tmp_path / f"{name}.npy", np.asarray(half, order=order))
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    assert_allclose(model.fit(*maps).score(*maps), clone(model).fit(*halves).score(*halves))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float32, object])
def test_any_numeric_type_will_do(model, halves, dtype):
    expected = model.fit(*halves).correlations_
    given = [half.astype(dtype) for half in halves]
    model.fit(*given)
    assert_allclose(model.correlations_, expected, atol=1e-7)
    wanted = np.float32 if dtype is np.float32 else np.float64
    assert all(variables.dtype == wanted for variables in model.transform(*given))


def test_lists_will_do(model, halves):
    X, Y = (half[:50].tolist() for half in halves)
    assert model.fit(X, Y).transform(X).shape == (50, 3)


@pytest.fixture
def frames(halves):
    return tuple(
        pd.DataFrame(half, columns=[f"{name}{i}" for i in range(32)], index=np.arange(1797) + 5)
        for half, name in zip(halves, "xy", strict=True)
    )


def test_data_frames_will_do(model, halves, frames):
    expected = clone(model).fit(*halves).transform(*halves)
    found = model.fit(*frames).transform(*frames)
    # BLAS may sum a product in another order if the rows have another memory layout. A cosine has
    # the error of its argument: float32's eps of up to 10. A canonical variable adds these errors.
    error = 10 * np.finfo(np.float32).eps
    for variables, reference, basis in zip(found, expected, (model.F_, model.G_), strict=True):
        assert_allclose(variables, reference, rtol=0, atol=error * np.abs(basis).sum(axis=0).max())
    assert_array_equal(model.feature_names_in_, frames[0].columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frames[1])


def test_models_of_a_path_know_the_columns(model, frames):
    for member in model.fit(*frames).path([5, 10]):
        assert member.transform(frames[0]).shape == (1797, 3)
        assert_array_equal(member.feature_names_in_, frames[0].columns)
    (member,) = RPCA(2, n_features=20).fit(frames[0]).path([10])
    assert member.transform(frames[0]).shape == (1797, 2)


def test_output_can_be_a_data_frame(model, frames):
    model.set_output(transform="pandas").fit(*frames)
    variables = model.transform(frames[0])
    assert list(variables.columns) == list(model.get_feature_names_out())
    assert list(variables.columns) == ["rcca_x0", "rcca_x1", "rcca_x2"]
    assert_array_equal(variables.index, frames[0].index)
    both = model.transform(*frames)
    pd.testing.assert_frame_equal(both[0], variables)
    pd.testing.assert_frame_equal(both[1], model.transform(None, frames[1]))
    assert list(both[1].columns) == ["rcca_y0", "rcca_y1", "rcca_y2"]
    assert_array_equal(both[1].index, frames[1].index)


def test_a_pipeline_passes_the_second_view_as_y(model, halves):
    X, Y = halves
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(pipeline.transform(X), clone(model).fit(scaled, Y).transform(scaled))
    assert pipeline.score(X, Y) == pytest.approx(model.score(scaled, Y))
    assert_array_equal(pipeline.fit_transform(X, Y), pipeline.transform(X))


def test_grid_search_chooses_by_the_test_correlations(model, halves):
    X, Y = halves
    search = GridSearchCV(model, {"reg": [1e-8, 1e3], "n_features": [10, 20]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"reg": 1e-8, "n_features": 20}


def test_seeds_of_all_kinds(halves):
    def draw(seed):
        return RCCA(2, n_features=10, random_state=seed).fit(*halves).correlations_

    assert_array_equal(draw(1), draw(1))
    assert_array_equal(draw(np.random.default_rng(1)), draw(np.random.default_rng(1)))
    assert_array_equal(draw(np.random.RandomState(1)), draw(np.random.RandomState(1)))
    assert np.abs(draw(None) - draw(None)).max() > 1e-6
