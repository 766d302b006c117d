"""Stage maps: every feature map by how well it stands for the kernel, and what RCCA makes of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics.pairwise import rbf_kernel
from tqdm import tqdm

from rnca._core.rows import View
from rnca._core.seeding import derived_seed
from rnca.cca import RCCA
from rnca.features import FEATURE_MAPS
from workflow.data.prepared import Prepared
from workflow.data.splits import random_split
from workflow.data.views import RowView

MAPS = ("fourier", "orthogonal", "qmc", "fastfood", "nystroem")
SCORE_COLUMNS = (
    "experiment",
    "dataset",
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
)

Matrix = npt.NDArray[np.float64]
Record = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One repeat of the comparison of all maps on the two views of a dataset.

    Attributes
    ----------
    name : str
        Of the experiment.
    train, test : int
        Rows drawn at random.
    kernel_rows : int
        How many of the test rows the kernel error is measured on, in the first view.
    components : int
        Canonical variables that are summed over.
    sizes : tuple of int
        Numbers of features m, increasing.
    reg : float
    repeat : int
    seed : int
        Of the whole run.
    """

    name: str
    train: int
    test: int
    kernel_rows: int
    components: int
    sizes: tuple[int, ...]
    reg: float
    repeat: int
    seed: int

    def derived(self, *purpose: str) -> int:
        """Return the seed of one purpose: the same for all maps, and so are rows and width."""
        return derived_seed(self.seed, "maps", self.name, self.repeat, *purpose)


def compare(comparison: Comparison, data: Prepared) -> pd.DataFrame:
    """Measure every map at every m.

    Returns
    -------
    DataFrame
        One row per map and m, with the columns `SCORE_COLUMNS` but for ``dataset``.
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
    frame = pd.DataFrame(records).assign(experiment=comparison.name, repeat=comparison.repeat)
    return frame[[column for column in SCORE_COLUMNS if column in frame]]


def _kernel_errors(
    comparison: Comparison, name: str, train: RowView, test: RowView
) -> Iterator[Record]:
    """Yield how far the kernel matrix that the features give is from the exact one, at each m."""
    # Dot products of Nyström features estimate the kernel only when whitened.
    given = {"whiten": True} if name == "nystroem" else {}
    fitted: Any = FEATURE_MAPS[name](
        max(comparison.sizes), random_state=comparison.derived("kernel"), **given
    ).fit_view(View(train))
    rows = np.asarray(test[: comparison.kernel_rows], np.float64)
    K = rbf_kernel(rows, gamma=fitted.gamma_)
    norm = _operator_norm(K)
    z = fitted.transform(rows)
    for m in comparison.sizes:
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
        n_features=max(comparison.sizes),
        reg=comparison.reg,
        random_state=comparison.derived("features"),
    ).fit(*train)
    for member in model.iterate_path(comparison.sizes):
        yield {
            "train_sum": member.training_correlations_.sum(),
            "test_sum": member.score(*test),
            "components": comparison.components,
            "n_train": len(train[0]),
            "n_test": len(test[0]),
        }
