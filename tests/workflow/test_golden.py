"""The published CSVs make the published tables, or those of ``tests/golden`` where code is ahead.

``RNCA_GOLDEN=renew`` writes what differs from the published tables to ``tests/golden``. Some cells
of each stage are computed here from the CSVs, by other code.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from projects import ROOT
from workflow.lib.publish import rendered
from workflow.lib.settings import read
from workflow.lib.strict_yaml import load
from workflow.stages.autoencoder import report as autoencoder

# One process makes the tables for all of these tests.
pytestmark = pytest.mark.xdist_group("golden")

CONFIG, PUBLISHED = ROOT / "config/paper.yaml", ROOT / "results/published"
GOLDEN, RENEWED = ROOT / "tests/golden", os.environ.get("RNCA_GOLDEN") == "renew"
# Of what is published; the ledger is represented by its verdicts, the rest stays as it is.
TABLES = sorted(
    {path.name for path in PUBLISHED.glob("tables/*") if path.stem not in ("claims", "data")}
    | {path.name for path in GOLDEN.glob("*.*")}
    | {"points.csv", "verdicts.csv"}
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The directory of the tables that the present code makes of the published CSVs."""
    place = tmp_path_factory.mktemp("golden")
    run, *_ = rendered(PUBLISHED, load(CONFIG), place, "tables/claims.md")
    made = run / "tables"
    # This report reads pictures, too, which are not published.
    settings = read(CONFIG).autoencoder
    summary = autoencoder.autoencoder_summary(read_csv("autoencoder/errors"))
    paper = pd.read_csv(ROOT / "resources/paper/autoencoder.csv"), settings.published()
    text = autoencoder.autoencoder_table(summary, {}, settings.titles(), *paper)
    (made / "autoencoder.md").write_text(text, encoding="utf-8")
    summary.to_csv(made / "autoencoder.csv", index=False)
    (run / "bounds/points.csv").rename(made / "points.csv")
    verdicts_of(made / "claims.csv").to_csv(made / "verdicts.csv", index=False)
    return made


def read_csv(name):
    return pd.read_csv(PUBLISHED / f"{name}.csv")


def verdicts_of(ledger):
    return pd.read_csv(ledger)[["claim", "verdict", "held"]].drop_duplicates()


def differs(made: Path, expected: Path) -> bool:
    """Compare texts by every character, CSVs by their numbers: CPUs differ in the last digits."""
    if made.suffix != ".csv":
        return made.read_text("utf-8") != expected.read_text("utf-8")
    try:
        frames = pd.read_csv(made), pd.read_csv(expected)
        pd.testing.assert_frame_equal(*frames, rtol=1e-9, atol=1e-12)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", TABLES)
def test_published_csvs_make_the_golden_table(tables, tmp_path, name):
    made, golden, expected = tables / name, GOLDEN / name, PUBLISHED / "tables" / name
    if name == "points.csv":
        expected = PUBLISHED / "bounds" / name
    if name == "verdicts.csv":
        expected = tmp_path / name
        verdicts_of(PUBLISHED / "tables/claims.csv").to_csv(expected, index=False)
    if RENEWED:
        golden.unlink(missing_ok=True)
        if made.is_file() and (not expected.is_file() or differs(made, expected)):
            GOLDEN.mkdir(exist_ok=True)
            golden.write_bytes(made.read_bytes())
    expected = golden if golden.is_file() else expected
    assert made.is_file(), f"{name} is not made any more"
    assert not differs(made, expected), f"{made} differs from {expected}"


# Some cells of each stage, computed from the CSVs by other code than the stage's.


@pytest.fixture
def cell(tables):
    """Look up a number in a table, by the values of other columns."""

    def look_up(name, column, **where):
        rows = pick(pd.read_csv(tables / f"{name}.csv"), **where)
        assert len(rows) == 1, rows
        return rows[column].iloc[0]

    return look_up


def pick(rows, **where):
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows


def student(values):
    """The 95 % interval of a mean."""
    return tuple(stats.ttest_1samp(values, 0).confidence_interval(0.95))


def exact(value):
    return pytest.approx(value, rel=1e-9)


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


FOURIER = {"experiment": "mnist", "feature_map": "fourier", "m": 3000}


def test_cells_of_table_1(cell):
    rows = pick(read_csv("rcca/sums"), **FOURIER)
    assert len(rows) == 5
    assert cell("rcca", "test_mean", **FOURIER) == exact(np.mean(rows["test_sum"]))
    assert cell("rcca", "train_sd", **FOURIER) == exact(np.std(rows["train_sum"], ddof=1))
    assert cell("rcca", "floor_mean", **FOURIER) == exact(np.mean(rows["floor_sum"]))
    assert cell("rcca", "difference", **FOURIER) == exact(np.mean(rows["test_sum"]) - 40.95)
    times = pick(read_csv("rcca/timing"), **FOURIER, threads=1)["seconds"]
    assert cell("rcca", "minutes_one_core", **FOURIER) == exact(np.median(times) / 60)
    assert cell("rcca", "speed_up", **FOURIER) == exact(41.98 * 60 / np.median(times))
    network = {"experiment": "mnist", "method": "dcca"}
    deep = pick(read_csv("rcca/dcca"), **network)
    assert cell("rcca", "test_mean", **network) == exact(np.mean(deep["test_sum"]))
    assert cell("baselines", "cpu_minutes", **network) == exact(np.mean(deep["cpu_minutes"]))
    # RCCA at its largest m and deep CCA have the same rows in the same repeat.
    other = pick(read_csv("rcca/sums"), **FOURIER | {"m": 6000}).set_index("repeat")["test_sum"]
    less = (other - deep.set_index("repeat")["test_sum"]).dropna()
    assert cell("baselines", "fourier_less", **network) == exact(np.mean(less))
    half = np.diff(student(less))[0] / 2
    assert cell("baselines", "fourier_less_half", **network) == exact(half)


def test_cells_of_other_regs_choices_variants_and_sizes(cell):
    regs = pick(read_csv("rcca/regs"), **FOURIER | {"feature_map": "nystroem"}, reg=1e-6)
    found = cell("rcca_regs", "difference", **FOURIER | {"feature_map": "nystroem"}, reg=1e-6)
    assert found == exact(np.mean(regs["test_sum"]) - 43.76)
    gains, chosen = [], []
    for _, repeat in pick(read_csv("rcca/cv"), **FOURIER).groupby("repeat"):
        best = repeat.sort_values("cv_sum").iloc[-1]
        gains += [best["test_sum"] - pick(repeat, reg=1e-8)["test_sum"].item()]
        chosen += [best["reg"]]
    assert cell("rcca_cv", "gain_mean", **FOURIER) == exact(np.mean(gains))
    assert cell("rcca_cv", "gain_sd", **FOURIER) == exact(np.std(gains, ddof=1))
    assert cell("rcca_cv", "reg_max", **FOURIER) == max(chosen)
    where = {"experiment": "mnist-landmarks", "feature_map": "nystroem", "m": 1000}
    half = pick(read_csv("rcca/sums"), **where).set_index("repeat")["test_sum"]
    base = pick(read_csv("rcca/sums"), **where | {"experiment": "mnist"}).set_index("repeat")
    pairs = (half - base["test_sum"]).dropna()
    assert cell("rcca_variants", "difference_sd", **where) == exact(np.std(pairs, ddof=1))
    # For each view: 50 directions and a mean of 3000 features, a mean row, a width.
    kept = 2 * (51 * 3000 + 392 + 1)
    assert cell("rcca_sizes", "kept", dataset="mnist", m=3000) == kept
    assert cell("rcca_sizes", "ratio", dataset="mnist", m=3000) == exact(2307244 / kept)


def test_cells_of_series_count_speakers_not_repeats(cell):
    sums = pick(read_csv("rcca/sums"), feature_map="nystroem", m=2000)
    means = [
        np.mean(pick(sums, experiment=f"jw6{speaker}-utterances")["test_sum"])
        for speaker in (1, 2, 3)
    ]
    where = {"series": "xrmb-z-scored", "reg": "fixed", "feature_map": "nystroem", "m": 2000}
    held_out = where | {"protocol": "utterances"}
    assert cell("rcca_series", "test_mean", **held_out) == exact(np.mean(means))
    assert cell("rcca_series", "test_sd", **held_out) == exact(np.std(means, ddof=1))
    # One more speaker beside three: Student's t of two degrees of freedom.
    frames = [pick(sums, experiment=f"jw6{each}-frames")["test_sum"].item() for each in (1, 2, 3)]
    high = np.mean(frames) + stats.t.ppf(0.975, 2) * np.std(frames, ddof=1) * np.sqrt(4 / 3)
    assert cell("rcca_series", "high", **where, protocol="frames") == exact(high)
    assert cell("rcca_series", "difference_high", **where, protocol="frames") == exact(high - 93.21)
    leaks = pick(read_csv("rcca/leaks"), experiment="jw61-frames", part="test", kind="shared frame")
    speaker = {"experiment": "jw61-frames", "method": "fourier", "m": 2000, "reg": "fixed"}
    assert cell("rcca_speakers", "leaked", **speaker) == leaks["share"].item()


def test_cells_of_rpca(cell):
    where = {"experiment": "mnist", "analysis": "pca", "method": "fourier"}
    errors = pick(read_csv("rpca/errors"), **where)
    at_largest = pick(errors, m=3200)
    assert cell("rpca", "mean_angle_mean", **where, m=3200) == exact(
        at_largest["mean_angle"].mean()
    )
    assert cell("rpca", "value_error_max", **where, m=3200) == at_largest["value_error"].max()
    assert cell("rpca", "kernel_error_min", **where, m=3200) == at_largest["kernel_error"].min()
    slopes = [slope(own["m"], own["kernel_error"]) for _, own in errors.groupby("repeat")]
    rate = where | {"measure": "kernel_error"}
    assert cell("rpca_rates", "rate", **rate) == exact(np.mean(slopes))
    assert cell("rpca_rates", "rate_error", **rate) == exact(stats.sem(slopes))
    merits = pick(read_csv("rpca/merits"), **where, m=3200, components=20)
    found = cell("rpca_merits", "merit_mean", **where, m=3200, components=20)
    assert found == exact(merits["merit"].mean())
    medians = pick(read_csv("rpca/times"), **where | {"method": "exact"}).groupby("n")["seconds"]
    law = medians.median()[lambda series: series.index >= series.index.max() / 8]
    found = cell("rpca_exponents", "exponent", **where | {"method": "exact"})
    assert found == exact(slope(law.index, law))


def test_cells_of_bounds(cell):
    drawn = pick(read_csv("bounds/draws"), experiment="stated", m=1000)
    kernel = pick(drawn, gamma=1e-3).groupby("n")[["kernel_error_x", "kernel_error_y"]]
    means = kernel.mean().mean(axis="columns")
    where = {"experiment": "stated", "varying": "n"}
    assert cell("bounds", "exponent", **where, panel="rpca") == exact(slope(means.index, means))
    blocks = pick(drawn, n=1000).groupby("gamma")[["cca_error_xy", "cca_error_yx"]]
    larger = blocks.apply(lambda own: own.max(axis="columns").mean())
    gamma = where | {"panel": "rcca", "varying": "gamma"}
    assert cell("bounds", "exponent", **gamma) == exact(slope(larger.index, larger))
    paper = pick(pd.read_csv(PUBLISHED / "bounds/points.csv"), **gamma).set_index("value")
    ratios = np.log(larger / paper["published"].dropna()).dropna()
    assert cell("bounds", "level", **gamma) == exact(np.exp(ratios.mean()))
    # Theorem 3 as printed, at n = 100 and m = 1000.
    logarithm = np.log(200)
    bound = np.sqrt(3 * 100**2 * logarithm / 1000) + 2 * 100 * logarithm / 1000
    most = max(bound / means[100], cell("bounds", "printed_most", **where, panel="rpca"))
    assert cell("bounds", "printed_most", **where, panel="rpca") == exact(most)
    case = {"features": "unit", "gamma": 1e-3, "n": 2000, "ratio": 0.5}
    errors = pick(read_csv("bounds/counterexample"), **case)["error"]
    assert cell("theorem4", "error", **case) == exact(np.mean(errors))
    assert cell("theorem4", "sd", **case) == exact(np.std(errors, ddof=1))
    case = {"n": 400, "m": 50, "gamma": 1e-3}
    errors = pick(read_csv("bounds/correlations"), **case)["error"]
    assert cell("regularised_correlations", "error", **case) == exact(np.mean(errors))


def test_cells_of_privileged_information(cell):
    accuracy = pick(read_csv("lupi/accuracy"), experiment="awa", preprocessing="raw")
    by_method = accuracy.pivot(index="partition", columns="method", values="test_accuracy")
    rcca, surf = by_method["rcca"], by_method["surf"]
    pair = {"experiment": "awa", "method": "rcca", "preprocessing": "raw"}
    assert cell("lupi", "test_mean", **pair) == exact(rcca.mean())
    low, high = student(rcca)
    assert cell("lupi", "test_low", **pair) == exact(low)
    spread = np.sqrt(13 * rcca.var() / stats.chi2.ppf([0.975, 0.025], 13))
    assert cell("lupi", "sd_low", **pair) == exact(spread[0])
    assert cell("lupi", "sd_high", **pair) == exact(spread[1])
    noise = 100 * np.sqrt(rcca.mean() / 100 * (1 - rcca.mean() / 100) / 1000)
    assert cell("lupi", "binomial_sd", **pair) == exact(noise)
    pair |= {"reference": "surf", "reference_preprocessing": "raw"}
    low, high = student(rcca - surf)
    assert cell("lupi_pairs", "low", **pair) == exact(low)
    assert cell("lupi_pairs", "relative_high", **pair) == exact(100 * high / surf.mean())
    assert cell("lupi_pairs", "p", **pair) == exact(stats.wilcoxon(rcca, surf).pvalue)
    edges = accuracy.loc[accuracy["method"] == "rcca", "cost_on_edge"].astype(str).eq("True")
    assert cell("lupi_pairs", "on_edge", **pair) == edges.sum()


def test_cells_of_autoencoders(cell):
    errors = pick(read_csv("autoencoder/errors"), experiment="mnist")
    by_method = errors.pivot(index="repeat", columns="method", values="test_error")
    where = {"experiment": "mnist", "method": "combined"}
    against = by_method["combined"] / by_method["pca"] - 1
    assert cell("autoencoder", "test_mean", **where) == exact(by_method["combined"].mean())
    assert cell("autoencoder", "against_mean", **where) == exact(against.mean())
    assert cell("autoencoder", "against_low", **where) == exact(student(against)[0])
    own = pick(errors, method="combined")
    seconds = (own["encoder_seconds"] + own["decoder_seconds"]).mean()
    assert cell("autoencoder", "fit_seconds", **where) == exact(seconds)
    assert cell("autoencoder", "psnr_mean", **where) == exact(own["test_psnr"].mean())


def test_cells_of_extensions(cell):
    rows = pick(read_csv("extensions/shapes"), data="rings", method="fourier", m=500)
    where = {"data": "rings", "method": "fourier", "m": 500}
    assert cell("extensions_clustering", "nmi_mean", **where) == exact(rows["nmi"].mean())
    assert cell("extensions_clustering", "nmi_exact_sd", **where) == exact(rows["nmi_exact"].std())
    rows = pick(read_csv("extensions/discriminants"), method="nystroem").query("m == m.max()")
    where = {"method": "nystroem", "m": rows["m"].iloc[0]}
    found = cell("extensions_discriminants", "error_mean", **where)
    assert found == exact(100 * rows["test_error"].mean())
    found = cell("extensions_discriminants", "error_sd", **where)
    assert found == exact(100 * rows["test_error"].std())
    assert cell("extensions_discriminants", "chosen_most", **where) == rows["chosen"].max()
