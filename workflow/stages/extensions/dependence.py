"""Stage extensions, dependence: power of RDC, Pearson's and Spearman's correlation."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata
from tqdm import tqdm

from rnca.dependence import rdc
from workflow.lib.job import job
from workflow.lib.provenance import write_csv
from workflow.lib.seeding import derived_seed

Sample = npt.NDArray[np.float64]

# Share of independent samples that a test may call dependent.
LEVEL = 0.05

# From x, uniform on (-1, 1), to y without noise, of standard deviation 0.58, 0.60 and 0.82.
PATTERNS: dict[str, Callable[[Sample, np.random.Generator], Sample]] = {
    "line": lambda x, rng: x,
    "parabola": lambda x, rng: 2 * x**2,
    "circle": lambda x, rng: rng.choice([-1.0, 1.0], len(x)) * np.sqrt(1 - x**2),
}


def pearson(x: Sample, y: Sample, seed: int) -> float:
    """Return |r|; ``seed`` is ignored."""
    return float(abs(np.corrcoef(x, y)[0, 1]))


def spearman(x: Sample, y: Sample, seed: int) -> float:
    """Return |r| of the ranks; ``seed`` is ignored."""
    return pearson(rankdata(x), rankdata(y), seed)


def randomized(x: Sample, y: Sample, seed: int) -> float:
    """Return the RDC with features drawn from ``seed``."""
    return rdc(x, y, random_state=seed)


METHODS = {"pearson": pearson, "spearman": spearman, "rdc": randomized}


def power(settings: SimpleNamespace) -> pd.DataFrame:
    """Estimate how often each method finds each pattern, at the level of 5 %.

    The critical value of a statistic is its 95 % quantile over samples whose x is drawn anew, so
    that both margins stay and the dependence goes.
    """
    cases = [(pattern, noise) for pattern in PATTERNS for noise in settings.noise]
    records = [
        record
        for pattern, noise in tqdm(cases, "power", unit="case")
        for record in _power(settings, pattern, noise)
    ]
    return pd.DataFrame(records)


def _power(settings: SimpleNamespace, pattern: str, noise: float) -> list[dict[str, Any]]:
    level = settings.noise.index(noise)
    seed = derived_seed(settings.seed, "extensions", "dependence", pattern, level)
    rng = np.random.default_rng(seed)
    statistics = np.empty((2, settings.repeats, len(METHODS)))
    for repeat in range(settings.repeats):
        for dependent in (0, 1):
            x, y = _sample(settings, pattern, noise, rng)
            x = x if dependent else rng.uniform(-1, 1, settings.rows)
            weights = int(rng.integers(2**32))
            statistics[dependent, repeat] = [of(x, y, weights) for of in METHODS.values()]
    critical = np.quantile(statistics[0], 1 - LEVEL, axis=0)
    found = (statistics[1] > critical).mean(axis=0)
    labels = {"pattern": pattern, "noise": noise}
    sizes = {"n": settings.rows, "repeats": settings.repeats}
    return [
        {**labels, "method": method, **sizes, "critical": threshold, "power": share}
        for method, threshold, share in zip(METHODS, critical, found, strict=True)
    ]


def _sample(
    settings: SimpleNamespace, pattern: str, noise: float, rng: np.random.Generator
) -> tuple[Sample, Sample]:
    x = rng.uniform(-1, 1, settings.rows)
    return x, PATTERNS[pattern](x, rng) + noise * rng.standard_normal(settings.rows)


if __name__ == "__main__":
    with job(snakemake) as asked:
        write_csv(snakemake.output[0], power(asked))
