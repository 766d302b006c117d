"""Exponents of power laws, fitted by least squares."""

import numpy as np
import pytest

from workflow.lib.tables import fitted_exponent


def test_exponent_of_a_power_law_with_noise_lies_within_its_error():
    x = np.geomspace(1, 1e4, 40)
    noise = np.random.default_rng(0).normal(0, 0.1, 40)
    fit = fitted_exponent(x, 3 * x**1.7 * np.exp(noise))
    assert abs(fit.value - 1.7) < 3 * fit.error < 0.1


def test_two_points_give_an_exponent_without_an_error():
    fit = fitted_exponent([1, 10], [5, 500])
    assert fit.value == pytest.approx(2)
    assert fit.error == np.inf
