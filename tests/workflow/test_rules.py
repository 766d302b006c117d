"""What every rule must say, and what the SLURM profile says of them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEFAULT, SLURM = (
    yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))
    for name in ("default", "slurm")
)
GROUPED = dict(entry.split("=") for entry in SLURM["groups"])


def rules():
    """Return the text of every rule that runs a script, by its name."""
    files = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    parts = re.split(r"^(?:rule|checkpoint) (\w+):\n", text, flags=re.MULTILINE)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    return {name: rule for name, rule in named.items() if "    script:\n" in rule}


RULES = rules()


@pytest.mark.parametrize("name", RULES)
def test_rule_names_the_environment_for_conda(name):
    assert '    conda:\n        "../envs/rnca.yaml"\n' in RULES[name]


@pytest.mark.parametrize("name", RULES)
def test_rule_is_local_or_small_or_says_what_it_needs_and_more_if_tried_again(name):
    """A small rule goes into a group of profiles/slurm; any other states memory and time."""
    kinds = [
        "    localrule: True\n" in RULES[name],
        name in GROUPED,
        all(f"        {what}=growing(" in RULES[name] for what in ("mem_mb", "runtime")),
    ]
    assert kinds.count(True) == 1, f"{name}: local, grouped, with resources: {kinds}"


def test_profile_groups_rules_that_exist():
    assert set(GROUPED) <= set(RULES)


def test_slurm_profile_keeps_what_the_default_one_says():
    for key in ("rerun-incomplete", "keep-going", "show-failed-logs"):
        assert SLURM[key] == DEFAULT[key]


def without_path(project):
    return {key: value for key, value in project.environment.items() if key != "PYTHONPATH"}


def test_script_finds_the_library_of_its_own_project(project):
    """As in a conda environment, where Snakemake takes PYTHONPATH away."""
    code = "import sys; sys.path.append(sys.argv[1]); import job, rnca; print(rnca.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code, project.file("workflow/scripts")],
        env=without_path(project),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == project.file("src/rnca/__init__.py")


def test_snakefile_finds_the_library_of_its_own_project(project):
    first = "CATALOGUE = {"
    broken = f"raise ImportError\n{first}"
    with project.edited("src/rnca/datasets/catalogue.py", first, broken):
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--dry-run"],
            cwd=project.directory,
            env=without_path(project),
            capture_output=True,
            text=True,
            check=False,
        )
    assert str(project.file("src/rnca/datasets/catalogue.py")) in done.stdout
