"""Parsers: what they read, and the sentences with which they refuse what they should not read."""

import bz2
import gzip
import hashlib
import os
import pickle
import struct
import sys
import tarfile
from functools import partial

import numpy as np
import pytest

from files import MISSING, changed, idx, mat, png, r_file, tar, track, txy, wav
from workflow.data import archives, awa, cifar, microbeam, mnist, speech
from workflow.data.checksums import Checksum
from workflow.data.errors import DataError
from workflow.data.matlab import MatFile
from workflow.data.microbeam import HOP, RATE, WINDOW, cepstra, read_pellets, read_samples

RNG = np.random.default_rng(0)
A = RNG.normal(size=(30, 273)).astype(np.float32)
B = RNG.normal(size=(30, 112)).astype(np.float32)
R = {"x_tr": A[:20], "y_tr": B[:20], "x_te": A[20:], "y_te": B[20:]}
COUNTS = np.arange(6000.0).reshape(3, 2000)
# As Python 2 writes it: the bytes of the array as an 8-bit string.
PYTHON_2 = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85U\x01b\x87R"
    b"(K\x01K\x01K\x02\x86cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R"
    b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x10"
    + struct.pack("<2d", 7, 200.5)
    + b"tb."
)
IDX = idx(np.zeros((2, 3), dtype=np.uint8))
RECORDS = RNG.integers(0, 256, size=(10_000, 3073), dtype=np.uint8)
RECORDS[:, 0] %= 10
SOUND = RNG.integers(-2000, 2000, size=RATE).astype("<i2")
WAV, TXY = wav(SOUND.tobytes()), txy(track(20))
ONE = {"p/one": b"1"}


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(data, name="file"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


bounded = partial(archives.read_bounded, limit=10**4)
labels = partial(cifar._read_labels, count=2)
names = partial(awa.read_names, count=2)
matrix = partial(awa.read_matrix, shape=(2, 2))


def extract(path, *names):
    (path.parent / "out").mkdir(exist_ok=True)
    wanted = dict.fromkeys(names or ["p/one"], "mine")
    archives.extract(path, wanted, path.parent / "out", limit=1000)


def parse_mnist(path):
    mnist.parse({name: path for part in mnist.PARTS for name in mnist.file_names(part)})


def mat_variable(path):
    return MatFile(path).read("XTe1")


def r_parts(path):
    return speech.parse_r_parts([path])


def windows(path):
    (path.parent / "track").write_bytes(txy(track(200)))
    return microbeam.read_windows(path, path.parent / "track")


def repacked(harm):
    return gzip.compress(harm(r_file(R)))


BAD_MAT = {
    "cut short": (lambda data: data[: len(data) // 2], "damaged|no numeric variable"),
    "version 7.3": (lambda data: b"MATLAB 7.3 MAT-file" + data[19:], "'-v7'"),
    "no MATLAB file": (lambda data: b"\0" * len(data), "not a MATLAB file"),
    "empty": (lambda data: b"", "not a MATLAB file"),
    "garbage": (lambda data: data[:128] + b"\xff" * 500, "damaged"),
}
MATS = {packed: mat({"X1": A, "XTe1": A}, do_compression=packed) for packed in (False, True)}
PACKERS = {"gzip": gzip.compress, "bz2": bz2.compress}
REFUSED = {
    **{
        f"{name}, {what}": (bounded, harm(pack(bytes(range(256)) * 39)), "cannot be unpacked")
        for name, pack in PACKERS.items()
        for what, harm in {
            "cut": lambda data: data[:-9],
            "changed": lambda data: data[:20] + b"\xff\x00" + data[22:],
        }.items()
    },
    "tar bomb": (extract, tar({"one": bytes(10**6)}, "w:gz"), "more than the 1000 bytes"),
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
    "batch, cut": (cifar.read_batch, RECORDS.tobytes()[:-1], "29999 bytes, but a CIFAR-10 batch"),
    "batch, label": (cifar.read_batch, b"\x0a" + RECORDS.tobytes()[1:], "label 10, but"),
    "small picture": (cifar._read_picture, png((4, 4)), r"RGB picture of \(4, 4\)"),
    "no picture": (cifar._read_picture, b"GIF89a", "not a whole PNG"),
    **{
        f"labels {text}": (labels, text, "misfit")
        for text in (b"[1, 2", b"[1, 12]", b"[1]", b'["a", "b"]', b"{}")
    },
    **{
        f"mat, {case}, packed: {packed}": (mat_variable, harm(data), message)
        for case, (harm, message) in BAD_MAT.items()
        for packed, data in MATS.items()
    },
    "mat 4": (mat_variable, mat({"X1": A}, format="4"), "not a MATLAB file of version 5 to 7"),
    "R, cut": (r_parts, gzip.compress(r_file(R))[:-50], "cannot be unpacked"),
    "R, parsed short": (r_parts, repacked(lambda data: data[:-5000]), "not a whole R file"),
    "R, other version": (r_parts, repacked(lambda d: b"RDX9\n" + d[5:]), "not a whole R file"),
    "no R": (r_parts, b"hello" * 1000, "not an R save"),
    "R, lacking": (r_parts, r_file({"x_tr": A}), r"matrices \['x_te', 'y_te', 'y_tr'\]"),
    "R, columns": (r_parts, r_file(R | {"y_te": B[20:, 1:]}), "y has .* columns"),
    "R, rows": (r_parts, r_file(R | {"y_te": B[21:]}), "differ in their number of rows"),
    "R, vector": (r_parts, r_file(R | {"y_te": B[21]}), "y_te is not a numeric matrix"),
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
    "names, lines": (names, b"1 ant\n", "expected 2 lines"),
    "names, two in one": (names, b"1 ant gnu\n2 bee\n", "a number and one name"),
    "matrix, columns": (matrix, b"0 1 1\n1 0 1\n", r"2 rows of \[3\] values, expected \(2, 2\)"),
    "matrix, values": (matrix, b"0 1\n1 2\n", "other than 0 and 1"),
    "wav, rate": (read_samples, wav(WAV[:800], rate=16_000), "16 bits at 16000 Hz, expected one"),
    "wav, channels": (read_samples, wav(WAV[:800], channels=2), r"2 channel\(s\) of 16 bits"),
    "wav, bits": (read_samples, wav(WAV[:800], width=1), "1 channel.* of 8 bits"),
    "wav, cut": (read_samples, WAV[:-101], "cut short, 43999 of 44100 bytes of sound"),
    "wav, cut in header": (read_samples, WAV[:30], "not a readable .wav file"),
    "wav, empty": (read_samples, b"", "not a readable .wav file"),
    "no wav": (read_samples, b"hello" * 100, "not a readable .wav file"),
    "wav, long": (read_samples, WAV + bytes(1 << 22), "more than the 4194304 bytes"),
    "wav, short": (windows, wav(bytes(2 * (WINDOW + 5 * HOP))), "6 frames, expected at least 7"),
    "wav, nothing": (windows, wav(bytes(6)), "0 frames"),
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


@pytest.mark.parametrize("case", REFUSED)
def test_bad_file_is_refused_in_a_sentence_that_names_it(file, case):
    read, data, message = REFUSED[case]
    with pytest.raises(DataError, match=message) as refused:
        read(file(data, "misfit"))
    assert "misfit" in str(refused.value)


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
def test_bytes_are_unpacked_up_to_the_limit(file, pack):
    path = file(pack(b"0" * 1000))
    assert archives.read_bounded(path, 1000) == b"0" * 1000
    with pytest.raises(DataError, match="more than the 999 bytes"):
        archives.read_bounded(path, 999)


def test_wanted_members_are_extracted_under_our_names(file, tmp_path):
    extract(file(tar(ONE | {"p/two": b"2"}, "w:gz")), "p/two")
    assert [(each.name, each.read_bytes()) for each in (tmp_path / "out").iterdir()] == [
        ("mine", b"2")
    ]


HOSTILE_MEMBERS = {
    "/rnca-escaped": b"!",
    "p/../../escaped": b"!",
    "p/symlink": {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
    "p/link": {"type": tarfile.LNKTYPE, "linkname": "p/one"},
    "p/device": {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3},
    "p/pipe": {"type": tarfile.FIFOTYPE},
}


@pytest.mark.parametrize("name", HOSTILE_MEMBERS)
def test_hostile_archives_are_refused(file, tmp_path, name):
    with pytest.raises(DataError, match="refused"):
        extract(file(tar({name: HOSTILE_MEMBERS[name]} | ONE, "w:gz")), name, "p/one")
    assert not list((tmp_path / "out").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"file", "out"}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_is_read_packed_or_not(file, pack):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert np.array_equal(mnist.read_idx(file(pack(idx(images)))), images)


def test_cifar_batch_has_its_planes_in_order(file):
    images, found = cifar.read_batch(file(RECORDS.tobytes()))
    assert images.shape == (10_000, 32, 32, 3)
    assert np.array_equal(found, RECORDS[:, 0])
    assert images[5, 1, 2].tolist() == [RECORDS[5, 1 + 1024 * c + 34] for c in range(3)]


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_counts_are_exact(file, protocol):
    counts = awa.read_counts(file(bz2.compress(pickle.dumps(COUNTS, protocol))))
    assert counts.dtype == np.uint16
    assert np.array_equal(counts, COUNTS)


def test_python_2_and_fortran_order(file):
    assert awa.read_pickled_array(file(PYTHON_2)).tolist() == [[7, 200.5]]
    fortran = pickle.dumps(np.asfortranarray(COUNTS), 3)
    assert np.array_equal(awa.read_pickled_array(file(fortran)), COUNTS)


def test_tables_are_read(file):
    assert names(file(b"  1\tant\n  2\tgnu\n")) == ["ant", "gnu"]
    assert matrix(file(b"0 1\n1 0\n")).tolist() == [[0, 1], [1, 0]]
    assert labels(file(b"[3, 9]")).tolist() == [3, 9]


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile_pickles(canary):
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


@pytest.mark.parametrize("case", hostile_pickles("x"))
def test_hostile_pickles_are_refused_and_run_nothing(file, tmp_path, case):
    canary = tmp_path / "canary"
    with pytest.raises(DataError, match=r"refused: the pickle asks for .*nothing of it was run"):
        awa.read_pickled_array(file(hostile_pickles(canary)[case]))
    assert not canary.exists()


def test_r_parts_are_joined(file):
    data = gzip.compress(r_file(R))
    parts = [file(data[:1000], "xrmb.1"), file(data[1000:], "xrmb.2")]
    arrays = speech.parse_r_parts(parts).arrays
    assert np.array_equal(arrays["x"], A)
    assert np.array_equal(arrays["y"], B)
    assert np.bincount(arrays["given_split"], minlength=3).tolist() == [20, 0, 10]


def test_training_rows_beyond_the_papers_become_tune():
    assert np.bincount(speech.paper_parts(30_100, 70)).tolist() == [30_000, 100, 70]


def test_genuine_xrmb_frames_in_r_form(mirror):
    """491 genuine frames, 300 to train and 191 to test, in the form of the authors' file."""
    parts = [mirror / "xrmb/sample/xrmb.1", mirror / "xrmb/sample/xrmb.2"]
    arrays = speech.parse_r_parts(parts).arrays
    assert np.bincount(arrays["given_split"], minlength=3).tolist() == [300, 0, 191]
    with np.load(mirror / "xrmb/jw11_tp005_491_frames.npz") as frames:
        assert np.array_equal(arrays["x"], frames["X1"])
        assert np.array_equal(arrays["y"], frames["X2"])


def test_checksums(file):
    blob = Checksum("ce013625030ba8dba906f756967f9e9ca394464a", "git-blob")
    path = file(b"hello\n")
    assert blob.matches(path)
    assert Checksum(hashlib.sha256(b"hello\n").hexdigest()).matches(path)
    assert not blob.matches(file(b"hello"))
    for arguments in (("abc",), ("G" * 64,), ("0" * 64, "md5")):
        with pytest.raises(DataError, match="checksum"):
            Checksum(*arguments)


@pytest.fixture
def read_windows(file):
    return lambda table: microbeam.read_windows(file(WAV, "wav"), file(txy(table), "txy"))


def test_windows_are_seven_frames_with_pellets_at_the_centres(read_windows):
    x, y = read_windows(track(200))
    frames = 1 + (RATE - WINDOW) // HOP
    assert x.shape == (frames - 6, 273)
    assert y.shape == (frames - 6, 112)
    acoustic = cepstra(SOUND.astype(np.float32))
    assert np.array_equal(x[5], acoustic[5:12].ravel())
    # Rounded down to 1 µm = 1e-3 mm at the samples, then interpolated and kept in float32.
    centres = (HOP * np.arange(frames) + WINDOW / 2) / RATE
    tracks = centres[:, None] * 1e6 / 100 + np.arange(16)
    expected = np.stack([tracks[i : i + 7].ravel() for i in range(frames - 6)]) / 1e3
    assert np.abs(y - expected).max() < 1.1e-3


def test_windows_with_a_missing_value_are_dropped(read_windows):
    lost = 70
    x, y = read_windows(changed(track(200), lost, 4, MISSING))
    centres = (HOP * np.arange(len(x) + 60) + WINDOW / 2) / RATE * 1e6
    hidden = np.flatnonzero((centres > 6866 * (lost - 1)) & (centres < 6866 * (lost + 1)))
    assert len(hidden) in (1, 2)
    whole, _ = read_windows(track(200))
    kept = [i for i in range(len(whole)) if not set(range(i, i + 7)) & set(hidden.tolist())]
    assert np.array_equal(x, whole[kept])
    assert np.isfinite(y).all()


def test_pellets_end_the_windows_where_they_end_first(read_windows):
    x, _ = read_windows(track(74))
    last = (HOP * (len(x) + 5) + WINDOW / 2) / RATE * 1e6
    assert last < 6866 * 73 < last + HOP / RATE * 1e6


def test_speakers_and_utterances_are_kept(file):
    sound, pellets = file(WAV, "wav"), file(txy(track(200)), "txy")
    files = {}
    for name in ("JW61/tp001", "JW61/tp088", "JW63/tp001"):
        files |= {f"{name}.txy": pellets, f"{name}.wav": sound}
    content = microbeam.parse(files)
    windows = len(content.arrays["x"]) // 3
    assert content.arrays["speakers"].tolist() == [61] * 2 * windows + [63] * windows
    assert content.arrays["groups"][::windows].tolist() == [61001, 61088, 63001]
    assert content.meta == {"frame_columns": 39}


def test_cepstra_end_in_the_log_energy_of_the_samples():
    found = cepstra(SOUND.astype(np.float32))
    assert found.shape == (1 + (len(SOUND) - WINDOW) // HOP, 39)
    # Kaldi takes the mean of a frame away first. It adds in float32: 551 terms of 6e-8 each.
    frames = np.lib.stride_tricks.sliding_window_view(SOUND.astype(float), WINDOW)[::HOP]
    energy = np.log(((frames - frames.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))
    assert np.abs(found[:, 12] - energy).max() < 551 * 6e-8
    assert np.isfinite(cepstra(np.zeros(3000, np.float32))).all()


def test_differences_are_those_of_the_published_frames(mirror):
    """The 26 columns of differences of JW11's frames follow from the other 13."""
    with np.load(mirror / "xrmb/jw11_tp005_491_frames.npz") as published:
        rows = published["X1"]
    frames = np.vstack([rows[0].reshape(7, 39), rows[1:, -39:]]).astype(np.float64)
    found = microbeam.with_differences(frames[:, :13])
    # Away from the ends, where frames before and after are not published; float32 of up to 60.
    assert np.abs(found - frames)[4:-4].max() < 4e-6


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kaldi_native_fbank", None)
    with pytest.raises(DataError, match=r"kaldi-native-fbank.*pip install 'rnca\[workflow\]'"):
        cepstra(np.zeros(3000, np.float32))


def test_pellets_are_in_seconds_and_millimetres(file):
    table = changed(changed(track(3), 1, 2, MISSING), 2, 16, -25_500)
    times, pellets = read_pellets(file(txy(table)))
    assert times.tolist() == [0, 0.006866, 0.013732]
    assert np.flatnonzero(np.isnan(pellets)).tolist() == [17]
    assert pellets[2, 15] == -25.5
