"""Downloading one file over https, or out of the npm registry through its client.

With time-outs, bounded retries, a bound on size, and progress; nothing of a package is run.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import requests
import urllib3
from requests.adapters import HTTPAdapter
from tqdm import tqdm

from workflow.data import SourceError

_LOOPBACK = ("127.0.0.1", "[::1]", "localhost")
_RETRY_STATUS = {408, 425, 429, 500, 502, 503, 504}
_MAX_REDIRECTS = 5
MAX_BYTES = 1 << 33
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server, in seconds, and how often to ask it."""

    connect: float = 15.0
    read: float = 60.0  # for the next bytes
    whole: float = 7200.0  # for one file; the slowest of the servers needs up to an hour
    attempts: int = 3  # per address, for faults that may pass
    pause: float = 1.0  # before the second attempt, doubled before each further one


class _PassingError(SourceError):
    """The source may yield the file if asked again."""


def download(address: str, target: Path, size: int | None, patience: Patience) -> None:
    """Download at most `size` bytes, as the server stores them; begin anew on every attempt.

    The address and wherever it redirects to must be https, or plain http on loopback. A download
    that fails is a SourceError; an OSError comes from writing `target`.
    """
    for attempt in range(1, patience.attempts + 1):
        try:
            _download_once(address, target, size, patience)
            return
        except _PassingError as failure:
            if attempt == patience.attempts:
                raise SourceError(f"{failure} ({attempt} attempts)") from failure
            time.sleep(patience.pause * 2 ** (attempt - 1))


def _download_once(address: str, target: Path, size: int | None, patience: Patience) -> None:
    limit = size or MAX_BYTES
    deadline = time.monotonic() + patience.whole
    with _open(address, patience) as response:
        name = address.rsplit("/", 1)[-1]
        progress = tqdm(total=size, desc=name, unit="B", unit_scale=True, disable=None, leave=False)
        with progress, target.open("wb") as stream:
            received = 0
            for block in _blocks(response):
                received += len(block)
                if received > limit:
                    raise SourceError(f"wrong content: more than the {limit} bytes expected")
                if time.monotonic() > deadline:
                    raise SourceError(f"too slow: {received} bytes in {patience.whole:g} s")
                stream.write(block)
                progress.update(len(block))


def _open(address: str, patience: Patience) -> requests.Response:
    session = requests.Session()
    session.max_redirects = _MAX_REDIRECTS
    # Redirects, too, lead only to https, or to this machine.
    del session.adapters["http://"]
    for host in _LOOPBACK:
        session.mount(f"http://{host}:", HTTPAdapter())
    try:
        response = session.get(
            address,
            stream=True,
            timeout=(patience.connect, patience.read),
            # The bytes as they are stored: a .gz must not be unpacked on the way.
            headers={"Accept-Encoding": "identity"},
        )
    except requests.exceptions.InvalidSchema as error:
        raise SourceError(
            f"refused: only https is used (plain http on loopback alone): {error}"
        ) from error
    except requests.TooManyRedirects as error:
        raise SourceError(f"more than {_MAX_REDIRECTS} redirects") from error
    except requests.RequestException as error:
        raise _PassingError(_short(error)) from error
    if response.status_code != requests.codes.ok:
        response.close()
        kind = _PassingError if response.status_code in _RETRY_STATUS else SourceError
        raise kind(f"the server answered {response.status_code} {response.reason}")
    return response


def _blocks(response: requests.Response) -> Iterator[bytes]:
    try:
        yield from response.raw.stream(_BLOCK, decode_content=False)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise _PassingError(f"the connection broke off: {_short(error)}") from error


def _short(error: BaseException) -> str:
    """Name the fault underneath, without the layers of library around it."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


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
        if done.returncode:
            if "ENOSPC" in done.stderr:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            lines = done.stderr.splitlines()
            errors = [line for line in lines if line.lower().startswith("npm err")]
            raise SourceError(f"npm ended with {done.returncode}: " + " ".join(errors[:3]))
        packed = sorted(directory.glob("*.tgz"))
        if len(packed) != 1:
            raise SourceError(f"npm left {len(packed)} archives, expected one")
        packed[0].rename(target)
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"npm was not done after {patience.whole:g} s") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)
