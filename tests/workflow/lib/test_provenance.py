"""Results name the commit of the code that made them, and are read only if they are as written."""

import shutil
import subprocess

import pandas as pd
import pytest

from projects import write_with_record
from workflow.data import DataError
from workflow.lib import provenance

FRAME = pd.DataFrame({"m": [10, 20], "sum": [0.1 + 0.2, 1e-300], "map": ["fourier", None]})


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "fit.sums.csv"
    write_with_record(path, FRAME)
    return path


def test_frames_are_read_as_they_were_written_and_any_flipped_byte_is_told(csv):
    pd.testing.assert_frame_equal(provenance.read_csv(csv), FRAME, check_exact=True)
    content = csv.read_bytes()
    flipped = (
        content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(len(content))
    )
    for damaged in (*flipped, content[:-1]):
        csv.write_bytes(damaged)
        with pytest.raises(DataError, match=r"fit\.sums\.csv: not what .* Delete .* run"):
            provenance.read_csv(csv)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        *(("fit.sums.csv.json", text, "not a record of a job") for text in ("{", "[]", "null")),
        ("fit.sums.csv.json", '{"sha256": "0"}', "not a record of a job"),
        ("fit.sums.csv.json", None, r"has no record \(fit\.sums\.csv\.json\)"),
        ("request.json", "other", "made with other settings or code than"),
        ("request.json", None, "made with other settings or code than"),
        ("fit.sums.csv", None, "cannot be read"),
    ],
)
def test_frame_whose_record_or_request_is_not_its_own_is_refused(csv, file, text, words):
    path = csv.parent / file
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(DataError, match=rf"{words}.* Delete .*fit\.sums\.csv and run again"):
        provenance.read_csv(csv)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("workflow/lib", "new", "{head}"),
        ("workflow/lib", "newer", "{head}+changes"),
        (".venv/workflow/lib", "new", "None"),
    ],
    ids=["own", "changed", "of another project"],
)
def test_commit_is_that_of_the_projects_own_tree(tmp_path, monkeypatch, place, text, expected):
    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    file = tmp_path / place / "provenance.py"
    file.parent.mkdir(parents=True)
    file.write_text("new")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    file.write_text(text)
    monkeypatch.setattr(provenance, "__file__", str(file))
    assert str(provenance._commit()) == expected.format(head=git("rev-parse", "HEAD"))
