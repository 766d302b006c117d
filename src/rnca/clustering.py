"""Randomized spectral clustering: k-means on leading eigenvectors of an approximate kernel.

Section 3 of the paper names it as an extension of RPCA.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from rnca._core.estimators import RowsTransformer, assign, check_columns, check_count, warn
from rnca._core.fitting import unfitted_map
from rnca._core.streaming import feature_chunks, head_means, projected_chunks, with_progress
from rnca.features import FeatureMap, NystroemFeatures
from rnca.features.base import local_gamma
from rnca.method import accumulate, draw, principal
from rnca.moments import Moments
from rnca.rows import FloatArray, Matrix, View, check_at_least_two_rows, grid
from rnca.seeding import seeds, streams

# Relative eigengap below which clusters are arbitrary. On moons, rings and blobs those found were
# right above 0.28 and wrong below 0.11.
_CLEAR_GAP = 0.2


class DegreeNormalised(FeatureMap):
    """Features z(x)/√d(x): their dot products are the entries of n·D^-½ K̂ D^-½.

    K̂ holds the dot products of z, the fitted map ``inner``, and n·d(x) = z(x)·Σᵢz(xᵢ) is the
    degree of a row x. Estimated by random features, a degree can come out as zero or negative:
    those below a floor are raised to it. ``mean`` and ``squares`` are means over the training rows
    of z and of its squares.
    """

    _fitted_arrays = ("mean_", "squares_")

    def __init__(self, inner: FeatureMap, mean: Matrix, squares: Matrix, rows: int) -> None:
        self.inner, self.mean, self.squares, self.rows = inner, mean, squares, rows
        self.mean_, self.squares_ = mean, squares
        self.offset_, self.n_features_in_ = inner.offset_, inner.n_features_in_
        self.dtype = inner.dtype

    @property
    def floor(self) -> float:
        """Smallest degree admitted, over n.

        That is what a row adds to its own degree. Of independent features it is the standard
        error of the degree, if larger: otherwise the few rows whose degree is lost in noise would
        weigh more than all others.
        """
        length = float(self.squares_.sum())
        if isinstance(self.inner, NystroemFeatures):
            return length / self.rows
        # z(x)·z̄ as a sum of m independent terms, of mean square ‖z(x)‖²/m · ‖z̄‖²/m each.
        error = np.sqrt(length * (self.mean_ @ self.mean_) / len(self.mean_))
        return max(length / self.rows, float(error))

    def features(self, rows: FloatArray, out: FloatArray) -> None:
        """Evaluate the features of one chunk of checked rows into ``out``, in its dtype."""
        self.inner.features(rows, out)
        degrees = out @ self.mean_.astype(out.dtype, copy=False)
        out /= np.sqrt(np.maximum(degrees, self.floor), dtype=out.dtype)[:, None]


@dataclass(eq=False, repr=False)
class RSpectralClustering(ClusterMixin, RowsTransformer):
    """Spectral clustering on random nonlinear features.

    k-means on the row-normalised leading eigenvectors of D^-½ K̂ D^-½ (Ng, Jordan and Weiss),
    where K̂ = zᵀz approximates the Gaussian kernel matrix, uncentred, and D holds its row sums.
    The eigenvectors come from an m × m matrix: cost is linear in the number of rows n, and what
    is held of them is n × n_clusters. New rows can be placed, too.

    Three passes over the data: for the mean feature, which gives the degrees; for the second
    moments; for the eigenvectors.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    feature_map : str or FeatureMap instance, default="nystroem"
        A name as in `RCCA`. "nystroem" is whitened here, since dot products of features must
        approximate the kernel. "fourier" errs by about m^-½ in every entry of K̂, which is more
        than what tells clusters of unusual shape apart, unless m is far above n; it does for
        round ones.
    n_features : int, default=1000
        Number of random features m; "nystroem" takes no more than there are rows, "linear"
        ignores it.
    gamma : float, "local" or "median", default="local"
        Kernel width of exp(-gamma ‖x − y‖²). "local" is 1/(2σ²) for the median distance σ to the
        ⌈log m⌉-th nearest neighbour among m random rows; clusters that are not round need it. The
        median heuristic's kernel, "median", is wider and smooths over gaps.
    n_init : int, default=10
        Runs of k-means, of which the best is kept.
    random_state, chunk_size, dtype, verbose
        As in `RCCA`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each training row.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Leading eigenvalues, decreasing. Those of the exact D^-½ K D^-½ lie between 0 and 1, the
        largest is 1.
    eigengap_ : float
        Gap between the last of these and the next eigenvalue, relative to that between the first
        and the next: near 1 for well separated clusters. Below 0.2 `fit` warns.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
        Of the row-normalised eigenvectors.
    n_floored_ : int
        Training rows whose estimated degree was below the floor and was raised to it. If they are
        many, use more features.
    basis_ : ndarray of shape (m, n_clusters)
        The features times this are the eigenvectors, before rows are normalised.
    map_ : FeatureMap
        The fitted feature map, its features divided by roots of degrees.
    n_samples_ : int

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from rnca import RSpectralClustering
    >>> X, ring = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    >>> model = RSpectralClustering(2, random_state=0).fit(X)
    >>> float(abs((model.labels_ == ring).mean() - 0.5))
    0.5
    """

    n_clusters: int = 8
    _: KW_ONLY
    feature_map: Any = "nystroem"
    n_features: int = 1000
    gamma: float | str = "local"
    n_init: int = 10
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows; y is ignored."""
        check_count(self.n_clusters, "n_clusters")
        check_count(self.n_init, "n_init")
        view, size = View(X), check_count(self.chunk_size, "chunk_size")
        check_columns(self, X)
        check_at_least_two_rows(len(view), "X")
        of_map, _, of_kmeans, of_width = seeds(self.random_state, 4)
        drawn = draw([self._unfitted_map(view, of_map, of_width)], [view])[0]
        normalised = _normalised(drawn, view, size)
        values, basis, gap = self._spectrum(normalised, view, size)
        # Of z/√max(d, floor), the product with the mean is below √floor exactly if d < floor.
        both = np.column_stack([basis, normalised.mean_])
        products = _products(normalised, view, both, size)
        kmeans = KMeans(self.n_clusters, n_init=self.n_init, random_state=of_kmeans)
        kmeans.fit(_on_sphere(products[:, :-1]))
        assign(
            self,
            drawn,
            map_=normalised,
            basis_=basis,
            eigenvalues_=values,
            eigengap_=gap,
            n_floored_=int((products[:, -1] < np.sqrt(normalised.floor)).sum()),
            labels_=kmeans.labels_,
            cluster_centers_=kmeans.cluster_centers_,
            n_samples_=len(view),
        )
        if self.eigengap_ < _CLEAR_GAP:
            warn(
                f"n_clusters={self.n_clusters}: there is no clear gap after as many eigenvalues "
                f"(relative gap {self.eigengap_:.2g}, below {_CLEAR_GAP}), so the clusters may be "
                "arbitrary. Try another n_clusters or gamma, or more features."
            )
        return self

    def _spectrum(self, fitted: FeatureMap, view: View, size: int) -> tuple[Matrix, Matrix, float]:
        """Return eigenvalues of the features' second moments, the basis, and the gap."""
        m, n, k = fitted.n_features_out, len(view), self.n_clusters
        if k > min(m, n):
            raise ValueError(
                f"n_clusters={k}: with {m} features and n_samples = {n} there are at most "
                f"{min(m, n)} eigenvectors. Ask for fewer clusters, or use more features."
            )
        moments, chunks = Moments(m), list(grid(0, n, size))
        moments.shift(*head_means([fitted], [view], 0, n))
        shown = with_progress(chunks, type(self).__name__, self.verbose)
        accumulate(moments, [fitted], [view], shown)
        mean, second = moments.mean(0), moments.covariance(0, 0)
        second *= (n - 1) / n
        second += np.outer(mean, mean)  # the kernel is not centred
        values, vectors = principal(second, min(k + 1, m))
        following = float(values[k]) if k < min(m, n) else 0.0
        spread = max(float(values[0]) - following, np.finfo(np.float64).tiny)
        gap = 1.0 if k == 1 else (float(values[k - 1]) - following) / spread
        values, vectors = values[:k], vectors[:, :k]
        # Directions that the features do not have, but for rounding, tell nothing.
        null = values <= m * np.finfo(np.float64).eps * values[0]
        return values, vectors / np.sqrt(np.where(null, np.inf, values)), gap

    def transform(self, X: Any) -> FloatArray:
        """Row-normalised eigenvectors, extended to new rows: of shape (n, n_clusters)."""
        view = self._view_to_use(X, "cluster_centers_")
        return self._embedding(view).astype(view.read(0, 1).dtype, copy=False)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Cluster of each row."""
        embedding = self._embedding(self._view_to_use(X, "cluster_centers_"))
        nearest = pairwise_distances_argmin(embedding, self.cluster_centers_)
        return np.asarray(nearest, dtype=np.int32)

    def _embedding(self, view: View) -> Matrix:
        return _on_sphere(_products(self.map_, view, self.basis_, self.chunk_size))

    def _unfitted_map(self, view: View, of_map: int, of_width: int) -> FeatureMap:
        m = min(check_count(self.n_features, "n_features"), len(view))
        gamma = self.gamma
        if isinstance(gamma, str) and gamma == "local":
            gamma = local_gamma(view, m, streams(of_width, 1)[0])
        is_nystroem = self.feature_map in ("nystroem", "whitened")
        count = m if is_nystroem else self.n_features
        unfitted = unfitted_map(self.feature_map, count, gamma, of_map, self.dtype)
        return unfitted.set_params(whiten=True) if is_nystroem else unfitted

    @property
    def _n_features_out(self) -> int:
        return int(self.basis_.shape[1])


def _normalised(fitted: FeatureMap, view: View, size: int) -> DegreeNormalised:
    """Divide features by roots of degrees, for which the mean feature is needed."""
    mean, squares = np.zeros(fitted.n_features_out), np.zeros(fitted.n_features_out)
    for _, (z,) in feature_chunks([fitted], [view], [0.0], grid(0, len(view), size)):
        mean += z.sum(axis=0)
        squares += np.einsum("ij,ij->j", z, z)
    return DegreeNormalised(fitted, mean / len(view), squares / len(view), len(view))


def _products(fitted: FeatureMap, view: View, basis: Matrix, size: int) -> Matrix:
    return np.concatenate(list(projected_chunks(fitted, view, 0.0, basis, size)))


def _on_sphere(rows: Matrix) -> Matrix:
    """Rows brought to length 1; those of zeros are left as they are."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = rows / np.where(lengths == 0, 1.0, lengths)
    return unit
