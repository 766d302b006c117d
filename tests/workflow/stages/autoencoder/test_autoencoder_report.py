"""Table and figures of the autoencoder stage, made from small fixed frames."""

import html
import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from projects import ROOT
from workflow.lib.chart import has_marks
from workflow.stages.autoencoder import figures, report
from workflow.stages.autoencoder.fit import to_png

PUBLISHED = pd.read_csv(ROOT / "resources/paper/autoencoder.csv")
TITLES = {"mnist": "MNIST", "cifar": "CIFAR-10"}
LABELS = {"experiment": "mnist", "dataset": "mnist"}
# Of two repeats; PCA's are 0.2 and 0.3.
VALUES = {
    "pca": (0.2, 0.3),
    "median": (0.1, 0.15),
    "authors": (0.22, 0.33),
    "authors-encoder": (0.22, 0.34),
    "chosen": (0.1, 0.33),
    "combined": (0.08, 0.12),
}
SAME = {"n_train": 56000, "n_test": 7000, "reg": 1e-5, "peak_mb": 1000.0, **LABELS}
SAME |= {"axis": "table", "d": 20, "m": 2000}
SAME |= {"encoder_seconds": 1.25, "decoder_seconds": 2.25, "encode_seconds": 0.25}


def row(method, repeat, error):
    linear = method == "pca"
    return SAME | {
        "method": method,
        "repeat": repeat,
        "encoder_width": np.nan if linear or method == "combined" else 0.1 + 0.2 * repeat,
        "decoder_width": np.nan if linear else 0.1,
        "on_edge": "decoder, regs" if method == "chosen" and repeat else np.nan,
        "train_error": error / 2,
        "test_error": error,
        "test_psnr": -10 * np.log10(error / 10),
    }


ERRORS = pd.DataFrame(
    row(name, repeat, error) for name, both in VALUES.items() for repeat, error in enumerate(both)
)
SUMMARY = report.autoencoder_summary(ERRORS)
PICTURES = pd.DataFrame(
    [
        (name, to_png(np.random.default_rng(i).uniform(size=(4, 4, 3))))
        for name in ["original", *report.METHODS]
        for i in range(3)
    ],
    columns=["method", "png"],
).assign(**LABELS, repeat=0, d=20)


def table(errors=ERRORS, not_run=None, titles=None, experiments=("mnist",)):
    titles = titles or {"mnist": "MNIST"}
    summary = report.autoencoder_summary(errors)
    return report.autoencoder_table(summary, not_run or {}, titles, PUBLISHED, experiments)


def test_one_repeat_has_no_deviation_and_a_choice_at_an_edge_is_named():
    edges = "Chosen at an end of its grid: RPCA (chosen widths): width of the decoder, reg."
    assert edges in table()
    assert "end of its grid" not in table(ERRORS.assign(on_edge=np.nan))
    alone = table(ERRORS[ERRORS["repeat"] == 0])
    assert "±" not in alone
    assert "| -50.0 % |" in alone


@pytest.mark.parametrize("other", [{"m": 1999}, {"dataset": "digits"}, {}])
def test_papers_bound_stands_beside_its_own_protocol_only(other):
    assert "200 s" not in table(ERRORS.assign(**other), experiments=["mnist"] if other else [])


def test_what_was_not_run_says_why():
    text = table(not_run={"cifar": "no source"}, titles=TITLES)
    assert text.endswith("**CIFAR-10**: not run, no source\n")
    nothing = pd.DataFrame(columns=report.ERROR_COLUMNS)
    reasons = dict.fromkeys(TITLES, "no source")
    assert table(nothing, reasons, TITLES).count("not run, no source") == 2
    summary = report.autoencoder_summary(nothing)
    pictures = pd.DataFrame(columns=figures.PICTURE_COLUMNS)
    drawn = figures.reconstructions_figures(pictures, summary, TITLES)
    assert not any(map(has_marks, drawn.values()))


def test_reconstructions_change_places_below_the_pictures_and_have_their_errors():
    drawn = figures.reconstructions_figures(PICTURES, SUMMARY, TITLES)
    for name, count in (("autoencoder", 3), ("autoencoder-narrow", 2)):
        svg = drawn[name]
        assert has_marks(svg)
        assert re.findall('data-name="(.*?)"', svg) == [
            html.escape(n) for n in figures.NAMES.values()
        ]
        assert svg.count("behind") - svg.count(".behind") == len(figures.NAMES) - 1
        assert "RPCA (median): error 0.125" in svg
        pictures = re.findall('base64,(.*?)"', svg)
        assert len(pictures) == 1 + len(figures.NAMES)
        assert Image.open(BytesIO(b64decode(pictures[0]))).size == (count * 5, 5)
