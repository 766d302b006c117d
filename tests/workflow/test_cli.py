"""The commands beside running: doctor, figure, publish; test_verify.py has verify."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from projects import COMMIT, ROOT, TEST_SETTINGS
from workflow import cli
from workflow.lib.plan import Plan
from workflow.lib.publish import _replace as replace_published
from workflow.lib.publish import publish
from workflow.lib.settings import check

TEST = ("--configfile", "config/test.yaml")
MINE = ("--configfile", "mine.yaml")


@pytest.fixture
def said(monkeypatch, capsys, tmp_path):
    """Call a command in this process and an empty directory; return its exit code and screen."""
    monkeypatch.chdir(tmp_path)

    def said(*arguments):
        monkeypatch.setattr(sys, "argv", ["cli", *arguments])
        return cli.main(), capsys.readouterr().out

    return said


def files_in(directory):
    return {str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file()}


def test_run_without_a_known_commit_or_unfinished_is_not_published(finished, project):
    for each, reason in (
        (finished, ["the commit of the results is unknown"]),
        (
            project,
            ["results/test is not finished, so nothing was published", "sums.csv: not made"],
        ),
    ):
        code, screen = each.run("-m", "workflow.cli", "publish", *TEST)
        assert code == 1
        assert all(words in screen for words in reason)
        assert not each.file("results/published").exists()


def test_clean_run_is_published_with_one_record(project, monkeypatch):
    monkeypatch.chdir(project.directory)
    made = subprocess.check_output(["sh", "-ec", COMMIT], text=True).strip()
    config = {key: TEST_SETTINGS[key] for key in ("run", "seed", "threads", "lupi")}
    project.file("mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    project.ends(*MINE)
    published = project.file("results/published")
    (published / "old").mkdir(parents=True)
    plan = Plan(check(config))
    count = publish(plan, config, published)
    names = files_in(published)
    assert count == len(names)
    assert {"lupi/accuracy.csv", "tables/lupi.md", "record.json"} <= names
    record = json.loads((published / "record.json").read_text(encoding="utf-8"))
    assert record["commits"] == {"lupi": [made], "rendering": [made]}
    assert record["files"].keys() == names - {"record.json"}
    fit = record["jobs"]["lupi/digits/0.accuracy.csv"]
    assert record["requests"][fit["request_file"]]["settings"]["folds"] == 2
    assert record["environments"][fit["environment"]]["commit"] == made

    with monkeypatch.context() as patch:
        patch.setattr("workflow.lib.publish.write_text", None)  # as if killed half way
        with pytest.raises(TypeError):
            publish(plan, config, published)
    assert files_in(published) == names
    project.file("link").symlink_to(published)
    with pytest.raises(Exception, match="link is a link"):
        publish(plan, config, project.file("link"))

    csv = project.file("results/test/lupi/accuracy.csv")
    csv.write_text(csv.read_text(encoding="utf-8").replace("surf", "rcca", 1), encoding="utf-8")
    with pytest.raises(Exception, match="not what its record says was written"):
        publish(plan, config, published)
    assert (published / "tables/lupi.md").is_file()


def test_benchmarks_survive_a_call_that_is_killed_between_its_renames(tmp_path, monkeypatch):
    published = tmp_path / "published"
    (published / "bench").mkdir(parents=True)
    (published / "bench" / "memory.csv").touch()
    rename = Path.rename
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *given: (rename(*given), sys.exit("killed")))
        with pytest.raises(SystemExit, match="killed"):
            replace_published(published, {"report.html": b""}, {})
    assert not published.exists()
    replace_published(published, {"report.html": b""}, {})
    assert files_in(published) == {"bench/memory.csv", "report.html", "record.json"}


def test_one_figure_says_how_much_work_it_is_and_asks_before_hours(project, monkeypatch):
    code, screen = project.run("-m", "workflow.cli", "figure", "lupi", *TEST, "--dry-run")
    assert code == 0, screen
    jobs = re.search(r"^total +(\d+)$", screen, re.M)[1]
    assert f"results/test/tables/lupi.md, results/test/figures/lupi.svg: {jobs} jobs" in screen
    assert "rcca_fit" not in screen
    assert "published run" not in screen

    published = project.file("results/published")
    published.mkdir(parents=True)
    shutil.copy(ROOT / "results" / "published" / "record.json", published)
    project.options["stdin"] = subprocess.DEVNULL
    code, screen = project.run("-m", "workflow.cli", "figure", "lupi")
    assert code == 1
    assert "Stage lupi of the published run took 1.6 h, on 2 cores of " in screen
    assert screen.endswith("Nothing was begun, since this is not a terminal: answer with YES=1.\n")
    code, screen = project.run("-m", "workflow.cli", "figure", "lupi", "--yes", "--list-rules")
    assert code == 0, screen
    assert "Nothing was begun" not in screen


@pytest.mark.parametrize(("answer", "agrees"), [("y", True), ("Yes ", True), ("", False)])
def test_only_yes_begins_hours_of_work(monkeypatch, answer, agrees):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert cli._answers_yes() == agrees


def test_published_times_count_overlapping_jobs_once_and_scale_with_cores(said, monkeypatch):
    """Two jobs of an hour, of which half an hour together, and one of an hour after them."""
    jobs = [("rcca_fit", 60, 60), ("rcca_cv", 60, 90), ("lupi_fit", 60, 150), ("page", None, 200)]
    record = {
        "environments": [{"cores": 2, "processor": "abacus"}],
        "jobs": {
            str(number): {
                "rule": rule,
                "seconds": minutes and 60 * minutes,
                "written": f"2026-01-01T{end // 60:02}:{end % 60:02}:00+00:00",
            }
            for number, (rule, minutes, end) in enumerate(jobs)
        },
    }
    Path("results", "published").mkdir(parents=True)
    Path("results", "published", "record.json").write_text(json.dumps(record))
    Path("mine.yaml").write_text("run: mine\n", encoding="utf-8")
    monkeypatch.setattr(cli, "available_cpu_count", lambda: 4)
    _, screen = said("doctor", *MINE)
    assert "took, on 2 cores of abacus: rcca 1.5 h, lupi 1.0 h.\n" in screen
    assert screen.endswith("make paper: about 1.2 h here; make run: 1 to 2 min.\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "mine.yaml: not a file of settings in YAML: [Errno 2] No such file"),
        ("run: [\n", "mine.yaml: not a file of settings in YAML: while parsing"),
        ("run: mine\nsed: 1\n", "sed: unknown key; did you mean 'seed'?"),
        ("- run\n", "not a file of settings in YAML: it must consist of keys and values"),
    ],
    ids=["missing", "no YAML", "mistaken", "a list"],
)
@pytest.mark.parametrize("command", [("figure", "rcca"), ("publish",), ("doctor",)], ids=str)
def test_wrong_settings_end_with_a_sentence(said, command, text, sentence):
    if text is not None:
        Path("mine.yaml").write_text(text, encoding="utf-8")
    code, screen = said(*command, *MINE)
    assert code == 1
    assert sentence in screen


@pytest.mark.parametrize("name", ["nonsense", "summary"])
def test_unknown_figure_lists_those_there_are(said, name):
    code, screen = said("figure", name, "--configfile", str(ROOT / "config" / "test.yaml"))
    assert code == 1
    assert "\n  rcca_minutes\n" in screen


def test_doctor_says_whether_each_dataset_is_available(said, monkeypatch, tmp_path):
    text = "run: mine\nprepare: [mnist, xrmb, digits]\nskip: [awa]\n"
    Path("mine.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("RNCA_MIRROR", str(tmp_path))
    code, screen = said("doctor", *MINE)
    assert code == 0, screen
    found = dict(re.findall(r"^(\S+) +(.+?)(?:;.*)?$", screen, flags=re.MULTILINE))
    assert found["Fits"] == "none in these settings"
    assert found["mnist"] == "from the network, untried"
    assert found["digits"] == "embedded"
    assert found["awa"] == "left out by `skip`"
    monkeypatch.setenv("RNCA_MIRROR", "nowhere")
    code, screen = said("doctor", *MINE)
    assert code == 1
    assert "nowhere is not a readable directory" in screen
