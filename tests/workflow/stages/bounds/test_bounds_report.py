"""Tables and figures of the bounds stage, made from norms that follow known laws."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workflow.lib.figures import save
from workflow.stages.bounds.figures import bounds_figure, theorem4_figure
from workflow.stages.bounds.norms import (
    cca_bound,
    correlation_bound,
    kernel_bound,
    limiting_cca_error,
    proved_cca_bound,
)
from workflow.stages.bounds.tables import (
    against_m,
    against_the_bound,
    draws,
    panels,
    points,
    write_bounds_table,
    write_correlations_table,
    write_theorem4_table,
)

PUBLISHED = pd.read_csv(Path(__file__).parents[4] / "resources" / "paper" / "fig_bounds.csv")
FIXED = {"n": 1000, "m": 1000, "gamma": 1e-3}
TITLES = {"stated": "stated width", "other": "other width"}


def norms(repeats=4, noise=0.1, sweeps=TITLES):
    """Norms with exponents 1, -1/2 and -1, times a factor that a repeat's points share."""
    rng = np.random.default_rng(0)
    values = {key: [100, 1000, 5000] for key in "nm"} | {"gamma": [1e-3, 1.0]}
    varied = [FIXED | {key: value} for key, found in values.items() for value in found]
    points = pd.DataFrame(varied).drop_duplicates()
    factors = np.exp(noise * rng.standard_normal(repeats))
    frames = []
    for sweep in sweeps:
        for repeat, factor in enumerate(factors):
            law = factor * points["n"] / np.sqrt(points["m"])
            frames.append(
                points.assign(
                    experiment=sweep,
                    repeat=repeat,
                    kernel_norm_x=0.4 * points["n"],
                    kernel_norm_y=0.4 * points["n"],
                    kernel_error_x=law,
                    kernel_error_y=2 * law,
                    cca_error_xy=3 * law / points["gamma"],
                    cca_error_yx=law / points["gamma"],
                )
            )
    return pd.concat(frames, ignore_index=True)


def summarised(sweeps=(), **options):
    found = norms(**options)
    drawn = draws(found, dict.fromkeys(found["experiment"].unique(), FIXED))
    return drawn, points(drawn, PUBLISHED, list(sweeps))


def row(frame, **where):
    (found,) = frame[np.logical_and.reduce([frame[k] == v for k, v in where.items()])].to_dict(
        "records"
    )
    return found


def test_panels_take_both_views_and_the_larger_block():
    drawn, summary = summarised(noise=0.0)
    assert len(drawn) == 2 * 4 * (2 * 2 * 3 + 3 + 3 + 2)
    found = row(summary, experiment="stated", panel="rpca", varying="n", value=5000)
    assert found["draws"] == 8
    assert found["mean"] == pytest.approx(1.5 * 5000 / np.sqrt(1000))
    found = row(summary, experiment="stated", panel="rcca", varying="gamma", value=1.0)
    assert (found["mean"], found["one_block"]) == pytest.approx((94.87, 63.25), rel=1e-3)


def test_points_stand_beside_their_bounds():
    _, summary = summarised()
    found = row(summary, experiment="stated", panel="rpca", varying="m", value=5000)
    assert found["bound_printed"] == kernel_bound(1000, 5000)
    assert found["bound_sharp"] == kernel_bound(1000, 5000, norm=400)
    found = row(summary, experiment="stated", panel="rcca", varying="gamma", value=1.0)
    assert found["bound_proved"] == proved_cca_bound(1000, 1000, 1.0, norm=400)


def test_papers_values_stand_only_beside_its_own_points():
    _, summary = summarised(sweeps=["stated"])
    assert row(summary, experiment="stated", panel="rcca", varying="gamma", value=1e-3)[
        "published"
    ] == pytest.approx(6431.905)
    assert summary.loc[summary["experiment"] == "other", "published"].isna().all()


def test_ratio_to_the_paper_allows_for_the_error_of_either_mean():
    _, summary = summarised(sweeps=["stated"])
    found = row(summary, experiment="stated", panel="rcca", varying="gamma", value=1.0)
    assert found["ratio"] == pytest.approx(found["mean"] / 6.651322)
    ours = (found["mean_high"] - found["mean_low"]) / 2 / 6.651322
    half = (found["ratio_high"] - found["ratio_low"]) / 2
    assert half == pytest.approx(ours * np.sqrt(1 + 4 / 1000))
    assert summary.loc[summary["experiment"] == "other", "ratio"].isna().all()


def test_exponents_are_those_of_the_law_and_shared_noise_does_not_widen_them():
    drawn, summary = summarised(sweeps=["stated"])
    fits = panels(drawn, summary)
    assert fits["exponent"].tolist() == pytest.approx(2 * [1.0, -0.5, 1.0, -1.0, -0.5])
    assert fits["exponent"].tolist() == pytest.approx(fits["claimed"].tolist())
    assert (fits["exponent_high"] - fits["exponent_low"]).max() < 1e-9
    # The kernel's norm grows like n and depends on nothing else.
    assert fits["relative_exponent"].tolist() == pytest.approx(2 * [0.0, -0.5, 0.0, -1.0, -0.5])
    assert (fits["relative_exponent_high"] - fits["relative_exponent_low"]).max() < 1e-9
    found = row(fits, experiment="stated", panel="rpca", varying="m")
    assert found["published_exponent"] == pytest.approx(-0.497, abs=0.01)


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
    (fit,) = panels(drawn, points(drawn, PUBLISHED, [])).to_dict("records")
    x = np.log(values) - np.log(values).mean()
    expected = 2 * 1.966 * 0.05 / np.sqrt(x @ x * repeats)
    assert fit["exponent_high"] - fit["exponent_low"] == pytest.approx(expected, rel=0.1)


def test_one_draw_has_no_interval():
    drawn, summary = summarised(repeats=1, sweeps=["stated"])
    fits = panels(drawn, summary)
    of_rcca = fits[fits["panel"] == "rcca"]
    assert of_rcca["exponent_low"].isna().all()
    assert of_rcca["exponent"].notna().all()


def test_level_is_the_geometric_mean_over_the_papers_points():
    drawn, summary = summarised(noise=0.0, sweeps=["stated"])
    found = row(panels(drawn, summary), experiment="stated", panel="rcca", varying="gamma")
    ratios = [94868 / 6431.905, 94.868 / 6.651322]
    assert found["level"] == pytest.approx(np.sqrt(np.prod(ratios)), rel=1e-4)
    assert (found["level_least"], found["level_most"]) == pytest.approx(sorted(ratios), rel=1e-4)
    assert found["one_block_level"] == pytest.approx(found["level"] * 2 / 3)


def test_table_has_the_papers_columns_only_where_they_are_known(tmp_path):
    drawn, summary = summarised(sweeps=["stated"])
    write_bounds_table(tmp_path / "bounds.md", panels(drawn, summary), TITLES)
    first, second = (tmp_path / "bounds.md").read_text("utf-8").split("\n\n**other width**")
    assert "| ‖K̂ − K‖, 8 draws | n | 1.000 |" in first
    assert "| ‖R̂⁻¹L̂ − R⁻¹L‖, 4 draws | γ | -1.000 |" in second
    assert "ours / paper's" in first
    assert "ours / paper's" not in second


def labels(figure):
    return {
        axes.get_title(): set(axes.get_legend_handles_labels()[1])
        for axes in figure.axes
        if axes.get_title()
    }


def test_figure_has_five_panels_with_bounds_and_the_papers_points(tmp_path):
    _, summary = summarised(sweeps=["stated"])
    figure = bounds_figure(summary, TITLES)
    found = list(labels(figure).values())
    assert len(found) == 5
    assert all({*TITLES.values(), "paper", "bound as printed"} <= panel for panel in found)
    ours = summary[(summary["experiment"] == "stated") & (summary["panel"] == "rpca")]
    ours = ours[ours["varying"] == "n"]
    drawn = next(line for line in figure.axes[0].lines if line.get_label() == TITLES["stated"])
    assert drawn.get_ydata() == pytest.approx((ours["mean"] / ours["bound_printed"]).to_numpy())
    assert all(axes.get_ylabel() for axes in figure.axes if axes.get_title())
    save(figure, {name: str(tmp_path / name) for name in ("bounds.svg", "bounds.png")}, "bounds")
    assert (tmp_path / "bounds.png").stat().st_size > 10_000


def counterexample():
    rows = [
        {"features": f, "gamma": g, "n": n, "ratio": r, "m": int(r * n), "repeat": repeat}
        for f in ("unit", "unbiased")
        for g in (1e-3, 1.0)
        for n in (100, 1000)
        for r in (0.5, 2.0)
        for repeat in range(2)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(error=frame["n"] * (1 + 0.2 * frame["repeat"]) / frame["gamma"] / 2)


def correlations():
    rows = [
        {"repeat": 0, "n": 50, "m": m, "gamma": g, "kernel_norm": 20.0, "error": 1 / m / g}
        for m in (25, 100)
        for g in (1.0, 1000.0)
    ]
    return pd.DataFrame(rows)


def test_excess_is_the_mean_error_over_the_bound_of_the_same_features():
    summary = against_the_bound(counterexample())
    where = {"gamma": 1e-3, "n": 1000, "ratio": 0.5}
    unit = row(summary, features="unit", **where)
    assert unit["error"] == pytest.approx(0.55 * 1000 / 1e-3)
    assert unit["excess"] == pytest.approx(unit["error"] / cca_bound(1000, 500, 1e-3))
    assert unit["limit"] == limiting_cca_error(1000, 0.5, 2e-3)
    unbiased = row(summary, features="unbiased", **where)
    assert unbiased["bound"] == cca_bound(1000, 500, 1e-3, factor=2)
    assert unbiased["limit"] == limiting_cca_error(1000, 0.5, 1e-3)


def test_violations_are_bold(tmp_path):
    write_theorem4_table(tmp_path / "t.md", against_the_bound(counterexample()))
    blocks = (tmp_path / "t.md").read_text("utf-8").split("\n\n**")
    assert len(blocks) == 4
    assert "| 0.5 | 0.71 | **2.25** |" in blocks[0]


def test_correlations_stand_beside_the_bound_that_holds(tmp_path):
    summary = against_m(correlations())
    found = row(summary, gamma=1000.0, m=100)
    assert found["bound"] == correlation_bound(50, 100, 1000.0)
    write_correlations_table(tmp_path / "c.md", summary)
    assert "| m | γ = 1 | γ = 1000 |" in (tmp_path / "c.md").read_text("utf-8")


def test_theorem_4_figure_has_a_panel_per_gamma_and_two_more(tmp_path):
    figure = theorem4_figure(against_the_bound(counterexample()), against_m(correlations()))
    titles = list(labels(figure))
    assert len(titles) == 4
    assert "error, $n$ = 1000" in labels(figure)[titles[1]]
    outputs = {name: str(tmp_path / name) for name in ("theorem4.svg", "theorem4.png")}
    save(figure, outputs, "theorem4")
    assert (tmp_path / "theorem4.png").stat().st_size > 10_000
