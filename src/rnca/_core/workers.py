"""Threads for what numpy computes on one core."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import ThreadpoolController

_BLOCK = 256
_libraries = ThreadpoolController()


def blas_threads() -> int:
    """Return the number of threads that BLAS may use; 1 if no BLAS is found."""
    pools = _libraries.select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=1)


def over_row_blocks(task: Callable[[slice], Any], rows: int) -> None:
    """Run ``task`` on each block of rows, in as many threads as BLAS may use.

    For elementwise work: products are faster by one call, which BLAS cuts itself.
    """
    blocks = [slice(low, min(low + _BLOCK, rows)) for low in range(0, rows, _BLOCK)]
    threads = min(blas_threads(), len(blocks))
    if threads <= 1:
        for each in blocks:
            task(each)
        return
    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(task, blocks))  # raises what a task raised
