"""Files damaged at random or made to do harm: whole data, or the error that is meant for users.

Nothing else is raised, and no file makes a parser take much more memory than the file has bytes.
"""

import gzip
import json
import os
import pickle
import struct
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import files
from rnca import Moments
from workflow.data import archives, awa, cifar, microbeam, mnist, own, speech
from workflow.data.errors import DataError
from workflow.data.matlab import MatFile
from workflow.data.prepared import load_prepared, write_prepared
from workflow.data.splits import Split, random_split

MUTANTS = int(os.environ.get("RNCA_EXAMPLES", "100"))
EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1]
RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(6, columns)) for columns in speech.COLUMNS.values())


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


MAT = {"X1": X[:3], "XV1": X[3:5], "XTe1": X[5:], "text": "none"}
R_FILE = files.r_file({"x_tr": X[:4], "y_tr": Y[:4], "x_te": X[4:], "y_te": Y[4:]})
IDX = files.idx(np.zeros((2, 3, 4), np.uint8))
TAR = files.tar({"p/one": bytes(600), "p/two": bytes(600)})
ARRAY = np.arange(6.0).reshape(3, 2)
MOMENTS = Moments(3, 2, features="abc").update(X[:, :3], Y[:, :2])


def read_mat(path):
    file = MatFile(path)
    for name, shape in file.shapes.items():
        assert file.read(name).shape == shape


def read_r(path):
    arrays = speech.parse_r_parts([path]).arrays
    assert arrays["x"].shape == (len(arrays["given_split"]), X.shape[1])
    assert arrays["y"].shape == (len(arrays["given_split"]), Y.shape[1])


def read_pellets(path):
    times, pellets = microbeam.read_pellets(path)
    assert pellets.shape == (len(times), 16)
    assert np.isfinite(times).all()


def read_picture(path):
    assert cifar._read_picture(path).shape == (cifar.RECORDS, cifar.SIDE**2, 3)


def read_moments(path):
    loaded = Moments.load(path)
    assert loaded.xx.shape == (loaded.m_x, loaded.m_x)


def extract(path):
    archives.extract(path, {"p/one": "1"}, path.parent, limit=10_000)


def read_npz(path):
    own._read_array("npz", own._Place("x", path, "x"))


read_labels = partial(cifar._read_labels, count=5)
CASES = {
    "idx": (mnist.read_idx, IDX),
    "idx, packed": (mnist.read_idx, gzip.compress(IDX)),
    "mat": (read_mat, files.mat(MAT)),
    "mat, packed": (read_mat, files.mat(MAT, do_compression=True)),
    "R": (read_r, R_FILE),
    "R, packed": (read_r, gzip.compress(R_FILE)),
    "pickle 2": (awa.read_pickled_array, pickle.dumps(ARRAY, 2)),
    "pickle 4": (awa.read_pickled_array, pickle.dumps(ARRAY, 4)),
    "counts": (awa.read_counts, pickle.dumps(np.zeros((1, awa.WORDS)), 3)),
    "names": (partial(awa.read_names, count=2), b"1 ant\n2 bee\n"),
    "matrix": (partial(awa.read_matrix, shape=(2, 3)), b"0 1 1\n1 0 0\n"),
    "labels": (read_labels, json.dumps([1, 2, 3, 4, 5]).encode()),
    "wav": (microbeam.read_samples, files.wav(bytes(4000))),
    "txy": (read_pellets, files.txy(files.changed(files.track(20), 5, 3, files.MISSING))),
    "tar": (extract, TAR),
    "tar, packed": (extract, gzip.compress(TAR)),
    "npy": (own._read_npy, files.npy(ARRAY)),
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


def test_damaged_batches_of_pictures(tmp_path):
    path = tmp_path / "damaged"
    batch, picture = (
        gzip.compress(bytes(cifar.RECORDS * 3073)),
        files.png((cifar.SIDE**2, cifar.RECORDS)),
    )
    for read, data, count in (
        (cifar.read_batch, batch, 12),
        (read_picture, picture, 12),
        (read_picture, picture[:200], MUTANTS),
    ):
        for mutant in mutants(data, count):
            path.write_bytes(mutant)
            assert_read_or_refused(read, path)


def large_png():
    """A picture of 4 by 4 whose header announces 65535 by 65535."""
    head = b"IHDR" + struct.pack(">II", 65535, 65535) + files.png((4, 4))[24:29]
    return (
        files.png((4, 4))[:12] + head + struct.pack(">I", zlib.crc32(head)) + files.png((4, 4))[33:]
    )


def large_mat(rows):
    """A file whose variable has a row and announces others."""
    data = files.mat({"X1": X[:1]})
    columns = X.shape[1]
    return data.replace(struct.pack("<2i", 1, columns), struct.pack("<2i", rows, columns))


def r_symbol(name):
    return struct.pack(">3i", 1, 9, len(name)) + name


def long_r_sequence(length):
    """An R file whose x_tr is the sequence from 1 to ``length``, which R writes in a few bytes."""
    nothing = struct.pack(">i", 254)
    kind = b"".join(struct.pack(">i", 2) + r_symbol(name) for name in (b"compact_intseq", b"base"))
    kind += struct.pack(">4i", 2, 13, 1, 13) + nothing
    state = struct.pack(">2i3d", 14, 3, length, 1, 1)
    sequence = struct.pack(">i", 238) + kind + state + nothing
    head = b"RDX3\nX\n" + struct.pack(">4i", 3, 0x40000, 0x30500, 5) + b"UTF-8"
    return head + struct.pack(">i", 0x402) + r_symbol(b"x_tr") + sequence + nothing


def large_npy(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def large_moments(**members):
    """A file of moments in which the members given are other arrays, or other bytes."""
    given = {
        f"{name}.npy": value if isinstance(value, bytes) else files.npy(value)
        for name, value in members.items()
    }
    return files.zipped(files.unzipped(CASES["moments"][1]) | given)


def moments_header(m_x, m_y):
    return large_moments(header=np.array([1, 6, m_x, m_y]))


HOSTILE = {
    "65 dimensions": (mnist.read_idx, b"\0\0\x08\x41" + struct.pack(">65I", *[1] * 65) + b"\0"),
    "empty, but long": (
        mnist.read_idx,
        b"\0\0\x08\x05" + struct.pack(">5I", 0, *[2**32 - 1] * 4),
    ),
    "picture": (read_picture, large_png()),
    "nested labels": (read_labels, b"[" * 10**5),
    "mat": (read_mat, large_mat(2**31 - 1)),
    "mat, of a million rows": (read_mat, large_mat(10**6)),
    "mat, of negative rows": (read_mat, large_mat(-1)),
    "mat, two of a name": (read_mat, files.mat(MAT | {"Z1": X}).replace(b"Z1", b"X1")),
    "R sequence": (read_r, long_r_sequence(10**8)),
    "R vector": (
        read_r,
        R_FILE.replace(struct.pack(">i", X[:4].size), struct.pack(">i", 2**31 - 1)),
    ),
    "pickled shape": (
        awa.read_pickled_array,
        pickle.dumps(ARRAY, 2).replace(b"K\x03K\x02\x86", b"\x8a\x0a" + b"\x01" * 10 + b"\x85"),
    ),
    "pickled steps": (awa.read_pickled_array, b"\x80\x02" + b"N" * 10**6 + b"."),
    "pickled frame": (awa.read_pickled_array, b"\x80\x04\x95" + struct.pack("<Q", 2**33) + b"N."),
    "wav": (microbeam.read_samples, files.wav(bytes(4000)).replace(b"\xa0\x0f\0\0", b"\xff" * 4)),
    "wav, packed": (microbeam.read_samples, gzip.compress(files.wav(bytes(10**7)))),
    "txy": (read_pellets, b"1\n" * 500_000),
    "txy, one row": (read_pellets, b"1\t" * 500_000),
    "txy, packed": (read_pellets, gzip.compress(files.txy(files.track(30_000)))),
    "npy": (own._read_npy, large_npy((2**40, 2**10))),
    "npz": (read_npz, files.zipped({"x.npy": large_npy((2**33,))})),
    "npz, longer than numbers": (read_npz, files.zipped({"x.npy": large_npy((2**70,))})),
    "split": (Split.load, files.zipped({"train.npy": large_npy((2**33,))})),
    "moments": (read_moments, moments_header(2**16, 2)),
    "moments of targets": (read_moments, moments_header(3, 2**16)),
    "moments, negative": (read_moments, moments_header(3, -2)),
    "moments, huge": (read_moments, moments_header(2**40, 2**40)),
    "moments, array": (read_moments, large_moments(xx=large_npy((2**17, 2**17)))),
    "moments, no list": (read_moments, large_moments(header=np.array(1))),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(tmp_path, case):
    read, data = HOSTILE[case]
    (tmp_path / "hostile").write_bytes(data)
    with pytest.raises(error_of(read), match="hostile") as caught:
        read(tmp_path / "hostile")
    assert type(caught.value) is error_of(read)


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
