"""The workflow on config/test.yaml: planned, run, run again, edited."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml

from projects import EXPERIMENT, ROOT, TEST_SETTINGS, changed
from rnca import load_model
from workflow.lib.claims import read_claims
from workflow.lib.exhibits import read_exhibits, stage_names
from workflow.lib.page import typeset
from workflow.lib.provenance import record_of
from workflow.lib.settings import check

TEST = ("--configfile", "config/test.yaml")
MINE = ("--configfile", "mine.yaml")
# Made again whenever anything that is shown changes.
SHOWN = {"claims", "page", "summary", "all"}


@pytest.mark.parametrize("config", ["config", "test", "paper"])
def test_dry_run_plans_every_stage_without_network(project, config):
    planned = project.planned("--configfile", f"config/{config}.yaml")
    for stage in stage_names():
        assert planned[f"{stage}_report"] == 1
    assert planned["page"] == planned["claims"] == planned["summary"] == planned["all"] == 1
    assert ("fetch" in planned) == (config == "paper")
    assert not project.file("data/prepared").exists()


@pytest.mark.parametrize("stage", stage_names())
def test_target_of_a_stage_plans_its_jobs_alone(project, stage):
    planned = project.planned(stage, *TEST)
    others = {f"{other}_report" for other in stage_names() if other != stage}
    assert planned[f"{stage}_report"] == planned[stage] == 1
    assert not others & planned.keys()
    assert not SHOWN & planned.keys()


@pytest.mark.parametrize("stage", stage_names())
def test_run_without_a_stage_has_no_job_of_it(project, stage):
    settings = yaml.safe_dump(changed(TEST_SETTINGS, stage, ...))
    project.file("mine.yaml").write_text(settings, encoding="utf-8")
    planned = project.planned(*MINE)
    assert not [rule for rule in planned if rule.startswith(f"{stage}_")]
    assert planned["page"] == 1


def test_target_data_plans_every_dataset_and_nothing_else(project):
    planned = project.planned("data", "--configfile", "config/paper.yaml")
    assert planned.keys() == {"fetch", "prepare", "data_table", "data"}


def test_skipped_dataset_is_not_planned_but_reported(project):
    everything = project.planned("--configfile", "config/paper.yaml")
    with project.edited("config/paper.yaml", "seed: 2014", "seed: 2014\nskip: [mnist]"):
        planned = project.planned("--configfile", "config/paper.yaml")
    assert planned["fetch"] == everything["fetch"] - 1
    assert planned["rcca_fit"] < everything["rcca_fit"]
    assert planned["rcca_report"] == 1


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
        assert (results / f"{name}.json").is_file()
    assert "All that these settings ask for was run.\n" in finished.screen
    assert finished.screen.rstrip().endswith("Report: results/test/report.html")
    summary = finished.screen[finished.screen.index("\nClaims: ") :].strip().splitlines()
    assert len(summary) <= 25
    assert max(map(len, summary)) <= 100
    for stage in stage_names():
        assert any(line.startswith(f"{stage}: ") for line in summary)


def test_every_table_and_figure_has_a_sentence(finished):
    results = finished.file("results/test")
    page = (results / "report.html").read_text(encoding="utf-8")
    settings = check(TEST_SETTINGS)
    for stage in stage_names():
        said = pd.read_csv(results / stage / "sentences.csv").set_index("exhibit")["sentence"]
        files = [each.file for each in read_exhibits(stage).of(getattr(settings, stage))]
        assert sorted(said.index) == sorted(files)
        for sentence in said:
            assert sentence.endswith(".")
            assert "nan" not in sentence
            assert typeset(sentence) in page


def test_claims_name_columns_that_the_run_has(finished):
    """A column that is not there selects no rows, so that a slip would read "not run"."""
    results = finished.file("results/test")
    for claim in read_claims(ROOT / "resources/paper/claims.yaml"):
        for rule in claim["rules"]:
            protocol = rule.get("protocol", {"csv": rule["csv"]})
            named = {rule["value"], *rule["where"], *rule.get("each", [])}
            named |= {rule[key] for key in ("low", "high", "error", "sd") if key in rule}
            settings = {*protocol.get("where", {}), *protocol.get("has", {})}
            for csv, columns in ((rule["csv"], named), (protocol["csv"], settings)):
                file = results / csv
                there = set(pd.read_csv(file, nrows=1)) if file.is_file() else columns
                assert columns <= there, (claim["id"], csv)


def test_table_1_has_the_baselines_of_the_run(finished):
    results = finished.file("results/test")
    table = pd.read_csv(results / "tables/rcca.csv")
    digits = table[table["experiment"] == "digits"]
    fitted = ["linear_cca", "fourier", "fourier", "dcca", "dcca2013", "kcca", "kcca"]
    assert digits["method"].tolist() == fitted
    deep = pd.read_csv(results / "rcca/dcca.csv")
    ours = digits[digits["method"] == "dcca"].iloc[0]
    assert ours["test_mean"] == pytest.approx(deep["test_sum"].iloc[0])
    assert ours["minutes_one_core"] == pytest.approx(deep["cpu_minutes"].iloc[0])
    assert "| exact kernel CCA, n = 200 |" in (results / "tables/rcca.md").read_text("utf-8")
    drawn = (results / "figures/rcca_minutes.svg").read_text("utf-8")
    assert "deep CCA, tuning rows" in drawn


def test_speech_split_by_groups_shares_no_row(finished):
    leaks = pd.read_csv(finished.file("results/test/tables/leaks.csv"))
    both = leaks[(leaks["kind"] == "duplicate in both") & (leaks["part"] == "test")]
    tested = {"digits": 300, "digits-wide": 300, "speech": 500}
    assert dict(zip(both["experiment"], both["of"], strict=True)) == tested
    assert (both["rows"] == 0).all()


def test_second_run_does_nothing(finished):
    code, screen = finished.launch(*TEST)
    assert code == 0
    assert "Nothing to be done" in screen


def edit(file):
    """Change a digit, and keep the time: nothing but the content tells."""
    kept = file.stat()
    file.write_bytes(file.read_bytes().replace(b"2", b"3"))
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def forge_request(file):
    """Claim that no request was made, of which no file says otherwise."""
    record = json.loads(record_of(file).read_text()) | {"request": None, "request_file": "none"}
    record_of(file).write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("harm", "name", "words"),
    [
        (edit, "tables/rcca.md", "not what its record says"),
        (edit, "tables/rcca.csv", "not what its record says"),
        (edit, "rcca/sums.csv", "not what its record says"),
        (edit, "rcca/digits/fourier-0.sums.csv", "not what its record says"),
        (lambda file: record_of(file).unlink(), "rcca/sums.csv", "has no record"),
        (forge_request, "rcca/digits/fourier-0.sums.csv", "not a record of a job"),
    ],
)
def test_edited_result_is_told_though_its_time_says_nothing(finished, harm, name, words):
    file = finished.file(f"results/test/{name}")
    kept = {each: (each.read_bytes(), each.stat()) for each in (file, record_of(file))}
    harm(file)
    code, screen = finished.launch(*TEST)
    for each, (content, times) in kept.items():
        each.write_bytes(content)
        os.utime(each, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert code == 1
    assert f"Not all results are what this run computed. results/test/{name}" in screen
    assert words in screen
    assert f"Delete results/test/{name} and run again to make it anew" in screen
    assert "All that these settings ask for was run." not in screen
    assert finished.launch(*TEST)[0] == 0


def test_deleted_part_is_made_anew(finished):
    part = finished.file("results/test/rcca/digits/leaks.csv")
    content = part.read_bytes()
    part.unlink()
    code, screen = finished.launch(*TEST)
    assert code == 0, screen
    assert part.read_bytes() == content


def test_deleted_output_that_none_asks_for_is_named_with_the_one_to_delete(finished):
    asked, gone = (
        f"results/test/rcca/digits/fourier-0.{kind}.csv" for kind in ("sums", "components")
    )
    kept = finished.file(gone).rename(finished.directory / "kept.csv")
    code, screen = finished.launch(*TEST)
    kept.rename(finished.file(gone))
    assert code == 1
    assert f"{gone}: gone since {asked} was made. Delete {asked} and run again" in screen
    assert finished.launch(*TEST)[0] == 0


@pytest.fixture
def without_snakemakes_records(finished):
    """The finished run without .snakemake, as on another machine or after a clean-up."""
    kept = finished.directory.parent / "kept"
    shutil.move(finished.file(".snakemake"), kept)
    yield finished
    shutil.rmtree(finished.file(".snakemake"), ignore_errors=True)
    shutil.move(kept, finished.file(".snakemake"))


def test_settings_count_without_snakemakes_records(without_snakemakes_records):
    finished = without_snakemakes_records
    assert finished.planned(*TEST) == {}
    with finished.edited("config/test.yaml", "seed: 1\n", "seed: 2\n"):
        planned = finished.planned(*TEST)
    assert {"rcca_fit", "lupi_fit", "bounds_sweep", "rcca_report", "page"} <= planned.keys()
    assert "prepare" not in planned
    assert finished.planned(*TEST) == {}


def test_code_counts_without_snakemakes_records(without_snakemakes_records):
    finished = without_snakemakes_records
    with finished.edited("workflow/stages/lupi/fit.py", "100.0 * scores", "99.0 * scores"):
        assert finished.planned(*TEST).keys() == {"lupi_fit", "gather", "lupi_report"} | SHOWN


def test_run_continues_on_another_machine(finished, project):
    """As docs/cluster.md says: the results are copied, the data are prepared there."""
    shutil.copytree(finished.file("results/test"), project.file("results/test"))
    assert project.launch("data", *TEST)[0] == 0
    assert {"rcca_fit", "lupi_fit", "rpca_fit"} <= project.planned(*TEST).keys()
    # As if a job had been killed before it wrote its record.
    project.file("results/test/lupi/digits/0.accuracy.csv.json").unlink()
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    block = text.partition("## Continue a run")[2].partition("```sh\n")[2].partition("```")[0]
    lines = [line for line in block.splitlines() if not line.startswith(("tar ", "make "))]
    script = "\n".join(lines).replace("results/paper", "results/test")
    said = subprocess.run(
        ["sh", "-ec", script], cwd=project.directory, capture_output=True, text=True, check=True
    ).stdout
    assert "data/prepared/digits/meta.json: OK\n" in said
    assert said.endswith("results/test/lupi/digits/0.accuracy.csv\n")
    planned = project.planned("--forcerun", "gather", *TEST)
    rendered = {"gather", *SHOWN, *(f"{stage}_report" for stage in stage_names())}
    assert {rule: planned[rule] for rule in planned.keys() - rendered} == {"lupi_fit": 1}


@pytest.mark.parametrize(
    ("file", "old", "new", "rules"),
    [
        ("workflow/data/audit.py", "_CHUNK = 2048", "_CHUNK = 1024", {"rcca_leaks", "gather"}),
        ("workflow/data/awa.py", "WORDS = 2000", "WORDS = 2001", set()),
        (
            "workflow/stages/rcca/tables.py",
            "_ERROR_LIMIT = 1e-3",
            "_ERROR_LIMIT = 1e-4",
            {"rcca_report"},
        ),
        ("workflow/stages/rcca/settings.py", "= 15\n", "= 16\n", set()),
        ("workflow/stages/lupi/settings.py", "classes on either side", "classes", set()),
        ("workflow/stages/rcca/kernel.py", '"kcca"', '"KCCA"', {"rcca_kernel", "gather"}),
    ],
)
def test_edited_module_reruns_the_jobs_that_import_it(finished, file, old, new, rules):
    with finished.edited(file, old, new):
        planned = finished.planned(*TEST).keys()
    assert rules <= planned
    fits = {"rcca_fit", "rcca_deep", "rcca_shard", "rcca_timing", "lupi_fit"}
    assert not planned & fits
    assert bool(planned) == bool(rules)


def test_edited_parser_prepares_its_datasets_anew(finished):
    with finished.edited("workflow/data/embedded.py", "PATCH_SIZE = 8", "PATCH_SIZE = 9"):
        assert {"prepare", "rpca_fit"} <= finished.planned(*TEST).keys()


def test_edited_library_reruns_the_fits_that_use_it(finished):
    with finished.edited("src/rnca/cca.py", "class RCCA(", "ADDED = 1\n\n\nclass RCCA("):
        planned = finished.planned(*TEST).keys()
    assert {"rcca_fit", "rcca_shard", "rcca_timing"} <= planned
    assert not {"lupi_fit", "bounds_sweep", "prepare"} & planned


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("rows: 100\n", "rows: 101\n", "rpca_fit"),
        ("repeats: 3\n      block: 3", "repeats: 4\n      block: 4", "bounds_sweep"),
        ("width: 0.5", "width: 0.6", "rcca_fit"),
        ("white: 16", "white: 15", "autoencoder_fit"),
        ("dependence: { rows: 50", "dependence: { rows: 51", "extensions_dependence"),
        ("costs: [1.0]", "costs: [2.0]", "lupi_fit"),
    ],
    ids=lambda value: value if "_" in value else "",
)  # fmt: skip
def test_changed_setting_reruns_the_fits_of_its_stage(finished, old, new, rule):
    with finished.edited("config/test.yaml", old, new):
        planned = finished.planned(*TEST).keys()
    stage = rule.partition("_")[0]
    assert {rule, f"{stage}_report"} <= planned
    others = {f"{other}_report" for other in stage_names() if other != stage}
    assert not others & planned


MODEL = EXPERIMENT | {"model": {"regs": [1e-3, 1e-1], "folds": 3, "permutations": 19}}


def test_replaced_own_data_are_used_and_missing_ones_refused(project):
    project.write_own(rcca={"own": MODEL})
    os.utime(project.file("views.npz"), (2**32, 2**32))  # by a clock that is wrong
    code, screen = project.launch(*MINE)
    assert code == 0, screen
    assert project.planned(*MINE) == {}
    model = load_model(project.file("results/mine/rcca/own/fourier.model.npz"))
    x = np.load(project.file("views.npz"))["x"]
    with np.load(project.file("results/mine/rcca/own/fourier.variables.npz")) as variables:
        np.testing.assert_allclose(model.transform(x), variables["x"], atol=1e-5)
    tested = pd.read_csv(project.file("results/mine/rcca/inference.csv"))
    assert tested["p_value"][0] == 0.05  # of 19 permutations
    page = project.file("results/mine/report.html").read_text(encoding="utf-8")
    assert "<h1>own data</h1>" in page
    assert page.index("exhibit-rcca_model") < page.index("exhibit-rcca-title")
    assert not re.search("the paper|Table 1|published", page[page.index("<body>") :])
    kept = project.file("views.npz").stat()
    project.write_own(x + 1.0, rcca={"own": MODEL})
    os.utime(project.file("views.npz"), (kept.st_atime - 9999, kept.st_mtime - 9999))
    shutil.rmtree(project.file(".snakemake"))
    assert {"prepare", "rcca_fit", "rcca_report"} <= project.planned(*MINE).keys()

    project.file("views.npz").unlink()
    code, screen = project.launch(*MINE)
    assert code == 1
    assert "datasets.mine: there is no file 'views.npz'" in screen
    assert "same command" not in screen


def test_numbers_of_other_settings_are_refused_by_plain_snakemake_too(project):
    project.write_own()
    code, screen = project.launch(*MINE)
    assert code == 0, screen
    with project.edited("mine.yaml", "reg: 0.001", "reg: 0.002"):
        # As if the fit had been made: only its file times say so.
        touched = ["--touch", "results/mine/rcca/own/fourier-0.sums.csv"]
        code, screen = project.run("-m", "snakemake", *MINE, *touched)
        assert code == 0, screen
        forced = ["--forcerun", "gather", "--rerun-triggers", "mtime", "--"]
        target = [*forced, "results/mine/rcca/sums.csv"]
        code, screen = project.run("-m", "snakemake", *MINE, *target)
    assert code == 1
    assert "made with other settings or code than results/mine/requests" in screen
