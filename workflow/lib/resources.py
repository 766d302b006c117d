"""Memory and time of jobs: what a cluster is asked for, more at each further attempt."""

from collections.abc import Callable
from inspect import signature
from typing import Any

# Of a job's Python and libraries and, on a cluster, of the two Snakemakes it is started by.
PROCESSES_MB = 700


def growing(amount: int | Callable[..., int]) -> Callable[[Any, int, int], int]:
    """Make a resource function whose amount doubles with each attempt at the same job.

    Parameters
    ----------
    amount : int or callable
        What a job should need; or from its wildcards, and its threads if there are two parameters,
        to that.
    """

    def grown(wildcards: Any, threads: int, attempt: int) -> int:
        if isinstance(amount, int):
            first = amount
        else:
            given = (wildcards, threads)
            first = amount(*given[: len(signature(amount).parameters)])
        return first << (attempt - 1)

    return grown
