import numpy as np
import pytest
import yaml
from scipy.io import savemat

from workflow.data.__main__ import main
from workflow.data.catalogue import prepare
from workflow.data.errors import DataError
from workflow.data.own import read

X = np.arange(12.0).reshape(6, 2)
Y = np.arange(18.0).reshape(6, 3) ** 2


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = np.array([0, 0, 0, 1, 2, 2])
    np.save("x.npy", X)
    np.save("y.npy", Y)
    np.savez("both.npz", a=X, b=Y, part=parts, who=np.array(list("ppqqrr")))
    np.savetxt("x.csv", X, delimiter=",")
    np.savetxt("y.csv", Y, delimiter=",", header="u,v,w", comments="")
    np.savetxt(
        "part.csv",
        np.array(["train"] * 3 + ["tune"] + ["test"] * 2),
        fmt="%s",
        header="p",
        comments="",
    )
    savemat("both.mat", {"a": X, "b": Y, "part": parts, "s": {"field": 1}})
    return tmp_path


ENTRIES = {
    "npy": {"kind": "npy", "x": "x.npy", "y": "y.npy"},
    "npz": {
        "kind": "npz",
        "x": {"file": "both.npz", "array": "a"},
        "y": {"file": "both.npz", "array": "b"},
        "split": {"file": "both.npz", "array": "part"},
        "groups": {"file": "both.npz", "array": "who"},
    },
    "csv": {"kind": "csv", "x": "x.csv", "y": "y.csv", "split": "part.csv"},
    "mat": {
        "kind": "mat",
        "x": {"file": "both.mat", "array": "a"},
        "y": {"file": "both.mat", "array": "b"},
        "split": {"file": "both.mat", "array": "part"},
    },
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_two_arrays_are_enough(kind, tmp_path):
    data = prepare("mine", tmp_path / "out", entry=ENTRIES[kind])
    assert data.meta["kind"] == "own"
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)
    if "split" in ENTRIES[kind]:
        assert data.given_split.tolist() == [0, 0, 0, 1, 2, 2]
    if "groups" in ENTRIES[kind]:
        assert data.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert all(len(source["sha256"]) == 64 for source in data.meta["sources"])


def test_split_codes_may_be_whole_floats():
    savemat("parts.mat", {"part": np.array([0.0, 0, 0, 1, 2, 2])})
    content = read("mine", {**ENTRIES["mat"], "split": "parts.mat"})
    assert content.arrays["given_split"].tolist() == [0, 0, 0, 1, 2, 2]
    savemat("parts.mat", {"part": np.array([0.0, 0, 0, 1, 2, 1.5])})
    with pytest.raises(DataError, match=r"split '1\.5' is neither 0, 1, 2"):
        read("mine", {**ENTRIES["mat"], "split": "parts.mat"})


NPY = ENTRIES["npy"]
BAD = {
    "unknown key": ({**NPY, "colour": 1}, r"unknown \['colour'\]"),
    "unknown kind": ({**NPY, "kind": "hdf"}, "kind 'hdf'; known are"),
    "no y": ({"kind": "npy", "x": "x.npy"}, r"lacks \['y'\]"),
    "no such file": ({**NPY, "y": "z.npy"}, "no file z.npy"),
    "not a place": ({**NPY, "y": 3}, "3 must be a file name"),
    "array in npy": ({**NPY, "y": {"file": "y.npy", "array": "b"}}, "holds one array"),
    "which array": ({**ENTRIES["npz"], "x": "both.npz"}, "array None is not one of"),
    "structure in mat": (
        {**ENTRIES["mat"], "x": {"file": "both.mat", "array": "s"}},
        "array 's' is not one of",
    ),
    "npz as npy": ({**NPY, "y": "both.npz"}, "use kind npz"),
    "csv as npy": ({**NPY, "y": "y.csv"}, r"not a plain .npy array; .* are of one\)"),
    "csv as npz": ({**ENTRIES["npz"], "x": "x.csv"}, "not a plain .npz file"),
    "csv as mat": ({**ENTRIES["mat"], "x": "x.csv"}, "not a MATLAB file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_entries_are_named(case):
    entry, message = BAD[case]
    with pytest.raises(DataError, match=message):
        read("mine", entry)


BAD_FILES = {
    "pickled": (lambda: np.save("y.npy", np.array([{}] * 6, dtype=object)), NPY, "not a plain"),
    "cut short": (lambda: _cut("y.npy"), NPY, "y.npy: not a plain"),
    "npz cut short": (lambda: _cut("both.npz"), ENTRIES["npz"], "both.npz: not a plain"),
    "mat cut short": (lambda: _cut("both.mat"), ENTRIES["mat"], "both.mat: (cut short|no numeric)"),
    "fewer rows": (lambda: np.save("y.npy", Y[:5]), NPY, "differ in their number of rows"),
    "NaN": (lambda: np.save("y.npy", Y * np.nan), NPY, "nan at row 0"),
    "one dimension": (lambda: np.save("y.npy", Y[:, 0]), NPY, "1 dimensions, expected 2"),
    "text in csv": (lambda: _write("y.csv", "1,a\n" * 6), ENTRIES["csv"], "'a' is not numeric"),
    "ragged csv": (lambda: _write("y.csv", "1,2\n1,2\n1,2,3\n"), ENTRIES["csv"], "not a comma-sep"),
    "hole in csv": (lambda: _write("y.csv", "1,2\n" * 5 + "1,\n"), ENTRIES["csv"], "nan at row 5"),
    "empty csv": (lambda: _write("y.csv", ""), ENTRIES["csv"], "not a comma-separated table"),
    "semicolons and decimal commas": (
        lambda: _write("y.csv", "id;v\n" + "1;2,5\n" * 6),
        ENTRIES["csv"],
        r"1 field\(s\) in the first line, 2 in the second.*decimals with points",
    ),
    "semicolons": (
        lambda: _write("y.csv", "id;v\n" + "1;2.5\n" * 6),
        ENTRIES["csv"],
        "separated by ';'",
    ),
    "tabs": (lambda: _write("y.csv", "1\t2.5\n" * 6), ENTRIES["csv"], r"separated by '\\t'"),
    "names of rows": (
        lambda: _write("y.csv", "a,b\n" + "r1,1,2\n" * 6),
        ENTRIES["csv"],
        r"2 field\(s\) in the first line, 3 in the second.*drop names of rows",
    ),
    "split": (
        lambda: _write("part.csv", "p\n" + "dev\n" * 6),
        ENTRIES["csv"],
        "split 'dev' is nei",
    ),
    "one row": (lambda: [np.save(f, X[:1]) for f in ("x.npy", "y.npy")], NPY, "one row only"),
}


def test_blank_lines_of_a_csv_are_no_rows():
    _write("y.csv", "u,v\n\n" + "1,2\n" * 6)
    assert read("mine", ENTRIES["csv"]).arrays["y"].shape == (6, 2)


def _cut(name):
    with open(name, "rb+") as stream:
        stream.truncate(stream.seek(0, 2) // 2)


def _write(name, text):
    with open(name, "w") as stream:
        stream.write(text)


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_named(case):
    harm, entry, message = BAD_FILES[case]
    harm()
    with pytest.raises(DataError, match=message):
        read("mine", entry)


def test_check_prints_an_entry_that_works(capsys):
    assert (
        main(["check", "both.npz", "both.npz", "--x-array", "a", "--y-array", "b", "--name", "m"])
        == 0
    )
    printed = yaml.safe_load(capsys.readouterr().out)
    assert np.array_equal(read("m", printed["m"]).arrays["y"], Y)


def test_check_fails_with_one_message(capsys):
    np.save("y.npy", Y[:5])
    assert main(["check", "x.npy", "y.npy"]) == 1
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("error: dataset 'mydata': arrays differ")
    assert main(["check", "x.txt", "y.npy"]) == 1
    assert "give --kind" in capsys.readouterr().err
