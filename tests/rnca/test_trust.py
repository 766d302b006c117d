"""A model answers as its last complete fit does, or refuses to answer."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rnca import (
    RCCA,
    RLDA,
    RPCA,
    FourierFeatures,
    LinearFeatures,
    Moments,
    NystroemFeatures,
    PrivilegedFeatures,
    RandomizedAutoencoder,
    RSpectralClustering,
    rdc_matrix,
)
from rnca._core.rows import View
from rnca.regression import FeatureRidge


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, (600, 1))
    X = np.hstack([t**2, rng.normal(size=(600, 2))])
    Y = np.hstack([np.sin(3 * t), rng.normal(size=(600, 2))])
    return X, Y


def rcca(**given):
    return RCCA(2, **{"n_features": 20, "reg": 1e-3, "random_state": 0, "chunk_size": 100, **given})


def failing_stream(X, Y):
    for start in range(0, 400, 100):
        yield X[start : start + 100], Y[start : start + 100]
    raise OSError("the disk is gone")


def late_nan(X):
    spoiled = X.copy()
    spoiled[500, 1] = np.nan
    return spoiled


class Interrupted:
    """A table whose late rows cannot be read: the user presses Ctrl-C."""

    def __init__(self, array, rows=slice(300, 400)):
        self.array, self.shape, self.rows = array, array.shape, rows

    def __getitem__(self, rows):
        if rows == self.rows:
            raise KeyboardInterrupt
        return self.array[rows]


FAILURES = {
    "stream": lambda model, X, Y: model.fit_chunks(failing_stream(-X, Y)),
    "NaN": lambda model, X, Y: model.fit(late_nan(3 - X), Y),
    "Ctrl-C": lambda model, X, Y: model.fit(Interrupted(3 - X), Y),
    "draw": lambda model, X, Y: model.draw(3 - X, Y[:-1]),
    "n_components": lambda model, X, Y: model.set_params(n_components=21).fit(3 - X, Y),
}


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_failed_fit_leaves_the_old_model(views, fail):
    model = rcca().fit(*views)
    expected, score = model.transform(*views), model.score(*views)
    with pytest.raises((OSError, ValueError, KeyboardInterrupt)):
        fail(model, *views)
    assert_array_equal(model.transform(*views), expected)
    assert model.score(*views) == score


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_failed_first_fit_leaves_none(views, fail):
    model = rcca()
    with pytest.raises((OSError, ValueError, KeyboardInterrupt)):
        fail(model, *views)
    with pytest.raises(NotFittedError):
        model.transform(views[0])


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
    before = {name: getattr(model.moments_, name).copy() for name in ("xx", "yy", "xy")}

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rnca._core.whitening.leading_svd", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.solve(model.moments_)
    for name, array in before.items():
        assert_array_equal(getattr(model.moments_, name), array)
    assert_array_equal(model.transform(*views), expected)
    (again,) = model.path([20])
    assert_allclose(again.correlations_, model.correlations_, atol=1e-12)


SMALL = {"n_features": 20, "random_state": 0, "chunk_size": 100}
# Each estimator, what it is fitted to besides X, its answer, and a late step of its fit.
ESTIMATORS = {
    "RCCA": (rcca(), "Y", lambda m, X: m.transform(X), "rnca._core.whitening.leading_svd"),
    "RPCA": (RPCA(2, **SMALL), "", lambda m, X: m.transform(X), "rnca.pca.leading_eigh"),
    "RLDA": (
        RLDA(**SMALL, reg=1e-3),
        "classes",
        lambda m, X: m.predict_proba(X),
        "rnca._core.whitening.leading_svd",
    ),
    "RSpectralClustering": (
        RSpectralClustering(3, **SMALL),
        "",
        lambda m, X: np.column_stack([m.transform(X), m.predict(X)]),
        "rnca.clustering.KMeans.fit",
    ),
    "RandomizedAutoencoder": (
        RandomizedAutoencoder(2, **SMALL, n_decoder_features=20),
        "",
        lambda m, X: m.inverse_transform(m.transform(X)),
        "rnca.regression.Factor",
    ),
    "PrivilegedFeatures": (
        PrivilegedFeatures(**SMALL, reg=1e-3),
        "privileged",
        lambda m, X: m.transform(X),
        "rnca.lupi.canonical_bases",
    ),
    "FeatureRidge": (
        FeatureRidge(**SMALL),
        "Y",
        lambda m, X: m.predict(X),
        "rnca.regression.Factor",
    ),
    "NystroemFeatures": (
        NystroemFeatures(20, whiten=True, random_state=0),
        "",
        lambda m, X: m.transform(X),
        "rnca.features.nystroem.scipy.linalg.cholesky",
    ),
}


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


def fitted_to(model, X, Y, given):
    classes = np.digitize(Y[:, 0], [-0.5, 0.5])
    if given == "privileged":
        return model.fit(X, classes, privileged=Y[:, 1:].round())
    return model.fit(X, *{"": [], "Y": [Y], "classes": [classes]}[given])


@pytest.mark.filterwarnings("ignore:n_clusters=3")
@pytest.mark.parametrize("first", [True, False], ids=["no model yet", "after a fit"])
@pytest.mark.parametrize("failure", ["NaN", "Ctrl-C in the pass", "Ctrl-C in the solution"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_failed_fit_of_any_estimator_changes_nothing(views, monkeypatch, name, failure, first):
    (X, Y), (model, given, answer, step) = views, ESTIMATORS[name]
    model = clone(model)
    if not first:
        expected = answer(fitted_to(model, X, Y, given), X)
    before = dict(vars(model))
    other = 7 - 2 * X
    if failure == "NaN":
        other = late_nan(other)
    elif failure == "Ctrl-C in the pass":
        # A map alone reads all rows at once, and after that those it draws from.
        whole = isinstance(model, NystroemFeatures)
        other = Interrupted(other, slice(0, 600) if whole else slice(300, 400))
    else:
        monkeypatch.setattr(step, interrupted)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        fitted_to(model, other, Y, given)
    monkeypatch.undo()
    # Moments and factors of the last pass may be dropped early: only `path` reads them.
    assert {**before, **vars(model)}.keys() == before.keys()
    assert all(before[key] is value for key, value in vars(model).items())
    if first:
        with pytest.raises(NotFittedError):
            answer(model, X)
    else:
        assert_array_equal(answer(model, X), expected)


@pytest.fixture
def frames(views):
    return tuple(
        pd.DataFrame(view, columns=[f"{name}{i}" for i in range(3)])
        for view, name in zip(views, "xy", strict=True)
    )


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
    ],
)
def test_columns_in_another_order_are_refused(frames, use):
    x, y = frames
    model = rcca().fit(x, y)
    with pytest.raises(ValueError, match=r"feature names should match|is 'y2', but the|is 'x2'"):
        use(model, x, y)


def test_other_estimators_refuse_columns_in_another_order(frames):
    x, y = frames
    ridge = FeatureRidge(n_features=20, random_state=0).fit(x, y)
    for use in (ridge.predict, RPCA(2, n_features=20).fit(x).transform):
        with pytest.raises(ValueError, match="feature names should match"):
            use(swapped(x))
    with pytest.raises(ValueError, match="is 'x2', but the map was fitted to 'x0'"):
        ridge.accumulate(swapped(x), y)
    streamed = rcca().fit_chunks([(x, y)])
    with pytest.raises(ValueError, match="is 'y2', but the map was fitted to 'y0'"):
        streamed.transform(None, swapped(y))


def overfitting(record):
    return [w for w in record if "is small for" in str(w.message)]


def noise(n, columns=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, columns)), rng.normal(size=(n, columns))


def test_noise_with_too_few_rows_warns():
    with pytest.warns(UserWarning, match=r"n_samples=800 .* reg=1e-08.*1\.00.*docs/own-data"):
        model = RCCA(n_components=5, n_features=400, random_state=0).fit(*noise(800))
    assert model.correlations_[-1] > 0.99
    with pytest.warns(UserWarning, match="raise reg"):
        RCCA(n_components=5, n_features=100, random_state=0).fit(*noise(80))


# Wachter's edge is where correlations of independent views end as n grows: within 10 % at m = 50.
@pytest.mark.parametrize(("n", "reg"), [(300, 0.0), (900, 0.0), (900, 1e-2), (900, 1.0)])
def test_the_noise_level_is_that_of_independent_views(n, reg):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model = RCCA(1, n_features=50, gamma=1.0, reg=reg, random_state=0).fit(*noise(n))
    level = model.conditioning_["noise_level"]
    if reg == 0:
        assert model.correlations_[0] == pytest.approx(level, rel=0.1)
    else:
        assert model.correlations_[0] < 1.1 * level
    assert bool(overfitting(record)) == (level > 0.43)


def test_enough_rows_or_regularisation_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCCA(2, n_features=50, random_state=0).fit(*noise(1100))
        RCCA(2, n_features=50, reg=10.0, random_state=0).fit(*noise(300))


def nearly_equal_columns(spread):
    rng = np.random.default_rng(0)
    a, b, c, d = rng.normal(size=(4, 2000))
    return np.column_stack([a, a + spread * b]), np.column_stack([b + 0.1 * c, d])


def test_ill_conditioning_warns_where_it_matters():
    with pytest.warns(UserWarning, match=r"ill-conditioned with reg=0: .* off by .*docs/own-data"):
        RCCA(1, feature_map="linear", reg=0).fit(*nearly_equal_columns(1e-7))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCCA(1, feature_map="linear", reg=0).fit(*nearly_equal_columns(1e-5))
    # Linear features are float64 by default: float32 would lose the direction.
    assert_allclose(model.correlations_, 1 / np.sqrt(1.01), atol=0.005)
    narrow = RCCA(1, feature_map=LinearFeatures(dtype="float32"), reg=1e-20)
    with pytest.warns(UserWarning, match="ill-conditioned"):
        narrow.fit(*nearly_equal_columns(1e-6))


class Mine(RCCA):
    """A subclass."""


@pytest.mark.parametrize(
    "kind",
    [
        "fourier",
        "linear",
        FourierFeatures(20, gamma=0.5),
        FourierFeatures(20, random_state=7),
        LinearFeatures(),
        NystroemFeatures(landmarks=np.arange(60.0).reshape(20, 3) / 20),
        ("nystroem", LinearFeatures()),
    ],
    ids=str,
)
def test_models_of_a_path_describe_themselves(views, kind):
    model = Mine(2, feature_map=kind, n_features=20, reg=1e-3, random_state=0).fit(*views)
    sizes = [fitted.n_features_out - 1 for fitted in (model.map_x_, model.map_y_)]
    (member,) = model.path([tuple(sizes)], [1e-2])
    assert type(member) is Mine
    again = clone(member).fit(*views)
    assert (again.map_x_.n_features_out, again.map_y_.n_features_out) == tuple(sizes)
    assert_allclose(again.correlations_, member.correlations_, atol=1e-9)


def test_models_of_a_path_of_rpca_describe_themselves(views):
    model = RPCA(2, feature_map=FourierFeatures(20), random_state=0).fit(views[0])
    (member,) = model.path([10])
    again = clone(member).fit(views[0])
    assert_allclose(again.explained_variance_, member.explained_variance_, rtol=1e-6)


@pytest.mark.parametrize(
    "kind", ["fourier", "linear", FourierFeatures(20, random_state=7)], ids=str
)
def test_models_of_a_path_of_rlda_describe_themselves(views, kind):
    class Own(RLDA):
        """A subclass."""

    X, classes = views[0], np.digitize(views[1][:, 0], [-0.5, 0.5])
    model = Own(feature_map=kind, n_features=20, random_state=0, dtype="float64").fit(X, classes)
    m = model.rcca_.map_x_.n_features_out - 1
    (member,) = model.path([m], [1e-2])
    assert type(member) is Own
    again = clone(member).fit(X, classes)
    assert again.rcca_.map_x_.n_features_out == m
    assert_allclose(again.predict_proba(X), member.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_keep_the_moments(views, duplicate):
    model = duplicate(rcca().fit(*views))
    assert isinstance(model.moments_, Moments)
    assert model.path([10])[0].F_.shape == (10, 2)


class Counting:
    """A table that counts its reads."""

    def __init__(self, array):
        self.array, self.shape, self.reads = array, array.shape, 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.reads += 1
        return self.array[rows]


@pytest.mark.parametrize(("estimator", "views_read"), [(RCCA, 2), (RPCA, 1)])
def test_too_many_components_are_refused_before_the_pass(views, estimator, views_read):
    tables = [Counting(np.repeat(view, 20, axis=0)) for view in views][:views_read]
    with pytest.raises(ValueError, match=r"n_components=21: with 20 .*at most 20"):
        estimator(21, n_features=20).fit(*tables)
    drawing = tables[0].reads
    estimator(2, n_features=20, chunk_size=100).fit(*tables)
    assert tables[0].reads > drawing + 120


def test_a_bad_regulariser_is_refused_before_any_row_is_read(views):
    tables = [Counting(view) for view in views]
    with pytest.raises(ValueError, match=r"reg=-1.0: the regulariser must be"):
        RCCA(2, n_features=20, reg=-1.0).fit(*tables)
    assert tables[0].reads == tables[1].reads == 0


def test_a_table_on_disk_is_read_by_slices():
    table = Counting(np.random.default_rng(0).normal(size=(50_000, 2)))
    NystroemFeatures(100, random_state=0).fit_view(View(table))
    # The mean and both rows of the pairs take about 4,000 rows each, mostly 64 or fewer apart: 13
    # slices of 4,096 rows and some 30 gaps. The 100 landmarks are read one by one at most.
    assert table.reads <= 3 * (13 + 50) + 100


def test_one_view_takes_no_pairs(views):
    for given in (
        {"n_features": (20, 30)},
        {"gamma": (1.0, 2.0)},
        {"feature_map": ("linear",) * 2},
    ):
        with pytest.raises(ValueError, match="give one value, not a pair"):
            RPCA(2, **given).fit(views[0])


def test_a_zero_dimensional_reg_is_a_number(views):
    expected = rcca(reg=1e-2).fit(*views).correlations_
    assert_array_equal(rcca(reg=np.array(1e-2)).fit(*views).correlations_, expected)
    with pytest.raises(ValueError, match=r"reg=array\(-1.\)"):
        rcca(reg=np.array(-1.0)).fit(*views)


def test_a_single_column_of_targets_may_be_flat(views):
    X, Y = views
    flat = rcca(feature_map=("fourier", "linear")).set_params(n_components=1).fit(X, Y[:, 0])
    column = clone(flat).fit(X, Y[:, :1])
    assert_array_equal(flat.correlations_, column.correlations_)
    assert flat.transform(None, Y[:, 0]).shape == (600, 1)
    assert flat.score(X, Y[:, 0]) == column.score(X, Y[:, :1])
    assert_array_equal(clone(flat).fit_transform(X, Y[:, 0]), flat.transform(X))


class Frame(Counting):
    """A data frame without an index, as those of polars are."""

    def __init__(self, columns):
        super().__init__(np.column_stack(list(columns.values())))
        self.columns = list(columns)


def test_dependence_matrices_of_frames(views):
    expected = rdc_matrix(views[0], random_state=0)
    found = rdc_matrix(Frame(dict(zip("abc", views[0].T, strict=True))), random_state=0)
    assert found.columns == ["a", "b", "c"]
    assert_array_equal(found.array, expected)
    frame = rdc_matrix(pd.DataFrame(views[0], columns=list("abc")), random_state=0)
    assert list(frame.index) == list(frame.columns) == ["a", "b", "c"]
    assert_array_equal(frame, expected)


def test_parameters_set_after_the_fit_change_nothing_fitted(views):
    X = views[0]
    given = {"n_features": 20, "n_decoder_features": 20, "random_state": 0}
    model = RandomizedAutoencoder(2, **given).fit(X)
    error, factors = model.error(X), model.transform(X)
    model.set_params(n_components=1)
    assert model.error(X) == error
    assert_array_equal(model.transform(X), factors)
    assert model.fit_decoder(X).transform(X).shape == (600, 1)


def resident_file_bytes():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("RssFile")]
    return 1024 * int(line.split()[1])


def test_pages_of_a_memory_map_are_released(tmp_path):
    pytest.importorskip("resource")
    try:
        resident_file_bytes()
    except (OSError, ValueError):
        pytest.skip("no /proc/self/status with RssFile here")
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(200_000, 40)).astype(np.float32))
    table = np.load(path, mmap_mode="r")  # 32 MB
    model = RCCA(2, n_features=10, reg=1e-3, random_state=0)
    model.fit(table[:4096, :20], table[:4096, 20:])
    before = resident_file_bytes()
    model.fit(table[:, :20], table[:, 20:]).score(table[:, :20], table[:, 20:])
    assert resident_file_bytes() - before < 4e6
