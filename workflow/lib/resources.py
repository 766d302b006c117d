"""Memory and time of jobs: what a cluster is asked for, more at each further attempt."""

from collections.abc import Callable
from inspect import signature
from math import ceil
from typing import Any

# Of a job's Python and libraries and, on a cluster, of the two Snakemakes it is started by.
PROCESSES_MB = 700
# What one core was measured to do in the covariance pass of a fit, 4·n·m² operations, and less than
# any core of today does.
OPERATIONS_PER_SECOND = 33e9
CAUTIOUS_OPERATIONS_PER_SECOND = 20e9


def fit_mem_mb(features: int) -> int:
    """Estimate the memory of a fit of two views, in millions of bytes.

    That is six m × m matrices of float64, four buffers of a chunk for each view, and what Python
    and its libraries take. Of the views only chunks are held.
    """
    matrices, chunks = 6 * 8 * features**2, 2 * 4 * 8 * 2048 * features
    return PROCESSES_MB + ceil((matrices + chunks) / 1e6)


def growing(amount: int | Callable[..., int]) -> Callable[[Any, int, int], int]:
    """Make a resource function whose amount doubles with each attempt at the same job.

    The amount may be a function of the job's wildcards, or of its wildcards and threads.
    """

    def grown(wildcards: Any, threads: int, attempt: int) -> int:
        if isinstance(amount, int):
            first = amount
        else:
            given = (wildcards, threads)
            first = amount(*given[: len(signature(amount).parameters)])
        return first << (attempt - 1)

    return grown
