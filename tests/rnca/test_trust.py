"""A model answers as its last complete fit does, or refuses to answer."""

import copy
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rnca import (
    RCCA,
    RCCACV,
    RLDA,
    RPCA,
    FourierFeatures,
    LinearFeatures,
    Moments,
    NystroemFeatures,
    PrivilegedFeatures,
    RandomizedAutoencoder,
    RSpectralClustering,
    load_model,
    median_gamma,
    save_model,
)
from rnca.regression import FeatureRidge

SMALL = {"n_features": 20, "random_state": 0, "chunk_size": 100}
SVD = "rnca._core.method.leading_svd"


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, (600, 1))
    X = np.hstack([t**2, rng.normal(size=(600, 2))])
    Y = np.hstack([np.sin(3 * t), rng.normal(size=(600, 2))])
    return X, Y


def rcca(**given):
    return RCCA(2, **{**SMALL, "reg": 1e-3, **given})


def transformed(model, X):
    return model.transform(X)


# Each estimator, what it is fitted to besides X, its answer, and a late step of its fit.
ESTIMATORS = {
    "RCCA": (rcca(), "Y", transformed, SVD),
    "RCCACV": (
        RCCACV(2, sizes=(20,), regs=(1e-3,), cv=3, random_state=0, chunk_size=100),
        "Y",
        transformed,
        SVD,
    ),
    "RPCA": (RPCA(2, **SMALL), "", transformed, "rnca._core.method.leading_eigh"),
    "RLDA": (RLDA(**SMALL, reg=1e-3), "classes", lambda m, X: m.predict_proba(X), SVD),
    "RSpectralClustering": (
        RSpectralClustering(3, **SMALL),
        "",
        lambda m, X: np.column_stack([m.transform(X), m.predict(X)]),
        "rnca.clustering.KMeans.fit",
    ),
    "RandomizedAutoencoder": (
        RandomizedAutoencoder(2, **SMALL, n_decoder_features=20, reg=1e-3),
        "",
        lambda m, X: m.inverse_transform(m.transform(X)),
        "rnca.regression.whiten",
    ),
    "PrivilegedFeatures": (
        PrivilegedFeatures(**SMALL, reg=1e-3),
        "privileged",
        transformed,
        "rnca.lupi.canonical_bases",
    ),
    "FeatureRidge": (
        FeatureRidge(**SMALL, reg=1e-3, linear_part=True),
        "Y",
        lambda m, X: m.predict(X),
        "rnca.regression.whiten",
    ),
    "NystroemFeatures": (
        NystroemFeatures(20, whiten=True, random_state=0),
        "",
        transformed,
        "rnca.features.nystroem.scipy.linalg.cholesky",
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:n_clusters=3")


def fitted_to(model, X, Y, given):
    classes = np.digitize(Y[:, 0], [-0.5, 0.5])
    if given == "privileged":
        return model.fit(X, classes, privileged=Y[:, 1:].round())
    return model.fit(X, *{"": [], "Y": [Y], "classes": [classes]}[given])


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


class Interrupted:
    """A table whose late rows cannot be read: the user presses Ctrl-C."""

    def __init__(self, array, rows=slice(300, 400)):
        self.array, self.shape, self.rows = array, array.shape, rows

    def __getitem__(self, rows):
        return interrupted() if rows == self.rows else self.array[rows]


def assert_failure_changes_nothing(model, fit, fail, answer):
    """``fit`` is None if there is no model yet."""
    if fit is not None:
        expected = answer(fit(model))
    before = dict(vars(model))
    with pytest.raises((OSError, ValueError, KeyboardInterrupt)):
        fail(model)
    # Moments and factors of the last pass may be dropped early: only `path` reads them.
    assert {**before, **vars(model)}.keys() == before.keys()
    assert all(before[key] is value for key, value in vars(model).items())
    if fit is not None:
        assert_array_equal(answer(model), expected)
    else:
        with pytest.raises(NotFittedError):
            answer(model)


@pytest.mark.parametrize("first", [True, False], ids=["no model yet", "after a fit"])
@pytest.mark.parametrize("failure", ["NaN", "Ctrl-C in the pass", "Ctrl-C in the solution"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_failed_fit_of_any_estimator_changes_nothing(views, monkeypatch, name, failure, first):
    (X, Y), (model, given, answer, step) = views, ESTIMATORS[name]
    other = 7 - 2 * X
    if failure == "NaN":
        other[500, 1] = np.nan
    elif failure == "Ctrl-C in the pass":
        # A map alone reads all rows at once, and after that those it draws from.
        whole = isinstance(model, NystroemFeatures)
        other = Interrupted(other, slice(0, 600) if whole else slice(300, 400))

    def fail(model):
        with monkeypatch.context() as patch:
            if failure == "Ctrl-C in the solution":
                patch.setattr(step, interrupted)
            fitted_to(model, other, Y, given)

    def fit(model):
        return fitted_to(model, X, Y, given)

    assert_failure_changes_nothing(
        clone(model), None if first else fit, fail, lambda model: answer(model, X)
    )


def failing_stream(X, Y):
    for start in range(0, 400, 100):
        yield X[start : start + 100], Y[start : start + 100]
    raise OSError("the disk is gone")


@pytest.mark.parametrize("first", [True, False], ids=["no model yet", "after a fit"])
@pytest.mark.parametrize(
    "fail",
    [
        lambda model, X, Y: model.fit_chunks(failing_stream(-X, Y)),
        lambda model, X, Y: model.draw(3 - X, Y[:-1]),
        lambda model, X, Y: model.fit(3 - X[:2], Y[:2]),
    ],
    ids=["stream", "draw", "n_components"],
)
def test_a_failed_step_of_rcca_changes_nothing(views, fail, first):
    def fit(model):
        return model.fit(*views)

    assert_failure_changes_nothing(
        rcca(),
        None if first else fit,
        lambda model: fail(model, *views),
        lambda model: np.hstack(model.transform(*views)),
    )


def test_a_model_drawn_again_is_not_fitted(views):
    model = rcca().fit(*views).draw(views[0] + 1, views[1])
    with pytest.raises(NotFittedError):
        model.score(*views)
    model = RPCA(2, n_features=20).fit(views[0]).draw(views[0])
    with pytest.raises(NotFittedError):
        model.transform(views[0])


def test_an_interrupted_solve_leaves_moments_and_model(views, monkeypatch):
    model = rcca().fit(*views)
    expected = model.transform(*views)
    before = copy.deepcopy(model.moments_.products)
    with monkeypatch.context() as patch:
        patch.setattr(SVD, interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.solve(model.moments_)
    for pair, product in before.items():
        assert_array_equal(model.moments_.products[pair], product)
    assert_array_equal(model.transform(*views), expected)
    (again,) = model.path([20])
    assert_allclose(again.correlations_, model.correlations_, atol=1e-12)


GROWING = [(rcca(), 2), (RPCA(2, **SMALL), 1)]


@pytest.mark.parametrize(("model", "count"), GROWING, ids=["RCCA", "RPCA"])
def test_a_fit_that_grows_leaves_the_moments_of_others(views, model, count):
    first, second = (
        [view[rows] for view in views[:count]] for rows in (slice(300), slice(300, 600))
    )
    model = clone(model).fit(*first)
    duplicate, kept = copy.copy(model), model.moments_
    other = clone(model).draw(*first).solve(kept)
    expected = clone(model).draw(*first)
    expected.solve(expected.accumulate(*views[:count]))
    for grown in (model, other):
        grown.partial_fit(*second)
        assert (grown.moments_.n, grown.n_samples_) == (600, 600)
        assert_allclose(grown.transform(views[0]), expected.transform(views[0]), atol=1e-4)
    assert (kept.n, duplicate.moments_.n, duplicate.path([20])[0].n_samples_) == (300, 300, 300)
    assert_array_equal(kept.products[0, 0], clone(model).fit(*first).moments_.products[0, 0])


@pytest.mark.parametrize(("model", "count"), GROWING, ids=["RCCA", "RPCA"])
@pytest.mark.parametrize(
    "step", ["_core.moments._add_shifted", "_core.moments._plus_product", "solution"]
)
def test_an_interrupted_partial_fit_changes_nothing(views, monkeypatch, model, count, step):
    first, second = (
        [view[rows] for view in views[:count]] for rows in (slice(300), slice(300, 600))
    )
    model = clone(model).fit(*first)
    before, xx = dict(vars(model)), model.moments_.products[0, 0].copy()
    solver = "_core.method.leading_svd" if count == 2 else "_core.method.leading_eigh"
    with monkeypatch.context() as patch:
        patch.setattr(f"rnca.{solver if step == 'solution' else step}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(*second)
    assert vars(model) == before
    assert_array_equal(model.moments_.products[0, 0], xx)
    assert model.partial_fit(*second).n_samples_ == 600


def test_asking_for_an_attribute_never_computes(views, monkeypatch):
    model = rcca().partial_fit(*views)
    monkeypatch.setattr(SVD, lambda *args: pytest.fail("computed"))
    check_is_fitted(model)
    assert model.F_.shape == (20, 2)
    drawn = rcca().draw(*views)
    drawn.moments_ = model.moments_
    assert not hasattr(drawn, "F_")
    with pytest.raises(NotFittedError):
        check_is_fitted(drawn)


def test_a_path_without_regs_has_that_of_the_fit(views):
    model = rcca(reg=(1e-3, 1e-2)).fit(*views)
    (member,) = model.set_params(reg=10.0).path([20])
    assert member.reg == model.reg_ == (1e-3, 1e-2)
    assert_allclose(member.correlations_, model.correlations_, atol=1e-12)


@pytest.mark.parametrize("base", [RCCA, RPCA])
def test_a_subclass_that_hands_on_its_parameters_has_a_path(views, base):
    class Narrow(base):
        def __init__(self, n_components=2, **parameters):
            super().__init__(n_components, **parameters)

    model = Narrow(**SMALL, feature_map="nystroem").fit(*views)
    (member,) = model.path([10])
    assert member.feature_map == "nystroem"
    assert member.transform(views[0]).shape == (600, 2)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "NystroemFeatures"])
def test_chunks_and_memory_maps_change_nothing_beyond_rounding(views, tmp_path, name):
    (X, Y), (model, given, answer, _) = views, ESTIMATORS[name]
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for dtype, atol in (("float64", 1e-8), ("float32", 1e-3)):
        one, other = (
            answer(fitted_to(clone(model).set_params(chunk_size=size, dtype=dtype), x, Y, given), X)
            for size, x in ((600, X), (33, mapped))
        )
        assert_allclose(other, one, atol=atol)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_any_estimator_answers_alike_when_saved_and_loaded(views, tmp_path, name):
    (X, Y), (model, given, answer, _) = views, ESTIMATORS[name]
    fitted = fitted_to(clone(model), X, Y, given)
    save_model(fitted, tmp_path / "model.npz")
    assert_array_equal(answer(load_model(tmp_path / "model.npz"), X), answer(fitted, X))


def swapped(frame):
    return frame[frame.columns[::-1]]


@pytest.mark.parametrize(
    "use",
    [
        lambda model, x, y: model.score(swapped(x), y),
        lambda model, x, y: model.score(x, swapped(y)),
        lambda model, x, y: model.component_correlations(x, swapped(y)),
        lambda model, x, y: model.transform(None, swapped(y)),
        lambda model, x, y: model.transform(x, swapped(y)),
        lambda model, x, y: model.accumulate(x, swapped(y)),
        lambda model, x, y: model.accumulate(swapped(x), y),
        lambda model, x, y: model.path([10])[0].score(x, swapped(y)),
        lambda model, x, y: model.fit_chunks([(x, y), (x, swapped(y))]),
        lambda model, x, y: model.fit_chunks([(x, y)]).transform(None, swapped(y)),
        lambda model, x, y: FeatureRidge(n_features=20).fit(x, y).accumulate(swapped(x), y),
    ],
)
def test_columns_in_another_order_are_refused(views, use):
    x, y = (
        pd.DataFrame(view, columns=[f"{name}{i}" for i in range(3)])
        for view, name in zip(views, "xy", strict=True)
    )
    model = rcca().fit(x, y)
    with pytest.raises(ValueError, match=r"feature names should match|is 'y2', but the|is 'x2'"):
        use(model, x, y)


def noise(n, columns=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, columns)), rng.normal(size=(n, columns))


# Wachter's edge is where correlations of independent views end as n grows: within 10 % at m = 50.
@pytest.mark.parametrize(
    ("n", "m", "reg", "warning"),
    [
        (800, 400, 1e-8, r"n_samples=800 .* reg=1e-08.*1\.00.*docs/own-data"),
        (80, 100, 1e-8, "raise reg"),
        (300, 50, 0.0, "is small for"),
        (900, 50, 0.0, "is small for"),
        (900, 50, 1e-2, "is small for"),
        (900, 50, 1.0, None),
        (1100, 50, 1e-8, None),
        (300, 50, 10.0, None),
    ],
)
def test_the_noise_level_is_that_of_independent_views(n, m, reg, warning):
    model = RCCA(1, n_features=m, gamma=1.0, reg=reg, random_state=0)
    with pytest.warns(UserWarning, match=warning) if warning else warnings.catch_warnings():
        warnings.simplefilter("always" if warning else "error")
        model.fit(*noise(n))
    level = model.conditioning_["noise_level"]
    assert (level > 0.43) == bool(warning)
    assert model.correlations_[0] < 1.1 * level
    if reg < 1e-6:
        assert model.correlations_[0] > 0.9 * level


@pytest.mark.parametrize(
    ("kind", "reg"), [("fourier", 1e-3), ("fourier", 1e-8), ("nystroem", 1e-8), ("linear", 0.0)]
)
def test_a_permutation_test_on_the_rows_of_the_fit_warns(kind, reg):
    X, Y = noise(2000)
    model = RCCA(3, feature_map=kind, n_features=50, reg=reg, random_state=0)
    model.fit(X[:1000], Y[:1000])
    for rows, is_of_fit in (
        (slice(1000), True),
        (slice(999, None, -1), True),
        (slice(1000, 2000), False),
        (slice(500), False),
    ):
        warned = pytest.warns(UserWarning, match="1000 rows seem to be those of the fit")
        with warned if is_of_fit else warnings.catch_warnings():
            model.permutation_test(X[rows], Y[rows], 19, random_state=0)


def uneven(scales, rows=1000):
    return np.random.default_rng(0).normal(size=(rows, len(scales))) * scales


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (uneven([1, 1e4, 1, 1, 1]), "X .*: 4 of 5 .* column 1 alone 100.0%.*StandardScaler"),
        (uneven([1, 1, 1, 100]), "3 of 4"),
        (uneven([100, 1]), "1 of 2"),
        (uneven(10.0 ** np.arange(20)), "18 of 20"),
        (uneven([1, 10, 10, 1]), None),
        (uneven([1, 1e-6, 1]), None),
        (uneven([5]), None),
        (np.vstack([uneven([1, 1, 1]), [[1e9, 0, 0]]]), None),
        (np.random.default_rng(0).poisson(1 / np.arange(1, 500), (1000, 499)), None),
        (np.eye(400)[np.random.default_rng(0).geometric(0.05, 3000)], None),
    ],
)
def test_columns_that_the_median_width_does_not_see_are_told(data, warning):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RPCA(1, n_features=10, random_state=0).fit(data)
        RPCA(1, n_features=10, gamma=1.0, dtype="float64").fit(data[:10] / np.abs(data).max())
    assert len(caught) == bool(warning)
    if warning:
        assert re.search(warning, str(caught[0].message))
        assert caught[0].filename == __file__


def test_the_scales_of_the_second_view_count_too():
    with pytest.warns(UserWarning, match="columns of y differ much in scale"):
        rcca().fit(uneven([1, 1, 1]), uneven([1, 1, 1e4]))


def test_pixels_are_no_columns_of_uneven_scale(halves):
    for view in (*halves, np.hstack(halves)):  # a warning would be an error
        assert median_gamma(view, random_state=0) > 0


def nearly_equal_columns(spread, noise=0.1):
    rng = np.random.default_rng(0)
    a, b, c, d = rng.normal(size=(4, 2000))
    return np.column_stack([a, a + spread * b]), np.column_stack([b + noise * c, d])


def test_ill_conditioning_warns_where_it_matters():
    # A correlation near 1 would come out above 1 with some BLAS kernels, which is refused.
    with pytest.warns(UserWarning, match=r"ill-conditioned with reg=0: .* off by .*docs/own-data"):
        RCCA(1, feature_map="linear", reg=0).fit(*nearly_equal_columns(1e-7, noise=1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCCA(1, feature_map="linear", reg=0).fit(*nearly_equal_columns(1e-5))
    # Linear features are float64 by default: float32 would lose the direction.
    assert_allclose(model.correlations_, 1 / np.sqrt(1.01), atol=0.005)
    narrow = RCCA(1, feature_map=LinearFeatures(dtype="float32"), reg=1e-20)
    with pytest.warns(UserWarning, match="ill-conditioned"):
        narrow.fit(*nearly_equal_columns(1e-6))


KINDS = ["fourier", "linear", "fastfood", "nystroem", FourierFeatures(20, random_state=7)]


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        *((estimator, kind) for estimator in (RCCA, RPCA, RLDA) for kind in KINDS),
        (RCCA, FourierFeatures(20, gamma=0.5)),
        (RCCA, LinearFeatures()),
        (RCCA, NystroemFeatures(landmarks=np.arange(60.0).reshape(20, 3) / 20)),
        (RCCA, ("nystroem", LinearFeatures())),
        (RPCA, NystroemFeatures(20, whiten=True)),
    ],
)
def test_models_of_a_path_describe_themselves_and_equal_separate_fits(views, estimator, kind):
    class Own(estimator):
        """A subclass."""

    X, Y = views
    given = {RCCA: (X, Y), RPCA: (X,), RLDA: (X, np.digitize(Y[:, 0], [-0.5, 0.5]))}[estimator]
    own = Own(2, feature_map=kind, n_features=20, random_state=0, dtype="float64").fit(*given)

    def maps(model):
        return model.rcca_._maps[:1] if estimator is RLDA else model._maps

    for lost in (0, 1, 12):
        sizes = [max(2, fitted.n_features_out - lost) for fitted in maps(own)]
        size = tuple(sizes) if estimator is RCCA else sizes[0]
        (member,) = own.path([size], *([] if estimator is RPCA else [[1e-2]]))
        assert type(member) is Own
        again = clone(member).fit(*given)
        assert [fitted.n_features_out for fitted in maps(again)] == sizes
        assert_allclose(again.transform(X), member.transform(X), atol=1e-6)
        for name, value in vars(member).items():
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                assert_allclose(getattr(again, name), value, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_keep_the_moments(views, duplicate):
    model = duplicate(rcca().fit(*views))
    assert isinstance(model.moments_, Moments)
    assert model.path([10])[0].F_.shape == (10, 2)


def test_a_single_column_of_targets_may_be_flat(views):
    X, Y = views
    flat = rcca(feature_map=("fourier", "linear")).set_params(n_components=1).fit(X, Y[:, 0])
    column = clone(flat).fit(X, Y[:, :1])
    assert_array_equal(flat.correlations_, column.correlations_)
    assert flat.transform(None, Y[:, 0]).shape == (600, 1)
    assert flat.score(X, Y[:, 0]) == column.score(X, Y[:, :1])
    assert_array_equal(clone(flat).fit_transform(X, Y[:, 0]), flat.transform(X))
