"""The fast Walsh–Hadamard transform, as a few small matrix products.

H of order 2^p is a Kronecker product of Hadamard matrices of order 16 or less, and each factor is
one matrix product along its own axis. A number costs 8 or 16 multiplications a factor, where the
textbook butterfly takes one addition in each of p steps, and yet, in numpy at orders from 512 to
8192, less than half the time: BLAS works in registers, every step of a butterfly goes through
memory. No library was found that serves: scikit-learn-extra has no maintainer and does not import
with numpy 2, pyfwht has no float32 on the CPU and is under the GPL, others need torch.
"""

from functools import cache
from typing import Any

import numpy as np
import scipy.linalg

from rnca._core.rows import FloatArray

_LARGEST_FACTOR = 4  # log2 of its order


def hadamard_transform(
    x: FloatArray, scratch: FloatArray, out: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Multiply the columns of x, of shape (2^p, n), by the Hadamard matrix in natural order.

    All three arrays are of one type, in C order. The two buffers are overwritten, and returned:
    first the one that holds Hx.
    """
    order, n = x.shape
    source, target, other = x, out, scratch
    left = 1
    for exponent in _exponents(order.bit_length() - 1):
        size = 1 << exponent
        shape = left, size, order // (left * size) * n
        np.matmul(_factor(size, x.dtype), source.reshape(shape), out=target.reshape(shape))
        source, target, other = target, other, target
        left *= size
    return source, target


@cache
def _factor(order: int, dtype: np.dtype[Any]) -> FloatArray:
    H: FloatArray = scipy.linalg.hadamard(order, dtype=dtype)
    return H


def _exponents(p: int) -> list[int]:
    """Split p into as few nearly equal parts as the largest factor allows."""
    count = max(1, -(-p // _LARGEST_FACTOR))
    return [p // count + (i < p % count) for i in range(count)]
