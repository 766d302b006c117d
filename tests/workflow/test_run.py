"""The workflow on config/test.yaml: planned, run, run again, edited."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

# By stage and configuration; together they are what a whole run plans.
JOBS = yaml.safe_load(Path(__file__).with_name("jobs.yaml").read_text(encoding="utf-8"))
AFTER_FITS = {"rcca_leaks": 3, "rcca_gather": 3, "rcca_table": 1, "rcca_leaks_table": 1}
AFTER_FITS |= {"rcca_figure": 1, "rcca_minutes": 1, "rcca_variants": 1}
FITS = {"rcca_shard": 2, "rcca_path": 4, "rcca_timing": 2, "rcca_svd": 1, "rcca_gather_more": 3}
FITS |= {"rcca_tuning": 1}
# Stages whose tables take up the baselines of the settings.
BESIDE = {"baselines_dcca": 1, "baselines_kcca": 1}
WITH_BASELINES = ("rcca", "maps")
FIGURES = {"rcca_figure": 1, "rcca_minutes": 1, "rcca_tuning": 1}


@pytest.mark.parametrize("config", ["config", "test", "paper"])
def test_dry_run_plans_every_job_without_network(project, config):
    expected = {rule: n for stage in JOBS.values() for rule, n in stage[config].items()}
    assert project.planned("--configfile", f"config/{config}.yaml") == expected
    assert not project.file("data").exists()


@pytest.mark.parametrize("stage", sorted(set(JOBS) - {"data", "report"}))
def test_target_of_a_stage_plans_its_jobs_and_what_they_take_up(project, stage):
    planned = project.planned(stage, "--configfile", "config/test.yaml")
    own = {rule: n for rule, n in planned.items() if rule not in JOBS["data"]["test"]}
    assert own == JOBS[stage]["test"] | {stage: 1} | (BESIDE if stage in WITH_BASELINES else {})


@pytest.mark.parametrize("stage", WITH_BASELINES)
def test_target_of_a_stage_makes_no_baselines_that_the_settings_do_not_have(project, stage):
    with (
        project.edited("config/test.yaml", "baselines:\n  digits:", "baselines:\n  other:"),
        project.edited("config/test.yaml", "published: true", "published: false"),
    ):
        planned = project.planned(stage, "--configfile", "config/test.yaml")
    assert not set(BESIDE) & set(planned)
    assert JOBS[stage]["test"].items() <= planned.items()


def test_target_data_plans_every_dataset_and_nothing_else(project):
    jobs = project.planned("data", "--configfile", "config/paper.yaml")
    assert jobs == JOBS["data"]["paper"] | {"data": 1}


def test_skipped_dataset_is_not_planned(project):
    with project.edited("config/paper.yaml", "seed: 2014", "seed: 2014\nskip: [xrmb, mnist]"):
        jobs = project.planned("--configfile", "config/paper.yaml")
    fetched = JOBS["data"]["paper"]["fetch"]
    assert jobs["fetch"] == fetched - 2
    assert jobs["rcca_path"] == 15
    assert jobs["rcca_gather"] == JOBS["rcca"]["paper"]["rcca_gather"]


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
    assert "All that these settings ask for was run.\n" in finished.screen
    assert finished.screen.endswith("Report: results/test/report.html\n")
    assert (results / "tables/rcca.meta.json").is_file()


def test_table_1_has_the_baselines_of_the_run(finished):
    results = finished.file("results/test")
    table = pd.read_csv(results / "tables/rcca.csv")
    digits = table[table["experiment"] == "digits"]
    assert digits["method"].tolist() == ["linear_cca", "fourier", "fourier", "dcca", "kcca", "kcca"]
    deep = pd.read_csv(results / "baselines/digits.dcca.csv")
    ours = digits[digits["method"] == "dcca"].iloc[0]
    assert ours["test_mean"] == pytest.approx(deep["test_sum"].iloc[0])
    assert ours["minutes_one_core"] == pytest.approx(deep["cpu_minutes"].iloc[0])
    assert "| exact kernel CCA, n = 200 |" in (results / "tables/rcca.md").read_text("utf-8")
    drawn = (results / "figures/rcca_minutes.svg").read_text("utf-8")
    assert "deep CCA, tuning rows" in drawn
    assert "architecture" in pd.read_csv(results / "tables/maps_sizes.csv")


def test_speech_split_by_groups_shares_no_row(finished):
    leaks = pd.read_csv(finished.file("results/test/tables/leaks.csv"))
    both = leaks[(leaks["kind"] == "duplicate in both") & (leaks["part"] == "test")]
    tested = {"digits": 300, "digits-wide": 300, "speech": 500}
    assert dict(zip(both["experiment"], both["of"], strict=True)) == tested
    assert (both["rows"] == 0).all()


def test_second_run_does_nothing(finished):
    code, screen = finished.launch("--configfile", "config/test.yaml")
    assert code == 0
    assert "Nothing to be done" in screen


@pytest.mark.parametrize(
    ("module", "old", "new", "jobs"),
    [
        ("reporting/figures.py", '"font.size": 9', '"font.size": 10', FIGURES),
        ("reporting/leaks.py", '"tune", "test"', '"test",', {"rcca_leaks_table": 1}),
        ("datasets/audit.py", "_CHUNK = 2048", "_CHUNK = 1024", AFTER_FITS),
        ("stages/rcca.py", '"rcca"', '"RCCA"', FITS | AFTER_FITS),
        (
            "datasets/embedded.py",
            "SPEECH_GROUPS = 100",
            "SPEECH_GROUPS = 50",
            {"prepare": 2} | FITS | AFTER_FITS | BESIDE,
        ),
    ],
)
def test_edited_module_reruns_the_stages_that_import_it(finished, module, old, new, jobs):
    with finished.edited(f"src/rnca/{module}", old, new):
        planned = finished.planned("rcca", "--configfile", "config/test.yaml")
        assert planned == jobs | {"rcca": 1}


def test_comments_and_docstrings_rerun_nothing(finished):
    new = '"""Stage rcca, told otherwise.\n"""  # a comment\n'
    old = finished.file("src/rnca/stages/rcca.py").read_text(encoding="utf-8").splitlines()[0]
    with finished.edited("src/rnca/stages/rcca.py", old, new):
        assert finished.planned("--configfile", "config/test.yaml") == {}
