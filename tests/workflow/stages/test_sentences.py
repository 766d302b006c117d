"""The computed sentences of each stage, by hand from small frames."""

import numpy as np
import pandas as pd
import pytest

from workflow.lib.tables import sentence, span, write_sentences
from workflow.stages.autoencoder import report as autoencoder
from workflow.stages.bounds import report as bounds
from workflow.stages.extensions import report as extensions
from workflow.stages.rcca import figures, tables
from workflow.stages.rcca import sentences as rcca
from workflow.stages.rpca import report as rpca

TITLES = {"one": "MNIST", "z": "XRMB by speakers"}


def frame(columns, *rows):
    return pd.DataFrame(rows, columns=columns.split())


def test_words():
    assert span([0.541, 0.809]) == "0.54 to 0.81"
    assert span([0.541, np.nan, 0.5449]) == "0.54"
    assert sentence(["a", "", "b"], "subject") == "Subject: a; b."
    assert sentence([], "subject") == ""


def test_table_and_figure_of_one_name_share_a_sentence(tmp_path):
    out = {name: str(tmp_path / name) for name in ("sentences.csv",)}
    out |= {"a.md": "results/r/tables/a.md", "a.svg": "results/r/figures/a.svg"}
    out |= {"a.png": "results/r/figures/a.png", "b.md": "results/r/tables/b.md"}
    write_sentences(out, {"a": "A.", "b": ""})
    text = (tmp_path / "sentences.csv").read_text(encoding="utf-8")
    assert text == "exhibit,sentence\ntables/a.md,A.\nfigures/a.svg,A.\n"


DIFFERENCES = "experiment feature_map method m n_train_max components test_mean difference"


@pytest.mark.parametrize(
    ("differences", "says"),
    [
        ((-0.24, 0.1), "Fourier features within 0.24 of the paper's sums at every m"),
        ((0.54, 0.81), "Fourier features 0.54 to 0.81 above the paper's sums at every m"),
        ((-0.81, -0.54), "Fourier features 0.54 to 0.81 below the paper's sums at every m"),
    ],
)
def test_table_1_says_how_far_the_paper_is(differences, says):
    rows = [
        ("one", "fourier", "fourier", m, 100, 50, 40.0 + m / 1000, difference)
        for m, difference in zip((1000, 2000), differences, strict=True)
    ]
    assert rcca.on_table1(frame(DIFFERENCES, *rows), TITLES) == f"MNIST: {says}."


def test_table_1_without_the_paper_says_what_is_reached():
    rows = [("one", None, "kcca", np.nan, n, 10, n / 100, np.nan) for n in (100, 200)]
    rows += [("one", "fourier", "fourier", m, 500, 10, m / 10, np.nan) for m in (20, 80)]
    says = "MNIST: Fourier features 8.00, exact kernel CCA 2.00 of at most 10."
    assert rcca.on_table1(frame(DIFFERENCES, *rows), TITLES) == says


def test_held_out_utterances_stand_against_random_frames():
    rows = [
        ("z", protocol, "fixed", "fourier", m, test, leaked, paper if leaked else np.nan)
        for protocol, leaked, tests in (("frames", 0.998, (80, 99)), ("utterances", 0.0, (66, 19)))
        for m, test, paper in zip((1000, 6000), tests, (68.79, 98.61), strict=True)
    ]
    rows += [("z", "frames", "chosen", "fourier", 6000, 1.0, 0.998, np.nan)]
    over = frame("series protocol reg feature_map m test_mean leaked paper", *rows)
    assert rcca.on_protocols(over, TITLES) == (
        "XRMB by speakers, m = 1000 to 6000: with whole utterances held out Fourier features fall "
        "from 66.0 to 19.0; on random frames Fourier features rise from 80.0 to 99.0 (paper: 68.8 "
        "to 98.6); 100 % of the random test rows share frames with training."
    )


def test_baselines_of_a_series_are_in_a_range():
    rows = [("one", "dcca", -5.07, -1.82), ("one", "dcca2013", 2.0, np.nan), ("one", "kcca", 9, 9)]
    rows += [(name, "dcca", less, less + 2) for name, less in (("a", 7.77), ("b", 13.28))]
    baselines = frame("experiment method fourier_less nystroem_less", *rows)
    of = {name: {"name": "z", "protocol": "frames"} for name in "ab"}
    assert rcca.on_baselines(baselines, TITLES, of) == (
        "Test sum of RCCA at the largest m: MNIST: Fourier features -5.1 and Nyström features -1.8 "
        "against deep CCA, Fourier features +2.0 against deep CCA as of 2013; XRMB by speakers, "
        "random frames: Fourier features +7.8 to +13.3 and Nyström features +9.8 to +15.3 against "
        "deep CCA."
    )


def test_model_of_own_data_says_what_was_chosen_and_what_is_real():
    rows = [
        ("one", "linear", 3, 1e-3, 1, 0.99, 0.06, 0.1),
        ("one", "fourier", 100, 1e-3, 1, 0.95, 0.01, 0.1),
        ("one", "fourier", 100, 1e-3, 2, 0.05, 0.3, 0.1),
    ]
    inference = pd.DataFrame(rows, columns=tables.INFERENCE_COLUMNS)
    assert rcca.on_model(inference, TITLES) == (
        "MNIST, RCCA, Fourier, finds 1 shared component (correlation on test rows 0.95); "
        "MNIST, linear CCA, finds none."
    )
    loadings = frame("view column component_1", ("x", 0, 0.2), ("x", "a_b", -0.9), ("y", 0, 0.5))
    of_models = {("one", "fourier"): loadings, ("one", "linear"): loadings}
    block, other = tables.model_blocks(inference, TITLES, of_models)
    assert other.title == "MNIST, linear CCA"
    (note,) = block.notes
    assert (
        note
        == r"Largest loadings on component 1: of view x a\_b (-0.90), 0 (0.20); of view y 0 (0.50)."
    )
    assert block.text == "m = 100, reg = 0.001, by cross-validation"
    assert block.cells[1] == ["2", "0.050", "0.3", "0.100"]
    model = loadings, np.zeros(3), np.ones(3)
    panels = figures.model_figure(
        inference, {("one", kind): model for kind in ("fourier", "linear")}, TITLES
    )
    assert list(panels[1].y.ticks.values()) == ["x, a_b", "x, 0", "y, 0"]  # the largest on top


def test_rpca_says_how_errors_fall():
    keys = ("one", "pca", "fourier")
    rows = [(*keys, 100, 3, m, 0, 0.1 / m, 9.0, 15.0 / m, 0.2, 0.9) for m in (1, 10)]
    errors = rpca.errors_summary(pd.DataFrame(rows, columns=rpca.ERRORS_COLUMNS))
    columns = "experiment analysis method measure rate rate_error"
    law = frame(columns, (*keys, "value_error", -1.0, 0.04))
    assert rpca.on_errors(errors, law, "pca", TITLES) == (
        "Relative error of the leading eigenvalues: MNIST: Fourier features 1 % at m = 10 "
        "(like m^-1.00 ± 0.04)."
    )
    says = "Mean angle to the exact components at the largest m: MNIST, PCA: Fourier features 1.5°."
    assert rpca.on_agreement(errors, TITLES) == says


def test_bounds_count_violations():
    columns = "gamma n m excess"
    held, broken = (0.3, 500, 250, 0.5), (0.001, 2000, 1000, 2.786)
    assert bounds.on_counterexample(frame(columns, held, broken)) == (
        "The bound of Theorem 4 is violated in 1 of 2 cases: the mean error is up to 2.79 times "
        "the bound (γ = 0.001, n = 2000, m = 1000)."
    )
    assert bounds.on_counterexample(frame(columns, held)) == (
        "The bound of Theorem 4 holds in all 1 cases of this run; the mean error reaches 0.50 of "
        "it (γ = 0.3, n = 500, m = 250)."
    )


def test_autoencoder_names_the_papers_method_and_the_best():
    errors = {"pca": (0.21, 0.0), "median": (0.12, -0.412), "combined": (0.11, -0.48)}
    rows = [("one", method, 20, *error) for method, error in errors.items()]
    summary = frame("experiment method d test_mean against_mean", *rows)
    assert autoencoder.on_table(summary, TITLES) == (
        "Test error against linear PCA's: MNIST, d = 20: RPCA (median heuristic) -41.2 %, "
        "PCA encoder, linear + random decoder -48.0 %."
    )


def test_extensions_name_the_smallest_error_of_each_classifier():
    rows = [("lda", np.nan, 5.63), ("fourier", 100, 4.0), ("fourier", 400, 2.08)]
    summary = frame("method m error_mean", *rows)
    says = "Digits: smallest test error RLDA, Fourier 2.08 % at m = 400, LDA 5.63 %."
    assert extensions.on_discriminants(summary, "digits") == says


def test_nothing_run_says_nothing():
    none = frame(DIFFERENCES)
    over = frame("series protocol reg feature_map m test_mean leaked")
    said = [
        rcca.on_table1(none, TITLES),
        rcca.on_protocols(over, TITLES),
        rcca.on_leaks(frame("experiment part kind share"), TITLES),
        rcca.on_floor(frame("test_mean floor_mean")),
        rcca.on_minutes(none.assign(minutes_one_core=np.nan), TITLES),
        rcca.on_variants(frame("experiment feature_map m difference_mean"), TITLES),
        rcca.on_choice(frame("experiment feature_map protocol gain_mean"), TITLES),
        rpca.on_agreement(frame("experiment analysis method m mean_angle_mean"), TITLES),
        rpca.on_scatter(pd.DataFrame(columns=rpca.SCORES_COLUMNS), TITLES),
        autoencoder.on_table(frame("experiment method test_mean"), TITLES),
        extensions.on_discriminants(frame("method error_mean m"), "digits"),
        extensions.on_clustering(frame("data method m nmi_mean"), TITLES),
    ]
    assert said == [""] * len(said)
