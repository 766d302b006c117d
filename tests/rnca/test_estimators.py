"""The scikit-learn contract, in full for every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
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

COSINES = [FourierFeatures, OrthogonalFeatures, FastfoodFeatures, QuasiMonteCarloFeatures]


class Halved(PrivilegedFeatures):
    """PrivilegedFeatures that need no `privileged`, which scikit-learn's checks do not give."""

    def fit(self, X, y=None, *, privileged=None):
        n = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, y, privileged=(np.arange(n) % 2)[:, None])


# Estimators in float64: rows one by one agree with all at once to 1e-7, beyond float32's digits.
@parametrize_with_checks(
    [
        *(kind(5, random_state=0) for kind in COSINES),
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


def test_fitting_again_forgets_the_first_fit(model, halves):
    X, Y = halves
    model.fit(X[:900, :10], Y[:900, :9]).fit(X, Y)
    assert_array_equal(model.F_, clone(model).fit(X, Y).F_)
    assert (model.n_features_in_, model.n_samples_) == (32, 1797)


@pytest.mark.parametrize("estimator", [RCCA(3), FeatureRidge(), RandomizedAutoencoder(3)])
def test_a_pickled_model_leaves_its_moments_behind(estimator, halves):
    again = pickle.loads(pickle.dumps(clone(estimator).fit(*halves)))
    assert not hasattr(again, "moments_")
    with pytest.raises(ValueError, match=r"path needs the moments of a fit .* Fit again"):
        list(again.path([5]))


@pytest.mark.parametrize(
    ("estimator", "views", "methods"),
    [
        (RCCA(), 2, "transform score component_correlations accumulate"),
        (RCCA(), 1, "path solve"),
        (RCCA(), 0, "get_feature_names_out"),
        (RandomizedAutoencoder(), 1, "transform inverse_transform error score fit_decoder"),
        (FeatureRidge(), 1, "predict"),
    ],
)
def test_an_unfitted_model_says_so(halves, estimator, views, methods):
    for method in methods.split():
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(estimator, method)(*halves[:views])


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda a: np.ascontiguousarray(a[::-1])[::-1],
        lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
        lambda a: np.ma.masked_array(a, mask=np.zeros_like(a, bool)),
        np.asmatrix,
        np.ndarray.tolist,
        lambda a: pd.DataFrame(a).astype("Float64"),
        lambda a: pd.DataFrame(a.astype(object)),
        csr_array,
        csc_array,
        *(
            lambda a, dtype=dtype: a.astype(dtype)
            for dtype in (">f8", "u1", "i4", "f2", "f4", np.longdouble, object, str)
        ),
    ],
    ids=str.split(
        "Fortran reversed mirrored masked matrix list nullable frame csr csc "
        "big-endian byte integer half single long object text"
    ),
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_the_same_numbers_in_another_form_give_the_same_model(halves, form):
    X, Y = (half[:60] for half in halves)
    for kind in ("fourier", "fastfood", "nystroem", "linear"):
        model = RCCA(3, feature_map=kind, n_features=10, random_state=0, dtype="float64", reg=1e-3)
        model.set_params(chunk_size=20)
        expected, model = clone(model).fit(X, Y), model.fit(form(X), form(Y))
        assert_allclose(model.correlations_, expected.correlations_, rtol=0, atol=1e-9)
        variables = model.transform(form(X))
        is_single = getattr(form(X), "dtype", None) == np.float32
        assert variables.dtype == (np.float32 if is_single else np.float64)
        assert_allclose(variables, expected.transform(X), atol=1e-6 if is_single else 1e-9)


@pytest.fixture
def frames(halves):
    return tuple(
        pd.DataFrame(half, columns=[f"{name}{i}" for i in range(32)], index=np.arange(1797) + 5)
        for half, name in zip(halves, "xy", strict=True)
    )


def test_models_of_a_path_know_the_columns(model, frames):
    (of_rpca,) = RPCA(2, n_features=20).fit(frames[0]).path([10])
    for member in (model.fit(*frames), *model.path([5, 10]), of_rpca):
        assert member.transform(frames[0]).shape == (1797, member.n_components)
        assert_array_equal(member.feature_names_in_, frames[0].columns)
        with pytest.raises(ValueError, match="feature names should match"):
            member.transform(frames[1])


def test_output_can_be_a_data_frame(model, frames):
    model.set_output(transform="pandas").fit(*frames)
    both = model.transform(*frames)
    for view, variables, frame in zip("xy", both, frames, strict=True):
        names = [f"rcca_{view}{i}" for i in range(3)]
        assert list(variables.columns) == list(model.get_feature_names_out(view=view)) == names
        assert_array_equal(variables.index, frame.index)
    pd.testing.assert_frame_equal(both[0], model.transform(frames[0]))
    pd.testing.assert_frame_equal(both[1], model.transform(None, frames[1]))


def test_a_pipeline_passes_the_second_view_as_y(model, halves):
    X, Y = halves
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(pipeline.transform(X), clone(model).fit(scaled, Y).transform(scaled))
    assert pipeline.score(X, Y) == pytest.approx(model.score(scaled, Y))
    assert_array_equal(pipeline.fit_transform(X, Y), pipeline.transform(X))


@pytest.mark.parametrize(
    "estimator", [*(kind(6) for kind in (*COSINES, NystroemFeatures)), RCCA(2, n_features=10)]
)
def test_seeds_make_draws(halves, estimator):
    def draw(seed):
        drawn = clone(estimator).set_params(random_state=seed)
        return drawn.fit(*halves).transform(halves[0][:300])

    assert_array_equal(draw(3), draw(3))
    assert_array_equal(draw(np.random.default_rng(3)), draw(np.random.default_rng(3)))
    assert_array_equal(draw(np.random.RandomState(3)), draw(np.random.RandomState(3)))
    generators = np.random.default_rng(3), np.random.RandomState(3)
    for one, other in ((3, 4), *zip(generators, generators, strict=True)):  # a generator moves on
        assert np.abs(draw(one) - draw(other)).max() > 0.1
    assert np.abs(draw(None) - draw(None)).max() > 0.1
