"""Matrix products that BLAS adds in place, side by side in threads.

numpy's products cannot be added to what is there, and fill both triangles of a symmetric one;
scipy's wrappers hold the interpreter's lock, so that one thread waits for the other. Called by
their addresses, which scipy gives away for such use, the same routines do neither.
"""

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import LowLevelCallable
from scipy.linalg import cython_blas

Float64 = npt.NDArray[np.float64]

# A prototype of its own: what is set on ctypes.pythonapi's functions is set for all libraries.
_address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_TYPES: dict[str, Any] = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "int64_t": ctypes.c_int64,  # of a scipy built with 64-bit BLAS
    "__pyx_t_5scipy_6linalg_11cython_blas_d": ctypes.c_double,
}


def _routine(name: str) -> Callable[..., None]:
    """Find a routine of scipy's BLAS, to be called with values, and arrays for pointers to them."""
    routine = LowLevelCallable.from_cython(cython_blas, name)
    kinds = re.findall(r"(\w+) \*", routine.signature)
    if unknown := sorted({*kinds} - {*_TYPES}):
        raise ImportError(
            f"scipy's {name} takes {', '.join(unknown)}, of which this version of rnca knows "
            "nothing. Install a scipy built in the usual way, or a newer rnca."
        )
    # ctypes lets other threads run while a function of this kind does.
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))
    call = function(_address(routine.function, routine.signature.encode()))

    def call_with(*values: Any) -> None:
        call(
            *(
                value.ctypes.data if isinstance(value, np.ndarray) else _reference(kind, value)
                for kind, value in zip(kinds, values, strict=True)
            )
        )

    return call_with


def _reference(kind: str, value: Any) -> Any:
    held = _TYPES[kind](value)
    if held.value != value:  # ctypes cuts off what does not fit
        raise ValueError(
            f"{value} rows or columns: BLAS takes at most {2 ** (8 * ctypes.sizeof(held) - 1) - 1} "
            "here. Give fewer at a time."
        )
    return ctypes.byref(held)


_syrk, _gemm = _routine("dsyrk"), _routine("dgemm")


def add_gram(z: Float64, into: Float64) -> None:
    """Add zᵀz to the lower triangle of a matrix.

    Parameters
    ----------
    z : ndarray of shape (rows, m)
    into : ndarray of shape (m, m), each row contiguous
    """
    z = _by_rows(z, "z")
    rows, m = z.shape
    _check_target(into, (m, m))
    # BLAS reads by columns: it sees zᵀ, and the lower triangle as the upper.
    _syrk(b"U", b"N", m, rows, 1.0, z, _stride(z), 1.0, into, _stride(into))


def add_product(x: Float64, y: Float64, into: Float64) -> None:
    """Add xᵀy to a matrix.

    Parameters
    ----------
    x : ndarray of shape (rows, m)
    y : ndarray of shape (rows, p)
    into : ndarray of shape (m, p), each row contiguous
    """
    x, y = _by_rows(x, "x"), _by_rows(y, "y")
    (rows, m), p = x.shape, y.shape[1]
    if len(y) != rows:
        raise ValueError(f"x has {rows} rows and y {len(y)}: give as many of both.")
    _check_target(into, (m, p))
    # BLAS reads by columns: it sees the transposes, and adds yᵀx.
    _gemm(b"N", b"T", p, m, rows, 1.0, y, _stride(y), x, _stride(x), 1.0, into, _stride(into))


def _by_rows(z: Float64, name: str) -> Float64:
    """Return the matrix as it is if its rows are contiguous, or else a copy."""
    if z.ndim != 2 or z.dtype != np.float64:
        raise ValueError(f"{name} is {z.dtype}{z.shape}: give a matrix of float64.")
    return z if _is_by_rows(z) else z.copy()


def _is_by_rows(z: Float64) -> bool:
    (rows, columns), (between, within) = z.shape, z.strides
    if rows * columns == 0:
        return True
    apart = between >= columns * z.itemsize and between % z.itemsize == 0
    # The stride along an axis of one entry says nothing.
    return z.flags.aligned and (columns == 1 or within == z.itemsize) and (rows == 1 or apart)


def _stride(z: Float64) -> int:
    stride: int = max(1, z.shape[1], z.strides[0] // z.itemsize)
    return stride


def _check_target(into: Float64, shape: tuple[int, int]) -> None:
    """Refuse what BLAS would take for other numbers, or write beyond."""
    if into.shape != shape or into.dtype != np.float64:
        raise ValueError(
            f"into is {into.dtype}{into.shape}: the product to add is float64{shape}. Give a "
            "matrix like that."
        )
    if not (into.flags.writeable and _is_by_rows(into)):
        raise ValueError(
            f"into has strides {into.strides}, writeable={into.flags.writeable}: give a matrix "
            "with contiguous rows that can be written to."
        )
