"""Opening what was compressed or archived; its checksum has been found right."""

import bz2
import gzip
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

_UNPACKERS = {b"\x1f\x8b": gzip.decompress, b"BZ": bz2.decompress}


def unpacked(data: bytes) -> bytes:
    """Return bytes, unpacked if the first two say gzip or bzip2."""
    return _UNPACKERS.get(data[:2], bytes)(data)


def extract(archive: Path, wanted: Mapping[str, str], directory: Path) -> None:
    """Extract files of a tar archive: `wanted` maps a member's name to the name it gets."""
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.name in wanted else None
            if content is not None:
                with content, (directory / wanted[member.name]).open("wb") as stream:
                    shutil.copyfileobj(content, stream)
