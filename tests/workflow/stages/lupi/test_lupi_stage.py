"""The lupi stage on digits: what it fits, what it may see, and what it records."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from rnca import FourierFeatures, PrivilegedFeatures
from workflow.data.embedded import digits_attributes
from workflow.data.prepared import Prepared
from workflow.stages.lupi.fit import Comparison, Experiment, compare, read_rows
from workflow.stages.lupi.methods import Canonical, CrossFitted, Joined, Judged
from workflow.stages.lupi.names import METHOD_NAMES, PREPROCESSING_NAMES
from workflow.stages.lupi.training import VARIANTS, preprocessor

SETTINGS = {
    "name": "digits",
    "classes": 3,
    "grouping": "redrawn",
    "train": 150,
    "test": 100,
    "balanced": False,
    "preprocessing": ("hellinger",),
    "methods": list(METHOD_NAMES),
    "features": (20, 40),
    "regs": (1e-8, 1e-1),
    "costs": (1e-2, 1.0, 1e2),
    "gammas": (1.0,),
    "folds": 3,
    "seed": 1,
}


@pytest.fixture(scope="module")
def data():
    content = digits_attributes()
    return Prepared(Path("nowhere"), dict(content.arrays), {"name": "digits-attributes"})


@pytest.fixture(scope="module")
def training(data):
    return Experiment(**SETTINGS).training(data, 0, "hellinger")


@pytest.fixture(scope="module")
def outcome(data):
    return compare(Experiment(**SETTINGS), data, [0, 1])


@pytest.mark.parametrize(("grouping", "balanced"), [("redrawn", False), ("fixed", True)])
def test_partitions_are_disjoint_and_reproducible(data, grouping, balanced):
    experiment = Experiment(**SETTINGS | {"grouping": grouping, "balanced": balanced})
    first, again, other = (experiment.partition(data, number) for number in (0, 0, 1))
    assert not set(first.positive) & set(first.negative)
    assert not set(first.split.train) & set(first.split.test)
    assert np.array_equal(first.split.train, again.split.train)
    assert first.split.train.tolist() != other.split.train.tolist()
    classes = [(each.positive, each.negative) for each in (first, again, other)]
    assert classes[0] == classes[1]
    assert (classes[0] == classes[2]) == (grouping == "fixed")
    for part in ("train", "test"):
        assert (read_rows(data, first, part).signs.sum() == 0) == balanced


def test_nothing_of_the_test_rows_reaches_a_fit(data, training):
    """Poisoned test rows, and facts about animals outside the partition, change no rule."""
    experiment = Experiment(**SETTINGS)
    partition = experiment.partition(data, 0)
    arrays = {name: np.array(array, dtype=float) for name, array in data.arrays.items()}
    arrays["labels"] = data.arrays["labels"]
    arrays["x"][partition.split.test] = np.nan
    present = [*partition.positive, *partition.negative]
    arrays["attributes"][np.setdiff1d(np.arange(10), present)] = np.nan
    poisoned = experiment.training(Prepared(data.path, arrays, data.meta), 0, "hellinger")
    compared = [Comparison(each, (1.0,), (1.0,)) for each in (training, poisoned)]
    for method in METHOD_NAMES:
        clean, other = (comparison.fits(method)[0][1] for comparison in compared)
        assert clean.intercept == other.intercept
        assert np.array_equal(clean.x, other.x)
        assert np.array_equal(clean.z, other.z)
        assert len(clean.animal) == len(other.animal)
        if len(clean.animal):
            assert np.array_equal(clean.animal[present], other.animal[present])


def test_preprocessing_is_that_of_training_rows():
    rng = np.random.default_rng(0)
    counts = rng.poisson(5.0, size=(30, 4)).astype(float)
    counts[:, 3] = 2.0
    raw, unit, zscore, hellinger = (
        preprocessor(name, counts[:20])(counts) for name in PREPROCESSING_NAMES
    )
    assert np.array_equal(raw, counts)
    assert (unit**2).sum(axis=1) == pytest.approx(1.0)
    assert unit * np.linalg.norm(counts, axis=1)[:, None] == pytest.approx(counts)
    assert zscore[:20].mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert zscore[:20].std(axis=0) == pytest.approx([1, 1, 1, 0])
    assert (hellinger**2).sum(axis=1) == pytest.approx(1.0)


def test_canonical_variables_are_those_of_the_estimator(training):
    """With a second view that is not regularised, up to a rotation within each attribute."""
    privileged, y = training.attributes[training.rows.animal], training.rows.signs
    maps = FourierFeatures(40, random_state=training.seeds["features"]), FourierFeatures(30)
    model = PrivilegedFeatures(feature_map=maps, reg=(1e-1, 1e-10), random_state=0)
    features = model.fit(training.x, y, privileged=privileged).transform(training.x)
    gram = Canonical(training, "rcca", 40, 1e-1).gram(-1)
    assert gram == pytest.approx(features @ features.T, abs=1e-5)


def test_five_directions_are_the_defined_ones_and_random_ones(training):
    """Per attribute five orthonormal variables, as a whitened fit has; at most three correlate."""
    key = (40, 1e-8)
    defined, filled = (training.bases[(name, *key)][-1] for name in ("rcca", "rcca-five"))
    attributes, counts = np.unique(filled.views, return_counts=True)
    assert (counts == 5).all()
    centred = training.z[:, :40] - training.z[:, :40].mean(axis=0)
    assert filled.frame == pytest.approx(centred @ filled.F, abs=1e-6)
    cells = np.unique(training.rows.animal)
    for attribute in attributes:
        ours, theirs = (
            basis.variables()[:, basis.views == attribute] for basis in (defined, filled)
        )
        assert ours.shape[1] <= 3
        assert theirs[:, : ours.shape[1]] == pytest.approx(ours, abs=1e-9)
        # reg is 1e-8, so the whitened variables have the identity as their covariance.
        assert np.cov(theirs, rowvar=False) == pytest.approx(np.eye(5), abs=1e-3)
        means = [theirs[training.rows.animal == cell].mean(axis=0) for cell in cells]
        assert np.abs(np.array(means)[:, ours.shape[1] :]).max() < 1e-6


@pytest.mark.parametrize("kind", [Canonical, CrossFitted, Joined])
def test_rule_says_on_new_rows_what_the_svm_says(data, training, kind):
    """The rule's weights against the SVM's own decision on explicit features of test rows."""
    candidate = kind(training, "rcca", 40, 1e-1) if kind is Canonical else kind(training, 40, 1e-1)
    K = candidate.gram(-1)
    coef = np.random.default_rng(0).normal(size=len(K))
    rule = candidate.rule(coef, 0.3)
    decision = training.z[:, :40] @ rule.z + rule.intercept
    if kind is Joined:
        decision += training.x @ rule.x
    if kind is CrossFitted:  # training rows meet the whole fit's variables, not the SVM's own
        K = candidate.fits[-1].variables() @ candidate.variables.T
    assert decision == pytest.approx(K @ coef + 0.3, abs=1e-9)


def test_surf_is_a_linear_svm_with_its_cost_chosen_on_folds(data, training):
    chosen, rule = Comparison(training, SETTINGS["costs"], ()).fits("surf")[0]
    x, signs = training.x, training.rows.signs
    model = SVC(C=chosen["cost"], kernel="linear").fit(x, signs)
    judged = Judged.by(training, read_rows(data, Experiment(**SETTINGS).partition(data, 0), "test"))
    assert judged.accuracy(rule) == 100 * model.score(judged.x, judged.rows.signs)
    by_hand = [
        cross_val_score(SVC(C=cost, kernel="linear"), x, signs, cv=training.folds).mean()
        for cost in SETTINGS["costs"]
    ]
    assert chosen["cost"] == SETTINGS["costs"][int(np.argmax(by_hand))]
    assert chosen["cv_accuracy"] == pytest.approx(100 * max(by_hand))


def test_permuted_controls_keep_what_they_should(training):
    present = np.unique(training.rows.animal)
    permuted, own = training.permuted[present], training.attributes[present]
    assert not np.array_equal(permuted, own)
    assert sorted(map(tuple, permuted)) == sorted(map(tuple, own))
    by_animal, by_donor = training.systems()
    assert set(by_animal.variants) | set(by_donor.variants) == set(VARIANTS)
    donor = by_donor.kinds // 2
    assert sorted(donor) == sorted(training.rows.animal)
    assert np.mean(donor == training.rows.animal) < 0.35


def test_every_method_is_judged_with_the_best_choice_on_folds(outcome):
    accuracy, settings = outcome
    chosen = accuracy.set_index(["partition", "method"])
    assert chosen.index.is_unique
    assert len(chosen) == 2 * len(METHOD_NAMES)
    assert chosen["test_accuracy"].between(0, 100).all()
    rcca = settings[settings["method"] == "rcca"]
    tried = set(zip(rcca["m"], rcca["reg"], strict=True))
    assert tried == {(m, reg) for m in SETTINGS["features"] for reg in SETTINGS["regs"]}
    best = settings.groupby(["partition", "method"])["cv_accuracy"].max()
    fitted = chosen["cv_accuracy"].dropna()
    assert fitted.equals(best.loc[fitted.index])
    ends = chosen["cost"].isin([SETTINGS["costs"][0], SETTINGS["costs"][-1]])
    assert chosen["cost_on_edge"].eq(True).equals(ends)
    least = chosen.xs("rcca-least-reg", level="method")
    assert (least["reg"] == min(SETTINGS["regs"])).all()
    # The attributes identify the class, permuted or not.
    for method in ("attributes", "attributes-permuted"):
        assert (chosen.xs(method, level="method")["test_accuracy"] == 100).all()


def test_unknown_names_are_refused(data, training):
    with pytest.raises(ValueError, match="unknown method 'surv'"):
        Comparison(training, (1.0,), (1.0,)).fits("surv")
    with pytest.raises(ValueError, match="unknown preprocessing 'log'"):
        preprocessor("log", training.x)
