"""SVM paths against separate fits; SVM+ against its primal, and in its limits."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from workflow.stages.lupi import svm
from workflow.stages.lupi.svm import solve_dual, svm_path

COSTS = [1e-3, 1e-1, 1e1, 1e3]


def sample(columns, n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("columns", "costs"), [(3, COSTS[:3]), (200, COSTS)], ids=["overlapping", "separable"]
)
def test_path_is_that_of_separate_fits(columns, costs):
    X, y = sample(columns)
    path = svm_path(X @ X.T, y, costs)
    accuracies = path.accuracy(X @ X.T, y)
    for cost, accuracy, coef, intercept, solved in zip(costs, accuracies, *path, strict=True):
        model = SVC(C=cost, kernel="linear").fit(X, y)
        assert solved
        decision = X @ (X.T @ coef) + intercept
        assert decision == pytest.approx(model.decision_function(X), abs=5e-3)
        assert accuracy == np.mean(np.sign(decision) == y)


def test_separable_path_is_not_fitted_twice(monkeypatch):
    fitted = []
    monkeypatch.setattr(svm, "SVC", lambda **given: fitted.append(1) or SVC(**given))
    X, y = sample(200)
    path = svm_path(X @ X.T, y, COSTS)
    assert len(fitted) < len(COSTS)
    assert np.array_equal(path.coef[-1], path.coef[-2])


def test_path_ends_where_the_solver_does_not(monkeypatch):
    monkeypatch.setattr(svm, "STEPS_PER_ROW", 2)
    X, y = sample(3)
    K = X @ X.T
    path = svm_path(K, y, COSTS)
    end = int(path.solved.argmin())
    assert 0 < end < len(COSTS) - 1
    assert path.solved.tolist() == [True] * end + [False] * (len(COSTS) - end)
    tried = ~np.isnan(path.accuracy(K, y))
    assert tried.tolist() == [True] * (end + 1) + [False] * (len(COSTS) - end - 1)


def overlapping(n=24):
    """Draw two classes that overlap, and privileged columns about the margin."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    margin = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n)
    privileged = np.column_stack([margin, np.abs(margin), rng.normal(size=n)])
    return X, np.where(margin > 0, 1, -1), privileged


def solve(X, y, privileged, C=1.0, gamma=1.0):
    """Solve the dual, and return (w, b, w*, b*) as the primal has them."""
    distinct, cells = np.unique(privileged, axis=0, return_inverse=True)
    K_star = distinct @ distinct.T
    found = solve_dual(X @ X.T, y, cells.reshape(-1), K_star, C=C, gamma=gamma)
    slack_weights = found.excess @ distinct / gamma
    return np.r_[found.coef @ X, found.intercept, slack_weights, found.slack_intercept]


def primal(X, y, privileged, C, gamma):
    """Minimise over (w, b, w*, b*) by sequential quadratic programming, from a feasible point."""
    d, p = X.shape[1], privileged.shape[1]

    def parts(v):
        return v[:d], v[d], v[d + 1 : d + 1 + p], v[-1]

    def slacks(v):
        _, _, w_star, b_star = parts(v)
        return privileged @ w_star + b_star

    def objective(v):
        w, _, w_star, _ = parts(v)
        return 0.5 * w @ w + gamma / 2 * w_star @ w_star + C * slacks(v).sum()

    def margins(v):
        w, b, *_ = parts(v)
        return y * (X @ w + b) - 1 + slacks(v)

    constraints = [{"type": "ineq", "fun": each} for each in (slacks, margins)]
    start = np.zeros(d + p + 2)
    start[-1] = 2.0
    options = {"maxiter": 2000, "ftol": 1e-14}
    return minimize(objective, start, method="SLSQP", constraints=constraints, options=options)


@pytest.mark.parametrize(
    ("C", "gamma", "distinct"), [(0.3, 0.5, 24), (3.0, 0.1, 24), (30.0, 2.0, 24), (1.0, 0.5, 5)]
)
def test_solution_is_that_of_the_primal(C, gamma, distinct):
    """Also where rows of equal privileged columns share a slack."""
    X, y, privileged = overlapping()
    privileged = privileged[np.arange(len(X)) % distinct]
    oracle = primal(X, y, privileged, C, gamma).x
    assert np.abs(oracle).max() > 0.5
    unique = slice(None if distinct == len(X) else 3)
    assert solve(X, y, privileged, C, gamma)[unique] == pytest.approx(oracle[unique], abs=2e-5)


def test_tends_to_the_svm_for_independent_privileged_rows_and_small_gamma():
    X, y, _ = overlapping()
    svm = SVC(C=1.0, kernel="linear", tol=1e-8).fit(X, y)
    distances = [
        np.abs(solve(X, y, np.eye(len(X)), 1.0, gamma)[:2] - svm.coef_).max()
        for gamma in (10.0, 1e-6)
    ]
    assert distances[0] > 0.01
    assert distances[1] < 1e-5


def test_scale_of_the_data_does_not_matter():
    """x/s with C·s² and γ·s² is the same problem."""
    X, y, privileged = overlapping()
    expected = solve(X, y, privileged, 1.0, 0.5)[:3]
    for s in (1e-4, 1e4):
        found = solve(X / s, y, privileged, s**2, 0.5 * s**2)[:3]
        assert found / [s, s, 1] == pytest.approx(expected, abs=1e-4)


def test_missing_solver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    with pytest.raises(ModuleNotFoundError, match="SVM\\+ is solved by piqp, which is not install"):
        solve(*overlapping())


def test_extreme_costs_are_refused_not_returned():
    with pytest.raises(FloatingPointError, match="Standardise the columns"):
        solve(*overlapping(), 1e30, 1e-30)
