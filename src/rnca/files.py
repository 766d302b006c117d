"""Files that are complete or not there at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside ``path``, renamed to it once the block has succeeded.

    The content reaches the disk before the new name does; a failed or killed writer leaves the
    old file, if any, as it was.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".{final.name}.{os.getpid()}.partial{final.suffix}")
    try:
        yield partial
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)
