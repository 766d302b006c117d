"""Memory and time of jobs: what a cluster is asked for, more at each further attempt."""

from collections.abc import Callable
from inspect import signature
from typing import Any

# Of a job's Python and libraries and, on a cluster, of the two Snakemakes it is started by.
PROCESSES_MB = 700


def growing(amount: Callable[..., int]) -> Callable[[Any, int, int], int]:
    """Make a resource function whose amount doubles with each attempt at the same job.

    Parameters
    ----------
    amount : callable
        From a job's wildcards, and its threads if it takes two arguments, to what it should need.
    """
    takes_threads = len(signature(amount).parameters) > 1

    def grown(wildcards: Any, threads: int, attempt: int) -> int:
        first = amount(wildcards, threads) if takes_threads else amount(wildcards)
        return int(first * 2 ** (attempt - 1))

    return grown
