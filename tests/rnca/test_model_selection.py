"""Cross-validation from one pass against a loop written by hand with the same maps."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, ShuffleSplit

import oracles
from rnca import RCCA, RCCACV, FourierFeatures, Moments

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


def test_rows_are_multiplied_once_and_mapped_twice(halves, monkeypatch):
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
    assert counted["mapped"] == 2 * (2 * 1797 + 256)  # two views; 256 rows give what sums are about


def test_a_candidate_without_a_solution_is_never_chosen(halves):
    X, Y = np.hstack([halves[0], halves[0][:, :1]]), halves[1]
    with pytest.warns(UserWarning, match=r"a score is NaN, with reg=0.*singular"):
        fitted = search(feature_map="linear", regs=(0.0, 1e-2)).fit(X, Y)
    assert np.isnan(fitted.scores_[:, 0]).all()
    assert fitted.best_reg_ == 1e-2
    assert fitted.best_regs_ == [1e-2]
    with (
        pytest.warns(UserWarning, match="a score is NaN"),
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
        ({"regs": (1e-2, -1)}, "reg=-1: the regulariser must be"),
        ({"sizes": (2, 50)}, "n_components=3 is more than the 2 features of size 2"),
        ({"sizes": (0, 50)}, "m in sizes=0"),
        ({"groups": np.zeros(1797)}, "n_splits=5 greater than the number of groups: 1"),
        ({"groups": np.zeros(17)}, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_named(halves, given, message):
    settings = {name: value for name, value in given.items() if name != "groups"}
    with pytest.raises(ValueError, match=message):
        search(**settings).fit(*halves, groups=given.get("groups"))
