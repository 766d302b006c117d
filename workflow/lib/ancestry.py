"""Whether results, and all that they were made from, are what their jobs wrote."""

import os
from pathlib import Path

from workflow.data.errors import DataError
from workflow.lib import provenance
from workflow.lib.provenance import checked, read_record


def verify(*paths: str | os.PathLike[str]) -> None:
    """Check outputs of jobs, what else these jobs wrote, and all that they were made from.

    Raises
    ------
    DataError
        If any of them, back to the prepared data, is gone, is not what its job wrote, or not what
        was read when the next one was made.
    """
    waiting, inputs = [Path(path) for path in paths], dict[Path, dict[str, str]]()
    while waiting:
        path = waiting.pop()
        if path in inputs:
            continue
        checked(path)
        record = read_record(path)
        outputs, read = record.get("outputs", []), record["inputs"]
        # What is not recorded may be gone: shards are deleted once they were used.
        of_jobs = [file for file in map(Path, [*outputs, *read]) if is_recorded(file)]
        for file in of_jobs:
            if not file.is_file():
                raise DataError(f"{file}: gone since {path} was made. {provenance._remedy(path)}")
        inputs[path] = {file: sha256 for file, sha256 in read.items() if Path(file).exists()}
        waiting += of_jobs
    for path, read in inputs.items():
        for name, sha256 in read.items():
            if provenance._identity(name) != sha256:
                remedy = provenance._remedy(path)
                raise DataError(f"{path}: made from another {name} than there is. {remedy}")


def is_recorded(file: Path) -> bool:
    """Tell whether a file is a job's output that has a record."""
    return file.parts[0] == "results" and file.suffix in provenance._RECORDED
