"""Results name the commit of the code that made them, and are read only if they are as written."""

import shutil
import subprocess

import pandas as pd
import pytest

from projects import write_recorded
from workflow.data.errors import DataError
from workflow.lib import provenance

FRAME = pd.DataFrame({"m": [10, 20], "sum": [0.1 + 0.2, 1e-300], "map": ["fourier", None]})
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "fit.sums.csv"
    write_recorded(FRAME, path)
    return path


def test_frames_are_read_as_they_were_written(csv):
    pd.testing.assert_frame_equal(provenance.read_csv(csv), FRAME, check_exact=True)


def test_any_flipped_byte_is_told(csv):
    content = csv.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        csv.write_bytes(damaged)
        with pytest.raises(DataError, match=r"fit\.sums\.csv: not what .* Delete .* run"):
            provenance.read_csv(csv)
    csv.write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"not what its record says"):
        provenance.read_csv(csv)


@pytest.mark.parametrize("text", ["{", "[]", '{"sha256": "0"}', "null"])
def test_damaged_record_is_told(csv, text):
    provenance.record_of(csv).write_text(text)
    with pytest.raises(DataError, match=r"fit\.sums\..*Delete .*fit.sums.csv and run again"):
        provenance.read_csv(csv)


def test_frame_without_a_record_is_refused(csv):
    provenance.record_of(csv).unlink()
    with pytest.raises(DataError, match=r"has no record \(fit\.sums\.csv\.json\)"):
        provenance.read_csv(csv)


@pytest.mark.parametrize("now", ["other", None])
def test_frame_of_another_request_is_refused(csv, now):
    request = csv.parent / "requested.json"
    request.unlink() if now is None else request.write_text(now)
    with pytest.raises(DataError, match="made with other settings or code than"):
        provenance.read_csv(csv)


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


@needs_git
def test_commit_of_the_projects_own_tree(commit_of):
    found, head = commit_of("workflow/lib")
    assert found == head


@needs_git
def test_changes_are_told(commit_of):
    found, head = commit_of("workflow/lib", text="newer")
    assert found == f"{head}+changes"


@needs_git
def test_commit_of_another_project_is_not_ours(commit_of):
    found, _ = commit_of(".venv/workflow/lib")
    assert found is None
