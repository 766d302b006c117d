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

_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.argtypes, _address.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p

_TYPES: dict[str, Any] = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "__pyx_t_5scipy_6linalg_11cython_blas_d": ctypes.c_double,
}


def _routine(name: str) -> Callable[..., None]:
    """Find a routine of scipy's BLAS, to be called with values, and arrays for pointers to them."""
    routine = LowLevelCallable.from_cython(cython_blas, name)
    kinds = re.findall(r"(\w+) \*", routine.signature)
    if unknown := sorted({*kinds} - {*_TYPES}):
        raise ImportError(
            f"scipy's {name} takes {', '.join(unknown)}, which is not known here. Install a "
            "version of scipy that this one was tested with (requirements.lock)."
        )
    pointer = _address(routine.function, routine.signature.encode())
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(pointer)

    def routine_of_values(*values: Any) -> None:
        call(
            *(
                value.ctypes.data
                if isinstance(value, np.ndarray)
                else ctypes.byref(_TYPES[kind](value))
                for kind, value in zip(kinds, values, strict=True)
            )
        )

    return routine_of_values


_syrk, _gemm = _routine("dsyrk"), _routine("dgemm")


def add_gram(z: Float64, into: Float64) -> None:
    """Add zᵀz to the lower triangle of a matrix.

    Parameters
    ----------
    z : ndarray of shape (rows, m)
    into : ndarray of shape (m, m), each row contiguous
    """
    z = _by_rows(z)
    rows, m = z.shape
    _check(z, (rows, m))
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
    x, y = _by_rows(x), _by_rows(y)
    (rows, m), p = x.shape, y.shape[1]
    _check(x, (rows, m))
    _check(y, (rows, p))
    _check_target(into, (m, p))
    # BLAS reads by columns: it sees the transposes, and adds yᵀx.
    _gemm(b"N", b"T", p, m, rows, 1.0, y, _stride(y), x, _stride(x), 1.0, into, _stride(into))


def _by_rows(z: Float64) -> Float64:
    """Return the matrix as it is if its rows are contiguous, or else a copy."""
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


def _check(array: Float64, shape: tuple[int, int]) -> None:
    """Refuse what BLAS would take for other numbers, or reach beyond."""
    if array.shape != shape or array.dtype != np.float64 or not _is_by_rows(array):
        raise ValueError(
            f"a matrix of {array.dtype}{array.shape} with strides {array.strides} where one of "
            f"float64{shape} with contiguous rows is needed."
        )


def _check_target(into: Float64, shape: tuple[int, int]) -> None:
    _check(into, shape)
    if not into.flags.writeable:
        raise ValueError("a matrix to add to that is read-only: give one that can be written to.")
