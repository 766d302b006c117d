"""An undisturbed run to compare with, projects to harm, and the table of what was tried."""

import os
import shutil

import pytest
from harmed import TALLY, HarmedProject


def pytest_terminal_summary(terminalreporter):
    if TALLY.tried:
        terminalreporter.section("faults")
        for line in TALLY.lines():
            terminalreporter.write_line(line)


@pytest.fixture
def tally():
    return TALLY


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    project = HarmedProject(tmp_path_factory.mktemp("undisturbed") / "project")
    code, screen = project.call()
    assert code == 0, screen
    return project


@pytest.fixture
def project(tmp_path):
    return HarmedProject(tmp_path / "project")


@pytest.fixture
def finished(reference, tmp_path):
    """A copy of the undisturbed run, with the times of its files."""
    project = HarmedProject(tmp_path / "project")
    for name in ("data", "results", ".snakemake"):
        shutil.copytree(reference.file(name), project.file(name), symlinks=True)
    return project


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small file system")
