"""RDC against an independent implementation of the published recipe."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles

from rnca import rdc, rdc_matrix, rdc_test
from rnca._core.seeding import streams

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


def test_a_constant_depends_on_nothing():
    constant = np.full(300, 0.1)
    assert rdc(X, constant, random_state=0) == rdc(constant, constant, random_state=0) == 0
    assert rdc_test(X, constant, n_permutations=9, random_state=0) == (0.0, 1.0)
    with_it = rdc(np.c_[X, constant], X**2, random_state=0)
    assert with_it > 0.99


def test_a_handful_of_samples_always_seems_dependent():
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
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
