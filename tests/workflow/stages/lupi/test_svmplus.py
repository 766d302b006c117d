"""SVM+: against its primal solved by another method, and in its limits."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from workflow.stages.lupi.svmplus import SVMPlus


def sample(n=24):
    """Draw two classes that overlap, and privileged columns that tell where."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    margin = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n)
    told = np.column_stack([margin, np.abs(margin), rng.normal(size=n)])
    return X, np.where(margin > 0, 1, -1), told


def primal(X, y, told, C, gamma):
    """Minimise over (w, b, w*, b*) by sequential quadratic programming, from a feasible point."""
    d, p = X.shape[1], told.shape[1]

    def parts(v):
        return v[:d], v[d], v[d + 1 : d + 1 + p], v[-1]

    def slacks(v):
        _, _, w_star, b_star = parts(v)
        return told @ w_star + b_star

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


@pytest.mark.parametrize(("C", "gamma"), [(0.3, 0.5), (3.0, 0.1), (30.0, 2.0)])
def test_solution_is_that_of_the_primal(C, gamma):
    X, y, told = sample()
    oracle = primal(X, y, told, C, gamma).x
    model = SVMPlus(C, gamma).fit(X, y, privileged=told)
    found = np.concatenate(
        [model.coef_[0], model.intercept_, model.slack_coef_, [model.slack_intercept_]]
    )
    assert np.abs(oracle).max() > 0.5
    assert found == pytest.approx(oracle, abs=2e-5)


def test_rows_of_equal_privileged_columns_share_a_slack():
    """Repeating a few privileged rows gives the primal's solution too."""
    X, y, told = sample()
    told = told[np.arange(len(X)) % 5]
    oracle = primal(X, y, told, 1.0, 0.5).x
    model = SVMPlus(1.0, 0.5).fit(X, y, privileged=told)
    assert model.coef_[0] == pytest.approx(oracle[:2], abs=2e-5)
    assert model.intercept_[0] == pytest.approx(oracle[2], abs=2e-5)


def test_tends_to_the_svm_for_independent_privileged_rows_and_small_gamma():
    X, y, _ = sample()
    svm = SVC(C=1.0, kernel="linear", tol=1e-8).fit(X, y)
    distances = [
        np.abs(SVMPlus(1.0, gamma).fit(X, y, privileged=np.eye(len(X))).coef_ - svm.coef_).max()
        for gamma in (10.0, 1e-6)
    ]
    assert distances[0] > 0.01
    assert distances[1] < 1e-5


def test_without_privileged_information_it_is_not_the_svm():
    X, y, _ = sample()
    svm = SVC(C=1.0, kernel="linear").fit(X, y)
    model = SVMPlus(1.0).fit(X, y, privileged=np.zeros((len(X), 1)))
    assert np.abs(model.coef_ - svm.coef_).max() > 0.1


def test_scale_of_the_data_does_not_matter():
    """x/s with C·s² and γ·s² is the same problem."""
    X, y, told = sample()
    expected = SVMPlus(1.0, 0.5).fit(X, y, privileged=told).decision_function(X)
    for s in (1e-4, 1e4):
        model = SVMPlus(s**2, 0.5 * s**2).fit(X / s, y, privileged=told)
        assert model.decision_function(X / s) == pytest.approx(expected, abs=1e-4)


def test_labels_of_any_kind():
    X, y, told = sample()
    names = np.where(y > 0, "yes", "no")
    model = SVMPlus().fit(X, names, privileged=told)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.predict(X) == names).mean() > 0.7


BAD = {
    "no attributes": ({}, "privileged=None: SVM\\+ is fitted to privileged columns"),
    "missing": ({"privileged": np.full((24, 1), np.nan)}, "privileged contains NaN at row 0"),
    "single class": ({"y": np.ones(24), "privileged": np.eye(24)}, "y has 1 class"),
    "three classes": ({"y": np.arange(24) % 3, "privileged": np.eye(24)}, "y has 3 class"),
    "cost": ({"C": 0.0, "privileged": np.eye(24)}, "C=0.0: give a finite number > 0"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_bad_input_is_named(given, sentence):
    X, y, _ = sample()
    given = {"y": y, "C": 1.0, "privileged": None} | given
    with pytest.raises(ValueError, match=sentence):
        SVMPlus(given["C"]).fit(X, given["y"], privileged=given["privileged"])


def test_missing_solver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    X, y, told = sample()
    with pytest.raises(ModuleNotFoundError, match="SVM\\+ is solved by piqp, which is not install"):
        SVMPlus().fit(X, y, privileged=told)


def test_extreme_costs_are_refused_not_returned():
    X, y, told = sample()
    with pytest.raises(FloatingPointError, match="Standardise the columns"):
        SVMPlus(1e30, 1e-30).fit(X, y, privileged=told)
