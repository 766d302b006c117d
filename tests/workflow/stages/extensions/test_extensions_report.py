"""Tables and figures of the extensions stage, made from fixed rows."""

import io

import pandas as pd
import pytest

from projects import svg_of
from workflow.stages.extensions.report import on_clustering, on_dependence, on_discriminants
from workflow.stages.extensions.tables import CLUSTERING_COLUMNS, ERROR_COLUMNS, POINT_COLUMNS

TITLES = {"clustering": "digits", "discriminants": "digits"}
SCORES = """\
data,n,method,m,repeat,nmi,nmi_exact,floored,seconds
{0},4,exact,,0,1.0,,,0.5
{0},4,kmeans,,0,0.25,0.5,,0.1
{0},4,fourier,20.0,0,0.5,0.25,3,0.1
{0},4,fourier,20.0,1,0.7,0.35,4,0.1
{0},4,nystroem,20.0,0,0.9,0.8,0,0.1
"""
POINTS = """\
data,x1,x2,method,cluster
rings,0,0,kmeans,0
rings,1,1,kmeans,1
rings,0,0,nystroem,0
rings,1,1,nystroem,1
"""
ERRORS = """\
method,m,repeat,chosen,tune_error,test_error,n_train,n_test,seconds
lda,,0,,0.1,0.12,100,50,0.5
svm,,0,0.1,0.1,0.10,100,50,0.5
fourier,20.0,0,0.01,0.1,0.08,100,50,
fourier,20.0,1,0.001,0.1,0.04,100,50,
nystroem,20.0,0,0.01,0.1,0.05,100,50,1.25
"""
POWER = """\
pattern,noise,method,n,repeats,critical,power
line,0.5,pearson,60,30,0.2,1.0
line,2.0,pearson,60,30,0.2,0.5
line,0.5,spearman,60,30,0.2,0.9
line,2.0,spearman,60,30,0.2,0.4
line,0.5,rdc,60,30,0.2,0.8
line,2.0,rdc,60,30,0.2,0.3
"""
NO_CLUSTERS = pd.DataFrame(columns=CLUSTERING_COLUMNS)
NO_POINTS = pd.DataFrame(columns=POINT_COLUMNS)


def frame(text):
    return pd.read_csv(io.StringIO(text))


def clusters(*names):
    return pd.concat([frame(SCORES.format(name)) for name in names], ignore_index=True)


def clustering_report(scores=None, points=None, not_run=()):
    given = clusters("rings", "subset") if scores is None else scores
    return on_clustering(given, frame(POINTS) if points is None else points, dict(not_run), TITLES)


def test_clusters_are_laid_out_by_set_and_method():
    report = clustering_report()
    lines = report.table.splitlines()
    assert "**Clusters of two rings**: normalised mutual information (n = 4, repeats: 2)" in lines
    assert "| k-means | – | 0.25 | 0.50 | – | 0.1 |" in lines
    assert "| exact spectral | – | 1.00 | – | – | 0.5 |" in lines
    assert "| randomized, Fourier | 20 | 0.60 ± 0.14 | 0.30 ± 0.07 | 4 | 0.1 |" in lines
    assert list(report.summary["data"].unique()) == ["rings", "subset"]


def test_a_set_without_exact_clusters_says_what_they_would_need():
    whole = clusters("all")
    whole = whole[whole["method"] != "exact"].assign(n=70_000, nmi_exact=None)
    assert "would need 39 GB" in clustering_report(whole).table


def test_agreement_with_exact_clusters_is_drawn_for_the_subset_alone():
    labels = {
        axes.get_title(): axes.get_legend_handles_labels()[1]
        for axes in clustering_report().figure.axes
        if axes.get_title()
    }
    assert set(labels) == {
        "two rings: k-means",
        "two rings: randomized, Nyström",
        "two rings, n = 4",
        "digits, some, n = 4",
    }
    assert "randomized, Fourier: with exact clusters" in labels["digits, some, n = 4"]
    assert not any("exact clusters" in label for label in labels["two rings, n = 4"])


def test_errors_are_laid_out_with_the_best_in_bold():
    lines = on_discriminants(frame(ERRORS), {}, "digits").table.splitlines()
    assert lines[0].startswith("**Classes of digits**: error on test rows (100 training rows, 50")
    assert "| LDA | – | – | 12.00 | 0.5 |" in lines
    assert "| RLDA, Fourier | 20 | 0.001 to 0.01 | 6.00 ± 2.83 | – |" in lines
    assert "| RLDA, Nyström | 20 | 0.01 | **5.00** | 1.2 |" in lines


def test_powers_are_laid_out_by_pattern_and_noise():
    power = frame(POWER).assign(experiment="dependence", dataset=None)
    report = on_dependence(power)
    lines = report.table.splitlines()
    assert lines[0].endswith("(n = 60, 30 samples each)")
    assert lines[2] == "| pattern, method | noise 0.5 | noise 2 |"
    assert lines[-1] == "| line, RDC | 0.80 | 0.30 |"
    pd.testing.assert_frame_equal(report.summary, frame(POWER))


def test_clusters_that_were_not_run_say_why(tmp_path):
    report = clustering_report(clusters("rings"), not_run={"clustering": "no source"})
    assert report.table.endswith("**digits**: not run, no source\n")
    assert "two rings" in report.table
    assert set(report.summary["data"]) == {"rings"}
    alone = clustering_report(NO_CLUSTERS, NO_POINTS, not_run={"clustering": "no source"})
    assert alone.table == "**digits**: not run, no source\n"
    assert svg_of(alone.figure, tmp_path)


def test_classes_that_were_not_run_say_why(tmp_path):
    reasons = {"discriminants": "no source"}
    report = on_discriminants(pd.DataFrame(columns=ERROR_COLUMNS), reasons, "digits")
    assert report.table == "**digits**: not run, no source\n"
    assert b"digits: not run" in svg_of(report.figure, tmp_path)


def test_parts_that_are_left_out_are_missing_from_the_clusters(tmp_path):
    report = clustering_report(clusters("subset"), NO_POINTS)
    assert "rings" not in report.table
    assert svg_of(report.figure, tmp_path)
    assert "digits" not in clustering_report(clusters("rings")).table


@pytest.mark.parametrize(
    "make",
    [
        clustering_report,
        lambda: on_discriminants(frame(ERRORS), {}, "digits"),
        lambda: on_dependence(frame(POWER)),
    ],
    ids=["clustering", "discriminants", "dependence"],
)
def test_figures_are_the_same_every_time(make, tmp_path):
    assert svg_of(make().figure, tmp_path) == svg_of(make().figure, tmp_path)


def test_summaries_keep_full_precision():
    summary = on_discriminants(frame(ERRORS), {}, "digits").summary
    fourier = summary[summary["method"] == "fourier"].iloc[0]
    assert (fourier["error_mean"], fourier["repeats"]) == (pytest.approx(6.0), 2)
