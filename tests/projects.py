"""A copy of the project in a directory of its own, to run, edit and kill."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from workflow.lib.provenance import record_of, write_csv

ROOT = Path(__file__).parents[1]
FOLDERS = ["config", "docs", "profiles", "resources", "src", "workflow"]
# What differs from one run to the next, and what is made of it.
CLOCK = re.compile("second|minute|time|peak|megabytes|speed|timing|rpca_exponents|baselines_race")
# Nothing is fetched in these tests: whoever tries is refused at once.
PROXIES = ["https_proxy", "HTTPS_PROXY", "npm_config_https_proxy"]
OFFLINE = dict.fromkeys(PROXIES, "http://127.0.0.1:9")
TEST_SETTINGS = yaml.safe_load((ROOT / "config" / "test.yaml").read_text(encoding="utf-8"))


# Make a directory a git repository with one commit, and print that.
COMMIT = r"""printf '%s\n' '/results/*' /data/ .snakemake/ __pycache__/ > .gitignore
git init --quiet
git add --all
git -c user.name=a -c user.email=a@b commit --quiet -m one
git rev-parse HEAD"""


def changed(config: dict[str, Any], place: Any, value: Any) -> dict[str, Any]:
    """Return settings with another value, or none for ..., at a place: keys, or joined by dots."""
    config = deepcopy(config)
    *above, key = place.split(".") if isinstance(place, str) else place
    parent = config
    for part in above:
        parent = parent.setdefault(part, {})
    if value is ...:
        del parent[key]
    else:
        parent[key] = value
    return config


# What a run on data of one's own asks for.
EXPERIMENT = {
    "title": "own data",
    "dataset": "mine",
    "split": {"scheme": "given"},
    "components": 2,
    "features": [8],
    "maps": ["fourier"],
    "reg": 1e-3,
    "repeats": 1,
}


class Project:
    """A copy of what a run needs, and the commands a user would type in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        for name in ("Snakefile", "environment.yml"):
            shutil.copy(ROOT / name, directory)
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, directory / name, ignore=ignored)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("RNCA_")}
        self.environment = kept | OFFLINE | {"PYTHONPATH": str(directory / "src")}
        # For subprocess.Popen: what a process is started with besides.
        self.options: dict[str, Any] = {}

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        usual = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=self.directory,
            env=self.environment | variables,
            **usual | self.options,
        )

    def launch(self, *arguments: str, **variables: str) -> tuple[int, str]:
        """Run the workflow to its end; return its exit code and what was on screen."""
        return self.run("-m", "workflow.run", *arguments, **variables)

    def ends(self, *arguments: str, **variables: str) -> str:
        """Run the workflow; return what is on screen when it ends well."""
        code, screen = self.launch(*arguments, **variables)
        assert code == 0, screen
        return screen

    def fails(self, *arguments: str, **variables: str) -> str:
        """Run the workflow; return what is on screen when it fails."""
        code, screen = self.launch(*arguments, **variables)
        assert code == 1, screen
        return screen

    def run(self, *command: str, **variables: str) -> tuple[int, str]:
        """Run Python to its end; return its exit code and what was on screen."""
        process = self.start(*command, **variables)
        screen, _ = process.communicate(timeout=900)
        return process.returncode, screen

    def planned(self, *arguments: str, **variables: str) -> dict[str, int]:
        """Return how many jobs of each rule a dry run lists."""
        code, screen = self.run("-m", "snakemake", "--dry-run", *arguments, **variables)
        assert code == 0, screen
        *_, table = screen.rpartition("Job stats:")
        counts = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}
        counts.pop("total", None)
        return counts

    def file(self, path: str) -> Path:
        return self.directory / path

    def write_own(self, x: np.ndarray | None = None, **settings: Any) -> None:
        """Leave an .npz of 300 rows with a split of its own, and settings that use it."""
        x = np.random.default_rng(0).standard_normal((300, 4)) if x is None else x
        part = np.repeat(["train", "tune", "test"], [200, 50, 50])
        np.savez(self.file("views.npz"), x=x, y=x[:, :3] ** 2, part=part)
        entry = {key: {"file": "views.npz", "array": key} for key in "xy"}
        entry |= {"kind": "npz", "split": {"file": "views.npz", "array": "part"}}
        usual = {"run": "mine", "seed": 1, "datasets": {"mine": entry}, "rcca": {"own": EXPERIMENT}}
        self.file("mine.yaml").write_text(yaml.safe_dump(usual | settings), encoding="utf-8")

    @contextmanager
    def edited(self, path: str, old: str, new: str):
        """Replace a piece of a file for the time of a block."""
        file = self.file(path)
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(text, encoding="utf-8")


def wait_for(condition: Callable[[], Any], process: Any = None, seconds: float = 1800) -> Any:
    """Wait, while a process runs, until a condition gives something, and return that."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def drawn(panel) -> dict[str, list[list[float]]]:
    """Return the points of each named series of a chart's panel; the paper's are hollow."""
    named = [mark for mark in panel.marks if getattr(mark, "name", "")]
    hollow = {mark.name for mark in named if mark.hollow}
    assert hollow == {name for name in hollow if name.startswith("paper")}, hollow
    return {mark.name: np.column_stack([mark.x, mark.y]).tolist() for mark in named}


def write_with_record(path: Path, frame: pd.DataFrame, request: str = "asked") -> str:
    """Write a frame as a job does: with a record of the request it was made for."""
    write_csv(path, frame)
    write_record_of(path, request)
    return str(path)


def write_record_of(path: Path, request: str = "asked", name: str = "") -> None:
    """Write the record of a file that stands for a job's output, which wrote it under a name."""
    asked = path.with_name("request.json")
    asked.write_text("asked", encoding="utf-8")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    record = {"path": name or str(path), "sha256": sha256, "inputs": {}}
    record |= {"request": request, "request_file": str(asked)}
    record_of(path).write_text(json.dumps(record), encoding="utf-8")


def assert_same_numbers(ours: Path, theirs: Path) -> None:
    """Compare two CSVs, but for what a clock tells: columns of it, and claims about it."""
    expected, found = pd.read_csv(theirs), pd.read_csv(ours)
    kept = [column for column in expected if not CLOCK.search(column)]
    if "about" in expected:
        timed = expected["about"].str.contains(CLOCK)
        expected, found = expected[~timed], found[~timed]
    pd.testing.assert_frame_equal(found[kept], expected[kept], rtol=1e-5, atol=1e-5)


def numbers_of(project: Project) -> set[Path]:
    """Return the CSVs of the run of config/test.yaml, but for those that a clock has a part in."""
    return {
        file.relative_to(project.directory)
        for file in project.directory.glob("results/test/**/*.csv")
        if not CLOCK.search(file.name)
    }
