"""Random nonlinear feature maps z(x) (Section 2 of the paper).

Every map has the *prefix property*: its first m features are those of any larger draw with the
same ``random_state``. One pass over the data at the largest m therefore serves every smaller m.
"""

from rnca.features.base import FeatureMap
from rnca.features.cosine import FourierFeatures, OrthogonalFeatures, QuasiMonteCarloFeatures
from rnca.features.fastfood import FastfoodFeatures
from rnca.features.linear import LinearFeatures
from rnca.features.nystroem import NystroemFeatures
from rnca.features.width import median_gamma

__all__ = [
    "FastfoodFeatures",
    "FeatureMap",
    "FourierFeatures",
    "LinearFeatures",
    "NystroemFeatures",
    "OrthogonalFeatures",
    "QuasiMonteCarloFeatures",
    "median_gamma",
]
