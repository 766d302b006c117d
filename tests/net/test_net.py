"""While the house is rebuilt: the same tables, figures and numbers as commit 48af4a2."""

import re
import shutil
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from projects import CLOCK, Project, assert_same_numbers

# Everything that only renders CSVs; what else a rule needs is taken as it was frozen.
RENDERING = re.compile(r"_(report|table|figures?|minutes|tuning|variants|race)$|^report_|^claims$")
EXHIBITS = ("tables/*.md", "tables/*.tex", "figures/*.svg")


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    place = tmp_path_factory.mktemp("frozen")
    with tarfile.open(Path(__file__).with_name("frozen.tar.xz")) as archive:
        archive.extractall(place, filter="data")
    return place


@pytest.fixture(scope="module")
def rendered(frozen, tmp_path_factory):
    """The exhibits of the paper's settings, from the CSVs of the frozen commit."""
    project = Project(tmp_path_factory.mktemp("rendered") / "project")
    run = project.file("results/paper")
    shutil.copytree(frozen / "inputs", run)
    code, screen = project.run("-m", "snakemake", "--list-rules", "--quiet")
    assert code == 0, screen
    rules = [rule for rule in screen.split() if RENDERING.search(rule)]
    targets = [f"results/paper/{file}" for file in [*exhibits(frozen), *tables(frozen)]]
    settings = ["--configfile", "config/paper.yaml", "--cores", "2"]
    command = ["-m", "snakemake", *targets, *settings, "--allowed-rules", *rules]
    code, screen = project.run(*command)
    assert code == 0, screen
    return run


def exhibits(frozen):
    place = frozen / "rendered"
    return sorted(file.relative_to(place) for kind in EXHIBITS for file in place.glob(kind))


def tables(frozen):
    place = frozen / "rendered"
    return sorted(file.relative_to(place) for file in place.glob("tables/*.csv"))


def test_exhibits_are_the_same_bytes(frozen, rendered):
    changed = [
        str(file)
        for file in exhibits(frozen)
        if (rendered / file).read_bytes() != (frozen / "rendered" / file).read_bytes()
    ]
    assert not changed


def test_tables_have_the_same_numbers(frozen, rendered):
    for file in tables(frozen):
        expected, found = pd.read_csv(frozen / "rendered" / file), pd.read_csv(rendered / file)
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9, obj=str(file))


def test_run_has_the_same_numbers(frozen, finished):
    expected = [
        file for file in (frozen / "test_run").rglob("*.csv") if not CLOCK.search(file.name)
    ]
    assert len(expected) > 50
    for file in expected:
        ours = finished.file("results/test") / file.relative_to(frozen / "test_run")
        assert_same_numbers(ours, file)
