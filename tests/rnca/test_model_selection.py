"""Cross-validation from one pass against a loop written by hand with the same maps."""

import copy
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, ShuffleSplit

import oracles
from rnca import RCCA, RCCACV, FourierFeatures, Moments, model_selection

REGS = (1e-4, 1e-2)


def search(**given):
    settings = {"sizes": (20, 50), "regs": REGS, "random_state": 0, "chunk_size": 400}
    return RCCACV(3, **settings | {"dtype": "float64"} | given)


def by_hand(fitted, splits, X, Y):
    """Solve each training set anew from its features, with the full SVDs of the oracle."""
    zx, zy = (m.transform(view) for m, view in zip(fitted._full_._maps, (X, Y), strict=True))
    scores = []
    for train, test in splits:
        for reg in fitted.regs:
            for size in fitted.sizes_:
                m_x, m_y = size if isinstance(size, tuple) else (size, size)
                found = oracles.cca(zx[train][:, :m_x], zy[train][:, :m_y], reg, reg, 3)
                u, v = zx[test][:, :m_x] @ found.F, zy[test][:, :m_y] @ found.G
                scores.append(sum(abs(np.corrcoef(u[:, j], v[:, j])[0, 1]) for j in range(3)))
    return np.reshape(scores, (-1, len(fitted.regs), len(fitted.sizes_)))


@pytest.mark.parametrize(
    ("given", "splitter"),
    [
        ({}, KFold(5)),
        ({"cv": KFold(3, shuffle=True, random_state=1)}, KFold(3, shuffle=True, random_state=1)),
        ({"feature_map": "nystroem", "sizes": (20, (30, 40))}, KFold(5)),
        ({"feature_map": ("fourier", "linear")}, KFold(5)),
        ({"feature_map": "linear"}, KFold(5)),
        ({"cv": 4}, GroupKFold(4)),
    ],
)
def test_scores_are_those_of_a_loop_by_hand(halves, given, splitter):
    groups = np.random.default_rng(0).integers(12, size=len(halves[0]))
    groups = groups if isinstance(splitter, GroupKFold) else None
    fitted = search(**given).fit(*halves, groups=groups)
    if fitted.feature_map == "linear":
        assert fitted.sizes_ == [32]
    expected = by_hand(fitted, splitter.split(halves[0], groups=groups), *halves)
    assert_allclose(fitted.scores_, expected, rtol=0, atol=1e-9)
    assert_allclose(fitted.mean_scores_, expected.mean(axis=0), rtol=0, atol=1e-9)
    errors = expected.std(axis=0, ddof=1) / np.sqrt(len(expected))
    assert_allclose(fitted.standard_errors_, errors, rtol=0, atol=1e-9)


@pytest.mark.parametrize("sizes", [(20, 50), ((50, 20), 30)])
def test_bases_that_suffice_to_choose_give_nearly_the_scores_of_exact_ones(
    halves, monkeypatch, sizes
):
    regs = (1e-8, 1e-1, 1e-4, 1e-2)
    exact = search(sizes=sizes, regs=regs).fit(*halves)
    solved = []
    refined = model_selection.refined_svd

    def counting(*given):
        found = refined(*given)
        solved.append(found is not None)
        return found

    monkeypatch.setattr(model_selection, "_EXACT_ORDER", 0)
    monkeypatch.setattr(model_selection, "refined_svd", counting)
    fitted = search(sizes=sizes, regs=regs).fit(*halves)
    assert solved == [True] * 40
    assert (np.abs(fitted.mean_scores_ - exact.mean_scores_) < exact.standard_errors_ / 10).all()
    assert fitted.best_params_ == exact.best_params_
    assert_array_equal(fitted.transform(*halves), exact.transform(*halves))
    monkeypatch.setattr(model_selection, "refined_svd", lambda *given: None)
    assert_allclose(search(sizes=sizes, regs=regs).fit(*halves).scores_, exact.scores_, atol=1e-9)


@pytest.mark.parametrize("sizes", [(20, 100), (200, (100, 30))])
def test_fewer_rows_than_features(halves, sizes):
    X, Y = (half[:90] for half in halves)
    fitted = search(sizes=sizes).fit(X, Y)
    expected = by_hand(fitted, KFold(5).split(X), X, Y)
    assert_allclose(fitted.scores_, expected, rtol=0, atol=1e-9)
    size, reg = fitted.best_size_, fitted.best_reg_
    (full,) = fitted.path([size])
    model = RCCA(3, n_features=size, reg=reg, random_state=0, dtype="float64").fit(X, Y)
    assert_allclose(full.correlations_, model.correlations_, rtol=0, atol=1e-9)


def test_the_best_is_the_fit_of_all_rows_and_is_plotted(halves):
    fitted = search().fit(*halves)
    best = np.unravel_index(fitted.mean_scores_.argmax(), (2, 2))
    assert (fitted.best_reg_, fitted.best_size_) == (REGS[best[0]], (20, 50)[best[1]])
    assert fitted.best_score_ == fitted.mean_scores_.max()
    assert fitted.best_regs_ == [REGS[at] for at in fitted.mean_scores_.argmax(axis=0)]
    model = RCCA(3, n_features=50, reg=REGS[0], random_state=0, dtype="float64").fit(*halves)
    (full,) = fitted.path([50], [REGS[0]])
    assert_allclose(full.correlations_, model.correlations_, rtol=0, atol=1e-9)
    assert fitted.best_estimator_.n_features == (fitted.best_size_,) * 2
    assert_array_equal(fitted.transform(*halves), fitted.best_estimator_.transform(*halves))
    assert fitted.score(*halves) == fitted.best_estimator_.score(*halves)
    mpl.use("Agg")
    axes = fitted.plot()
    assert fitted.plot() is not axes  # not drawn over each other
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["reg = 0.0001", "reg = 0.01"]


def test_rows_are_multiplied_and_mapped_once(halves, monkeypatch):
    counted = {"multiplied": 0, "mapped": 0}
    add, evaluate = Moments.add_centred, FourierFeatures.features

    def counting_add(self, *views):
        counted["multiplied"] += len(views[0])
        return add(self, *views)

    def counting_map(self, rows, out):
        counted["mapped"] += len(rows)
        return evaluate(self, rows, out)

    monkeypatch.setattr(Moments, "add_centred", counting_add)
    monkeypatch.setattr(FourierFeatures, "features", counting_map)
    search(regs=(1e-6, 1e-4, 1e-2)).fit(*halves)
    assert counted["multiplied"] == 1797
    assert counted["mapped"] == 2 * (1797 + 256)  # two views; 256 rows give what sums are about


def test_a_candidate_without_a_solution_is_never_chosen(halves):
    X, Y = np.hstack([halves[0], halves[0][:, :1]]), halves[1]
    with pytest.warns(UserWarning, match=r"5 of 10 scores are NaN, .* reg=0.*singular"):
        fitted = search(feature_map="linear", regs=(0.0, 1e-2)).fit(X, Y)
    assert np.isnan(fitted.scores_[:, 0]).all()
    assert fitted.best_reg_ == 1e-2
    assert fitted.best_regs_ == [1e-2]
    with (
        pytest.warns(UserWarning, match="5 of 5 scores are NaN"),
        pytest.raises(ValueError, match=r"too ill-conditioned for all .* Add larger ones"),
    ):
        search(feature_map="linear", regs=(0.0,)).fit(X, Y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cv": 2000}, "n_splits=2000 greater than the number of samples"),
        ({"cv": 1797}, r"fold 0 .* holds out 1 row\(s\): .* at least 3. Use fewer folds"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "does not hold out each row once"),
        ({"cv": PredefinedSplit(np.arange(1797) % 3 - 1)}, "does not hold out each row once"),
        ({"sizes": ()}, "sizes is empty"),
        ({"regs": ()}, "regs is empty"),
        ({"sizes": 250}, r"sizes=250: give a sequence of values to try, as \[250\]"),
        ({"regs": 0.1}, r"regs=0.1: give a sequence"),
        ({"regs": (1e-2, -1)}, "reg=-1: the regulariser must be"),
        ({"sizes": (2, 50)}, "n_components=3 is more than the 2 features of size 2"),
        ({"sizes": (0, 50)}, "m in sizes=0"),
        ({"groups": np.zeros(1797)}, "n_splits=5 greater than the number of groups: 1"),
        ({"groups": np.zeros(17)}, r"groups has shape \(17,\): give one label"),
    ],
)
def test_bad_input_is_named(halves, given, message):
    settings = {name: value for name, value in given.items() if name != "groups"}
    with pytest.raises(ValueError, match=message):
        search(**settings).fit(*halves, groups=given.get("groups"))


def of_both(answers):
    return np.hstack([np.ravel(answer) for answer in answers])


@pytest.mark.parametrize(
    "use",
    [
        lambda model, X, Y: of_both(model.transform(X, Y)),
        lambda model, X, Y: model.transform(X, out=np.empty((len(X), 3))),
        lambda model, X, Y: model.transform(None, Y),
        lambda model, X, Y: model.score(X, Y),
        lambda model, X, Y: model.component_correlations(X, Y),
        lambda model, X, Y: of_both(model.loadings(X, Y)),
        lambda model, X, Y: model.permutation_test(X, Y, 19, random_state=0).p_values,
        lambda model, X, Y: model.fit_predictor(X, Y).predict(X),
        lambda model, X, Y: model.fit_predictor(X, Y).prediction_score(X, Y),
        lambda model, X, Y: model.get_feature_names_out(view="y"),
    ],
)
def test_the_methods_of_rcca_are_those_of_the_best_model(halves, use):
    train, test = ([half[rows] for half in halves] for rows in (slice(900), slice(900, 1797)))
    fitted = search().fit(*train)
    assert_array_equal(use(fitted, *test), use(copy.copy(fitted.best_estimator_), *test))
    with pytest.raises((NotFittedError, AttributeError), match=r"not fitted|fit_predictor"):
        use(clone(fitted), *test)


def test_a_search_has_the_public_methods_of_rcca_that_use_a_fit():
    of_fits = {"fit_chunks", "partial_fit", "draw", "accumulate", "solve", "empty_moments"}
    public = {name for name in dir(RCCA) if name[0] != "_" and callable(getattr(RCCA, name))}
    assert public - of_fits <= set(dir(RCCACV))
    assert "Canonical variables, centred" in RCCACV.transform.__doc__


def test_a_predictor_goes_with_its_model(halves):
    fitted = search().fit(*halves)
    assert not hasattr(fitted, "predict")
    assert fitted.fit_predictor(*halves) is fitted
    assert hasattr(fitted, "predict")
    assert not hasattr(fitted.fit(*halves), "predict")


def test_containers_are_set_before_and_after_a_fit(halves):
    X, Y = (pd.DataFrame(half).add_prefix("pixel") for half in halves)
    fitted = search().set_output(transform="pandas").fit(X, Y)
    frames = [*fitted.transform(X, Y), fitted.path([20])[0].transform(X)]
    assert [list(frame) for frame in frames[:2]] == [
        [f"rcca_{view}{i}" for i in range(3)] for view in "xy"
    ]
    assert isinstance(frames[2], pd.DataFrame)
    fitted.set_output(transform="default")
    assert_array_equal(fitted.transform(X), frames[0])


def test_results_are_named_as_those_of_a_grid_search(halves):
    fitted = search(sizes=(20, 50), regs=(1e-2, 1e-4)).fit(*halves)
    model = RCCA(3, random_state=0, dtype="float64", gamma=0.001)
    grid = GridSearchCV(model, {"n_features": [20, 50], "reg": [1e-2]}, cv=5).fit(*halves)
    found = fitted.cv_results_
    assert found.keys() == {name for name in grid.cv_results_ if "time" not in name} - {
        "param_n_features",
        "param_reg",
    }
    for i, params in enumerate(found["params"]):
        at = fitted.regs_.index(params["reg"]), fitted.sizes_.index(params["n_features"])
        for fold in range(5):
            assert found[f"split{fold}_test_score"][i] == fitted.scores_[(fold, *at)]
        assert found["mean_test_score"][i] == fitted.mean_scores_[at]
        assert_allclose(found["std_test_score"][i], fitted.standard_errors_[at] * 2)  # 5 folds
    best = found["rank_test_score"].argmin()
    assert found["rank_test_score"][best] == 1
    assert fitted.best_params_ == found["params"][best]
    assert fitted.best_estimator_.get_params()["reg"] == fitted.best_params_["reg"]
    assert not hasattr(search(), "cv_results_")


def test_settings_changed_after_a_fit_and_failed_fits_change_no_answer(halves):
    frames = [pd.DataFrame(half).add_prefix("pixel") for half in halves]
    fitted = search().fit(*frames)
    before, expected = dict(vars(fitted)), fitted.cv_results_
    fitted.set_params(regs=(5.0,), sizes=(7,), n_components=2)
    assert_array_equal(fitted.cv_results_["mean_test_score"], expected["mean_test_score"])
    assert len(fitted.plot().lines) > 1
    assert fitted.path([20])[0].reg == fitted.best_reg_
    with pytest.raises(ValueError, match="NaN at row 5"):
        fitted.fit(np.where(np.arange(1797)[:, None] == 5, np.nan, halves[0]), halves[1])
    assert {name for name in before if before[name] is not vars(fitted)[name]} == {
        "regs",
        "sizes",
        "n_components",
    }
    fitted.fit(*halves)
    assert not hasattr(fitted, "feature_names_in_")
    assert (fitted.regs_, fitted.sizes_) == ([5.0], [7])


@pytest.mark.parametrize(
    ("given", "further"),
    [
        ({"regs": (1e-6, 1e-3), "sizes": (400,)}, "try regs above 0.001."),
        ({"regs": (10.0, 100.0), "sizes": (50,)}, "try regs below 10.0."),
        ({"regs": (1e-2, 1.0), "sizes": (20, 50)}, "try sizes above 50."),
        ({"regs": (100.0, 10.0), "sizes": (20, 50)}, "regs below 10.0 and sizes above 50."),
        ({"regs": (1e-3, 0.3, 10.0), "sizes": (400,)}, None),
        ({"regs": (0.0, 1e4), "feature_map": ("linear", "fourier"), "sizes": (4,)}, None),
        ({"regs": (1e-9, 1e-8), "sizes": (50,)}, None),  # as good as each other
    ],
)
def test_an_end_where_the_score_rises_is_told_once(halves, given, further):
    (X, Y), regs = (half[:600] for half in halves), given["regs"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = search(**given).fit(X[:, [2, 3, 6, 7]] if 0.0 in regs else X, Y)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == bool(further), (messages, fitted.mean_scores_)
    if further:
        assert further in messages[0]
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "labels",
    [
        np.r_[np.repeat(np.arange(9.0), 10), [np.nan] * 10],
        [*np.repeat(list("abcdefghi"), 10), *[None] * 10],
        [*np.repeat(list("abcdefghi"), 10), *[np.nan] * 10],
        pd.Series([*np.repeat(np.arange(9), 10), *[pd.NA] * 10], dtype="Int64"),
        np.r_[np.repeat(np.datetime64("2000-01-01"), 90), np.repeat(np.datetime64("NaT"), 10)],
    ],
)
def test_rows_without_a_group_are_no_group(halves, labels):
    views = [half[:100] for half in halves]
    with pytest.raises(ValueError, match="no label in row 90: rows without a label are not one"):
        search().fit(*views, groups=labels)
    model = RCCA(3, n_features=20, reg=1.0, random_state=0).fit(*views)
    with pytest.raises(ValueError, match="no label in row 90"):
        model.permutation_test(*views, groups=labels)


@pytest.mark.parametrize("cv", [np.int64(5), None])
def test_groups_count_whatever_type_of_integer_cv_is(cv):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(12), 5))
    X, Y = rng.normal(size=(2, 12, 3))[:, groups] + 0.1 * rng.normal(size=(2, 60, 3))
    scores = [
        RCCACV(1, sizes=(8,), regs=(0.1,), cv=each, random_state=0).fit(X, Y, groups).scores_
        for each in (cv, GroupKFold(5))
    ]
    assert_array_equal(*scores)
