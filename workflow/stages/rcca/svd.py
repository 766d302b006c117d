"""Stage rcca: a truncated against a full SVD of the same whitened cross-covariance."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import pandas as pd
import scipy.linalg

from rnca._core.spectral import leading_svd
from rnca._core.whitening import Whitened
from workflow.data.prepared import Prepared
from workflow.stages.rcca.fit import Experiment

_REPEATS = 3


def time_svds(
    experiment: Experiment, data: Prepared, sizes: Sequence[int], threads: int
) -> pd.DataFrame:
    """Time both ways to the leading singular triplets, at each m.

    Parameters
    ----------
    experiment : Experiment
        Its largest size is that of the features drawn.
    data : Prepared
    sizes : sequence of int
        Numbers of features m.
    threads : int
        What the run gave this job, for the record.

    Returns
    -------
    DataFrame
        One row per m, repeat and method, ``truncated`` or ``full``, in turns.
    """
    train = experiment.views(data, experiment.rows(data), "train")
    model = experiment.estimator(train, "svd").draw(*train)
    whitened = Whitened(model.accumulate(*train), experiment.reg, experiment.reg)
    rows = []
    for m in sizes:
        D = whitened.D[:m, :m].copy()
        ways: dict[str, Callable[[], Any]] = {
            "truncated": partial(leading_svd, D, experiment.components),
            "full": partial(scipy.linalg.svd, D),
        }
        for repeat in range(_REPEATS):
            for method, svd in ways.items():
                started = perf_counter()
                svd()
                seconds = perf_counter() - started
                measured = {"method": method, "seconds": seconds, "threads": threads}
                labels = experiment.labels() | {"repeat": repeat}
                rows.append({**labels, "m": m, "components": experiment.components, **measured})
    return pd.DataFrame(rows)
