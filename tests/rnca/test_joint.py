"""Feature maps side by side."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rnca import RPCA, FourierFeatures, LinearFeatures
from rnca.features import JointFeatures

X = np.random.default_rng(0).normal(size=(50, 3)) + 7
ROUNDING = 1e-13  # of features that are sums of numbers up to 10, near zero or not


def joint(**given):
    return JointFeatures([LinearFeatures(), FourierFeatures(6)], random_state=0, **given)


def test_features_of_each_map_follow_those_of_the_one_before():
    linear, fourier = LinearFeatures(), FourierFeatures(6, random_state=4)
    together = JointFeatures([linear, fourier]).fit_transform(X)
    apart = np.hstack([linear.fit_transform(X), fourier.fit_transform(X)])
    assert_allclose(together, apart, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("m", [1, 3, 4, 9])
def test_a_prefix_is_the_first_features(m):
    fitted = joint().fit(X)
    assert fitted.prefix(m).n_features_out == m
    prefix = fitted.prefix(m).transform(X)
    assert_allclose(prefix, fitted.transform(X)[:, :m], rtol=0, atol=ROUNDING)


def test_seed_and_type_reach_every_map():
    again = clone(joint()).fit(X)
    assert_array_equal(joint().fit_transform(X), again.transform(X))
    assert again.fingerprint() == joint().fit(X).fingerprint()
    assert again.fingerprint() != joint().set_params(random_state=1).fit(X).fingerprint()
    assert joint(dtype="float32").fit_transform(X).dtype == np.float32
    with pytest.raises(ValueError, match="features are float32 or float64"):
        joint(dtype="float16").fit(X)


def test_estimators_take_it():
    model = RPCA(2, feature_map=joint()).fit_chunks([X[:20], X[20:]])
    assert model.map_.n_features_out == 9
    assert model.transform(X).shape == (50, 2)
