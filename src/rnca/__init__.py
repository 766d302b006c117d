"""Randomized nonlinear component analysis: RPCA and RCCA in time linear in the sample size."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnca._core.moments import Moments
    from rnca.autoencoder import RandomizedAutoencoder
    from rnca.cca import RCCA
    from rnca.clustering import RSpectralClustering
    from rnca.dependence import rdc, rdc_matrix, rdc_test
    from rnca.features import (
        FastfoodFeatures,
        FourierFeatures,
        LinearFeatures,
        NystroemFeatures,
        OrthogonalFeatures,
        QuasiMonteCarloFeatures,
        median_gamma,
    )
    from rnca.lda import RLDA
    from rnca.lupi import PrivilegedFeatures
    from rnca.pca import RPCA

__version__ = "0.1.0"

_HOME = {
    "RCCA": "cca",
    "RPCA": "pca",
    "RLDA": "lda",
    "RSpectralClustering": "clustering",
    "rdc": "dependence",
    "rdc_matrix": "dependence",
    "rdc_test": "dependence",
    "RandomizedAutoencoder": "autoencoder",
    "FourierFeatures": "features",
    "NystroemFeatures": "features",
    "LinearFeatures": "features",
    "OrthogonalFeatures": "features",
    "FastfoodFeatures": "features",
    "QuasiMonteCarloFeatures": "features",
    "median_gamma": "features",
    "Moments": "_core.moments",
    "PrivilegedFeatures": "lupi",
}

__all__ = [
    "RCCA",
    "RLDA",
    "RPCA",
    "FastfoodFeatures",
    "FourierFeatures",
    "LinearFeatures",
    "Moments",
    "NystroemFeatures",
    "OrthogonalFeatures",
    "PrivilegedFeatures",
    "QuasiMonteCarloFeatures",
    "RSpectralClustering",
    "RandomizedAutoencoder",
    "median_gamma",
    "rdc",
    "rdc_matrix",
    "rdc_test",
]


def __getattr__(name: str) -> Any:
    # Names are resolved on first use, so that importing one module of the library does not
    # import all of them: a workflow job then truly depends only on what it names.
    if name in _HOME:
        return getattr(import_module(f"rnca.{_HOME[name]}"), name)
    raise AttributeError(f"module 'rnca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
