import itertools

import numpy as np
import pytest
from scipy.special import erfinv
from sklearn.preprocessing import PolynomialFeatures

from workflow.data.embedded import (
    ATTRIBUTES,
    LATENT_CORRELATIONS,
    SPEECH_SEED,
    largest_products,
    rings,
    speech_mixing,
    synthetic_speech,
)

K = len(LATENT_CORRELATIONS)


@pytest.fixture(scope="module")
def large():
    return synthetic_speech(40_000)


def canonical_correlations(a, b):
    q, r = (np.linalg.qr(view - view.mean(axis=0))[0] for view in (a, b))
    return np.linalg.svd(q.T @ r, compute_uv=False)


def test_linear_correlations_are_those_stated(large):
    found = canonical_correlations(large.arrays["x"].astype(float), large.arrays["y"].astype(float))
    stated = large.meta["population_linear_correlations"]
    assert found[:K] == pytest.approx(stated, abs=0.015)
    assert found[K] < 0.2


def test_nonlinear_correlations_are_those_stated(large):
    """Polynomials up to degree 3 of what the views hold reach every product of up to 3 rho."""
    P, Q = speech_mixing(np.random.SeedSequence(SPEECH_SEED).spawn(2)[0])
    u = (large.arrays["x"] @ P)[:, :K]
    angles = large.arrays["y"] @ Q
    v = np.sqrt(2) * erfinv(np.arctan2(angles[:, :K], angles[:, K : 2 * K]) / np.pi)
    expand = PolynomialFeatures(3, include_bias=False)
    found = canonical_correlations(expand.fit_transform(u), expand.fit_transform(v))
    products = [
        np.prod(chosen)
        for degree in (1, 2, 3)
        for chosen in itertools.combinations_with_replacement(LATENT_CORRELATIONS, degree)
    ]
    assert found == pytest.approx(sorted(products, reverse=True), abs=0.03)
    assert set(np.round(sorted(products)[-3:], 9)) <= set(
        np.round(large.meta["population_correlations"], 9)
    )


def test_largest_products_by_enumeration():
    rho = np.array([0.9, 0.7, 0.5])
    powers = itertools.product(range(12), repeat=3)
    every = sorted((float(np.prod(rho**p)) for p in powers if any(p)), reverse=True)
    assert largest_products(rho, 15) == pytest.approx(every[:15])


def test_synthetic_rows_are_the_same_each_time():
    first, again = synthetic_speech(50), synthetic_speech(50)
    assert np.array_equal(first.arrays["x"], again.arrays["x"])


def test_linear_methods_see_nothing_in_the_rings():
    drawn = rings().arrays
    assert canonical_correlations(drawn["x"].astype(float), drawn["y"].astype(float))[0] < 0.06
    for view in (drawn["x"], drawn["y"]):
        variances = np.linalg.eigvalsh(np.cov(view.T))[::-1]
        assert variances[1] > 0.95 * variances[0] > 90 * variances[2]


@pytest.mark.parametrize(("view", "radii"), [("x", (1, 3, 5)), ("y", (5, 3, 1))])
def test_rings_are_told_apart_by_their_radius(view, radii):
    drawn = rings(3000).arrays
    distance = np.abs(np.linalg.norm(drawn[view], axis=1)[:, None] - np.array(radii))
    assert (distance.argmin(axis=1) == drawn["labels"]).mean() > 0.99


def test_attributes_tell_the_digits_apart():
    table = np.array(list(ATTRIBUTES.values()))
    assert table.shape[1] == len(np.unique(table, axis=1).T) == 10
    assert not (table.min(axis=1) == table.max(axis=1)).any()
