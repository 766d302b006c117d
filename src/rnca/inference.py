"""How many canonical correlations are real, by permutation tests, and what explains a variable."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnca._core.estimators import check_count, import_pyplot
from rnca.moments import Correlations, paired
from rnca.rows import FloatArray, Matrix, refuse_masked
from rnca.seeding import streams

Order = npt.NDArray[np.int64]

_BINS = 20


@dataclass(frozen=True)
class PermutationResult:
    """Canonical correlations on held-out rows beside those of rows paired at random.

    Attributes
    ----------
    correlations : ndarray of shape (n_components,)
        Signed, on the rows as they are.
    p_values : ndarray of shape (n_components,)
        Probability of so large an absolute correlation if the views were independent, adjusted for
        the number of components by the step-down maximum of Westfall and Young (1993): components
        are taken by decreasing absolute correlation, and each is compared with the largest null
        value among itself and those still to come. The probability of one or more false components
        among those with p ≤ α is then at most α, whichever of the others are real.
    null : ndarray of shape (n_permutations, n_components)
        Absolute correlations of the permuted rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import RCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=(600, 1))
    >>> X, Y = (t + rng.normal(size=(600, 3)) for _ in "xy")
    >>> model = RCCA(3, feature_map="linear").fit(X[:300], Y[:300])
    >>> result = model.permutation_test(X[300:], Y[300:], random_state=0)
    >>> result.n_significant()
    1
    """

    correlations: Matrix
    p_values: Matrix
    null: Matrix

    def n_significant(self, alpha: float = 0.05) -> int:
        """Return how many components have p ≤ alpha: the number that are real, at level alpha."""
        return int((self.p_values <= alpha).sum())

    def null_band(self, q: float = 0.95) -> Matrix:
        """Quantile q of the absolute null correlation of each component."""
        return np.quantile(self.null, q, axis=0)

    @property
    def null_sum(self) -> Matrix:
        """The score of `RCCA.score` for each permutation: its noise floor."""
        total: Matrix = self.null.sum(axis=1)
        return total

    def plot(self, ax: Any = None) -> Any:
        """Draw absolute correlations over the null band; filled if p ≤ 0.05. Returns the axes."""
        pyplot = import_pyplot()
        ax = pyplot.subplots()[1] if ax is None else ax
        number, height = np.arange(1, len(self.p_values) + 1), np.abs(self.correlations)
        real = self.p_values <= 0.05
        ax.fill_between(number, self.null_band(), color="0.85", label="95 % of permutations")
        ax.plot(number[real], height[real], "o", color="C0", label="p ≤ 0.05")
        ax.plot(number[~real], height[~real], "o", color="C0", mfc="none", label="p > 0.05")
        ax.set(xlabel="component", ylabel="|held-out correlation|", ylim=(0, 1))
        ax.legend()
        return ax


class BinnedMeans(NamedTuple):
    """Means of a column and a variable in bins, and the share of variance that these explain."""

    centres: Matrix
    means: Matrix
    share: float


def binned_means(column: FloatArray, variable: Matrix) -> BinnedMeans:
    """Average a variable in 20 bins of a column with nearly equal numbers of rows.

    The share is the squared correlation ratio, adjusted as R² is for the number of bins.
    """
    edges = np.unique(np.quantile(column, np.arange(1, _BINS) / _BINS))
    _, codes = np.unique(np.searchsorted(edges, column, side="right"), return_inverse=True)
    counts = np.bincount(codes)
    centres, means = (np.bincount(codes, z) / counts for z in (column, variable))
    total = np.square(variable - variable.mean()).sum()
    within = np.square(variable - means[codes]).sum()
    spare = max(len(column) - len(counts), 1)
    share = 1 - within / total * (len(column) - 1) / spare if total > 0 else 0.0
    return BinnedMeans(centres, means, float(share))


def permutation_test(
    u: Matrix, v: Matrix, n_permutations: int, groups: Any, random_state: Any
) -> PermutationResult:
    """Test the paired columns of two tables, as `RCCA.permutation_test` says."""
    check_count(n_permutations, "n_permutations")
    (rng,) = streams(random_state, 1)
    order, rearranged = _rearrangements(len(u), groups, rng)
    observed = Correlations().update(u, v).values()
    u, v = _normalised(u[order]), _normalised(v)
    null = np.abs([paired(u, v[rearranged()]) for _ in range(n_permutations)])
    return PermutationResult(observed, _step_down(np.abs(observed), null), null)


def _normalised(z: Matrix) -> Matrix:
    """Centre the columns and divide them by their norms; constant ones become 0."""
    constant = Correlations().update(z, z).values() == 0
    z = z - z.mean(axis=0)
    return np.where(constant, 0.0, z / np.where(constant, 1.0, np.linalg.norm(z, axis=0)))


def _step_down(observed: Matrix, null: Matrix) -> Matrix:
    """Adjust p-values by Algorithm 4.1 of Westfall and Young (1993)."""
    falling = np.argsort(-observed, kind="stable")
    # Column i: the largest null value among the components from the i-th largest on.
    largest = np.maximum.accumulate(null[:, falling[::-1]], axis=1)[:, ::-1]
    # The rows as they are count as one more permutation; rounding must not break ties with it.
    reached = (largest >= observed[falling] * (1 - 1e-9)).sum(axis=0)
    p_values = np.empty(len(observed))
    p_values[falling] = np.maximum.accumulate((1 + reached) / (1 + len(null)))
    return p_values


def check_groups(groups: Any, n: int) -> npt.NDArray[Any]:
    """Return the label of each row; refuse missing ones, which would pass for one group."""
    refuse_masked(groups, "groups")
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {labels.shape}: give one label for each of {n} rows.")
    if labels.dtype.kind in "OUS":  # numpy makes NaN among strings a string
        missing = np.array([_is_missing(label) for label in np.asarray(groups, object)])
    else:
        missing = labels != labels  # NaN and NaT
    if missing.any():
        raise ValueError(
            f"groups has no label in row {int(missing.argmax())}: rows without a label are not one "
            "group. Give each a label of its own, or drop them."
        )
    return labels


def _is_missing(label: Any) -> bool:
    # pandas.NA is neither equal nor unequal to itself.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _rearrangements(
    n: int, groups: Any, rng: np.random.Generator
) -> tuple[Order, Callable[[], Order]]:
    """Order of the first view's rows, and a function that draws one of the second's."""
    if groups is None:
        return np.arange(n), lambda: rng.permutation(n)
    labels = check_groups(groups, n)
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError(
            "groups has a single label: blocks are permuted whole, so there must be 2 or more "
            "(5 or more for p-values below 0.01)."
        )
    order = np.argsort(codes, kind="stable")
    blocks = np.split(order, sizes.cumsum()[:-1])

    def draw() -> Order:
        joined = np.concatenate([blocks[i] for i in rng.permutation(len(blocks))])
        # Blocks of one length fall on each other; others cannot, and may start anywhere.
        return joined if (sizes == sizes[0]).all() else np.roll(joined, rng.integers(n))

    return order, draw
