"""Memory and time limits of jobs, which double with each further attempt at the same job."""

from collections.abc import Callable
from math import ceil
from typing import Any

import psutil

# Of a job's Python and libraries and, on a cluster, of the two Snakemakes it is started by.
PROCESSES_MB = 700


def fit_mem_mb(features: int) -> int:
    """Estimate the memory of a fit of two views, in millions of bytes.

    That is six m × m matrices of float64, four buffers of a chunk for each view, and what Python
    and its libraries take. Of the views only chunks are held.
    """
    matrices, chunks = 6 * 8 * features**2, 2 * 4 * 8 * 2048 * features
    return PROCESSES_MB + ceil((matrices + chunks) / 1e6)


def machine_mb() -> int:
    """Return the memory of this machine, in millions of bytes."""
    return psutil.virtual_memory().total // 10**6


def growing(amount: int | Callable[[Any], int]) -> Callable[[Any, int], int]:
    """Make a resource function of a first amount, or of what a job's wildcards make it."""

    def grown(wildcards: Any, attempt: int) -> int:
        return (amount if isinstance(amount, int) else amount(wildcards)) << (attempt - 1)

    return grown
