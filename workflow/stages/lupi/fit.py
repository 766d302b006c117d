"""Stage lupi: whether privileged information at training helps a linear SVM (Section 5.3)."""

from collections.abc import Iterable, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from workflow.data.prepared import Prepared
from workflow.data.splits import Partition, privileged_partition
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed
from workflow.stages.lupi.methods import Candidate, Joined, Judged, Rule, candidates
from workflow.stages.lupi.training import Fold, Matrix, Rows, Training

# A fit to all training rows: its settings, with how they did on folds, and its rule.
Fitted = tuple[dict[str, Any], Rule]


class Experiment(SimpleNamespace):
    """Classifications of some classes against others, all methods on the same rows.

    Its attributes are the settings of the stage, with ``name`` and ``seed`` of the run.
    """

    def seed_of(self, number: int, purpose: str) -> int:
        """Return the seed for one purpose in a partition."""
        return derived_seed(self.seed, "lupi", self.name, number, purpose)

    def partition(self, data: Prepared, number: int) -> Partition:
        """Draw the classes and rows of a partition."""
        return privileged_partition(
            data.need("labels"),
            self.seed_of(number, "split"),
            classes_per_side=self.classes,
            n_train=self.train,
            n_test=self.test,
            balanced=self.balanced,
            classes_seed=self.seed_of(0, "classes") if self.grouping == "fixed" else None,
        )

    def training(self, data: Prepared, number: int, preprocessing: str) -> Training:
        """Read the training rows of a partition, and no others."""
        rows = read_rows(data, self.partition(data, number), "train")
        shuffled = StratifiedKFold(
            self.folds, shuffle=True, random_state=self.seed_of(number, "folds")
        )
        folds: list[Fold] = list(shuffled.split(rows.counts, rows.signs))
        return Training(
            rows,
            data.attributes.astype(np.float64),
            preprocessing,
            folds,
            self.features,
            self.regs,
            self.methods,
            {
                name: self.seed_of(number, name)
                for name in ("features", "animals", "images", "directions")
            },
        )


def read_rows(data: Prepared, partition: Partition, part: str) -> Rows:
    """Read the train or test rows of a partition."""
    index = getattr(partition.split, part)
    animal = np.asarray(data.need("labels")[index], dtype=np.intp)
    signs = np.where(np.isin(animal, partition.positive), 1.0, -1.0)
    return Rows(np.asarray(data.x[index], dtype=np.float64), animal, signs)


class Scores(NamedTuple):
    """Cross-validation of a candidate: at each cost, the mean accuracy over folds.

    It is NaN where a fold's path did not get that far. A cost is ``solved`` if the fits of all
    folds reached their tolerance; ``unsolved`` counts the fits, over folds and costs, that did not
    or were left out because they would not.
    """

    accuracy: Matrix
    solved: npt.NDArray[np.bool_]
    unsolved: int

    @property
    def best(self) -> int:
        """The smallest cost of those with the best accuracy; solved ones come first."""
        eligible = self.solved if self.solved.any() else ~np.isnan(self.accuracy)
        return int(np.where(eligible, self.accuracy, -np.inf).argmax())


class Comparison:
    """Fits all methods to the training rows of a partition."""

    def __init__(self, training: Training, costs: Sequence[float], gammas: Sequence[float]) -> None:
        self.training, self.costs, self.gammas = training, costs, gammas
        self._scored: dict[str, list[tuple[Candidate, Scores]]] = {}

    def fits(self, method: str) -> list[Fitted]:
        """Fit a method to all rows at each of its settings, the one chosen on the folds first."""
        if method == "majority":
            return [({}, Rule(1.0 if self.training.rows.signs.mean() > 0 else -1.0))]
        scored = self.scored(method)
        chosen = _choice(scored)
        ordered = [scored[chosen], *scored[:chosen], *scored[chosen + 1 :]]
        return [self._fit(candidate, scores) for candidate, scores in ordered]

    def scored(self, method: str) -> list[tuple[Candidate, Scores]]:
        """Cross-validate every setting of a method, once."""
        if method == "rcca-least-reg":
            least = min(self.training.regs)
            return [each for each in self.scored("rcca") if each[0].reg == least]
        if method not in self._scored:
            self._scored[method] = [
                (candidate, self._score(candidate)) for candidate in self._candidates(method)
            ]
        return self._scored[method]

    def _candidates(self, method: str) -> Iterable[Candidate]:
        if method == "surf+rcca":  # m and reg are those that RCCA chose alone
            rcca = self.scored("rcca")
            chosen, _ = rcca[_choice(rcca)]
            return [Joined(self.training, int(chosen.m), chosen.reg)]
        return candidates(self.training, method, self.gammas)

    def _score(self, candidate: Candidate) -> Scores:
        accuracies, flags = [], []
        for number, (fitted, held) in enumerate(self.training.folds):
            K = candidate.gram(number)
            path = candidate.path(K[np.ix_(fitted, fitted)], fitted, self.costs)
            signs = self.training.rows.signs[held]
            accuracies.append(path.accuracy(K[np.ix_(held, fitted)], signs))
            flags.append(path.solved)
        solved = np.array(flags)
        everywhere = np.logical_and.reduce(solved)
        return Scores(np.mean(accuracies, axis=0), everywhere, int((~solved).sum()))

    def _fit(self, candidate: Candidate, scores: Scores) -> Fitted:
        cost = self.costs[scores.best]
        rows = np.arange(len(self.training.rows.signs))
        path = candidate.path(candidate.gram(-1), rows, [cost])
        settings = {
            "m": candidate.m,
            "reg": candidate.reg,
            "gamma": candidate.gamma,
            "cost": cost,
            "cost_on_edge": cost in (self.costs[0], self.costs[-1]),
            "cv_accuracy": 100.0 * scores.accuracy[scores.best],
            "solved": bool(path.solved[0]),
            "unsolved_on_folds": scores.unsolved,
        }
        return settings, candidate.rule(path.coef[0], float(path.intercept[0]))


def _choice(scored: Sequence[tuple[Candidate, Scores]]) -> int:
    """Return the first of the settings with the best cross-validated accuracy."""
    return int(np.argmax([scores.accuracy[scores.best] for _, scores in scored]))


def compare(
    experiment: Experiment, data: Prepared, numbers: Iterable[int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit and judge all methods in the given partitions; accuracies are in per cent.

    Returns a row per partition, preprocessing and method at the settings chosen on the folds, and
    the same for all settings.
    """
    chosen, every = [], []
    tasks = list(product(numbers, experiment.preprocessing))
    for number, preprocessing in tqdm(tasks, desc=experiment.name, unit="task"):
        training = experiment.training(data, number, preprocessing)
        comparison = Comparison(training, experiment.costs, experiment.gammas)
        test = read_rows(data, experiment.partition(data, number), "test")
        sides = {
            "train": Judged(training.rows, training.x, training.z),
            "test": Judged.by(training, test),
        }
        for method in experiment.methods:
            records = [
                {"partition": number, "preprocessing": preprocessing, "method": method}
                | settings
                | {f"{side}_accuracy": rows.accuracy(rule) for side, rows in sides.items()}
                | {f"n_{side}": len(rows.x) for side, rows in sides.items()}
                for settings, rule in comparison.fits(method)
            ]
            chosen.append(records[0])
            every += records
    return pd.DataFrame(chosen), pd.DataFrame(every)


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        accuracy, settings = compare(Experiment(**vars(asked)), data, asked.numbers)
        write_csv(snakemake.output.accuracy, accuracy)
        write_csv(snakemake.output.settings, settings)
