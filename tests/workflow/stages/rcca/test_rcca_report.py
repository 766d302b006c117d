"""Tables and figure of the rcca stage, made from fixed CSVs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import svg_of
from workflow.data.audit import leak_lines
from workflow.lib.outcomes import split_outcomes
from workflow.lib.published import beside_published
from workflow.lib.tables import minutes
from workflow.stages.rcca.baselines_tables import DEEP_COLUMNS, EPOCH_COLUMNS, KERNEL_COLUMNS
from workflow.stages.rcca.figures import minutes_figure, rcca_figure, tuning_figure
from workflow.stages.rcca.table1 import (
    SUMS_COLUMNS,
    TIMING_COLUMNS,
    escape,
    rcca_summary,
    with_baselines,
    with_minutes,
    write_latex,
    write_markdown,
)
from workflow.stages.rcca.tables import (
    beside_base,
    chosen,
    write_leaks_table,
    write_tuning_table,
    write_variants_table,
)

GOLDEN = Path(__file__).parent / "golden"
PUBLISHED = pd.read_csv(Path(__file__).parents[4] / "resources" / "paper" / "table1_rcca.csv")
TITLES = {"mnist": "MNIST", "xrmb": "XRMB", "mocha": "MOCHA", "few": "MNIST, top 10"}


def read(*names):
    return split_outcomes(pd.concat([golden(f"{name}.sums") for name in names]), SUMS_COLUMNS)


def golden(name):
    return pd.read_csv(GOLDEN / f"{name}.csv")


UNTIMED = pd.DataFrame(columns=list(TIMING_COLUMNS))


def table1(sums, timings=UNTIMED, experiments=TITLES):
    summary = beside_published(rcca_summary(sums), PUBLISHED, experiments)
    return with_minutes(summary, timings, PUBLISHED, experiments)


def baselines():
    return [golden(f"mnist.{what}") for what in ("dcca", "kcca")]


def table1_with_baselines(*names):
    timed = table1(read(*names)[0], pd.read_csv(GOLDEN / "timing.csv"))
    return with_baselines(timed, *baselines(), PUBLISHED, TITLES)


def labels(figure):
    return [set(axes.get_legend_handles_labels()[1]) for axes in figure.axes]


@pytest.mark.parametrize(
    ("write", "name"), [(write_markdown, "rcca.md"), (write_latex, "rcca.tex")]
)
def test_table_is_the_golden_one(tmp_path, write, name):
    write(tmp_path / name, table1_with_baselines(*TITLES), read(*TITLES)[1], TITLES)
    assert (tmp_path / name).read_text("utf-8") == (GOLDEN / name).read_text("utf-8")


def test_speed_up_is_of_one_core_over_one_core():
    summary = table1(read("mnist")[0], pd.read_csv(GOLDEN / "timing.csv"))
    row = summary[(summary["feature_map"] == "fourier") & (summary["m"] == 1000)].iloc[0]
    assert (row["minutes"], row["minutes_one_core"]) == pytest.approx((0.1, 0.185))
    assert row["speed_up"] == pytest.approx(5.55 / 0.185)


def test_baselines_follow_the_rows_of_their_experiment():
    summary = table1_with_baselines("mnist", "mocha")
    assert summary["experiment"].tolist() == ["mnist"] * 7 + ["mocha"] * 2
    deep, few, many = summary[summary["feature_map"].isna()].to_dict("records")
    assert (deep["method"], few["method"], many["method"]) == ("dcca", "kcca", "kcca")
    assert (few["n_train_max"], many["n_train_max"]) == (1000, 4000)
    assert (deep["test_mean"], deep["repeats"]) == (pytest.approx(46.98), 2)
    assert deep["test_sd"] == pytest.approx(0.06 / np.sqrt(2))
    assert deep["difference"] == pytest.approx(46.98 - 39.7)
    assert deep["speed_up"] == pytest.approx(787.38 / 1.35)
    assert np.isnan(deep["train_mean"])
    assert np.isnan(many["test_sd"])
    assert np.isnan(many["paper"])


def test_rows_of_rcca_are_as_they_are_without_baselines():
    alone = table1(read("mnist")[0], pd.read_csv(GOLDEN / "timing.csv"))
    both = table1_with_baselines("mnist")
    ours = both[both["feature_map"].notna()].astype(alone.dtypes.to_dict())
    pd.testing.assert_frame_equal(ours, alone)
    assert alone["method"].tolist() == ["linear_cca", "fourier", "fourier", "nystroem"]


def test_baselines_of_an_experiment_that_rcca_was_not_run_in_are_left_out():
    summary = table1(read("mocha")[0])
    joined = with_baselines(summary, *baselines(), PUBLISHED, TITLES)
    assert set(joined["experiment"]) == {"mocha"}
    assert joined["method"].tolist() == summary["method"].tolist()


def test_table_without_baselines_is_as_it_was():
    summary = table1(read("mnist")[0])
    nothing = [pd.DataFrame(columns=each) for each in (DEEP_COLUMNS, KERNEL_COLUMNS)]
    assert with_baselines(summary, *nothing, PUBLISHED, TITLES) is summary


def test_table_without_timed_rcca_has_the_minutes_of_baselines(tmp_path):
    untimed = table1(read("mnist")[0], experiments=[])
    summary = with_baselines(untimed, *baselines(), PUBLISHED, [])
    write_markdown(tmp_path / "rcca.md", summary, {}, {"mnist": "MNIST"})
    text = (tmp_path / "rcca.md").read_text("utf-8")
    assert "| method | m | training | test | minutes, 1 core |" in text
    assert "| deep CCA, n = 54000 | – | – | **46.98 ± 0.04** | 1.35 |" in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.004, "0.004"), (0.0999, "0.1"), (1.234, "1.23"), (float("nan"), "–")]
)
def test_minutes_are_never_shown_as_none(value, text):
    assert minutes(value) == text


def test_latex_sets_every_character_as_it_stands():
    assert escape(r"5 % of a_b & {c} \ ~^ ± ×") == (
        r"5 \% of a\_b \& \{c\} \textbackslash{} \textasciitilde{}\textasciicircum{} $\pm$ $\times$"
    )


def test_minutes_figure_draws_timed_experiments_and_the_paper(tmp_path):
    table1_with_baselines("mnist", "mocha").to_csv(tmp_path / "rcca.csv", index=False)
    summary, curve = pd.read_csv(tmp_path / "rcca.csv"), pd.read_csv(GOLDEN / "mnist.curve.csv")
    (axes,) = minutes_figure(summary, curve, PUBLISHED, TITLES, TITLES).axes
    points = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert points["RCCA, Fourier"][0] == pytest.approx([0.185, 36.28], abs=0.01)
    assert points["deep CCA (paper)"] == [[787.38, 39.7]]
    assert points["deep CCA, tuning rows"] == [[0.6, 42.0], [1.3, 47.1]]
    assert points["deep CCA, test"] == [pytest.approx([1.35, 46.98])]
    assert points["exact kernel CCA"] == [[0.1, 31.0], [0.4, 39.4]]


def test_minutes_figure_without_baselines_draws_rcca_and_the_paper():
    summary = table1(read("mnist", "mocha")[0], pd.read_csv(GOLDEN / "timing.csv"))
    curve = pd.DataFrame(columns=EPOCH_COLUMNS)
    (names,) = labels(minutes_figure(summary, curve, PUBLISHED, TITLES, TITLES))
    maps = {"linear CCA", "RCCA, Fourier", "RCCA, Nyström"}
    assert names == maps | {f"{name} (paper)" for name in (*maps, "deep CCA")}


def test_minutes_figure_draws_a_line_where_rcca_was_not_timed():
    summary = with_baselines(table1(read("mnist")[0]), *baselines(), PUBLISHED, TITLES)
    curve = pd.read_csv(GOLDEN / "mnist.curve.csv")
    (axes,) = minutes_figure(summary, curve, PUBLISHED, TITLES, TITLES).axes
    (line,) = (each for each in axes.lines if each.get_label() == "RCCA, Nyström")
    rows = summary[summary["feature_map"] == "nystroem"]
    assert list(line.get_ydata()) == [rows.sort_values("m")["test_mean"].iloc[-1]] * 2


TUNING = pd.DataFrame(
    [
        ("e", "fourier", repeat, reg, 10, tune, test)
        for repeat, reg, tune, test in [
            (0, 1e-8, 1.0, 2.0),
            (0, 1e-2, 1.5, 1.9),
            (1, 1e-8, 3.0, 2.2),
            (1, 1e-2, 2.5, 9.9),
        ]
    ],
    columns=["experiment", "feature_map", "repeat", "reg", "m", "tune_sum", "test_sum"],
)


def test_reg_is_chosen_on_tuning_rows_alone(tmp_path):
    choice = chosen(TUNING, {"e": 1e-8})
    row = choice.iloc[0]
    assert (row["reg_min"], row["reg_max"]) == (1e-8, 1e-2)
    assert (row["tuned_mean"], row["untuned_mean"]) == pytest.approx((2.05, 2.1))
    assert row["gain_mean"] == pytest.approx(-0.05)
    write_tuning_table(tmp_path / "tuning.md", choice, {"e": "E"})
    expected = "| RCCA, Fourier | 10 | 2.10 ± 0.14 | 1e-08 to 0.01 | 2.05 ± 0.21 | -0.05 ± 0.07 |"
    assert expected in (tmp_path / "tuning.md").read_text("utf-8")
    assert labels(tuning_figure(choice, {"e": "E"}))[0] == {
        "RCCA, Fourier, reg fixed",
        "RCCA, Fourier, reg chosen",
    }


def test_variant_is_compared_repeat_by_repeat(tmp_path):
    columns = ["experiment", "feature_map", "m", "repeat", "test_sum"]
    base = [("b", "fourier", 10, 0, 1.0), ("b", "fourier", 10, 1, 5.0), ("b", "fourier", 20, 0, 7)]
    variant = [("v", "fourier", 10, 1, 5.5), ("v", "fourier", 10, 0, 1.5)]
    compared = beside_base(pd.DataFrame(base + variant, columns=columns), {"v": "b"})
    write_variants_table(tmp_path / "v.md", compared, {"v": "V", "b": "B"})
    text = (tmp_path / "v.md").read_text("utf-8")
    assert "| V | RCCA, Fourier | 10 | 3.50 ± 2.83 | +0.50 ± 0.00 |" in text


def test_paper_stands_beside_its_own_dataset_and_number_of_components_only():
    summary = beside_published(rcca_summary(read(*TITLES)[0]), PUBLISHED, TITLES)
    published = summary.dropna(subset="paper")
    assert set(published["experiment"]) == {"mnist"}
    assert published["difference"].tolist() == pytest.approx([0.2, -0.03, 0.62])


def test_paper_stands_beside_no_protocol_of_ours():
    summary = rcca_summary(read("mnist")[0])
    assert beside_published(summary, PUBLISHED, ["xrmb"])["paper"].isna().all()
    assert not any(
        "paper" in label for label in labels(rcca_figure(summary, PUBLISHED, ["xrmb"], TITLES))[0]
    )


def test_row_counts_that_differ_between_repeats_are_a_range(tmp_path):
    sums, _ = read("mnist")
    sums.loc[sums["repeat"] == 1, ["n_train", "n_test"]] = [53990, 10007]
    summary = table1(sums, experiments=[])
    write_markdown(tmp_path / "rcca.md", summary, {}, {"mnist": "MNIST"})
    text = (tmp_path / "rcca.md").read_text("utf-8")
    assert "(53990 to 54000 training rows, 10000 to 10007 test rows, 2 repeats)" in text


def test_figure_draws_the_paper_beside_its_own_dataset_only():
    figure = rcca_figure(rcca_summary(read("mnist", "mocha")[0]), PUBLISHED, TITLES, TITLES)
    mnist, mocha = labels(figure)
    assert mocha == {"linear CCA", "RCCA, Nyström"}
    assert mnist - mocha == {
        "RCCA, Fourier",
        "RCCA, Fourier (paper)",
        "RCCA, Nyström (paper)",
        "linear CCA (paper)",
        "deep CCA (paper)",
    }
    (lines,) = (
        line for line in figure.axes[0].lines if line.get_label() == "RCCA, Fourier (paper)"
    )
    assert lines.get_ydata()[0] == 36.31
    assert lines.get_markerfacecolor() == "white"


def test_figure_draws_deep_cca_as_a_line_where_it_was_trained(tmp_path):
    table1_with_baselines("mnist", "mocha").to_csv(tmp_path / "rcca.csv", index=False)
    figure = rcca_figure(pd.read_csv(tmp_path / "rcca.csv"), PUBLISHED, TITLES, TITLES)
    mnist, mocha = labels(figure)
    assert "deep CCA" in mnist
    assert "deep CCA" not in mocha
    (line,) = (each for each in figure.axes[0].lines if each.get_label() == "deep CCA")
    assert list(line.get_ydata()) == pytest.approx([46.98, 46.98])


@pytest.mark.parametrize("names", [("xrmb",), ("mnist", "mocha", "few")])
def test_figure_is_the_same_every_time(tmp_path, names):
    one, other = (
        svg_of(rcca_figure(rcca_summary(read(*names)[0]), PUBLISHED, TITLES, TITLES), tmp_path)
        for _ in range(2)
    )
    assert one == other


def test_table_without_any_experiment_run_says_why(tmp_path):
    sums, not_run = read("xrmb")
    summary = table1(sums)
    write_markdown(tmp_path / "rcca.md", summary, not_run, {"xrmb": "XRMB"})
    text = (tmp_path / "rcca.md").read_text("utf-8")
    assert text == "**XRMB**: not run, could not fetch xrmb.1; the log tells more\n"


def test_leak_table_is_the_golden_one(tmp_path):
    write_leaks_table(tmp_path / "leaks.md", pd.read_csv(GOLDEN / "leaks.csv"), TITLES)
    assert (tmp_path / "leaks.md").read_text("utf-8") == (GOLDEN / "leaks.md").read_text("utf-8")


def test_summary_tells_of_leaks_that_matter():
    assert leak_lines(pd.read_csv(GOLDEN / "leaks.csv"), TITLES) == [
        "MOCHA: 1 of 10000 test rows also stand among the training rows",
        "MOCHA: 9607 of 10000 test rows share a frame with training rows",
    ]
