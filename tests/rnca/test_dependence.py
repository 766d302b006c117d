"""RDC against the published recipe; permutation tests against loops by hand, and their level."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from scipy.signal import lfilter
from scipy.stats import binom

from rnca import RCCA, rdc, rdc_matrix, rdc_test
from rnca.inference import permutation_test
from rnca.seeding import streams

ALPHA = 0.05
RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, 2 * np.pi, 300)
X = RNG.uniform(-1, 1, 300)
PAIRS = {
    "circle": (np.cos(ANGLE), np.sin(ANGLE)),
    "parabola": (X, X**2 + 0.3 * RNG.normal(size=300)),
    "independent": (X, RNG.normal(size=300)),
    "ties": (np.round(4 * X), np.round(np.abs(4 * X))),
    "two columns": (np.c_[np.cos(ANGLE), X], np.c_[np.sin(ANGLE), RNG.normal(size=(300, 2))]),
}


def features(sample, rng, k, s):
    """The columns that R's qr() keeps of the centred features, found by least squares."""
    u = pd.DataFrame(sample).rank() / len(sample)
    u["ones"] = 1.0
    z = np.sin(s / u.shape[1] * u.to_numpy() @ rng.standard_normal((u.shape[1], k)))
    z -= z.mean(axis=0)
    kept = z[:, :0]
    for column in z.T:
        rest = column - kept @ np.linalg.lstsq(kept, column)[0] if kept.size else column
        if np.linalg.norm(rest) >= 1e-7 * np.linalg.norm(column):
            kept = np.c_[kept, rest / np.linalg.norm(rest)]
    return kept


def by_the_recipe(x, y, seed, k, s):
    of_x, of_y, _ = streams(seed, 3)
    return np.cos(subspace_angles(features(x, of_x, k, s), features(y, of_y, k, s)).min())


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("seed", "k", "s"), [(0, 20, 1 / 6), (1, 20, 1 / 6), (2, 7, 2.0)])
def test_it_is_the_published_recipe(name, seed, k, s):
    x, y = PAIRS[name]
    found = rdc(x, y, n_features=k, scale=s, random_state=seed)
    assert found == pytest.approx(by_the_recipe(x, y, seed, k, s), abs=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        np.exp,
        np.arctan,
        lambda x: x**3,
        lambda x: 5 * x - 2,
        np.ndarray.tolist,
        lambda x: pd.Series(x, index=range(300, 600)),
        lambda x: pd.DataFrame({"a": x}),
        lambda x: x[::-1],
    ],
)
def test_increasing_transforms_forms_and_the_order_of_samples_change_nothing(change):
    x, y = PAIRS["parabola"]
    expected = rdc(x, y, random_state=0)
    assert rdc(change(x), change(y), random_state=0) == pytest.approx(expected, rel=1e-12)


def test_a_constant_depends_on_nothing_and_a_handful_of_samples_on_anything():
    constant = np.full(300, 0.1)
    assert rdc(X, constant, random_state=0) == rdc(constant, constant, random_state=0) == 0
    assert rdc_test(X, constant, n_permutations=9, random_state=0) == (0.0, 1.0)
    assert rdc(np.c_[X, constant], X**2, random_state=0) > 0.99
    assert rdc([1, 2, 3], [1, 3, 2], random_state=0) == pytest.approx(1)
    assert rdc_test([1, 2, 3], [1, 3, 2], n_permutations=20, random_state=0).pvalue > 0.5


def test_p_value_is_small_for_dependent_and_uniform_for_independent_samples():
    x, y = PAIRS["circle"]
    found = rdc_test(x[:60], y[:60], n_permutations=99, random_state=0)
    assert found == (rdc(x[:60], y[:60], random_state=0), 0.01)
    rng = np.random.default_rng(2)
    values = [
        rdc_test(*rng.normal(size=(2, 40)), n_permutations=19, random_state=seed).pvalue
        for seed in range(120)
    ]
    # Of 20 equally likely values; 0.1 is more than three standard errors off.
    assert np.mean(values) == pytest.approx(0.525, abs=0.1)
    assert np.mean(np.array(values) <= 0.2) == pytest.approx(0.2, abs=0.12)


def test_permutations_of_samples_give_the_p_value_slowly():
    x, y = (part[:50] for part in PAIRS["parabola"])
    rng = streams(3, 3)[2]
    again = [rdc(x, y[rng.permutation(50)], random_state=3) for _ in range(19)]
    found = rdc_test(x, y, n_permutations=19, random_state=3)
    assert found.pvalue == (1 + sum(r >= found.statistic for r in again)) / 20


def test_matrix_has_every_pair():
    data = np.c_[X, X**2, PAIRS["independent"][1], np.ones(300), -X]
    matrix = rdc_matrix(data, random_state=0)
    assert_array_equal(matrix, matrix.T)
    assert_allclose(matrix.diagonal(), [1, 1, 1, 0, 1])
    assert matrix[0, 4] == pytest.approx(1, abs=1e-9)
    assert matrix[0, 1] > 0.99
    assert matrix[0, 2] < 0.3
    bases = [
        features(column, rng, 20, 1 / 6) for column, rng in zip(data.T, streams(0, 5), strict=True)
    ]
    expected = np.cos(subspace_angles(bases[1], bases[2]).min())
    assert matrix[1, 2] == pytest.approx(expected, abs=1e-6)


class Frame:
    """A data frame without an index, as those of polars are."""

    def __init__(self, columns):
        self.array, self.columns = np.column_stack(list(columns.values())), list(columns)
        self.shape = self.array.shape

    def __getitem__(self, rows):
        return self.array[rows]


@pytest.mark.parametrize("kind", [pd.DataFrame, Frame])
def test_matrix_of_a_frame_is_a_frame(kind):
    columns = {"x": X, "square": X**2}
    matrix = rdc_matrix(kind(columns), random_state=0)
    assert isinstance(matrix, kind)
    assert list(getattr(matrix, "index", columns)) == list(matrix.columns) == ["x", "square"]
    assert_array_equal(matrix[:], rdc_matrix(np.c_[X, X**2], random_state=0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rdc(X, X[:-1]), "X has 300 rows but Y has 299"),
        (lambda: rdc(X, np.where(X > 0.9, np.nan, X)), "Y contains NaN at row .* impute"),
        (lambda: rdc([1.0], [2.0]), "n_samples = 1; at least 2 rows"),
        (lambda: rdc(X, X, n_features=0), "n_features=0: give an integer >= 1"),
        (lambda: rdc(X, X, scale=0.0), "scale=0.0: the width .* finite number > 0"),
        (lambda: rdc(X, np.zeros((300, 2, 2))), "Y: Expected 2D array, got 3D"),
        (lambda: rdc_test(X, X, n_permutations=0), "n_permutations=0: give an integer >= 1"),
        (lambda: rdc_matrix(X), "data: Expected 2D array, got 1D"),
        (lambda: permutation_test(X, X, 0, None, 0), "n_permutations=0: give an integer >= 1"),
        (
            lambda: permutation_test(X, X, 9, np.zeros(300), 0),
            "groups has a single label: .* 2 or more",
        ),
        (
            lambda: permutation_test(X, X, 9, np.zeros(5), 0),
            r"groups has shape \(5,\): give one label for each of 300",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def correlations(u, v):
    return np.array([np.corrcoef(u[:, j], v[:, j])[0, 1] for j in range(u.shape[1])])


def autoregressive(rng, lengths, k, rho=0.8):
    """Stationary AR(1) series, one for each block."""
    parts = []
    for length in lengths:
        noise = rng.standard_normal((length, k))
        noise[0] /= np.sqrt(1 - rho**2)
        parts.append(lfilter([1], [1, -rho], noise, axis=0))
    return np.concatenate(parts)


def false_alarms(draw, trials, groups=None, real=0):
    """In how many trials a component beyond the first ``real`` ones has p ≤ ALPHA."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(trials):
        result = permutation_test(*draw(rng), 99, groups, rng)
        found += bool((result.p_values[real:] <= ALPHA).any())
    return found


def test_p_values_are_those_of_a_loop_by_hand():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((80, 4)) * [1.0, 0.4, 0.0, 0.0]
    u, v = (shared + rng.standard_normal((80, 4)) for _ in "uv")
    result = permutation_test(u, v, 199, None, 0)
    assert_allclose(result.correlations, correlations(u, v), atol=1e-12)
    assert result.null.shape == (199, 4)
    assert_allclose(result.null_sum, result.null.sum(axis=1))
    assert_allclose(result.null_band(0.9), np.quantile(result.null, 0.9, axis=0))
    strength = np.abs(result.correlations)
    left, worst = list(range(4)), 0.0
    for j in np.argsort(-strength):
        largest = [max(row[i] for i in left) for row in result.null]
        worst = max(worst, (1 + sum(value >= strength[j] for value in largest)) / 200)
        assert result.p_values[j] == pytest.approx(worst)
        left.remove(j)
    assert result.n_significant() == (result.p_values <= 0.05).sum()
    assert result.n_significant(alpha=1.0) == 4
    mpl.use("Agg")
    assert result.plot().get_xlabel() == "component"


def test_the_null_is_the_law_of_permuted_rows():
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, 60, 3)) + 5
    by_hand = [np.abs(correlations(u, v[rng.permutation(60)])) for _ in range(4000)]
    found = permutation_test(u, v, 4000, None, 1)
    # Two means of 4000 values of standard deviation 0.08: six standard errors.
    assert_allclose(
        found.null.mean(axis=0), np.mean(by_hand, axis=0), atol=6 * 0.08 / 4000**0.5 * 2**0.5
    )


def test_blocks_are_permuted_whole_and_rows_keep_their_order():
    groups = np.repeat([3, 1, 2, 7], 5)[np.random.default_rng(0).permutation(20)]
    within = np.empty(20)
    for label in np.unique(groups):
        within[groups == label] = np.arange(5)
    v = np.column_stack([within, groups])
    # Every row stays with the row at the same place of another block.
    result = permutation_test(v[:, :1], v[:, :1], 50, groups, 0)
    assert_allclose(result.null, 1.0)
    assert_array_equal(result.p_values, 1.0)


@pytest.mark.parametrize("rows", [20, 200])
def test_independent_rows_are_seldom_called_related(rows):
    trials = 400
    found = false_alarms(lambda rng: rng.standard_exponential((2, rows, 5)), trials)
    assert found <= binom.ppf(0.999, trials, ALPHA)
    assert found >= binom.ppf(0.001, trials, ALPHA)  # nor is the test needlessly strict


def test_real_components_do_not_make_others_look_real():
    def draw(rng):
        shared = rng.standard_normal((100, 6)) * [2, 1.5, 0, 0, 0, 0]
        return [shared + rng.standard_normal((100, 6)) for _ in "uv"]

    assert false_alarms(draw, 300, real=2) <= binom.ppf(0.999, 300, ALPHA)
    assert permutation_test(*draw(np.random.default_rng(1)), 999, None, 0).n_significant() == 2


@pytest.mark.parametrize("lengths", [[40] * 15, list(range(25, 65, 2))])
def test_independent_series_in_blocks_are_seldom_called_related(lengths):
    trials = 300
    groups = np.repeat(np.arange(len(lengths)), lengths)

    def draw(rng):
        return [autoregressive(rng, lengths, 3) for _ in "uv"]

    assert false_alarms(draw, trials, groups) <= binom.ppf(0.999, trials, ALPHA)
    # Without blocks, the same series pass for related ones far too often.
    assert false_alarms(draw, 100) > binom.ppf(0.999, 100, 4 * ALPHA)


def test_a_model_tests_its_canonical_variables(halves):
    X, Y = halves
    model = RCCA(4, n_features=40, reg=1e-3, random_state=0, chunk_size=100, dtype="float64")
    model.fit(X[:1000], Y[:1000])
    result = model.permutation_test(X[1000:], Y[1000:], 99, random_state=0)
    expected = model.component_correlations(X[1000:], Y[1000:])
    assert_allclose(result.correlations, expected, atol=1e-12)
    assert_array_equal(result.p_values, 0.01)
    # Under the null each |r| is about √(2/(πn)).
    assert_allclose(result.null_sum.mean(), 4 * np.sqrt(2 / np.pi / 797), rtol=0.15)


def test_constant_variables_are_not_significant():
    u = np.random.default_rng(0).standard_normal((50, 2))
    result = permutation_test(u, np.c_[u[:, 0], np.full(50, 3.0)], 99, None, 0)
    assert_array_equal(result.p_values, [0.01, 1.0])
    assert_array_equal(result.null[:, 1], 0)
