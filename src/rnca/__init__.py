"""Randomized nonlinear component analysis: RPCA and RCCA in time linear in the sample size."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = {
    "moments": ("Moments",),
    "rows": ("shard_bounds",),
    "autoencoder": ("RandomizedAutoencoder",),
    "cca": ("RCCA",),
    "clustering": ("RSpectralClustering",),
    "dependence": ("rdc", "rdc_matrix", "rdc_test"),
    "features": (
        "FastfoodFeatures",
        "FourierFeatures",
        "LinearFeatures",
        "NystroemFeatures",
        "OrthogonalFeatures",
        "QuasiMonteCarloFeatures",
        "median_gamma",
    ),
    "inference": ("PermutationResult",),
    "lda": ("RLDA",),
    "lupi": ("PrivilegedFeatures",),
    "model_selection": ("RCCACV",),
    "pca": ("RPCA",),
    "regression": ("FeatureRidge",),
    "saving": ("load_model", "save_model"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    # Resolved on first use: a workflow job then imports, and depends on, only what it names.
    if name in _HOME:
        return getattr(import_module(f"rnca.{_HOME[name]}"), name)
    raise AttributeError(f"module 'rnca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
