"""Fits on a Dask cluster, of which each worker holds one `Moments`."""

from functools import reduce
from typing import Any

import numpy as np
from distributed import get_client, wait

from rnca.moments import Moments


def fit(model: Any, X: Any, y: Any = None) -> Any:
    """Fit to dask or xarray arrays on the workers of the current ``distributed.Client``.

    The client draws the feature maps, for which only the rows needed travel. Each worker adds the
    blocks of its share of the rows, two at a time, to one `Moments`; the client solves.

    Parameters
    ----------
    model : RCCA, RPCA or FeatureRidge
    X, y : dask arrays of shape (n, p) and (n, q) or (n,); no y for RPCA

    Returns
    -------
    The model, fitted as by ``model.fit(X, y)`` but for rounding.
    """
    given = [X] if y is None else [X, y]
    arrays = [getattr(array, "data", array) for array in given]  # of xarray
    if not (hasattr(model, "draw") and all(hasattr(array, "blocks") for array in arrays)):
        kinds = ", ".join(type(argument).__name__ for argument in (model, *given))
        raise TypeError(f"{kinds}: give RCCA, RPCA or FeatureRidge and dask arrays, or use `fit`.")
    client = get_client()
    drawn = client.scatter(model.draw(*arrays), broadcast=True)
    lengths = tuple(length for length in arrays[0].chunks[0] if length)
    arrays = [array.rechunk((lengths, -1)[: array.ndim]) for array in arrays]
    workers = sorted(client.nthreads())
    shares = np.array_split(np.arange(len(lengths)), len(workers))
    moments: dict[str, Any] = {}
    for turn in range(len(shares[0])):
        earlier = list(moments.values())
        for worker, share in zip(workers, shares, strict=True):
            for block in share[turn : turn + 1].tolist():
                where = {"workers": [worker], "allow_other_workers": True}
                rows = client.compute([array.blocks[block] for array in arrays], **where)
                before, start = [moments[worker]] if turn else [], sum(lengths[:block])
                moments[worker] = client.submit(_total, drawn, before, start, rows, **where)
        [future.result() for future in wait(earlier).done if future.status == "error"]  # raises
    merged = list(moments.values())
    while len(merged) > 1:
        pairs = [merged[at : at + 2] for at in range(0, len(merged), 2)]
        merged = [client.submit(_total, drawn, pair) for pair in pairs]
    return model.solve(merged[0].result())


def _total(model: Any, parts: list[Any], start: int = 0, rows: Any = ()) -> Any:
    try:
        moments = model.accumulate(*rows) if rows else model.empty_moments()
    except ValueError as error:
        raise ValueError(f"in the block that begins at row {start}: {error}") from error
    return reduce(Moments.merge, parts, moments)
