"""Stage bounds: what its points are, and that draws are shared and extended as promised."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from rnca.features import median_gamma
from workflow.stages.bounds.fit import SimulatedView, simulate
from workflow.stages.bounds.norms import cca_bound
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
