"""What every rule must say, what the profiles say of them, and how a stage is added."""

import json
import re
from types import SimpleNamespace

import pytest
import yaml

from projects import ROOT, TEST_SETTINGS
from workflow.lib.exhibits import stage_names
from workflow.lib.plan import Plan
from workflow.lib.settings import check, stage_model

DEFAULT, SLURM = (
    yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))
    for name in ("default", "slurm")
)
RULE_FILES = [ROOT / "workflow" / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]


def rules():
    """Return the text of every rule that is a job, with its file, by its name."""
    pattern = re.compile(r"^(?:rule|checkpoint) (\w+):\n((?: .*\n|\n)+)", re.MULTILINE)
    return {
        name: (file, rule)
        for file in RULE_FILES
        for name, rule in pattern.findall(file.read_text(encoding="utf-8"))
        if "    script:\n" in rule
    }


RULES = rules()


def script_of(name):
    file, rule = RULES[name]
    (script,) = re.findall(r'    script:\n        "(.+)"\n', rule)
    return (file.parent / script).resolve()


def test_no_rule_runs_anything_but_a_script():
    """Only of a script do we know which code it runs."""
    for file in RULE_FILES:
        assert not re.search(r"^    (shell|run|wrapper|notebook):", file.read_text("utf-8"), re.M)


def test_snakemakes_own_lint_finds_nothing(project):
    code, screen = project.run("-m", "snakemake", "--lint")
    assert code == 0, screen


@pytest.mark.parametrize("name", RULES)
def test_rule_has_environment_log_benchmark_request_and_resources(name):
    file, rule = RULES[name]
    (environment,) = re.findall(r'    conda:\n        "(.+)"\n', rule)
    # What reads sources needs more than what computes.
    wanted = "data.yaml" if name in ("fetch", "prepare") else "rnca.yaml"
    assert (file.parent / environment).resolve() == ROOT / "workflow" / "envs" / wanted
    (task,) = re.findall(r"        (?:\*\*(\w+)\.inputs|request=\w+\.request),\n", rule)
    task = task or re.search(r"request=(\w+)\.request", rule)[1]
    assert f"    log:\n        {task}.log,\n" in rule
    assert f"    benchmark:\n        {task}.benchmark\n" in rule
    module = script_of(name).relative_to(ROOT / "workflow").as_posix()
    stage, _, kind = name.partition("_")
    text = file.read_text("utf-8")
    if f'{task} = plan.rows("{stage}", "{kind}")\n' in text:
        assert module == stage_model(stage).kinds[kind].script
    elif f'{task} = plan.report("{stage}")\n' in text:
        assert module == f"stages/{stage}/report.py"
    elif f"{task} = plan.task" in text:
        assert re.search(rf'^{task} = plan.task\(\s*"[^"]+",\s*"{module}",', text, re.M)
    else:
        (method,) = re.findall(rf"^{task} = plan\.(\w+)\(", text, re.M)
        plan = Plan(check(TEST_SETTINGS))
        assert module == getattr(plan, method)(*([{}] if method == "page" else [])).script
    kinds = [
        "    localrule: True\n" in rule,
        '    group:\n        "report"\n' in rule,
        re.search(r"    resources:\n        (\*\*\w+\.resources|mem_mb=growing)", rule) is not None,
    ]
    assert kinds.count(True) == 1, f"{name}: local, grouped, with resources: {kinds}"


@pytest.mark.parametrize("stage", stage_names())
def test_every_kind_of_job_has_a_rule_and_every_rule_a_kind(stage):
    text = "".join(file.read_text("utf-8") for file in RULE_FILES)
    names = re.findall(r"^(?:use )?rule (?:\w+ as )?(\w+)(?: with)?:$", text, re.MULTILINE)
    wanted = {f"{stage}_{kind}" for kind in (*stage_model(stage).kinds, "report")}
    assert {name for name in names if name.startswith(f"{stage}_")} == wanted


def test_no_two_files_of_a_run_have_the_same_name():
    plan = Plan(check(TEST_SETTINGS))
    files = [file for file, *_ in plan.requests(TEST_SETTINGS)]
    assert len(set(files)) == len(files)
    fit = plan.rows("rcca", "fit")
    assert fit.outputs["sums"] == (
        "results/test/rcca/{experiment,digits|digits-wide|speech}/"
        "{stem,linear-0|fourier-0|nystroem-0}.sums.csv"
    )
    assert fit.log == "results/test/logs/rcca/{experiment}/{stem}.fit.log"
    assert fit.benchmark == "results/test/benchmarks/rcca/{experiment}/{stem}.fit.tsv"


def test_job_that_is_not_listed_is_named_with_those_that_are():
    rows = Plan(check(TEST_SETTINGS)).rows("lupi", "fit")
    with pytest.raises(ValueError, match="digits/3: no such job in the settings; there are digits"):
        rows.job(SimpleNamespace(experiment="digits", stem="3"))


@pytest.mark.parametrize("script", sorted(set(map(script_of, RULES))), ids=str)
def test_script_has_its_job_at_the_end_and_nothing_before_snakemakes_preamble(script):
    text = script.read_text(encoding="utf-8")
    assert '\nif __name__ == "__main__":\n' in text
    assert "from __future__" not in text
    assert ".settings import" not in text


def test_slurm_profile_keeps_what_the_default_one_says():
    for key in ("rerun-incomplete", "rerun-triggers", "keep-going", "show-failed-logs"):
        assert SLURM[key] == DEFAULT[key]
    assert "code" not in DEFAULT["rerun-triggers"]


def test_stages_do_not_import_each_other_and_the_library_knows_no_workflow():
    for stage in (ROOT / "workflow" / "stages").iterdir():
        for file in stage.glob("*.py"):
            used = re.findall(r"workflow\.stages\.(\w+)", file.read_text(encoding="utf-8"))
            assert set(used) <= {stage.name}, file
    for file in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) (workflow|pandas)", file.read_text("utf-8"), re.M)


def test_snakefile_and_jobs_find_the_library_of_their_own_project(project):
    """As in a conda environment, where Snakemake takes PYTHONPATH away."""
    del project.environment["PYTHONPATH"]
    first = "CATALOGUE = {"
    broken = f"raise ImportError(__file__)\n{first}"
    with project.edited("workflow/data/catalogue.py", first, broken):
        _, screen = project.run("-m", "snakemake", "--dry-run")
    assert str(project.file("workflow/data/catalogue.py")) in screen
    first = "    with job(snakemake) as asked:\n"
    shown = "    import sys\n    import rnca\n    print(rnca.__file__, file=sys.stderr)\n"
    with project.edited("workflow/stages/bounds/fit.py", first, f"{shown}{first}"):
        target = "results/test/bounds/tiny/block-0.draws.csv"
        _, screen = project.launch(target, "--configfile", "config/test.yaml")
    assert str(project.file("src/rnca/__init__.py")) in screen


def test_the_page_adds_a_stage(project):
    """docs/add-a-stage.md, carried out in a copy of the project."""
    page = (ROOT / "docs" / "add-a-stage.md").read_text(encoding="utf-8")
    block, flags = r"```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE
    files = re.findall(rf"\*\*: `(workflow/\S+)`\n\n{block}", page, flags)
    assert len(files) == 5
    include, settings = (
        text for text in re.findall(f"^{block}", page, flags) if text.startswith(("include", "run"))
    )
    last = 'include: "report.smk"'
    snakefile = (
        project.file("workflow/Snakefile").read_text("utf-8").replace(last, f"{include}{last}")
    )
    files += [("workflow/Snakefile", snakefile), ("mine.yaml", settings)]
    for name, text in (*files, ("workflow/stages/shape/__init__.py", '"""Shapes."""\n')):
        project.file(name).parent.mkdir(exist_ok=True)
        project.file(name).write_text(text, encoding="utf-8")

    mine = ("--configfile", "mine.yaml")
    project.ends(*mine)
    numbers = project.file("results/shapes/shape/numbers.json").read_text("utf-8")
    assert json.loads(numbers) == {"columns": 32}
    report = project.file("results/shapes/report.html").read_text("utf-8")
    assert "Rows and columns of the two views." in report
    assert project.planned(*mine) == {}

    with project.edited("mine.yaml", "every: 2", "every: 3"):
        assert project.planned(*mine)["shape_fit"] == 1
    exhibits = "workflow/stages/shape/exhibits.yaml"
    with project.edited(exhibits, "Rows and columns", "Columns and rows"):
        shown = {"shape_report", "claims", "page", "summary", "all"}
        assert project.planned(*mine).keys() == shown
    with project.edited("workflow/stages/shape/fit.py", "view.shape[0]", "len(view)"):
        assert project.planned(*mine)["shape_fit"] == 1
    with project.edited("mine.yaml", "every: 2", "every: 2, evry: 2"):
        screen = project.fails(*mine)
    assert "shape.digits.evry: unknown key; did you mean 'every'?" in screen
