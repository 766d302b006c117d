"""RPCA and RCCA on inputs of any scale, far from the origin, and nearly collinear.

The references are oracles in float64 that form no covariance, the unscaled fit, and the fit to
data about the origin. Tolerances on correlations are those of one fit computed in two ways: 1e-9
with float64 features, 1e-7 with float32 columns, 5e-7 with float32 cosines of these few rows, 1e-5
with float32 Nyström values, whose covariance is ill-conditioned. Variances, of which no inverse is
taken: 1e-12 and 1e-7 of the largest.
"""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from rnca import RCCA, RLDA, RPCA, LinearFeatures, NystroemFeatures

KINDS = ["fourier", "nystroem", "linear"]
DTYPES = ["float64", "float32"]
SCALES = [1e-5, 1e-3, 1e-1, 1e1, 1e3, 1e5]
OFFSETS = [1.0, 1e2, 1e3, 1e5]
ROWS, REG, K = 600, 1e-6, 4
EPS = {"float64": 2.0**-53, "float32": 2.0**-24}


def two_views(rows=ROWS, seed=0):
    """Eight and seven columns that share three variables, of no special scale."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(rows, 3))
    X = np.c_[shared, rng.normal(size=(rows, 5))] @ rng.normal(size=(8, 8))
    noisy = shared + rng.normal(size=(rows, 3))
    Y = np.c_[noisy, rng.normal(size=(rows, 4))] @ rng.normal(size=(7, 7))
    return X, Y


X, Y = two_views()


def rcca(kind, dtype, X, Y, reg=REG):
    return RCCA(
        K, feature_map=kind, n_features=40, reg=reg, random_state=0, dtype=dtype, chunk_size=128
    ).fit(X, Y)


def rpca(kind, dtype, X):
    if kind == "nystroem":  # by its name it would be whitened
        kind = NystroemFeatures(40, random_state=0)
    return RPCA(K, feature_map=kind, n_features=40, random_state=0, dtype=dtype).fit(X)


def oracle(kind, model, x, y, reg=REG):
    features = oracles.FEATURES[kind]
    zx, zy = features(model.map_x_, x), features(model.map_y_, y)
    return oracles.cca(zx, zy, *np.broadcast_to(reg, 2), K).correlations


def assert_same(found, expected, kind, dtype):
    # A float32 cosine has the error of its argument: about eps times 4.4, the arguments' root mean
    # square. A canonical variable multiplies it by the norm of its basis, at most 7, and a
    # correlation averages it over the rows: 4.4·7·eps/√600 = 8e-8 is a standard error.
    float32 = {"nystroem": 1e-5, "fourier": 5e-7, "linear": 1e-7}[kind]
    assert_allclose(found, expected, rtol=0, atol=float32 if dtype == "float32" else 1e-9)


def assert_same_variances(found, expected, dtype, lost=0.0):
    tolerance = max(1e-7 if dtype == "float32" else 1e-12, lost)
    assert np.abs(found - expected).max() <= tolerance * expected[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("scale", "offset"), [*((scale, 0.0) for scale in SCALES), *((1.0, far) for far in OFFSETS)]
)
def test_fits_at_any_scale_and_place_are_the_oracles_and_those_at_scale_one(
    kind, dtype, scale, offset
):
    # Views of different units. At 10^5 standard deviations from the origin float64 still holds
    # 1e-11 of one: less than any tolerance here. Cast to float32 as they are, rows would hold 1e-2.
    x, y = (X + offset * X.std()) * scale, (Y - offset * Y.std()) / scale
    lost = 10 * offset * EPS["float64"]
    # reg has the unit of a variance: kernel values have none.
    unit = scale**2 if kind == "linear" else 1.0
    reg = (REG * unit, REG / unit)
    model, base = rcca(kind, dtype, x, y, reg), rcca(kind, dtype, X, Y)
    assert_same(model.correlations_, oracle(kind, model, x, y, reg), kind, dtype)
    assert_same(model.correlations_, base.correlations_, kind, dtype)
    assert_same(model.training_correlations_, base.training_correlations_, kind, dtype)
    if kind != "linear":
        widths = model.map_x_.gamma_ * scale**2, model.map_y_.gamma_ / scale**2
        expected = base.map_x_.gamma_, base.map_y_.gamma_
        assert_allclose(widths, expected, rtol=max(1e-12, lost))
    # Canonical variables have no unit; rounding is divided by the gaps between correlations.
    assert_allclose(
        model.transform(x), base.transform(X), atol=1e-2 if dtype == "float32" else 1e-6
    )
    model, base = rpca(kind, dtype, x), rpca(kind, dtype, X)
    values, _ = oracles.pca(oracles.FEATURES[kind](model.map_, x), K)
    assert_same_variances(model.explained_variance_, values, dtype, lost)
    assert_same_variances(model.explained_variance_ / unit, base.explained_variance_, dtype, lost)
    assert_allclose(
        model.explained_variance_ratio_, base.explained_variance_ratio_, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("span", [1, 3, 5])
def test_columns_of_different_units_do_not_matter_to_linear_rcca(dtype, span):
    # Cholesky factors, and the test for dependent columns, scale with each column alone.
    units = 10.0 ** np.linspace(-span, span, X.shape[1])
    expected = oracles.cca(X, Y, 0.0, 0.0, K).correlations
    found = rcca("linear", dtype, X * units, Y, 0.0).correlations_
    assert_same(found, expected, "linear", dtype)


def nearly_collinear(share):
    """X with one column more, the first but for ``share`` of a variable that Y knows of."""
    rng = np.random.default_rng(1)
    rest = rng.normal(size=ROWS) + Y[:, 0] / Y[:, 0].std()
    return np.c_[X, X[:, 0] + share * X[:, 0].std() * rest]


def rounding(model, x, dtype):
    """Bound the error of a correlation by the smallest pivot p, relative to its variance.

    The covariance is rounded at eps of a variance, which whitening divides by p. Rounding a float32
    feature adds noise of its own, u of a deviation: over n rows it correlates with the features by
    u/√n, which whitening divides by √p, and its variance u² is divided by p.
    """
    pivot = model.conditioning_["smallest_pivot_x"] / x[:, -1].var()
    bound = EPS["float64"] / pivot
    if dtype == "float32":
        bound += EPS["float32"] / np.sqrt(ROWS * pivot) + EPS["float32"] ** 2 / pivot
    return 10 * bound + 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("share", "reg"),
    [(10.0**-exponent, 0.0) for exponent in range(1, 6)]
    + [(10.0**-exponent, 1e-8) for exponent in range(1, 11)],
)
def test_nearly_collinear_columns_cost_what_their_pivot_says(dtype, share, reg):
    x = nearly_collinear(share)
    model = rcca("linear", dtype, x, Y, reg)
    expected = oracles.cca(x, Y, reg, reg, K).correlations
    assert_allclose(model.correlations_, expected, rtol=0, atol=rounding(model, x, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [1e-8, 1e-9, 1e-10])
def test_columns_that_rounding_makes_collinear_are_refused_without_reg(dtype, share):
    with pytest.raises(ValueError, match=r"feature 8 depends linearly .* Raise reg"):
        rcca("linear", dtype, nearly_collinear(share), Y, 0.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [1e-1, 1e-4, 1e-7, 1e-10])
def test_nearly_collinear_columns_do_not_matter_to_rpca(dtype, share):
    # Against singular values of the data themselves: nothing squared, nothing subtracted.
    x = nearly_collinear(share)
    model = RPCA(x.shape[1], feature_map="linear", dtype=dtype).fit(x)
    values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2 / (ROWS - 1)
    assert_same_variances(model.explained_variance_, values, dtype)


@pytest.mark.parametrize("kind", ["fourier", "nystroem"])
def test_float64_features_survive_a_row_a_million_deviations_away(kind):
    # It pulls the pilot mean thousands of deviations from all other rows.
    x = X.copy()
    x[17] += 1e6
    model = rcca(kind, "float64", x, Y)
    assert_same(model.correlations_, oracle(kind, model, x, Y), kind, "float64")


# Oracles in extended precision: features from the fitted maps, no covariance in float64.
def exact(array):
    return np.asarray(array, np.longdouble)


def orthonormal(columns):
    """Orthonormal columns of the same span, by Gram–Schmidt, twice."""
    basis = columns.copy()
    for j, column in enumerate(basis.T):
        for _ in range(2):
            column -= basis[:, :j] @ (basis[:, :j].T @ column)
        column /= np.sqrt(column @ column)
    return basis


def above_ridge(z, reg):
    """Rows above √reg·I: their product with themselves is zᵀz + reg·I."""
    return np.vstack([z, np.sqrt(exact(reg)) * np.eye(z.shape[1], dtype=np.longdouble)])


def exact_basis(z, reg):
    """Basis of centred features above √reg·I, of which the features' rows."""
    z = (z - z.mean(axis=0)) / np.sqrt(exact(len(z) - 1))
    return orthonormal(above_ridge(z, reg))[: len(z)]


def rcca_error(kind, dtype, x, y, reg, gamma):
    model = RCCA(
        3, feature_map=kind, n_features=20, gamma=gamma, reg=reg, random_state=0, dtype=dtype
    ).fit(x, y)
    regs = np.broadcast_to(reg, 2)
    bases = [
        exact_basis(oracles.FEATURES[kind](fitted, exact(data)), own)
        for fitted, data, own in zip((model.map_x_, model.map_y_), (x, y), regs, strict=True)
    ]
    expected = np.linalg.svd((bases[0].T @ bases[1]).astype(float), compute_uv=False)[:3]
    return np.abs(model.correlations_ - expected).max()


def rpca_error(kind, dtype, x, y, reg, gamma):
    own = NystroemFeatures(20, gamma=gamma, random_state=0) if kind == "nystroem" else kind
    given = {"n_features": 20, "gamma": gamma, "random_state": 0, "dtype": dtype}
    model = RPCA(3, feature_map=own, **given).fit(x)
    z = oracles.FEATURES[kind](model.map_, exact(x))
    z -= z.mean(axis=0)
    C = (z.T @ z / (len(z) - 1) / z.var()).astype(float)
    shares = np.linalg.eigvalsh(C)[::-1][:3] / C.trace()
    return np.abs(model.explained_variance_ratio_ - shares).max()


def rlda_error(kind, dtype, x, y, reg, gamma):
    """Error of the probabilities, against the posterior with W/n + reg·(n − 1)/n as covariance."""
    reg = np.broadcast_to(reg, 2)[0]
    classes = np.digitize(y[:, 0], np.quantile(y[:, 0], [0.3, 0.7]))
    model = RLDA(
        feature_map=kind, n_features=20, gamma=gamma, reg=reg, random_state=0, dtype=dtype
    ).fit(x, classes)
    z = oracles.FEATURES[kind](model.rcca_.map_x_, exact(x))
    z -= z.mean(axis=0)
    means = np.array([z[classes == each].mean(axis=0) for each in range(3)])
    n, m = z.shape
    rest = above_ridge((z - means[classes]) / np.sqrt(exact(n)), exact(reg) * (n - 1) / n)
    # Whiten by the triangle of Gram–Schmidt: rest = QR, and the covariance is RᵀR.
    R = orthonormal(rest).T @ rest
    white = np.vstack([z, means])
    for j in range(m):  # solve white·R = [z, means]
        white[:, j] = (white[:, j] - white[:, :j] @ R[:j, j]) / R[j, j]
    centres = white[n:]
    scores = white[:n] @ centres.T - (centres**2).sum(axis=1) / 2 + np.log(model.priors_)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = (odds / odds.sum(axis=1, keepdims=True)).astype(float)
    return np.abs(model.predict_proba(x) - expected).max()


def changed(rows, by):
    """X with an offset of its first rows."""
    x = X.copy()
    x[:rows] += by
    return x


def audited_cases():
    """Scale, offset, outliers, conditioning: each over ten orders or more."""
    for kind in KINDS:
        for scale in (1e-60, 1e-10, 1e-5, 1e5, 1e10, 1e60):
            reg = (REG * scale**2, REG / scale**2) if kind == "linear" else REG
            yield f"{kind} scale {scale:g}", kind, X * scale, Y / scale, reg, "median"
        for offset in (1e2, 1e6, 1e10):
            yield f"{kind} offset {offset:g}", kind, X + offset, Y - offset, REG, "median"
        for far in (1e3, 1e6, 1e9, 1e12, 1e15):
            yield f"{kind} one row at {far:g}", kind, changed(1, far), Y, REG, "median"
            yield f"{kind} 100 rows at {far:g}", kind, changed(100, far), Y, REG, 0.1
        for reg in (0.0, 1e-12, 1e-8):
            for power in (2, 4, 6, 8, 10):
                if kind == "linear":
                    label, x, gamma = "collinear", nearly_collinear(10.0**-power), "median"
                else:
                    label, x, gamma = "gamma", X, 10.0 ** (2 - power)
                yield f"{kind} {label} 1e-{power} reg {reg:g}", kind, x, Y, reg, gamma


AUDIT = {label: case for label, *case in audited_cases()}


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are doubles here")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("error_of", [rcca_error, rpca_error, rlda_error])
@pytest.mark.parametrize("label", AUDIT)
def test_audited_fits_are_right_or_warn_or_refuse(label, error_of, dtype):
    refused = "depends linearly|rounding hides|leave the range|above 1"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            error = error_of(AUDIT[label][0], dtype, *AUDIT[label][1:])
        except (ValueError, FloatingPointError) as refusal:
            if re.search(refused, str(refusal)):
                return
            raise
    if any(re.search("ill-conditioned|hardly vary", str(each.message)) for each in caught):
        return
    assert error <= 1e-3


def test_rpca_warns_of_features_that_hardly_vary():
    # Kernel values within 1e-7 of 1: float32 rounds them at 6e-8.
    with pytest.warns(UserWarning, match='hardly vary.*dtype="float64" or a larger gamma'):
        RPCA(2, feature_map=NystroemFeatures(20, gamma=1e-10, random_state=0)).fit(X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-6, 1e-8, 1e-12, 1e-20, 1e-30])
def test_a_large_reg_hides_no_correlation_of_small_numbers(scale, dtype):
    x, y = X * scale, Y * scale
    model = RCCA(K, feature_map=LinearFeatures(dtype=dtype), reg=1e-8).fit(x, y)
    seen = np.abs(model.component_correlations(x, y))
    assert seen[:2].min() > 0.3
    assert_allclose(model.training_correlations_, seen, atol=1e-6)
    for loadings, view, variables in zip(
        model.loadings(x, y), (x, y), model.transform(x, y), strict=True
    ):
        assert_allclose(loadings, cross_correlations(view, variables), atol=1e-6)


def cross_correlations(columns, variables):
    (a, b) = ((table - table.mean(axis=0)) / table.std(axis=0) for table in (columns, variables))
    return a.T @ b / len(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_variable_that_is_rounding_has_no_training_correlation(scale, dtype):
    # Of rank 2 but for rounding: the other two canonical variables are not there.
    x = X[:, :2] @ np.ones((2, 5)) * scale
    x[:, 0] += X[:, 0] * scale
    model = RCCA(K, feature_map=LinearFeatures(dtype=dtype), reg=1e-8 * scale**2)
    model.fit(x.astype(dtype), Y * scale)
    assert (model.training_correlations_[:2] > 0.1).all()
    # 0 where it is seen to be rounding; else what that is worth, which depends on the CPU.
    assert (abs(model.training_correlations_[2:]) < 1e-6).all()
