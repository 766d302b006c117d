"""Stage extensions, clustering: randomized spectral clustering beside the exact one and k-means."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import normalized_mutual_info_score
from tqdm import tqdm

from rnca._core.seeding import derived_seed
from rnca.clustering import RSpectralClustering
from rnca.features import median_gamma
from workflow.data.prepared import Prepared
from workflow.lib.exact import spectral_clustering

Labels = npt.NDArray[np.integer[Any]]

MAPS = ("fourier", "nystroem")
# Each row of these belongs to one of two curves that no straight line parts.
SHAPES: dict[str, Callable[[int, int], tuple[npt.NDArray[np.float64], Labels]]] = {
    "rings": lambda rows, seed: make_circles(rows, factor=0.4, noise=0.06, random_state=seed),
    "moons": lambda rows, seed: make_moons(rows, noise=0.06, random_state=seed),
}


@dataclass(frozen=True)
class Comparison:
    """How methods are compared on one set of rows.

    Attributes
    ----------
    rows : int
        How many are drawn: points of each shape, or samples of a dataset for exact clustering.
    features : tuple of int
        Numbers of features m, increasing.
    width : float
        Factor on the median heuristic's gamma.
    repeats : int
        How often features, and the starts of k-means, are redrawn.
    seed : int
        Of the whole run.
    """

    rows: int
    features: tuple[int, ...]
    width: float
    repeats: int
    seed: int

    def derived(self, *purpose: str | int) -> int:
        """Return the seed for one purpose."""
        return derived_seed(self.seed, "extensions", "clustering", *purpose)


def on_shapes(settings: Comparison) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cluster points of shapes that k-means cannot tell apart.

    Returns
    -------
    scores : DataFrame
        As of `Scores.frame`.
    points : DataFrame
        ``data``, ``x1``, ``x2``, ``method`` and the ``cluster`` of each point, in the first repeat
        and at the largest m.
    """
    scores, points = [], []
    for name, draw in SHAPES.items():
        X, classes = draw(settings.rows, settings.derived(name))
        compared = compare(name, X, classes, settings, exact=True)
        scores.append(compared.frame())
        points += [
            pd.DataFrame({"data": name, "x1": X[:, 0], "x2": X[:, 1], "method": m, "cluster": c})
            for m, c in compared.clusters.items()
        ]
    return pd.concat(scores, ignore_index=True), pd.concat(points, ignore_index=True)


def on_dataset(settings: Comparison, data: Prepared) -> pd.DataFrame:
    """Cluster labelled pictures: some of them, where exact clustering can go, and all of them.

    Returns
    -------
    DataFrame
        As of `Scores.frame`, with ``data`` "subset" and "all".
    """
    pictures, classes = data.images.reshape(data.n_rows, -1), data.need("labels")
    chosen = np.random.default_rng(settings.derived("subset")).permutation(data.n_rows)
    chosen = np.sort(chosen[: settings.rows])
    parts = [
        compare("subset", pictures[chosen], classes[chosen], settings, exact=True),
        compare("all", pictures, classes, settings, exact=False),
    ]
    return pd.concat([part.frame() for part in parts], ignore_index=True)


def compare(
    name: str, X: npt.NDArray[Any], classes: Labels, settings: Comparison, *, exact: bool
) -> "Scores":
    """Cluster rows by every method and score the clusters.

    Parameters
    ----------
    name : str
    X : ndarray of shape (n, d)
    classes : ndarray of shape (n,)
        What the clusters are scored by; as many clusters are sought.
    settings : Comparison
    exact : bool
        Whether to run exact spectral clustering too, of memory n².
    """
    gamma = settings.width * median_gamma(X, random_state=settings.derived(name, "gamma"))
    k, scores = len(np.unique(classes)), Scores(name, classes)
    maps = [(feature_map, m) for feature_map in MAPS for m in settings.features]
    for repeat in tqdm(range(settings.repeats), f"clustering {name}", unit="repeat"):
        seed = settings.derived(name, repeat)
        if exact:
            scores.add("exact", None, repeat, partial(_exact, X, k, gamma, seed))
        scores.add("kmeans", None, repeat, partial(_kmeans, X, k, seed))
        for feature_map, m in maps:
            scores.add(
                feature_map, m, repeat, partial(_randomized, X, k, gamma, seed, feature_map, m)
            )
    return scores


def _exact(X: npt.NDArray[Any], k: int, gamma: float, seed: int) -> tuple[Labels, None]:
    return spectral_clustering(X, k, gamma=gamma, random_state=seed), None


def _kmeans(X: npt.NDArray[Any], k: int, seed: int) -> tuple[Labels, None]:
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X.astype(np.float32)), None


def _randomized(
    X: npt.NDArray[Any], k: int, gamma: float, seed: int, feature_map: str, m: int
) -> tuple[Labels, int]:
    model = RSpectralClustering(
        k, feature_map=feature_map, n_features=m, gamma=gamma, random_state=seed
    )
    with warnings.catch_warnings():
        # Wrong clusters are scored, too.
        warnings.filterwarnings("ignore", "n_clusters=.* no clear gap", UserWarning)
        model.fit(X)
    return model.labels_, model.n_floored_


class Scores:
    """Clusters of the same rows, scored by their classes and by the first exact clusters.

    Parameters
    ----------
    name : str
    classes : ndarray of shape (n,)

    Attributes
    ----------
    clusters : dict of str to ndarray of shape (n,)
        Of each method in the first repeat, at the last m.
    """

    def __init__(self, name: str, classes: Labels) -> None:
        self.name, self.classes = name, classes
        self.clusters: dict[str, Labels] = {}
        self._records: list[dict[str, Any]] = []

    def add(
        self, method: str, m: int | None, repeat: int, fit: Callable[[], tuple[Labels, int | None]]
    ) -> None:
        """Time a fit, which returns clusters and how many degrees were floored, and score it."""
        started = perf_counter()
        labels, floored = fit()
        record = {
            "data": self.name,
            "n": len(labels),
            "method": method,
            "m": m,
            "repeat": repeat,
            "nmi": normalized_mutual_info_score(self.classes, labels),
            "nmi_exact": None,
            "floored": floored,
            "seconds": perf_counter() - started,
        }
        # Later exact runs differ from the first by the starts of k-means alone.
        if "exact" in self.clusters:
            exact = self.clusters["exact"]
            record["nmi_exact"] = normalized_mutual_info_score(exact, labels)
        if repeat == 0:
            self.clusters[method] = labels
        self._records.append(record)

    def frame(self) -> pd.DataFrame:
        """Return one row per fit.

        Its columns are ``data``, ``n``, ``method`` (exact, kmeans, fourier, nystroem), ``m``,
        ``repeat``, ``nmi`` (normalised mutual information with the classes), ``nmi_exact`` (with
        the exact clusters of the first repeat), ``floored`` (degrees raised to the floor) and
        ``seconds``.
        """
        return pd.DataFrame(self._records)
