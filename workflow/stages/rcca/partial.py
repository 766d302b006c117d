"""What outlives a job that is killed: no declared output, which Snakemake would delete."""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from rnca._core.files import replacing

Row = dict[str, Any]


def state_file(directory: str | PathLike[str], name: str, made_by: Mapping[str, Any]) -> Path:
    """Name the file in which a job keeps its state, after all that the state depends on.

    ``name`` is the job's, with the file's ending. A file that the same job left under other
    settings is deleted.
    """
    digest = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()
    plain = Path(directory, name)
    wanted = plain.with_stem(f"{plain.stem}-{digest[:16]}")
    for other in wanted.parent.glob(f"{plain.stem}-{'?' * 16}{plain.suffix}"):
        if other != wanted:
            other.unlink()
    return wanted


class PartialRows:
    """The finished rows of a job that was broken off; those of a damaged file are made again."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.rows: list[Row] = []
        if self.path.exists():
            digest, _, text = self.path.read_bytes().partition(b"\n")
            if digest == _digest(text):
                self.rows = json.loads(text)
            else:
                print(f"{self.path}: damaged; its rows are computed again", file=sys.stderr)

    def get(self, key: Mapping[str, Any], compute: Callable[[], Row]) -> Row:
        """Return the row with these values, computed and written first if it is not there."""
        for row in self.rows:
            if all(row[name] == value for name, value in key.items()):
                return row
        self.rows.append(compute())
        text = json.dumps(self.rows).encode()
        with replacing(self.path) as partial:
            partial.write_bytes(_digest(text) + b"\n" + text)
        return self.rows[-1]


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
