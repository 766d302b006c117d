"""Tables and figures of the bounds stage, made from norms that follow known laws."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workflow.stages.bounds.figures import bounds_figure, theorem4_figure
from workflow.stages.bounds.norms import (
    cca_bound,
    correlation_bound,
    kernel_bound,
    limiting_cca_error,
    proved_cca_bound,
)
from workflow.stages.bounds.report import (
    against_m,
    against_the_bound,
    bounds_table,
    correlations_table,
    draws,
    points,
    power_laws,
    theorem4_table,
)

PUBLISHED = pd.read_csv(Path(__file__).parents[4] / "resources" / "paper" / "fig_bounds.csv")
FIXED = {"n": 1000, "m": 1000, "gamma": 1e-3}
TITLES = {"stated": "stated width", "other": "other width"}


def summarised(sweeps=("stated",), repeats=4, noise=0.1):
    """Norms with exponents 1, -1/2 and -1, times a factor that a repeat's points share."""
    values = {key: [100, 1000, 5000] for key in "nm"} | {"gamma": [1e-3, 1.0]}
    varied = [FIXED | {key: value} for key, found in values.items() for value in found]
    at = pd.DataFrame(varied).drop_duplicates()
    factors = np.exp(noise * np.random.default_rng(0).standard_normal(repeats))
    frames = []
    for sweep, (repeat, factor) in product(TITLES, enumerate(factors)):
        law = factor * at["n"] / np.sqrt(at["m"])
        errors = {"kernel_error_x": law, "kernel_error_y": 2 * law}
        errors |= {"cca_error_xy": 3 * law / at["gamma"], "cca_error_yx": law / at["gamma"]}
        norms = dict.fromkeys(["kernel_norm_x", "kernel_norm_y"], 0.4 * at["n"])
        frames.append(at.assign(experiment=sweep, repeat=repeat, **norms, **errors))
    drawn = draws(pd.concat(frames, ignore_index=True), dict.fromkeys(TITLES, FIXED))
    return drawn, points(drawn, PUBLISHED, list(sweeps))


def row(frame, **where):
    is_found = np.logical_and.reduce([frame[key] == value for key, value in where.items()])
    (found,) = frame[is_found].to_dict("records")
    return found


def test_panels_take_both_views_and_the_larger_block():
    _, summary = summarised(noise=0.0)
    found = row(summary, experiment="stated", panel="rpca", varying="n", value=5000)
    assert found["draws"] == 8
    assert found["mean"] == pytest.approx(1.5 * 5000 / np.sqrt(1000))
    found = row(summary, experiment="stated", panel="rcca", varying="gamma", value=1.0)
    assert (found["mean"], found["one_block"]) == pytest.approx((94.87, 63.25), rel=1e-3)


def test_points_stand_beside_their_bounds_and_the_paper_s_own():
    _, summary = summarised()
    found = row(summary, experiment="stated", panel="rpca", varying="m", value=5000)
    assert found["bound_printed"] == kernel_bound(1000, 5000)
    assert found["bound_sharp"] == kernel_bound(1000, 5000, norm=400)
    found = row(summary, experiment="stated", panel="rcca", varying="gamma", value=1.0)
    assert found["bound_printed"] == cca_bound(1000, 1000, 1.0)
    assert found["bound_proved"] == proved_cca_bound(1000, 1000, 1.0, norm=400)
    assert found["ratio"] == pytest.approx(found["mean"] / 6.651322)
    # The interval of the ratio allows for the error of either mean.
    ours = (found["mean_high"] - found["mean_low"]) / 2 / 6.651322
    half = (found["ratio_high"] - found["ratio_low"]) / 2
    assert half == pytest.approx(ours * np.sqrt(1 + 4 / 1000))
    other = summary[summary["experiment"] == "other"]
    assert other[["published", "ratio"]].isna().all(axis=None)


def test_exponents_are_those_of_the_law_and_shared_noise_does_not_widen_them():
    fits = power_laws(*summarised())
    assert fits["exponent"].tolist() == pytest.approx(2 * [1.0, -0.5, 1.0, -1.0, -0.5])
    assert fits["exponent"].tolist() == pytest.approx(fits["claimed"].tolist())
    # The kernel's norm grows like n and depends on nothing else.
    assert fits["relative_exponent"].tolist() == pytest.approx(2 * [0.0, -0.5, 0.0, -1.0, -0.5])
    for name in ("exponent", "relative_exponent"):
        assert (fits[f"{name}_high"] - fits[f"{name}_low"]).max() < 1e-9
    found = row(fits, experiment="stated", panel="rpca", varying="m")
    assert found["published_exponent"] == pytest.approx(-0.497, abs=0.01)
    of_one_draw = power_laws(*summarised(repeats=1)).query("panel == 'rcca'")
    assert of_one_draw["exponent_low"].isna().all()
    assert of_one_draw["exponent"].notna().all()


def test_interval_of_an_exponent_is_that_of_independent_draws():
    rng, values, repeats = np.random.default_rng(1), np.array([100.0, 1000.0, 5000.0]), 400
    noise = 0.05 * rng.standard_normal((repeats, 3))
    drawn = pd.DataFrame(
        {
            "experiment": "one", "panel": "rcca", "varying": "n", "value": np.tile(values, repeats),
            "n": np.tile(values, repeats), "m": 1000, "gamma": 1e-3,
            "draw": np.repeat(np.arange(repeats), 3), "one_block": 1.0, "kernel_norm": 1.0,
            "norm": (values * np.exp(noise)).ravel(),
        }
    )  # fmt: skip
    (fit,) = power_laws(drawn, points(drawn, PUBLISHED, [])).to_dict("records")
    x = np.log(values) - np.log(values).mean()
    expected = 2 * 1.966 * 0.05 / np.sqrt(x @ x * repeats)
    assert fit["exponent_high"] - fit["exponent_low"] == pytest.approx(expected, rel=0.1)


def test_level_is_the_geometric_mean_over_the_papers_points():
    found = row(
        power_laws(*summarised(noise=0.0)), experiment="stated", panel="rcca", varying="gamma"
    )
    ratios = [94868 / 6431.905, 94.868 / 6.651322]
    assert found["level"] == pytest.approx(np.sqrt(np.prod(ratios)), rel=1e-4)
    assert (found["level_least"], found["level_most"]) == pytest.approx(sorted(ratios), rel=1e-4)
    assert found["one_block_level"] == pytest.approx(found["level"] * 2 / 3)


def test_table_has_the_papers_columns_only_where_they_are_known():
    first, second = bounds_table(power_laws(*summarised()), TITLES).split("\n\n**other width**")
    assert "| ‖K̂ − K‖, 8 draws | n | 1.000 |" in first
    assert "| ‖R̂⁻¹L̂ − R⁻¹L‖, 4 draws | γ | -1.000 |" in second
    assert "ours / paper's" in first
    assert "ours / paper's" not in second


@pytest.mark.parametrize("sweeps", [["stated", "other"], ["stated"], []])
def test_figure_is_over_the_paper_s_norms_where_all_are_known(sweeps):
    _, summary = summarised(sweeps)
    figure = bounds_figure(summary, TITLES)
    axes = [panel for panel in figure.axes if panel.get_title()]
    assert len(axes) == 5
    known = sweeps == ["stated", "other"]
    ours = summary[(summary["experiment"] == "stated") & (summary["panel"] == "rpca")]
    ours = ours[ours["varying"] == "n"]
    over = ours["published" if known else "bound_printed"]
    drawn = next(bars.lines[0] for bars in axes[0].containers if bars.get_label() == "stated width")
    assert drawn.get_ydata() == pytest.approx((ours["mean"] / over).to_numpy())
    for panel in axes:
        assert panel.get_ylabel() == ("norm / paper's norm" if known else "norm / printed bound")
        labels = panel.get_legend_handles_labels()[1]
        assert set(labels) == {*TITLES.values(), *(["paper"] if sweeps else [])}


def counterexample():
    keys = ["features", "gamma", "n", "ratio", "repeat"]
    cases = product(["unit", "unbiased"], [1e-3, 1.0], [100, 1000], [0.5, 2.0], range(2))
    frame = pd.DataFrame(cases, columns=keys)
    error = frame["n"] * (1 + 0.2 * frame["repeat"]) / frame["gamma"] / 2
    return against_the_bound(frame.assign(m=(frame["ratio"] * frame["n"]).astype(int), error=error))


def correlations():
    frame = pd.DataFrame(product([25, 100], [1.0, 1000.0]), columns=["m", "gamma"])
    frame = frame.assign(repeat=0, n=50, kernel_norm=20.0, error=1 / frame["m"] / frame["gamma"])
    return against_m(frame)


def test_excess_is_the_mean_error_over_the_bound_of_the_same_features():
    where = {"gamma": 1e-3, "n": 1000, "ratio": 0.5}
    unit = row(counterexample(), features="unit", **where)
    assert unit["error"] == pytest.approx(0.55 * 1000 / 1e-3)
    assert unit["excess"] == pytest.approx(unit["error"] / cca_bound(1000, 500, 1e-3))
    assert unit["limit"] == limiting_cca_error(1000, 0.5, 2e-3)
    unbiased = row(counterexample(), features="unbiased", **where)
    assert unbiased["bound"] == cca_bound(1000, 500, 1e-3, factor=2)
    assert unbiased["limit"] == limiting_cca_error(1000, 0.5, 1e-3)
    blocks = theorem4_table(counterexample()).split("\n\n**")
    assert len(blocks) == 4
    assert "| 0.5 | 0.71 | **2.25** |" in blocks[0]


def test_correlations_stand_beside_the_bound_that_holds():
    bound = correlation_bound(50, 100, 1000.0)
    assert row(correlations(), gamma=1000.0, m=100)["bound"] == bound
    assert f"| 1e-05 ({bound:.2g}) |\n" in correlations_table(correlations())


def test_theorem_4_figure_has_a_panel_per_gamma_and_one_more():
    figure = theorem4_figure(counterexample(), correlations())
    titles = [axes.get_title() for axes in figure.axes]
    assert [title[-5:] for title in titles] == ["0.001", "$ = 1", " = 50"]
    bars = figure.axes[0].containers[1]
    where = {"features": "unit", "gamma": 1e-3, "n": 1000}
    excess = [row(counterexample(), **where, ratio=ratio)["excess"] for ratio in (0.5, 2.0)]
    assert bars.get_label() == "n = 1000"
    assert bars.lines[0].get_ydata() == pytest.approx(excess)
