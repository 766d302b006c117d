"""Products by scipy's BLAS.

numpy and scipy bring a BLAS each, whose threads spin for a while after a call, on the cores that
the other needs. The pass over the data therefore calls one of them alone: scipy's, which also
adds products in place.
"""

import numpy as np
from scipy.linalg import get_blas_funcs

from rnca._core.rows import FloatArray


def product_into(x: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """Write x·weightsᵀ to ``out``; all have the same type."""
    if not out.flags.c_contiguous:
        np.matmul(x, weights.T, out=out)
        return
    # BLAS reads by columns: it sees the transposes, and computes weights·xᵀ.
    gemm = get_blas_funcs("gemm", (x, weights, out))
    gemm(1.0, weights.T, x.T, c=out.T, trans_a=1, overwrite_c=1)
