"""The workflow from elsewhere: in another directory, as a module, deployed from a repository."""

import subprocess

import pytest
import yaml

from projects import COMMIT, EXPERIMENT

SPLIT = {"scheme": "random", "train": 1000, "test": 300}
TOY = {"run": "toy", "rcca": {"digits": EXPERIMENT | {"dataset": "digits", "split": SPLIT}}}
# The table is made with files of the project.
FIT, TABLE = "results/toy/rcca/digits/fourier-0.sums.csv", "results/toy/tables/rcca.md"
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
        "{target}",
    output:
        "mine.txt",
    shell:
        "cp {{input}} {{output}}"
"""
LOCAL, HOSTED = '"{}"', 'github("owner/rnca", path="workflow/Snakefile", commit="{}")'
WAYS = {
    "directory": (None, "", TABLE),
    "module": (LOCAL, "", FIT),
    "prefix": (LOCAL, " as rnca_*", FIT),
    "deployed": (HOSTED, " as rnca_*", TABLE),
}


def listed(directory):
    return {(file, file.lstat().st_mtime_ns) for file in directory.rglob("*")}


@pytest.mark.parametrize("way", WAYS)
def test_workflow_runs_from_elsewhere_and_leaves_its_own_files_alone(project, tmp_path, way):
    host, checkout, (snakefile, names, target) = tmp_path / "host", project.directory, WAYS[way]
    host.mkdir()
    (host / "toy.yaml").write_text(yaml.safe_dump(TOY), encoding="utf-8")
    # What Snakemake fetches from GitHub comes from the checkout.
    redirect = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "https://github.com/owner/rnca"}
    redirect |= {"GIT_CONFIG_KEY_0": f"url.file://{checkout}/.git.insteadOf"}
    project.environment |= redirect | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    project.environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    command = ["-m", "snakemake", "--cores", "1"]
    if snakefile is None:
        command += [target, "--snakefile", str(checkout / "workflow/Snakefile")]
        command += ["--directory", str(host), "--configfile", str(host / "toy.yaml")]
    elif snakefile == HOSTED:
        commit = subprocess.check_output(["sh", "-ec", COMMIT], cwd=checkout, text=True).split()[-1]
        project.environment.pop("PYTHONPATH")
        snakefile = snakefile.format(commit)
    else:
        snakefile = snakefile.format(checkout / "workflow" / "Snakefile")
    if snakefile is not None:
        written = HOST.format(snakefile=snakefile, names=names, target=target)
        (host / "Snakefile").write_text(written, encoding="utf-8")
    before = listed(checkout)
    project.directory = host
    code, screen = project.run(*command)
    assert code == 0, screen
    assert (host / target).stat().st_size > 0
    assert "Nothing to be done" in project.run(*command)[1]
    assert listed(checkout) == before
