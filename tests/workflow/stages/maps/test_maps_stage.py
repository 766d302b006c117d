"""The maps stage: what it measures is what the library gives, and counts are counts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from rnca import RCCA, OrthogonalFeatures
from workflow.data.splits import random_split
from workflow.stages.maps.fit import MAPS, SCORE_COLUMNS, Comparison, compare
from workflow.stages.maps.sizes import drawn_numbers, model_sizes, network_numbers, solution_numbers
from workflow.stages.maps.times import REPEATS, TIME_COLUMNS, time_maps

COMPARISON = Comparison(
    name="digits",
    train=600,
    test=300,
    kernel_rows=100,
    components=3,
    features=[20, 50],
    reg=1e-3,
    repeat=1,
    seed=7,
)


@pytest.fixture(scope="module")
def data(prepared):
    return prepared("digits")


@pytest.fixture(scope="module")
def scores(data):
    return compare(COMPARISON, data)


def test_every_map_is_measured_at_every_m(scores):
    assert list(scores.columns) == SCORE_COLUMNS
    assert list(zip(scores["feature_map"], scores["m"], strict=True)) == [
        (name, m) for name in MAPS for m in (20, 50)
    ]
    assert scores.notna().all(axis=None)


def test_sums_are_those_of_a_separate_fit(data, scores):
    split = random_split(data.n_rows, (600, 0, 300), COMPARISON.derived("split"))
    model = RCCA(
        3,
        feature_map="fastfood",
        n_features=20,
        reg=1e-3,
        random_state=COMPARISON.derived("features"),
    ).fit(data.x[split.train], data.y[split.train])
    row = scores[(scores["feature_map"] == "fastfood") & (scores["m"] == 20)].iloc[0]
    assert row["test_sum"] == pytest.approx(
        model.score(data.x[split.test], data.y[split.test]), abs=1e-5
    )
    assert row["train_sum"] == pytest.approx(model.training_correlations_.sum(), abs=1e-5)


def test_kernel_errors_are_those_of_the_matrices(data, scores):
    split = random_split(data.n_rows, (600, 0, 300), COMPARISON.derived("split"))
    fitted = OrthogonalFeatures(50, random_state=COMPARISON.derived("kernel"))
    fitted.fit(data.x[split.train].astype(float))
    X = data.x[split.test[:100]].astype(float)
    K, z = rbf_kernel(X, gamma=fitted.gamma_), fitted.transform(X)
    difference = 2 / 50 * z @ z.T - K
    row = scores[(scores["feature_map"] == "orthogonal") & (scores["m"] == 50)].iloc[0]
    assert row["kernel_error"] == pytest.approx(
        np.linalg.norm(difference, 2) / np.linalg.norm(K, 2), rel=1e-9
    )
    assert row["kernel_rms"] == pytest.approx(np.linalg.norm(difference) / 100, rel=1e-9)


def test_whitened_landmarks_stand_for_the_kernel_best(scores):
    errors = scores[scores["m"] == 50].set_index("feature_map")["kernel_error"]
    assert errors.idxmin() == "nystroem"


def test_a_repeat_draws_other_rows_and_features(data, scores):
    other = compare(Comparison(**{**vars(COMPARISON), "repeat": 2, "features": [20]}), data)
    assert (other["test_sum"].to_numpy() != scores[scores["m"] == 20]["test_sum"].to_numpy()).all()


def test_draws_and_features_are_timed():
    given = {"dimensions": [3, 8], "timed_features": [4, 9], "timed_rows": 300}
    times = time_maps(SimpleNamespace(name="tiny", seed=1, **given))
    assert list(times.columns) == TIME_COLUMNS
    assert (times["seconds"] > 0).all()
    counts = times.groupby(["what", "d", "m"]).size()
    assert counts.to_dict() == {
        **{("draw", d, 9): 5 for d in (3, 8)},
        **{("features", d, m): 5 * REPEATS for d in (3, 8) for m in (4, 9)},
    }
    assert set(times.loc[times["what"] == "features", "rows"]) == {300}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("m", [5, 20])
def test_counts_are_those_of_a_fitted_model(halves, name, m):
    X, Y = halves[0][:, :11], halves[1][:, 5:]
    model = RCCA(2, feature_map=name, n_features=m, reg=1e-3, random_state=0).fit(X, Y)
    for fitted, mean, basis in (
        (model.map_x_, model.mean_x_, model.F_),
        (model.map_y_, model.mean_y_, model.G_),
    ):
        d = fitted.n_features_in_
        solution = mean.size + basis.size + fitted.offset_.size + np.size(fitted.gamma_)
        assert solution_numbers(d, m, 2) == solution
        arrays = [value.size for value in vars(fitted).values() if isinstance(value, np.ndarray)]
        assert drawn_numbers(name, d, m) == sum(arrays) - fitted.offset_.size


def test_networks_have_weights_and_biases():
    assert network_numbers(3, 4, layers=1, outputs=2) == 3 * 2 + 2
    assert network_numbers(3, 4, layers=3, outputs=2) == (3 * 4 + 4) + (4 * 4 + 4) + (4 * 2 + 2)


def test_sizes_are_set_against_deep_cca():
    networks = pd.DataFrame(
        [{"dataset": "one", "columns_x": 3, "columns_y": 5, "outputs": 2, "layers": 2}]
    ).assign(width_x=4, width_y=6)
    sizes = model_sizes(networks, [7])
    assert len(sizes) == 1 + 4 * 2 + 1
    dcca = sizes[sizes["model"] == "dcca"]["numbers"].item()
    assert dcca == (3 * 4 + 4 + 4 * 2 + 2) + (5 * 6 + 6 + 6 * 2 + 2)
    seed = sizes[(sizes["feature_map"] == "qmc") & (sizes["keeps"] == "seed")].iloc[0]
    # Basis and mean feature of 7 rows, mean row, width and seed, in each view.
    assert seed["numbers"] == (7 * 3 + 3 + 2) + (7 * 3 + 5 + 2)
    assert seed["ratio"] == pytest.approx(dcca / seed["numbers"])
    assert set(sizes[sizes["feature_map"] == "nystroem"]["keeps"]) == {"arrays"}
