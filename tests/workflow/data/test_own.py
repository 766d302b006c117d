"""Data of one's own: every kind of file, every mistake, and ``python -m workflow.data``."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.io import savemat

from workflow.data import catalogue
from workflow.data.__main__ import main
from workflow.data.catalogue import CATALOGUE, prepare
from workflow.data.errors import DataError
from workflow.data.own import read
from workflow.data.prepared import load_prepared

X = np.arange(12.0).reshape(6, 2)
Y = np.arange(18.0).reshape(6, 3) ** 2
PARTS = np.array([0, 0, 0, 1, 2, 2])


def table(values=Y, **options):
    """Write an array as pandas does."""
    return pd.DataFrame(values).to_csv(**options)


NAMED = table(pd.DataFrame(Y, columns=list("abc")), index_label="id")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    np.save("y.npy", Y)
    np.savez("both.npz", a=X, b=Y, part=PARTS, who=np.array(list("ppqqrr")))
    np.savetxt("x.csv", X, delimiter=",")
    np.savetxt("y.csv", Y, delimiter=",", header="u,v,w", comments="")
    Path("part.csv").write_text("p\n" + "train\n" * 3 + "tune\n" + "test\n" * 2)
    savemat("both.mat", {"a": X, "b": Y, "part": PARTS, "s": {"field": 1}})
    return tmp_path


def inside(file, **arrays):
    return {key: {"file": file, "array": array} for key, array in arrays.items()}


NPY = {"kind": "npy", "x": "x.npy", "y": "y.npy"}
NPZ = {"kind": "npz"} | inside("both.npz", x="a", y="b", split="part", groups="who")
CSV = {"kind": "csv", "x": "x.csv", "y": "y.csv", "split": "part.csv"}
MAT = {"kind": "mat"} | inside("both.mat", x="a", y="b", split="part")


@pytest.mark.parametrize("entry", [NPY, NPZ, CSV, MAT], ids=lambda entry: entry["kind"])
def test_two_arrays_are_enough(entry, tmp_path):
    data = prepare("mine", tmp_path / "out", entry=entry)
    assert data.meta["kind"] == "own"
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)
    if "split" in entry:
        assert np.array_equal(data.given_split, PARTS)
    if "groups" in entry:
        assert data.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert all(len(source["sha256"]) == 64 for source in data.meta["sources"])


def test_split_codes_may_be_whole_floats():
    savemat("parts.mat", {"part": PARTS.astype(float)})
    assert np.array_equal(read("mine", MAT | {"split": "parts.mat"}).arrays["given_split"], PARTS)
    savemat("parts.mat", {"part": np.where(PARTS == 1, 1.5, PARTS)})
    with pytest.raises(DataError, match=r"split '1\.5' is neither 0, 1, 2"):
        read("mine", MAT | {"split": "parts.mat"})


BAD_ENTRIES = {
    "no such file": (NPY | {"y": "z.npy"}, "no file z.npy"),
    "header of npy": (NPY | {"y": {"file": "y.npy", "header": True}}, "are for kind csv, not npy"),
    "array in npy": (NPY | inside("y.npy", y="b"), "holds one array"),
    "which array": (NPZ | {"x": "both.npz"}, "array None is not one of"),
    "structure in mat": (MAT | inside("both.mat", x="s"), "array 's' is not one of"),
    "npz as npy": (NPY | {"y": "both.npz"}, "use kind npz"),
    "csv as npy": (NPY | {"y": "y.csv"}, r"not a plain .npy array; .* are of one\)"),
    "csv as npz": (NPZ | {"x": "x.csv"}, "not a plain .npz file"),
    "csv as mat": (MAT | {"x": "x.csv"}, "not a MATLAB file"),
    "column": (CSV | {"y": {"file": "y.csv", "columns": ["u", "z"]}}, "no column 'z'; there are u"),
}
# Of y.npy, that is; and of y.csv.
BAD_ARRAYS = {
    "pickled": (np.array([{}] * 6, dtype=object), "not a plain"),
    "fewer rows": (Y[:5], "differ in their number of rows"),
    "NaN": (Y * np.nan, "nan at row 0"),
    "one dimension": (Y[:, 0], "1 dimensions, expected 2"),
}
BAD_TABLES = {
    "text": ("b,a\n" + "1,c\n" * 6, "'a' is not num"),
    "text and numbers": ("1,a\n" * 6, "first line, 1, a, may be names"),
    "hole in the first line": ("NA,1.5\n" + "2,3.5\n" * 5, "nan at row 0, column 0"),
    "other index": (",a\n" + "7,1\n" * 6, "has no name and does not count the rows"),
    "ragged": ("1,2\n1,2\n1,2,3\n", "not a comma-sep"),
    "hole": ("1,2\n" * 5 + "1,\n", "nan at row 5"),
    "empty": ("", "not a comma-separated table"),
    "decimal commas": ("id;v\n" + "1;2,5\n" * 6, r"1 field\(s\) in .*decimals with points"),
    "semicolons": ("id;v\n" + "1;2.5\n" * 6, "separated by ';'"),
    "tabs": ("1\t2.5\n" * 6, r"separated by '\\t'"),
    "blanks": ("1 2.5\n" * 6, "separated by ' '"),
    "header": (
        table(index=False),
        r"0, 1, 2, may be names .*: y.csv, header: true\}, or `header: f",
    ),
    "header of one": (table(Y[:, 0], index=False), "the first line, 0, may be names"),
    "wavelengths": ("400,405,410\n" + "1,2,3\n" * 6, "first line, 400, 405, 410, may be names"),
    "index": (table(header=False), "column, '?0'?, counts the rows.*index=False.*columns: all"),
    "named index": (NAMED, "the first column, 'id', counts the rows"),
    "names of rows": ("a,b\n" + "r1,1,2\n" * 6, "2 field.* 3 in the second.*drop names of rows"),
}


@pytest.mark.parametrize("case", [*BAD_ENTRIES, *BAD_ARRAYS, *BAD_TABLES])
def test_bad_entries_arrays_and_tables_are_named(case):
    entry, message = BAD_ENTRIES.get(case, (None, None))
    if case in BAD_ARRAYS:
        entry, (array, message) = NPY, BAD_ARRAYS[case]
        np.save("y.npy", array)
    elif case in BAD_TABLES:
        entry, (text, message) = CSV, BAD_TABLES[case]
        Path("y.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read("mine", entry)


@pytest.mark.parametrize(
    ("file", "entry", "message"),
    [
        ("y.npy", NPY, "y.npy: not a plain"),
        ("both.npz", NPZ, "both.npz: not a plain"),
        ("both.mat", MAT, "both.mat: (cut short|no numeric)"),
    ],
)
def test_files_cut_short_are_named(file, entry, message):
    Path(file).write_bytes(Path(file).read_bytes()[: Path(file).stat().st_size // 2])
    with pytest.raises(DataError, match=message):
        read("mine", entry)


def test_splits_and_single_rows_are_named():
    Path("part.csv").write_text("p\n" + "dev\n" * 6)
    with pytest.raises(DataError, match="split 'dev' is neither"):
        read("mine", CSV)
    for file in ("x.npy", "y.npy"):
        np.save(file, X[:1])
    with pytest.raises(DataError, match="one row only"):
        read("mine", NPY)


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        (table(), {}, Y),
        (table(pd.DataFrame(Y, index=range(1, 7))), {}, Y),
        (table(index=False), {"header": True}, Y),
        ("\ufeff" + table(index=False), {"header": 1}, Y),
        ("\ufeff" + table(Y + 0.5, index=False, header=False), {}, Y + 0.5),
        (NAMED, {"columns": ["a", "b", "c"]}, Y),
        (table(header=False), {"columns": [1, 2, 3]}, Y),
        # First lines and columns that count may be data.
        (table(X, header=False), {"header": False, "columns": "all"}, np.c_[range(6), X]),
        ("True,False\n" * 6, {}, np.array([[True, False]] * 6)),
        ("u,v\n\n" + "1,2\n" * 6, {}, np.array([[1, 2]] * 6)),
    ],
    ids=[
        *("index", "index from 1", "header", "BOM and header", "BOM", "columns", "numbers"),
        *("counts", "truths", "blank line"),
    ],
)
def test_csvs_as_pandas_and_excel_write_them(text, place, expected):
    Path("y.csv").write_text(text, encoding="utf-8")
    content = read("mine", CSV | {"y": {"file": "y.csv", **place}})
    assert np.array_equal(content.arrays["y"], expected)


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
    message = "x.npy: changed since the run began; run again to use it as it is"
    assert message in capsys.readouterr().err


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
    assert "#   x: 6 × 2; first row 0 = 0, 1 = 1\n" in out
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
        assert "--y-array:\n  a: 6 × 2\n  b: 6 × 3\n" in err
        assert command("check", file, "--x-array", "a", "--y-array", "b")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "x.npy"], "x.npy: a npy file holds one array; name the file of the other"),
        (["check", "x.npy", "short.npy"], "error: dataset 'mydata': arrays differ"),
        (["check", "x.txt", "y.npy"], "give --kind"),
        (["prepare", "nothing", "x"], "error: unknown dataset 'nothing'"),
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
