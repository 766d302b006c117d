"""Stage maps: every feature map by how well it stands for the kernel, and what RCCA makes of it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics.pairwise import rbf_kernel
from tqdm import tqdm

from rnca._core.rows import View
from rnca.cca import RCCA
from rnca.features import FEATURE_MAPS
from workflow.data.prepared import Prepared, load_prepared
from workflow.data.splits import random_split
from workflow.data.views import RowView
from workflow.lib.job import job
from workflow.lib.provenance import write_csv
from workflow.lib.seeding import derived_seed

MAPS = ("fourier", "orthogonal", "qmc", "fastfood", "nystroem")
SCORE_COLUMNS = [
    "feature_map",
    "repeat",
    "m",
    "kernel_error",
    "kernel_rms",
    "train_sum",
    "test_sum",
    "components",
    "n_train",
    "n_test",
    "n_kernel",
]

Matrix = npt.NDArray[np.float64]
Record = dict[str, Any]


class Comparison(SimpleNamespace):
    """One repeat of the comparison of all maps on the two views of a dataset.

    Its attributes are the settings of the stage, with ``name``, ``repeat`` and ``seed`` of the run.
    """

    def derived(self, *purpose: str) -> int:
        """Return the seed of one purpose: the same for all maps, and so are rows and width."""
        return derived_seed(self.seed, "maps", self.name, self.repeat, *purpose)


def compare(comparison: Comparison, data: Prepared) -> pd.DataFrame:
    """Measure every map at every m.

    Returns
    -------
    DataFrame
        One row per map and m, with the columns `SCORE_COLUMNS`.
    """
    sizes = (comparison.train, 0, comparison.test)
    split = random_split(data.n_rows, sizes, comparison.derived("split"))
    train, test = (
        (RowView(data.x, rows), RowView(data.y, rows)) for rows in (split.train, split.test)
    )
    records: list[Record] = []
    for name in tqdm(MAPS, f"{comparison.name}, repeat {comparison.repeat}", unit="map"):
        errors = _kernel_errors(comparison, name, train[0], test[0])
        for error, sums in zip(errors, _sums(comparison, name, train, test), strict=True):
            records.append({"feature_map": name, **error, **sums})
    return pd.DataFrame(records).assign(repeat=comparison.repeat)[SCORE_COLUMNS]


def _kernel_errors(
    comparison: Comparison, name: str, train: RowView, test: RowView
) -> Iterator[Record]:
    """Yield how far the kernel matrix that the features give is from the exact one, at each m."""
    # Dot products of Nyström features estimate the kernel only when whitened.
    given = {"whiten": True} if name == "nystroem" else {}
    fitted: Any = FEATURE_MAPS[name](
        max(comparison.features), random_state=comparison.derived("kernel"), **given
    ).fit_view(View(train))
    rows = np.asarray(test[: comparison.kernel_rows], np.float64)
    K = rbf_kernel(rows, gamma=fitted.gamma_)
    norm = _operator_norm(K)
    z = fitted.transform(rows)
    for m in comparison.features:
        scale = 1.0 if name == "nystroem" else 2.0 / m
        difference = scale * z[:, :m] @ z[:, :m].T - K
        yield {
            "m": m,
            "kernel_error": _operator_norm(difference) / norm,
            "kernel_rms": float(np.sqrt(np.square(difference).mean())),
            "n_kernel": len(rows),
        }


def _operator_norm(symmetric: Matrix) -> float:
    return float(np.abs(np.linalg.eigvalsh(symmetric)).max())


def _sums(
    comparison: Comparison,
    name: str,
    train: tuple[RowView, RowView],
    test: tuple[RowView, RowView],
) -> Iterator[Record]:
    """Yield the sums of canonical correlations at each m, from one fit at the largest."""
    model = RCCA(
        comparison.components,
        feature_map=name,
        n_features=max(comparison.features),
        reg=comparison.reg,
        random_state=comparison.derived("features"),
    ).fit(*train)
    for member in model.path(comparison.features):
        yield {
            "train_sum": member.training_correlations_.sum(),
            "test_sum": member.score(*test),
            "components": comparison.components,
            "n_train": len(train[0]),
            "n_test": len(test[0]),
        }


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = load_prepared(snakemake.input.data, verify=True)
        write_csv(snakemake.output[0], compare(Comparison(**vars(asked)), data))
