"""The workflow on config/test.yaml: planned, run, run again, edited."""

import json
import os
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from projects import EXPERIMENT, ROOT, TEST_SETTINGS, changed
from rnca import load_model
from workflow.lib.checks import close
from workflow.lib.claims import read_claims
from workflow.lib.exhibits import read_exhibits, stage_names
from workflow.lib.provenance import record_of
from workflow.lib.settings import check

TEST = ("--configfile", "config/test.yaml")
MINE = ("--configfile", "mine.yaml")
# As Snakemake says what a run is to make: here, everything.
ALL = SimpleNamespace(targets=[], until=[], omit_from=[])
# Made again whenever anything that is shown changes.
SHOWN = {"claims", "page", "summary", "all"}
# Columns that rules were written for before the code that makes them.
FORESEEN = {"pairing"}


@pytest.mark.parametrize(("config", "optimised"), [("config", "0"), ("test", "2"), ("paper", "0")])
def test_dry_run_plans_every_stage_without_network(project, config, optimised):
    options = ("--configfile", f"config/{config}.yaml")
    planned = project.planned(*options, PYTHONOPTIMIZE=optimised)
    for name in (*(f"{stage}_report" for stage in stage_names()), *SHOWN):
        assert planned[name] == 1
    assert ("fetch" in planned) == (config == "paper")
    assert not project.file("data/prepared").exists()
    if config == "paper":
        every_dataset = project.planned("data", *options).keys()
        assert every_dataset == {"fetch", "prepare", "data_table", "data"}
        with project.edited("config/paper.yaml", "seed: 2014", "seed: 2014\nskip: [mnist]"):
            fewer = project.planned(*options)
        assert fewer["fetch"] == planned["fetch"] - 1
        assert fewer["rcca_fit"] < planned["rcca_fit"]
        assert fewer["rcca_report"] == 1


def test_target_of_a_stage_needs_no_report_but_its_own(project):
    _, screen = project.run("-m", "snakemake", *stage_names(), "--rulegraph", *TEST)
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', screen))
    used = {(names[made], names[user]) for made, user in re.findall(r"(\d+) -> (\d+)", screen)}
    assert not SHOWN & set(names.values())
    for stage in stage_names():
        assert [made for made, user in used if user == stage] == [f"{stage}_report"]
        assert [user for made, user in used if made == f"{stage}_report"] == [stage]


@pytest.mark.parametrize("part", [slice(0, 3), slice(3, None)], ids=["first", "last"])
def test_run_of_some_stages_has_no_job_of_the_others(project, part):
    settings = TEST_SETTINGS
    for stage in stage_names()[part]:
        settings = changed(settings, stage, ...)
    project.file("mine.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    planned = project.planned(*MINE)
    for stage in stage_names():
        jobs = [rule for rule in planned if rule.startswith(f"{stage}_")]
        assert bool(jobs) == (stage not in stage_names()[part])
    assert planned["page"] == 1


def test_run_leaves_tables_figures_report_and_says_so(finished):
    results = finished.file("results/test")
    tables = [f"tables/{name}" for name in ("data.md", "rcca.md", "leaks.csv")]
    for name in (*tables, "figures/rcca.svg", "figures/rcca-narrow.svg", "report.html"):
        assert (results / name).stat().st_size > 0
        assert (results / f"{name}.json").is_file()
    assert "All that these settings ask for was run.\n" in finished.screen
    assert finished.screen.rstrip().endswith("Report: results/test/report.html")
    summary = finished.screen[finished.screen.index("\nClaims: ") :].strip().splitlines()
    assert len(summary) <= 25
    assert max(map(len, summary)) <= 100
    for stage in stage_names():
        assert any(line.startswith(f"{stage}: ") for line in summary)


def test_every_stage_has_numbers_and_every_table_and_figure_is_on_the_page(finished):
    results = finished.file("results/test")
    page = (results / "report.html").read_text(encoding="utf-8")
    settings = check(TEST_SETTINGS)
    empty = {"rcca_speakers"}  # there are no random frames beside the held-out utterances
    for stage in stage_names():
        numbers = (results / stage / "numbers.json").read_text(encoding="utf-8")
        assert len(numbers) > 20
        assert "NaN" not in numbers
        for each in read_exhibits(stage).of(getattr(settings, stage)):
            kind = "table" if each.file.endswith(".md") else "exhibit"
            stem = Path(each.file).stem
            assert (f'id="{kind}-{stem}"' in page) == (stem not in empty), stem


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
                assert columns - FORESEEN <= there, (claim["id"], csv)


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


def test_speech_split_by_groups_shares_no_row(finished):
    leaks = pd.read_csv(finished.file("results/test/tables/leaks.csv"))
    both = leaks[(leaks["kind"] == "duplicate in both") & (leaks["part"] == "test")]
    tested = {"digits": 300, "digits-wide": 300, "speech": 500}
    assert dict(zip(both["experiment"], both["of"], strict=True)) == tested
    assert (both["rows"] == 0).all()


def edit(file):
    """Change a digit, and keep the time: nothing but the content tells."""
    kept = file.stat()
    file.write_bytes(file.read_bytes().replace(b"2", b"3"))
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def flip(file):
    """Change a bit in the middle, and keep the time."""
    kept, content = file.stat(), bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def copy_of(name):
    """Put another file of the run, with its record, in the place of one."""

    def copy(file):
        other = next(above for above in file.parents if above.name == "test") / name
        for mine, its in ((file, other), (record_of(file), record_of(other))):
            shutil.copyfile(its, mine)

    return copy


def forge_request(file):
    """Claim that no request was made, of which no file says otherwise."""
    record = json.loads(record_of(file).read_text()) | {"request": None, "request_file": "none"}
    record_of(file).write_text(json.dumps(record))


@pytest.fixture
def harmed(finished):
    """Harm a file, which is restored with its time and its record when the test has ended."""
    kept = {}

    def harmed(harm, name):
        file = finished.file(f"results/test/{name}")
        for each in filter(Path.is_file, (file, record_of(file))):
            kept[each] = each.read_bytes(), each.stat()
        harm(file)

    yield harmed
    for each, (content, times) in kept.items():
        each.write_bytes(content)
        os.utime(each, ns=(times.st_atime_ns, times.st_mtime_ns))


def unrecord(file):
    record_of(file).unlink()


@pytest.mark.parametrize(
    ("harm", "name", "words"),
    [
        (edit, "summary.txt", "not what its record says"),
        (edit, "report.html", "not what its record says"),
        (edit, "tables/rcca.md", "not what its record says"),
        (edit, "tables/rcca.csv", "not what its record says"),
        (edit, "rcca/sums.csv", "not what its record says"),
        (edit, "rcca/digits/fourier-0.sums.csv", "not what its record says"),
        (flip, "rcca/digits/fourier-0.split.npz", "not what its record says"),
        (flip, "rcca/speech/nystroem.model.npz", "not what its record says"),
        (unrecord, "rcca/digits/fourier-0.split.npz", "has no record"),
        (copy_of("rcca/digits/linear-0.sums.csv"), "rcca/digits/fourier-0.sums.csv", "a copy of"),
        (copy_of("rcca/digits-wide/all.leaks.csv"), "rcca/digits/all.leaks.csv", "a copy of"),
        (unrecord, "summary.txt", "has no record"),
        (unrecord, "report.html", "has no record"),
        (unrecord, "rcca/sums.csv", "has no record"),
        (forge_request, "rcca/digits/fourier-0.sums.csv", "not a record of a job"),
    ],
)
def test_edited_result_is_told_though_its_time_says_nothing(
    finished, harmed, monkeypatch, capsys, harm, name, words
):
    monkeypatch.chdir(finished.directory)
    close(ALL, "results/test", 0.0)
    assert "All that these settings ask for was run." in capsys.readouterr().out
    harmed(harm, name)
    with pytest.raises(SystemExit, match=words) as error:
        close(ALL, "results/test", 0.0)
    assert capsys.readouterr().out == ""
    assert f"Not all results are what this run computed. results/test/{name}" in str(error.value)
    assert f"Delete results/test/{name} and run again to make it anew" in str(error.value)


def test_flipped_bit_of_prepared_data_is_told(finished, harmed, monkeypatch):
    monkeypatch.chdir(finished.directory)
    harmed(flip, "../../data/prepared/digits/x.npy")
    was = "data/prepared/digits/x.npy: its content does not match the sha256 in meta.json."
    with pytest.raises(SystemExit, match=f"{was} Delete the directory data/prepared/digits"):
        close(ALL, "results/test", 0.0)


@pytest.mark.parametrize("module", ["snakemake", "workflow.run"])
def test_second_run_does_nothing_but_tell_what_is_not_its_own(finished, harmed, module):
    code, screen = finished.run("-m", module, *TEST)
    assert code == 0
    assert "Nothing to be done" in screen
    assert "All that these settings ask for was run." in screen
    assert "All that these" not in finished.run("-m", module, "--dry-run", *TEST)[1]
    harmed(edit, "tables/rcca.md")
    code, screen = finished.run("-m", module, *TEST)
    assert code == 1
    assert "Not all results are what this run computed. results/test/tables/rcca.md" in screen
    assert "All that these settings ask for was run." not in screen


def test_deleted_output_that_none_asks_for_is_named_with_the_one_to_delete(
    finished, harmed, monkeypatch
):
    monkeypatch.chdir(finished.directory)
    asked, gone = (f"rcca/digits/fourier-0.{kind}.csv" for kind in ("sums", "components"))
    harmed(Path.unlink, gone)
    was = f"results/test/{gone}: gone since results/test/{asked} was made."
    with pytest.raises(SystemExit, match=f"{was} Delete results/test/{asked} and run again"):
        close(ALL, "results/test", 0.0)


def test_deleted_part_is_made_anew(finished):
    part = finished.file("results/test/rcca/digits/all.leaks.csv")
    content = part.read_bytes()
    part.unlink()
    finished.ends(*TEST)
    assert part.read_bytes() == content


def test_settings_and_code_count_without_snakemakes_records(finished, tmp_path):
    """As on another machine or after a clean-up."""
    kept = shutil.move(finished.file(".snakemake"), tmp_path)
    with finished.edited("config/test.yaml", "seed: 1\n", "seed: 2\n"):
        planned = finished.planned(*TEST)
    assert {"rcca_fit", "lupi_fit", "bounds_sweep", "rcca_report", "page"} <= planned.keys()
    assert "prepare" not in planned
    planned = planned_with(finished, FEWER_MAPS, RENAMED_EXHIBIT)
    assert planned == {"rcca_report", "lupi_report"} | SHOWN
    with finished.edited("workflow/stages/lupi/fit.py", "100.0 * scores", "99.0 * scores"):
        assert finished.planned(*TEST).keys() == {"lupi_fit", "lupi_report"} | SHOWN
    assert finished.planned(*TEST) == {}
    shutil.rmtree(finished.file(".snakemake"))
    shutil.move(kept, finished.directory)


def test_run_continues_on_another_machine(finished, project):
    """As docs/cluster.md says: the results are copied, the data are prepared there."""
    shutil.copytree(finished.file("results/test"), project.file("results/test"))
    project.ends("data", *TEST)
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
    reports = [f"{stage}_report" for stage in stage_names()]
    planned = project.planned("--forcerun", *reports, *TEST)
    rendered = {*SHOWN, *reports}
    assert {rule: planned[rule] for rule in planned.keys() - rendered} == {"lupi_fit": 1}


def planned_with(finished, *edits):
    """Return the rules that a dry run lists while some files are edited."""
    with ExitStack() as stack:
        for file, old, new in edits:
            stack.enter_context(finished.edited(file, old, new))
        return finished.planned(*TEST).keys()


FEWER_MAPS = ("config/test.yaml", "maps: [linear, fourier]", "maps: [fourier]")
RENAMED_EXHIBIT = ("workflow/stages/lupi/exhibits.yaml", "label: verdict\n", "label: verdicts\n")
AUDIT = ("workflow/data/audit.py", "_CHUNK = 2048", "_CHUNK = 1024")
KERNEL = ("workflow/stages/rcca/kernel.py", '"kcca"', '"KCCA"')
TABLES = ("workflow/stages/rcca/tables.py", "_ERROR_LIMIT = 1e-3", "_ERROR_LIMIT = 1e-4")
DEFAULT = ("workflow/stages/rcca/settings.py", "= 40, 110\n", "= 40, 111\n")
DESCRIPTION = ("workflow/stages/lupi/settings.py", "classes on either side", "classes")
PARSER = ("workflow/data/embedded.py", "PATCH_SIZE = 8", "PATCH_SIZE = 9")
UNUSED_PARSER = ("workflow/data/awa.py", "_ADMITTED = {", "ADDED = 1\n_ADMITTED = {")
LIBRARY = ("src/rnca/cca.py", "\n\n@dataclass", "\nADDED = 1\n\n\n@dataclass")
FITS = {"rcca_fit", "rcca_deep", "rcca_shard", "rcca_timing", "rpca_fit"}


@pytest.mark.parametrize(
    ("edits", "rules"),
    [
        ([AUDIT, KERNEL], {"rcca_leaks", "rcca_kcca", "rcca_report"}),
        ([TABLES], {"rcca_report"}),
        ([DEFAULT, DESCRIPTION, UNUSED_PARSER], set()),
        ([PARSER], {"prepare", "lupi_fit", *FITS}),
        ([LIBRARY], FITS),
    ],
    ids=["jobs", "report", "settings", "parser", "library"],
)
def test_edited_module_reruns_the_jobs_that_import_it(finished, edits, rules):
    planned = planned_with(finished, *edits)
    assert rules <= planned
    assert not (planned - rules) & {*FITS, "lupi_fit", "bounds_sweep", "prepare"}
    assert bool(planned) == bool(rules)


@pytest.mark.parametrize(
    "edits",
    [
        {
            "rpca_fit": ("rows: 100\n", "rows: 101\n"),
            "bounds_sweep": ("repeats: 3\n      block: 3", "repeats: 4\n      block: 4"),
            "rcca_fit": ("width: 0.5", "width: 0.6"),
        },
        {
            "autoencoder_fit": ("white: 16", "white: 15"),
            "extensions_dependence": ("dependence: { rows: 50", "dependence: { rows: 51"),
            "lupi_fit": ("costs: [1.0]", "costs: [2.0]"),
        },
    ],
    ids=lambda edits: " ".join(edits),
)
def test_changed_settings_rerun_the_fits_of_their_stages(finished, edits):
    planned = planned_with(finished, *(("config/test.yaml", *edit) for edit in edits.values()))
    assert edits.keys() <= planned
    stages = {rule.partition("_")[0] for rule in edits}
    assert {stage for stage in stage_names() if f"{stage}_report" in planned} == stages


MODEL = EXPERIMENT | {"model": {"regs": [1e-3, 1e-1], "folds": 3, "permutations": 19}}


def test_replaced_own_data_are_used_missing_ones_and_old_numbers_refused(project):
    project.write_own(rcca={"own": MODEL})
    os.utime(project.file("views.npz"), (2**32, 2**32))  # by a clock that is wrong
    project.ends(*MINE)
    assert project.planned(*MINE) == {}
    model = load_model(project.file("results/mine/rcca/own/fourier.model.npz"))
    x = np.load(project.file("views.npz"))["x"]
    with np.load(project.file("results/mine/rcca/own/fourier.variables.npz")) as variables:
        np.testing.assert_allclose(model.transform(x), variables["x"], atol=1e-5)
    tested = pd.read_csv(project.file("results/mine/rcca/inference.csv"))
    assert tested["p_value"][0] == 0.05  # of 19 permutations
    page = project.file("results/mine/report.html").read_text(encoding="utf-8")
    assert re.search("<h1>.+ finds .+ shared component|<h1>No component", page)
    assert page.index('id="exhibit-rcca_model"') < page.index('id="appendix"')
    assert not re.search("the paper|Table 1|published", page[page.index("<body>") :])

    with project.edited("mine.yaml", "reg: 0.001", "reg: 0.002"):
        # As if the fit had been made: only its file times say so.
        touched = ["--touch", "results/mine/rcca/own/fourier-0.sums.csv"]
        code, screen = project.run("-m", "snakemake", *MINE, *touched)
        assert code == 0, screen
        forced = ["--forcerun", "rcca_report", "--rerun-triggers", "mtime", "--"]
        target = [*forced, "results/mine/rcca/sums.csv"]
        code, screen = project.run("-m", "snakemake", *MINE, *target)
    assert code == 1
    assert "made with other settings or code than results/mine/requests" in screen

    kept = project.file("views.npz").stat()
    project.write_own(x + 1.0, rcca={"own": MODEL})
    os.utime(project.file("views.npz"), (kept.st_atime - 9999, kept.st_mtime - 9999))
    shutil.rmtree(project.file(".snakemake"))
    assert {"prepare", "rcca_fit", "rcca_report"} <= project.planned(*MINE).keys()

    project.file("views.npz").unlink()
    screen = project.fails(*MINE)
    assert "datasets.mine: there is no file 'views.npz'" in screen
    assert "same command" not in screen
