"""Table and figures of the autoencoder stage, made from small fixed frames."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from workflow.lib.figures import save
from workflow.stages.autoencoder.figures import (
    LOOK,
    PICTURE_COLUMNS,
    error_figure,
    reconstructions_figure,
)
from workflow.stages.autoencoder.pictures import to_png
from workflow.stages.autoencoder.tables import (
    ERROR_COLUMNS,
    METHODS,
    autoencoder_summary,
    autoencoder_table,
)

PUBLISHED = pd.read_csv(Path(__file__).parents[4] / "resources" / "paper" / "autoencoder.csv")
TITLES = {"mnist": "MNIST", "cifar": "CIFAR-10"}
# Of two repeats; PCA's are 0.2 and 0.3.
ERRORS = {
    "pca": (0.2, 0.3),
    "median": (0.1, 0.15),
    "authors": (0.22, 0.33),
    "authors-encoder": (0.22, 0.34),
    "chosen": (0.1, 0.33),
    "combined": (0.08, 0.12),
}
SECONDS = {"encoder_seconds": 1.25, "decoder_seconds": 2.25, "encode_seconds": 0.25}


def row(method, repeat, error, axis="table", d=20, m=2000):
    linear = method == "pca"
    return {
        "experiment": "mnist",
        "dataset": "mnist",
        "axis": axis,
        "method": method,
        "repeat": repeat,
        "d": d,
        "m": m,
        "n_train": 56000,
        "n_test": 7000,
        "encoder_width": np.nan if linear or method == "combined" else 0.1 + 0.2 * repeat,
        "decoder_width": np.nan if linear else 0.1,
        "reg": 1e-5,
        "on_edge": "decoder, regs" if method == "chosen" and repeat else np.nan,
        "train_error": error / 2,
        "test_error": error,
        "test_psnr": -10 * np.log10(error / 10),
        **SECONDS,
        "peak_mb": 1000.0,
    }


@pytest.fixture
def errors():
    rows = [row(name, i, error) for name, both in ERRORS.items() for i, error in enumerate(both)]
    for name, (error, _) in ERRORS.items():
        rows += [row(name, 0, error * 20 / d, "d", d=d) for d in (10, 20)]
        sizes = (1000,) if name == "pca" else (1000, 2000)
        rows += [row(name, 0, error * 2000 / m, "m", m=m) for m in sizes]
    return pd.DataFrame(rows)


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    rows = [
        (name, to_png(rng.uniform(size=(4, 4, 3))))
        for name in ["original", *METHODS]
        for _ in range(3)
    ]
    labels = {"experiment": "mnist", "dataset": "mnist", "repeat": 0, "d": 20}
    return pd.DataFrame(rows, columns=["method", "png"]).assign(**labels)


def table(errors, not_run=None, titles=None, experiments=("mnist",)):
    titles = titles or {"mnist": "MNIST"}
    summary = autoencoder_summary(errors)
    return autoencoder_table(summary, not_run or {}, titles, PUBLISHED, experiments)


def test_methods_are_compared_with_pca_on_the_same_rows(errors):
    summary = autoencoder_summary(errors)
    found = summary[summary["axis"] == "table"].set_index("method")
    assert list(found.index) == list(METHODS)
    expected = {"pca": 0.0, "median": -0.5, "authors": 0.1, "chosen": -0.2, "combined": -0.6}
    assert found["against_mean"].drop("authors-encoder").to_dict() == pytest.approx(expected)
    sample = np.array([-0.5, 0.1])
    assert found["against_sd"]["chosen"] == pytest.approx(np.std(sample, ddof=1))
    interval = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    bounds = found.loc["chosen", ["against_low", "against_high"]]
    assert tuple(bounds) == pytest.approx(tuple(interval))
    assert found["on_edge"].to_dict() == dict.fromkeys(METHODS, "") | {"chosen": "decoder, regs"}
    assert (summary["fit_seconds"] == 3.5).all()


def test_table_says_who_wins_with_its_interval_and_what_is_on_an_edge(errors):
    text = table(errors)
    lead = "**MNIST**: d = 20, m = 2000 (56000 training pictures, 7000 test pictures, 2 repeats; "
    assert text.startswith(lead + "the paper trains in less than 200 s)")
    assert "| linear PCA | ours | linear / linear | – | 0.2500 ± 0.0707 | – | " in text
    median = "| RPCA (median heuristic) | paper | 0.1, 0.3 / 0.1 | 1e-05 | 0.1250 ± 0.0354 | "
    assert median + "-50.0 % [-50.0, -50.0] | " in text
    assert "| **0.1000 ± 0.0283** | -60.0 % [-60.0, -60.0] | 20.09 | 3.5 |" in text
    assert (
        "by the 95 % interval over repeats: lower: RPCA (median heuristic), PCA encoder, linear + "
        "random decoder; higher: RPCA (authors' width); undecided: RPCA (authors' width and "
        "encoder), RPCA (chosen widths)."
    ) in text
    edges = "Chosen at an end of its grid: RPCA (chosen widths): width of the decoder, reg."
    assert edges in text
    assert "end of its grid" not in table(errors.assign(on_edge=np.nan))


def test_papers_bound_stands_beside_its_own_protocol_only(errors):
    assert "200 s" not in table(errors, experiments=[])
    assert "200 s" not in table(errors.assign(m=1999))
    assert "200 s" not in table(errors.assign(dataset="digits"))


def test_one_repeat_decides_nothing(errors):
    text = table(errors[errors["repeat"] == 0])
    assert "±" not in text
    assert "over repeats: undecided: RPCA (median heuristic)," in text


def test_what_was_not_run_says_why(errors):
    text = table(errors, {"cifar": "no source"}, TITLES)
    assert text.endswith("**CIFAR-10**: not run, no source\n")
    nothing = pd.DataFrame(columns=ERROR_COLUMNS)
    reasons = dict.fromkeys(TITLES, "no source")
    assert table(nothing, reasons, TITLES).count("not run, no source") == 2


def test_error_figure_has_a_panel_for_each_sweep(errors):
    figure = error_figure(autoencoder_summary(errors), TITLES)
    over_d, over_m = figure.axes
    assert over_d.get_title() == "MNIST\n$m = 2000$"
    assert over_m.get_title() == "MNIST\n$d = 20$"
    lines = {line.get_color(): list(line.get_ydata()) for line in over_m.lines}
    # 0.2 and 0.1, over PCA's 0.4, which has no random features and so one value.
    assert lines["#0072B2"] == pytest.approx([0.5, 0.25])
    assert lines["#555555"] == [1, 1]
    names = [METHODS[method] for method in LOOK]
    assert [text.get_text() for text in figure.legends[0].texts] == names


def test_reconstructions_stand_below_the_pictures_with_their_errors(pictures, errors):
    (axes,) = reconstructions_figure(pictures, autoencoder_summary(errors), TITLES).axes
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels == [
        "unseen test picture",
        "RPCA (median) error 0.1250",
        "RPCA (authors') error 0.2800",
        "linear PCA error 0.2500",
        "PCA, linear + random decoder error 0.1000",
    ]
    assert axes.get_images()[0].get_array().shape == (5 * 5, 3 * 5, 3)


@pytest.mark.parametrize("empty", [False, True])
def test_figures_are_the_same_every_time(tmp_path, errors, pictures, empty):
    if empty:
        errors = pd.DataFrame(columns=ERROR_COLUMNS)
        pictures = pd.DataFrame(columns=PICTURE_COLUMNS)
    summary = autoencoder_summary(errors)
    for draw, given in (
        (reconstructions_figure, (pictures, summary)),
        (error_figure, (summary,)),
    ):
        for copy in "ab":
            outputs = {
                f"{copy}.{kind}": str(tmp_path / f"{copy}.{kind}") for kind in ("svg", "png")
            }
            save(draw(*given, TITLES), outputs, copy)
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
