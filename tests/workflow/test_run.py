"""The workflow on config/test.yaml: planned, run, run again, edited."""

import pandas as pd
import pytest

REPORTING = {"rcca_table": 1, "rcca_leaks_table": 1, "rcca_figure": 1, "summary": 1, "all": 1}
AFTER_DATA = {"data_table": 1}
AFTER_FITS = {"rcca_leaks": 2, "rcca_gather": 2} | REPORTING


@pytest.mark.parametrize(
    ("config", "jobs"),
    [
        ("config", {"prepare": 2, "rcca_shard": 6, "rcca_path": 12} | AFTER_DATA | AFTER_FITS),
        ("test", {"prepare": 2, "rcca_shard": 2, "rcca_path": 3} | AFTER_DATA | AFTER_FITS),
        (
            "paper",
            {"fetch": 5, "prepare": 5, "rcca_path": 93, "rcca_leaks": 7, "rcca_gather": 7}
            | AFTER_DATA
            | REPORTING,
        ),
    ],
)
def test_dry_run_plans_every_job_without_network(project, config, jobs):
    assert project.planned("--configfile", f"config/{config}.yaml") == jobs
    assert not project.file("data").exists()


def test_target_data_plans_every_dataset_and_nothing_else(project):
    jobs = project.planned("data", "--configfile", "config/paper.yaml")
    assert jobs == {"fetch": 5, "prepare": 5, "data_table": 1, "data": 1}


def test_skipped_dataset_is_not_planned(project):
    with project.edited("config/paper.yaml", "seed: 2014", "seed: 2014\nskip: [xrmb, mnist]"):
        jobs = project.planned("--configfile", "config/paper.yaml")
    assert jobs["fetch"] == jobs["prepare"] == 3
    assert jobs["rcca_path"] == 4 * 15
    assert jobs["rcca_gather"] == 7


def test_run_leaves_tables_figures_report_and_says_so(finished):
    results = finished.file("results/test")
    for name in (
        "tables/data.md",
        "tables/rcca.md",
        "tables/leaks.csv",
        "figures/rcca.png",
        "report.html",
    ):
        assert (results / name).stat().st_size > 0
    assert (results / "tables/rcca.md").read_text(encoding="utf-8") in finished.screen
    assert "Not run:\n  nothing; all was run" in finished.screen
    assert finished.screen.endswith("Report: results/test/report.html\n")
    assert (results / "tables/rcca.meta.json").is_file()


def test_speech_split_by_groups_shares_no_row(finished):
    leaks = pd.read_csv(finished.file("results/test/tables/leaks.csv"))
    both = leaks[(leaks["kind"] == "duplicate in both") & (leaks["part"] == "test")]
    assert dict(zip(both["experiment"], both["of"], strict=True)) == {"digits": 300, "speech": 500}
    assert (both["rows"] == 0).all()


def test_second_run_does_nothing(finished):
    code, screen = finished.launch("--configfile", "config/test.yaml")
    assert code == 0
    assert "Nothing to be done" in screen


@pytest.mark.parametrize(
    ("module", "old", "new", "jobs"),
    [
        ("reporting/figures.py", '"font.size": 9', '"font.size": 10', {"rcca_figure": 1}),
        ("reporting/leaks.py", '"tune", "test"', '"test",', {"rcca_leaks_table": 1, "summary": 1}),
        ("datasets/audit.py", "_CHUNK = 2048", "_CHUNK = 1024", AFTER_FITS),
        ("stages/rcca.py", '"rcca"', '"RCCA"', {"rcca_shard": 2, "rcca_path": 3} | AFTER_FITS),
        (
            "datasets/embedded.py",
            "SPEECH_GROUPS = 100",
            "SPEECH_GROUPS = 50",
            {"prepare": 2, "rcca_shard": 2, "rcca_path": 3} | AFTER_DATA | AFTER_FITS,
        ),
    ],
)
def test_edited_module_reruns_the_stages_that_import_it(finished, module, old, new, jobs):
    with finished.edited(f"src/rnca/{module}", old, new):
        assert finished.planned("--configfile", "config/test.yaml") == jobs | {"all": 1}


def test_comments_and_docstrings_rerun_nothing(finished):
    new = '"""Stage rcca, told otherwise.\n"""  # a comment\n'
    old = finished.file("src/rnca/stages/rcca.py").read_text(encoding="utf-8").splitlines()[0]
    with finished.edited("src/rnca/stages/rcca.py", old, new):
        assert finished.planned("--configfile", "config/test.yaml") == {}
