"""Fits on a Dask cluster of two worker processes, against fits in one process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from rnca import RCCA, RCCACV, RPCA, FeatureRidge

dask = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

MODELS = [
    RCCA(2, n_features=30, reg=1e-3, random_state=0, dtype="float64"),
    RPCA(2, n_features=30, random_state=0, dtype="float64"),
    FeatureRidge(n_features=30, reg=1e-3, random_state=0, dtype="float64"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    shared = rng.uniform(-2, 2, size=(6000, 2))
    return np.c_[shared**2, rng.normal(size=6000)], np.sin(2 * shared)


def count_moments():
    """Return a function for the workers, which notes how many `Moments` there are."""

    def replace_total():
        import gc

        from rnca import Moments
        from rnca import dask as module

        total, module.counts = module._total, []

        def counting(*given):
            result = total(*given)
            module.counts.append(sum(isinstance(thing, Moments) for thing in gc.get_objects()))
            return result

        module._total = counting

    return replace_total


def counts():
    from rnca import dask as module

    return module.counts


def test_two_workers_fit_as_one_process_does_with_few_moments_each(client, views):
    from rnca.dask import fit

    X, Y = views
    blocks = dask.from_array(X, chunks=(600, 2)), dask.from_array(Y, chunks=(500, -1))
    client.run(count_moments())
    for model in MODELS:
        used = 1 if isinstance(model, RPCA) else 2
        alone, spread = clone(model).fit(*views[:used]), fit(clone(model), *blocks[:used])
        results = [
            getattr(one, "predict" if isinstance(one, FeatureRidge) else "transform")(X)
            for one in (alone, spread)
        ]
        # Shifts and the order of sums differ.
        assert_allclose(results[1], results[0], rtol=0, atol=1e-9 * np.abs(results[0]).max())
        assert spread.moments_.n == 6000
    # Each worker read five blocks, of each model; it holds the sum, what it was before, the
    # addend, and for a moment what the scheduler has not yet released.
    for on_worker in client.run(counts).values():
        assert len(on_worker) >= 5 * len(MODELS)
        assert max(on_worker) <= 4


def test_persisted_blocks_one_column_and_empty_blocks(client, views):
    from rnca.dask import fit

    X, Y = views
    model = RCCA(1, n_features=20, dtype="float64", random_state=0)
    x = dask.concatenate([dask.from_array(X[:0]), dask.from_array(X, chunks=(2500, -1))])
    found = fit(clone(model), client.persist(x), dask.from_array(Y[:, 0], chunks=1000))
    assert_allclose(found.correlations_, model.fit(X, Y[:, 0]).correlations_, rtol=1e-9)
    assert found.partial_fit(X, Y[:, 0]).n_samples_ == 12_000


def test_what_a_cluster_cannot_fit_is_refused(client, views):
    from rnca.dask import fit

    X, Y = (dask.from_array(view, chunks=(500, -1)) for view in views)
    model = RCCA(2, n_features=20, feature_map="linear", random_state=0)
    with pytest.raises(TypeError, match="RCCA, ndarray, ndarray: give RCCA, RPCA or"):
        fit(model, *views)
    with pytest.raises(TypeError, match="RCCACV, Array, Array: give RCCA"):
        fit(RCCACV(2), X, Y)
    with pytest.raises(ValueError, match="X has 6000 rows but y has 5500"):
        fit(model, X, Y[:5500])
    spoiled = views[0].copy()
    pilot = np.linspace(0, 5999, 4096).astype(int)
    row = np.setdiff1d(np.arange(5000, 6000), pilot)[0]
    spoiled[row, 1] = np.nan
    words = f"block that begins at row 5000: X contains NaN at row {row - 5000}, column 1"
    with pytest.raises(ValueError, match=words):
        fit(model, dask.from_array(spoiled, chunks=(500, -1)), Y)
