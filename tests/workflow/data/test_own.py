import runpy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.io import savemat

from workflow.data import catalogue
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
    "no such file": ({**NPY, "y": "z.npy"}, "no file z.npy"),
    "header of npy": ({**NPY, "y": {"file": "y.npy", "header": True}}, "are for kind csv, not npy"),
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
    "text in csv": (
        lambda: _write("y.csv", "b,a\n" + "1,c\n" * 6),
        ENTRIES["csv"],
        "'a' is not num",
    ),
    "text and numbers": (
        lambda: _write("y.csv", "1,a\n" * 6),
        ENTRIES["csv"],
        "first line, 1, a, may be names",
    ),
    "hole in the first line": (
        lambda: _write("y.csv", "NA,1.5\n" + "2,3.5\n" * 5),
        ENTRIES["csv"],
        "nan at row 0, column 0",
    ),
    "index of another kind": (
        lambda: _write("y.csv", ",a\n" + "7,1\n" * 6),
        ENTRIES["csv"],
        "the first column has no name and does not count the rows",
    ),
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
    "blanks": (lambda: _write("y.csv", "1 2.5\n" * 6), ENTRIES["csv"], "separated by ' '"),
    "header of pandas": (
        lambda: pd.DataFrame(Y).to_csv("y.csv", index=False),
        ENTRIES["csv"],
        r"the first line, 0, 1, 2, may be names .*: y.csv, header: true\}, or `header: false`",
    ),
    "header of one column": (
        lambda: pd.Series(Y[:, 0]).to_csv("y.csv", index=False),
        ENTRIES["csv"],
        "the first line, 0, may be names",
    ),
    "wavelengths": (
        lambda: _write("y.csv", "400,405,410\n" + "1,2,3\n" * 6),
        ENTRIES["csv"],
        "the first line, 400, 405, 410, may be names",
    ),
    "index without a header": (
        lambda: pd.DataFrame(Y).to_csv("y.csv", header=False),
        ENTRIES["csv"],
        "the first column, '?0'?, counts the rows.*index=False.*columns: all",
    ),
    "named index": (
        lambda: pd.DataFrame(Y, columns=list("abc")).to_csv("y.csv", index_label="id"),
        ENTRIES["csv"],
        "the first column, 'id', counts the rows",
    ),
    "no such column": (
        lambda: None,
        {**ENTRIES["csv"], "y": {"file": "y.csv", "columns": ["u", "z"]}},
        "no column 'z'; there are u, v, w",
    ),
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


@pytest.mark.parametrize(
    ("write", "place"),
    [
        (lambda: pd.DataFrame(Y).to_csv("y.csv"), {}),
        (lambda: pd.DataFrame(Y, index=range(1, 7)).to_csv("y.csv"), {}),
        (lambda: pd.DataFrame(Y).to_csv("y.csv", index=False), {"header": True}),
        (lambda: pd.DataFrame(Y).to_csv("y.csv", index=False, encoding="utf-8-sig"), {"header": 1}),
        (lambda: np.savetxt("y.csv", Y, delimiter=",", encoding="utf-8-sig"), {}),
        (
            lambda: pd.DataFrame(Y, columns=list("abc")).to_csv("y.csv", index_label="id"),
            {"columns": ["a", "b", "c"]},
        ),
        (lambda: pd.DataFrame(Y).to_csv("y.csv", header=False), {"columns": [1, 2, 3]}),
    ],
    ids=["index", "index from 1", "header", "BOM and header", "BOM", "columns", "numbers"],
)
def test_csvs_as_pandas_and_excel_write_them(write, place):
    write()
    content = read("mine", {**ENTRIES["csv"], "y": {"file": "y.csv", **place}})
    assert np.array_equal(content.arrays["y"], Y)


def test_first_lines_and_columns_that_count_may_be_data():
    _write("y.csv", "0,1,2\n1,5,7\n2,8,8\n3,0,0\n4,1,1\n5,0,9\n")
    place = {"file": "y.csv", "header": False, "columns": "all"}
    assert read("mine", {**ENTRIES["csv"], "y": place}).arrays["y"][0].tolist() == [0, 1, 2]


def test_first_line_of_truths_is_data():
    _write("y.csv", "True,False\n" * 6)
    assert read("mine", ENTRIES["csv"]).arrays["y"].tolist() == [[True, False]] * 6


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


def test_check_shows_the_first_columns(capsys):
    assert main(["check", "x.csv", "y.csv", "--split", "part.csv"]) == 0
    out = capsys.readouterr().out
    assert "#   x: 6 × 2; first row 0 = 0, 1 = 1\n" in out
    assert "#   y: 6 × 3; first row u = 0, v = 1, w = 4\n" in out
    pd.DataFrame(Y).to_csv("y.csv", index=False)
    assert main(["check", "x.csv", "y.csv"]) == 1
    assert main(["check", "y.csv", "y.csv", "--header"]) == 0
    entry = yaml.safe_load(capsys.readouterr().out)["mydata"]
    assert entry["y"] == {"file": "y.csv", "header": True}


def test_check_finds_two_arrays_or_lists_them(capsys):
    np.savez("two.npz", Y=Y, x=X, more=X)
    np.savez("pair.npz", sound=X, lips=Y)
    for file, names in (("two.npz", ["x", "Y"]), ("pair.npz", ["sound", "lips"])):
        assert main(["check", file]) == 0
        entry = yaml.safe_load(capsys.readouterr().out)["mydata"]
        assert [entry["x"]["array"], entry["y"]["array"]] == names
    for file in ("both.npz", "both.mat"):
        assert main(["check", file]) == 1
        assert "--y-array:\n  a: 6 × 2\n  b: 6 × 3\n" in capsys.readouterr().err
        assert main(["check", file, "--x-array", "a", "--y-array", "b"]) == 0
        capsys.readouterr()
    assert main(["check", "x.npy"]) == 1
    assert (
        "x.npy: a npy file holds one array; name the file of the other" in capsys.readouterr().err
    )


def test_check_fails_with_one_message(capsys):
    np.save("y.npy", Y[:5])
    assert main(["check", "x.npy", "y.npy"]) == 1
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("error: dataset 'mydata': arrays differ")
    assert main(["check", "x.txt", "y.npy"]) == 1
    assert "give --kind" in capsys.readouterr().err


def test_files_that_change_while_they_are_read_are_refused(tmp_path, capsys):
    settings = {"entry": NPY, "own": {"x.npy": "0" * 64}}
    job = SimpleNamespace(
        params=SimpleNamespace(request={"settings": settings}),
        output=[str(tmp_path / "out")],
        wildcards=SimpleNamespace(dataset="mine"),
        log=[str(tmp_path / "log")],
        threads=1,
        rule="prepare",
    )
    with pytest.raises(SystemExit):
        runpy.run_path(catalogue.__file__, {"snakemake": job}, "__main__")
    assert "x.npy: changed since the run began; run again to use it as it is" in (
        capsys.readouterr().err
    )


def test_check_prints_no_line_that_a_file_has_written(capsys, files):
    """What it prints may be pasted into settings: a name must not add keys, nor colour a screen."""
    hostile = "a\n__use_yte__: true\x1b[31m"
    (files / "names.csv").write_text(f'"{hostile}",b\n1,2\n3,5\n6,4\n')
    assert main(["check", "names.csv", "names.csv"]) == 0
    out = capsys.readouterr().out
    assert r"a\n__use_yte__: true\x1b[31m = 1, b = 2" in out
    np.savez("three.npz", **{hostile: np.eye(3), "b": np.eye(3), "c": np.eye(3)})
    assert main(["check", "three.npz"]) == 1
    err = capsys.readouterr().err
    assert r"  a\n__use_yte__: true\x1b[31m: 3 × 3" in err
    for text in (out, err):
        assert "\x1b" not in text
        assert "\n__use_yte__" not in text


@pytest.mark.parametrize("name", ["nowhere.mat", "nowhere.npz", "/dev/zero"])
def test_check_of_what_is_no_file_ends_in_one_message(capsys, name):
    assert main(["check", name, "--kind", "mat"]) == 1
    assert capsys.readouterr().err.startswith(f"error: no file {name} under")
