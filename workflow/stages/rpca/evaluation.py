"""Stage rpca: how long the evaluation of random features takes, alone and on one thread."""

from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from rnca.features import FEATURE_MAPS
from workflow.data.prepared import Prepared
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.rpca.fit import table

EVALUATED = ("fourier", "nystroem", "fastfood")


class Evaluation(SimpleNamespace):
    """The settings of ``evaluation``, with ``name`` and ``seed`` of the experiment and the run."""

    def derived(self, purpose: str) -> int:
        """Return the seed of one purpose."""
        return derived_seed(self.seed, "rpca", self.name, "evaluation", purpose)


def evaluate(evaluation: Evaluation, data: Prepared) -> pd.DataFrame:
    """Time every map at every m in float32, one after the other in each repeat.

    The maps are drawn before, and evaluated once as a warm-up. Rows are those of the first view or,
    where there is none, whole pictures: ``columns`` has their number.
    """
    rng = np.random.default_rng(evaluation.derived("rows"))
    view = data.x if "x" in data.arrays else table(data)
    X = view[rng.permutation(len(view))[: evaluation.rows]].astype(np.float32)
    records = []
    for m in tqdm(evaluation.features, desc=f"{evaluation.name}, evaluation of features"):
        drawn = {
            name: FEATURE_MAPS[name](m, random_state=evaluation.derived("features")).fit(X)
            for name in EVALUATED
        }
        with threadpool_limits(1):
            for features in drawn.values():
                features.transform(X)
            for repeat in range(evaluation.repeats):
                for name, features in drawn.items():
                    started = perf_counter()
                    features.transform(X)
                    sizes = {"n": len(X), "columns": X.shape[1], "m": m, "repeat": repeat}
                    seconds = perf_counter() - started
                    records.append({"method": name, **sizes, "seconds": seconds})
    return pd.DataFrame(records)


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        write_csv(snakemake.output[0], evaluate(Evaluation(**vars(asked)), data))
