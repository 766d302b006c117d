from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workflow.data.catalogue import CATALOGUE, availability, prepare
from workflow.data.fetch import mirror_directory
from workflow.data.prepared import Prepared


@pytest.fixture
def mirror() -> Path:
    directory = mirror_directory()
    if directory is None:
        pytest.skip("RNCA_MIRROR is not set")
    return directory


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    """Prepare a dataset once for all tests, or skip if only the network could have it."""
    root = tmp_path_factory.mktemp("prepared")
    cache = Path(os.environ.get("RNCA_CACHE") or root / "cache")
    done: dict[str, Prepared] = {}

    def get(name: str) -> Prepared:
        where = availability(CATALOGUE[name], cache)
        if where not in ("embedded", "in the cache", "in the mirror"):
            pytest.skip(f"{name}: {where}; set RNCA_MIRROR or RNCA_CACHE to where it is")
        if name not in done:
            done[name] = prepare(name, root / name, cache=cache)
        return done[name]

    return get


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)
