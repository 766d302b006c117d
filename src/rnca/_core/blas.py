"""Products by scipy's BLAS, and threads for what numpy computes on one core.

numpy and scipy bring a BLAS each, whose threads spin for a while after a call, on the cores that
the other needs. The pass over the data therefore calls one of them alone: scipy's, which also
adds products in place.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs
from threadpoolctl import ThreadpoolController

from rnca.rows import FloatArray

_BLOCK = 256
_libraries = ThreadpoolController()


def product_into(x: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """Write x·weightsᵀ to ``out``; all have the same type."""
    if not out.flags.c_contiguous:
        np.matmul(x, weights.T, out=out)
        return
    # BLAS reads by columns: it sees the transposes, and computes weights·xᵀ.
    gemm = get_blas_funcs("gemm", (x, weights, out))
    gemm(1.0, weights.T, x.T, c=out.T, trans_a=1, overwrite_c=1)


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
