"""Files are complete or not there at all, whatever becomes of their writer."""

import os
import signal
import subprocess
import sys

import pytest

from rnca._core.files import replacing

KILLED = """
import os, signal, sys
from rnca._core.files import replacing
with replacing(sys.argv[1]) as partial:
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write_and_fail(file):
    with replacing(file) as partial:
        partial.write_text("half")
        raise RuntimeError


def test_failed_writer_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(RuntimeError):
        write_and_fail(file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_next_writer_clears_away_what_killed_ones_left(tmp_path):
    file = tmp_path / "a.txt"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    with replacing(file) as partial:
        assert not partial.exists()
        partial.write_text("new")
    assert file.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]
