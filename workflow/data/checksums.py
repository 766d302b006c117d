"""Checksums of files: sha256, or git's blob id where a source publishes nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from workflow.data.errors import DataError

_LENGTHS = {"sha256": 64, "git-blob": 40}
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Checksum:
    r"""The digest a file must have, in lower-case hexadecimal.

    "git-blob" is the sha1 of ``blob <size>\0`` and the bytes, as git computes it.
    """

    digest: str
    algorithm: str = "sha256"

    def __post_init__(self) -> None:
        length = _LENGTHS.get(self.algorithm)
        if length is None:
            raise DataError(f"checksum algorithm {self.algorithm!r}: known are {sorted(_LENGTHS)}")
        if len(self.digest) != length or set(self.digest) - set("0123456789abcdef"):
            raise DataError(
                f"checksum {self.digest!r}: {self.algorithm} is {length} lower-case hex digits"
            )

    def __str__(self) -> str:
        return f"{self.algorithm} {self.digest}"

    @property
    def cache_name(self) -> str:
        """The name under which the cache keeps a file with this checksum."""
        return self.digest if self.algorithm == "sha256" else f"{self.algorithm}-{self.digest}"

    def of(self, path: Path) -> str:
        """Return the digest, by this checksum's algorithm, that the file at `path` has."""
        if self.algorithm == "git-blob":
            digest = hashlib.sha1(usedforsecurity=False)
            digest.update(b"blob %d\0" % path.stat().st_size)
        else:
            digest = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest()

    def matches(self, path: Path) -> bool:
        """Return whether the file at `path` has this checksum."""
        return self.of(path) == self.digest


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    return Checksum("0" * 64).of(path)
