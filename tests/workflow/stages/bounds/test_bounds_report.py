"""Tables and figures of the bounds stage, made from norms that follow known laws."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import drawn
from workflow.lib.chart import Note
from workflow.stages.bounds.figures import (
    bounds_figure,
    correlations_figure,
    theorem4_figure,
    tightness_figure,
)
from workflow.stages.bounds.report import (
    BOUNDS,
    against_m,
    against_the_bound,
    bounds_table,
    draws,
    of_tightness,
    pieces,
    points,
    power_laws,
    tightness,
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
            "variance": np.nan, "moment": np.nan, "norm": (values * np.exp(noise)).ravel(),
        }
    )  # fmt: skip
    (fit,) = power_laws(drawn, points(drawn, PUBLISHED, [])).to_dict("records")
    x = np.log(values) - np.log(values).mean()
    expected = 2 * 1.966 * 0.05 / np.sqrt(x @ x * repeats)
    assert fit["exponent_high"] - fit["exponent_low"] == pytest.approx(expected, rel=0.1)


def test_pieces_are_fitted_on_either_side_of_the_kink_and_large_n_may_have_fewer_draws():
    values, repeats = np.array([100.0, 500.0, 1000.0, 1500.0, 2000.0, 5000.0]), 30
    law = np.where(values <= 1000, 2e-3 * values**2.5, 5 * values**1.1)
    noise = np.exp(0.05 * np.random.default_rng(0).standard_normal((repeats, 1)))
    drawn = pd.DataFrame(
        {
            "experiment": "one", "panel": "rcca", "varying": "n", "value": np.tile(values, repeats),
            "n": np.tile(values, repeats), "m": 1000, "gamma": 1e-3,
            "draw": np.repeat(np.arange(repeats), 6), "one_block": 1.0, "kernel_norm": 1.0,
            "variance": np.nan, "moment": np.nan, "norm": (law * noise).ravel(),
        }
    )  # fmt: skip
    drawn = drawn[(drawn["n"] <= 2000) | (drawn["draw"] < 20)]
    summary = points(drawn, PUBLISHED, ["one"])
    assert summary["draws"].tolist() == [30, 30, 30, 30, 30, 20]
    below, above = pieces(drawn, summary).to_dict("records")
    assert [below["least"], below["most"], below["points"]] == [100, 1000, 3]
    assert [above["least"], above["most"], above["points"]] == [2000, 5000, 2]
    assert below["exponent"] == pytest.approx(2.5)
    # Of draws 20 to 29, the point at 5000 has none.
    assert above["exponent"] == pytest.approx(1.1, abs=0.05)
    assert above["exponent_low"] < 1.1 < above["exponent_high"]
    assert above["exponent_high"] - above["exponent_low"] > 1e-3
    assert below["published_exponent"] == pytest.approx(1.17, abs=0.01)


def test_bounds_stand_beside_the_norms_that_they_bound():
    drawn, _ = summarised()
    drawn.loc[drawn["panel"] == "rpca", ["variance", "moment"]] = [4000.0, 9000.0]
    summary = points(drawn, PUBLISHED, ["stated"])
    point = row(summary, experiment="stated", panel="rpca", varying="m", value=1000.0)
    own = drawn[(drawn["experiment"] == "stated") & (drawn["panel"] == "rpca")]
    own = own[(own["varying"] == "m") & (own["m"] == 1000)]["norm"]
    assert len(own) == 8
    assert point["rms"] == pytest.approx(np.sqrt((own**2).mean()))
    assert point["lower"] == pytest.approx(2.0)
    assert point["bound_moments"] == pytest.approx(3.0)
    assert point["bound_gaussian"] == pytest.approx(np.sqrt(1000))
    assert point["bound_frobenius"] == pytest.approx(np.sqrt(1500))
    ratios = tightness(summary[summary["experiment"] == "stated"])
    rpca = summary[(summary["experiment"] == "stated") & (summary["panel"] == "rpca")]
    found = row(ratios, panel="rpca", bound="bound_moments")
    assert found["most"] == pytest.approx((rpca["bound_moments"] / rpca["rms"]).max())
    found = row(ratios, panel="rpca", bound="bound_printed")
    assert found["least"] == pytest.approx((rpca["bound_printed"] / rpca["mean"]).min())
    assert "bound_moments" not in set(ratios[ratios["panel"] == "rcca"]["bound"])


def test_table_has_the_papers_columns_only_where_they_are_known():
    text = bounds_table(power_laws(*summarised()), pieces(*summarised()), TITLES)
    first, second = text.split("\n\n**other width**")
    assert "| ‖K̂ − K‖, 8 draws | n | 1.000 |" in first
    assert "| ‖R̂⁻¹L̂ − R⁻¹L‖, 4 draws | γ | -1.000 |" in second
    assert "ours / paper's" in first
    assert "ours / paper's" not in second


@pytest.mark.parametrize("sweeps", [["stated", "other"], ["stated"], []])
def test_figure_is_over_the_paper_s_norms_where_all_are_known(sweeps):
    _, summary = summarised(sweeps)
    rpca, rcca = bounds_figure(summary, TITLES)
    ours = summary[(summary["experiment"] == "stated") & (summary["panel"] == "rpca")]
    ours = ours[ours["varying"] == "n"]
    over = ours["published" if sweeps else "bound_printed"]
    points = drawn(rpca)
    assert [y for _, y in points["stated width"]] == pytest.approx((ours["mean"] / over).tolist())
    for panel in (rpca, rcca):
        assert panel.y.title.endswith("the paper's" if sweeps else "the printed bound")
        assert set(drawn(panel)) == {*TITLES.values(), *(["paper"] if sweeps else [])}


def test_error_stands_between_its_bounds_in_the_figure_and_the_numbers():
    _, summary = summarised()
    lines = drawn(tightness_figure(summary, BOUNDS)[0])
    own = summary[(summary["experiment"] == "stated") & (summary["panel"] == "rpca")]
    own = own[own["varying"] == "n"]
    error = (own["rms"] * np.sqrt(own["m"]) / own["n"]).tolist()
    assert [y for _, y in lines["error"]] == pytest.approx(error)
    assert [y for _, y in lines["n/√m"]] == pytest.approx([1.0] * len(own))
    assert BOUNDS["bound_proved"] not in lines
    found = of_tightness(tightness(summary))["stated"]["rpca"]
    ratio = own["bound_frobenius"] / own["rms"]
    assert found["bound_frobenius"]["least"] <= ratio.min()


def counterexample():
    keys = ["features", "gamma", "n", "ratio", "repeat"]
    cases = product(["unit", "unbiased"], [1e-3, 1.0], [100, 1000], [0.5, 2.0], range(2))
    frame = pd.DataFrame(cases, columns=keys)
    error = frame["n"] * (1 + 0.2 * frame["repeat"]) / frame["gamma"] / 2
    return against_the_bound(frame.assign(m=(frame["ratio"] * frame["n"]).astype(int), error=error))


def correlations():
    frame = pd.DataFrame(product([25, 100], [1.0, 1000.0]), columns=["m", "gamma"])
    frame = frame.assign(repeat=0, n=50, kernel_norm=20.0, error=1 / frame["m"] / frame["gamma"])
    return against_m(frame.assign(dimension_x=4.0, dimension_y=9.0))


def test_the_smaller_of_two_bounds_on_correlations_counts():
    found = row(correlations(), m=25, gamma=1.0)
    assert found["bound_uniform"] == pytest.approx(2 * 50 * np.sqrt(1.5 / 25))
    assert found["bound_whitened"] == pytest.approx(2 * (2 + 3) * np.sqrt(2 * 50 / 25))
    assert found["bound"] == found["bound_whitened"]
    assert row(correlations(), m=25, gamma=1000.0)["bound"] == pytest.approx(
        0.1 * np.sqrt(1.5 / 25)
    )


def test_theorem_4_figure_is_of_the_worst_case_and_names_each_peak():
    (panel,) = theorem4_figure(counterexample())
    worst = counterexample()["excess"].idxmax()
    where = counterexample().loc[worst, ["features", "gamma"]].to_dict() | {"n": 1000}
    excess = [row(counterexample(), **where, ratio=ratio)["excess"] for ratio in (0.5, 2.0)]
    assert [y for _, y in drawn(panel)["n = 1000"]] == pytest.approx(excess)
    labels = [mark.text for mark in panel.marks if isinstance(mark, Note)]
    assert f"n = 1,000: {counterexample()['excess'].max():.2f}×" in labels


def test_figure_of_correlations_has_the_bound_where_it_says_something():
    (panel,) = correlations_figure(correlations())
    bounds = {name: points for name, points in drawn(panel).items() if name.startswith("bound")}
    assert all(y <= 2 for points in bounds.values() for _, y in points)
    assert bounds["bound, γ = 1000"][0][1] == pytest.approx(0.1 * np.sqrt(1.5 / 25))
