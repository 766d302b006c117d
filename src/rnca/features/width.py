"""The kernel width, given or by the median heuristic."""

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from rnca._core.rows import View
from rnca._core.seeding import streams

_MEDIAN_PAIRS = 4_000


def median_gamma(X: Any, *, random_state: Any = None) -> float:
    """Kernel width by the median heuristic.

    Parameters
    ----------
    X : array-like or memory map of shape (n, d)
    random_state : int, numpy Generator, numpy RandomState or None
        Draws the 4,000 pairs of rows.

    Returns
    -------
    float
        1 / median of the non-zero squared distances over random pairs of rows: the gamma of
        k(x, y) = exp(-gamma ‖x − y‖²).

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import median_gamma
    >>> median_gamma(np.array([[0.0], [2.0]]), random_state=0)
    0.25
    """
    return _median_gamma(View(X), streams(random_state, 1)[0])


def _median_gamma(view: View, rng: np.random.Generator) -> float:
    n = len(view)
    if n < 2:
        raise ValueError(
            f'gamma="median" needs pairs of rows, but {view.name} has n_samples = {n}. '
            "Give at least 2 rows, or gamma as a number."
        )
    first = rng.integers(n, size=_MEDIAN_PAIRS)
    second = rng.integers(n - 1, size=_MEDIAN_PAIRS)
    second += second >= first
    difference = view.take(first) - view.take(second).astype(np.float64)
    squared = np.einsum("ij,ij->i", difference, difference)
    squared = squared[squared > 0]
    if not squared.size:
        raise ValueError(
            f'gamma="median": {_MEDIAN_PAIRS} random pairs of rows of {view.name} are all '
            "identical, so no kernel width can be read off them. Give gamma as a number, or "
            "drop the constant view."
        )
    return _inverse("median", 1.0, np.median(squared), view)


def _inverse(name: str, factor: float, squared: Any, view: View) -> float:
    """Return factor / squared distance; refuse what is not a positive finite number."""
    with np.errstate(over="ignore", divide="ignore"):
        gamma = float(factor / squared)
    if not 0 < gamma < np.inf:
        raise ValueError(
            f'gamma="{name}": the squared distances in {view.name} (median {squared:.3g}) leave '
            "the range of float64. Rescale the data."
        )
    return gamma


def local_gamma(view: View, rows: int, rng: np.random.Generator) -> float:
    """Kernel width 1/(2σ²) by the distances of neighbours among a sample of rows.

    σ is the median distance of a row to its k-th nearest neighbour in the sample, k = ⌈log rows⌉:
    about as many as keep the graph of neighbours connected.
    """
    rows = min(rows, len(view))
    if rows < 2:
        raise ValueError(
            f'gamma="local" needs neighbours, but {view.name} has n_samples = {len(view)}. Give at '
            "least 2 rows, or gamma as a number."
        )
    sample = view.take(rng.permutation(len(view))[:rows]).astype(np.float64)
    with np.errstate(over="ignore"):
        _inverse("local", 0.5, max(np.square(sample - sample[0]).sum(), 1.0), view)
    neighbours = NearestNeighbors(n_neighbors=int(np.ceil(np.log(rows)))).fit(sample)
    furthest = neighbours.kneighbors()[0][:, -1]
    if not furthest.any():  # most rows are repeated
        return _median_gamma(view, rng)
    return _inverse("local", 0.5, np.median(furthest[furthest > 0]) ** 2, view)


def resolve_gamma(gamma: Any, view: View, rng: np.random.Generator) -> float:
    """Return gamma as a number; "median" is read off the view."""
    if isinstance(gamma, str):
        if gamma != "median":
            raise ValueError(f'gamma={gamma!r}: give "median" or a number > 0.')
        return _median_gamma(view, rng)
    if not np.isscalar(gamma) or not 0 < gamma < np.inf:  # type: ignore[operator]
        raise ValueError(
            f"gamma={gamma!r}: the kernel width of exp(-gamma ‖x − y‖²) must be a finite number "
            '> 0, or "median".'
        )
    return float(gamma)  # type: ignore[arg-type]
