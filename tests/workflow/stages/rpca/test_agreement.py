"""Measures of agreement with exact kernel methods, against dense computations."""

import numpy as np
import pytest

from rnca import FourierFeatures
from workflow.lib.exact import centred_kernel, kernel_pca
from workflow.stages.rpca.fit import (
    captured,
    operator_norm,
    principal_angles,
    relative_error,
    relative_kernel_error,
)

GAMMA = 1e-3


@pytest.fixture
def rows(halves):
    return halves[0][:150]


def test_kernel_error_is_the_dense_operator_norm(rows):
    features = FourierFeatures(60, gamma=GAMMA, random_state=0).fit(rows)
    z, K = features.transform(rows), centred_kernel(rows, GAMMA)
    z -= z.mean(axis=0)
    norm = operator_norm(K.__matmul__, len(K))
    assert norm == pytest.approx(np.linalg.norm(K, 2), rel=1e-3)
    dense = np.linalg.norm(2 / 60 * z @ z.T - K, 2) / norm
    assert relative_kernel_error(z, 2 / 60, K, norm) == pytest.approx(dense, rel=1e-3)


def test_angles_between_known_planes():
    plane, turned = np.eye(4)[:, :2], np.eye(4)[:, [0, 2]]
    turned = turned * np.sqrt(0.75) + np.eye(4)[:, [0, 1]] * 0.5
    angles = principal_angles(plane @ [[2.0, 1.0], [0.0, 3.0]], turned)
    # The other angle is zero, and found as an arc cosine: an error of eps in the cosine is one of
    # √(2·eps) in the angle, 1e-6 degrees.
    assert angles == pytest.approx((60, 30), abs=1e-5)


def test_exact_components_capture_everything_and_others_less(rows):
    exact, K = kernel_pca(rows, 5, gamma=GAMMA), centred_kernel(rows, GAMMA)
    assert captured(exact.scores, K, exact.eigenvalues) == pytest.approx(1)
    later = kernel_pca(rows, 10, gamma=GAMMA).scores[:, 5:]
    assert captured(later, K, exact.eigenvalues) < 0.5


def test_relative_error_of_values():
    assert relative_error([3.0, 4.0], [3.0, 0.0]) == pytest.approx(4 / 3)
