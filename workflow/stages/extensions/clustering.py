"""Stage extensions, clustering: randomized spectral clustering beside the exact one and k-means."""

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from tqdm import tqdm

from rnca.clustering import RSpectralClustering
from rnca.features import median_gamma
from workflow.data.prepared import Prepared
from workflow.lib.exact import spectral_clustering
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed

Labels = npt.NDArray[np.integer[Any]]

MAPS = ("fourier", "nystroem")


class Comparison(SimpleNamespace):
    """How methods are compared on one set of rows.

    Its attributes are the settings of part shapes or clustering, with ``seed`` of the run.
    """

    def derived(self, *purpose: str | int) -> int:
        """Return the seed for one purpose."""
        return derived_seed(self.seed, "extensions", "clustering", *purpose)


def on_dataset(settings: Comparison, data: Prepared) -> pd.DataFrame:
    """Cluster labelled pictures: a "subset", where exact clustering can go, and "all" of them."""
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
    """Cluster rows into as many clusters as there are classes, and score them, by every method.

    ``exact``: exact spectral clustering too, of memory n².
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

    ``clusters`` has those of each method in the first repeat, at the last m.
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

        ``nmi`` is the normalised mutual information with the classes, ``nmi_exact`` that with the
        exact clusters of the first repeat, ``floored`` the number of degrees raised to the floor.
        """
        return pd.DataFrame(self._records)


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        write_csv(snakemake.output[0], on_dataset(Comparison(**vars(asked)), data))
