"""SVM paths: the same as separate fits, ended where they say."""

import numpy as np
import pytest
from sklearn.svm import SVC

from workflow.stages.lupi import svmpath
from workflow.stages.lupi.svmpath import svm_path

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
    original = svmpath._fit
    monkeypatch.setattr(svmpath, "_fit", lambda *given: fitted.append(1) or original(*given))
    X, y = sample(200)
    path = svm_path(X @ X.T, y, COSTS)
    assert len(fitted) < len(COSTS)
    assert np.array_equal(path.coef[-1], path.coef[-2])


def test_path_ends_where_the_solver_does_not(monkeypatch):
    monkeypatch.setattr(svmpath, "STEPS_PER_ROW", 2)
    X, y = sample(3)
    K = X @ X.T
    path = svm_path(K, y, COSTS)
    end = int(path.solved.argmin())
    assert 0 < end < len(COSTS) - 1
    assert path.solved.tolist() == [True] * end + [False] * (len(COSTS) - end)
    tried = ~np.isnan(path.accuracy(K, y))
    assert tried.tolist() == [True] * (end + 1) + [False] * (len(COSTS) - end - 1)
