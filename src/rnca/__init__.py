"""Randomized nonlinear component analysis: RPCA and RCCA in time linear in the sample size."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnca.autoencoder import RandomizedAutoencoder
    from rnca.bounds import cca_bound, correlation_bound, kernel_bound
    from rnca.cca import RCCA
    from rnca.clustering import RSpectralClustering
    from rnca.dcca import DCCA
    from rnca.dependence import rdc, rdc_matrix, rdc_test
    from rnca.exact import kernel_cca, kernel_pca, spectral_clustering
    from rnca.features import (
        FastfoodFeatures,
        FourierFeatures,
        LinearFeatures,
        NystroemFeatures,
        OrthogonalFeatures,
        QuasiMonteCarloFeatures,
        median_gamma,
    )
    from rnca.kcca import KCCA
    from rnca.lda import RLDA
    from rnca.lupi import PrivilegedFeatures
    from rnca.moments import Moments
    from rnca.pca import RPCA
    from rnca.svmplus import SVMPlus

__version__ = "0.1.0"

_HOME = {
    "RCCA": "cca",
    "RPCA": "pca",
    "RLDA": "lda",
    "RSpectralClustering": "clustering",
    "rdc": "dependence",
    "rdc_matrix": "dependence",
    "rdc_test": "dependence",
    "DCCA": "dcca",
    "KCCA": "kcca",
    "RandomizedAutoencoder": "autoencoder",
    "FourierFeatures": "features",
    "NystroemFeatures": "features",
    "LinearFeatures": "features",
    "OrthogonalFeatures": "features",
    "FastfoodFeatures": "features",
    "QuasiMonteCarloFeatures": "features",
    "median_gamma": "features",
    "Moments": "moments",
    "PrivilegedFeatures": "lupi",
    "SVMPlus": "svmplus",
    "kernel_cca": "exact",
    "kernel_pca": "exact",
    "spectral_clustering": "exact",
    "kernel_bound": "bounds",
    "cca_bound": "bounds",
    "correlation_bound": "bounds",
}

__all__ = [
    "DCCA",
    "KCCA",
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
    "SVMPlus",
    "cca_bound",
    "correlation_bound",
    "kernel_bound",
    "kernel_cca",
    "kernel_pca",
    "median_gamma",
    "rdc",
    "rdc_matrix",
    "rdc_test",
    "spectral_clustering",
]


def __getattr__(name: str) -> Any:
    # Names are resolved on first use, so that importing one module of the library does not
    # import all of them: a workflow job then truly depends only on what it names.
    if name in _HOME:
        return getattr(import_module(f"rnca.{_HOME[name]}"), name)
    raise AttributeError(f"module 'rnca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
