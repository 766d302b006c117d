"""Stage extensions, shapes: spectral clustering of shapes that k-means cannot tell apart."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import make_circles, make_moons

from workflow.lib.job import job
from workflow.lib.provenance import write_csv
from workflow.stages.extensions.clustering import Comparison, Labels, compare

# Each row of these belongs to one of two curves that no straight line parts.
SHAPES: dict[str, Callable[[int, int], tuple[npt.NDArray[np.float64], Labels]]] = {
    "rings": lambda rows, seed: make_circles(rows, factor=0.4, noise=0.06, random_state=seed),
    "moons": lambda rows, seed: make_moons(rows, noise=0.06, random_state=seed),
}


def on_shapes(settings: Comparison) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cluster points of shapes that k-means cannot tell apart.

    Returns the scores, and each point with its cluster in the first repeat and at the largest m.
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


if __name__ == "__main__":
    with job(snakemake) as asked:
        scores, points = on_shapes(Comparison(**vars(asked)))
        write_csv(snakemake.output.shapes, scores)
        write_csv(snakemake.output.points, points)
