"""Shared by every test: data in two views, repeatable property tests, copies of the project."""

import hypothesis
import numpy as np
import pytest
from sklearn.datasets import load_digits

from projects import Project
from rnca._core import spectral

# Derandomised: a failure on one machine is a failure on all. No deadline: the machine is shared.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=25)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(scope="module")
def halves():
    """Left and right halves of the 1797 digits of scikit-learn, read-only: 32 columns each."""
    images = load_digits().images
    left, right = (
        np.ascontiguousarray(half.reshape(len(half), -1))
        for half in (images[:, :, :4], images[:, :, 4:])
    )
    left.setflags(write=False)
    right.setflags(write=False)
    return left, right


@pytest.fixture
def krylov_calls(monkeypatch):
    """Take the Krylov path at orders above 400, and list the calls that took it."""
    calls = []
    original = spectral._block_krylov
    monkeypatch.setattr(spectral, "_DENSE_ORDER", 400)
    monkeypatch.setattr(
        spectral, "_block_krylov", lambda *given: calls.append(given) or original(*given)
    )
    return calls


def pytest_collection_modifyitems(items):
    """Keep the tests of the finished run in one process: they share it, and some edit it."""
    for item in items:
        if "finished" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("finished"))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "a b")


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project in which config/test.yaml has been run; tests leave it as it is."""
    project = Project(tmp_path_factory.mktemp("finished") / "a b")
    project.screen = project.ends("--configfile", "config/test.yaml")
    return project
