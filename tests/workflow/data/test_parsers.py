"""Parsers of files whose checksums are right."""

import bz2
import gzip
import os
import sys
from pickle import dumps

import numpy as np
import pytest

from files import MISSING, PYTHON_2, changed, idx, r_file, tar, track, txy, wav
from workflow.data import DataError, archives, awa, cifar, microbeam, mnist, speech
from workflow.data.microbeam import HOP, RATE, WINDOW, cepstra, read_pellets

RNG = np.random.default_rng(0)
A = RNG.normal(size=(30, 273)).astype(np.float32)
B = RNG.normal(size=(30, 112)).astype(np.float32)
R = {"x_tr": A[:20], "y_tr": B[:20], "x_te": A[20:], "y_te": B[20:]}
IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
RECORDS = RNG.integers(0, 256, size=(10_000, 3073), dtype=np.uint8)
RECORDS[:, 0] %= 10
SOUND = RNG.integers(-2000, 2000, size=RATE).astype("<i2")
WAV = wav(SOUND.tobytes())


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(data, name="file"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def test_wanted_members_are_extracted_under_our_names(file, tmp_path):
    (tmp_path / "out").mkdir()
    packed = file(tar({"p/one": b"1", "../two": b"2"}, "w:gz"))
    archives.extract(packed, {"../two": "mine"}, tmp_path / "out")
    assert [(each.name, each.read_bytes()) for each in (tmp_path / "out").iterdir()] == [
        ("mine", b"2")
    ]


def test_cifar_batch_has_its_planes_in_order(file):
    images, found = cifar.read_batch(file(RECORDS.tobytes()))
    assert images.shape == (10_000, 32, 32, 3)
    assert np.array_equal(found, RECORDS[:, 0])
    assert images[5, 1, 2].tolist() == [RECORDS[5, 1 + 1024 * c + 34] for c in range(3)]


READ = {
    "idx": (mnist.read_idx, idx(IMAGES), IMAGES),
    "idx, packed": (mnist.read_idx, gzip.compress(idx(IMAGES)), IMAGES),
    "Python 2": (awa.read_counts, bz2.compress(PYTHON_2), [[7, 200]]),
    "names": (awa.read_names, b"  1\tant\n  2\tgnu\n", ["ant", "gnu"]),
}


@pytest.mark.parametrize("case", READ)
def test_values_are_exact(file, case):
    read, data, expected = READ[case]
    found = read(file(data))
    assert np.array_equal(found, expected)
    assert read is not awa.read_counts or found.dtype == np.uint16


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile_pickles(canary):
    touch = f"touch {canary}"
    inner = np.array([Call(os.system, touch)], dtype=object)
    return {
        "os.system": dumps(Call(os.system, touch)),
        "eval": dumps(Call(eval, f"open({str(canary)!r}, 'w')")),
        "protocol 0": b"cos\nsystem\n(S'" + touch.encode() + b"'\ntR.",
        "inside an array": dumps(inner),
        "instance": b"(S'" + touch.encode() + b"'\nios\nsystem\n.",
        "numpy.load": dumps(Call(np.load, str(canary))),
        "getattr": b"cbuiltins\ngetattr\n.",
        "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        "nested name": b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.",
    }


@pytest.mark.parametrize("case", hostile_pickles("x"))
def test_hostile_pickles_are_refused_and_run_nothing(file, tmp_path, case):
    canary = tmp_path / "canary"
    with pytest.raises(DataError, match=r"refused: the pickle asks for .*nothing of it was run"):
        awa.read_counts(file(hostile_pickles(canary)[case]))
    assert not canary.exists()


def test_r_parts_are_joined(file):
    data = gzip.compress(r_file(R))
    parts = {"1": file(data[:1000], "xrmb.1"), "2": file(data[1000:], "xrmb.2")}
    arrays = speech.parse(parts).arrays
    assert np.array_equal(arrays["x"], A)
    assert np.array_equal(arrays["y"], B)
    assert np.bincount(arrays["given_split"], minlength=3).tolist() == [20, 0, 10]


def test_training_rows_beyond_the_papers_become_tune():
    assert np.bincount(speech.paper_parts(30_100, 70)).tolist() == [30_000, 100, 70]


def test_genuine_xrmb_frames_in_r_form(mirror):
    """491 genuine frames, 300 to train and 191 to test, in the form of the authors' file."""
    parts = {name: mirror / "xrmb/sample" / name for name in ("xrmb.1", "xrmb.2")}
    arrays = speech.parse(parts).arrays
    assert np.bincount(arrays["given_split"], minlength=3).tolist() == [300, 0, 191]
    with np.load(mirror / "xrmb/jw11_tp005_491_frames.npz") as frames:
        assert np.array_equal(arrays["x"], frames["X1"])
        assert np.array_equal(arrays["y"], frames["X2"])


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
