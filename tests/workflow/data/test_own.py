"""Data of one's own: every kind of file, every mistake, and ``python -m workflow.data``."""

import json
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

import files
from files import mat, npy, npz
from projects import ROOT
from workflow.data import DataError, catalogue
from workflow.data.__main__ import main
from workflow.data.catalogue import CATALOGUE, prepare
from workflow.data.own import OwnDataset
from workflow.data.own import read as read_own
from workflow.data.prepared import check_arrays, load_prepared

X = np.arange(12.0).reshape(6, 2)
Y = np.arange(18.0).reshape(6, 3) ** 2
PARTS = np.array([0, 0, 0, 1, 2, 2])


DIGITS = np.random.default_rng(0).normal(size=(6, 500)) * 10.0 ** np.arange(-250, 250)


def table(values=Y, **options):
    """Write an array as pandas does."""
    return pd.DataFrame(values).to_csv(**options)


NAMED = table(pd.DataFrame(Y, columns=list("abc")), index_label="id")
# MATLAB has hardly any numbers but floats.
IN_MAT = {"a": X, "b": Y, "part": PARTS.astype(float), "s": {"field": 1}}
FILES = {
    "x.npy": npy(X),
    "y.npy": npy(Y),
    "both.npz": npz(a=X, b=Y, part=PARTS, who=np.array(list("ppqqrr"))),
    "both.mat": mat(IN_MAT),
    "x.csv": table(X, index=False, header=False),
    "y.csv": table(pd.DataFrame(Y, columns=list("uvw")), index=False),
    "part.csv": "p\n" + "train\n" * 3 + "tune\n" + "test\n" * 2,
}


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        write(name, content)


def read(name, entry):
    content = read_own(name, OwnDataset.model_validate(entry))
    check_arrays(name, content.arrays)
    return content


def inside(file, **arrays):
    return {key: {"file": file, "array": array} for key, array in arrays.items()}


NPY = {"kind": "npy", "x": "x.npy", "y": "y.npy"}
NPZ = {"kind": "npz"} | inside("both.npz", x="a", y="b", split="part", groups="who")
CSV = {"kind": "csv", "x": "x.csv", "y": "y.csv", "split": "part.csv"}
MAT = {"kind": "mat"} | inside("both.mat", x="a", y="b", split="part")


MIXED = NPZ | {"x": "x.npy", "y": "y.csv"}


def test_arrays_in_other_orders_are_stored_in_rows(tmp_path):
    np.save("x.npy", np.asfortranarray(X))
    np.save("y.npy", Y.astype(">f4"))
    data = load_prepared(prepare("mine", tmp_path / "out", entry=NPY).path, verify=True)
    assert data.x.flags.c_contiguous
    assert data.y.dtype == "<f4"
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)


@pytest.mark.parametrize("states_kind", [True, False])
@pytest.mark.parametrize(
    "entry", [NPY, NPZ, CSV, MAT, MIXED], ids=["npy", "npz", "csv", "mat", "mixed"]
)
def test_two_arrays_are_enough(entry, states_kind, tmp_path):
    if not states_kind or entry is MIXED:
        entry = {key: place for key, place in entry.items() if key != "kind"}
    data = prepare("mine", tmp_path / "out", entry=entry)
    assert data.meta["kind"] == "own"
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)
    if "split" in entry:
        assert np.array_equal(data.need("given_split"), PARTS)
    if "groups" in entry:
        assert data.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert all(len(source["sha256"]) == 64 for source in data.meta["sources"])


REFUSED = {
    # An entry, and words of its refusal.
    "no such file": (NPY | {"y": "z.npy"}, "no file z.npy"),
    "header of npy": (NPY | {"y": {"file": "y.npy", "header": True}}, "are for CSV files, not npy"),
    "array in npy": (NPY | inside("y.npy", y="b"), "holds one array"),
    "which array": (NPZ | {"x": "both.npz"}, "array None is not one of"),
    "structure in mat": (MAT | inside("both.mat", x="s"), "array 's' is not one of"),
    "npz as npy": (NPY | {"y": "both.npz"}, "both.npz: not a npy file, as `kind` says, but npz"),
    "csv as npy": (NPY | {"y": "y.csv"}, "y.csv: not a npy file, .* but csv; leave `kind` out"),
    "csv as npz": (NPZ | {"x": "x.csv"}, "x.csv: not a npz file, as `kind` says, but csv"),
    "column": (
        CSV | {"y": {"file": "y.csv", "columns": ["u", "z"]}},
        "no column 'z'; there are 'u'",
    ),
    # A file in place of one of those above, and words.
    "npy, cut": ("y.npy", FILES["y.npy"][:136], "y.npy: not a plain"),
    "npz, cut": ("both.npz", FILES["both.npz"][:700], "both.npz: not a plain"),
    "mat, cut": ("both.mat", FILES["both.mat"][:300], "both.mat: (cut short|no numeric)"),
    "pickled": ("y.npy", npy(np.array([{}] * 6, dtype=object)), "not a plain"),
    "fewer rows": ("y.npy", npy(Y[:5]), "differ in their number of rows"),
    "NaN": ("y.npy", npy(Y * np.nan), "nan at row 0"),
    "one dimension": ("y.npy", npy(Y[:, 0]), "1 dimensions, expected 2"),
    "one row": ("both.mat", mat({"a": X[:1], "b": Y[:1], "part": 0}), "one row only"),
    "UTF-16": ("y.csv", "u,v\n1,2\n3,4\n".encode("utf-16"), r"text; save it as CSV \(UTF-8\)"),
    "bzip2": (
        "both.npz",
        files.zipped({"a.npy": npy(X), "b.npy": npy(Y)}, zipfile.ZIP_BZIP2),
        "'a' is neither stored nor deflated; write it with numpy.savez",
    ),
    "spreadsheet": ("both.npz", files.zipped({"xl/sheet.xml": b"<a/>"}), "array 'a' is not one of"),
    "long integers": (
        "y.csv",
        f"a,b\n{2**53 + 1},0.5\n" + "2,1\n" * 5,
        "'a' has integers beyond 2",
    ),
    "no part": ("part.csv", "p\n" + "train\n" * 3 + "test\n" * 2 + '""\n', "row 5, .* no label"),
    "escapes": ("y.csv", "\x1b[31m,1\n" + "1,2\n" * 6, r"first line, '\\x1b\[31m', '1', may be"),
    "escape of a column": ("y.csv", "\x1b[2J,b\n" + "c,2\n" * 6, r"column '\\x1b\[2J' is not num"),
    "escapes in mat": ("both.mat", mat({"a": X, "b": {"c": 1}}), "'b' is not one of"),
    "half a part": (
        "both.mat",
        mat(IN_MAT | {"part": PARTS / 2}),
        "split '0.5' is neither 0",
    ),
    "other part": ("part.csv", "p\n" + "dev\n" * 6, "split 'dev' is neither"),
    "text": ("y.csv", "b,a\n" + "1,c\n" * 6, "'a' is not num"),
    "text and numbers": ("y.csv", "1,a\n" * 6, "first line, '1', 'a', may be names"),
    "hole in the first line": ("y.csv", "NA,1.5\n" + "2,3.5\n" * 5, "nan at row 0, column 0"),
    "other index": ("y.csv", ",a\n" + "7,1\n" * 6, "has no name and does not count rows"),
    "ragged": ("y.csv", "1,2\n1,2\n1,2,3\n", "not a comma-sep"),
    "hole": ("y.csv", "1,2\n" * 5 + "1,\n", "nan at row 5"),
    "empty": ("y.csv", "", "not a comma-separated table"),
    "decimal commas": ("y.csv", "id;v\n" + "1;2,5\n" * 6, r"1 field\(s\) .*decimals with points"),
    "semicolons": ("y.csv", "id;v\n" + "1;2.5\n" * 6, "separated by ';'"),
    "tabs": ("y.csv", "1\t2.5\n" * 6, r"separated by '\\t'"),
    "blanks": ("y.csv", "1 2.5\n" * 6, "separated by ' '"),
    "header": ("y.csv", table(index=False), r"names .*: y.csv, header: true\}, or `header: false"),
    "header of one": ("y.csv", table(Y[:, 0], index=False), "the first line, '0', may be names"),
    "wavelengths": ("y.csv", "400,405,410\n" + "1,2,3\n" * 6, "'400', '405', '410', may be names"),
    "index": ("y.csv", table(header=False), "0'?, counts the rows.*index=False.*columns: all"),
    "named index": ("y.csv", NAMED, "the first column, 'id', counts the rows"),
    "names of rows": ("y.csv", "a,b\n" + "r1,1,2\n" * 6, "2 field.* 3 in .*drop names of rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_entries_and_files_are_refused_in_words(case):
    *spoilt, words = REFUSED[case]
    entry = spoilt[0]
    if len(spoilt) == 2:
        write(*spoilt)
        entry = {".npy": NPY, ".npz": NPZ, ".mat": MAT, ".csv": CSV}[Path(spoilt[0]).suffix]
    with pytest.raises(DataError, match=words):
        read("mine", entry)


CSVS = {
    "index": (table(), {}, Y),
    "index from 1": (table(pd.DataFrame(Y, index=range(1, 7))), {}, Y),
    "header": (table(index=False), {"header": True}, Y),
    "BOM and header": ("\ufeff" + table(index=False), {"header": True}, Y),
    "BOM": ("\ufeff" + table(Y + 0.5, index=False, header=False), {}, Y + 0.5),
    "every digit": (table(DIGITS, index=False, header=False), {}, DIGITS),
    "columns": (NAMED, {"columns": ["a", "b", "c"]}, Y),
    "numbers": (table(header=False), {"columns": [1, 2, 3]}, Y),
    # First lines and columns that count may be data.
    "counts": (table(X, header=False), {"header": False, "columns": "all"}, np.c_[range(6), X]),
    "truths": ("True,False\n" * 6, {}, np.array([[True, False]] * 6)),
    "blank line": ("u,v\n\n" + "1,2\n" * 6, {}, np.array([[1, 2]] * 6)),
}


@pytest.mark.parametrize("case", CSVS)
def test_csvs_as_pandas_and_excel_write_them(case):
    text, place, expected = CSVS[case]
    Path("y.csv").write_text(text, encoding="utf-8")
    content = read("mine", CSV | {"y": {"file": "y.csv", **place}})
    assert np.array_equal(content.arrays["y"], expected)


def test_labels_are_text():
    """Numbers would make one group of those that differ in their last digits."""
    write("who.csv", f"who\n{2**63 - 1}\n{2**63 - 2}\nNA\n7\n07\n{2**63 - 1}\n")
    content = read("mine", CSV | {"groups": "who.csv"})
    assert content.arrays["groups"].tolist() == [3, 2, 4, 1, 0, 3]
    np.save("who.npy", np.array([0, np.nan, np.nan, 1, 1, 1]))
    with pytest.raises(DataError, match=r"who.npy: row 1, .* has no label"):
        read("mine", CSV | {"kind": None, "groups": "who.npy"})


def test_files_that_change_while_they_are_read_are_refused(tmp_path, capsys):
    settings = {"entry": NPY, "own": {"x.npy": "0" * 64}}
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"settings": settings}), encoding="utf-8")
    job = SimpleNamespace(
        input=SimpleNamespace(request=request),
        output=[str(tmp_path / "out")],
        wildcards=SimpleNamespace(dataset="mine"),
        log=[str(tmp_path / "log")],
        threads=1,
        rule="prepare",
    )
    with pytest.raises(SystemExit):
        runpy.run_path(catalogue.__file__, {"snakemake": job}, "__main__")
    message = "x.npy: changed since the run began; run again to use it as it is"
    assert message in capsys.readouterr().err


def test_own_files_are_hashed_again_only_if_they_have_changed(tmp_path, monkeypatch):
    own, memory = OwnDataset.model_validate(NPY), tmp_path / "memory.json"
    read = []
    monkeypatch.setattr("workflow.data.own.file_sha256", lambda file: read.append(file.name) or "a")

    def hashed():
        read.clear()
        assert own.checksums(memory) == {"x.npy": "a", "y.npy": "a"}
        return read

    assert hashed() == hashed() == ["x.npy", "y.npy"]  # too new to be sure of their times
    monkeypatch.setattr("workflow.data.own._CLOCK_SECONDS", -1)
    assert [hashed().copy(), hashed().copy()] == [["x.npy", "y.npy"], []]
    kept = Path("x.npy").stat()
    write("x.npy", FILES["x.npy"][::-1])
    os.utime("x.npy", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert hashed() == ["x.npy"]
    memory.write_text("damaged")
    assert hashed() == ["x.npy", "y.npy"]


def test_preparing_arrays_takes_little_memory_whatever_their_size(tmp_path):
    """A process that prepares 120 MB as they are and 120 MB whose bytes are in another order."""
    np.save("x.npy", np.ones((300_000, 50)))
    np.save("y.npy", np.ones((300_000, 50), dtype=">f8"))
    done = subprocess.run(
        [sys.executable, "-c", PREPARE, str(tmp_path / "out")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < OwnDataset.model_validate(NPY).mem_mb()
    assert OwnDataset.model_validate(NPZ).mem_mb() > OwnDataset.model_validate(NPY).mem_mb()
    assert np.array_equal(load_prepared(tmp_path / "out", verify=True).y, np.load("y.npy"))


# Prints by how many MB the process grows.
PREPARE = f"""
import re, sys, threading, time
sys.path[:0] = [{str(ROOT)!r}]
from workflow.data.catalogue import prepare
import workflow.data.own

def megabytes():
    status = open("/proc/self/status").read()
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", status)[1]) / 1e3

before, most, is_done = megabytes(), [0], False
def watch():
    while not is_done:
        most[0] = max(most[0], megabytes())
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
prepare("mine", sys.argv[1], entry={{"x": "x.npy", "y": "y.npy"}})
is_done = True
watcher.join()
print(most[0] - before)
"""


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Return a function that runs ``python -m workflow.data``: its exit code and its words."""
    monkeypatch.delenv("RNCA_MIRROR", raising=False)
    monkeypatch.setenv("RNCA_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        assert not (streams.out if code else streams.err)
        return code, streams.out + streams.err

    return run


def test_check_prints_an_entry_that_works_and_the_first_columns(command):
    arrays = ("--x-array", "a", "--y-array", "b")
    code, out = command("check", "both.npz", "both.npz", *arrays, "--name", "m")
    assert code == 0
    assert np.array_equal(read("m", yaml.safe_load(out)["m"]).arrays["y"], Y)
    code, out = command("check", "x.csv", "y.csv", "--split", "part.csv")
    assert "#   x: 6 × 2; first row 0, 1\n" in out
    assert "#   y: 6 × 3; first row u = 0, v = 1, w = 4\n" in out
    Path("y.csv").write_text(table(index=False))
    assert command("check", "x.csv", "y.csv")[0] == 1
    _, out = command("check", "y.csv", "y.csv", "--header")
    assert yaml.safe_load(out)["mydata"]["y"] == {"file": "y.csv", "header": True}


def test_check_finds_two_arrays_or_lists_them(command):
    np.savez("two.npz", Y=Y, x=X, more=X)
    np.savez("pair.npz", sound=X, lips=Y)
    for file, names in (("two.npz", ["x", "Y"]), ("pair.npz", ["sound", "lips"])):
        entry = yaml.safe_load(command("check", file)[1])["mydata"]
        assert [entry["x"]["array"], entry["y"]["array"]] == names
    for file in ("both.npz", "both.mat"):
        code, err = command("check", file)
        assert code == 1
        assert "--y-array:\n  'a': 6 × 2\n  'b': 6 × 3\n" in err
        assert command("check", file, "--x-array", "a", "--y-array", "b")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "x.npy"], "x.npy: holds one array; name the file of the other view too"),
        (["check", "x.npy", "short.npy"], "error: dataset 'mydata': arrays differ"),
        (["check", "x.csv", "y.csv", "--name", "m", "--groups", "who"], "groups: no file who"),
        (["check", "nowhere.mat"], "error: no file nowhere.mat under"),
        (["check", "nowhere.npz"], "error: no file nowhere.npz under"),
        (["check", "/dev/zero"], "error: no file /dev/zero under"),
        (["prepare", "minst", "x"], "error: unknown dataset 'minst': known are digits, patches, "),
    ],
)
def test_command_fails_with_one_message(command, arguments, message):
    np.save("short.npy", Y[:5])
    code, err = command(*arguments)
    assert code == 1
    assert err.startswith("error: ")
    assert message in err


def test_list_says_where_each_dataset_is(command, tmp_path, monkeypatch):
    code, out = command("list")
    assert code == 0
    said = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert list(said) == list(CATALOGUE)
    assert "embedded" in said["digits"]
    assert "from the network, untried" in said["mnist"]
    for file in CATALOGUE["xrmb-jw"].source.files.values():
        place = tmp_path / "mirror" / file.mirror
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    monkeypatch.setenv("RNCA_MIRROR", str(tmp_path / "mirror"))
    last = command("list")[1].splitlines()[-1]
    assert "from the network, untried (wrong content in the mirror: " in last
    monkeypatch.setattr("workflow.data.catalogue.in_mirror", lambda file: True)
    assert "in the mirror" in command("list")[1].splitlines()[-1]


def test_prepare_and_fetch_embedded_data(command, tmp_path):
    code, out = command("prepare", "digits", tmp_path / "digits")
    assert code == 0
    assert "x: 1797 × 32 uint8" in out
    assert load_prepared(tmp_path / "digits", verify=True).name == "digits"
    assert "nothing to fetch" in command("fetch", "digits")[1]


def test_check_prints_no_line_that_a_file_has_written(command):
    """What it prints may be pasted into settings: a name must not add keys, nor colour a screen."""
    hostile = "a\n__use_yte__: true\x1b[31m"
    Path("names.csv").write_text(f'"{hostile}",b\n1,2\n3,5\n6,4\n')
    valid, out = command("check", "names.csv", "names.csv")
    assert r"a __use_yte__: true\x1b[31m = 1, b = 2" in out
    np.savez("three.npz", **{hostile: np.eye(3), "b": np.eye(3), "c": np.eye(3)})
    refused, err = command("check", "three.npz")
    assert r"  'a\n__use_yte__: true\x1b[31m': 3 × 3" in err
    assert (valid, refused) == (0, 1)
    for text in (out, err):
        assert "\x1b" not in text
        assert "\n__use_yte__" not in text
