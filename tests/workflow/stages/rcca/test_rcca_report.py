"""Tables and figures of the rcca stage, made from fixed CSVs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import svg_of
from workflow.data.audit import leak_lines
from workflow.lib.claims import judge, ledger, read_claims
from workflow.lib.outcomes import split_outcomes
from workflow.lib.tables import minutes
from workflow.stages.rcca import baselines_tables, figures, tables
from workflow.stages.rcca import table1 as t1

GOLDEN = Path(__file__).parent / "golden"
PAPER = Path(__file__).parents[4] / "resources" / "paper"
PUBLISHED = pd.read_csv(PAPER / "table1_rcca.csv")
TITLES = {"mnist": "MNIST", "xrmb": "XRMB", "speech": "speech", "few": "MNIST, top 10"}


def golden(name):
    return pd.read_csv(GOLDEN / f"{name}.csv")


def frame(columns, *rows, **same):
    return pd.DataFrame(rows, columns=columns.split()).assign(**same)


SUMS = golden("sums")
TIMING = frame(
    "feature_map m threads seconds",
    ("linear", 392, 1, 2.4),
    ("linear", 392, 2, 1.8),
    ("fourier", 1000, 1, 11.1),
    ("fourier", 1000, 2, 6.0),
    ("nystroem", 1000, 1, 12.0),
    ("nystroem", 1000, 2, 6.6),
    experiment="mnist",
)
FITS = baselines_tables.baseline_fits(golden("mnist.dcca"), golden("mnist.kcca"))
CURVE = frame(
    "method repeat epoch cpu_minutes tune_sum",
    ("dcca", 0, 1, 0.6, 38.0),
    ("dcca", 0, 2, 1.3, 47.1),
    ("dcca", 1, 1, 0.65, 41.9),
    ("dcca2013", 0, 1, 5.0, 38.0),
    experiment="mnist",
)


def read(*names):
    return split_outcomes(SUMS[SUMS["experiment"].isin(names)], t1.SUMS_COLUMNS)


def table1(*names, timings=TIMING[:0], fits=FITS[:0], experiments=TITLES, sums=None):
    sums = read(*names)[0] if sums is None else sums
    summary = t1.with_baselines(t1.with_minutes(t1.rcca_summary(sums), timings), fits)
    return t1.with_paper(summary, PUBLISHED, experiments)


def full_table1(*names):
    return table1(*names, timings=TIMING, fits=FITS)


def figure_of(summary, experiments=TITLES, regs=None):
    regs = frame("experiment reg") if regs is None else regs
    return figures.rcca_figure(summary, regs, PUBLISHED, experiments, TITLES)


def lines_of(axes):
    """Return the points of each line that has a name."""
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    lines = {name: getattr(each, "lines", [each])[0] for name, each in named.items()}
    return {name: np.asarray(line.get_xydata()).tolist() for name, line in lines.items()}


def test_table_is_the_golden_one(tmp_path):
    blocks = t1.experiment_blocks(full_table1(*TITLES), read(*TITLES)[1], TITLES)
    for name, write in {"rcca.md": tables.write_markdown, "rcca.tex": tables.write_latex}.items():
        write(tmp_path / name, blocks)
        assert (tmp_path / name).read_text("utf-8") == (GOLDEN / name).read_text("utf-8")


def test_latex_sets_every_character_as_it_stands():
    assert tables.escape(r"5 % of a_b & {c} \ ~^ ± ×") == (
        r"5 \% of a\_b \& \{c\} \textbackslash{} \textasciitilde{}\textasciicircum{} $\pm$ $\times$"
    )


def test_row_counts_that_differ_between_repeats_are_a_range():
    sums, _ = read("mnist")
    sums.loc[sums["repeat"] == 1, ["n_train", "n_test"]] = [53990, 10007]
    (block,) = t1.experiment_blocks(table1(sums=sums, experiments=[]), {}, {"mnist": "MNIST"})
    assert "(53990 to 54000 training rows, 10000 to 10007 test rows, 2 repeats)" in block.text


def test_baselines_follow_the_rows_of_their_experiment_which_stay_as_they_are():
    summary = full_table1("mnist", "speech")
    assert summary["experiment"].tolist() == ["mnist"] * 7 + ["speech"] * 2
    deep, few, many = summary[summary["feature_map"].isna()].to_dict("records")
    assert (few["n_train_max"], many["n_train_max"]) == (1000, 4000)
    assert (deep["test_mean"], deep["repeats"]) == (pytest.approx(46.98), 2)
    assert deep["test_sd"] == pytest.approx(0.06 / np.sqrt(2))
    assert deep["difference"] == pytest.approx(46.98 - 39.7)
    assert deep["speed_up"] == pytest.approx(787.38 / 1.35)
    assert np.isnan([deep["train_mean"], many["test_sd"], many["paper"]]).all()
    alone = table1("mnist", timings=TIMING)
    ours = full_table1("mnist").dropna(subset="feature_map").astype(alone.dtypes.to_dict())
    pd.testing.assert_frame_equal(ours, alone)
    # Nor are there rows of an experiment that RCCA was not run in.
    assert set(full_table1("speech")["experiment"]) == {"speech"}


def test_minutes_have_a_table_of_their_own():
    summary = full_table1("mnist", "speech")
    (block,) = t1.minutes_blocks(summary, TITLES)
    paper = ["paper, 1 core of its machine", "ratio"]
    assert block.header == ["method", "m", "1 core", "2 cores", *paper]
    # The ratio is that of one core to one core.
    assert ["RCCA, Fourier", "1000", "0.18", "0.10", "5.55", "30×"] in block.cells
    assert ["deep CCA, n = 54000", "–", "1.35", "–", "787.38", "583×"] in block.cells
    assert t1.minutes_blocks(table1("mnist", fits=FITS), TITLES) == []
    shown = {0.004: "0.004", 0.0999: "0.1", 1.234: "1.23", np.nan: "–"}
    assert [minutes(value) for value in shown] == list(shown.values())


def test_minutes_figure_draws_timed_experiments_and_the_paper():
    summary = full_table1("mnist", "speech")
    (axes,) = figures.minutes_figure(summary, CURVE, PUBLISHED, TITLES, TITLES).axes
    points = lines_of(axes)
    assert points["RCCA, Fourier"][0] == pytest.approx([0.185, 36.28], abs=0.01)
    assert points["deep CCA (paper)"] == [[787.38, 39.7]]
    assert points["deep CCA, tuning rows"] == [[0.6, 38.0], [1.3, 47.1]]
    assert points["deep CCA, test rows"] == [pytest.approx([1.35, 46.98])]
    assert points["exact kernel CCA"] == [[0.1, 31.0], [0.4, 39.4]]
    alone = table1("mnist", "speech", timings=TIMING)
    (axes,) = figures.minutes_figure(alone, CURVE[:0], PUBLISHED, TITLES, TITLES).axes
    maps = {"linear CCA", "RCCA, Fourier", "RCCA, Nyström"}
    assert set(lines_of(axes)) == maps | {f"{name} (paper)" for name in (*maps, "deep CCA")}


@pytest.mark.parametrize("names", [("xrmb",), ("mnist", "speech", "few")])
def test_figure_is_the_same_every_time(tmp_path, names):
    one, other = (svg_of(figure_of(table1(*names)), tmp_path) for _ in range(2))
    assert one == other


def test_figure_draws_the_paper_and_deep_cca_where_they_are():
    summary = full_table1("mnist", "speech")
    axes, strip, other = figure_of(summary).axes
    mnist, speech = lines_of(axes), lines_of(other)
    assert speech.keys() == {"linear CCA", "RCCA, Nyström"}
    assert mnist.keys() - speech.keys() == {
        "RCCA, Fourier", "RCCA, Fourier (paper)", "RCCA, Nyström (paper)", "linear CCA (paper)",
        "deep CCA", "deep CCA (paper)",
    }  # fmt: skip
    assert [y for _, y in mnist["deep CCA"]] == pytest.approx([46.98, 46.98])
    assert mnist["RCCA, Fourier (paper)"][0] == [1000, 36.31]
    (hollow,) = (each for each in axes.lines if each.get_label() == "RCCA, Fourier (paper)")
    assert hollow.get_markerfacecolor() == "white"
    fourier = summary[summary["feature_map"] == "fourier"].dropna(subset="difference")
    assert strip.lines[1].get_ydata() == pytest.approx(fourier["difference"].to_numpy())


def test_paper_stands_beside_its_own_protocol_dataset_and_number_of_components_only():
    published = table1(*TITLES).dropna(subset="paper")
    assert set(published["experiment"]) == {"mnist"}
    assert published["difference"].tolist() == pytest.approx([0.2, -0.03, 0.62])
    summary = table1("mnist", experiments=["xrmb"])
    assert summary["paper"].isna().all()
    (axes,) = figure_of(summary, ["xrmb"]).axes
    assert not any("paper" in name for name in lines_of(axes))
    # A single panel names its lines at their ends, from below in the order of the ends.
    names = [text.get_text() for text in axes.texts]
    assert names == sorted(lines_of(axes), key=lambda name: lines_of(axes)[name][-1][1])
    heights = [text.xy[1] for text in axes.texts]
    assert heights == sorted(heights)


def test_other_regs_stand_beside_the_fixed_one_and_the_paper():
    sums = read("mnist", "speech")[0]
    sums = sums[sums["m"] != 500]
    regs = sums[sums["experiment"] == "mnist"].assign(reg=1e-6, test_sum=sums["test_sum"] - 0.6)
    found = t1.by_reg(sums, regs, PUBLISHED, TITLES)
    (block,) = t1.reg_blocks(found, TITLES)
    assert block.header[3:] == ["reg = 1e-06", "reg = 1e-08"]
    assert block.cells[-1] == [
        "RCCA, Nyström", "1000", "41.68", "41.70 ± 0.14 (+0.02)", "42.30 ± 0.14 (+0.62)",
    ]  # fmt: skip
    figure = figure_of(table1("mnist"), regs=found[found["reg"] == 1e-6])
    assert lines_of(figure.axes[1])["RCCA, Nyström, reg 1e-06"] == [[1000, pytest.approx(0.02)]]


def test_variant_is_compared_repeat_by_repeat():
    columns = "experiment feature_map m repeat test_sum"
    base = [("b", "fourier", 10, 0, 1.0), ("b", "fourier", 10, 1, 5.0), ("b", "fourier", 20, 0, 7)]
    variant = [("v", "fourier", 10, 1, 5.5), ("v", "fourier", 10, 0, 1.5)]
    compared = tables.beside_base(frame(columns, *base, *variant), {"v": "b"})
    (block,) = tables.variant_blocks(compared, {"v": "V", "b": "B"})
    assert block.cells == [["V", "RCCA, Fourier", "10", "3.50 ± 2.83", "+0.50 ± 0.00"]]


def test_leaks_are_counted_by_kind_and_said():
    leaks = frame(
        "experiment part kind rows of share",
        ("mnist", "test", "duplicate in x", 3, 10000, 0.0003),
        ("speech", "tune", "duplicate in both", 0, 0, 0.0),
        ("speech", "test", "duplicate in both", 1, 10000, 0.0001),
        ("speech", "test", "shared frame", 9607, 10000, 0.9607),
    )
    (block,) = tables.leak_blocks(leaks, TITLES)
    assert block.header[3:] == [
        "duplicate in x", "duplicate in y", "duplicate in both", "shared frame",
    ]  # fmt: skip
    assert block.cells == [
        ["MNIST", "test", "10000", "3 (0.0%)", "–", "–", "–"],
        ["speech", "test", "10000", "–", "–", "1 (0.0%)", "9607 (96.1%)"],
    ]
    assert leak_lines(leaks, TITLES) == [
        "speech: 1 of 10000 test rows also stand among the training rows",
        "speech: 9607 of 10000 test rows share a frame with training rows",
    ]


CV_COLUMNS = "experiment feature_map m repeat reg cv_sum test_sum"
CV = frame(
    CV_COLUMNS,
    ("e", "fourier", 10, 0, 1e-8, 1.0, 2.0),
    ("e", "fourier", 10, 0, 1e-4, 1.2, 2.1),
    ("e", "fourier", 10, 0, 1e-2, 1.5, 1.9),
    ("e", "fourier", 10, 1, 1e-8, 2.0, 2.2),
    ("e", "fourier", 10, 1, 1e-4, 3.0, 2.4),
    ("e", "fourier", 10, 1, 1e-2, 2.5, 9.9),
    predicted_error=1e-9,
)


def test_reg_is_chosen_on_training_rows_alone():
    choice = tables.chosen(tables.chosen_pairs(CV, {"e": 1e-8}), {})
    assert choice["on_edge"].tolist() == [True]
    (block,) = tables.chosen_blocks(choice, {"e": "E"})
    cells = ["RCCA, Fourier", "10", "2.10 ± 0.14", "0.0001 to 0.01 (largest tried)"]
    assert (block.text, block.cells) == ("2 repeats", [[*cells, "2.15 ± 0.35", "+0.05 ± 0.21"]])
    (axes,) = figures.cv_figure(choice, {"e": "E"}).axes
    assert lines_of(axes) == {"RCCA, Fourier": [[10, pytest.approx(0.05)]]}


@pytest.mark.parametrize(
    ("best", "error", "note"),
    [(1e-8, 1e-9, "least tried"), (1e-2, 1e-9, "largest tried"), (1e-4, 1e-9, ""),
     (1e-4, 2e-3, "numerical floor"), (1e-8, 2e-3, "numerical floor")],
)  # fmt: skip
def test_choice_at_an_edge_or_at_the_numerical_floor_says_so(best, error, note):
    cv = CV[CV["repeat"] == 0].assign(predicted_error=error)
    cv["cv_sum"] = (cv["reg"] == best).astype(float)
    assert tables.chosen_pairs(cv, {"e": 1e-8})["note"].tolist() == [note]


def test_reg_without_a_solution_is_not_chosen():
    cv = CV[CV["repeat"] == 0].copy()
    cv.loc[cv["reg"] == 1e-2, "test_sum"] = np.nan
    assert tables.chosen_pairs(cv, {"e": 1e-8})["reg"].tolist() == [1e-4]


SERIES = {
    f"{speaker}-{protocol}": {"name": "z", "title": "Z", "paper": "xrmb", "protocol": protocol}
    for speaker in ("a", "b", "c")
    for protocol in ("frames", "utterances")
}


def speech_sums():
    """Speakers a, b, c: 60, 62, 64 on frames; 40, 40, 43 on utterances, in two repeats ± 1."""
    test = {"frames": (60.0, 62.0, 64.0), "utterances": (40.0, 40.0, 43.0)}
    rows = [
        (f"{speaker}-{protocol}", f"xrmb-{speaker}", kind, repeat, m, value + shift, value)
        for protocol, values in test.items()
        for speaker, value in zip("abc", values, strict=True)
        for repeat, shift in ((0, -1.0), (1, 1.0))
        for kind, m in (("linear", 273), ("fourier", 1000))
    ]
    columns = "experiment dataset feature_map repeat m test_sum test_sum_signed"
    same = {"train_sum": 90.0, "floor_sum": 2.0, "components": 112, "reg": 1e-8}
    return frame(columns, *rows, **same, n_train=20_000, n_test=5_000)


def speech_series(cv=CV[:0], sums=None, of=SERIES):
    leaks = [(name, "test", "shared frame", float(name.endswith("frames"))) for name in of]
    summary = table1(sums=speech_sums() if sums is None else sums, experiments=[])
    summary = t1.with_leaks(summary, frame("experiment part kind share", *leaks), of)
    pairs = tables.chosen_pairs(cv, dict.fromkeys(of, 1e-8))
    speakers = t1.by_speaker(summary, pairs)
    return summary, speakers, t1.over_speakers(speakers, of, PUBLISHED), pairs


def test_series_is_averaged_over_speakers_not_over_repeats():
    summary, _, over, _ = speech_series()
    fourier = over[over["feature_map"] == "fourier"].set_index("protocol")
    assert fourier["test_sd"].to_dict() == pytest.approx({"frames": 2.0, "utterances": np.sqrt(3)})
    # Student's t of two degrees of freedom, of one more speaker beside three.
    assert fourier.loc["frames", "high"] == pytest.approx(62 + 4.30265 * 2 * np.sqrt(4 / 3))
    assert np.isnan(fourier.loc["utterances", "paper"])
    (block,) = t1.series_blocks(over, SERIES, {})
    assert len(block.header) == 7
    assert "standard deviation over 3 datasets (20000 training rows; 2 repeats of " in block.text
    assert block.cells[1] == [
        "RCCA, Fourier", "1000", "62.00 ± 2.00", "41.00 ± 1.73", "68.79", "-6.79", "52.1 to 71.9",
    ]  # fmt: skip
    (block,) = t1.floor_blocks(t1.floor_rows(summary, over, SERIES, {}))
    expected = ["Z, random frames", "RCCA, Fourier", "1000", "62.00", "62.00", "2.00", "100.0%"]
    assert expected in block.cells
    axes, strip = figures.speakers_figure(over, {"z": "Z"}).axes
    fourier = {f"RCCA, Fourier{rest}" for rest in ("", ", held out", " (paper)")}
    assert lines_of(axes).keys() == {*fourier, "linear CCA", "linear CCA (paper)"}
    assert strip.lines[1].get_ydata() == pytest.approx([41.0 - 62.0])


def test_series_of_one_dataset_has_no_interval_and_one_not_run_says_why():
    summary, _, _, pairs = speech_series()
    one = t1.by_speaker(summary[summary["dataset"] == "xrmb-a"], pairs)
    over = t1.over_speakers(one, SERIES, PUBLISHED)
    assert over[["test_sd", "low", "high"]].isna().all(axis=None)
    (block,) = t1.series_blocks(over[:0], SERIES, dict.fromkeys(SERIES, "gone"))
    assert (block.text, block.cells) == ("not run, gone", ())


def test_chosen_reg_of_a_series_is_paired_by_speaker():
    rows = [
        (f"{speaker}-utterances", "fourier", 1000, repeat, reg, cv, 40.0 + repeat + gain)
        for speaker, gained in zip("abc", (5.0, 6.0, 7.0), strict=True)
        for repeat in (0, 1)
        for reg, cv, gain in ((1e-8, 1.0, 0.0), (1e-3, 2.0, gained), (1e-2, 0.5, 99.0))
    ]
    _, _, over, pairs = speech_series(frame(CV_COLUMNS, *rows, predicted_error=1e-9))
    choice = tables.chosen(pairs, SERIES)
    row = choice.iloc[0]
    assert (row["gain_mean"], row["gain_sd"]) == pytest.approx((6.0, 1.0))
    (block,) = tables.chosen_blocks(choice, {"z": "Z"})
    assert block.text == "utterances held out, 3 datasets, 2 repeats each"
    (at_chosen,) = over[over["reg"] == "chosen"].to_dict("records")
    assert at_chosen["test_mean"] == pytest.approx(46.5)


def test_ledger_pairs_speakers_and_leaves_the_level_open(tmp_path):
    of = {name: {**each, "name": "xrmb-z-scored"} for name, each in SERIES.items()}
    sums = speech_sums()
    sums.loc[sums["feature_map"] == "linear", "test_sum"] /= 4
    larger = sums[sums["feature_map"] == "fourier"].assign(m=2000, test_sum=sums["test_sum"] + 8)
    larger.loc[larger["experiment"].str.endswith("utterances"), "test_sum"] -= 16
    _, speakers, over, _ = speech_series(sums=pd.concat([sums, larger]), of=of)
    (tmp_path / "tables").mkdir()
    speakers.to_csv(tmp_path / "tables" / "rcca_speakers.csv", index=False)
    over.to_csv(tmp_path / "tables" / "rcca_series.csv", index=False)
    claims = read_claims(PAPER / "claims.yaml")
    found = {each.claim["id"]: each for each in judge(claims, tmp_path, pd.read_csv)}
    levels = {each.about: each.holds for each in found["rcca-level-xrmb-speakers"].findings}
    about = "the sum of one more speaker minus the paper's, xrmb-z-scored, fourier, m = 1000"
    assert levels[about] is None
    assert found["rcca-beats-linear-xrmb-speakers"].verdict == "reproduced"
    assert found["rcca-grows-with-m-xrmb-speakers"].verdict == "reproduced"
    assert found["rcca-grows-with-m-utterances"].verdict == "not reproduced"
    assert found["rcca-grows-with-m-utterances"].findings[0].rows == 3
    assert found["rcca-grows-with-m-utterances-chosen"].verdict == "not run"


def test_rows_of_baselines_do_not_count_in_claims_on_rcca(tmp_path):
    claims = read_claims(PAPER / "claims.yaml")
    rows = pd.DataFrame({"m": range(1000, 7000, 1000)}).assign(experiment="mnist")
    rows = rows.assign(**claims[0]["rules"][0]["protocol"]["where"])
    for folder in ("rcca", "tables"):
        (tmp_path / folder).mkdir()
    rows.to_csv(tmp_path / "rcca" / "sums.csv", index=False)
    ledgers = []
    for fits in (FITS[:0], FITS):
        table = table1("mnist", timings=TIMING, fits=fits, experiments=["mnist"])
        table.to_csv(tmp_path / "tables" / "rcca.csv", index=False)
        ledgers.append(ledger(judge(claims, tmp_path, pd.read_csv)))
    pd.testing.assert_frame_equal(*ledgers)
    assert "rcca-level-mnist-fourier" in set(ledgers[1].dropna(subset="value")["claim"])
    assert "our test sum minus the paper's, fourier, m = 1000" in set(ledgers[1]["about"])


def test_baselines_stand_beside_the_paper_and_in_pairs_with_rcca():
    deep, kernel, sums = golden("mnist.dcca"), golden("mnist.kcca"), read("mnist")[0]
    deep = pd.concat([deep, deep[:1].assign(method="dcca2013", test_sum=39.0)])
    # Time that grows like n, but for a fit that is too small to count.
    small, middle = (kernel[:1].assign(n=n, cpu_minutes=t) for n, t in ((500, 9.0), (2000, 0.2)))
    kernel = pd.concat([kernel, small, middle])
    fits = baselines_tables.baseline_fits(deep, kernel)
    assert baselines_tables.baselines_summary(fits, sums, PUBLISHED, [])["paper"].isna().all()
    summary = baselines_tables.baselines_summary(fits, sums, PUBLISHED, ["mnist"])
    assert summary["nystroem_less"].tolist() == pytest.approx([-4.68, 3.2, 2.8])
    # 42.2 − 46.95 and 42.4 − 47.01: standard error 0.07, t of one degree of freedom 12.706.
    assert summary["nystroem_less_half"].iloc[0] == pytest.approx(0.07 * 12.7062, rel=1e-5)
    search = frame("repeat", *[(0,), (0,), (0,), (1,)], method="dcca", n_tune=6000)
    found = CURVE, search.assign(experiment="mnist"), kernel, {"speech": "gone"}
    titles = {"mnist": "MNIST", "speech": "speech"}
    block, not_run = baselines_tables.baseline_blocks(summary, *found, titles)
    assert "(2 repeats of deep CCA, 1 repeat of deep CCA as of 2013, 1 repeat of" in block.text
    assert block.cells[0] == [
        "deep CCA (392-400-400-50; 392-400-400-50; relu)", "54000", "675300", "1.35", "47.05",
        "46.98 ± 0.04", "-10.70 ± 2.54", "-4.68 ± 0.89", "39.7", "787",
    ]  # fmt: skip
    kernel = ["4000", "3536000", "0.40", "39.50", "39.40", "-2.95", "+2.80", "–", "–"]
    assert block.cells[2] == ["exact kernel CCA (n = 4000, reg = 0.0001 n)", *kernel]
    assert block.notes == [
        "Deep CCA: one of 3 candidates, chosen in each repeat on its 6000 tuning rows.",
        "Deep CCA reached the paper's 39.7 on tuning rows in epoch 2, after 1.30 CPU minutes.",
        "Deep CCA as of 2013 did not reach the paper's 39.7 on tuning rows.",
        "Up to 4000 rows the time of exact kernel CCA grows like n^1.00 (± 0.00).",
        "All 54000 training rows would take 23.3 GB and, if the time grows like n^3 from there on, "
        "984 CPU minutes.",
    ]
    assert not_run.text == "not run, gone"


def test_race_takes_the_first_epoch_that_does_as_well():
    rcca = frame(
        "experiment feature_map m test_mean minutes_one_core",
        ("mnist", "fourier", 1000, 36.6, 0.3),
        ("mnist", "fourier", 2000, 39.9, 0.65),
        ("mnist", "fourier", 6000, 48.0, 6.0),
        ("other", "fourier", 10, None, 1.0),
        ("mnist", "nystroem", 10, 30.0, None),
        ("mnist", None, None, 42.0, 3.0),  # deep CCA
    )
    found = baselines_tables.race(CURVE, rcca)
    assert found["method"].tolist() == ["dcca"] * 3 + ["dcca2013"] * 3
    assert found["ratio"].iloc[3] == pytest.approx(5.0 / 0.3)
    found = found[found["method"] == "dcca"]
    assert found["m"].tolist() == [1000, 2000, 6000]
    assert found["dcca_epoch"].tolist()[:2] == [1, 2]
    assert found["ratio"].tolist()[:2] == pytest.approx([2.0, 2.0])
    assert found[["dcca_epoch", "dcca_cpu_minutes", "ratio"]].iloc[2].isna().all()


def test_sizes_count_the_arrays_of_both_models():
    layers = pd.DataFrame(
        [{"dataset": "d", "columns_x": 3, "columns_y": 2, "outputs": 4, "layers": 3,
          "width_x": 5, "width_y": 6}]
    )  # fmt: skip
    published = pd.DataFrame({"dataset": "d", "method": ["fourier", "dcca"], "m": [7, None]})
    network = [(3, 5), 5, (5, 5), 5, (5, 4), 4, (2, 6), 6, (6, 6), 6, (6, 4), 4]
    kept = [(7, 4), 7, 3, 1, (7, 4), 7, 2, 1]
    sizes = baselines_tables.model_sizes(layers, published)
    assert sizes["network"].tolist() == [sum(np.zeros(shape).size for shape in network)]
    assert sizes["kept"].tolist() == [sum(np.zeros(shape).size for shape in kept)]
