import bz2
import os
import pickle
import struct

import numpy as np
import pytest

from workflow.data.awa import read_counts, read_matrix, read_names, read_pickled_array
from workflow.data.errors import DataError

COUNTS = np.arange(6000.0).reshape(3, 2000)
# As Python 2 writes it: the bytes of the array as an 8-bit string.
PYTHON_2 = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85U\x01b\x87R"
    b"(K\x01K\x01K\x02\x86cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R"
    b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x10"
    + struct.pack("<2d", 7, 200.5)
    + b"tb."
)


def write(path, data):
    path.write_bytes(bz2.compress(data))
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "class-surf.pic.bz2"


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_counts_are_exact(file, protocol):
    counts = read_counts(write(file, pickle.dumps(COUNTS, protocol)))
    assert counts.dtype == np.uint16
    assert np.array_equal(counts, COUNTS)


def test_python_2_and_fortran_order(file):
    assert read_pickled_array(write(file, PYTHON_2)).tolist() == [[7, 200.5]]
    fortran = np.asfortranarray(COUNTS)
    assert np.array_equal(read_pickled_array(write(file, pickle.dumps(fortran, 3))), COUNTS)


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile(canary):
    touch = f"touch {canary}"
    inner = np.array([Call(os.system, touch)], dtype=object)
    return {
        "os.system": pickle.dumps(Call(os.system, touch)),
        "eval": pickle.dumps(Call(eval, f"open({str(canary)!r}, 'w')")),
        "protocol 0": b"cos\nsystem\n(S'" + touch.encode() + b"'\ntR.",
        "inside an array": pickle.dumps(inner),
        "instance": b"(S'" + touch.encode() + b"'\nios\nsystem\n.",
        "numpy.load": pickle.dumps(Call(np.load, str(canary))),
        "getattr": b"cbuiltins\ngetattr\n.",
        "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        "nested name": b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.",
    }


@pytest.mark.parametrize("case", hostile("x"))
def test_hostile_pickles_are_refused_and_run_nothing(file, tmp_path, case):
    canary = tmp_path / "canary"
    with pytest.raises(DataError, match=r"refused: the pickle asks for .*nothing of it was run"):
        read_pickled_array(write(file, hostile(canary)[case]))
    assert not canary.exists()


MALFORMED = {
    "cut short": (pickle.dumps(COUNTS, 3)[:-100], "not a readable pickle"),
    "no pickle": (b"hello", "not a readable pickle"),
    "empty": (b"", "not a readable pickle"),
    "a list": (pickle.dumps([1.0]), "holds a list"),
    "a function": (b"cnumpy\ndtype\n.", "holds a _MakeType"),
    "integers": (pickle.dumps(COUNTS.astype(int), 3), "expected 64-bit floats"),
    "objects": (pickle.dumps(np.array([None]), 3), "malformed"),
    "too few bytes": (PYTHON_2.replace(b"K\x01K\x02\x86", b"K\x02K\x02\x86"), "malformed"),
    "no state": (b"cnumpy.core.multiarray\n_reconstruct\n(tR.", "no array state"),
    "other codec": (b"c_codecs\nencode\n(S'x'\nS'zip'\ntR.", "latin1"),
    "set attributes": (b"cnumpy\ndtype\n(N}S'a'\nK\x01stb.", "not a readable pickle"),
    "huge memo": (b"\x80\x02Nr\xff\xff\xff\x7f.", "refused: memo index 2147483647"),
    "persistent": (b"Pid\n.", "not a readable pickle"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_pickles_are_named(file, case):
    data, message = MALFORMED[case]
    with pytest.raises(DataError, match=message):
        read_pickled_array(write(file, data))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 1999)), "expected N × 2000"),
        (np.zeros(2000), "expected N × 2000"),
        (np.full((1, 2000), 0.5), "not counts"),
        (np.full((1, 2000), -1.0), "not counts"),
        (np.full((1, 2000), np.nan), "not counts"),
        (np.full((1, 2000), 65536.0), "not counts"),
    ],
)
def test_arrays_that_are_not_counts_are_refused(file, array, message):
    with pytest.raises(DataError, match=message):
        read_counts(write(file, pickle.dumps(array, 3)))


def test_truncated_bzip2_is_refused(file):
    write(file, pickle.dumps(COUNTS, 3))
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_counts(file)


def test_names_and_matrix(tmp_path):
    file = tmp_path / "t.txt"
    file.write_text("  1\tant\n  2\tgnu\n")
    assert read_names(file, 2) == ["ant", "gnu"]
    with pytest.raises(DataError, match="expected 3 lines"):
        read_names(file, 3)
    file.write_text("1 ant gnu\n")
    with pytest.raises(DataError, match="a number and one name"):
        read_names(file, 1)
    file.write_text("0 1\n1 0\n")
    assert read_matrix(file, (2, 2)).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(DataError, match=r"2 rows of \[2\] values, expected \(2, 3\)"):
        read_matrix(file, (2, 3))
    file.write_text("0 1\n1 2\n")
    with pytest.raises(DataError, match="other than 0 and 1"):
        read_matrix(file, (2, 2))
