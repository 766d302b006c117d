"""Files damaged at random or made to do harm: whole data, or the error that is meant for users.

Nothing else is raised, and no file makes a parser take much more memory than the file has bytes.
"""

import gzip
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import tempfile
import wave
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import rdata
from PIL import Image
from scipy.io import savemat

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


def made(write, suffix=""):
    """Return the bytes of what a function writes to a file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, f"file{suffix}")
        write(path)
        return path.read_bytes()


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.tobytes()


def png(size):
    stream = io.BytesIO()
    Image.new("RGB", size).save(stream, "PNG")
    return stream.getvalue()


def tar():
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("p/one", "p/two"):
            member = tarfile.TarInfo(name)
            member.size = 600
            archive.addfile(member, io.BytesIO(bytes(600)))
    return stream.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def moments():
    return Moments(3, 2, features="abc").update(X[:, :3], Y[:, :2])


def wav(samples=bytes(4000), channels=1):
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(microbeam.RATE)
        sound.writeframes(samples)
    return stream.getvalue()


def announcing(data, size):
    """A .wav file whose chunk of sound says that it has another size."""
    place = data.index(b"data") + 4
    return data[:place] + struct.pack("<I", size) + data[place + 4 :]


def txy(rows):
    pellets = "\t".join(["1000000", *map(str, range(-7, 8))])
    return "".join(f"{6866 * row}\t{pellets}\n" for row in range(rows)).encode()


MAT = {"X1": X[:3], "XV1": X[3:5], "XTe1": X[5:], "text": "none"}
R = {"x_tr": X[:4], "y_tr": Y[:4], "x_te": X[4:], "y_te": Y[4:]}
R_FILE = made(lambda path: rdata.write_rda(path, R, compression=None))
NPZ = {"x": X[:, :3], "part": np.repeat(["train", "test"], 3)}
ARRAY = np.arange(6.0).reshape(3, 2)


def read_mat(path):
    file = MatFile(path)
    for name, shape in file.shapes.items():
        assert file.read(name).shape == shape


def read_r(path):
    arrays = speech.parse_r_parts([path]).arrays
    assert arrays["x"].shape == (len(arrays["given_split"]), X.shape[1])
    assert arrays["y"].shape == (len(arrays["given_split"]), Y.shape[1])


def read_sound(path):
    assert microbeam.read_samples(path).ndim == 1


def read_pellets(path):
    times, pellets = microbeam.read_pellets(path)
    assert pellets.shape == (len(times), 16)
    assert np.isfinite(times).all()


def read_picture(path):
    assert cifar._read_picture(path).shape == (cifar.RECORDS, cifar.SIDE**2, 3)


def read_labels(path):
    assert cifar._read_labels(path, 5).shape == (5,)


def extract(path):
    archives.extract(path, {"p/one": "1"}, path.parent, limit=10_000)


def read_moments(path):
    loaded = Moments.load(path)
    assert loaded.xx.shape == (loaded.m_x, loaded.m_x)


def read_npz(path):
    assert own._read_array("npz", own._Place("x", path, "x")).ndim < 65


def read_npy(path):
    assert own._read_npy(path).ndim < 65


def read_names(path):
    assert len(awa.read_names(path, 2)) == 2


def read_matrix(path):
    assert awa.read_matrix(path, (2, 3)).shape == (2, 3)


def unzipped(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


CASES = {
    "idx": (mnist.read_idx, idx(np.zeros((2, 3, 4), np.uint8))),
    "idx, packed": (mnist.read_idx, gzip.compress(idx(np.zeros((2, 3, 4), np.uint8)))),
    "mat": (read_mat, made(lambda path: savemat(path, MAT), ".mat")),
    "mat, packed": (read_mat, made(lambda path: savemat(path, MAT, do_compression=True), ".mat")),
    "R": (read_r, R_FILE),
    "R, packed": (read_r, gzip.compress(R_FILE)),
    "pickle 2": (awa.read_pickled_array, pickle.dumps(ARRAY, 2)),
    "pickle 4": (awa.read_pickled_array, pickle.dumps(ARRAY, 4)),
    "counts": (awa.read_counts, pickle.dumps(np.zeros((1, awa.WORDS)), 3)),
    "names": (read_names, b"1 ant\n2 bee\n"),
    "matrix": (read_matrix, b"0 1 1\n1 0 0\n"),
    "labels": (read_labels, json.dumps([1, 2, 3, 4, 5]).encode()),
    "wav": (read_sound, wav()),
    "txy": (read_pellets, txy(20)),
    "tar": (extract, tar()),
    "tar, packed": (extract, gzip.compress(tar())),
    "npy": (read_npy, npy(ARRAY)),
    "npz": (read_npz, made(lambda path: np.savez(path, **NPZ), ".npz")),
    "split": (Split.load, made(random_split(9, (3, 2, 2), 0).save, ".npz")),
    "moments": (read_moments, made(moments().save, ".npz")),
}


def refusal(read, path, error=DataError):
    """Return what a parser says of a file that it refuses; None if it reads it."""
    try:
        read(path)
    except error as refused:
        if type(refused) is not error:
            raise
        return str(refused)
    return None


def assert_read_or_refused(read, path, data, error=DataError):
    path.write_bytes(data)
    said = refusal(read, path, error)
    assert said is None or path.name in said


def error_of(read):
    return ValueError if read is read_moments else DataError


@pytest.mark.parametrize("case", CASES)
def test_damaged_files(tmp_path, case):
    read, data = CASES[case]
    path = tmp_path / "damaged"
    path.write_bytes(data)
    read(path)
    for mutant in mutants(data):
        assert_read_or_refused(read, path, mutant, error_of(read))


@pytest.mark.parametrize("case", ["npz", "split", "moments"])
def test_damage_inside_archives_whose_checksums_are_right(tmp_path, case):
    read, data = CASES[case]
    members = unzipped(data)
    for name, member in members.items():
        for mutant in mutants(member, MUTANTS // len(members) + 10):
            changed = zipped(members | {name: mutant})
            assert_read_or_refused(read, tmp_path / "damaged", changed, error_of(read))


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
        said = refusal(read_toy, toy)
        assert said is None or "toy" in said


def test_damaged_batches_of_pictures(tmp_path):
    path = tmp_path / "damaged"
    batch = gzip.compress(bytes(cifar.RECORDS * 3073))
    for mutant in mutants(batch, 12):
        assert_read_or_refused(cifar.read_batch, path, mutant)
    picture = png((cifar.SIDE**2, cifar.RECORDS))
    for mutant in mutants(picture, 12):
        assert_read_or_refused(read_picture, path, mutant)
    for mutant in mutants(picture[:200]):
        assert_read_or_refused(read_picture, path, mutant)


def large_png():
    """A picture of 4 by 4 whose header announces 65535 by 65535."""
    head = b"IHDR" + struct.pack(">II", 65535, 65535) + png((4, 4))[24:29]
    return png((4, 4))[:12] + head + struct.pack(">I", zlib.crc32(head)) + png((4, 4))[33:]


def large_mat(rows):
    """A file whose variable has a row and announces others."""
    data = made(lambda path: savemat(path, {"X1": X[:1]}), ".mat")
    columns = X.shape[1]
    return data.replace(struct.pack("<2i", 1, columns), struct.pack("<2i", rows, columns))


def two_of_a_name():
    data = made(lambda path: savemat(path, MAT | {"Z1": X}), ".mat")
    return data.replace(b"Z1", b"X1")


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
        f"{name}.npy": value if isinstance(value, bytes) else npy(value)
        for name, value in members.items()
    }
    return zipped(unzipped(CASES["moments"][1]) | given)


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
    "mat, two of a name": (read_mat, two_of_a_name()),
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
    "wav": (read_sound, announcing(wav(), 2**32 - 1)),
    "wav, packed": (read_sound, gzip.compress(wav(bytes(10**7)))),
    "txy": (read_pellets, b"1\n" * 500_000),
    "txy, one row": (read_pellets, b"1\t" * 500_000),
    "txy, packed": (read_pellets, gzip.compress(txy(10**5))),
    "npy": (read_npy, large_npy((2**40, 2**10))),
    "npz": (read_npz, zipped({"x.npy": large_npy((2**33,))})),
    "npz, longer than numbers": (read_npz, zipped({"x.npy": large_npy((2**70,))})),
    "split": (Split.load, zipped({"train.npy": large_npy((2**33,))})),
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
    path = tmp_path / "hostile"
    path.write_bytes(data)
    with pytest.raises(error_of(read)) as caught:
        read(path)
    assert type(caught.value) is error_of(read)
    assert "hostile" in str(caught.value)


# Peak memory belongs to a process; so do limits, in case that a file does what it announces.
PEAK = """
import re, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_damaged import CASES, HOSTILE

def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1e3

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
path = Path(sys.argv[2])
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
    command = [sys.executable, "-c", PEAK, Path(__file__).parent, tmp_path / "hostile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *without_room, grown = done.stdout.split("\n")[:-1]
    assert without_room == []
    assert float(grown) < 50
