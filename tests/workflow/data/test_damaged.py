"""Damaged, wrong and hostile files: whole data, or the error that is meant for users.

Nothing else is raised, and no file makes a parser take much more memory than the file has bytes.
"""

import bz2
import gzip
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import files
from files import MISSING, PYTHON_2, changed, idx, mat, npy, r_file, tar, track, txy, wav
from rnca import Moments
from workflow.data import DataError, archives, awa, cifar, microbeam, mnist, own, speech
from workflow.data.microbeam import HOP, WINDOW, read_samples
from workflow.data.own import MatFile
from workflow.data.prepared import load_prepared, write_prepared
from workflow.data.splits import Split, random_split

MUTANTS = int(os.environ.get("RNCA_EXAMPLES", "100"))
EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1]
RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(6, columns)) for columns in speech.COLUMNS.values())
R = {"x_tr": X[:4], "y_tr": Y[:4], "x_te": X[4:], "y_te": Y[4:]}
MAT = {"X1": X[:3], "XV1": X[3:5], "XTe1": X[5:], "text": "none"}
IDX = idx(np.zeros((2, 3), np.uint8))
WAV, TXY = wav(RNG.bytes(44_100)), txy(track(20))
TAR = tar({"p/one": bytes(600), "p/two": bytes(600)})
ARRAY = np.arange(6.0).reshape(3, 2)
COUNTS = np.arange(6000.0).reshape(3, 2000)
BATCH_BYTES = cifar.RECORDS * 3073
MOMENTS = Moments(3, 2, features="abc").update(X[:, :3], Y[:, :2])

bounded = partial(archives.read_bounded, limit=10**4)
read_labels = partial(cifar._read_labels, count=5)
read_names = partial(awa.read_names, count=2)
read_matrix = partial(awa.read_matrix, shape=(2, 3))


def parse_mnist(path):
    mnist.parse({name: path for part in mnist.PARTS for name in mnist.file_names(part)})


def read_mat(path):
    file = MatFile(path)
    for name, shape in file.shapes.items():
        assert file.read(name).shape == shape


def read_last(path):
    own._read_mat(own.Place(file=str(path), array="XTe1"))


def read_r(path):
    arrays = speech.parse({"xrmb": path}).arrays
    assert arrays["x"].shape == (len(arrays["given_split"]), X.shape[1])
    assert arrays["y"].shape == (len(arrays["given_split"]), Y.shape[1])


def read_pellets(path):
    times, pellets = microbeam.read_pellets(path)
    assert pellets.shape == (len(times), 16)
    assert np.isfinite(times).all()


def read_windows(path):
    (path.parent / "track").write_bytes(txy(track(200)))
    microbeam.read_windows(path, path.parent / "track")


def read_picture(path):
    assert cifar._read_picture(path).shape == (cifar.RECORDS, cifar.SIDE**2, 3)


def read_moments(path):
    loaded = Moments.load(path)
    assert loaded.products[0, 0].shape == loaded.sizes[:1] * 2


def extract(path):
    archives.extract(path, {"p/one": "1"}, path.parent, limit=10_000)


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
    "idx": (mnist.read_idx, IDX),
    "idx, packed": (mnist.read_idx, gzip.compress(IDX)),
    "mat": (read_mat, mat(MAT)),
    "mat, packed": (read_mat, mat(MAT, do_compression=True)),
    "R": (read_r, r_file(R)),
    "R, packed": (read_r, gzip.compress(r_file(R))),
    "pickle 2": (awa.read_pickled_array, pickle.dumps(ARRAY, 2)),
    "pickle 4": (awa.read_pickled_array, pickle.dumps(ARRAY, 4)),
    "counts": (awa.read_counts, pickle.dumps(np.zeros((1, awa.WORDS)), 3)),
    "names": (read_names, b"1 ant\n2 bee\n"),
    "matrix": (read_matrix, b"0 1 1\n1 0 0\n"),
    "labels": (read_labels, json.dumps([1, 2, 3, 4, 5]).encode()),
    "wav": (read_samples, wav(bytes(4000))),
    "txy": (read_pellets, txy(changed(track(20), 5, 3, MISSING))),
    "tar": (extract, TAR),
    "tar, packed": (extract, gzip.compress(TAR)),
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


def test_damaged_batches_of_pictures(tmp_path):
    picture = files.png((cifar.SIDE**2, cifar.RECORDS))
    for read, data, count in (
        (cifar.read_batch, gzip.compress(bytes(BATCH_BYTES)), 12),
        (read_picture, picture, 12),
        (read_picture, picture[:200], MUTANTS),
    ):
        for mutant in mutants(data, count):
            (tmp_path / "damaged").write_bytes(mutant)
            assert_read_or_refused(read, tmp_path / "damaged")


def large_png():
    """A picture of 4 by 4 whose header announces 65535 by 65535."""
    small = files.png((4, 4))
    head = b"IHDR" + struct.pack(">II", 65535, 65535) + small[24:29]
    return small[:12] + head + struct.pack(">I", zlib.crc32(head)) + small[33:]


def large_mat(rows):
    """A file whose variable has a row and announces others."""
    data = mat({"X1": X[:1]})
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
        f"{name}.npy": value if isinstance(value, bytes) else npy(value)
        for name, value in members.items()
    }
    return files.zipped(files.unzipped(CASES["moments"][1]) | given)


def moments_header(m_x, m_y):
    return large_moments(header=np.array([2, 6, 0, m_x, m_y]))


REFUSED = {
    **{
        f"{name}, {what}": (bounded, harm(pack(bytes(range(256)) * 39)), "cannot be unpacked")
        for name, pack in (("gzip", gzip.compress), ("bz2", bz2.compress))
        for what, harm in {
            "cut": lambda data: data[:-9],
            "changed": lambda data: data[:20] + b"\xff\x00" + data[22:],
        }.items()
    },
    "tar bomb": (extract, tar({"one": bytes(10**6)}, "w:gz"), "more than the 10000 bytes"),
    "tar, cut": (extract, tar({"p/one": WAV[-900:]}, "w:gz")[:300], "not a whole tar archive"),
    "tar, without": (extract, tar({"p/two": b"2"}, "w:gz"), r"lacks \['p/one'\]"),
    "idx, cut": (mnist.read_idx, IDX[:-1], "17 bytes, but its header .* means 18"),
    "idx, too long": (mnist.read_idx, IDX + b"0", "19 bytes, but its header"),
    "idx, cut in header": (mnist.read_idx, IDX[:7], "cut short within its header"),
    "idx, empty": (mnist.read_idx, b"", "not an idx file"),
    "idx of floats": (mnist.read_idx, idx(np.zeros(3, np.uint8), 13), "not an idx file of bytes"),
    "idx, huge": (mnist.read_idx, b"\0\0\x08\x03" + b"\xff" * 12, "means"),
    "idx, gzip cut": (mnist.read_idx, gzip.compress(IDX)[:-10], "cannot be unpacked"),
    "no MNIST": (parse_mnist, IDX, r"shape \(2, 3\), but .* \(60000, 28, 28\)"),
    "batch, cut": (cifar.read_batch, bytes(BATCH_BYTES - 1), "29999 bytes, but a CIFAR-10 batch"),
    "batch, label": (cifar.read_batch, b"\x0a" + bytes(BATCH_BYTES - 1), "label 10, but"),
    "small picture": (read_picture, files.png((4, 4)), r"RGB picture of \(4, 4\)"),
    "no picture": (read_picture, b"GIF89a", "not a whole PNG"),
    **{
        f"labels {text}": (read_labels, text, "label")
        for text in (b"[1, 2", b"[1, 2, 3, 4, 12]", b"[1]", b'["a", "b", "c", "d", "e"]', b"{}")
    },
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
    "R, cut": (read_r, gzip.compress(r_file(R))[:-50], "cannot be unpacked"),
    "R, parsed short": (read_r, gzip.compress(r_file(R)[:-5000]), "not a whole R file"),
    "R, other version": (read_r, b"RDX9\n" + r_file(R)[5:], "not a whole R file"),
    "no R": (read_r, b"hello" * 1000, "not an R save"),
    "R, lacking": (read_r, r_file({"x_tr": X}), r"matrices \['x_te', 'y_te', 'y_tr'\]"),
    "R, columns": (read_r, r_file(R | {"y_te": Y[4:, 1:]}), "y has .* columns"),
    "R, rows": (read_r, r_file(R | {"y_te": Y[5:]}), "differ in their number of rows"),
    "R, vector": (read_r, r_file(R | {"y_te": Y[5]}), "y_te is not a numeric matrix"),
    **{
        f"pickle, {case}": (awa.read_pickled_array, bz2.compress(data), message)
        for case, (data, message) in {
            "cut": (pickle.dumps(COUNTS, 3)[:-100], "not a readable pickle"),
            "none": (b"hello", "not a readable pickle"),
            "empty": (b"", "not a readable pickle"),
            "a list": (pickle.dumps([1.0]), "holds a list"),
            "a function": (b"cnumpy\ndtype\n.", "holds a _MakeType"),
            "integers": (pickle.dumps(COUNTS.astype(int), 3), "expected 64-bit floats"),
            "objects": (pickle.dumps(np.array([None]), 3), "malformed"),
            "few bytes": (PYTHON_2.replace(b"K\x01K\x02\x86", b"K\x02K\x02\x86"), "malformed"),
            "no state": (b"cnumpy.core.multiarray\n_reconstruct\n(tR.", "no array state"),
            "other codec": (b"c_codecs\nencode\n(S'x'\nS'zip'\ntR.", "latin1"),
            "attributes": (b"cnumpy\ndtype\n(N}S'a'\nK\x01stb.", "not a readable pickle"),
            "huge memo": (b"\x80\x02Nr\xff\xff\xff\x7f.", "refused: memo index 2147483647"),
            "persistent": (b"Pid\n.", "not a readable pickle"),
        }.items()
    },
    **{
        f"counts, {case}": (awa.read_counts, bz2.compress(pickle.dumps(array, 3)), message)
        for case, (array, message) in {
            "columns": (np.zeros((3, 1999)), "expected N × 2000"),
            "vector": (np.zeros(2000), "expected N × 2000"),
            "half": (np.full((1, 2000), 0.5), "not counts"),
            "negative": (np.full((1, 2000), -1.0), "not counts"),
            "nan": (np.full((1, 2000), np.nan), "not counts"),
            "large": (np.full((1, 2000), 65536.0), "not counts"),
        }.items()
    },
    "names, lines": (read_names, b"1 ant\n", "expected 2 lines"),
    "names, two in one": (read_names, b"1 ant gnu\n2 bee\n", "a number and one name"),
    "matrix, columns": (read_matrix, b"0 1\n1 0\n", r"2 rows of \[2\] values, expected \(2, 3\)"),
    "matrix, values": (read_matrix, b"0 1 1\n1 2 1\n", "other than 0 and 1"),
    "wav, rate": (read_samples, wav(WAV[:800], rate=16_000), "16 bits at 16000 Hz, expected one"),
    "wav, channels": (read_samples, wav(WAV[:800], channels=2), r"2 channel\(s\) of 16 bits"),
    "wav, bits": (read_samples, wav(WAV[:800], width=1), "1 channel.* of 8 bits"),
    "wav, cut": (read_samples, WAV[:-101], "cut short, 43999 of 44100 bytes of sound"),
    "wav, cut in header": (read_samples, WAV[:30], "not a readable .wav file"),
    "wav, empty": (read_samples, b"", "not a readable .wav file"),
    "no wav": (read_samples, b"hello" * 100, "not a readable .wav file"),
    "wav, long": (read_samples, WAV + bytes(1 << 22), "more than the 4194304 bytes"),
    "wav, short": (read_windows, wav(bytes(2 * (WINDOW + 5 * HOP))), "6 frames, expected at"),
    "wav, nothing": (read_windows, wav(bytes(6)), "0 frames"),
    **{
        f"track, {case}": (read_pellets, txy(table), message)
        for case, (table, message) in {
            "a column less": (track(20)[:, :-1], "16 columns, expected 17"),
            "a column more": (track(20)[:, [*range(17), 0]], "18 columns"),
            "time stands": (changed(track(20), 5, 0, 4 * 6866), "time 27464 µs in row 5"),
            "time goes back": (track(20)[[0, 1, 3, 2]], "time 20598 µs in row 2"),
            "a row lost": (np.delete(track(20), 3, axis=0), "time 27464 µs in row 3"),
            "late start": (track(20)[1:], "time 6866 µs in row 0, .* must run from 0"),
            "far away": (changed(track(20), 4, 7, 200_001), "200001 at row 4, column 7"),
            "far below": (changed(track(20), 4, 7, -MISSING), "-1e.06 at row 4, column 7"),
        }.items()
    },
    "txy, ragged": (read_pellets, TXY.replace(b"\n", b"\t5\n", 1), "not a table of numbers"),
    "txy, words": (read_pellets, TXY.replace(b"6866", b"four", 1), "not a table of numbers"),
    "txy, no number": (read_pellets, TXY.replace(b"\t68", b"\tnan", 1), "nan at row 1, column 1"),
    "txy, spaces": (read_pellets, TXY.replace(b"\t", b" "), "not a table of numbers"),
    "txy, no text": (read_pellets, TXY.replace(b"0", b"\xff", 1), "not a table of numbers"),
    "txy, empty": (read_pellets, b"\n\n", "cut short"),
    "txy, cut": (read_pellets, TXY[:-4], "cut short"),
    "txy, long": (read_pellets, TXY * 10_000, "more than the 1048576 bytes"),
}


HOSTILE = {
    "65 dimensions": (mnist.read_idx, b"\0\0\x08\x41" + struct.pack(">65I", *[1] * 65) + b"\0"),
    "empty, but long": (mnist.read_idx, b"\0\0\x08\x05" + struct.pack(">5I", 0, *[2**32 - 1] * 4)),
    "picture": (read_picture, large_png()),
    "nested labels": (read_labels, b"[" * 10**5),
    "mat": (read_mat, large_mat(2**31 - 1)),
    "mat, of a million rows": (read_mat, large_mat(10**6)),
    "mat, of negative rows": (read_mat, large_mat(-1)),
    "mat, two of a name": (read_mat, mat(MAT | {"Z1": X}).replace(b"Z1", b"X1")),
    "R sequence": (read_r, long_r_sequence(10**8)),
    "R vector": (
        read_r,
        r_file(R).replace(struct.pack(">i", X[:4].size), struct.pack(">i", 2**31 - 1)),
    ),
    "pickled shape": (
        awa.read_pickled_array,
        pickle.dumps(ARRAY, 2).replace(b"K\x03K\x02\x86", b"\x8a\x0a" + b"\x01" * 10 + b"\x85"),
    ),
    "pickled steps": (awa.read_pickled_array, b"\x80\x02" + b"N" * 10**6 + b"."),
    "pickled frame": (awa.read_pickled_array, b"\x80\x04\x95" + struct.pack("<Q", 2**33) + b"N."),
    "wav": (read_samples, wav(bytes(4000)).replace(b"\xa0\x0f\0\0", b"\xff" * 4)),
    "wav, packed": (read_samples, gzip.compress(wav(bytes(10**7)))),
    "txy": (read_pellets, b"1\n" * 500_000),
    "txy, one row": (read_pellets, b"1\t" * 500_000),
    "txy, packed": (read_pellets, gzip.compress(txy(track(30_000)))),
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
