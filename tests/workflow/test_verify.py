"""`make verify`: damage, other numbers and missing data are told; the crate lists what is there."""

import copy
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rocrate.rocrate import ROCrate

from projects import COMMIT, TEST_SETTINGS
from workflow.data import DataError, FetchError
from workflow.lib.plan import Plan
from workflow.lib.provenance import record_of
from workflow.lib.publish import CRATE, publish, render
from workflow.lib.settings import check
from workflow.lib.verify import (
    choose,
    damages,
    differences,
    repeatable,
    report,
    tolerances,
    verify_published,
)

TEST = ("--configfile", "config/test.yaml")


@pytest.fixture(scope="module")
def source(finished, tmp_path_factory):
    """A copy of the finished project, published as if all of it came from one commit."""
    project = copy.copy(finished)
    project.directory = tmp_path_factory.mktemp("verified") / "a b"
    project.environment = finished.environment | {"PYTHONPATH": str(project.file("src"))}
    shutil.copytree(finished.directory, project.directory)
    for file in project.directory.glob("results/test/**/*.json"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('"commit": null', f'"commit": "{40 * "0"}"'), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.directory)
        plan = Plan(check(TEST_SETTINGS))
        publish(plan, TEST_SETTINGS, Path("results", "published"))
    return project


@pytest.fixture
def published(source):
    """What is published, restored when the test has ended."""
    directory, kept = source.file("results/published"), source.file("kept")
    shutil.copytree(directory, kept)
    yield directory
    shutil.rmtree(directory)
    kept.rename(directory)


def record_in(published):
    return json.loads((published / "record.json").read_text(encoding="utf-8"))


def keep(published, record, *rules):
    """Write the record with the jobs of few rules, and of the page, which has the settings."""
    rules = {"page", *rules}
    record["jobs"] = {k: each for k, each in record["jobs"].items() if each["rule"] in rules}
    (published / "record.json").write_text(json.dumps(record), encoding="utf-8")


def scale(published, record, name, column, factor):
    """Multiply a number in the first row of a CSV, record the new checksum, return the number."""
    file = published / name
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    frame.loc[0, column] = str(float(frame.loc[0, column]) * factor)
    frame.to_csv(file, index=False)
    record["files"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return frame.loc[0, column]


@pytest.mark.parametrize(
    ("name", "damage", "word"),
    [
        ("bounds/draws.csv", lambda file: file.write_bytes(file.read_bytes() + b"\n"), "changed"),
        ("report.html", Path.unlink, "missing"),
        ("tables/more.md", Path.touch, "new"),
        ("ro-crate-metadata.json", lambda file: file.write_text(""), "changed"),
        ("ro-crate-metadata.json", Path.unlink, "missing"),
        ("bench/peers.csv", lambda file: (file.parent.mkdir(), file.touch()), None),
    ],
)
def test_file_that_is_not_as_recorded_is_named(published, name, damage, word, capsys):
    damage(published / name)
    intact = f"all {len(record_in(published)['files'])} files are as recorded"
    assert verify_published(published, 0) == (1 if word else 2)
    assert (f"{name}: {word}" if word else intact) in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "{", "[]", '{"files": 1}'])
def test_file_that_is_no_record_is_told(tmp_path, text, capsys):
    if text:
        (tmp_path / "record.json").write_text(text, encoding="utf-8")
    assert verify_published(tmp_path, 5) == 1
    assert "not a record of what is published" in capsys.readouterr().out


def test_jobs_are_computed_anew_and_agree(source, published):
    keep(published, record_in(published), "bounds_sweep", "extensions_dependence", "rpca_fit")
    code, screen = source.run("-m", "workflow.cli", "verify")
    assert code == 0, screen
    assert "3 jobs recomputed" in screen
    assert "with other" not in screen


def test_rows_of_every_job_are_found_and_changed_ones_told(source, published, capsys):
    record = record_in(published)
    jobs = repeatable(record)
    stages = {"autoencoder", "bounds", "extensions", "lupi", "rcca", "rpca"}
    assert {job.rule.partition("_")[0] for job in jobs} == stages
    assert not {"rcca_deep", "rcca_timing", "rcca_leaks"} & {job.rule for job in jobs}
    assert report(published, source.file("results/test"), jobs) == 0
    for name, column, factor in (
        ("rcca/sums.csv", "test_sum", 1 + 3e-5),
        ("lupi/settings.csv", "test_accuracy", 1.05),
    ):
        number = scale(published, record, name, column, factor)
        capsys.readouterr()
        assert report(published, source.file("results/test"), jobs) == 1
        assert f"{name}, line 2, {column}: {number}, recomputed" in capsys.readouterr().out


def test_changed_number_whose_checksum_is_recorded_is_told(source, published):
    record = record_in(published)
    scale(published, record, "bounds/draws.csv", "cca_error_yx", 1.01)
    keep(published, record, "bounds_sweep")
    code, screen = source.run("-m", "workflow.cli", "verify")
    assert code == 1, screen
    agree, values = map(int, re.search(r"(\d+) of (\d+) values agree", screen).groups())
    assert agree == values - 1 > 100
    assert "line 2, cca_error_yx" in screen


def test_other_settings_and_code_are_told(source, published, capsys):
    jobs = repeatable(record_in(published))[:1]
    asked = jobs[0].request
    asked["code"], asked["settings"]["seed"] = "another", 0
    report(published, source.file("results/test"), jobs)
    screen = capsys.readouterr().out
    assert "1 jobs were recomputed with other settings" in screen
    assert "1 jobs were recomputed with other code" in screen


def test_without_data_nothing_is_verified(published, monkeypatch, capsys):
    def refuse(source):
        raise FetchError(f"{source.title}: could not be fetched. Sources tried:\n  none")

    text = json.dumps(record_in(published)).replace("prepared/digits", "prepared/mnist")
    keep(published, json.loads(text), "rpca_fit")
    monkeypatch.setattr("workflow.lib.verify.fetch_source", refuse)
    assert verify_published(published, 5) == 2
    assert "1 jobs on mnist, which is unavailable (" in capsys.readouterr().out


def test_published_results_are_rendered_again_from_their_csvs(source, published):
    """Reports that read what is not published stay: here those with models and with pictures."""
    before = record_in(published)
    bytes_before = {name: (published / name).read_bytes() for name in before["files"]}
    command = ("-m", "workflow.cli", "publish", "--render", *TEST)
    code, screen = source.run(*command)
    assert code == 1
    assert "the commit of the results is unknown" in screen

    with source.edited("workflow/lib/page.html.jinja", "<footer>", "<footer>Rendered again. "):
        made = subprocess.check_output(["sh", "-ec", COMMIT], text=True, cwd=source.directory)
        try:
            code, screen = source.run(*command)
        finally:
            shutil.rmtree(source.file(".git"))
    assert code == 0, screen
    record = record_in(published)
    assert damages(published, record["files"]) == []
    assert record["commits"]["lupi"] == [40 * "0"]
    assert record["commits"]["rendering"] == sorted([40 * "0", made.strip()])
    page = (published / "report.html").read_text(encoding="utf-8")
    assert "<footer>Rendered again. " in page
    changed = {
        name for name, content in bytes_before.items() if (published / name).read_bytes() != content
    }
    assert changed == {"report.html", CRATE}
    drawn = {Path(name).stem for name in bytes_before if name.endswith(".svg")}
    assert {"autoencoder", "rcca", "lupi", "lupi-narrow"} <= drawn
    commits = {
        each["rule"]: record["environments"][each["environment"]]["commit"]
        for each in record["jobs"].values()
    }
    assert commits["lupi_report"] == commits["page"] == made.strip()
    assert commits["autoencoder_report"] == commits["rcca_report"] == commits["lupi_fit"]


@pytest.mark.parametrize(
    ("table", "seed", "sentence"),
    [
        ("| m |", 1, "is damaged, restore it first: tables/lupi.md: changed"),
        (None, 2, "seed 2 is not that of the published run, 1. Give the settings of that run"),
    ],
    ids=["damaged", "other settings"],
)
def test_damaged_results_or_other_settings_are_not_rendered(published, table, seed, sentence):
    if table:
        (published / "tables/lupi.md").write_text(table, encoding="utf-8")
    with pytest.raises(DataError, match=sentence):
        render(published, TEST_SETTINGS | {"seed": seed})


def test_stages_take_turns_within_the_budget(published):
    record = record_in(published)
    jobs = repeatable(record)
    for job in jobs:
        object.__setattr__(job, "seconds", 1.0)
    few = choose(jobs, {}, 6)
    assert len({job.rule.partition("_")[0] for job in few}) == len(few) == 6
    assert set(choose(jobs, {}, 1e9)) == set(jobs)
    preparing = {name: 99.0 for job in jobs for name in job.datasets}
    assert not any(job.datasets for job in choose(jobs, preparing, 50))


def test_crate_lists_every_published_file(published):
    crate = ROCrate(published)
    record = record_in(published)
    listed = {each.id: each for each in crate.data_entities}
    made_of_it = {name: sha256 for name, sha256 in record["files"].items() if name != CRATE}
    for name, sha256 in made_of_it.items():
        assert listed[name]["sha256"] == sha256
    assert "record.json" in listed
    assert crate.mainEntity.id == "Snakefile"
    (action,) = crate.get_by_type("CreateAction")
    assert {each.id for each in action["result"]} == made_of_it.keys() - {"Snakefile"}
    assert {each.id for each in action["object"]} >= {"#digits"}


@pytest.mark.parametrize(
    ("name", "change", "seed", "words"),
    [
        ("rcca/digits/fourier-m20.timing.csv", {"processor": "abacus"}, 1, "times of stage rcca"),
        ("rpca/digits/all.times.csv", {"commit": 40 * "1"}, 2, "with other settings or code"),
        ("lupi/digits/0.accuracy.csv", {"commit": f"{40 * '0'}+changes"}, 1, "without changes"),
        ("lupi/digits/0.settings.csv", {"commit": None}, 1, "commit of the results is unknown"),
    ],
)
def test_results_of_other_settings_machines_or_changed_code_are_not_published(
    source, monkeypatch, name, change, seed, words
):
    monkeypatch.chdir(source.directory)
    file, config = record_of(Path("results/test", name)), TEST_SETTINGS | {"seed": seed}
    kept = file.read_text(encoding="utf-8")
    record = json.loads(kept)
    record["environment"] |= change
    file.write_text(json.dumps(record), encoding="utf-8")
    try:
        with pytest.raises(DataError, match=words):
            publish(Plan(check(config)), config, Path("results", "published"))
    finally:
        file.write_text(kept, encoding="utf-8")


def test_stages_may_come_from_several_clean_commits(source, monkeypatch, tmp_path):
    """If the present commit asks of them what they were asked."""
    monkeypatch.chdir(source.directory)
    other = f'"commit": "{40 * "1"}"'
    for file in Path("results/test/lupi").glob("*/*.json"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(f'"commit": "{40 * "0"}"', other), encoding="utf-8")
    publish(Plan(check(TEST_SETTINGS)), TEST_SETTINGS, tmp_path / "published")
    commits = record_in(tmp_path / "published")["commits"]
    assert (commits["lupi"], commits["rcca"]) == ([40 * "1"], [40 * "0"])


@pytest.mark.parametrize(
    ("kind", "column", "values", "allowed"),
    [
        ("rcca/sums", "test_sum", [2.0, -5.0], [5e-5, 5e-5]),
        ("rcca/sums", "test_sum", [0.0, 0.5], [1e-5, 1e-5]),
        ("bounds/draws", "norm", [2.0, 0.0], [2e-5, 2e-5]),
        ("rcca/sums", "seconds", [1.0, 2.0], [np.nan, np.nan]),
        ("rcca/cv", "chosen", [1.0, 0.0], [np.nan, np.nan]),
        ("lupi/accuracy", "test_accuracy", [50.0, 60.0], [np.nan, np.nan]),
        ("lupi/settings", "test_accuracy", [50.0, 60.0], [1.2, 1.2]),
        ("extensions/clustering", "nmi_exact", [0.5, 1.0], [0.02, 0.02]),
    ],
)
def test_what_numbers_may_differ_by(kind, column, values, allowed):
    found = tolerances(kind, pd.DataFrame({column: map(str, values)}))[:, 0]
    np.testing.assert_allclose(found, np.array(allowed) + 1e-9, rtol=1e-12)


def test_rows_of_a_job_are_those_that_name_it(tmp_path):
    files = tmp_path / "stage" / "sums.csv", tmp_path / "one" / "a-1.sums.csv"
    rows = {"experiment": "one", "stem": ["a-0", "a-1", "a-1"], "m": [1, 1, 2]}
    for file, frame in zip(files, (rows, {"m": [1, 3]}), strict=True):
        file.parent.mkdir()
        pd.DataFrame(frame).to_csv(file, index=False)
    assert differences(*files) == (2, [f"{files[0]}, line 4, m: 2, recomputed 3"])
    pd.DataFrame({"m": [1]}).to_csv(files[1], index=False)
    assert differences(*files)[1] == [f"{files[0]}: 2 rows of one/a-1.sums.csv, recomputed 1"]


@pytest.mark.parametrize(("reg", "told"), [("1e-14", 1), ("1e-09", 2)])
def test_errors_are_compared_less_closely_where_reg_is_near_rounding(tmp_path, reg, told):
    files = tmp_path / "autoencoder" / "errors.csv", tmp_path / "mnist" / "0.csv"
    for file, errors in zip(files, ([0.1, 0.1], [0.10001, 0.102]), strict=True):
        file.parent.mkdir()
        rows = {"experiment": "mnist", "reg": reg, "test_error": errors}
        pd.DataFrame(rows).to_csv(file, index=False)
    values, lines = differences(*files)
    assert (values, len(lines)) == (2 * 3, told)
