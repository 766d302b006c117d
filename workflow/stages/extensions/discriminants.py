"""Stage extensions, discriminants: RLDA beside LDA and a linear SVM on labelled pictures."""

from collections.abc import Iterator
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import LinearSVC
from tqdm import tqdm

from rnca.lda import RLDA
from workflow.data.prepared import Prepared
from workflow.data.splits import Split, official_split, random_split
from workflow.data.views import RowView
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed

MAPS = ("fourier", "nystroem")


class Contest(SimpleNamespace):
    """What is fitted to which rows.

    Its attributes are the settings of part discriminants, with ``seed`` of the run.
    """

    def derived(self, *purpose: str | int) -> int:
        """Return the seed for one purpose."""
        return derived_seed(self.seed, "extensions", "discriminants", *purpose)

    def rows(self, data: Prepared, repeat: int) -> Split:
        """Draw the rows of a repeat."""
        seed = self.derived("split", repeat)
        sizes = [self.split[part] or 0 for part in ("train", "tune", "test")]
        if self.split["scheme"] == "official":
            return official_split(data.need("given_split"), sizes[1], seed)
        return random_split(data.n_rows, sizes, seed)


class Pictures:
    """Pictures as rows of numbers from 0 to 1, with their labels, by part of a split."""

    def __init__(self, data: Prepared, rows: Split) -> None:
        self._pixels = data.images.reshape(data.n_rows, -1)
        self._labels, self._rows = data.need("labels"), rows
        self._scale = np.full(self._pixels.shape[1], float(self._pixels.max()))

    def of(self, part: str) -> tuple[RowView, npt.NDArray[Any]]:
        """Return rows, not loaded, and labels of the train, tune or test part."""
        wanted = getattr(self._rows, part)
        return RowView(self._pixels, wanted, scale=self._scale), self._labels[wanted]

    def error(self, model: Any, part: str) -> float:
        """Return the share of a part that a model classifies wrongly."""
        X, y = self.of(part)
        return float(np.mean(model.predict(X) != y))


def classify(settings: Contest, data: Prepared) -> pd.DataFrame:
    """Fit every method in every repeat: LDA, a linear SVM, and RLDA with either map.

    ``chosen`` is reg or C, by the error on tune rows; ``seconds`` are of a fit at the largest m.
    """
    records = []
    for repeat in tqdm(range(settings.repeats), "classification", unit="repeat"):
        rows = settings.rows(data, repeat)
        pictures = Pictures(data, rows)
        sizes = {"repeat": repeat, "n_train": len(rows.train), "n_test": len(rows.test)}
        records += [
            {**record, **sizes}
            for fits in (
                _lda(pictures),
                _svm(pictures, settings),
                *(_rlda(pictures, settings, feature_map, repeat) for feature_map in MAPS),
            )
            for record in fits
        ]
    return pd.DataFrame(records)


def _lda(pictures: Pictures) -> Iterator[dict[str, Any]]:
    model = LinearDiscriminantAnalysis()
    seconds = _fit(model, pictures)
    yield {
        "method": "lda",
        "tune_error": pictures.error(model, "tune"),
        "test_error": pictures.error(model, "test"),
        "seconds": seconds,
    }


def _svm(pictures: Pictures, settings: Contest) -> Iterator[dict[str, Any]]:
    best: dict[str, Any] = {"tune_error": np.inf}
    for cost in settings.svm_grid:
        model = LinearSVC(C=cost, dual=False, tol=1e-2)
        seconds = _fit(model, pictures)
        error = pictures.error(model, "tune")
        if error < best["tune_error"]:
            best = {"chosen": cost, "tune_error": error, "seconds": seconds}
            best["test_error"] = pictures.error(model, "test")
    yield {"method": "svm", **best}


def _rlda(
    pictures: Pictures, settings: Contest, feature_map: str, repeat: int
) -> Iterator[dict[str, Any]]:
    """Fit RLDA at every m and reg from one pass."""
    largest = max(settings.features)
    model = RLDA(
        feature_map=feature_map,
        n_features=largest,
        reg=min(settings.reg_grid),
        random_state=settings.derived("features", repeat),
        verbose=True,
    )
    seconds = _fit(model, pictures)
    best: dict[int, tuple[float, RLDA]] = {}
    for member in model.path(settings.features, settings.reg_grid):
        error = pictures.error(member, "tune")
        if member.n_features not in best or error < best[member.n_features][0]:
            best[member.n_features] = error, member
    for m, (error, member) in best.items():
        yield {
            "method": feature_map,
            "m": m,
            "chosen": member.reg,
            "tune_error": error,
            "test_error": pictures.error(member, "test"),
            "seconds": seconds if m == largest else None,
        }


def _fit(model: Any, pictures: Pictures) -> float:
    X, y = pictures.of("train")
    # scikit-learn's own need the rows in memory; RLDA reads them as it goes.
    given = X if isinstance(model, RLDA) else np.asarray(X)
    started = perf_counter()
    model.fit(given, y)
    return perf_counter() - started


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        write_csv(snakemake.output[0], classify(Contest(**vars(asked)), data))
