"""docs/add-a-stage.md, carried out in a copy of the project."""

import re
from pathlib import Path

import yaml

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-stage.md").read_text(encoding="utf-8")
FILES = re.findall(r"\*\*: `(workflow/\S+)`\n\n```\w+\n(.*?)^```", PAGE, flags=re.DOTALL | re.M)
INCLUDE, SETTINGS = (
    re.findall(rf"^```{kind}\n({first}.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)[0]
    for kind, first in (("snakemake", "include"), ("yaml", "run"))
)


def test_the_page_adds_a_stage(project):
    assert len(FILES) == 5
    for name, text in FILES:
        project.file(name).parent.mkdir(exist_ok=True)
        project.file(name).write_text(text, encoding="utf-8")
    project.file("workflow/stages/shape/__init__.py").write_text('"""Shapes."""\n', "utf-8")
    project.file("mine.yaml").write_text(SETTINGS, encoding="utf-8")
    last = 'include: "workflow/report.smk"'
    snakefile = project.file("Snakefile")
    with_stage = snakefile.read_text("utf-8").replace(last, f"{INCLUDE}{last}")
    snakefile.write_text(with_stage, "utf-8")

    code, screen = project.launch("--configfile", "mine.yaml")
    assert code == 0, screen
    assert "shape: The views have 32 columns.\n" in screen
    assert "Rows and columns of the two views." in project.file(
        "results/shapes/report.html"
    ).read_text("utf-8")
    assert project.planned("--configfile", "mine.yaml") == {}

    with project.edited("mine.yaml", "every: 2", "every: 3"):
        assert project.planned("--configfile", "mine.yaml")["shape_fit"] == 1
    exhibits = "workflow/stages/shape/exhibits.yaml"
    with project.edited(exhibits, "Rows and columns", "Columns and rows"):
        assert project.planned("--configfile", "mine.yaml").keys() == {"page", "all"}
    fit = "workflow/stages/shape/fit.py"
    with project.edited(fit, "view.shape[0]", "len(view)"):
        assert project.planned("--configfile", "mine.yaml")["shape_fit"] == 1

    settings = yaml.safe_load(SETTINGS)
    settings["shape"]["digits"]["evry"] = 2
    project.file("mine.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    code, screen = project.launch("--configfile", "mine.yaml")
    assert code == 1
    assert "shape.digits.evry: unknown key; did you mean 'every'?" in screen
