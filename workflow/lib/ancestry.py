"""Whether results, and all that they were made from, are there and are what their jobs wrote."""

import os
from pathlib import Path

from workflow.data.errors import DataError
from workflow.lib import provenance


def verify(*paths: str | os.PathLike[str]) -> None:
    """Check outputs of jobs, what else these jobs wrote, and all that they were made from.

    Raises
    ------
    DataError
        If any of them, back to the prepared data, is gone, is not what its job wrote, or not what
        was read when the next one was made. Files without records may be gone: shards are deleted
        once they were used.
    """
    waiting, found = [Path(path) for path in paths], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        record = provenance.read_record(path)
        for file in map(Path, [*record.get("outputs", []), *record["inputs"]]):
            if file.parts[0] == "results" and file.suffix in provenance._RECORDED:
                if not file.is_file():
                    remedy = provenance._remedy(path)
                    raise DataError(f"{file}: gone since {path} was made. {remedy}")
                waiting.append(file)
    provenance.verify(*paths)
