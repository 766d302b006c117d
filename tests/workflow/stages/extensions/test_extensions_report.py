"""Tables and figures of the extensions stage, made from fixed CSVs."""

import pandas as pd
import pytest

from workflow.lib.figures import save
from workflow.stages.extensions.report import report_on

TITLES = {
    "rings": "two rings",
    "subset": "digits, some",
    "all": "digits, all",
    "clustering": "digits",
    "discriminants": "digits",
}
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
NOT_RUN = "experiment,dataset,not_run\n{},mnist,could not fetch it\n"


@pytest.fixture
def files(tmp_path):
    contents = {
        "shapes": SCORES.format("rings"),
        "points": POINTS,
        "clustering": SCORES.format("subset"),
        "discriminants": ERRORS,
        "dependence": POWER,
    }
    for name, text in contents.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return {name: [str(tmp_path / f"{name}.csv")] for name in contents}


def lines_of(report):
    return report.table.splitlines()


def test_clusters_are_laid_out_by_set_and_method(files):
    report = report_on("clustering", files, TITLES)
    lines = lines_of(report)
    assert "**Clusters of two rings**: normalised mutual information (n = 4, repeats: 2)" in lines
    assert "| k-means | – | 0.25 | 0.50 | – | 0.1 |" in lines
    assert "| exact spectral | – | 1.00 | – | – | 0.5 |" in lines
    assert "| randomized, Fourier | 20 | 0.60 ± 0.14 | 0.30 ± 0.07 | 4 | 0.1 |" in lines
    assert list(report.summary["data"].unique()) == ["rings", "subset"]


def test_a_set_without_exact_clusters_says_what_they_would_need(files):
    whole = "\n".join(line for line in SCORES.format("all").splitlines() if ",exact," not in line)
    with open(files["clustering"][0], "w") as file:
        file.write(whole.replace(",4,", ",70000,").replace("0,0.5,0.25,3", "0,0.5,,3"))
    assert "would need 39 GB" in report_on("clustering", files, TITLES).table


def test_agreement_with_exact_clusters_is_drawn_for_the_subset_alone(files):
    figure = report_on("clustering", files, TITLES).figure
    labels = {
        axes.get_title(): axes.get_legend_handles_labels()[1]
        for axes in figure.axes
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


def test_errors_are_laid_out_with_the_best_in_bold(files):
    lines = lines_of(report_on("discriminants", files, TITLES))
    assert lines[0].startswith("**Classes of digits**: error on test rows (100 training rows, 50")
    assert "| LDA | – | – | 12.00 | 0.5 |" in lines
    assert "| RLDA, Fourier | 20 | 0.001 to 0.01 | 6.00 ± 2.83 | – |" in lines
    assert "| RLDA, Nyström | 20 | 0.01 | **5.00** | 1.2 |" in lines


def test_powers_are_laid_out_by_pattern_and_noise(files):
    lines = lines_of(report_on("dependence", files, TITLES))
    assert lines[0].endswith("(n = 60, 30 samples each)")
    assert lines[2] == "| pattern, method | noise 0.5 | noise 2 |"
    assert lines[-1] == "| line, RDC | 0.80 | 0.30 |"


@pytest.mark.parametrize("part", ["clustering", "discriminants"])
def test_what_could_not_be_had_says_why(files, part, tmp_path):
    with open(files[part][0], "w") as file:
        file.write(NOT_RUN.format(part))
    report = report_on(part, files, TITLES)
    assert report.table.endswith("**digits**: not run, could not fetch it\n")
    save(report.figure, [str(tmp_path / "a.png")])
    if part == "clustering":
        assert "two rings" in report.table
        assert set(report.summary["data"]) == {"rings"}


def test_parts_that_are_left_out_are_missing_from_the_clusters(files, tmp_path):
    only = {"clustering": files["clustering"]}
    report = report_on("clustering", only, TITLES)
    assert "rings" not in report.table
    shapes = {name: files[name] for name in ("shapes", "points")}
    assert "digits" not in report_on("clustering", shapes, TITLES).table
    save(report.figure, [str(tmp_path / "a.png")])


@pytest.mark.parametrize("part", ["clustering", "discriminants", "dependence"])
def test_figures_are_the_same_every_time(files, part, tmp_path):
    for copy in ("a.svg", "b.svg"):
        save(report_on(part, files, TITLES).figure, [str(tmp_path / copy)])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_summaries_keep_full_precision(files):
    summary = report_on("discriminants", files, TITLES).summary
    fourier = summary[summary["method"] == "fourier"].iloc[0]
    assert (fourier["error_mean"], fourier["repeats"]) == (pytest.approx(6.0), 2)
    assert isinstance(report_on("dependence", files, TITLES).summary, pd.DataFrame)
