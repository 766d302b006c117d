"""Bad input: the message names the value, the rule it broke and the remedy."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

from rnca import (
    RCCA,
    RCCACV,
    RLDA,
    RPCA,
    FastfoodFeatures,
    FeatureRidge,
    FourierFeatures,
    LinearFeatures,
    Moments,
    NystroemFeatures,
    PrivilegedFeatures,
    QuasiMonteCarloFeatures,
    RSpectralClustering,
    median_gamma,
    rdc,
)

X = np.random.default_rng(0).normal(size=(60, 4))
Y = X[:, :3] + np.random.default_rng(1).normal(size=(60, 3))
KERNELS = ["fourier", "nystroem", "whitened", "orthogonal", "fastfood", "qmc"]
SINGLE = [
    FourierFeatures(5),
    NystroemFeatures(5),
    LinearFeatures(),
    RPCA(2, n_features=5),
    RPCA(2, feature_map="nystroem", n_features=5),
    RPCA(2, feature_map="linear"),
    RSpectralClustering(2, n_features=5),
]

# Clusters of noise have no eigengap.
pytestmark = pytest.mark.filterwarnings("ignore:n_clusters")


def rcca(**given):
    return RCCA(**{"n_components": 2, "n_features": 10, "random_state": 0, **given})


def rpca(**given):
    return RPCA(**{"n_components": 1, "n_features": 5, "random_state": 0, **given})


def linear(**given):
    return rcca(feature_map="linear", **{"reg": 0.0, "dtype": "float64", **given})


@cache
def fitted():
    return rcca().fit(X, Y)


def spoiled(array, value, row=41, column=2):
    array = array.copy()
    array[row, column] = value
    return array


def refused(call, *words, error=ValueError):
    """Assert that ``call`` fails with a message that has all the words."""
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("estimator", SINGLE, ids=str)
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_non_finite_entries_in_one_view(estimator, value, name):
    place = f"X contains {name} at row 41, column 2"
    refused(lambda: estimator.fit(spoiled(X, value)), place, "Drop or impute")
    fitted = estimator.fit(X)
    refused(lambda: fitted.transform(spoiled(X, value)), place, "Drop or impute")


@pytest.mark.parametrize("kind", ["fourier", "nystroem", "linear"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_non_finite_entries_in_two_views(kind, dtype, value, name):
    x, y = X.astype(dtype), Y.astype(dtype)
    model = rcca(feature_map=kind, chunk_size=16)
    stream = [(x[:30], y[:30]), (x[30:], spoiled(y, value)[30:])]
    refused(lambda: model.fit_chunks(stream), f"y of chunk 1 contains {name} at row 11, column 2")
    for use in (model.fit, model.fit(x, y).transform, model.score):
        refused(lambda use=use: use(spoiled(x, value), y), f"X contains {name} at row 41, column 2")
        refused(lambda use=use: use(x, spoiled(y, value)), f"y contains {name} at row 41, column 2")


@pytest.mark.parametrize("estimator", [*SINGLE, linear(), rcca(gamma=1.0)], ids=str)
def test_non_finite_entries_beyond_the_pilot_rows(estimator):
    # The pilot mean of a long view reads a sample of its rows; the pass must check the rest.
    long = np.tile(X, (100, 1))
    bad = spoiled(long, np.nan, row=5002)
    second = [long] if isinstance(estimator, RCCA) else []
    refused(lambda: estimator.fit(bad, *second), "X contains NaN at row 5002, column 2")


@pytest.mark.parametrize(
    "data", [X[:, 0], X[None], np.float64(3.0), None], ids=["1D", "3D", "0D", "None"]
)
def test_tables_must_have_two_dimensions(data):
    words = ("X: Expected 2D array", f"got {np.ndim(data)}D", "reshape")
    for estimator in SINGLE:
        refused(partial(estimator.fit, data), *words)
        refused(partial(estimator.fit(X).transform, data), *words)
    refused(lambda: rcca().fit(data, Y), *words)
    if data is not None:
        refused(lambda: fitted().transform(data), *words)
        refused(lambda: fitted().transform(None, data), "y")
    if np.ndim(data) != 1:  # one column, if it is the second view
        refused(lambda: rcca().fit(X, data), "y")


# Values that each parameter refuses, and words of the message besides "name=value".
PARAMETERS = {
    "n_features": ([0, -3, 2.5, "many", None, True], [">= 1"]),
    "reg": (
        [-1e-12, np.nan, np.inf, "small", None, np.array(-1.0), True, 10**400],
        ["must be a finite number >= 0"],
    ),
    "gamma": (
        [0, -1.0, np.nan, np.inf, "mean", None, True, 1e-320, 10**400],
        ["> 0", "median"],
    ),
    "feature_map": (
        ["gauss", 3, None, FourierFeatures],
        [
            "'fourier', 'nystroem', 'whitened', 'linear', 'orthogonal', 'fastfood', 'qmc'",
            "instance",
        ],
    ),
    "n_components": ([0, -1, 1.5, "all", None], [">= 1"]),
    "chunk_size": ([0, -5, 2.0, "big"], [">= 1"]),
    "dtype": (["float16", "int64", int, "double-ish"], ["float32", "float64"]),
    "random_state": ([-1, "x", 1.5], ["integer"]),
}
GOOD = {"n_features": 10, "reg": 1.0, "gamma": 1.0, "feature_map": "linear"}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in PARAMETERS for value in PARAMETERS[name][0]],
    ids=lambda part: str(part)[:20],
)
def test_parameters(name, value):
    words = (f"{name}={value!r:.40}", *PARAMETERS[name][1])
    for kind in KERNELS if name == "gamma" else ["fourier"]:
        given = {"feature_map": kind, name: value}
        refused(partial(rcca(**given).fit, X, Y), *words)
        refused(partial(rcca(**given).fit_chunks, [(X, Y)]), *words)
        if name != "reg":
            refused(partial(rpca(**given).fit, X), *words)
        if name in GOOD:
            refused(partial(rcca(**{**given, name: (GOOD[name], value)}).fit, X, Y), *words)
    if name == "reg":
        refused(lambda: fitted().path([5], [value]), *words)
    if name == "n_features":
        for kind in (FourierFeatures, FastfoodFeatures, NystroemFeatures):
            refused(partial(kind(value).fit, X), *words)


@pytest.mark.parametrize("name", GOOD)
def test_pairs_are_pairs_and_of_two_views(name):
    refused(lambda: rcca(**{name: (1, 2, 3)}).fit(X, Y), f"{name}=(1, 2, 3)", "a pair (x, y)")
    if name != "reg":
        refused(lambda: rpca(**{name: (GOOD[name],) * 2}).fit(X), "give one value, not a pair")


@pytest.mark.parametrize("size", [0, -1, 2.5, "x", (1, 2, 3)])
def test_sizes_of_a_path_must_be_counts(size):
    refused(lambda: fitted().path([size]), "sizes", repr(size))


@pytest.mark.parametrize("bounds", [(0, 61), (-1, 60), (30, 30), (40, 20), (60, 70)])
def test_rows_outside_the_table(bounds):
    refused(lambda: fitted().accumulate(X, Y, *bounds), "rows {}:{}".format(*bounds), "60 rows")


FLAT, FAR = np.full((60, 3), 7.0), spoiled(X, 1e200)
EMPTY = ("0 sample(s)", "minimum of 1")
SINGLE_ROW = ("n_samples = 1", "at least 2 rows")
UNEQUAL = ("X has 60 rows but y has 59", "same sample")
BEYOND = ("m=11 in sizes is beyond the fitted 10", "Fit with n_features at least")
LANDMARKS = ("n_features=61", "n_samples = 60", "Use at most 60", "Fourier")
HIDDEN = ("rounding hides the distances of neighbours", "Rescale")
WIDE = np.eye(3, 21_201)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rcca().fit(X, Y[:-1]), UNEQUAL),
        (lambda: fitted().score(X, Y[:-1]), UNEQUAL),
        (lambda: fitted().component_correlations(X, Y[:-1]), UNEQUAL),
        (lambda: fitted().accumulate(X, Y[:-1]), UNEQUAL),
        (lambda: rcca().fit_chunks([(X, Y), (X, Y[:-1])]), ("X of chunk 1 has 60", "has 59")),
        (lambda: rcca().fit(X[:0], Y[:0]), EMPTY),
        (lambda: rpca().fit(X[:0]), EMPTY),
        (lambda: rcca().fit_chunks([(X[:0], Y[:0])]), EMPTY),
        (lambda: fitted().score(X[:0], Y[:0]), EMPTY),
        (lambda: rcca().fit(X[:1], Y[:1]), SINGLE_ROW),
        (lambda: rpca().fit(X[:1]), SINGLE_ROW),
        (lambda: rcca().fit_chunks([(X[:1], Y[:1])]), SINGLE_ROW),
        (lambda: fitted().score(X[:1], Y[:1]), SINGLE_ROW),
        (lambda: median_gamma(X[:1]), SINGLE_ROW),
        (lambda: rcca().fit_chunks([]), ("stream of chunks is empty", "at least 2 rows")),
        (lambda: rpca().fit_chunks(iter([])), ("stream of chunks is empty",)),
        (
            lambda: rcca().fit_chunks([(X, Y), (X[:, :3], Y)]),
            ("X of chunk 1 has 3 features", "first chunk has 4"),
        ),
        (lambda: rcca().fit_chunks([(X,)]), ("chunk 0 has 1 parts", "(X, y)")),
        (lambda: rcca().fit_chunks([(X, Y, Y)]), ("chunk 0 has 3 parts", "(X, y)")),
        (lambda: rcca().fit_chunks([X]), ("chunk 0 has 60 parts", "(X, y)")),
        (lambda: fitted().transform(None), ("transform needs X, y or both",)),
        (lambda: fitted().transform(X[:, :3]), ("X has 3 features", "4 features")),
        (lambda: fitted().transform(None, X), ("y has 4 features", "fitted to 3", "same order")),
        (lambda: fitted().score(X[:, :3], Y), ("X has 3 features", "expecting 4")),
        (lambda: fitted().accumulate(X, X), ("y has 4 features", "fitted to 3")),
        *(
            (lambda estimator=estimator: estimator.fit(X).transform(Y), ("X has 3 features", "4"))
            for estimator in SINGLE
        ),
        (lambda: fitted().path([5, 11]), BEYOND),
        (lambda: fitted().path([5, (10, 11)]), BEYOND),
        (lambda: rpca(n_features=10).fit(X).path([5, 11]), BEYOND),
        (lambda: rcca(n_components=4).fit(X, Y).path([3]), ("n_components=4", "at most 3")),
        (lambda: rcca(n_components=11).fit(X, Y), ("n_components=11", "at most 10 canonical")),
        (lambda: linear(n_components=4).fit(X, Y), ("n_components=4", "at most 3")),
        (lambda: rcca(n_components=7).fit(X[:7], Y[:7]), ("n_samples = 7", "at most 6")),
        (lambda: rpca(n_components=6).fit(X), ("n_components=6", "at most 5 principal")),
        (lambda: rpca(n_components=7, n_features=10).fit(X[:7]), ("n_samples = 7", "at most 6")),
        (lambda: NystroemFeatures(61).fit(X), LANDMARKS),
        (lambda: rpca(feature_map="nystroem", n_features=61).fit(X), LANDMARKS),
        (lambda: rcca(feature_map="nystroem", n_features=61).fit(X, Y), LANDMARKS),
        (lambda: NystroemFeatures(landmarks=Y).fit(X), ("landmarks have 3 columns", "X has 4")),
        (
            lambda: NystroemFeatures(landmarks=spoiled(X, np.nan)).fit(X),
            ("landmarks contains NaN at row 41",),
        ),
        (lambda: LinearFeatures(5).fit(X), ("n_features=5", "4 at most")),
        (
            lambda: QuasiMonteCarloFeatures(2, gamma=1.0).fit(WIDE),
            ("21201 columns", "up to 21200", "Use Fourier"),
        ),
        (
            lambda: rcca().draw(X, Y).solve(rcca(random_state=1).draw(X, Y).accumulate(X, Y)),
            ("belong to other features", "accumulate them"),
        ),
        # Widths, and numbers out of range.
        (lambda: median_gamma(FLAT), ("identical", "Give gamma as a number")),
        (lambda: rcca().fit(X, FLAT), ("of y are all identical", "Give gamma as a number")),
        (lambda: median_gamma(X * 1e-200, random_state=0), ('gamma="median"',)),
        (lambda: median_gamma(X * 1e200, random_state=0), ('gamma="median"',)),
        *(
            (
                lambda scale=scale: RSpectralClustering(2, n_features=20).fit(X * scale),
                ('gamma="local": the squared distances in X', "Rescale"),
            )
            for scale in (1e-160, 1e200)
        ),
        (
            lambda: FourierFeatures(5, gamma=1.0).fit_transform(np.full((60, 3), 1e308)),
            (*HIDDEN, "1e+308"),
        ),
        (lambda: linear().fit(FAR, Y), ("squares of feature 2 of view 0 add up to", "Rescale")),
        (lambda: linear().fit(Y, FAR), ("squares of feature 2 of view 1 add up to", "Rescale")),
        (lambda: linear(dtype="float32").fit(np.c_[X, np.ones(60)], Y), ("singular", "feature 4")),
    ],
)
def test_calls(call, words):
    refused(call, *words)


def test_the_most_columns_that_sobol_sequences_have_will_do():
    assert QuasiMonteCarloFeatures(2, gamma=1.0).fit(WIDE[:, 1:]).n_features_out == 2


@pytest.mark.parametrize("kind", sorted({*KERNELS} - {"whitened"}))  # which are float64
def test_values_and_widths_beyond_float32(kind):
    place = ("with gamma=0.5", "1e+200 in column 2", "Rescale")
    model = rcca(feature_map=kind, gamma=0.5, n_components=1)
    refused(lambda: model.fit(FAR, Y), *HIDDEN, *place)
    refused(lambda: model.fit(Y, FAR), *HIDDEN, *place)
    refused(lambda: rpca(feature_map=kind, gamma=0.5).fit(FAR), *HIDDEN, *place)
    model.fit(X, Y)
    for use in (lambda: model.transform(FAR), lambda: model.score(FAR, Y)):
        refused(use, "leave the range of float32", 'dtype="float64"', *place)
    if kind != "nystroem":
        wide = rcca(feature_map=kind, gamma=1e90)
        refused(lambda: wide.fit(X, Y), *HIDDEN, "with gamma=1e+90")


def test_numbers_beyond_float32_are_good_in_float64():
    near, far = (linear().fit(scale * (X + 3), Y).correlations_ for scale in (1.0, 2.0**140))
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-9)
    kernel = NystroemFeatures(5, gamma=0.5).fit(X).transform(FAR)
    assert (kernel.sum(axis=1) == 0).sum() == 1  # of the row that is far from all landmarks


@pytest.mark.parametrize("seed", range(20))
def test_a_singular_covariance_without_reg(seed):
    # Whatever the rounding: LAPACK alone accepts most of these.
    rng = np.random.default_rng(seed)
    dependent = np.c_[X, X @ rng.normal(size=(4, 2))] * 10 ** rng.uniform(-3, 3, size=6)
    words = ("singular with reg=0", "depends linearly", "Raise reg, or use fewer features")
    refused(lambda: linear().fit(dependent, Y), "of the x features", "feature 4", *words)
    refused(lambda: linear().fit(Y, dependent), "of the y features", "feature 4", *words)


@pytest.mark.parametrize("kind", ["fourier", "nystroem"])
def test_too_few_rows_without_reg(kind):
    model = rcca(feature_map=kind, n_features=(60, 5), reg=0.0, dtype="float64")
    refused(lambda: model.fit(X, Y), "of the x features", "singular", "Raise reg")


def with_na():
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[7, 1] = pd.NA
    return frame


MASKED = np.ma.masked_array(X, mask=spoiled(np.zeros_like(X, bool), True, 7, 1))


@pytest.mark.parametrize(
    ("given", "words", "error"),
    [
        (MASKED, ("masked entry in row 7", "impute"), ValueError),
        (with_na(), ("NaN at row 7, column 1", "impute"), ValueError),
        (X.astype("datetime64[s]"), ("dates or durations", "convert"), TypeError),
        (X.astype("timedelta64[s]"), ("dates or durations", "convert"), TypeError),
        (X + 1j, ("Complex data not supported",), ValueError),
        (np.full((60, 2), "a"), ("'a' at row 0, column 0", "could not convert"), ValueError),
        (spoiled(X.astype(object), "a\x1b[2J", 7, 1), ("'a\\x1b[2J' at row 7",), ValueError),
        (
            spoiled(X.astype(object), np.datetime64("2020"), 7, 1),
            ("dates or durations",),
            TypeError,
        ),
        (spoiled(X.astype(object), 10**400, 7, 1), ("0000 at row 7, column",), OverflowError),
    ],
    ids=str.split("masked pd.NA dates durations complex text objects datetime64 huge"),
)
def test_entries_that_are_no_numbers(given, words, error):
    refused(lambda: rpca().fit(given), *words, error=error)
    refused(lambda: rcca().fit(given, Y), *words, error=error)
    refused(lambda: rcca().fit(X, given), *words, error=error)
    column = given.iloc[:, 1] if hasattr(given, "iloc") else given[:, 1]
    refused(lambda: rcca().fit(X, column), *words[-1:], error=error)
    refused(lambda: rdc(column, X), *words[-1:], error=error)


def frame(**columns):
    return pd.DataFrame(Y, columns=list("abc")).assign(**columns)


def polars(dtype):
    """Stand in for a data frame of polars, which gives dates as numbers."""
    kind = type("Float64", (), {"is_temporal": lambda self: dtype == "Date"})
    dtypes = [kind(), kind()]
    return type(
        "DataFrame",
        (),
        {
            "shape": (60, 2),
            "columns": ["a", "b"],
            "dtypes": dtypes,
            "__array__": lambda self, dtype=None, copy=None: X[:, :2],
            "__getitem__": lambda self, rows: X[rows, :2],
        },
    )()


@pytest.mark.parametrize(
    ("given", "words", "error"),
    [
        (frame(d="red"), ("'red' at row 0, column 3 ('d')", "OneHotEncoder"), ValueError),
        (
            frame(d=pd.Categorical(["red", "blue"] * 30)),
            ("'red' at row 0, column 3 ('d')", "OneHotEncoder"),
            ValueError,
        ),
        (frame(d=pd.Timestamp("2020-01-01")), ("at row 0, column 3 ('d')", "Timestamp"), TypeError),
        (frame(b=np.nan), ("NaN at row 0, column 1 ('b')", "impute"), ValueError),
        (polars("Date"), ("dates or durations", "column 0 ('a')"), TypeError),
        (type("LazyFrame", (), {})(), ("of type LazyFrame", ".collect()"), TypeError),
        (type("AnnData", (), {"shape": (60, 4)})(), ("of type AnnData", "adata.X"), TypeError),
        (type("NpzFile", (), {})(), ("of type NpzFile", "by its name"), TypeError),
        ((row for row in X), ("of type generator", "fit_chunks"), TypeError),
        ([X, Y], ("of type list", "2 tables", "fit(X, y)"), TypeError),
        ((X, X), ("of type tuple", "2 tables", "fit(X, y)"), TypeError),
        (
            type("DataFrame", (), {"shape": (60, 4), "to_dask_array": None})(),
            ("dask data frame", "to_dask_array(lengths=True)"),
            TypeError,
        ),
        (np.zeros(60, [("a", float), ("b", int)]), ("fields a, b", "unstructured"), ValueError),
        ([[1.0, 2.0], [3.0]], ("cannot be read as a table", "inhomogeneous"), ValueError),
        ({"a": X}, ("got 0D array", "of type dict"), ValueError),
    ],
    ids=str.split(
        "text category dates NaN polars lazy anndata npz generator list tuple dask fields ragged 0D"
    ),
)
def test_what_people_have_that_is_no_table_of_numbers(given, words, error):
    refused(lambda: rcca().fit(given, Y), "X", *words, error=error)
    if not isinstance(given, np.ndarray):  # one-dimensional, y is one column
        refused(lambda: rcca().fit(X, given), "y", *words, error=error)
    refused(lambda: rpca().fit(given), "X", *words, error=error)


@pytest.mark.parametrize("estimator", [rcca(), RCCACV(2), FeatureRidge()], ids=str)
def test_a_forgotten_second_view(estimator):
    refused(lambda: estimator.fit(X), "y is None", "as two arguments: fit(X, y)")


class Table:
    """A table on disk whose slices are not what its shape announces."""

    def __init__(self, shape, rows):
        self.shape, self.rows = shape, rows

    def __getitem__(self, rows):
        return self.rows[rows]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Table((60, 4), X[:59]), ("shape (60, 4)", "of shape (59, 4) for rows 0:60")),
        (Table((60, 4), X[:, :3]), ("shape (60, 4)", "3) for rows 0:")),
        # As netCDF4 gives them; np.asarray would take what is behind the mask.
        (Table((60, 4), MASKED), ("masked entry in row 7",)),
    ],
    ids=["rows", "columns", "masked"],
)
def test_slices_that_are_not_as_announced(given, words):
    refused(lambda: rcca().fit(given, Y), "X", *words)
    refused(lambda: fitted().transform(given), "X", *words)


def test_masked_entries_are_no_rows_of_moments_labels_or_groups():
    rows = np.ma.masked_equal(np.arange(12.0).reshape(4, 3), 7.0)
    with pytest.raises(ValueError, match="view 1 has a masked entry in row 2"):
        Moments(3, 3).update(rows.data, rows)
    labels = np.ma.masked_array(np.arange(60) % 4, np.arange(60) == 7)
    small = {"n_features": 10, "reg": 0.1}
    model = RCCA(1, **small).fit(X, Y)
    for use in (
        lambda: RLDA(**small).fit(X, labels),
        lambda: PrivilegedFeatures(**small).fit(X, labels, privileged=Y),
        lambda: RCCACV(1, sizes=(10,), cv=2).fit(X, Y, groups=labels),
        lambda: model.permutation_test(X, Y, groups=labels),
    ):
        with pytest.raises(ValueError, match="has a masked entry in row 7"):
            use()
