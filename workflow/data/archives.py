"""Opening what was compressed or archived, within bounds and without trusting its names."""

from __future__ import annotations

import bz2
import gzip
import shutil
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from workflow.data import DataError

_OPENERS: dict[bytes, Callable[..., IO[Any]]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open}


def read_bounded(path: Path, limit: int) -> bytes:
    """Return a file's bytes, unpacked if it is gzip or bzip2; see `unpack_bounded`."""
    with path.open("rb") as stream:
        return unpack_bounded(stream, limit, str(path))


def unpack_bounded(stream: BinaryIO, limit: int, where: str) -> bytes:
    """Return a seekable stream's bytes, unpacked if its first two bytes say gzip or bzip2.

    More than `limit` bytes are refused, against decompression bombs; errors call it `where`.
    """
    opener = _OPENERS.get(stream.read(2))
    stream.seek(0)
    try:
        data: bytes = (opener(stream, "rb") if opener else stream).read(limit + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{where}: cannot be unpacked ({error}); fetch it anew") from error
    if len(data) > limit:
        raise DataError(f"{where}: unpacks to more than the {limit} bytes it may hold")
    return data


def extract(archive: Path, wanted: Mapping[str, str], directory: Path, *, limit: int) -> None:
    """Extract some regular files of a tar archive, packed or not, checking every member.

    No name in the archive is ever used as a path: `wanted` maps a member's name to the name it
    gets in `directory`. An archive with an absolute path, a ``..``, a link or a device anywhere
    is refused, as is one whose members hold more than `limit` bytes together.
    """
    missing = dict(wanted)
    total = 0
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                _check_member(archive, member)
                total += member.size
                if total > limit:
                    raise DataError(f"{archive}: holds more than the {limit} bytes it may hold")
                if member.isreg() and member.name in missing:
                    target, source = directory / missing.pop(member.name), tar.extractfile(member)
                    assert source is not None  # as of every regular file
                    with source, target.open("wb") as stream:
                        shutil.copyfileobj(source, stream)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{archive}: not a whole tar archive ({error}); fetch it anew") from error
    if missing:
        raise DataError(f"{archive}: lacks {sorted(missing)}")


def _check_member(archive: Path, member: tarfile.TarInfo) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{archive}: refused, member {member.name!r} points outside the archive")
    if not (member.isreg() or member.isdir()):
        raise DataError(
            f"{archive}: refused, member {member.name!r} is a link or device, not a plain file"
        )
