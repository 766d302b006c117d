"""Files in the formats that the parsers read, as bytes."""

import io
import struct
import tarfile
import tempfile
import wave
import zipfile
from pathlib import Path

import numpy as np
import rdata
from PIL import Image
from scipy.io import savemat

from workflow.data import microbeam

MISSING = 1_000_000  # of a pellet
# An array pickled as Python 2 does it: its bytes as an 8-bit string.
PYTHON_2 = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85U\x01b\x87R"
    b"(K\x01K\x01K\x02\x86cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R"
    b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x10"
    + struct.pack("<2d", 7, 200.5)
    + b"tb."
)


def made(write, suffix=""):
    """Return the bytes of what a function writes to a file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, f"file{suffix}")
        write(path)
        return path.read_bytes()


def idx(array, kind=8):
    head = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.tobytes()


def png(size):
    return made(lambda path: Image.new("RGB", size).save(path, "PNG"))


def mat(variables, **options):
    return made(lambda path: savemat(path, variables, **options), ".mat")


def r_file(values):
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    return made(lambda path: rdata.write_rda(path, arrays, compression=None))


def npy(array):
    return made(lambda path: np.save(path, array), ".npy")


def npz(**arrays):
    return made(lambda path: np.savez(path, **arrays), ".npz")


def zipped(members, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def unzipped(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tar(members, mode="w"):
    """Make an archive of files, or of links and the like that are described."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, given in members.items():
            member = tarfile.TarInfo(name)
            body = given if isinstance(given, bytes) else b""
            member.size = len(body)
            for key, value in {} if body else given.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(body))
    return stream.getvalue()


def wav(samples, rate=microbeam.RATE, channels=1, width=2):
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(bytes(samples))
    return stream.getvalue()


def track(rows):
    """Pellets that move by 1 µm in 1 µs · 1e-3, so that time can be read off them."""
    times = 6866 * np.arange(rows)
    return np.column_stack([times, *(times // 100 + column for column in range(16))])


def changed(table, row, column, value):
    table[row, column] = value
    return table


def txy(table):
    return "".join("\t".join(map(str, row)) + "\n" for row in table.tolist()).encode()
