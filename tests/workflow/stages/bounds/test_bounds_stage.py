"""Stage bounds: what its points are, and that draws are shared and extended as promised."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from pydantic import ValidationError

from rnca.features import median_gamma
from workflow.stages.bounds.fit import MOMENTS, REPEATS_WITH_MOMENTS, SimulatedView, simulate
from workflow.stages.bounds.norms import cca_bound, exact_moments
from workflow.stages.bounds.settings import Sweep
from workflow.stages.bounds.theorem4 import correlation_errors, violations

FIXED = {"n": 30, "m": 30, "gamma": 1e-3}
SWEEP = SimpleNamespace(
    name="tiny", columns=3, width="median", fixed=FIXED, seed=7,
    n=[10, 30, 50], m=[10, 30, 29, 70], gamma=[1e-3, 1.0],
)  # fmt: skip


@pytest.fixture(scope="module")
def norms():
    return simulate(SWEEP, range(3))


def test_every_point_stands_once_in_each_repeat(norms):
    points = [(10, 30, 1e-3), (30, 30, 1e-3), (50, 30, 1e-3)]
    points += [(30, 10, 1e-3), (30, 29, 1e-3), (30, 70, 1e-3), (30, 30, 1.0)]
    for _, rows in norms.groupby("repeat"):
        assert sorted(zip(rows["n"], rows["m"], rows["gamma"], strict=True)) == sorted(points)


def test_shared_factors_and_features_change_no_norm(norms):
    x, y = (SimulatedView("median", (50, 3), 70, 7, 1, name) for name in ("x", "y"))
    for row in norms[norms["repeat"] == 1].to_dict("records"):
        n, m, I = row["n"], row["m"], row["gamma"] * np.eye(row["n"])  # noqa: E741
        K, K_hat = [], []
        for view in (x, y):
            squared = ((view.rows[:n, None] - view.rows[None, :n]) ** 2).sum(axis=2)
            K.append(np.exp(-view.gamma * squared))
            z = np.cos(
                (view.rows[:n] - view.map.offset_) @ view.map.weights_[:m].T + view.map.phases_[:m]
            )
            K_hat.append(2 / m * z @ z.T)
        assert_allclose(row["kernel_error_y"], np.linalg.norm(K_hat[1] - K[1], 2), rtol=1e-6)
        assert_allclose(row["kernel_norm_x"], np.linalg.norm(K[0], 2), rtol=1e-6)
        xy = np.linalg.solve(K_hat[0] + I, K_hat[1]) - np.linalg.solve(K[0] + I, K[1])
        yx = np.linalg.solve(K_hat[1] + I, K_hat[0]) - np.linalg.solve(K[1] + I, K[0])
        found = row["cca_error_xy"], row["cca_error_yx"]
        assert_allclose(found, [np.linalg.norm(xy, 2), np.linalg.norm(yx, 2)], rtol=1e-6)


def test_more_repeats_extend_fewer(norms):
    blocks = [simulate(SWEEP, [repeat]) for repeat in (2, 0, 1)]
    joined = pd.concat(blocks).sort_values("repeat", kind="stable", ignore_index=True)
    assert_frame_equal(joined, norms)


def test_a_largest_n_leaves_the_other_points_as_they_are(norms):
    few = simulate(SWEEP, range(2), largest_n=30)
    expected = norms[(norms["repeat"] < 2) & (norms["n"] <= 30)].reset_index(drop=True)
    assert_frame_equal(few, expected)


def test_the_first_repeats_have_exact_moments():
    first, later = REPEATS_WITH_MOMENTS - 1, REPEATS_WITH_MOMENTS
    norms = simulate(SWEEP, [first, later]).set_index("repeat")
    assert norms.loc[later, MOMENTS].isna().all(axis=None)
    assert norms.loc[first].groupby("n")[MOMENTS].nunique().eq(1).all(axis=None)
    K = SimulatedView("median", (50, 3), 70, 7, first, "y").kernel(30)
    found = norms.loc[first].query("n == 30")[["kernel_variance_y", "kernel_moment_y"]].iloc[0]
    assert_allclose(found, exact_moments(K))


def test_steps_of_repeats_become_blocks_that_share_the_first_repeats():
    steps = {"repeats": [{"n": 20, "repeats": 7}, {"n": 50, "repeats": 3}], "block": 2}
    given = {"title": "tiny", "n": [10, 20, 50], "m": [5], "gamma": [1.0]}
    fixed = {"fixed": {"n": 20, "m": 5, "gamma": 1.0}}
    blocks = Sweep.model_validate(given | fixed | steps).blocks()
    assert [block["repeats"] for block in blocks] == [[0, 2], [2, 3], [3, 5], [5, 7]]
    assert [block["largest_n"] for block in blocks] == [50, 50, 20, 20]
    whole = Sweep.model_validate(given | fixed | {"repeats": 3, "block": 2}).blocks()
    assert whole == blocks[:2]
    for wrong, words in (
        ([{"n": 20, "repeats": 7}], "ends at n = 20, below the largest n"),
        ([{"n": 20, "repeats": 3}, {"n": 50, "repeats": 7}], "decrease in repeats"),
    ):
        with pytest.raises(ValidationError, match=words):
            Sweep.model_validate(given | fixed | {"repeats": wrong})


def test_nystroem_features_estimate_the_square_of_the_kernel_and_whitened_ones_the_kernel():
    settings = {"columns": 3, "n": 40, "m": [10, 40, 80], "gamma": [1.0]}
    found = correlation_errors(SimpleNamespace(**settings, repeats=2, seed=1))
    errors = found.groupby("m").mean()[[name for name in found if name.startswith("estimate_")]]
    few, every_row, more = (errors.loc[m].to_numpy() for m in (10, 40, 80))
    assert (every_row < few)[[0, 2, 3]].all()
    assert every_row[2:] == pytest.approx([0, 0], abs=1e-6)
    assert min(few[1], every_row[1]) > 0.3
    assert np.isnan(more).all()


def test_widths_follow_the_median_of_one_draw():
    views = {
        width: SimulatedView(width, (40, 3), 5, 7, 0, "x")
        for width in ("median", "squared", "doubled", 0.5)
    }
    s = views["median"].gamma
    assert s == pytest.approx(median_gamma(views["median"].rows, random_state=0), rel=0.1)
    assert [view.gamma for view in views.values()] == pytest.approx([s, s**2, 2 * s**2, 0.5])
    assert np.array_equal(views["median"].rows, views["squared"].rows)
    with pytest.raises(ValueError, match=r"width='wide'.*median, squared, doubled"):
        SimulatedView("wide", (4, 2), 2, 0)


def test_counterexample_grows_past_the_bound_with_n_at_one_ratio():
    settings = {"columns": 10, "widths": [10.0, 0.001], "n": [100, 800], "ratios": [0.5]}
    found = violations(SimpleNamespace(**settings, gamma=[1e-3], repeats=1, seed=1))
    unit = found[found["features"] == "unit"].set_index("n")["error"]
    assert unit[100] < cca_bound(100, 50, 1e-3)
    assert unit[800] > cca_bound(800, 400, 1e-3)


def test_squared_correlations_come_near_as_features_grow():
    settings = {"columns": 3, "n": 40, "m": [20, 2000], "gamma": [1.0, 100.0]}
    found = correlation_errors(SimpleNamespace(**settings, repeats=2, seed=1))
    means = found.groupby(["gamma", "m"])["error"].mean()
    assert (means.xs(2000, level="m") < means.xs(20, level="m") / 3).all()
