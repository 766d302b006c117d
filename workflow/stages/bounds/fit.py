"""Stage bounds: the norms of Theorems 3 and 4 by simulation."""

from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics.pairwise import rbf_kernel
from tqdm import tqdm

from rnca.features import FourierFeatures, median_gamma
from workflow.lib.job import job
from workflow.lib.provenance import write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.bounds.norms import (
    ExactKernel,
    FactoredKernel,
    FeatureKernel,
    Matrix,
    Regularised,
    Views,
    cca_errors,
    exact_moments,
    kernel_error,
)

# Repeats that compute exact moments, too: these vary little from one draw of rows to another, and
# cost as much as the norms.
REPEATS_WITH_MOMENTS = 20
MOMENTS = [f"kernel_{moment}_{view}" for view in "xy" for moment in ("variance", "moment")]

Record = dict[str, Any]
Kernels = tuple[ExactKernel, ExactKernel]


class SimulatedView:
    """Normal rows of one view and a map with m features, from streams named by their purpose.

    The width is the s of exp(−s‖x − y‖²), from s₀ = 1/median of squared distances: ``median`` is
    s₀, ``squared`` s₀², ``doubled`` 2s₀² (weights drawn with deviation 2s₀ where √(2s₀) is meant);
    or a number.
    """

    def __init__(
        self, width: str | float, shape: tuple[int, int], m: int, seed: int, *purpose: str | int
    ) -> None:
        def seed_of(what: str) -> int:
            return derived_seed(seed, "bounds", *purpose, what)

        self.rows: Matrix = np.random.default_rng(seed_of("rows")).standard_normal(shape)
        self.gamma = _width(width, self.rows, seed_of("width"))
        self.map = FourierFeatures(m, gamma=self.gamma, random_state=seed_of("features"))
        self.map.fit(self.rows)

    def kernel(self, n: int) -> ExactKernel:
        """Kernel of the first n rows."""
        return ExactKernel(rbf_kernel(self.rows[:n], gamma=self.gamma))

    def features(self, n: int, m: int) -> Matrix:
        """First m features of the first n rows."""
        return self.map.prefix(m).transform(self.rows[:n]).astype(np.float64, copy=False)


def _width(width: str | float, rows: Matrix, seed: int) -> float:
    if not isinstance(width, str):
        return width
    s = median_gamma(rows, random_state=seed)
    known = {"median": s, "squared": s**2, "doubled": 2 * s**2}
    if width not in known:
        raise ValueError(f"width={width!r}: known are {', '.join(known)}, or a number > 0.")
    return known[width]


def simulate(
    sweep: SimpleNamespace, repeats: Iterable[int], largest_n: int | None = None
) -> pd.DataFrame:
    """Compute ‖K‖ and ‖K̂ − K‖ of both views, and the errors of both blocks, at every point.

    A repeat is one draw of rows and of features: smaller n take its first rows, smaller m its first
    features, so that all points of a repeat share kernels, factors and features. Sweeps share their
    draws, so that widths are compared in pairs. Any set of repeats gives the same rows as part of
    a larger one, and so does ``largest_n``, which leaves out larger n than this.

    The first repeats also have the exact moments of both views, m times ‖E(K̂ − K)²‖ as
    ``kernel_variance`` and m times E‖K̂ − K‖² in Frobenius norm as ``kernel_moment``.
    """
    records = []
    for repeat in tqdm(repeats, desc=f"bounds, {sweep.name}", unit="draw", leave=False):
        labels = {"width": sweep.width, "repeat": repeat}
        records += [labels | record for record in _points(sweep, repeat, largest_n)]
    return pd.DataFrame(records)


def _points(sweep: SimpleNamespace, repeat: int, largest_n: int | None) -> Iterator[Record]:
    n, m = (max(*getattr(sweep, key), sweep.fixed[key]) for key in ("n", "m"))
    views = [
        SimulatedView(sweep.width, (n, sweep.columns), m, sweep.seed, repeat, name)
        for name in ("x", "y")
    ]
    sizes = sorted({k for k in sweep.n if k <= (largest_n or n)} | {sweep.fixed["n"]})
    moments = {k: _moments(k, views if repeat < REPEATS_WITH_MOMENTS else []) for k in sizes}
    x, y = views
    kernels = x.kernel(sweep.fixed["n"]), y.kernel(sweep.fixed["n"])
    for record in (
        *_over_rows(sweep, sizes, x, y),
        *_over_features(sweep, kernels, x, y),
        *_over_gamma(sweep, kernels, x, y),
    ):
        yield record | moments[record["n"]]


def _moments(n: int, views: Sequence[SimulatedView]) -> Record:
    found = [moment for view in views for moment in exact_moments(view.kernel(n))]
    return dict(zip(MOMENTS, found or [np.nan] * len(MOMENTS), strict=True))


def _over_rows(
    sweep: SimpleNamespace, sizes: Sequence[int], x: SimulatedView, y: SimulatedView
) -> Iterator[Record]:
    m, gamma = sweep.fixed["m"], sweep.fixed["gamma"]
    whole = [view.kernel(sizes[-1]).factored(gamma, overwrite=True) for view in (x, y)]
    nested = (_by_rows(view.features(sizes[-1], m), sizes) for view in (x, y))
    for n, *estimates in zip(sizes, *nested, strict=True):
        kernels = [each.leading(n) for each in whole]
        first, second = (Regularised(kernel, kernel.inverse) for kernel in kernels)
        record = {"n": n, "m": m, "gamma": gamma, **_kernel_errors(kernels, estimates)}
        yield record | _cca_errors((first, second), estimates, gamma)


def _over_features(
    sweep: SimpleNamespace, kernels: Kernels, x: SimulatedView, y: SimulatedView
) -> Iterator[Record]:
    n, gamma = sweep.fixed["n"], sweep.fixed["gamma"]
    sizes = sorted(set(sweep.m) - {sweep.fixed["m"]})
    if not sizes:
        return
    exact = regularised(kernels, gamma)
    nested = (by_features(view.features(n, sizes[-1]), sizes) for view in (x, y))
    for m, *estimates in zip(sizes, *nested, strict=True):
        record = {"n": n, "m": m, "gamma": gamma, **_kernel_errors(kernels, estimates)}
        yield record | _cca_errors(exact, estimates, gamma)


def _over_gamma(
    sweep: SimpleNamespace, kernels: Kernels, x: SimulatedView, y: SimulatedView
) -> Iterator[Record]:
    n, m = sweep.fixed["n"], sweep.fixed["m"]
    estimates = [FeatureKernel(view.features(n, m)) for view in (x, y)]
    shared = {"n": n, "m": m, **_kernel_errors(kernels, estimates)}
    for gamma in sorted(set(sweep.gamma) - {sweep.fixed["gamma"]}):
        exact = regularised(kernels, gamma)
        yield shared | {"gamma": gamma} | _cca_errors(exact, estimates, gamma)


def _by_rows(z: Matrix, sizes: Sequence[int]) -> Iterator[FeatureKernel]:
    """Yield the estimate for the first n rows for each n of the increasing ``sizes``."""
    m = z.shape[1]
    for n, known in zip(sizes, _nested_grams(z, sizes, m), strict=True):
        yield FeatureKernel(z[:n], known)


def by_features(z: Matrix, sizes: Sequence[int]) -> Iterator[FeatureKernel]:
    """Yield the estimate by the first m features for each m of the increasing ``sizes``."""
    n = z.shape[0]
    for m, known in zip(sizes, _nested_grams(z.T, sizes, n - 1), strict=True):
        yield FeatureKernel(z[:, :m], known)


def _nested_grams(z: Matrix, sizes: Sequence[int], small: int) -> Iterator[Matrix]:
    """Yield, for the first k rows of z, zzᵀ if k <= small, else zᵀz, for increasing k."""
    leading = [k for k in sizes if k <= small]
    if leading:
        first = z[: leading[-1]]
        block = first @ first.T
        for k in leading:
            yield block[:k, :k]
    done, total = 0, np.zeros(2 * z.shape[1:])
    for k in sizes[len(leading) :]:
        total = total + z[done:k].T @ z[done:k]
        done = k
        yield total


def _kernel_errors(
    kernels: Sequence[ExactKernel | FactoredKernel], estimates: Sequence[FeatureKernel]
) -> dict[str, float]:
    norms = {
        f"kernel_norm_{view}": kernel.norm() for view, kernel in zip("xy", kernels, strict=True)
    }
    errors = {
        f"kernel_error_{view}": kernel_error(kernel, estimate)
        for view, kernel, estimate in zip("xy", kernels, estimates, strict=True)
    }
    return norms | errors


def regularised(kernels: Sequence[ExactKernel | FeatureKernel], gamma: float) -> Views:
    """Factor the kernels of two views for one γ."""
    x, y = (kernel.regularised(gamma) for kernel in kernels)
    return x, y


def _cca_errors(exact: Views, estimates: Sequence[FeatureKernel], gamma: float) -> dict[str, float]:
    xy, yx = cca_errors(exact, regularised(estimates, gamma))
    return {"cca_error_xy": xy, "cca_error_yx": yx}


if __name__ == "__main__":
    with job(snakemake) as asked:
        write_csv(snakemake.output[0], simulate(asked, range(*asked.repeats), asked.largest_n))
