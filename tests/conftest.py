"""Shared by every test: data, repeatable property tests, copies of the project."""

import os
import subprocess
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from sklearn.datasets import load_digits

from grouping import pytest_collection_modifyitems  # noqa: F401  (a hook)
from projects import Project
from rnca import spectral
from workflow.data.catalogue import CATALOGUE, availability, prepare
from workflow.data.fetch import mirror_directory

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


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "a b")


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project in which config/test.yaml has been run; tests leave it as it is."""
    project = Project(tmp_path_factory.mktemp("finished") / "a b")
    project.screen = project.ends("--configfile", "config/test.yaml")
    return project


@pytest.fixture
def mirror():
    directory = mirror_directory()
    if directory is None:
        pytest.skip("RNCA_MIRROR is not set")
    return directory


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Prepare a dataset once for all tests, or skip if only the network could have it."""
    root = tmp_path_factory.mktemp("prepared")
    cache = Path(os.environ.get("RNCA_CACHE") or root / "cache")
    done = {}

    def get(name):
        where = availability(CATALOGUE[name], cache)
        if where not in ("embedded", "in the cache", "in the mirror"):
            pytest.skip(f"{name}: {where}; set RNCA_MIRROR or RNCA_CACHE to where it is")
        if name not in done:
            done[name] = prepare(name, root / name, cache=cache)
        return done[name]

    return get


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)
