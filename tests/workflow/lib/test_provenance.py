"""Results name the commit of the code that made them, and are read only if they are as written."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import write_with_record
from workflow.data import DataError
from workflow.data.prepared import write_prepared
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


def prepare(place, name, rows=10):
    """Write a prepared dataset with its record, as its job does; return where."""
    path = place / name
    arrays = {"x": np.arange(2.0 * rows).reshape(rows, 2), "y": np.ones((rows, 1))}
    write_prepared(path, arrays, {"name": name, "kind": "own", "title": "toy"})
    sha256 = hashlib.sha256((path / "meta.json").read_bytes()).hexdigest()
    request = place / f"{name}.request.json"
    request.write_text(f"{rows} rows")
    record = {"path": str(path), "sha256": sha256, "inputs": {}}
    record |= {"request": f"{rows} rows", "request_file": str(request)}
    provenance.record_of(path).write_text(json.dumps(record))
    return path


def exchange(*files):
    first, second = files
    first.rename(kept := first.with_name("kept"))
    second.rename(first)
    kept.rename(second)


def exchange_directories(place):
    exchange(place / "a", place / "b")


def exchange_with_records(place):
    exchange_directories(place)
    exchange(place / "a.json", place / "b.json")


def bring_back_an_older_one(place):
    kept = [shutil.copytree(place / "a", place / "old"), shutil.copy(place / "a.json", place / "c")]
    prepare(place, "a", rows=20)
    shutil.rmtree(place / "a")
    for source, name in zip(kept, ("a", "a.json"), strict=True):
        Path(source).rename(place / name)


def flip_a_bit(place):
    file = place / "a" / "y.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\1")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (exchange_directories, "not what its record says was written"),
        (exchange_with_records, r"a copy of what was written as .*/b\."),
        (bring_back_an_older_one, "made with other settings or code than"),
        (flip_a_bit, "y.npy: its content does not match the sha256 in meta.json"),
        (lambda place: (place / "a.json").unlink(), "has no record"),
    ],
)
def test_prepared_data_that_are_not_what_is_asked_for_under_this_name_are_refused(
    tmp_path, harm, words
):
    path = prepare(tmp_path, "a")
    prepare(tmp_path, "b")
    assert provenance.read_prepared(path).name == "a"
    harm(tmp_path)
    with pytest.raises(DataError, match=rf"{words}.* Delete .*/a and run again"):
        provenance.read_prepared(path)


def test_frame_that_was_copied_with_its_record_is_refused(csv):
    other = csv.with_name("fit-1.sums.csv")
    for source, copy in ((csv, other), (provenance.record_of(csv), provenance.record_of(other))):
        shutil.copy(source, copy)
    with pytest.raises(DataError, match=r"fit-1.* a copy of .*fit\.sums\.csv\. Delete .*fit-1"):
        provenance.read_csv(other)


@pytest.mark.parametrize(
    ("file", "has_one"),
    [
        ("data/prepared/digits", True),
        ("results/test/report.html", True),
        ("results/test/rcca/digits/fourier-0.split.npz", True),
        ("results/test/rcca/digits/fourier-0-1.shard.npz", False),
        ("results/test/claims.json", True),
        ("results/test/requests/page.json", False),
        ("data/fetched/mnist.json", False),
    ],
)
def test_outputs_with_records(file, has_one):
    assert provenance.has_record(file) == has_one


def test_versions_of_packages_are_told_where_they_differ():
    records = [{"environment": {"packages": {"numpy": n, "scipy": "1.15"}}} for n in ("2.1", "2.0")]
    assert provenance.mixed_versions([*records, *records, {}]) == ["numpy 2.0, 2.1"]
    assert provenance.mixed_versions(records[:1]) == []
