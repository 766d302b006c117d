"""Stage rpca on the rings: randomized solutions come near the exact one, linear ones do not."""

import numpy as np
import pytest

from rnca import FourierFeatures
from workflow.lib.exact import centred_kernel, kernel_pca
from workflow.stages.rpca.evaluation import EVALUATED, Evaluation, evaluate
from workflow.stages.rpca.fit import (
    Comparison,
    captured,
    compare,
    joined,
    kernel_map,
    kernel_scale,
    operator_norm,
    principal_angles,
    relative_error,
    relative_kernel_error,
    table,
)
from workflow.stages.rpca.times import Timing, race

SIZES = (20, 60, 180)
GAMMA = 1e-3
RUN = {"name": "rings", "reg": 1.0, "seed": 1}


@pytest.fixture(scope="module")
def rings(prepared):
    return prepared("rings")


def comparison(analysis, **changes):
    given = {"rows": 200, "gamma": 0.2, "features": SIZES, "repeats": 3}
    return Comparison(**RUN | {"analysis": analysis, "components": 4} | given | changes)


@pytest.fixture(scope="module")
def outcomes(rings):
    return {analysis: compare(comparison(analysis), rings) for analysis in ("pca", "cca")}


def means(frame, column, method):
    return frame[frame["method"] == method].groupby("m")[column].mean()


@pytest.mark.parametrize("analysis", ["pca", "cca"])
@pytest.mark.parametrize("method", ["fourier", "nystroem"])
@pytest.mark.parametrize("measure", ["value_error", "mean_angle", "kernel_error"])
def test_errors_fall_as_m_grows(outcomes, analysis, method, measure):
    error = means(outcomes[analysis].errors, measure, method)
    assert list(error.index) == list(SIZES)
    assert error.is_monotonic_decreasing
    assert error.iloc[-1] < 0.5 * error.iloc[0]


@pytest.mark.parametrize("analysis", ["pca", "cca"])
def test_landmarks_at_every_row_are_the_exact_solution(rings, analysis):
    outcome = compare(comparison(analysis, features=(200,), repeats=1), rings)
    errors = outcome.errors.set_index("method").loc["nystroem"]
    assert errors["value_error"] < 1e-6
    assert errors["kernel_error"] < 1e-6
    assert errors["largest_angle"] < 0.1
    merits = outcome.merits.groupby("method")["merit"].first()
    assert merits["nystroem"] == pytest.approx(merits["exact"], abs=1e-3)


@pytest.mark.parametrize(("analysis", "chance", "good"), [("pca", 0.6, 0.9), ("cca", 0.9, 3.0)])
def test_linear_methods_fail_where_randomized_ones_do_not(outcomes, analysis, chance, good):
    merits = outcomes[analysis].merits
    most = merits.groupby("method")["merit"].max()
    assert most["linear"] < chance
    assert min(most["exact"], most["fourier"], most["nystroem"]) > good


def test_linear_cca_is_regularised_too(prepared):
    few = comparison("cca", name="digits", rows=50, gamma="median", features=(20,), repeats=1)
    merits = compare(few, prepared("digits")).merits
    # 32 columns of each view nearly interpolate 50 rows: 2.6 of 4, but 0.6 with a ridge of 1e-8.
    assert merits.set_index("method")["merit"]["linear"] > 2.0


def test_components_of_landmarks_capture_and_lie_on_the_exact_ones(outcomes):
    shares = means(outcomes["pca"].errors, "captured", "nystroem")
    assert shares.is_monotonic_increasing
    assert 0.99 < shares.iloc[-1] <= 1 + 1e-9
    scores = outcomes["pca"].scores
    columns = ["component_1", "component_2"]
    shown = {method: group[columns].to_numpy() for method, group in scores.groupby("method")}
    assert {len(each) for each in shown.values()} == {200}
    assert np.abs(shown["nystroem"] - shown["exact"]).max() < 0.05
    assert set(scores["label"]) == {0, 1, 2}


def test_outcomes_are_the_same_each_time_and_joined_hold_the_rows_of_all(rings, outcomes):
    again = compare(comparison("cca"), rings)
    assert again.errors.equals(outcomes["cca"].errors)
    assert again.merits.equals(outcomes["cca"].merits)
    whole = joined(list(outcomes.values()))
    assert list(whole.errors["analysis"].unique()) == ["pca", "cca"]
    assert len(whole.scores) == len(outcomes["pca"].scores)
    assert joined([outcomes["cca"]]).scores.empty


@pytest.mark.parametrize("name", ["fourier", "nystroem"])
def test_scaled_dot_products_estimate_the_kernel(rings, name):
    rows, m = rings.x[:300], {"fourier": 20_000, "nystroem": 300}[name]
    z = kernel_map(name, m, 0.2).set_params(random_state=0).fit_transform(rows.astype(float))
    distances = np.sum((rows[:, None].astype(float) - rows) ** 2, axis=-1)
    K = np.exp(-0.2 * distances)
    assert np.abs(kernel_scale(name, m) * z @ z.T - K).max() < 0.05


def test_pictures_are_taken_whole(prepared, rings):
    assert table(prepared("digits")).shape == (1797, 64)
    assert table(rings).shape == (20000, 10)


def timing(analysis, random=(50, 100)):
    given = {"exact": (20, 40), "leading": (30,), "random": random, "features": 10, "repeats": 2}
    return Timing(**RUN | {"analysis": analysis, "components": 2, "gamma": "median"} | given)


@pytest.mark.parametrize("analysis", ["pca", "cca"])
def test_race_times_every_method_at_its_sizes(rings, analysis):
    times = race(timing(analysis), rings, threads=1)
    sizes = times.groupby("method")["n"].unique().map(list).to_dict()
    randomized = {method: [50, 100] for method in ("linear", "fourier", "nystroem")}
    assert sizes == randomized | {"exact": [20, 40], "leading": [30]}
    assert (times["seconds"] > 0).all()
    assert times.groupby(["method", "n"])["repeat"].nunique().eq(2).all()


@pytest.mark.parametrize(
    ("job", "given", "words"),
    [
        (
            compare,
            comparison("cca", rows=20_001),
            "rows=20001 of experiment rings: rings has 20000",
        ),
        (compare, comparison("cca", rows=20_000), "all rows of rings: leave some to test on"),
        (race, timing("pca", (30_000,)), "30000 rows to time in experiment rings: rings has 20000"),
    ],
)
def test_too_many_rows_are_refused(rings, job, given, words):
    with pytest.raises(ValueError, match=words):
        job(given, rings, **({"threads": 1} if job is race else {}))


@pytest.fixture
def rows(halves):
    return halves[0][:150]


def test_kernel_error_is_the_dense_operator_norm(rows):
    features = FourierFeatures(60, gamma=GAMMA, random_state=0).fit(rows)
    z, K = features.transform(rows), centred_kernel(rows, GAMMA)
    z -= z.mean(axis=0)
    norm = operator_norm(K.__matmul__, len(K))
    assert norm == pytest.approx(np.linalg.norm(K, 2), rel=1e-3)
    dense = np.linalg.norm(2 / 60 * z @ z.T - K, 2) / norm
    assert relative_kernel_error(z, 2 / 60, K, norm) == pytest.approx(dense, rel=1e-3)


def test_angles_between_known_planes():
    plane, turned = np.eye(4)[:, :2], np.eye(4)[:, [0, 2]]
    turned = turned * np.sqrt(0.75) + np.eye(4)[:, [0, 1]] * 0.5
    angles = principal_angles(plane @ [[2.0, 1.0], [0.0, 3.0]], turned)
    # The other angle is zero, and found as an arc cosine: an error of eps in the cosine is one of
    # √(2·eps) in the angle, 1e-6 degrees.
    assert angles == pytest.approx((60, 30), abs=1e-5)


def test_exact_components_capture_everything_and_others_less(rows):
    exact, K = kernel_pca(rows, 5, gamma=GAMMA), centred_kernel(rows, GAMMA)
    assert captured(exact.scores, K, exact.eigenvalues) == pytest.approx(1)
    later = kernel_pca(rows, 10, gamma=GAMMA).scores[:, 5:]
    assert captured(later, K, exact.eigenvalues) < 0.5


def test_relative_error_of_values():
    assert relative_error([3.0, 4.0], [3.0, 0.0]) == pytest.approx(4 / 3)


def test_maps_are_evaluated_in_turns_on_the_first_view(rings):
    asked = Evaluation(name="rings", seed=1, rows=300, features=[8, 40], repeats=2)
    rows = evaluate(asked, rings)
    assert rows["method"].tolist() == list(EVALUATED) * 4
    assert rows.groupby(["m", "repeat"], sort=False).size().index.tolist() == [
        (8, 0), (8, 1), (40, 0), (40, 1),
    ]  # fmt: skip
    assert set(rows["n"]) == {300}
    assert set(rows["columns"]) == {rings.x.shape[1]}
    assert (rows["seconds"] > 0).all()
