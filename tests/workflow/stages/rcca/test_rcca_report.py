"""Tables and figures of the rcca stage, made from fixed CSVs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from projects import drawn
from rnca import RCCA
from workflow.data.audit import leak_lines
from workflow.lib import chart
from workflow.lib.chart import Arrow, Series
from workflow.lib.claims import judge, ledger, read_claims
from workflow.lib.outcomes import Outcomes
from workflow.stages.rcca import baselines_tables, figures, grid_tables, headlines, tables
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


def read(*names):
    sums = SUMS[SUMS["experiment"].isin(names)]
    return Outcomes({"sums": sums}).rows("sums", columns=t1.SUMS_COLUMNS)


def table1(*names, timings=TIMING[:0], fits=FITS[:0], experiments=TITLES, sums=None):
    sums = read(*names)[0] if sums is None else sums
    summary = t1.with_baselines(t1.with_minutes(t1.rcca_summary(sums), timings), fits)
    return t1.with_paper(summary, PUBLISHED, experiments)


def full_table1(*names):
    return table1(*names, timings=TIMING, fits=FITS)


def figure_of(summary, experiments=TITLES):
    return figures.rcca_figure(summary, PUBLISHED, experiments, TITLES)


def test_latex_sets_every_character_as_it_stands():
    assert tables.escape(r"5 % of a_b & {c} \ ~^ ± ×") == (
        r"5 \% of a\_b \& \{c\} \textbackslash{} \textasciitilde{}\textasciicircum{} $\pm$ $\times$"
    )


def test_row_counts_that_differ_between_repeats_are_a_range():
    sums, _ = read("mnist")
    sums.loc[sums["repeat"] == 1, ["n_train", "n_test"]] = [53990, 10007]
    (block,) = t1.experiment_blocks(table1(sums=sums, experiments=[]), {}, {"mnist": "MNIST"})
    assert "(53990 to 54000 training rows, 10000 to 10007 test rows, 2 repeats)" in block.text


def test_minutes_figure_draws_timed_experiments_and_the_paper():
    summary = full_table1("mnist", "speech")
    (panel,) = figures.minutes_figure(summary, PUBLISHED, TITLES, TITLES)
    points = drawn(panel)
    assert points["Fourier"][0] == pytest.approx([0.185, 36.28], abs=0.01)
    assert points["paper, deep CCA"] == [[787.38, 39.7]]
    assert points["deep CCA"] == [pytest.approx([1.35, 46.98])]
    assert points["exact kernel CCA"] == [[0.1, 31.0], [0.4, 39.4]]
    assert [mark.stop for mark in panel.marks if isinstance(mark, Arrow)] == [
        pytest.approx([1.35, 46.98])
    ]
    alone = table1("mnist", "speech", timings=TIMING)
    (panel,) = figures.minutes_figure(alone, PUBLISHED, TITLES, TITLES)
    maps = {"linear CCA", "Fourier", "Nyström"}
    assert set(drawn(panel)) == maps | {f"paper, {name}" for name in (*maps, "deep CCA")}


@pytest.mark.parametrize("width", [chart.HALF, chart.NARROW])
def test_figure_is_the_same_every_time(width):
    one, other = (chart.draw(figure_of(table1("mnist", "few")), width) for _ in range(2))
    assert one == other


def test_figure_draws_the_paper_and_deep_cca_where_they_are():
    mnist, speech = map(drawn, figure_of(full_table1("mnist", "speech")))
    assert speech.keys() == {"linear CCA", "Nyström"}
    assert mnist.keys() - speech.keys() == {
        "Fourier", "paper, Fourier", "paper, Nyström", "paper, linear CCA", "deep CCA",
        "paper, deep CCA",
    }  # fmt: skip
    assert [y for _, y in mnist["deep CCA"]] == pytest.approx([46.98, 46.98])
    assert mnist["paper, Fourier"][0] == [1000, 36.31]


def test_paper_stands_beside_its_own_protocol_dataset_and_number_of_components_only():
    published = table1(*TITLES).dropna(subset="paper")
    assert set(published["experiment"]) == {"mnist"}
    assert published["difference"].tolist() == pytest.approx([0.2, -0.03, 0.62])
    summary = table1("mnist", experiments=["xrmb"])
    assert summary["paper"].isna().all()
    (panel,) = figure_of(summary, ["xrmb"])
    assert not any("paper" in name for name in drawn(panel))


def test_other_regs_stand_beside_the_fixed_one_and_the_paper():
    sums = read("mnist", "speech")[0]
    sums = sums[sums["m"] != 500]
    fits = sums[sums["experiment"] == "mnist"]
    near, far = (fits.assign(reg=reg, test_sum=fits["test_sum"] - less) for reg, less in REGS)
    unrelated = far.assign(pairing="permuted", test_sum=0.0)
    grid = pd.concat([fits.assign(test_sum=0.0), near, far]).assign(pairing="paired")
    found = grid_tables.by_reg(sums, pd.concat([grid, unrelated]), PUBLISHED, TITLES)
    nearest = grid_tables.nearest_reg(found, {"mnist": 1e-8})
    assert set(nearest["reg"]) == {1e-6}
    own = nearest[nearest["feature_map"] == "nystroem"].set_index("m")
    assert own.loc[1000, "difference"] == pytest.approx(0.02)
    (lines,) = grid_tables.reg_blocks(found, TITLES)
    assert lines.header[-3:] == ["reg = 1e-08", "reg = 1e-06", "reg = 0.01"]
    assert [row[-3].count("**") for row in lines.cells] == [2] * len(lines.cells)


REGS = ((1e-6, 0.6), (1e-2, 5.0))


def grid_of(gaps, pairing="paired"):
    """Make fits with 100 and 200 features a view, half of them degrees of freedom."""
    columns = "experiment feature_map m reg train_sum test_sum pairing"
    rows = [("e", "fourier", m, 1e-8, 5.0, 5.0 - gap, pairing) for m, gap in gaps.items()]
    rows = frame(columns, *rows, dataset="d", repeat=0, components=10, n_train=1001, n_test=500)
    half = {f"degrees_of_freedom_{view}": rows["m"] / 2 for view in "xy"}
    return rows.assign(noise_level=0.5, tune_sum=np.nan, **half)


def test_overfitting_compares_gaps_with_degrees_of_freedom_per_row():
    near, far = {100: 0.5, 200: 1.5, 300: 1.4}, {100: 0.7, 200: 1.2, 300: 4.0}
    pairs = [grid_of(near), grid_of(far).assign(repeat=1), grid_of({100: 5.0}, "permuted")]
    other = grid_of({100: 1.0, 200: 2.0}).assign(experiment="o", dataset="other")
    found = grid_tables.gaps(pd.concat([*pairs, other]), {})
    assert found["gap"].head(3).tolist() == pytest.approx([0.05, 0.15, 0.14])
    assert found["effective_dimension"].head(3).tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert found["m_over_n"].head(3).tolist() == pytest.approx([0.2, 0.4, 0.6])
    rows = grid_tables.overfitting(found)
    assert len(rows) == 2 * 2 * 2
    first = rows.iloc[0]
    six = found[found["pairing"] == "paired"].head(6)
    rank = stats.spearmanr(six["gap"], six["effective_dimension"]).statistic
    assert (first["fits"], first["better"], first["excess"]) == (6, 0.0, 1.0)
    assert first["spearman"] == pytest.approx(rank)
    assert first["spearman_low"] <= rank <= first["spearman_high"] == 1
    error = np.mean(abs(six["expected"] - six["test_sum"])) / 10
    assert first["forecast_error"] == pytest.approx(error)
    law = np.polyfit(np.log(six["effective_dimension"]), np.log(six["gap"]), 1)
    foretold = np.exp(np.polyval(law, np.log([0.1, 0.2])))
    last = rows[(rows["dataset"] == "other") & (rows["feature_map"] == "all")].iloc[0]
    median = np.median(abs(foretold - [0.1, 0.2]) / [0.1, 0.2])
    assert last["transfer_error"] == pytest.approx(median)
    assert rows["transfer_error"].notna().sum() == 2
    said = headlines.of_overfitting(rows)["d"]["effective_dimension"]
    assert said["spearman"] == pytest.approx(rank)
    panel, _ = figures.overfitting_figure(found, {"e": "E", "o": "O"}, {})
    unrelated = drawn(panel)["Fourier, unrelated pairs"]
    assert unrelated == [[pytest.approx(0.1), pytest.approx(0.5)]]
    one, _ = grid_tables.overfitting_blocks(rows)
    assert [row[:2] for row in one.cells] == [["RCCA, Fourier", "6"], ["all random features", "6"]]


def test_experiments_of_a_series_are_pooled_by_protocol():
    series = {"e": {"name": "z", "title": "Z", "paper": "xrmb", "protocol": "utterances"}}
    found = grid_tables.gaps(grid_of({100: 0.5}), series)
    assert set(grid_tables.overfitting(found)["dataset"]) == {"xrmb-utterances"}


def test_forecast_of_a_test_correlation_is_that_of_simulated_views():
    """One correlation of 0.8 or none between views of 50 columns and 1000 rows."""
    rng = np.random.default_rng(0)
    for rho in (0.8, 0.0):
        x, y = rng.normal(size=(2, 6000, 50))
        y[:, 0] = rho * x[:, 0] + np.sqrt(1 - rho**2) * y[:, 0]
        model = RCCA(1, feature_map="linear", reg=0.0).fit(x[:1000], y[:1000])
        r = model.training_correlations_[0]
        found = grid_tables.expected_correlation(r, 50 / 1000, 50 / 1000)
        tested = abs(model.component_correlations(x[1000:], y[1000:])[0])
        assert found == pytest.approx(tested, abs=0.03)
        assert r > tested + 0.03
    assert grid_tables.expected_correlation(0.99, 0.6, 0.5) == 0
    assert grid_tables.expected_correlation(0.7, 0.0, 0.0) == pytest.approx(0.7)


def test_linear_cca_over_splits_stands_beside_the_paper():
    rows = [(0, 28.5, False), (0, 28.0, True), (1, 20.0, False), (1, 30.0, True)]
    linear = frame(
        "repeat test_sum tuned", *rows, experiment="mnist", dataset="mnist", feature_map="linear",
        components=50, n_train=54000, reg=1.0, on_edge=False,
    )  # fmt: skip
    found = grid_tables.linear_summary(linear, PUBLISHED, ["mnist"])
    assert found["test_mean"].tolist() == [24.25, 29.0]
    assert found["test_min"].tolist() == [20.0, 28.0]
    interval = stats.ttest_1samp([0.0, 2.0], 0).confidence_interval()
    ends = found.loc[1, ["difference_low", "difference_high"]].tolist()
    assert ends == pytest.approx(list(interval))
    (lines,) = grid_tables.linear_blocks(found, {}, {"mnist": "MNIST"})
    assert [row[0] for row in lines.cells] == ["untuned", "tuned"]


def test_leaks_of_test_rows_are_said():
    leaks = frame(
        "experiment part kind rows of share",
        ("mnist", "test", "duplicate in x", 3, 10000, 0.0003),
        ("speech", "tune", "duplicate in both", 0, 0, 0.0),
        ("speech", "test", "duplicate in both", 1, 10000, 0.0001),
        ("speech", "test", "shared frame", 9607, 10000, 0.9607),
    )
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
    (panel,) = figures.cv_figure(choice, {"e": "E"})
    fixed, gain = choice[["fixed_mean", "gain_mean"]].iloc[0]
    assert gain == pytest.approx(0.05)
    assert drawn(panel) == {"Fourier": [[pytest.approx(fixed + gain), 0]]}


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


def test_speakers_are_drawn_beside_the_paper_where_it_can_be():
    _, _, over, _ = speech_series()
    fourier = over[over["feature_map"] == "fourier"].set_index("protocol")
    assert np.isnan(fourier.loc["utterances", "paper"])
    (panel,) = figures.speakers_figure(over, {"z": "Z"})
    lines = [mark for mark in panel.marks if isinstance(mark, Series)]
    states = {(mark.name, mark.state): np.asarray(mark.y).tolist() for mark in lines}
    assert states.pop(("Fourier", "frames")) == pytest.approx([62.0])
    assert states.pop(("Fourier", "utterances")) == pytest.approx([41.0])
    linear = {("linear CCA", "frames"), ("linear CCA", "utterances")}
    assert states.keys() == linear | {("paper, Fourier", "frames")}
    assert list(panel.states) == ["frames", "utterances"]


def test_series_of_one_dataset_has_no_interval_and_one_not_run_says_why():
    summary, _, _, pairs = speech_series()
    one = t1.by_speaker(summary[summary["dataset"] == "xrmb-a"], pairs)
    over = t1.over_speakers(one, SERIES, PUBLISHED)
    assert over[["test_sd", "low", "high"]].isna().all(axis=None)
    (block,) = t1.series_blocks(over[:0], SERIES, dict.fromkeys(SERIES, "gone"))
    assert (block.text, block.cells) == ("not run, gone", ())


def test_ledger_pairs_speakers(tmp_path):
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
    about = (
        "mean over speakers minus the paper's sum, with the prediction interval, "
        "xrmb-z-scored, fourier, m = 1000"
    )
    assert levels[about]
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
