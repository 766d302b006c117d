"""CSV results, each with a record of what made it and the checksum it is read by."""

import hashlib
import io
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_info

from rnca import __version__
from rnca._core.files import replacing
from workflow.data.errors import DataError

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")


def write_csv(
    path: str | os.PathLike[str], frame: pd.DataFrame, made_by: Mapping[str, Any]
) -> None:
    """Write a frame at full precision, and ``<name>.meta.json`` beside it, with its sha256.

    Parameters
    ----------
    path : path
        Ends in .csv.
    frame : DataFrame
    made_by : mapping
        Seed, settings and whatever else made the numbers; must be writable as JSON.
    """
    content = frame.to_csv(index=False, lineterminator="\n").encode()
    with replacing(_record_of(path)) as partial:
        record = {
            "made_by": dict(made_by),
            "environment": environment(),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        partial.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    with replacing(path) as partial:
        partial.write_bytes(content)


def read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a frame that `write_csv` wrote, if it is still what was written.

    A CSV without a record, or with one that has no checksum, is read as it is.

    Raises
    ------
    DataError
        If the file or its record was damaged or edited.
    """
    content, record = Path(path).read_bytes(), _record_of(path)
    if record.is_file():
        try:
            said = json.loads(record.read_text(encoding="utf-8")).get("sha256")
        except (ValueError, AttributeError) as error:
            raise DataError(f"{record}: not valid JSON ({error}). {_remedy(path)}") from error
        if said not in (None, hashlib.sha256(content).hexdigest()):
            raise DataError(f"{path}: not what {record.name} says was written. {_remedy(path)}")
    return pd.read_csv(io.BytesIO(content))


def _record_of(path: str | os.PathLike[str]) -> Path:
    return Path(path).with_suffix(".meta.json")


def _remedy(path: str | os.PathLike[str]) -> str:
    return f"Delete {path} and run again to make it anew"


@cache
def environment() -> dict[str, Any]:
    """Record versions, BLAS, machine and commit."""
    return {
        "python": platform.python_version(),
        "packages": {"rnca": __version__, **{name: version(name) for name in _PACKAGES}},
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
