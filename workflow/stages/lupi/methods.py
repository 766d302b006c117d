"""Methods of the lupi stage: the features that each trains a linear SVM on."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from workflow.stages.lupi.svm import Path, mean_diagonal, over_costs, solve_dual, svm_path
from workflow.stages.lupi.training import VARIANTS, Index, Matrix, Rows, Training, cross_fitted

_NO_SLACK = 1e-6
_NONE = np.empty(0)


class Rule(NamedTuple):
    """A fitted classifier: linear in what it sees of a row.

    ``x`` and ``z`` weigh the preprocessed and the first random features, and ``animal`` of shape
    (animals,) is what the attributes of the row's animal add; empty what is not looked at.
    """

    intercept: float
    x: Matrix = _NONE
    z: Matrix = _NONE
    animal: Matrix = _NONE


class Judged(NamedTuple):
    """Rows as rules see them: with features preprocessed (x) and random (z) as in training."""

    rows: Rows
    x: Matrix
    z: Matrix

    @classmethod
    def by(cls, training: Training, rows: Rows) -> "Judged":
        """Preprocess and map rows, training or test."""
        x = training.prepare(rows.counts)
        return cls(rows, x, training.map(x))

    def accuracy(self, rule: Rule) -> float:
        """Return the share of rows that a rule classifies rightly, in per cent."""
        decision = np.full(len(self.rows.signs), rule.intercept)
        for seen, weights in ((self.x, rule.x), (self.z, rule.z)):
            if len(weights):
                decision += seen[:, : len(weights)] @ weights
        if len(rule.animal):
            decision += rule.animal[self.rows.animal]
        return 100.0 * float(np.mean(np.where(decision > 0, 1, -1) == self.rows.signs))


class Candidate(ABC):
    """One setting of a method, all but the cost: the features, and the SVM trained on them.

    Of m, reg and gamma, those that the method does not have are NaN.
    """

    def __init__(
        self, training: Training, m: float = np.nan, reg: float = np.nan, gamma: float = np.nan
    ) -> None:
        self.training, self.m, self.reg, self.gamma = training, m, reg, gamma

    @abstractmethod
    def gram(self, fold: int) -> Matrix:
        """Return the Gram matrix of all training rows by a fit without those a fold holds out.

        Fold −1 holds out none.
        """

    @abstractmethod
    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Turn an SVM on the features of a fit to all training rows into a rule."""

    def path(self, K: Matrix, rows: Index, costs: Sequence[float]) -> Path:
        """Fit the SVM to training rows with the given Gram matrix."""
        return svm_path(K, self.training.rows.signs[rows], costs)


class Regular(Candidate):
    """The regular features, times the root of a scale."""

    def __init__(self, training: Training, scale: float = 1.0) -> None:
        super().__init__(training)
        self.scale = scale

    def gram(self, fold: int) -> Matrix:
        """Return that of the scaled features, whatever the fold."""
        return self.scale * self.training.gram

    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Weigh the regular features."""
        return Rule(intercept, x=self.scale * (coef @ self.training.x))


class Plus(Regular):
    """SVM+ on the regular features; the attributes are privileged.

    ``gamma`` is in units of the two kernels' mean diagonals.
    """

    def __init__(self, training: Training, gamma: float) -> None:
        super().__init__(training)
        self.gamma = gamma

    def path(self, K: Matrix, rows: Index, costs: Sequence[float]) -> Path:
        """Fit SVM+ instead; each animal is a cell."""
        animals, cells = np.unique(self.training.rows.animal[rows], return_inverse=True)
        attributes = self.training.attributes[animals]
        K_star = attributes @ attributes.T
        gamma = self.gamma * mean_diagonal(K_star) / mean_diagonal(K)

        def fit(C: float) -> tuple[Matrix, float, bool, bool]:
            signs = self.training.rows.signs[rows]
            found = solve_dual(K, signs, cells, K_star, C=C, gamma=gamma)
            return found.coef, found.intercept, True, bool(found.slacks.max() < _NO_SLACK)

        return over_costs(fit, costs, len(rows))


class Attributes(Candidate):
    """Attributes, given for every row, test rows too: whoever knows them knows the animal."""

    def __init__(self, training: Training, table: Matrix) -> None:
        super().__init__(training)
        self.table = table

    def gram(self, fold: int) -> Matrix:
        """Return that of the attributes, whatever the fold."""
        attributes = self.table[self.training.rows.animal]
        return attributes @ attributes.T

    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Add up what each animal's attributes weigh."""
        weights = coef @ self.table[self.training.rows.animal]
        return Rule(intercept, animal=self.table @ weights)


class Random(Candidate):
    """The first m random features, scaled so that their dot products estimate the kernel."""

    def gram(self, fold: int) -> Matrix:
        """Return that of the features, whatever the fold: they were drawn, not fitted."""
        z = self.training.z[:, : int(self.m)]
        return (2.0 / self.m) * (z @ z.T)

    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Weigh the random features."""
        return Rule(intercept, z=(2.0 / self.m) * (coef @ self.training.z[:, : int(self.m)]))


class Canonical(Candidate):
    """Canonical variables of a variant of RCCA."""

    def __init__(self, training: Training, variant: str, m: int, reg: float) -> None:
        super().__init__(training, m, reg)
        self.fits = training.bases[variant, m, reg]

    def gram(self, fold: int) -> Matrix:
        """Return that of the fold's canonical variables."""
        return self.fits[fold].gram()

    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Weigh the random features through the canonical variables."""
        return self._rule(coef @ self.fits[-1].variables(), intercept)

    def _rule(self, weights: Matrix, intercept: float) -> Rule:
        """Express weights of the canonical variables of the fit to all rows by those of z."""
        whole = self.fits[-1]
        z = whole.F @ (whole.directions @ weights)
        return Rule(intercept - float(whole.mean @ z), z=z)


class CrossFitted(Canonical):
    """Canonical variables of each training row from a fit to other folds.

    Its settings are chosen by folds of these variables, which fits to the other folds have made.
    """

    def __init__(self, training: Training, m: int, reg: float) -> None:
        super().__init__(training, "rcca", m, reg)
        self.variables = cross_fitted(self.fits[-1], self.fits[:-1], training.folds)

    def gram(self, fold: int) -> Matrix:
        """Return that of the cross-fitted variables, whatever the fold."""
        return self.variables @ self.variables.T

    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Weigh the whole fit's variables as the cross-fitted ones were."""
        return self._rule(coef @ self.variables, intercept)


class Joined(Canonical):
    """Regular features and RCCA's, each scaled to a mean squared length of 1."""

    def __init__(self, training: Training, m: int, reg: float) -> None:
        super().__init__(training, "rcca", m, reg)
        self.unit = mean_diagonal(training.gram)

    def gram(self, fold: int) -> Matrix:
        """Return the sum of both Gram matrices."""
        other = super().gram(fold)
        return self.training.gram / self.unit + other / mean_diagonal(other)

    def rule(self, coef: Matrix, intercept: float) -> Rule:
        """Weigh both kinds of features."""
        rule = super().rule(coef / mean_diagonal(super().gram(-1)), intercept)
        return rule._replace(x=coef @ self.training.x / self.unit)


def candidates(training: Training, method: str, gammas: Sequence[float]) -> Iterator[Candidate]:
    """Yield the candidates of a method that needs no other's choice, the more regular first."""
    settings = [(m, reg) for m in training.sizes for reg in sorted(training.regs, reverse=True)]
    if method in VARIANTS:
        yield from (Canonical(training, method, m, reg) for m, reg in settings)
    elif method == "rcca-crossfit":
        yield from (CrossFitted(training, m, reg) for m, reg in settings)
    elif method == "random":
        yield from (Random(training, m) for m in training.sizes)
    elif method == "svm+":
        yield from (Plus(training, gamma) for gamma in sorted(gammas, reverse=True))
    elif method == "surf":
        yield Regular(training)
    elif method == "surf-scaled":
        yield Regular(training, 1.0 / mean_diagonal(training.gram))
    elif method == "attributes":
        yield Attributes(training, training.attributes)
    elif method == "attributes-permuted":
        yield Attributes(training, training.permuted)
    else:
        raise ValueError(f"unknown method {method!r}")
