"""Tables and figures of the rpca stage, made from small frames."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from projects import svg_of
from workflow.stages.rpca.figures import agreement_figure, scatter_figure, times_figure
from workflow.stages.rpca.tables import (
    ERRORS_COLUMNS,
    MERITS_COLUMNS,
    SCORES_COLUMNS,
    TIMES_COLUMNS,
    errors_summary,
    exponents,
    merits_summary,
    rates,
    table,
)

TITLES = {"rings": "Rings", "mnist": "MNIST"}
RATE = {"fourier": -0.5, "nystroem": -2.0}
LAWS = {"exact": (1e-9, 3), "leading": (1e-7, 2), "linear": (1e-6, 1), "fourier": (1e-5, 1)}


@pytest.fixture
def errors():
    rows = [
        {
            "experiment": "rings",
            "analysis": analysis,
            "n": 500,
            "components": 4,
            "method": method,
            "m": m,
            "repeat": repeat,
            "value_error": (1 + repeat) * m ** RATE[method],
            "largest_angle": 40.0,
            "mean_angle": 20.0 - repeat,
            "kernel_error": 2 * m ** RATE[method],
        }
        | ({"captured": 0.9} if analysis == "pca" else {})
        for analysis, method, m, repeat in product(
            ("pca", "cca"), ("fourier", "nystroem"), (10, 40), (0, 1)
        )
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def merits(errors):
    keys = ["experiment", "analysis", "method", "m", "repeat"]
    fits = errors[keys].to_dict("records")
    fits += [
        {"experiment": "rings", "analysis": analysis, "method": method, "m": m, "repeat": 0}
        for analysis, (method, m) in product(("pca", "cca"), (("linear", 10), ("exact", 500)))
    ]
    return pd.DataFrame(
        [
            fit | {"components": k, "merit": 0.1 * k + fit["m"] / 1000}
            for fit in fits
            for k in ((2, 4) if fit["analysis"] == "pca" else (4,))
        ]
    )


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = product(("linear", "exact", "fourier", "nystroem"), (0, 1, 2), range(5))
    return pd.DataFrame(
        [("rings", "pca", method, 40, label, *rng.normal(size=2)) for method, label, _ in rows],
        columns=SCORES_COLUMNS,
    )


@pytest.fixture
def times():
    sizes = {"exact": (100, 1000, 4000), "leading": (1000, 4000)}
    rows = [
        {
            "experiment": "rings",
            "analysis": "pca",
            "threads": 2,
            "method": method,
            "n": n,
            "m": 50 if method == "fourier" else None,
            "repeat": repeat,
            # The middle one of three is the law, but for a floor that only the least n feels.
            "seconds": max(factor * n**power, 1e-5) * (1 + 0.2 * (repeat - 1)),
        }
        for method, (factor, power) in LAWS.items()
        for n in sizes.get(method, (8000, 16000, 64000))
        for repeat in range(3)
    ]
    return pd.DataFrame(rows)


def test_summary_has_the_spread_over_repeats(errors):
    row = errors_summary(errors).query("analysis == 'pca' and method == 'fourier' and m == 10")
    (row,) = row.to_dict("records")
    assert row["repeats"] == 2
    assert row["value_error_min"] == pytest.approx(10**-0.5)
    assert row["value_error_mean"] == pytest.approx(1.5 * 10**-0.5)
    assert row["value_error_max"] == pytest.approx(2 * 10**-0.5)


def test_what_is_not_measured_is_missing(errors):
    captured = errors_summary(errors).groupby("analysis")["captured_mean"]
    assert captured.first()["pca"] == 0.9
    assert captured.count()["cca"] == 0


def test_rates_are_those_of_the_power_laws(errors):
    found = rates(errors).set_index(["analysis", "method", "measure"])
    assert found.loc["pca", "fourier", "value_error"]["rate"] == pytest.approx(-0.5)
    assert found.loc["cca", "nystroem", "kernel_error"]["rate"] == pytest.approx(-2.0)
    assert (found["rate_error"] < 1e-9).all()
    alone = rates(errors[errors["repeat"] == 0])
    assert alone["rate_error"].isna().all()


def test_exponents_are_fitted_to_the_medians_of_the_largest_octaves(times):
    found = exponents(times).set_index("method")
    for method, (factor, power) in LAWS.items():
        assert found.loc[method, "exponent"] == pytest.approx(power)
        assert found.loc[method, "factor"] == pytest.approx(factor)
    assert (found.loc["exact", "n_from"], found.loc["exact", "n_to"]) == (1000, 4000)
    assert found["claimed"].dropna().to_dict() == {"exact": 3, "linear": 1, "fourier": 1}


def test_one_size_alone_has_no_exponent(times):
    assert exponents(times[times["n"] == 4000]).empty


def test_table_shows_errors_merits_and_times(errors, merits, times):
    text = table(errors, merits, times, {"mnist": "no source"}, TITLES)
    for line in (
        "**Rings, kernel PCA**: n = 500 rows, 4 components, draws of the features: 2",
        "| exact kernel PCA | 500 | – | – | – | – | – | 0.700 | 0.900 |",
        "| RPCA, Fourier | 40 | 2.37e-01 | -0.50 ± 0.00 | 19.50° | 3.16e-01 | -0.50 ± 0.00 "
        "| 0.240 | 0.440 |",
        "| linear CCA | 10 | – | – | – | – | – | 0.410 |",
        "**Rings, wall time** (threads: 2)",
        "| exact kernel PCA | – | 1000 to 4000 | 3.00 | 3 | 64 s | 2.6e+05 s, extrapolated |",
        "| RPCA, Fourier | 50 | 8000 to 64000 | 1.00 ± 0.00 | 1 | 0.64 s | 0.64 s |",
        "**MNIST**: not run, no source",
    ):
        assert line in text


def test_figure_has_a_panel_per_measure_and_the_references(errors, merits):
    figure = agreement_figure(errors, merits, "cca", TITLES)
    assert len(figure.axes) == 4
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.texts} == {
        "linear CCA",
        "exact kernel CCA",
        "RCCA, Fourier",
        "RCCA, whitened Nyström",
        "$\\propto m^{-1/2}$",
    }
    nystroem = figure.axes[0].lines[1]
    assert nystroem.get_ydata() == pytest.approx(1.5 * np.array([10.0, 40.0]) ** -2)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["10", "40"]


def test_scatter_shows_every_class_by_every_method(scores):
    axes = scatter_figure(scores, TITLES).axes
    assert [len(each.collections) for each in axes] == [3] * 4
    assert axes[2].get_title() == "RPCA, Fourier, $m = 40$"


def test_times_are_labelled_with_their_exponents(times):
    (axes,) = times_figure(times, TITLES).axes
    labels = [text.get_text() for text in axes.get_legend().texts]
    assert "exact kernel PCA: $n^{3.00}$" in labels
    assert "RPCA, Fourier: $n^{1.00 ± 0.00}$" in labels


def test_figures_are_the_same_every_time(tmp_path, errors, merits, scores, times):
    for draw in (
        lambda: agreement_figure(errors, merits, "pca", TITLES),
        lambda: scatter_figure(scores, TITLES),
        lambda: times_figure(times, TITLES),
    ):
        assert svg_of(draw(), tmp_path) == svg_of(draw(), tmp_path)


def test_nothing_run_leaves_blank_figures_and_the_reasons(tmp_path):
    errors, reasons = pd.DataFrame(columns=ERRORS_COLUMNS), {"mnist": "no source"}
    merits = pd.DataFrame(columns=MERITS_COLUMNS)
    times = pd.DataFrame(columns=TIMES_COLUMNS)
    text = table(errors, merits, times, reasons, {"mnist": "MNIST"})
    assert text == "**MNIST**: not run, no source\n"
    assert errors_summary(errors).empty
    assert merits_summary(merits).empty
    for figure in (
        agreement_figure(errors, merits, "pca", TITLES),
        scatter_figure(pd.DataFrame(columns=SCORES_COLUMNS), TITLES),
        times_figure(times, TITLES),
    ):
        assert svg_of(figure, tmp_path)
        assert not any(axes.axison for axes in figure.axes)
