"""Permutation tests against loops by hand, and their level under the null hypothesis."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.stats import binom

from rnca import RCCA
from rnca.inference import permutation_test

ALPHA = 0.05


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


def test_constant_variables_are_not_significant(halves):
    u = np.random.default_rng(0).standard_normal((50, 2))
    v = u.copy()
    v[:, 1] = 3.0
    result = permutation_test(u, v, 99, None, 0)
    assert_array_equal(result.p_values, [0.01, 1.0])
    assert_array_equal(result.null[:, 1], 0)


def test_bad_input_is_named(halves):
    X, Y = halves
    model = RCCA(2, n_features=20, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_permutations=0: give an integer >= 1"):
        model.permutation_test(X, Y, 0)
    with pytest.raises(ValueError, match=r"groups has a single label: .* 2 or more"):
        model.permutation_test(X, Y, groups=np.zeros(1797))
    with pytest.raises(
        ValueError, match=r"groups has shape \(5,\): give one label for each of 1797"
    ):
        model.permutation_test(X, Y, groups=np.zeros(5))


def test_it_plots_itself():
    mpl.use("Agg")
    u = np.random.default_rng(0).standard_normal((50, 3))
    axes = permutation_test(u, u, 20, None, 0).plot()
    assert axes.get_xlabel() == "component"
