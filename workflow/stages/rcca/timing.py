"""How long a fit takes alone, and a truncated against a full SVD of the same matrix."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

import pandas as pd
import scipy.linalg
from threadpoolctl import threadpool_limits

from rnca.method import whiten_pair
from rnca.spectral import leading_svd
from workflow.data.prepared import Prepared
from workflow.lib.job import job
from workflow.lib.provenance import peak_mb, read_prepared, write_csv
from workflow.stages.rcca.fit import Experiment


def time_fit(experiment: Experiment, data: Prepared, threads: Sequence[int]) -> pd.DataFrame:
    """Time a whole fit at the largest m alone, with a draw of its own, on each number of threads.

    One row per repeat and number of threads: seconds of the fit (widths, draw, features,
    covariances and solution), and the peak memory of the process so far.
    """
    train = experiment.views(data, experiment.rows(data), "train")
    fits = []
    for repeat, count in product(range(experiment.times), threads):
        model = experiment.estimator(train, "timing", max(experiment.features))
        started = perf_counter()
        with threadpool_limits(count):
            model.fit(*train)
        fits.append(
            {
                **experiment.labels(),
                "repeat": repeat,
                "m": model.map_x_.n_features_out,
                "n_train": len(train[0]),
                "threads": count,
                "seconds": perf_counter() - started,
                "peak_mb": peak_mb(),
            }
        )
    return pd.DataFrame(fits)


def time_svds(experiment: Experiment, data: Prepared, threads: int) -> pd.DataFrame:
    """Time both ways to the leading singular triplets, in turns, ``times`` at each m.

    A first time of either, which starts threads, is not counted.
    ``threads`` is what the run gave this job, for the record.
    """
    train = experiment.views(data, experiment.rows(data), "train")
    model = experiment.estimator(train, "svd").draw(*train)
    whitened = whiten_pair(model.accumulate(*train), experiment.reg, experiment.reg)
    rows: list[dict[str, Any]] = []
    for m in experiment.features:
        D = whitened.D[:m, :m].copy()
        ways: dict[str, Callable[[], Any]] = {
            "truncated": partial(leading_svd, D, experiment.components),
            "full": partial(scipy.linalg.svd, D),
        }
        if not rows:
            for svd in ways.values():
                svd()
        for repeat in range(experiment.times):
            for method, svd in ways.items():
                started = perf_counter()
                svd()
                seconds = perf_counter() - started
                measured = {"method": method, "seconds": seconds, "threads": threads}
                labels = experiment.labels() | {"repeat": repeat}
                rows.append({**labels, "m": m, "components": experiment.components, **measured})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        experiment = Experiment(**vars(asked))
        if snakemake.output.get("svd"):
            times = time_svds(experiment, data, snakemake.threads)
        else:
            times = time_fit(experiment, data, sorted({1, snakemake.threads}))
        write_csv(snakemake.output[0], times)
