"""XRMB from the recordings of single speakers: pellet tracks (.txy) and sound (.wav).

The authors' file has 39 acoustic columns per frame: 13 MFCC with their first and second
differences. Here kaldi-native-fbank computes them with Kaldi's defaults, except for the sampling
rate, no dither, and HTK's order (``htk_compat``). The choice was checked against 491 published
frames of speaker JW11, task tp005. The sound of JW11 is not available, so only distributions can
be compared, with tp005 of JW61, JW62 and JW63:

- Order and energy: c1 to c12, then the log energy of the 16-bit samples. JW11's 13th column has
  mean 17.2 and sd 1.9. The log energy of our speakers has means of 17.5 to 19.5 and sds of 2.9 to
  3.2; c0 in its place would have means above 100 and sds of 15.
- Scale: the sds of c1 to c12 are 1.17 to 1.19 times JW11's (geometric mean) with the lifter of 22
  and 23 mel bins. Without a lifter the factor is 0.15, with 20, 26 and 40 bins 1.08, 1.28 and 1.6;
  a single coefficient is off by up to a factor of 3 with any of them, so 20 and 23 bins cannot be
  told apart. The window, the pre-emphasis and an upper limit of 8 kHz change little.
- Differences: the regression over two frames on either side gives JW11's 26 columns of
  differences from the other 13 to 1e-6.
- Pellets: JW11's 16 columns are millimetres, in the order of the .txy files.

Kaldi truncates 10 ms at 22,050 Hz to 220 samples, so frames are 9.977 ms apart; pellets are
interpolated at the true centres.
"""

import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from tqdm import tqdm

from workflow.data import DataError
from workflow.data.prepared import Content
from workflow.data.speech import ACOUSTIC_FRAME_COLUMNS

RATE = 22_050
WINDOW, HOP = 551, 220  # samples: 25 ms and 10 ms, cut as Kaldi cuts them
FRAMES = 7
MISSING = 1_000_000
_SLOPE = np.arange(-2, 3) / 10.0


def parse(files: Mapping[str, Path]) -> Content:
    """Return the windows of all recordings, ``JW61/tp001.txy`` with ``JW61/tp001.wav`` and so on.

    ``x`` is n × 273, ``y`` n × 112 in mm. The speaker of JW61 is 61; the group is the utterance,
    speaker · 1000 + task (61005 for JW61/tp005).
    """
    names = sorted({name.rpartition(".")[0] for name in files})
    parts: dict[str, list[NDArray[Any]]] = {"x": [], "y": [], "speakers": [], "groups": []}
    for name in tqdm(names, desc="recordings", disable=None):
        x, y = read_windows(files[f"{name}.wav"], files[f"{name}.txy"])
        speaker, task = int(name[2:4]), int(name[-3:])
        parts["x"].append(x)
        parts["y"].append(y)
        parts["speakers"].append(np.full(len(x), speaker, dtype=np.uint8))
        parts["groups"].append(np.full(len(x), 1000 * speaker + task, dtype=np.int32))
    arrays = {key: np.concatenate(part) for key, part in parts.items()}
    return Content(arrays, {"frame_columns": ACOUSTIC_FRAME_COLUMNS})


def read_windows(wav: Path, txy: Path) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the two views of one recording: every seven frames in a row without a missing value.

    They are windows × 273 and windows × 112, of no rows if there is no such window.
    """
    acoustic = cepstra(read_samples(wav))
    times, pellets = read_pellets(txy)
    centres = (np.arange(len(acoustic)) * HOP + WINDOW / 2) / RATE
    # NaN on either side makes NaN between: nothing is interpolated over a missing value.
    at_frames = np.column_stack(
        [np.interp(centres, times, track, left=np.nan, right=np.nan) for track in pellets.T]
    ).astype(np.float32)
    x, y = stack_frames(acoustic), stack_frames(at_frames)
    whole = np.isfinite(y).all(axis=1)
    return x[whole], y[whole]


def stack_frames(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each seven frames that follow each other as one row, the earliest frame first."""
    windows = np.lib.stride_tricks.sliding_window_view(frames, FRAMES, axis=0)
    return windows.transpose(0, 2, 1).reshape(len(windows), -1)


def cepstra(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return c1 to c12 and log energy, and their first and second differences: frames × 39.

    Samples are as in the file, from -32768 to 32767. Frame i is of samples 220·i to 220·i + 551;
    there is none of what is short of a window.
    """
    try:
        import kaldi_native_fbank  # here, since only this dataset needs it
    except ImportError as error:
        raise DataError(
            "the recordings of XRMB need kaldi-native-fbank, which is not installed: "
            "pip install 'rnca[workflow]'"
        ) from error
    options = kaldi_native_fbank.MfccOptions()
    options.frame_opts.samp_freq = RATE
    options.frame_opts.dither = 0
    options.htk_compat = True
    mfcc = kaldi_native_fbank.OnlineMfcc(options)
    mfcc.accept_waveform(RATE, samples)
    mfcc.input_finished()
    frames = [mfcc.get_frame(i) for i in range(mfcc.num_frames_ready)]
    return with_differences(np.array(frames, dtype=np.float32).reshape(-1, options.num_ceps))


def with_differences(static: NDArray[Any]) -> NDArray[Any]:
    """Return frames with their first and second differences beside them, as Kaldi's add-deltas.

    Both are one filter of the frames, the first and the last of which are repeated at the ends.
    """
    slopes = (_SLOPE, np.convolve(_SLOPE, _SLOPE))
    return np.hstack(
        [static, *(correlate1d(static, slope, axis=0, mode="nearest") for slope in slopes)]
    )


def read_samples(path: Path) -> NDArray[np.float32]:
    """Read a .wav file of 16 bits and one channel."""
    with wave.open(str(path)) as sound:
        return np.frombuffer(sound.readframes(-1), dtype="<i2").astype(np.float32)


def read_pellets(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read a .txy file: time in µs, then x and y in µm of UL LL T1 T2 T3 T4 MNI MNM.

    Return times in seconds and pellets (n × 16) in millimetres, NaN where one was lost (1000000 in
    the file).
    """
    table = np.loadtxt(path, delimiter="\t")
    pellets = table[:, 1:]
    return table[:, 0] / 1e6, np.where(pellets == MISSING, np.nan, pellets / 1e3)
