"""A cluster for all tests, and projects on it."""

import signal

import pytest
from cluster import UnavailableError, running
from submitted import SlurmProject


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Let Snakemake hear Ctrl-C, to which what a shell runs in the background is deaf."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def cluster():
    try:
        with running() as started:
            yield started
    except UnavailableError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """A project in which the fit in shards has been made without the cluster."""
    project = SlurmProject(tmp_path_factory.mktemp("local") / "project")
    project.local(f"{project.FIT}.sums.csv")
    return project


@pytest.fixture
def project(cluster, tmp_path):
    return SlurmProject(tmp_path / "project")


@pytest.fixture
def prepared(project):
    """A project on the cluster whose own dataset is prepared."""
    project.local("data/prepared/mine")
    return project
