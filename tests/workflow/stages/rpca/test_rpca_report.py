"""Tables and figures of the rpca stage, made from small frames."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from projects import drawn
from workflow.stages.rpca import report
from workflow.stages.rpca.figures import agreement_figure, scatter_figure, times_figure

TITLES = {"rings": "Rings", "mnist": "MNIST"}
RATE = {"fourier": -0.5, "nystroem": -2.0}
LAWS = {"exact": (1e-9, 3), "leading": (1e-7, 2), "linear": (1e-6, 1), "fourier": (1e-5, 1)}
SIZES = {"exact": (100, 1000, 4000), "leading": (1000, 4000)}
ERRORS = pd.DataFrame(
    [
        (*("rings", analysis, method, 500, 4, m, repeat), (1 + repeat) * m**rate, *others)
        for (analysis, captured), (method, rate), m, repeat in product(
            (("pca", 0.9), ("cca", None)), RATE.items(), (10, 40), (0, 1)
        )
        for others in [(40.0, 20.0 - repeat, 2 * m**rate, captured)]
    ],
    columns=report.ERRORS_COLUMNS,
)
FITS = ERRORS[["analysis", "method", "m", "repeat"]].to_records(index=False).tolist()
FITS += product(("pca", "cca"), ("linear",), (10,), (0,))
FITS += product(("pca", "cca"), ("exact",), (500,), (0,))
MERITS = pd.DataFrame(
    [
        ("rings", analysis, method, m, repeat, k, 0.1 * k + m / 1000)
        for analysis, method, m, repeat in FITS
        for k in ((2, 4) if analysis == "pca" else (4,))
    ],
    columns=report.MERITS_COLUMNS,
)
SCORES = pd.DataFrame(
    [
        ("rings", "pca", method, 40, label, *np.random.default_rng(i).normal(size=2))
        for method, label, i in product(("linear", "exact", *RATE), (0, 1, 2), range(5))
    ],
    columns=report.SCORES_COLUMNS,
)
TIMES = pd.DataFrame(
    [
        ("rings", "pca", method, 2, n, 50 if method == "fourier" else None, repeat, seconds)
        for method, (factor, power) in LAWS.items()
        for n in SIZES.get(method, (8000, 16000, 64000))
        # The middle one of three is the law, but for a floor that only the least n feels.
        for repeat, seconds in enumerate(max(factor * n**power, 1e-5) * np.array([0.8, 1, 1.2]))
    ],
    columns=report.TIMES_COLUMNS,
)


def test_exponents_are_fitted_to_the_medians_of_the_largest_octaves():
    found = report.exponents(TIMES).set_index("method")
    for method, (factor, power) in LAWS.items():
        assert found.loc[method, ["exponent", "factor"]].tolist() == pytest.approx([power, factor])
    assert found.loc["exact", ["n_from", "n_to"]].tolist() == [1000, 4000]
    assert found["claimed"].dropna().to_dict() == {"exact": 3, "linear": 1, "fourier": 1}
    assert report.exponents(TIMES[TIMES["n"] == 4000]).empty


def test_figure_has_an_angle_and_a_task_per_analysis_and_the_references():
    summary, merits = report.errors_summary(ERRORS), report.merits_summary(MERITS)
    panels = agreement_figure(summary, merits, TITLES)
    assert len(panels) == 4
    angle, task = map(drawn, panels[2:])
    assert angle["Nyström, whitened"] == [[10, 19.5], [40, 19.5]]
    assert task.keys() == {"linear", "exact", "Fourier", "Nyström, whitened"}
    assert [y for _, y in task["exact"]] == pytest.approx([0.9, 0.9])


def test_scatter_shows_every_class_by_every_method_and_times_have_their_exponents():
    panels = scatter_figure(SCORES, TITLES)
    assert [len(panel.marks) for panel in panels] == [3] * 4
    assert panels[2].title == "RPCA, Fourier, m = 40"
    (panel,) = times_figure(TIMES, report.exponents(TIMES), TITLES)
    labels = {getattr(mark, "text", "") or mark.label for mark in panel.marks}
    assert labels >= {"exact, n³·⁰", "Fourier, n¹·⁰"}


def test_nothing_run_leaves_blank_figures_and_the_reasons():
    errors, merits, scores, times = (
        pd.DataFrame(columns=frame.columns) for frame in (ERRORS, MERITS, SCORES, TIMES)
    )
    summaries = report.errors_summary(errors), report.merits_summary(merits)
    for figure in (
        agreement_figure(*summaries, TITLES),
        scatter_figure(scores, TITLES),
        times_figure(times, report.exponents(times), TITLES),
    ):
        assert figure == []
    text = report.table(errors, merits, times, dict.fromkeys(TITLES, "no source"), TITLES)
    assert text == "**Rings**: not run, no source\n\n**MNIST**: not run, no source\n"


def test_ratios_of_seconds_are_those_within_a_repeat():
    seconds = {
        "fourier": (2.0, 6.0, 9.0),
        "nystroem": (1.0, 6.0, 18.0),
        "fastfood": (1.0, 2.0, 1.0),
    }
    rows = [
        ("rings", method, 70, 8, 20, repeat, value)
        for method, values in seconds.items()
        for repeat, value in enumerate(values)
    ]
    evaluation = pd.DataFrame(rows, columns=report.EVALUATION_COLUMNS)
    summary = report.evaluation_summary(evaluation)
    (row,) = summary.to_dict("records")
    ratio = [row[f"fourier_over_fastfood_{how}"] for how in ("median", "min", "max")]
    assert ratio == [3, 2, 9]  # that of the medians is 6
    text = report.evaluation_table(summary, {"mnist": "no source"}, TITLES)
    assert "seconds for 70 rows of 8 columns" in text
    assert "| 20 | 6.000 | 6.000 | 1.000 | 3.00 (2.00 to 9.00) | 1.00 (0.50 to 2.00) |" in text
    assert text.endswith("**MNIST**: not run, no source\n")
    nothing = report.evaluation_summary(evaluation[:0])
    assert not report.evaluation_table(nothing, {}, TITLES)
