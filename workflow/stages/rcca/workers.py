"""Threads that each call BLAS on their own: a fixed cut of the work, whatever their number."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

Task = Callable[[], Any]
Run = Callable[[Sequence[Task]], list[Future[Any]]]

_limit = threading.Lock()
_pools = 0
_limits: Any = None
_threads = 1


def blas_threads() -> int:
    """Return as many threads as BLAS may use; 1 where no BLAS is seen."""
    counts = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(counts, default=1)


@contextmanager
def workers() -> Iterator[Run]:
    """As many threads as BLAS may use, with BLAS held to one thread in each.

    BLAS has one setting for the whole process: of pools that are open at once the first sets it
    and the last puts it back.
    """
    global _pools, _limits, _threads
    with _limit:
        if _pools == 0:
            _threads = blas_threads()
            _limits = threadpool_limits(1, user_api="blas")
        _pools += 1
    try:
        with ThreadPoolExecutor(_threads) as executor:
            yield lambda tasks: [executor.submit(task) for task in tasks]
    finally:
        with _limit:
            _pools -= 1
            if _pools == 0:
                _limits.restore_original_limits()
