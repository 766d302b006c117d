"""Tables and figures of the extensions stage, made from fixed rows."""

import io

import pandas as pd
import pytest

from projects import drawn
from workflow.stages.extensions import figures, report

TITLES = {"rings": "two rings", "subset": "digits, some"}
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


def frame(text):
    return pd.read_csv(io.StringIO(text))


def clusters(*names):
    return report.clustering_summary(pd.concat([frame(SCORES.format(name)) for name in names]))


NO_CLUSTERS = report.clustering_summary(pd.DataFrame(columns=report.CLUSTERING_COLUMNS))
NO_POINTS = pd.DataFrame(columns=report.POINT_COLUMNS)
NO_ERRORS = report.discriminants_summary(pd.DataFrame(columns=report.ERROR_COLUMNS))


def test_what_was_not_clustered_says_why_or_how_large_it_is():
    summary = clusters("rings", "subset")
    lines = report.clustering_table(summary, TITLES, {"digits": "no source"}).splitlines()
    assert lines[-1] == "**digits**: not run, no source"
    whole = summary[summary["method"] != "exact"].assign(n=70_000)
    assert "would need 39 GB" in report.clustering_table(whole, TITLES, {})


def test_shapes_and_agreement_are_drawn():
    panels = figures.shapes_figure(frame(POINTS), TITLES)
    names = ["k-means", "randomized, Nyström"]
    assert [panel.title for panel in panels] == [f"two rings: {name}" for name in names]
    rings, subset = figures.clustering_figure(clusters("rings", "subset"), TITLES)
    assert subset.title == "digits, some, n = 4"
    assert drawn(rings).keys() == set(figures.CLUSTERINGS.values())


def test_errors_are_drawn_for_all_classifiers_or_say_why_there_are_none():
    summary = report.discriminants_summary(frame(ERRORS))
    (panel,) = figures.discriminants_figure(summary, "digits")
    assert {mark.label for mark in panel.marks} == set(figures.CLASSIFIERS.values())
    missing = report.discriminants_table(NO_ERRORS, "digits", "no source")
    assert missing == "**digits**: not run, no source\n"


def test_powers_have_a_standard_error():
    panel = figures.dependence_figure(frame(POWER))[0]
    pearson = next(mark for mark in panel.marks if mark.name == "Pearson")
    assert pearson.y.tolist() == [1.0, 0.5]
    half = (0.5 * 0.5 / 30) ** 0.5
    assert pearson.low.tolist() == pytest.approx([1.0, 0.5 - half])
    assert pearson.high.tolist() == pytest.approx([1.0, 0.5 + half])


def test_figures_are_drawn_without_shapes_and_without_rows():
    assert len(figures.clustering_figure(clusters("subset"), TITLES)) == 1
    assert figures.shapes_figure(NO_POINTS, TITLES) == []
    assert figures.clustering_figure(NO_CLUSTERS, TITLES) == []
    assert figures.discriminants_figure(NO_ERRORS, "digits") == []
