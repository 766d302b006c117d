"""Results name the commit of the code that made them, and no other project's."""

import shutil
import subprocess

import pytest

from rnca import provenance

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def commit_of(tmp_path, monkeypatch):
    """Return what is recorded for a library at some place of a git tree with one commit."""

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", *identity, *arguments]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit_of(place, *, text="new"):
        file = tmp_path / place / "provenance.py"
        file.parent.mkdir(parents=True)
        file.write_text("new")
        git("init", "--quiet")
        git("add", "--all")
        git("commit", "--quiet", "--message", "first")
        file.write_text(text)
        monkeypatch.setattr(provenance, "__file__", str(file))
        return provenance._commit(), git("rev-parse", "HEAD")

    return commit_of


def test_commit_of_the_projects_own_tree(commit_of):
    found, head = commit_of("src/rnca")
    assert found == head


def test_changes_are_told(commit_of):
    found, head = commit_of("src/rnca", text="newer")
    assert found == f"{head}+changes"


def test_commit_of_another_project_is_not_ours(commit_of):
    found, _ = commit_of(".venv/lib/rnca")
    assert found is None
