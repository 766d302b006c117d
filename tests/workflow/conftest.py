"""Copies of the project, one of them with a finished run."""

import pytest

from projects import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "a b")


@pytest.fixture(scope="package")
def finished(tmp_path_factory):
    """A project in which config/test.yaml has been run; tests leave it as it is."""
    project = Project(tmp_path_factory.mktemp("finished") / "a b")
    code, project.screen = project.launch("--configfile", "config/test.yaml")
    assert code == 0, project.screen
    return project
