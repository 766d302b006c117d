"""
On a Dask cluster
=================

A fit has three steps: draw the feature maps, accumulate moments over the rows, solve. The second is
nearly all of the work, and splits over any cluster. ``rnca.dask.fit`` does so for dask arrays: each
worker adds its share of the rows to one ``Moments``, and these are merged. This page starts two
worker processes on one machine; give ``Client`` the address of a scheduler to use another.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

import rnca.dask
from rnca import RCCA


def partition(seed, n=5000):
    """Make the rows of one file; on your data, read them."""
    rng = np.random.default_rng(seed)
    shared = rng.uniform(-2, 2, size=(n, 2))
    return np.hstack([shared**2, rng.normal(size=(n, 3)), np.sin(2 * shared)])


files = [da.from_delayed(delayed(partition)(seed), (5000, 7), float) for seed in range(8)]
table = da.concatenate(files)
X, Y = table[:, :5], table[:, 5:]

# %%
# No process holds the table: the client reads the few thousand rows that kernel widths are taken
# from, a worker two blocks of rows at a time.

if __name__ == "__main__":  # worker processes import this file
    model = RCCA(2, n_features=200, reg=1e-3, random_state=0)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        rnca.dask.fit(model, X, Y)
    print(f"{model.n_samples_} rows on two workers: {np.round(model.correlations_, 4)}")

    # One process reads the same arrays block by block. The answers differ by rounding only.
    alone = RCCA(2, n_features=200, reg=1e-3, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, alone.correlations_, rtol=1e-5)
    print(f"{alone.n_samples_} rows in one process: {np.round(alone.correlations_, 4)}")

    new = partition(99)
    u, v = model.transform(new[:, :5], new[:, 5:])
    plt.scatter(u[:, 0], v[:, 0], s=3)
    plt.xlabel("x, variable 1")
    plt.ylabel("y, variable 1")
    plt.title("New rows, by a model fitted on two workers")
    plt.show()
