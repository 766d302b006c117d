"""The randomized dependence coefficient, RDC (Lopez-Paz, Hennig and Schölkopf, 2013).

Section 4 of the paper names it as RCCA's largest correlation on the copula of the data. Here it
is exactly as published, which RCCA is not: other features, and no regulariser.
"""

from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from tqdm import tqdm

from rnca._core.estimators import check_count
from rnca.rows import Matrix, View, check_at_least_two_rows, check_pair, view_of_columns
from rnca.seeding import streams

# A column is dropped if its residual after projection on the previous columns is below this
# fraction of its norm.
_DEPENDENT = 1e-7
# A constant, once its mean is taken off, is rounding of this size.
_CONSTANT = 1e-14


class RDCTest(NamedTuple):
    """Permutation test of independence.

    Attributes
    ----------
    statistic : float
        The RDC.
    pvalue : float
        (1 + permutations whose RDC is as large or larger) / (1 + permutations).
    """

    statistic: float
    pvalue: float


def rdc(
    X: Any, Y: Any, *, n_features: int = 20, scale: float = 1 / 6, random_state: Any = None
) -> float:
    """Randomized dependence coefficient of two samples.

    The largest canonical correlation between sines of random projections of the ranks. It lies
    between 0 and 1 and is invariant under increasing transforms of every column. Under
    independence it is not 0, but falls with the number of rows: `rdc_test` takes that into
    account.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, p)
    Y : array-like of shape (n,) or (n, q)
    n_features : int, default=20
        Random projections k of each sample.
    scale : float, default=1/6
        Width s of the random weights: they are drawn from N(0, 1), times s over the number of
        columns (the column of ones included).
    random_state : int, numpy Generator, numpy RandomState or None

    Returns
    -------
    float
        0 if X or Y is constant. Ties take the mean of their ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import rdc
    >>> x = np.random.default_rng(0).uniform(-1, 1, 1000)
    >>> bool(rdc(x, x**2, random_state=0) > 0.99)
    True
    """
    return _largest_correlation(*_bases(X, Y, n_features, scale, random_state)[:2])


def rdc_test(
    X: Any,
    Y: Any,
    *,
    n_permutations: int = 999,
    n_features: int = 20,
    scale: float = 1 / 6,
    random_state: Any = None,
    verbose: bool = False,
) -> RDCTest:
    """Test independence by the RDC over random permutations of the rows of Y.

    Parameters
    ----------
    X, Y, n_features, scale, random_state : as in `rdc`
    n_permutations : int, default=999
        The smallest p-value is 1 / (1 + n_permutations).
    verbose : bool, default=False
        Show progress over permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import rdc_test
    >>> x = np.random.default_rng(0).uniform(-1, 1, 200)
    >>> rdc_test(x, x**2, random_state=0).pvalue
    0.001
    """
    check_count(n_permutations, "n_permutations")
    x, y, rng = _bases(X, Y, n_features, scale, random_state)
    statistic = _largest_correlation(x, y)
    exceeding = sum(
        # Features of permuted rows are permuted features: nothing but the product is new.
        _largest_correlation(x, y[rng.permutation(len(y))]) >= statistic
        for _ in tqdm(range(n_permutations), "permutations", disable=not verbose)
    )
    return RDCTest(statistic, (1 + exceeding) / (1 + n_permutations))


def rdc_matrix(
    data: Any, *, n_features: int = 20, scale: float = 1 / 6, random_state: Any = None
) -> Any:
    """RDC of every pair of columns.

    Parameters
    ----------
    data : array-like or DataFrame of shape (n, p)
    n_features, scale, random_state : as in `rdc`

    Returns
    -------
    ndarray or DataFrame of shape (p, p)
        Symmetric, with 1 on the diagonal (0 for a constant column). A DataFrame if one was given.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import rdc_matrix
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> rdc_matrix(np.column_stack([x, x[:, 0] ** 2]), random_state=0).round(1)[0]
    array([1. , 0.1, 1. ])
    """
    table = View(data, "data")
    _check_settings(len(table), n_features, scale)
    values = table.read(0, len(table))
    drawn = streams(random_state, values.shape[1])
    bases = [
        _basis(column[:, None], n_features, scale, rng)
        for column, rng in zip(values.T, drawn, strict=True)
    ]
    matrix = np.zeros((len(bases), len(bases)))
    for i, j in combinations_with_replacement(range(len(bases)), 2):
        matrix[i, j] = matrix[j, i] = _largest_correlation(bases[i], bases[j])
    if hasattr(data, "iloc"):
        return data.__class__(matrix, index=data.columns, columns=data.columns)
    if hasattr(data, "columns"):  # frames without an index, as of polars
        return data.__class__(dict(zip(data.columns, matrix, strict=True)))
    return matrix


def _bases(
    X: Any, Y: Any, n_features: int, scale: float, random_state: Any
) -> tuple[Matrix, Matrix, np.random.Generator]:
    x, y = view_of_columns(X, "X"), view_of_columns(Y, "Y")
    check_pair(x, y)
    _check_settings(len(x), n_features, scale)
    of_x, of_y, rest = streams(random_state, 3)
    n = len(x)
    return (
        _basis(x.read(0, n), n_features, scale, of_x),
        _basis(y.read(0, n), n_features, scale, of_y),
        rest,
    )


def _check_settings(n: int, n_features: int, scale: float) -> None:
    check_count(n_features, "n_features")
    if not 0 < scale < np.inf:
        raise ValueError(f"scale={scale!r}: the width of the weights must be a finite number > 0.")
    check_at_least_two_rows(n, "X")


def _basis(
    sample: npt.NDArray[np.floating[Any]], k: int, scale: float, rng: np.random.Generator
) -> Matrix:
    """Orthonormal basis of the centred features of a sample, of shape (n, rank)."""
    n, columns = len(sample), sample.shape[1] + 1
    ranks = np.ones((n, columns))
    ranks[:, :-1] = rankdata(sample, axis=0) / n
    features = np.sin(scale / columns * ranks @ rng.standard_normal((columns, k)))
    sizes = np.linalg.norm(features, axis=0)
    features -= features.mean(axis=0)
    return _independent(features[:, np.linalg.norm(features, axis=0) > _CONSTANT * sizes])


def _independent(features: Matrix) -> Matrix:
    """Gram–Schmidt, column by column, without those that depend on the ones before.

    This is the rule of the QR in R's `cancor`, which the published code calls. It matters: such
    narrow sines are nearly polynomials of low degree, so that most columns are dropped, and a
    regulariser in place of the rule changes the coefficient.
    """
    basis = np.empty((len(features), 0))
    for column in features.T:
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # once more: the first time leaves rounding of the column
        size = np.linalg.norm(rest)
        if size >= _DEPENDENT * np.linalg.norm(column) and basis.shape[1] < len(features) - 1:
            basis = np.column_stack([basis, rest / size])
    return basis


def _largest_correlation(x: Matrix, y: Matrix) -> float:
    product = x.T @ y
    return min(float(np.linalg.norm(product, 2)), 1.0) if product.size else 0.0
