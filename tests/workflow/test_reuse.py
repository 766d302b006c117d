"""The workflow from elsewhere: in another directory, as a module, deployed from a repository."""

import subprocess

import pytest
import yaml

from projects import COMMIT, EXPERIMENT

SPLIT = {"scheme": "random", "train": 1000, "test": 300}
TOY = {"run": "toy", "rcca": {"digits": EXPERIMENT | {"dataset": "digits", "split": SPLIT}}}
TABLE = "results/toy/tables/rcca.md"
HOST = """
configfile: "toy.yaml"

module rnca:
    snakefile:
        {snakefile}
    config:
        config

use rule * from rnca{names}

rule mine:
    default_target: True
    input:
        "{table}",
    output:
        "mine.md",
    shell:
        "cp {{input}} {{output}}"
"""
LOCAL, HOSTED = '"{}"', 'github("owner/rnca", path="workflow/Snakefile", commit="{}")'
WAYS = {
    "directory": (None, ""),
    "module": (LOCAL, ""),
    "prefix": (LOCAL, " as rnca_*"),
    "deployed": (HOSTED, " as rnca_*"),
}


def listed(directory):
    return {(file, file.lstat().st_mtime_ns) for file in directory.rglob("*")}


@pytest.mark.parametrize("way", WAYS)
def test_workflow_runs_from_elsewhere_and_leaves_its_own_files_alone(project, tmp_path, way):
    host, checkout, (snakefile, names) = tmp_path / "host", project.directory, WAYS[way]
    host.mkdir()
    (host / "toy.yaml").write_text(yaml.safe_dump(TOY), encoding="utf-8")
    # What Snakemake fetches from GitHub comes from the checkout.
    redirect = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "https://github.com/owner/rnca"}
    redirect |= {"GIT_CONFIG_KEY_0": f"url.file://{checkout}/.git.insteadOf"}
    project.environment |= redirect | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    project.environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    target = ["mine.md"]
    if snakefile is None:
        elsewhere = ["--snakefile", str(checkout / "workflow/Snakefile"), "--directory", str(host)]
        target = [*elsewhere, "--configfile", str(host / "toy.yaml"), TABLE]
    elif snakefile == HOSTED:
        commit = subprocess.check_output(["sh", "-ec", COMMIT], cwd=checkout, text=True).split()[-1]
        project.environment.pop("PYTHONPATH")
        snakefile = snakefile.format(commit)
    else:
        snakefile = snakefile.format(checkout / "workflow" / "Snakefile")
    if snakefile is not None:
        written = HOST.format(snakefile=snakefile, names=names, table=TABLE)
        (host / "Snakefile").write_text(written, encoding="utf-8")
    before = listed(checkout)
    project.directory = host
    code, screen = project.run("-m", "snakemake", "--cores", "1", *target)
    assert code == 0, screen
    assert "| RCCA, Fourier | 8 |" in (host / TABLE).read_text(encoding="utf-8")
    assert "Nothing to be done" in project.run("-m", "snakemake", "--cores", "1", *target)[1]
    assert listed(checkout) == before
