"""How near a randomized solution comes to the exact kernel method."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, eigsh

Matrix = npt.NDArray[np.float64]

# Of an operator norm, relative: an error needs no more digits.
_NORM_TOLERANCE = 1e-4


class Angles(NamedTuple):
    """Principal angles between two subspaces, in degrees.

    The largest is 90 as soon as one direction of the one is missing from the other, which takes no
    more than two nearly equal eigenvalues at the cut; the mean is more forgiving.
    """

    largest: float
    mean: float


def relative_error(found: npt.ArrayLike, exact: npt.ArrayLike) -> float:
    """Return ‖found − exact‖ / ‖exact‖ of two lists of values in the same order."""
    found, exact = np.asarray(found), np.asarray(exact)
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def principal_angles(found: Matrix, exact: Matrix) -> Angles:
    """Return the angles between the column spaces of two n × k matrices."""
    angles = np.degrees(scipy.linalg.subspace_angles(found, exact))
    return Angles(float(angles.max()), float(angles.mean()))


def captured(scores: Matrix, K: Matrix, exact: Matrix) -> float:
    """Return the share of the leading eigenvalues' sum that the span of ``scores`` holds.

    At most 1, and 1 for the exact components. Unlike an angle it does not suffer from nearly equal
    eigenvalues. ``K`` is the centred kernel matrix, ``exact`` has its k leading eigenvalues.
    """
    Q = scipy.linalg.orth(scores)
    return float(np.einsum("ij,ij->", Q, K @ Q) / np.sum(exact))


def relative_kernel_error(z: Matrix, scale: float, K: Matrix, norm: float) -> float:
    """Return ‖scale·zzᵀ − K‖ / ‖K‖ in operator norm, without forming zzᵀ.

    ``z`` are centred features, n × m, ``K`` is the centred kernel matrix and ``norm`` its norm.
    """
    return operator_norm(lambda v: scale * (z @ (z.T @ v)) - K @ v, len(K)) / norm


def operator_norm(product: Callable[[Matrix], Matrix], n: int) -> float:
    """Return the norm of a symmetric n × n matrix given by its products, by Lanczos iteration."""
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    values = eigsh(operator, 1, tol=_NORM_TOLERANCE, v0=start, return_eigenvectors=False)
    return float(np.abs(values[0]))
