"""The commands beside running: doctor, figure, publish; test_verify.py has verify."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workflow.lib.publish import _replace as replace_published
from workflow.lib.publish import publish

ROOT = Path(__file__).parents[2]
TEST = ("--configfile", "config/test.yaml")


def cli(project, *arguments, **variables):
    return project.run("-m", "workflow.cli", *arguments, **variables)


def commit(project):
    """Make the project a git tree with one commit; return its name."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    ignore = "/results/*\n/data/\n.snakemake/\n__pycache__/\n"
    project.file(".gitignore").write_text(ignore, encoding="utf-8")
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "one"]):
        subprocess.run(["git", *identity, *arguments], cwd=project.directory, check=True)
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(
        command, cwd=project.directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_run_of_no_known_commit_is_not_published(finished):
    code, screen = cli(finished, "publish", *TEST)
    assert code == 1
    assert "the commit of the results is unknown" in screen
    assert not finished.file("results/published").exists()


def test_clean_run_is_published_with_one_record(project, monkeypatch):
    monkeypatch.chdir(project.directory)
    made = commit(project)
    code, screen = project.launch("lupi", *TEST)
    assert code == 0, screen
    published = project.file("results/published")
    (published / "old").mkdir(parents=True)
    count = publish(project.file("results/test"), published)
    names = {str(file.relative_to(published)) for file in published.rglob("*") if file.is_file()}
    assert count == len(names)
    assert {"lupi/accuracy.csv", "tables/lupi.md", "record.json"} <= names
    assert not any(name.endswith(".svg") for name in names)
    record = json.loads((published / "record.json").read_text(encoding="utf-8"))
    assert record["fits"] == record["rendering"] == made
    assert record["files"].keys() == names - {"record.json", "ro-crate-metadata.json"}
    fit = record["jobs"]["lupi/digits/0.accuracy.csv"]
    assert record["requests"][fit["request_file"]]["settings"]["folds"] == 2
    assert record["environments"][fit["environment"]]["commit"] == made

    with monkeypatch.context() as patch:
        patch.setattr("workflow.lib.publish.write_text", None)  # as if killed half way
        with pytest.raises(TypeError):
            publish(project.file("results/test"), published)
    assert names == {
        str(file.relative_to(published)) for file in published.rglob("*") if file.is_file()
    }
    project.file("link").symlink_to(published)
    with pytest.raises(Exception, match="link is a link"):
        publish(project.file("results/test"), project.file("link"))

    csv = project.file("results/test/lupi/accuracy.csv")
    csv.write_text(csv.read_text(encoding="utf-8").replace("surf", "rcca", 1), encoding="utf-8")
    with pytest.raises(Exception, match="not what its record says was written"):
        publish(project.file("results/test"), published)
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
    names = {file.name for file in published.rglob("*") if file.is_file()}
    assert names == {"memory.csv", "report.html", "record.json"}


def test_unfinished_run_is_not_published(project):
    code, screen = cli(project, "publish", *TEST)
    assert code == 1
    assert "results/test is not finished, so nothing was published" in screen
    assert "rcca_fit" in screen
    assert not project.file("results/published").exists()


def test_one_figure_says_how_much_work_it_is(project):
    code, screen = cli(project, "figure", "lupi", *TEST, "--dry-run")
    assert code == 0, screen
    assert "all of stage lupi takes at least 1 min" in screen
    assert "rcca_fit" not in screen


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "mine.yaml: not a file of settings in YAML: [Errno 2] No such file"),
        ("run: [\n", "mine.yaml: not a file of settings in YAML: while parsing"),
        ("run: mine\nsed: 1\n", "sed: unknown key; did you mean 'seed'?"),
        (
            "- run\n",
            "mine.yaml: not a file of settings in YAML: it must consist of keys and values",
        ),
    ],
    ids=["missing", "no YAML", "mistaken", "a list"],
)
@pytest.mark.parametrize("command", [("figure", "rcca"), ("publish",), ("doctor",)], ids=str)
def test_wrong_settings_end_with_a_sentence(project, command, text, sentence):
    if text is not None:
        project.file("mine.yaml").write_text(text, encoding="utf-8")
    code, screen = cli(project, *command, "--configfile", "mine.yaml")
    assert code == 1
    assert sentence in screen
    assert "Traceback" not in screen


@pytest.mark.parametrize("name", ["nonsense", "summary"])
def test_unknown_figure_lists_those_there_are(project, name):
    code, screen = cli(project, "figure", name, *TEST)
    assert code == 1
    assert "\n  rcca_minutes\n" in screen


def test_doctor_says_whether_each_dataset_is_available(project, tmp_path):
    project.file("mine.yaml").write_text(
        "run: mine\nprepare: [mnist, xrmb, digits]\nskip: [awa]\n", encoding="utf-8"
    )
    (tmp_path / "mirror").mkdir()
    mirror = str(tmp_path / "mirror")
    code, screen = cli(project, "doctor", "--configfile", "mine.yaml", RNCA_MIRROR=mirror)
    assert code == 0, screen
    said = dict(re.findall(r"^(\S+) +(.+?)(?:;.*)?$", screen, flags=re.MULTILINE))
    assert said["Fits"] == "none in these settings"
    assert said["mnist"] == "from the network, untried"
    assert said["digits"] == "embedded"
    assert said["awa"] == "left out by `skip`"
    code, screen = cli(project, "doctor", "--configfile", "mine.yaml", RNCA_MIRROR="nowhere")
    assert code == 1
    assert "nowhere is not a readable directory" in screen
