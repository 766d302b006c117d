"""Random nonlinear feature maps z(x) (Section 2 of the paper).

Every map has the *prefix property*: its first m features are those of any larger draw with the
same ``random_state``. One pass over the data at the largest m therefore serves every smaller m.
"""

from collections.abc import Callable

from rnca.features.base import FeatureMap, median_gamma
from rnca.features.cosine import (
    FastfoodFeatures,
    FourierFeatures,
    OrthogonalFeatures,
    QuasiMonteCarloFeatures,
)
from rnca.features.linear import JointFeatures, LinearFeatures
from rnca.features.nystroem import NystroemFeatures, whitened_nystroem

FEATURE_MAPS: dict[str, Callable[..., FeatureMap]] = {
    "fourier": FourierFeatures,
    "nystroem": NystroemFeatures,
    "whitened": whitened_nystroem,
    "linear": LinearFeatures,
    "orthogonal": OrthogonalFeatures,
    "fastfood": FastfoodFeatures,
    "qmc": QuasiMonteCarloFeatures,
}
"""The maps by the names that RPCA and RCCA know them by."""

__all__ = [
    "FEATURE_MAPS",
    "FastfoodFeatures",
    "FeatureMap",
    "FourierFeatures",
    "JointFeatures",
    "LinearFeatures",
    "NystroemFeatures",
    "OrthogonalFeatures",
    "QuasiMonteCarloFeatures",
    "median_gamma",
]
