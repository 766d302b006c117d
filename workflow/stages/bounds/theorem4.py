"""Stage bounds, second part: where Theorem 4 fails, what holds in its place, and Nyström's map."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from tqdm import tqdm

from rnca.features import NystroemFeatures
from workflow.lib.job import job
from workflow.lib.provenance import write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.bounds.fit import SimulatedView, by_features, regularised
from workflow.stages.bounds.norms import Matrix, cca_errors, squared_correlations

# The γ at which K̂ has the error that these features have at γ = 1.
FEATURES = {"unit": 2.0, "unbiased": 1.0}


def violations(settings: SimpleNamespace) -> pd.DataFrame:
    """Compute ‖R̂⁻¹L̂ − R⁻¹L‖ of normal data with a narrow kernel on x and a wide one on y.

    Kx is then nearly the identity, and Ky nearly constant. ``unbiased`` features estimate K by K̂,
    ``unit`` ones, as in the theorem, K/2 by K̂/2.
    """
    cases = [(repeat, n) for repeat in range(settings.repeats) for n in settings.n]
    records = [
        {"repeat": repeat, "n": n, **record}
        for repeat, n in tqdm(cases, desc="counterexample", unit="draw", leave=False)
        for record in _violations(settings, n, repeat)
    ]
    return pd.DataFrame(records)


def _violations(settings: SimpleNamespace, n: int, repeat: int) -> Iterator[dict[str, Any]]:
    ratios = sorted(set(settings.ratios))
    sizes = [max(1, round(ratio * n)) for ratio in ratios]
    shape, purpose = (n, settings.columns), ("counterexample", repeat, n)
    x, y = (
        SimulatedView(width, shape, sizes[-1], settings.seed, *purpose, name)
        for width, name in zip(settings.widths, ("x", "y"), strict=True)
    )
    kernels = x.kernel(n), y.kernel(n)
    nested = (by_features(view.features(n, sizes[-1]), sizes) for view in (x, y))
    exact = {
        gamma: regularised(kernels, gamma)
        for gamma in {g * factor for g in settings.gamma for factor in FEATURES.values()}
    }
    for ratio, m, *estimates in zip(ratios, sizes, *nested, strict=True):
        for features, factor in FEATURES.items():
            for gamma in settings.gamma:
                estimate = regularised(estimates, factor * gamma)
                error = max(cca_errors(exact[factor * gamma], estimate))
                labels = {"ratio": ratio, "m": m, "gamma": gamma, "features": features}
                yield labels | {"error": error}


def correlation_errors(settings: SimpleNamespace) -> pd.DataFrame:
    """Compute the largest error of a squared regularised canonical correlation by repeat, m and γ.

    Kernel widths are those of the median heuristic; ``kernel_norm`` is the larger ‖K‖ of the views,
    ``dimension_x`` and ``dimension_y`` are the traces of their K(K + γI)⁻¹, ``largest_exact`` is
    the largest correlation by K though the views are independent. ``estimate_…`` are the errors of
    the first view's kernel by the features of each map.
    """
    records = [
        {"repeat": repeat, "n": settings.n, **record}
        for repeat in tqdm(range(settings.repeats), desc="eigenvalues", unit="draw", leave=False)
        for record in _correlation_errors(settings, repeat)
    ]
    return pd.DataFrame(records)


def _correlation_errors(settings: SimpleNamespace, repeat: int) -> Iterator[dict[str, Any]]:
    shape, m = (settings.n, settings.columns), max(settings.m)
    views = [
        SimulatedView("median", shape, m, settings.seed, "correlations", repeat, name)
        for name in ("x", "y")
    ]
    x, y = (view.kernel(settings.n) for view in views)
    norm = max(x.norm(), y.norm())
    spectra = [scipy.linalg.eigvalsh(kernel.K) for kernel in (x, y)]
    exact = {gamma: squared_correlations((x.K, y.K), gamma) for gamma in settings.gamma}
    z = [view.features(settings.n, m) for view in views]
    landmarks = derived_seed(settings.seed, "bounds", "landmarks", repeat)
    for m in settings.m:
        first, second = (2 / m * each[:, :m] @ each[:, :m].T for each in z)
        estimates = _estimate_errors(views[0], x.K, z[0], m, landmarks)
        for gamma in settings.gamma:
            found = squared_correlations((first, second), gamma)
            dimensions = [float((values / (values + gamma)).sum()) for values in spectra]
            yield {
                "m": m,
                "gamma": gamma,
                "kernel_norm": norm,
                "error": float(np.abs(found - exact[gamma]).max()),
                "largest_exact": float(np.sqrt(exact[gamma][0])),
                "dimension_x": dimensions[0],
                "dimension_y": dimensions[1],
                **estimates,
            }


def _estimate_errors(
    view: SimulatedView, K: Matrix, z: Matrix, m: int, seed: int
) -> dict[str, float]:
    """Return how far from K, or from K²/n, m features of each map are, relative to its norm.

    Fourier features estimate K by (2/m)·zzᵀ, whitened Nyström features by zzᵀ, and Nyström
    features as in the paper, kernel values at m rows, are taken for zzᵀ/m. None for m > n.
    """
    n = len(K)
    if m > n:
        return {}
    maps = [
        NystroemFeatures(m, gamma=view.gamma, whiten=whiten, random_state=seed)
        for whiten in (False, True)
    ]
    values, whitened = (landmarks.fit_transform(view.rows) for landmarks in maps)
    squared = K @ K / n
    pairs = {
        "fourier": (2 / m * z[:, :m] @ z[:, :m].T, K),
        "nystroem": (values @ values.T / m, K),
        "nystroem_squared": (values @ values.T / m, squared),
        "whitened": (whitened @ whitened.T, K),
    }
    return {
        f"estimate_{name}": float(np.linalg.norm(estimate - target, 2) / np.linalg.norm(target, 2))
        for name, (estimate, target) in pairs.items()
    }


if __name__ == "__main__":
    with job(snakemake) as asked:
        write_csv(snakemake.output.counterexample, violations(asked))
        correlations = SimpleNamespace(**asked.correlations, seed=asked.seed)
        write_csv(snakemake.output.correlations, correlation_errors(correlations))
