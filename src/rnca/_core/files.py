"""Files that are complete or not there at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np


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
            yield stored
        except MemoryError:
            raise
        # zipfile, numpy and json raise almost anything on a damaged file.
        except Exception as error:
            raise ValueError(
                f"{path}: not a complete file of {what} ({error}). Delete it and compute it again."
            ) from error
