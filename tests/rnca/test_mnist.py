"""Real MNIST in halves, against the sums measured once on the same protocol."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from rnca import RCCA

pytestmark = pytest.mark.skipif(
    "RNCA_MIRROR" not in os.environ,
    reason="RNCA_MIRROR names no directory with mnist/train-images-idx3-ubyte.gz",
)


def images(name):
    path = Path(os.environ["RNCA_MIRROR"]) / "mnist" / f"{name}-images-idx3-ubyte.gz"
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)


@pytest.fixture(scope="module")
def split():
    """Left and right halves of 54,000 random digits to fit and 10,000 others to test."""
    digits = np.concatenate([images("train"), images("t10k")])
    assert digits.shape == (70_000, 28, 28)
    order = np.random.default_rng(0).permutation(len(digits))[:64_000]
    left = digits[:, :, :14].reshape(len(digits), -1)[order]
    right = digits[:, :, 14:].reshape(len(digits), -1)[order]
    return (left[:54_000], right[:54_000]), (left[54_000:], right[54_000:])


# Within 0.3: other draws of the maps and of the split move a sum by much less, a wrong width,
# covariance or score by more.
@pytest.mark.parametrize(("kind", "expected"), [("fourier", 36.6), ("nystroem", 42.2)])
def test_sum_of_50_test_correlations(split, kind, expected):
    train, test = split
    model = RCCA(50, feature_map=kind, n_features=1000, random_state=0).fit(*train)
    assert model.score(*test) == pytest.approx(expected, abs=0.3)
    assert model.correlations_.sum() > model.score(*test)
