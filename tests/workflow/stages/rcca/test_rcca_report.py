"""Tables and figure of the rcca stage, made from fixed CSVs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import svg_of
from workflow.data.audit import leak_lines
from workflow.lib.claims import judge, read_claims
from workflow.lib.outcomes import split_outcomes
from workflow.lib.published import beside_published
from workflow.lib.tables import minutes
from workflow.stages.rcca.baselines_tables import DEEP_COLUMNS, EPOCH_COLUMNS, KERNEL_COLUMNS
from workflow.stages.rcca.figures import (
    cv_figure,
    minutes_figure,
    rcca_figure,
    regs_figure,
    speakers_figure,
)
from workflow.stages.rcca.series import (
    by_speaker,
    floor_blocks,
    floor_rows,
    over_speakers,
    series_blocks,
)
from workflow.stages.rcca.table1 import (
    SUMS_COLUMNS,
    TIMING_COLUMNS,
    escape,
    experiment_blocks,
    minutes_blocks,
    rcca_summary,
    with_baselines,
    with_leaks,
    with_minutes,
    write_latex,
    write_markdown,
)
from workflow.stages.rcca.tables import (
    beside_base,
    by_reg,
    chosen,
    chosen_blocks,
    chosen_pairs,
    reg_blocks,
    variant_blocks,
    write_leaks_table,
)

GOLDEN = Path(__file__).parent / "golden"
PUBLISHED = pd.read_csv(Path(__file__).parents[4] / "resources" / "paper" / "table1_rcca.csv")
TITLES = {"mnist": "MNIST", "xrmb": "XRMB", "speech": "speech", "few": "MNIST, top 10"}


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
    blocks = experiment_blocks(table1_with_baselines(*TITLES), read(*TITLES)[1], TITLES)
    write(tmp_path / name, blocks)
    assert (tmp_path / name).read_text("utf-8") == (GOLDEN / name).read_text("utf-8")


def test_speed_up_is_of_one_core_over_one_core():
    summary = table1(read("mnist")[0], pd.read_csv(GOLDEN / "timing.csv"))
    row = summary[(summary["feature_map"] == "fourier") & (summary["m"] == 1000)].iloc[0]
    assert (row["minutes"], row["minutes_one_core"]) == pytest.approx((0.1, 0.185))
    assert row["speed_up"] == pytest.approx(5.55 / 0.185)


def test_baselines_follow_the_rows_of_their_experiment():
    summary = table1_with_baselines("mnist", "speech")
    assert summary["experiment"].tolist() == ["mnist"] * 7 + ["speech"] * 2
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
    summary = table1(read("speech")[0])
    joined = with_baselines(summary, *baselines(), PUBLISHED, TITLES)
    assert set(joined["experiment"]) == {"speech"}
    assert joined["method"].tolist() == summary["method"].tolist()


def test_table_without_baselines_is_as_it_was():
    summary = table1(read("mnist")[0])
    nothing = [pd.DataFrame(columns=each) for each in (DEEP_COLUMNS, KERNEL_COLUMNS)]
    assert with_baselines(summary, *nothing, PUBLISHED, TITLES) is summary


def test_minutes_have_a_table_of_their_own():
    (block,) = minutes_blocks(table1_with_baselines("mnist", "speech"), TITLES)
    paper = ["paper, 1 core of its machine", "ratio"]
    assert block.header == ["method", "m", "1 core", "2 cores", *paper]
    assert ["RCCA, Fourier", "1000", "0.18", "0.10", "5.55", "30×"] in block.cells
    assert ["deep CCA, n = 54000", "–", "1.35", "–", "787.38", "583×"] in block.cells
    untimed = with_baselines(table1(read("mnist")[0]), *baselines(), PUBLISHED, TITLES)
    assert minutes_blocks(untimed, TITLES) == []


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
    table1_with_baselines("mnist", "speech").to_csv(tmp_path / "rcca.csv", index=False)
    summary, curve = pd.read_csv(tmp_path / "rcca.csv"), pd.read_csv(GOLDEN / "mnist.curve.csv")
    (axes,) = minutes_figure(summary, curve, PUBLISHED, TITLES, TITLES).axes
    points = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert points["RCCA, Fourier"][0] == pytest.approx([0.185, 36.28], abs=0.01)
    assert points["deep CCA (paper)"] == [[787.38, 39.7]]
    assert points["deep CCA, tuning rows"] == [[0.6, 42.0], [1.3, 47.1]]
    assert points["deep CCA, test"] == [pytest.approx([1.35, 46.98])]
    assert points["exact kernel CCA"] == [[0.1, 31.0], [0.4, 39.4]]


def test_minutes_figure_without_baselines_draws_rcca_and_the_paper():
    summary = table1(read("mnist", "speech")[0], pd.read_csv(GOLDEN / "timing.csv"))
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


def cross_validated(*rows):
    columns = ["experiment", "feature_map", "m", "repeat", "reg", "cv_sum", "test_sum"]
    return pd.DataFrame(rows, columns=columns).assign(predicted_error=1e-9)


CV = cross_validated(
    ("e", "fourier", 10, 0, 1e-8, 1.0, 2.0),
    ("e", "fourier", 10, 0, 1e-4, 1.2, 2.1),
    ("e", "fourier", 10, 0, 1e-2, 1.5, 1.9),
    ("e", "fourier", 10, 1, 1e-8, 2.0, 2.2),
    ("e", "fourier", 10, 1, 1e-4, 3.0, 2.4),
    ("e", "fourier", 10, 1, 1e-2, 2.5, 9.9),
)


def test_reg_is_chosen_on_training_rows_alone():
    choice = chosen(chosen_pairs(CV, {"e": 1e-8}), {})
    row = choice.iloc[0]
    assert (row["reg_min"], row["reg_max"], row["repeats"]) == (1e-4, 1e-2, 2)
    assert (row["chosen_mean"], row["fixed_mean"]) == pytest.approx((2.15, 2.1))
    assert (row["gain_mean"], row["on_edge"]) == (pytest.approx(0.05), True)
    (block,) = chosen_blocks(choice, {"e": "E"})
    cells = ["RCCA, Fourier", "10", "2.10 ± 0.14", "0.0001 to 0.01 (largest tried)"]
    assert block.cells == [[*cells, "2.15 ± 0.35", "+0.05 ± 0.21"]]
    figure = cv_figure(choice, {"e": "E"})
    assert labels(figure) == [{"RCCA, Fourier"}]
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx(choice["gain_mean"].to_numpy())


@pytest.mark.parametrize(
    ("best", "error", "note"),
    [(1e-8, 1e-9, "least tried"), (1e-2, 1e-9, "largest tried"), (1e-4, 1e-9, ""),
     (1e-4, 2e-3, "numerical floor"), (1e-8, 2e-3, "numerical floor")],
)  # fmt: skip
def test_choice_at_an_edge_or_at_the_numerical_floor_says_so(best, error, note):
    cv = CV[CV["repeat"] == 0].assign(predicted_error=error)
    cv["cv_sum"] = (cv["reg"] == best).astype(float)
    assert chosen_pairs(cv, {"e": 1e-8})["note"].tolist() == [note]


def test_reg_without_a_solution_is_not_chosen():
    cv = CV[CV["repeat"] == 0].copy()
    cv.loc[cv["reg"] == 1e-2, "test_sum"] = np.nan
    assert chosen_pairs(cv, {"e": 1e-8})["reg"].tolist() == [1e-4]


SERIES = {
    f"{speaker}-{protocol}": {"name": "z", "title": "Z", "paper": "xrmb", "protocol": protocol}
    for speaker in ("a", "b", "c")
    for protocol in ("frames", "utterances")
}


def speech_sums():
    """Speakers a, b, c: 60, 62, 64 on frames; 40, 40, 43 on utterances, in two repeats ± 1."""
    test = {"frames": (60.0, 62.0, 64.0), "utterances": (40.0, 40.0, 43.0)}
    rows = [
        {
            "experiment": f"{speaker}-{protocol}", "dataset": f"xrmb-{speaker}", "reg": 1e-8,
            "feature_map": kind, "repeat": repeat, "m": 1000 if kind == "fourier" else 273,
            "train_sum": 90.0, "test_sum": value + shift, "test_sum_signed": value,
            "floor_sum": 2.0, "components": 112, "n_train": 20_000, "n_test": 5_000,
        }
        for protocol, values in test.items()
        for speaker, value in zip("abc", values, strict=True)
        for repeat, shift in ((0, -1.0), (1, 1.0))
        for kind in ("linear", "fourier")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def speech_series(cv=CV[:0]):
    leaks = pd.DataFrame(
        [(name, "test", "shared frame", float(name.endswith("frames"))) for name in SERIES],
        columns=["experiment", "part", "kind", "share"],
    )
    summary = beside_published(rcca_summary(speech_sums()), PUBLISHED, [])
    summary = with_leaks(summary, leaks, SERIES)
    pairs = chosen_pairs(cv, dict.fromkeys(SERIES, 1e-8))
    return summary, over_speakers(by_speaker(summary, pairs), SERIES, PUBLISHED), pairs


def test_series_is_averaged_over_speakers_not_over_repeats():
    _, over, _ = speech_series()
    fourier = over[over["feature_map"] == "fourier"].set_index("protocol")
    assert fourier["test_mean"].to_dict() == pytest.approx({"frames": 62.0, "utterances": 41.0})
    assert fourier["test_sd"].to_dict() == pytest.approx({"frames": 2.0, "utterances": np.sqrt(3)})
    assert fourier["leaked"].to_dict() == {"frames": 1.0, "utterances": 0.0}
    # Student's t of two degrees of freedom, of one more speaker beside three.
    assert fourier.loc["frames", "high"] == pytest.approx(62 + 4.30265 * 2 * np.sqrt(4 / 3))
    assert fourier.loc["frames", "difference"] == pytest.approx(62 - 68.79)
    assert np.isnan(fourier.loc["utterances", "paper"])


def test_series_table_sets_frames_beside_utterances_and_the_paper():
    _, over, _ = speech_series()
    (block,) = series_blocks(over, SERIES, {})
    assert len(block.header) == 7
    assert "standard deviation over 3 datasets (20000 training rows)" in block.text
    assert block.cells[1] == [
        "RCCA, Fourier", "1000", "62.00 ± 2.00", "41.00 ± 1.73", "68.79", "-6.79", "52.1 to 71.9",
    ]  # fmt: skip


def test_series_of_one_dataset_has_no_interval_and_one_not_run_says_why():
    summary, _, pairs = speech_series()
    one = by_speaker(summary[summary["dataset"] == "xrmb-a"], pairs)
    over = over_speakers(one, SERIES, PUBLISHED)
    assert over[["test_sd", "low", "high"]].isna().all(axis=None)
    (block,) = series_blocks(over[:0], SERIES, dict.fromkeys(SERIES, "gone"))
    assert (block.text, block.cells) == ("not run, gone", ())


def test_signed_sum_floor_and_leak_stand_beside_a_sum():
    summary, over, _ = speech_series()
    (block,) = floor_blocks(floor_rows(summary, over, SERIES, {}))
    expected = ["Z, random frames", "RCCA, Fourier", "1000", "62.00", "62.00", "2.00", "100.0%"]
    assert expected in block.cells


def test_chosen_reg_of_a_series_is_paired_by_speaker():
    rows = [
        (f"{speaker}-utterances", "fourier", 1000, repeat, reg, cv, 40.0 + repeat + gain)
        for speaker, gained in zip("abc", (5.0, 6.0, 7.0), strict=True)
        for repeat in (0, 1)
        for reg, cv, gain in ((1e-8, 1.0, 0.0), (1e-3, 2.0, gained), (1e-2, 0.5, 99.0))
    ]
    _, over, pairs = speech_series(cross_validated(*rows))
    row = chosen(pairs, SERIES).iloc[0]
    assert (row["experiment"], row["protocol"], row["repeats"]) == ("z", "utterances", 3)
    assert (row["gain_mean"], row["gain_sd"]) == pytest.approx((6.0, 1.0))
    (at_chosen,) = over[over["reg"] == "chosen"].to_dict("records")
    assert at_chosen["test_mean"] == pytest.approx(46.5)


def test_ledger_pairs_speakers_and_leaves_the_level_open(tmp_path):
    series = {name: {**of, "name": "xrmb-z-scored"} for name, of in SERIES.items()}
    sums = speech_sums()
    sums.loc[sums["feature_map"] == "linear", "test_sum"] /= 4
    larger = sums[sums["feature_map"] == "fourier"].assign(m=2000, test_sum=sums["test_sum"] + 8)
    larger.loc[larger["experiment"].str.endswith("utterances"), "test_sum"] -= 16
    sums = pd.concat([sums, larger])
    leaks = pd.DataFrame(columns=["experiment", "part", "kind", "share"])
    summary = with_leaks(beside_published(rcca_summary(sums), PUBLISHED, []), leaks, series)
    speakers = by_speaker(summary, chosen_pairs(CV[:0], {}))
    (tmp_path / "tables").mkdir()
    speakers.to_csv(tmp_path / "tables" / "rcca_speakers.csv", index=False)
    over = over_speakers(speakers, series, PUBLISHED)
    over.to_csv(tmp_path / "tables" / "rcca_series.csv", index=False)
    claims = read_claims(Path(__file__).parents[4] / "resources" / "paper" / "claims.yaml")
    found = {each.claim["id"]: each for each in judge(claims, tmp_path, pd.read_csv)}
    levels = {each.about: each.holds for each in found["rcca-level-xrmb-speakers"].findings}
    about = "the sum of one more speaker minus the paper's, xrmb-z-scored, fourier, m = 1000"
    assert levels[about] is None
    assert found["rcca-beats-linear-xrmb-speakers"].verdict == "reproduced"
    assert found["rcca-grows-with-m-xrmb-speakers"].verdict == "reproduced"
    assert found["rcca-grows-with-m-utterances"].verdict == "not reproduced"
    assert found["rcca-grows-with-m-utterances"].findings[0].rows == 3
    assert found["rcca-grows-with-m-utterances-chosen"].verdict == "not run"


def test_series_has_a_panel_with_both_protocols_and_the_paper():
    _, over, _ = speech_series()
    (found,) = labels(speakers_figure(over, {"z": "Z"}))
    fourier = {f"RCCA, Fourier{rest}" for rest in ("", ", utterances held out", " (paper)")}
    assert found == {*fourier, "linear CCA", "linear CCA (paper)"}


def test_other_regs_stand_beside_the_fixed_one_and_the_paper():
    sums = read("mnist", "speech")[0]
    sums = sums[sums["m"] != 500]
    regs = sums[sums["experiment"] == "mnist"].assign(reg=1e-6, test_sum=sums["test_sum"] - 0.6)
    found = by_reg(sums, regs, PUBLISHED, TITLES)
    (block,) = reg_blocks(found, TITLES)
    assert block.header[3:] == ["reg = 1e-06", "reg = 1e-08"]
    assert block.cells[-1] == [
        "RCCA, Nyström", "1000", "41.68", "41.70 ± 0.14 (+0.02)", "42.30 ± 0.14 (+0.62)",
    ]  # fmt: skip
    assert labels(regs_figure(found, TITLES))[0] == {"reg = 1e-06", "reg = 1e-08"}


def test_variant_is_compared_repeat_by_repeat():
    columns = ["experiment", "feature_map", "m", "repeat", "test_sum"]
    base = [("b", "fourier", 10, 0, 1.0), ("b", "fourier", 10, 1, 5.0), ("b", "fourier", 20, 0, 7)]
    variant = [("v", "fourier", 10, 1, 5.5), ("v", "fourier", 10, 0, 1.5)]
    compared = beside_base(pd.DataFrame(base + variant, columns=columns), {"v": "b"})
    (block,) = variant_blocks(compared, {"v": "V", "b": "B"})
    assert block.cells == [["V", "RCCA, Fourier", "10", "3.50 ± 2.83", "+0.50 ± 0.00"]]


def test_paper_stands_beside_its_own_dataset_and_number_of_components_only():
    summary = beside_published(rcca_summary(read(*TITLES)[0]), PUBLISHED, TITLES)
    published = summary.dropna(subset="paper")
    assert set(published["experiment"]) == {"mnist"}
    assert published["difference"].tolist() == pytest.approx([0.2, -0.03, 0.62])


def test_paper_stands_beside_no_protocol_of_ours():
    summary = beside_published(rcca_summary(read("mnist")[0]), PUBLISHED, ["xrmb"])
    assert summary["paper"].isna().all()
    (found,) = labels(rcca_figure(summary, PUBLISHED, ["xrmb"], TITLES))
    assert not any("paper" in label for label in found)


def test_row_counts_that_differ_between_repeats_are_a_range():
    sums, _ = read("mnist")
    sums.loc[sums["repeat"] == 1, ["n_train", "n_test"]] = [53990, 10007]
    summary = table1(sums, experiments=[])
    (block,) = experiment_blocks(summary, {}, {"mnist": "MNIST"})
    assert "(53990 to 54000 training rows, 10000 to 10007 test rows, 2 repeats)" in block.text


def test_figure_draws_the_paper_beside_its_own_dataset_only():
    summary = beside_published(rcca_summary(read("mnist", "speech")[0]), PUBLISHED, TITLES)
    figure = rcca_figure(summary, PUBLISHED, TITLES, TITLES)
    mnist, speech, strip, blank = labels(figure)
    assert strip == blank == set()
    fourier = summary[summary["feature_map"] == "fourier"].dropna(subset="difference")
    assert figure.axes[2].lines[1].get_ydata() == pytest.approx(fourier["difference"].to_numpy())
    assert not figure.axes[3].axison
    assert speech == {"linear CCA", "RCCA, Nyström"}
    assert mnist - speech == {
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
    table1_with_baselines("mnist", "speech").to_csv(tmp_path / "rcca.csv", index=False)
    figure = rcca_figure(pd.read_csv(tmp_path / "rcca.csv"), PUBLISHED, TITLES, TITLES)
    mnist, speech, *_ = labels(figure)
    assert "deep CCA" in mnist
    assert "deep CCA" not in speech
    (line,) = (each for each in figure.axes[0].lines if each.get_label() == "deep CCA")
    assert list(line.get_ydata()) == pytest.approx([46.98, 46.98])


@pytest.mark.parametrize("names", [("xrmb",), ("mnist", "speech", "few")])
def test_figure_is_the_same_every_time(tmp_path, names):
    one, other = (
        svg_of(
            rcca_figure(table1(read(*names)[0]), PUBLISHED, TITLES, TITLES),
            tmp_path,
        )
        for _ in range(2)
    )
    assert one == other


def test_table_without_any_experiment_run_says_why(tmp_path):
    sums, not_run = read("xrmb")
    summary = table1(sums)
    write_markdown(tmp_path / "rcca.md", experiment_blocks(summary, not_run, {"xrmb": "XRMB"}))
    text = (tmp_path / "rcca.md").read_text("utf-8")
    assert text == "**XRMB**: not run, could not fetch xrmb.1; the log tells more\n"


def test_leak_table_is_the_golden_one(tmp_path):
    write_leaks_table(tmp_path / "leaks.md", pd.read_csv(GOLDEN / "leaks.csv"), TITLES)
    assert (tmp_path / "leaks.md").read_text("utf-8") == (GOLDEN / "leaks.md").read_text("utf-8")


def test_summary_tells_of_leaks_that_matter():
    assert leak_lines(pd.read_csv(GOLDEN / "leaks.csv"), TITLES) == [
        "speech: 1 of 10000 test rows also stand among the training rows",
        "speech: 9607 of 10000 test rows share a frame with training rows",
    ]
