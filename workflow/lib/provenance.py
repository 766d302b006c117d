"""Results of jobs, each with a record of what made it, where, and the checksum it is read by."""

import hashlib
import io
import json
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_info

import rnca
from rnca.files import replacing
from workflow.data import DataError
from workflow.data.prepared import Prepared, load_prepared
from workflow.lib.requests import read_request

_SHARD = re.compile(r"\.shard\.npz$")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")


def write_csv(path: str | os.PathLike[str], frame: pd.DataFrame) -> None:
    """Write a frame at full precision."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text, completely or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a frame that a job wrote, after the checks of `check`."""
    return pd.read_csv(io.BytesIO(checked(path)))


def checked(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a job's output, after the checks of `check`."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}). {_remedy(path)}") from error
    _compare(path, hashlib.sha256(content).hexdigest())
    return content


def read_prepared(path: str | os.PathLike[str]) -> Prepared:
    """Open the prepared dataset of a job, after the checks of `check` and of all its arrays."""
    check(path)
    return load_prepared(path, verify=True)


def check(path: str | os.PathLike[str]) -> None:
    """Raise DataError if an output of a job is not what the run asks for.

    It is refused if it has no record, was damaged or edited, was written under another name (of
    another run, experiment or repeat), or was made with other settings or code than its job's
    request now says.
    """
    _compare(path, _identity(path))


def _compare(path: str | os.PathLike[str], sha256: str) -> None:
    """Compare an output, whose content has this sha256, with its record."""
    record = read_record(path)
    if Path(record["path"]) != Path(path):
        raise DataError(f"{path}: a copy of what was written as {record['path']}. {_remedy(path)}")
    if record["sha256"] != sha256:
        raise DataError(f"{path}: not what its record says was written. {_remedy(path)}")
    if record["request"] != read_request(record["request_file"]):
        raise DataError(
            f"{path}: made with other settings or code than {record['request_file']} asks for. "
            f"{_remedy(path)}"
        )


def verify(*paths: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Check outputs of jobs, what else these jobs wrote, and all that they were made from.

    All results must be there and, as the prepared data, be what their jobs wrote and what was read
    when the next file was made. Shards and prepared data may be gone. Returns the records.
    """
    waiting, records = [Path(path) for path in paths], dict[Path, dict[str, Any]]()
    while waiting:
        path = waiting.pop()
        if path in records:
            continue
        check(path)
        record = records[path] = read_record(path)
        for file in map(Path, [*record.get("outputs", []), *record["inputs"]]):
            if file.parts[0] == "results" and has_record(file):
                if not file.is_file():
                    raise DataError(f"{file}: gone since {path} was made. {_remedy(path)}")
                waiting.append(file)
    sources = {source for record in records.values() for source in record["inputs"]}
    for source in sorted(sources):
        if Path(source).is_dir():
            read_prepared(source)
    for path, record in records.items():
        for source, sha256 in record["inputs"].items():
            if Path(source).exists() and _identity(source) != sha256:
                what = f"{path}: made from another {source} than there is"
                raise DataError(f"{what}. {_remedy(path)}")
    return list(records.values())


def mixed_versions(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Name the packages of which results were made with several versions, and these."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, number in record.get("environment", {}).get("packages", {}).items():
            found.setdefault(name, set()).add(number)
    return [
        f"{name} {', '.join(sorted(versions))}"
        for name, versions in found.items()
        if len(versions) > 1
    ]


def write_record(path: str | os.PathLike[str], request: str, snakemake: Any) -> None:
    """Write, beside an output of a job, its path, what it was made from and its sha256.

    ``request`` is what the job was asked for when it began.
    """
    if not has_record(path):
        return
    record = {
        "path": str(path),
        "sha256": _identity(path),
        "rule": snakemake.rule,
        "request": request,
        "request_file": snakemake.input.get("request"),
        "inputs": {str(file): _identity(file) for file in snakemake.input},
        "outputs": [str(file) for file in snakemake.output if has_record(file)],
        "environment": environment(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_text(record_of(path), json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the record beside an output of a job."""
    record = record_of(path)
    try:
        found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        texts = dict.fromkeys(("path", "sha256", "request", "request_file"), str)
        types = texts | {"inputs": dict}
        if not all(isinstance(found[key], kind) for key, kind in types.items()):
            raise ValueError("something is missing")
    except FileNotFoundError as error:
        raise DataError(f"{path}: has no record ({record.name}). {_remedy(path)}") from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(f"{record}: not a record of a job ({error}). {_remedy(path)}") from error
    return found


def has_record(path: str | os.PathLike[str]) -> bool:
    """Tell whether a record is written beside an output.

    None is beside shards, which are deleted once they are used and carry checks of their own, nor
    beside requests and what is told of a fetch.
    """
    path = Path(path)
    return not {"requests", "fetched"} & set(path.parts) and not _SHARD.search(path.name)


def record_of(path: str | os.PathLike[str]) -> Path:
    """Return the file of the record beside an output."""
    return Path(path).with_name(f"{Path(path).name}.json")


def is_rendering(record: dict[str, Any]) -> bool:
    """Tell whether a job only renders or collects what others have computed."""
    rule = str(record["rule"])
    # `gather` is of results that were published before reports gathered their parts.
    others = ("gather", "claims", "page", "summary", "data_table")
    return rule.endswith("_report") or rule in others


def _identity(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file; of a prepared dataset, that of its description."""
    try:
        return _sha256(Path(path, "meta.json") if Path(path).is_dir() else path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}). {_remedy(path)}") from error


def _sha256(path: str | os.PathLike[str]) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remedy(path: str | os.PathLike[str]) -> str:
    return f"Delete {path} and run again to make it anew"


@cache
def environment() -> dict[str, Any]:
    """Record versions, BLAS, machine and commit."""
    return {
        "python": platform.python_version(),
        "packages": {"rnca": rnca.__version__, **{name: version(name) for name in _PACKAGES}},
        "blas": sorted(
            {
                f"{pool['internal_api']} {pool['version']}"
                for pool in threadpool_info()
                if pool["user_api"] == "blas"
            }
        ),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "commit": _commit(),
    }


def peak_mb() -> float:
    """Return the largest resident memory of this process so far, in millions of bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _commit() -> str | None:
    """Commit of the code, with ``+changes`` if the tree differs from it.

    None outside this project's own git tree: a library installed below another project's root has
    nothing to do with that project's commit.
    """
    place = Path(__file__).resolve().parent
    try:
        root, head, status = (
            subprocess.run(
                ["git", *arguments], cwd=place, capture_output=True, text=True, check=True
            ).stdout
            for arguments in (
                ("rev-parse", "--show-toplevel"),
                ("rev-parse", "HEAD"),
                ("status", "--porcelain", "--untracked-files=no"),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    if Path(root.strip()).resolve() / "workflow" / "lib" != place:
        return None
    return head.strip() + ("+changes" if status else "")
