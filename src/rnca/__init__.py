"""Randomized nonlinear component analysis: RPCA and RCCA in time linear in the sample size."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnca.cca import RCCA
    from rnca.exact import kernel_cca, kernel_pca
    from rnca.features import FourierFeatures, LinearFeatures, NystroemFeatures, median_gamma
    from rnca.lupi import PrivilegedFeatures
    from rnca.moments import Moments
    from rnca.pca import RPCA
    from rnca.svmplus import SVMPlus

__version__ = "0.1.0"

_HOME = {
    "RCCA": "cca",
    "RPCA": "pca",
    "FourierFeatures": "features",
    "NystroemFeatures": "features",
    "LinearFeatures": "features",
    "median_gamma": "features",
    "Moments": "moments",
    "PrivilegedFeatures": "lupi",
    "SVMPlus": "svmplus",
    "kernel_cca": "exact",
    "kernel_pca": "exact",
}

__all__ = [
    "RCCA",
    "RPCA",
    "FourierFeatures",
    "LinearFeatures",
    "Moments",
    "NystroemFeatures",
    "PrivilegedFeatures",
    "SVMPlus",
    "kernel_cca",
    "kernel_pca",
    "median_gamma",
]


def __getattr__(name: str) -> Any:
    # Names are resolved on first use, so that importing one module of the library does not
    # import all of them: a workflow job then truly depends only on what it names.
    if name in _HOME:
        return getattr(import_module(f"rnca.{_HOME[name]}"), name)
    raise AttributeError(f"module 'rnca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
