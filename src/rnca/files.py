"""Files that are complete or not there at all."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_IN_A_BYTE = 1032  # bytes that Deflate packs into one, at most
# zipfile unpacks a whole block of any other kind, however long, to read its first byte.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside ``path``, renamed to it once the block has succeeded.

    The content reaches the disk before the new name does; a failed or killed writer leaves the
    old file, if any, as it was. What a killed one has written is cleared away by the next: a file
    has one writer at a time.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".{final.name}.partial{final.suffix}")
    partial.unlink(missing_ok=True)
    try:
        yield partial
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def opened_archive(path: str | os.PathLike[str], what: str) -> "Iterator[np.lib.npyio.NpzFile]":
    """Open an npz file; what is found wrong with it, here or in the block, is a ValueError."""
    with open(path, "rb") as file:
        try:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise ValueError("a single array, not an archive of them")
            archive: Any = stored.zip
            if any(member.compress_type for member in archive.infolist()):
                raise ValueError("packed, as no file of this library is")
            yield stored
        except MemoryError:
            raise
        # zipfile, numpy and json raise almost anything on a damaged file.
        except Exception as error:
            raise ValueError(
                f"{path}: not a complete file of {what} ({error}). Delete it and compute it again."
            ) from error


def read_member(stored: "np.lib.npyio.NpzFile", name: str) -> npt.NDArray[Any]:
    """Read an array, or raise ValueError if its archive cannot hold as much as it announces.

    numpy takes the memory that a header asks for before it looks for the data.
    """
    archive: Any = stored.zip
    file = name if name in archive.namelist() else f"{name}.npy"
    if archive.getinfo(file).compress_type not in _BOUNDED:
        raise ValueError(f"{name!r} is neither stored nor deflated; write it with numpy.savez")
    packed = archive.getinfo(file).compress_size
    with archive.open(file) as member:
        version = np.lib.format.read_magic(member)
        if version not in _HEADERS:
            raise ValueError(f"{name} has a header of version {version}")
        shape, _, dtype = _HEADERS[version](member)
    announced = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if announced > MOST_IN_A_BYTE * packed:
        raise ValueError(f"{name} announces {announced} bytes, but has {packed} in the file")
    array: npt.NDArray[Any] = stored[name]
    return array
