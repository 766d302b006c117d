"""Publishing a finished run, and making one thing of a run."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import publish as publish_module
import pytest

ROOT = Path(__file__).parents[2]


def command(project, *arguments):
    process = project.start(*arguments)
    screen, _ = process.communicate(timeout=900)
    return process.returncode, screen


def publish(project, *stages):
    return command(project, "workflow/publish.py", "--configfile", "config/test.yaml", *stages)


def test_finished_run_is_published_with_its_provenance(finished):
    code, screen = publish(finished)
    assert code == 0, screen
    published = finished.file("results/published")
    for name in ("tables/rcca.md", "tables/rcca.tex", "figures/rcca.png", "rcca/digits.sums.csv"):
        of_run = finished.file("results/test") / name
        assert (published / name).read_bytes() == of_run.read_bytes()
    for place, pictures in ((finished.file("results/test"), True), (published, False)):
        assert any(place.glob("autoencoder/*.errors.csv"))
        assert any(place.glob("autoencoder/*.pictures.csv")) == pictures
    record = json.loads((published / "provenance.json").read_text(encoding="utf-8"))["rcca"]
    assert record["settings"]["digits"]["components"] == 3
    assert record["data"].keys() == {"digits", "synthetic-speech"}
    assert record["seconds_by_rule"]["rcca/digits"] > 0
    ledger = pd.read_csv(published / "tables" / "claims.csv")
    assert {"reproduced", "not run"} <= set(ledger["verdict"])
    assert "rcca-beats-linear-mnist" in (published / "report.html").read_text(encoding="utf-8")


CLAIMS = ROOT / "resources" / "paper" / "claims.yaml"


@pytest.mark.parametrize("file", ["tables/lupi_pairs.csv", "tables/baselines_race.csv"])
def test_csv_that_a_claim_rests_on_is_published_with_its_stage(tmp_path, monkeypatch, file):
    assert f"csv: {file}" in CLAIMS.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run = Path("results", "try")
    (run / "tables").mkdir(parents=True)
    for name in (file, file.replace(".csv", ".meta.json"), "tables/other.csv"):
        (run / name).write_text("x", encoding="utf-8")
    stage = SimpleNamespace(name=Path(file).name.partition("_")[0], results=str(run), outputs=list)
    copied = {path.name for path in publish_module.copy(stage)}
    assert copied == {Path(file).name, Path(file).with_suffix(".meta.json").name}


def test_unfinished_run_is_not_published(project):
    code, screen = publish(project)
    assert code == 1
    assert "results/test is not finished, so nothing was published" in screen
    assert "rcca_path" in screen
    assert not project.file("results/published").exists()


def test_unknown_stage_is_named(project):
    code, screen = publish(project, "rccca")
    assert code == 1
    assert "rccca: no stage of config/test.yaml" in screen


def test_one_figure_says_how_much_work_it_is_and_makes_no_other(project):
    code, screen = command(
        project, "workflow/one.py", "rcca_variants", "--configfile", "config/test.yaml"
    )
    assert code == 0, screen
    assert "all of stage rcca takes at least 1 min" in screen
    tables = {path.name for path in project.file("results/test/tables").glob("*.md")}
    assert tables == {"rcca_variants.md"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "mine.yaml: not a file of settings in YAML: [Errno 2] No such file"),
        ("run: [\n", "mine.yaml: not a file of settings in YAML: while parsing"),
        ("run: mine\nsed: 1\n", "sed: unknown key; did you mean 'seed'?"),
    ],
    ids=["missing", "no YAML", "mistaken"],
)
@pytest.mark.parametrize("script", ["one.py rcca", "publish.py", "doctor.py"])
def test_wrong_settings_end_with_a_sentence(project, script, text, sentence):
    if text is not None:
        project.file("mine.yaml").write_text(text, encoding="utf-8")
    code, screen = command(project, *f"workflow/{script} --configfile mine.yaml".split())
    assert code == 1
    assert sentence in screen
    assert "Traceback" not in screen


@pytest.mark.parametrize("name", ["nonsense", "summary"])
def test_unknown_figure_lists_those_there_are(project, name):
    code, screen = command(project, "workflow/one.py", name, "--configfile", "config/test.yaml")
    assert code == 1
    assert "\n  rcca_minutes\n" in screen


def test_readme_shows_the_published_tables_as_they_are():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = [match[2] for match in publish_module.SHOWN.finditer(text)]
    assert named
    for name in named:
        table = (ROOT / "results" / "published" / name).read_text(encoding="utf-8").strip()
        assert f"<!-- begin {name} -->\n{table}\n<!-- end -->" in text
