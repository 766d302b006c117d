"""
On a Dask cluster
=================

A fit has three steps: draw the feature maps, accumulate moments over the rows, solve. The second is
nearly all of the work, and splits over any cluster: each worker accumulates the rows it has, and
the moments are merged. This page starts two worker processes on one machine; give ``Client`` the
address of a scheduler to use another. Any other pool works the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from rnca import RCCA


def partition(seed, n=5000):
    """Make the rows of one partition; on your data, read them from a file."""
    rng = np.random.default_rng(seed)
    shared = rng.uniform(-2, 2, size=(n, 2))
    X = np.hstack([shared**2, rng.normal(size=(n, 3))])
    Y = np.hstack([np.sin(2 * shared), rng.normal(size=(n, 3))])
    return X, Y


def accumulate(model, seed):
    """Run on a worker: only the drawn model travels there, and only moments travel back."""
    return model.accumulate(*partition(seed))


def fit(client, seeds):
    """Draw from the first partition, accumulate every partition, merge, solve."""
    model = RCCA(2, n_features=200, reg=1e-3, random_state=0).draw(*partition(seeds[0]))
    moments = model.empty_moments()
    for part in client.map(accumulate, [model] * len(seeds), seeds):
        moments.merge(part.result())
    return model.solve(moments)


# %%
# The draw takes kernel widths and landmarks from the rows that it is given: a partition that is a
# fair sample of all rows, and has more rows than there are features.

if __name__ == "__main__":  # worker processes import this file
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        spread = fit(client, range(8))

    # The same in one process: the answers differ by rounding only.
    alone = RCCA(2, n_features=200, reg=1e-3, random_state=0).draw(*partition(0))
    moments = alone.empty_moments()
    for seed in range(8):
        moments.merge(alone.accumulate(*partition(seed)))
    alone.solve(moments)
    # Features are float32, and their last digits may depend on the number of threads.
    np.testing.assert_allclose(spread.correlations_, alone.correlations_, rtol=1e-5)
    print(f"{spread.n_samples_} rows on two workers: {np.round(spread.correlations_, 4)}")
    print(f"{alone.n_samples_} rows in one process: {np.round(alone.correlations_, 4)}")

    u, v = spread.transform(*partition(99))
    plt.scatter(u[:, 0], v[:, 0], s=3)
    plt.xlabel("x, variable 1")
    plt.ylabel("y, variable 1")
    plt.title("New rows, by a model fitted on two workers")
    plt.show()
