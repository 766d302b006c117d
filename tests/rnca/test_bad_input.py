"""Bad input: the message names the value, the rule it broke and the remedy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from rnca import (
    RCCA,
    RPCA,
    FastfoodFeatures,
    FourierFeatures,
    LinearFeatures,
    NystroemFeatures,
    QuasiMonteCarloFeatures,
    RSpectralClustering,
    median_gamma,
    rdc,
)

X = np.random.default_rng(0).normal(size=(60, 4))
Y = X[:, :3] + np.random.default_rng(1).normal(size=(60, 3))

# Clusters of noise have no eigengap.
pytestmark = pytest.mark.filterwarnings("ignore:n_clusters")


def rcca(**given):
    return RCCA(**{"n_components": 2, "n_features": 10, "random_state": 0, **given})


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


SINGLE = [
    FourierFeatures(5),
    NystroemFeatures(5),
    LinearFeatures(),
    RPCA(2, n_features=5),
    RPCA(2, feature_map="nystroem", n_features=5),
    RPCA(2, feature_map="linear"),
    RSpectralClustering(2, n_features=5),
]


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
    refused(lambda: model.fit(spoiled(x, value), y), f"X contains {name} at row 41, column 2")
    refused(lambda: model.fit(x, spoiled(y, value)), f"y contains {name} at row 41, column 2")
    model.fit(x, y)
    refused(lambda: model.transform(spoiled(x, value), y), f"X contains {name} at row 41")
    refused(lambda: model.transform(x, spoiled(y, value)), f"y contains {name} at row 41")
    refused(lambda: model.score(spoiled(x, value), y), f"X contains {name} at row 41")
    stream = [(x[:30], y[:30]), (x[30:], spoiled(y, value)[30:])]
    refused(lambda: model.fit_chunks(stream), f"y of chunk 1 contains {name} at row 11, column 2")


def test_non_finite_entries_beyond_the_pilot_rows():
    # The pilot mean of a long view reads a sample of its rows; the pass must check the rest.
    long = np.tile(X, (100, 1))
    bad = spoiled(long, np.nan, row=5002)
    for estimator in (*SINGLE, rcca(feature_map="linear"), rcca(gamma=1.0)):
        fit = estimator.fit
        if isinstance(estimator, RCCA):
            refused(lambda fit=fit: fit(bad, long), "X contains NaN at row 5002, column 2")
        else:
            refused(lambda fit=fit: fit(bad), "X contains NaN at row 5002, column 2")


def test_non_finite_landmarks():
    refused(
        lambda: NystroemFeatures(landmarks=spoiled(X, np.nan)).fit(X),
        "landmarks contains NaN at row 41",
    )


def test_unequal_row_counts():
    words = ("X has 60 rows but y has 59", "same sample")
    fitted = rcca().fit(X, Y)
    refused(lambda: rcca().fit(X, Y[:-1]), *words)
    refused(lambda: fitted.score(X, Y[:-1]), *words)
    refused(lambda: fitted.component_correlations(X, Y[:-1]), *words)
    refused(lambda: fitted.accumulate(X, Y[:-1]), *words)
    refused(lambda: rcca().fit_chunks([(X, Y), (X, Y[:-1])]), "X of chunk 1 has 60", "has 59")


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows(n):
    words = ("0 sample(s)", "minimum of 1") if n == 0 else ("n_samples = 1", "at least 2 rows")
    refused(lambda: rcca().fit(X[:n], Y[:n]), *words)
    refused(lambda: RPCA(1).fit(X[:n]), *words)
    refused(lambda: rcca().fit_chunks([(X[:n], Y[:n])]), *words)
    refused(lambda: rcca().fit(X, Y).score(X[:n], Y[:n]), *words)


def test_an_empty_stream():
    refused(lambda: rcca().fit_chunks([]), "stream of chunks is empty", "at least 2 rows")
    refused(lambda: RPCA(1).fit_chunks(iter([])), "stream of chunks is empty")


def test_chunks_that_do_not_fit_together():
    stream = rcca().fit_chunks
    refused(
        lambda: stream([(X, Y), (X[:, :3], Y)]), "X of chunk 1 has 3 features", "first chunk has 4"
    )
    refused(lambda: stream([(X,)]), "chunk 0 has 1 parts", "(X, y)")
    refused(lambda: stream([(X, Y, Y)]), "chunk 0 has 3 parts", "(X, y)")
    refused(lambda: stream([X]), "chunk 0 has 60 parts", "(X, y)")


@pytest.mark.parametrize(
    "data", [X[:, 0], X[None], np.float64(3.0), None], ids=["1D", "3D", "0D", "None"]
)
def test_tables_must_have_two_dimensions(data):
    d = np.ndim(data)
    words = ("Expected 2D array", f"got {d}D", "reshape")
    refused(lambda: rcca().fit(data, Y), "X: ", *words)
    if d != 1:  # one column, if it is the second view
        refused(lambda: rcca().fit(X, data), *(("y: ", *words) if d else ()))
    refused(lambda: RPCA(1).fit(data), *words)
    fitted = rcca().fit(X, Y)
    if data is not None:
        refused(lambda: fitted.transform(data), "X: ", *words)
        refused(lambda: fitted.transform(None, data), "y")
    for estimator in (FourierFeatures(3), NystroemFeatures(3), LinearFeatures()):
        refused(lambda estimator=estimator: estimator.fit(data), *words)
        refused(lambda estimator=estimator: estimator.fit(X).transform(data), *words)


def test_non_numeric_data():
    words = np.array([["a", "b"]] * 60)
    refused(lambda: rcca().fit(words, Y), "could not convert string to float")
    refused(lambda: rcca().fit(X, words.astype(object)), "could not convert string to float")
    refused(lambda: RPCA(1).fit(X + 1j), "Complex data not supported")


@pytest.mark.parametrize("m", [0, -3, 2.5, "many", None, True])
def test_feature_counts_must_be_positive_integers(m):
    words = (f"n_features={m!r}", "must be >= 1")
    refused(lambda: rcca(n_features=m).fit(X, Y), *words)
    refused(lambda: rcca(n_features=(10, m)).fit(X, Y), *words)
    refused(lambda: rcca(n_features=m).fit_chunks([(X, Y)]), *words)
    refused(lambda: RPCA(1, n_features=m).fit(X), *words)
    refused(lambda: FourierFeatures(m).fit(X), *words)
    refused(lambda: FastfoodFeatures(m).fit(X), *words)
    refused(lambda: NystroemFeatures(m).fit(X), *words)


@pytest.mark.parametrize("reg", [-1e-12, np.nan, np.inf, "small", None])
def test_regularisers_must_not_be_negative(reg):
    words = (f"reg={reg!r}", "must be a finite number >= 0")
    refused(lambda: rcca(reg=reg).fit(X, Y), *words)
    refused(lambda: rcca(reg=(1.0, reg)).fit(X, Y), *words)
    refused(lambda: rcca().fit(X, Y).path([5], [reg]), *words)


@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "mean", None])
def test_widths_must_be_positive(gamma):
    words = (f"gamma={gamma!r}", "> 0", "median")
    for kind in ("fourier", "nystroem", "orthogonal", "fastfood", "qmc"):
        refused(lambda kind=kind: rcca(feature_map=kind, gamma=gamma).fit(X, Y), *words)
        refused(lambda kind=kind: rcca(feature_map=kind, gamma=(1.0, gamma)).fit(X, Y), *words)
        refused(
            lambda kind=kind: RPCA(1, feature_map=kind, n_features=5, gamma=gamma).fit(X), *words
        )


def test_constant_data_have_no_median_width():
    flat = np.full((60, 3), 7.0)
    refused(lambda: median_gamma(flat), "identical", "Give gamma as a number")
    refused(lambda: rcca().fit(X, flat), "of y are all identical", "Give gamma as a number")
    refused(lambda: median_gamma(X[:1]), "n_samples = 1", "at least 2 rows")


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_distances_beyond_float64_have_no_median_width(scale):
    refused(lambda: median_gamma(X * scale, random_state=0), 'gamma="median"')


KERNELS = ["fourier", "nystroem", "orthogonal", "fastfood", "qmc"]


@pytest.mark.parametrize("kind", KERNELS)
def test_values_beyond_float32(kind):
    place = ("with gamma=0.5", "1e+200 in column 2", "Rescale")
    far = spoiled(X, 1e200)
    model = rcca(feature_map=kind, gamma=0.5, n_components=1)
    for fit in (
        lambda: model.fit(far, Y),
        lambda: model.fit(Y, far),
        lambda: RPCA(1, feature_map=kind, n_features=5, gamma=0.5).fit(far),
    ):
        refused(fit, "rounding hides the distances of neighbours", *place)
    fitted = model.fit(X, Y)
    for use in (lambda: fitted.transform(far), lambda: fitted.score(far, Y)):
        refused(use, "leave the range of float32", 'dtype="float64"', *place)


@pytest.mark.parametrize("kind", [kind for kind in KERNELS if kind != "nystroem"])
def test_widths_beyond_float32(kind):
    words = ("rounding hides the distances of neighbours", "with gamma=1e+90", "Rescale")
    refused(lambda: rcca(feature_map=kind, gamma=1e90).fit(X, Y), *words)


def test_squares_beyond_float64():
    far = spoiled(X, 1e200)
    model = rcca(feature_map="linear", dtype="float64")
    refused(lambda: model.fit(far, Y), "squares of feature 2 of view x add up to", "Rescale")
    refused(lambda: model.fit(Y, far), "squares of feature 2 of view y add up to", "Rescale")
    kernel = NystroemFeatures(5, gamma=0.5).fit(X).transform(far)
    assert (kernel.sum(axis=1) == 0).sum() == 1  # of the row that is far from all landmarks


def test_numbers_beyond_float32_are_good_in_float64():
    model = rcca(feature_map="linear", reg=0.0, dtype="float64")
    near, far = (model.fit(scale * (X + 3), Y).correlations_ for scale in (1.0, 2.0**140))
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-9)


def test_largest_numbers_have_no_mean():
    words = ("rounding hides the distances", "1e+308", "Rescale")
    refused(lambda: FourierFeatures(5, gamma=1.0).fit_transform(np.full((60, 3), 1e308)), *words)


@pytest.mark.parametrize("kind", ["gauss", 3, None, FourierFeatures])
def test_unknown_maps(kind):
    words = (
        "feature_map=",
        "'fourier', 'nystroem', 'linear', 'orthogonal', 'fastfood', 'qmc'",
        "instance",
    )
    refused(lambda: rcca(feature_map=kind).fit(X, Y), *words)
    refused(lambda: rcca(feature_map=("linear", kind)).fit(X, Y), *words)
    refused(lambda: RPCA(1, feature_map=kind).fit(X), *words)


def test_more_columns_than_sobol_sequences_have():
    wide = np.eye(3, 21_201)
    words = ("21201 columns", "up to 21200", "Use Fourier")
    refused(lambda: QuasiMonteCarloFeatures(2, gamma=1.0).fit(wide), *words)
    QuasiMonteCarloFeatures(2, gamma=1.0).fit(wide[:, 1:])


def test_more_landmarks_than_rows():
    words = ("n_features=61", "n_samples = 60", "Use at most 60", "Fourier")
    refused(lambda: NystroemFeatures(61).fit(X), *words)
    refused(lambda: RPCA(1, feature_map="nystroem", n_features=61).fit(X), *words)
    refused(lambda: rcca(feature_map="nystroem", n_features=61).fit(X, Y), *words)
    refused(lambda: NystroemFeatures(landmarks=Y).fit(X), "landmarks have 3 columns", "X has 4")
    refused(lambda: LinearFeatures(5).fit(X), "n_features=5", "4 at most")


@pytest.mark.parametrize("size", [11, (10, 11)])
def test_paths_beyond_the_fit(size):
    words = ("m=11 in sizes is beyond the fitted 10", "Fit with n_features at least")
    refused(lambda: rcca().fit(X, Y).path([5, size]), *words)
    refused(lambda: RPCA(1, n_features=10).fit(X).path([5, 11]), *words)


@pytest.mark.parametrize("size", [0, -1, 2.5, "x", (1, 2, 3)])
def test_sizes_of_a_path_must_be_counts(size):
    refused(lambda: rcca().fit(X, Y).path([size]), "sizes", repr(size) if size != -1 else "-1")


def test_a_path_too_small_for_the_components():
    refused(lambda: rcca(n_components=4).fit(X, Y).path([3]), "n_components=4", "at most 3")


def test_a_wrong_number_of_columns():
    model = rcca().fit(X, Y)
    refused(lambda: model.transform(X[:, :3]), "X has 3 features", "4 features")
    refused(lambda: model.transform(None, X), "y has 4 features", "fitted to 3", "same order")
    refused(lambda: model.score(X[:, :3], Y), "X has 3 features", "expecting 4")
    refused(lambda: model.accumulate(X, X), "y has 4 features", "fitted to 3")
    for estimator in (*SINGLE,):
        refused(lambda estimator=estimator: estimator.fit(X).transform(Y), "X has 3 features", "4")


def test_nothing_to_transform():
    refused(lambda: rcca().fit(X, Y).transform(None), "transform needs X, y or both")


@pytest.mark.parametrize("k", [0, -1, 1.5, "all", None])
def test_components_must_be_counted(k):
    refused(lambda: rcca(n_components=k).fit(X, Y), f"n_components={k!r}", ">= 1")
    refused(lambda: RPCA(k, n_features=5).fit(X), f"n_components={k!r}", ">= 1")


def test_more_components_than_the_rank_allows():
    refused(lambda: rcca(n_components=11).fit(X, Y), "n_components=11", "at most 10 canonical")
    refused(
        lambda: rcca(feature_map="linear", n_components=4).fit(X, Y), "n_components=4", "at most 3"
    )
    refused(lambda: rcca(n_components=7).fit(X[:7], Y[:7]), "n_samples = 7", "at most 6")
    refused(lambda: RPCA(11, n_features=10).fit(X), "n_components=11", "at most 10 principal")
    refused(lambda: RPCA(7, n_features=10).fit(X[:7]), "n_samples = 7", "at most 6")


@pytest.mark.parametrize("seed", range(20))
def test_a_singular_covariance_without_reg(seed):
    # Whatever the rounding: LAPACK alone accepts most of these.
    rng = np.random.default_rng(seed)
    dependent = np.c_[X, X @ rng.normal(size=(4, 2))] * 10 ** rng.uniform(-3, 3, size=6)
    model = rcca(feature_map="linear", reg=0.0, dtype="float64")
    words = ("singular with reg=0", "depends linearly", "Raise reg, or use fewer features")
    refused(lambda: model.fit(dependent, Y), "of the x features", "feature 4", *words)
    refused(lambda: model.fit(Y, dependent), "of the y features", "feature 4", *words)


def test_constant_columns_and_too_few_rows_without_reg():
    flat = np.c_[X, np.ones(60)]
    refused(lambda: rcca(feature_map="linear", reg=0.0).fit(flat, Y), "singular", "feature 4")
    for kind in ("fourier", "nystroem"):
        model = rcca(feature_map=kind, n_features=(60, 5), reg=0.0, dtype="float64")
        refused(lambda model=model: model.fit(X, Y), "of the x features", "singular", "Raise reg")


@pytest.mark.parametrize("size", [0, -5, 2.0, "big"])
def test_chunk_sizes_must_be_counts(size):
    refused(lambda: rcca(chunk_size=size).fit(X, Y), f"chunk_size={size!r}", ">= 1")
    refused(lambda: RPCA(1, n_features=5, chunk_size=size).fit(X), f"chunk_size={size!r}")


@pytest.mark.parametrize("dtype", ["float16", "int64", int, "double-ish"])
def test_features_are_float32_or_float64(dtype):
    refused(lambda: rcca(dtype=dtype).fit(X, Y), "dtype=", "float32", "float64")
    refused(lambda: RPCA(1, n_features=5, dtype=dtype).fit(X), "dtype=", "float32", "float64")


@pytest.mark.parametrize("seed", [-1, "x", 1.5])
def test_seeds(seed):
    refused(lambda: rcca(random_state=seed).fit(X, Y), f"random_state={seed!r}", "integer")


def test_pairs_are_pairs():
    for name in ("n_features", "gamma", "reg", "feature_map"):
        refused(
            lambda name=name: rcca(**{name: (1, 2, 3)}).fit(X, Y),
            f"{name}=(1, 2, 3)",
            "a pair (x, y)",
        )


@pytest.mark.parametrize("bounds", [(0, 61), (-1, 60), (30, 30), (40, 20), (60, 70)])
def test_rows_outside_the_table(bounds):
    model = rcca(feature_map="linear").draw(X, Y)
    refused(lambda: model.accumulate(X, Y, *bounds), f"rows {bounds[0]}:{bounds[1]}", "60 rows")


def test_moments_of_other_features():
    moments = rcca(random_state=1).draw(X, Y).accumulate(X, Y)
    refused(lambda: rcca().draw(X, Y).solve(moments), "belong to other features", "accumulate them")


def masked():
    given = np.ma.masked_array(X, mask=np.zeros_like(X, bool))
    given[7, 1] = np.ma.masked
    return given


def with_na():
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[7, 1] = pd.NA
    return frame


@pytest.mark.parametrize(
    ("given", "words", "error"),
    [
        (masked(), ("masked entry in row 7", "impute"), ValueError),
        (with_na(), ("NaN at row 7, column 1", "impute"), ValueError),
        (X.astype("datetime64[s]"), ("dates or durations", "convert"), TypeError),
        (X.astype("timedelta64[s]"), ("dates or durations", "convert"), TypeError),
        (X + 1j, ("Complex data not supported",), ValueError),
    ],
    ids=["masked", "pd.NA", "dates", "durations", "complex"],
)
def test_entries_that_are_no_numbers(given, words, error):
    refused(lambda: RPCA(1, n_features=5).fit(given), *words, error=error)
    refused(lambda: rcca().fit(X, given), *words, error=error)
    column = given.iloc[:, 1] if hasattr(given, "iloc") else given[:, 1]
    refused(lambda: rcca().fit(X, column), *words[-1:], error=error)
    refused(lambda: rdc(column, X), *words[-1:], error=error)


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda a: np.ascontiguousarray(a[::-1])[::-1],
        lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
        lambda a: np.ma.masked_array(a, mask=np.zeros_like(a, bool)),
        lambda a: a.astype(">f8"),
        lambda a: a.astype(np.longdouble),
        lambda a: a.astype(object),
        lambda a: a.astype(str),
        lambda a: pd.DataFrame(a).astype("Float64"),
        lambda a: pd.DataFrame(a.astype(object)),
        np.asmatrix,
    ],
    ids=str.split(
        "Fortran reversed mirrored masked big-endian long object text nullable frame matrix"
    ),
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_the_same_numbers_in_another_form_give_the_same_model(form):
    for kind in ("fourier", "nystroem", "linear"):
        expected = rcca(feature_map=kind, dtype="float64").fit(X, Y)
        model = clone(expected).fit(form(X), form(Y))
        np.testing.assert_allclose(model.correlations_, expected.correlations_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(model.transform(form(X)), expected.transform(X), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-160, 1e200])
def test_distances_beyond_float64_have_no_local_width(scale):
    model = RSpectralClustering(2, n_features=20, random_state=0)
    refused(lambda: model.fit(X * scale), 'gamma="local": the squared distances in X', "Rescale")
