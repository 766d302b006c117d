import sys
import wave

import numpy as np
import pytest

from workflow.data import microbeam
from workflow.data.errors import DataError
from workflow.data.microbeam import HOP, RATE, WINDOW, cepstra, read_pellets, read_samples

MISSING = 1_000_000


def sound(seconds, rng):
    return rng.integers(-2000, 2000, size=int(seconds * RATE)).astype("<i2")


def write_wav(path, samples, rate=RATE, channels=1, width=2):
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(channels)
        stream.setsampwidth(width)
        stream.setframerate(rate)
        stream.writeframes(samples.tobytes())
    return path


def track(rows):
    """Pellets that move by 1 µm in 1 µs · 1e-3, so that time can be read off them."""
    times = 6866 * np.arange(rows)
    return np.column_stack([times, *(times // 100 + column for column in range(16))])


def write_txy(path, table):
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in table.tolist()))
    return path


@pytest.fixture
def pair(tmp_path):
    rng = np.random.default_rng(0)
    return (
        write_wav(tmp_path / "tp001.wav", sound(1.0, rng)),
        write_txy(tmp_path / "tp001.txy", track(200)),
    )


def test_windows_are_seven_frames_with_pellets_at_the_centres(pair):
    x, y = microbeam.read_windows(*pair)
    frames = 1 + (RATE - WINDOW) // HOP
    assert x.shape == (frames - 6, 273)
    assert y.shape == (frames - 6, 112)
    acoustic = cepstra(read_samples(pair[0]))
    assert np.array_equal(x[5], acoustic[5:12].ravel())
    # Rounded down to 1 µm = 1e-3 mm at the samples, then interpolated and kept in float32.
    centres = (HOP * np.arange(frames) + WINDOW / 2) / RATE
    tracks = centres[:, None] * 1e6 / 100 + np.arange(16)
    expected = np.stack([tracks[i : i + 7].ravel() for i in range(frames - 6)]) / 1e3
    assert np.abs(y - expected).max() < 1.1e-3


def test_windows_with_a_missing_value_are_dropped(pair):
    table = track(200)
    lost = 70
    table[lost, 4] = MISSING
    x, y = microbeam.read_windows(pair[0], write_txy(pair[1], table))
    centres = (HOP * np.arange(len(x) + 60) + WINDOW / 2) / RATE * 1e6
    hidden = np.flatnonzero((centres > 6866 * (lost - 1)) & (centres < 6866 * (lost + 1)))
    assert len(hidden) in (1, 2)
    whole, _ = microbeam.read_windows(pair[0], write_txy(pair[1], track(200)))
    kept = [i for i in range(len(whole)) if not set(range(i, i + 7)) & set(hidden.tolist())]
    assert np.array_equal(x, whole[kept])
    assert np.isfinite(y).all()


def test_pellets_end_the_windows_where_they_end_first(pair):
    x, _ = microbeam.read_windows(pair[0], write_txy(pair[1], track(74)))
    last = (HOP * (len(x) + 5) + WINDOW / 2) / RATE * 1e6
    assert last < 6866 * 73 < last + HOP / RATE * 1e6


def test_speakers_and_utterances_are_kept(pair):
    wav, txy = pair
    files = {}
    for name in ("JW61/tp001", "JW61/tp088", "JW63/tp001"):
        files |= {f"{name}.txy": txy, f"{name}.wav": wav}
    content = microbeam.parse(files)
    windows = len(content.arrays["x"]) // 3
    assert content.arrays["speakers"].tolist() == [61] * 2 * windows + [63] * windows
    assert content.arrays["groups"][::windows].tolist() == [61001, 61088, 63001]
    assert content.meta == {"frame_columns": 39}


def test_cepstra_end_in_the_log_energy_of_the_samples():
    samples = sound(0.2, np.random.default_rng(1)).astype(np.float32)
    found = cepstra(samples)
    assert found.shape == (1 + (len(samples) - WINDOW) // HOP, 39)
    # Kaldi takes the mean of a frame away first. It adds in float32: 551 terms of 6e-8 each.
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(float), WINDOW)[::HOP]
    energy = np.log(((frames - frames.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))
    assert np.abs(found[:, 12] - energy).max() < 551 * 6e-8


def test_differences_are_those_of_the_published_frames(mirror):
    """The 26 columns of differences of JW11's frames follow from the other 13."""
    with np.load(mirror / "xrmb/jw11_tp005_491_frames.npz") as published:
        rows = published["X1"]
    frames = np.vstack([rows[0].reshape(7, 39), rows[1:, -39:]]).astype(np.float64)
    found = microbeam.with_differences(frames[:, :13])
    # Away from the ends, where frames before and after are not published; float32 of up to 60.
    assert np.abs(found - frames)[4:-4].max() < 4e-6


def test_silence_and_a_short_sound(tmp_path, pair):
    assert np.isfinite(cepstra(np.zeros(3000, np.float32))).all()
    short = write_wav(tmp_path / "short.wav", np.zeros(WINDOW + 5 * HOP, "<i2"))
    with pytest.raises(DataError, match=r"short\.wav: 6 frames, expected at least 7"):
        microbeam.read_windows(short, pair[1])
    none = write_wav(tmp_path / "none.wav", np.zeros(3, "<i2"))
    with pytest.raises(DataError, match=r"none\.wav: 0 frames"):
        microbeam.read_windows(none, pair[1])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kaldi_native_fbank", None)
    with pytest.raises(DataError, match=r"kaldi-native-fbank.*pip install 'rnca\[workflow\]'"):
        cepstra(np.zeros(3000, np.float32))


BAD_WAV = {
    "rate": ({"rate": 16_000}, "1 channel.* of 16 bits at 16000 Hz, expected one of 16"),
    "channels": ({"channels": 2}, r"2 channel\(s\) of 16 bits"),
    "bits": ({"width": 1}, "1 channel.* of 8 bits"),
}


@pytest.mark.parametrize("case", BAD_WAV)
def test_sound_of_another_form_is_refused(tmp_path, case):
    form, message = BAD_WAV[case]
    path = write_wav(tmp_path / "a.wav", np.zeros(400, "<i2"), **form)
    with pytest.raises(DataError, match=message):
        read_samples(path)


def test_broken_sound_is_refused(pair):
    data = pair[0].read_bytes()
    for harmed, message in (
        (data[:-101], "cut short, 43999 of 44100 bytes of sound"),
        (data[:30], "not a readable .wav file"),
        (b"", "not a readable .wav file"),
        (b"hello" * 100, "not a readable .wav file"),
        (data + bytes(1 << 22), "more than the 4194304 bytes"),
    ):
        pair[0].write_bytes(harmed)
        with pytest.raises(DataError, match=message):
            read_samples(pair[0])


def test_pellets_are_in_seconds_and_millimetres(pair):
    table = track(3)
    table[1, 2] = MISSING
    table[2, 16] = -25_500
    times, pellets = read_pellets(write_txy(pair[1], table))
    assert times.tolist() == [0, 0.006866, 0.013732]
    assert np.flatnonzero(np.isnan(pellets)).tolist() == [17]
    assert pellets[2, 15] == -25.5


def changed(row, column, value):
    def change(table):
        table[row, column] = value
        return table

    return change


BAD_TABLES = {
    "a column less": (lambda table: table[:, :-1], "16 columns, expected 17"),
    "a column more": (lambda table: np.column_stack([table, table[:, :1]]), "18 columns"),
    "time stands": (changed(5, 0, 4 * 6866), "time 27464 µs in row 5"),
    "time goes back": (lambda table: table[[0, 1, 3, 2]], "time 20598 µs in row 2"),
    "a row lost": (lambda table: np.delete(table, 3, axis=0), "time 27464 µs in row 3"),
    "late start": (lambda table: table[1:], "time 6866 µs in row 0, .* must run from 0"),
    "far away": (changed(4, 7, 200_001), "200001 at row 4, column 7"),
    "far below": (changed(4, 7, -1_000_000), "-1e.06 at row 4, column 7"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tracks_are_named(pair, case):
    change, message = BAD_TABLES[case]
    write_txy(pair[1], change(track(20)))
    with pytest.raises(DataError, match=message):
        read_pellets(pair[1])


BAD_TEXT = {
    "ragged": (lambda text: text.replace(b"\n", b"\t5\n", 1), "not a table of numbers"),
    "words": (lambda text: text.replace(b"6866", b"four", 1), "not a table of numbers"),
    "no number": (lambda text: text.replace(b"\t68", b"\tnan", 1), "nan at row 1, column 1"),
    "spaces": (lambda text: text.replace(b"\t", b" "), "not a table of numbers"),
    "no text": (lambda text: text.replace(b"0", b"\xff", 1), "not a table of numbers"),
    "empty": (lambda text: b"\n\n", "cut short"),
    "cut": (lambda text: text[:-4], "cut short"),
    "too long": (lambda text: text * 10_000, "more than the 1048576 bytes"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text_is_named(pair, case):
    change, message = BAD_TEXT[case]
    pair[1].write_bytes(change(write_txy(pair[1], track(20)).read_bytes()))
    with pytest.raises(DataError, match=message):
        read_pellets(pair[1])
