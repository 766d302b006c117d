"""Damaged, wrong and hostile files without a checksum: whole data, or the error meant for users.

Nothing else is raised, and no file makes a parser take much more memory than the file has bytes.
"""

import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import files
from files import mat, npy
from rnca import Moments
from workflow.data import DataError, own
from workflow.data.own import MatFile
from workflow.data.prepared import load_prepared, write_prepared
from workflow.data.splits import Split, random_split

MUTANTS = int(os.environ.get("RNCA_EXAMPLES", "100"))
EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1]
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 273)), RNG.normal(size=(6, 112))
MAT = {"X1": X[:3], "XV1": X[3:5], "XTe1": X[5:], "text": "none"}
ARRAY = np.arange(6.0).reshape(3, 2)
MOMENTS = Moments(3, 2, features="abc").update(X[:, :3], Y[:, :2])


def read_mat(path):
    file = MatFile(path)
    for name, shape in file.shapes.items():
        assert file.read(name).shape == shape


def read_last(path):
    own._read_mat(own.Place(file=str(path), array="XTe1"))


def read_moments(path):
    loaded = Moments.load(path)
    assert loaded.products[0, 0].shape == loaded.sizes[:1] * 2


def read_npy(path):
    own._read_array(None, "x", own.Place(file=str(path)))


def read_npz(path):
    own._read_array(None, "x", own.Place(file=str(path), array="x"))


def flip(data, rng):
    for position in rng.integers(len(data), size=rng.integers(1, 9)):
        data[position] ^= 1 << rng.integers(8)


def cut(data, rng):
    del data[rng.integers(len(data)) :]


def drop(data, rng):
    start = rng.integers(len(data))
    del data[start : start + rng.integers(1, 64)]


def double(data, rng):
    start = rng.integers(len(data))
    data[start:start] = data[start : start + rng.integers(1, 64)]


def announce(data, rng):
    """Overwrite what may be a length by one that is extreme."""
    size, order = rng.choice([1, 2, 4, 8]), rng.choice(["little", "big"])
    number = int(rng.choice(EXTREMES)) % 256 ** int(size)
    # Headers come first.
    position = int(len(data) * rng.random() ** 3)
    data[position : position + size] = number.to_bytes(int(size), order)


HARMS = [flip, flip, cut, drop, double, announce, announce]


def mutants(data, count=MUTANTS):
    """Yield damaged copies, the same ones every time."""
    rng = np.random.default_rng(len(data))
    for _ in range(count):
        damaged = bytearray(data)
        for harm in rng.choice(HARMS, size=rng.choice([1, 1, 2])):
            if damaged:
                harm(damaged, rng)
        yield bytes(damaged)


CASES = {
    "mat": (read_mat, mat(MAT)),
    "mat, packed": (read_mat, mat(MAT, do_compression=True)),
    "npy": (read_npy, npy(ARRAY)),
    "npz": (read_npz, files.npz(x=X[:, :3], part=np.repeat(["train", "test"], 3))),
    "split": (Split.load, files.made(random_split(9, (3, 2, 2), 0).save, ".npz")),
    "moments": (read_moments, files.made(MOMENTS.save, ".npz")),
}


def error_of(read):
    return ValueError if read is read_moments else DataError


def assert_read_or_refused(read, path):
    """Read a file, or have it refused by name with the error that is meant for users."""
    said = path.name
    try:
        read(path)
    except error_of(read) as refused:
        if type(refused) is not error_of(read):
            raise
        said = str(refused)
    assert path.name in said


@pytest.mark.parametrize("case", CASES)
def test_damaged_files(tmp_path, case):
    read, data = CASES[case]
    path = tmp_path / "damaged"
    path.write_bytes(data)
    read(path)
    for mutant in mutants(data):
        path.write_bytes(mutant)
        assert_read_or_refused(read, path)


@pytest.mark.parametrize("case", ["npz", "split", "moments"])
def test_damage_inside_archives_whose_checksums_are_right(tmp_path, case):
    read, data = CASES[case]
    members = files.unzipped(data)
    for name, member in members.items():
        for mutant in mutants(member, MUTANTS // len(members) + 10):
            (tmp_path / "damaged").write_bytes(files.zipped(members | {name: mutant}))
            assert_read_or_refused(read, tmp_path / "damaged")


def read_toy(path):
    assert np.array_equal(load_prepared(path, verify=True).x, X)


@pytest.mark.parametrize("file", ["x.npy", "meta.json"])
def test_damaged_prepared_datasets(tmp_path, file):
    toy = tmp_path / "toy"
    meta = dict.fromkeys(["name", "kind", "title"], "toy")
    write_prepared(toy, {"x": X, "labels": np.arange(6)}, meta)
    data = (toy / file).read_bytes()
    for mutant in mutants(data):
        (toy / file).write_bytes(mutant)
        assert_read_or_refused(read_toy, toy)


def large_mat(rows):
    """A file whose variable has a row and announces others."""
    data = mat({"X1": X[:1]})
    columns = X.shape[1]
    return data.replace(struct.pack("<2i", 1, columns), struct.pack("<2i", rows, columns))


def large_npy(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def large_moments(**members):
    """A file of moments in which the members given are other arrays, or other bytes."""
    given = {
        f"{name}.npy": value if isinstance(value, bytes) else npy(value)
        for name, value in members.items()
    }
    return files.zipped(files.unzipped(CASES["moments"][1]) | given)


def moments_header(m_x, m_y):
    return large_moments(header=np.array([2, 6, 0, m_x, m_y]))


REFUSED = {
    **{
        f"mat, {case}, packed: {packed}": (read_last, harm(data), message)
        for packed, data in enumerate((mat(MAT), mat(MAT, do_compression=True)))
        for case, (harm, message) in {
            "cut short": (lambda data: data[: len(data) // 2], "damaged|is not one of"),
            "version 7.3": (lambda data: b"MATLAB 7.3 MAT-file" + data[19:], "'-v7'"),
            "no MATLAB file": (lambda data: b"\0" * len(data), "not a MATLAB file"),
            "empty": (lambda data: b"", "not a MATLAB file"),
            "garbage": (lambda data: data[:128] + b"\xff" * 500, "damaged"),
        }.items()
    },
    "mat 4": (read_mat, mat({"X1": X}, format="4"), "not a MATLAB file of version 5 to 7"),
}


HOSTILE = {
    "mat": (read_mat, large_mat(2**31 - 1)),
    "mat, of a million rows": (read_mat, large_mat(10**6)),
    "mat, of negative rows": (read_mat, large_mat(-1)),
    "mat, two of a name": (read_mat, mat(MAT | {"Z1": X}).replace(b"Z1", b"X1")),
    "npy": (read_npy, large_npy((2**40, 2**10))),
    "npz, bzip2": (
        read_npz,
        files.zipped({"x.npy": npy(ARRAY) + bytes(10**8)}, zipfile.ZIP_BZIP2),
    ),
    "npz": (read_npz, files.zipped({"x.npy": large_npy((2**33,))})),
    "npz, longer than numbers": (read_npz, files.zipped({"x.npy": large_npy((2**70,))})),
    "split": (Split.load, files.zipped({"train.npy": large_npy((2**33,))})),
    "moments": (read_moments, moments_header(2**16, 2)),
    "moments of targets": (read_moments, moments_header(3, 2**16)),
    "moments, negative": (read_moments, moments_header(3, -2)),
    "moments, huge": (read_moments, moments_header(2**40, 2**40)),
    "moments, array": (read_moments, large_moments(product_0_0=large_npy((2**17, 2**17)))),
    "moments, no list": (read_moments, large_moments(header=np.array(1))),
}
REFUSED |= {f"hostile {name}": (*case, "misfit") for name, case in HOSTILE.items()}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_files_are_refused(tmp_path, case):
    read, data, message = REFUSED[case]
    (tmp_path / "misfit").write_bytes(data)
    with pytest.raises(error_of(read), match=message) as refused:
        read(tmp_path / "misfit")
    assert type(refused.value) is error_of(read)
    assert "misfit" in str(refused.value)


# Peak memory belongs to a process; so do limits, in case that a file does what it announces.
PEAK = """
import re, resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_damaged import CASES, HOSTILE

def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1e3

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
path = Path(sys.argv[1])
for read, data in CASES.values():
    path.write_bytes(data)
    read(path)
before = peak_mb()
for name, (read, data) in HOSTILE.items():
    path.write_bytes(data)
    try:
        read(path)
    except ValueError as error:
        if isinstance(error.__cause__, MemoryError):
            print(name)
print(peak_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_hostile_files_take_little_memory(tmp_path):
    here = Path(__file__)
    command = [sys.executable, "-c", PEAK, tmp_path / "hostile", here.parent, here.parents[2]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *without_room, grown = done.stdout.split("\n")[:-1]
    assert without_room == []
    assert float(grown) < 50
