"""Disks that are full and directories that may not be written to: said so, and gone on from."""

import ctypes
import os
import re
import resource
import subprocess
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.faults

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of linux/prctl.h, linux/capability.h
# Less than the first file of any stage; then more and more of what a run writes.
SIZES = [4096, 65536, 524_288, 4_194_304]


@contextmanager
def small_disk(place, size):
    """Mount a file system of some bytes, and give a function that makes it larger."""

    def mount(*options):
        subprocess.run(["mount", *options, str(place)], check=True)

    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs")
    try:
        yield lambda more: mount("-o", f"remount,size={more}")
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def assert_said(screen, causes):
    """Assert that what fails is named with its cause, and that the way on is."""
    failed = re.findall(r"^(\w+) failed: (.+)$", screen, flags=re.MULTILINE)
    other = [cause for _, cause in failed if not re.search(causes, cause)]
    assert other == [], screen
    assert re.search(causes, screen), screen
    assert "The same command continues where this run stopped" in screen


@pytest.mark.parametrize("place", ["data", "results"])
def test_full_disk(root, project, reference, tally, place):
    with small_disk(project.file(place), SIZES[0]) as enlarge:
        for size in SIZES:
            enlarge(size)
            with tally.trying(f"disk full, {place}"):
                code, screen = project.call()
                project.assert_no_wrong_number(reference)
                assert code != 0
                assert_said(screen, "No space left on device")
        enlarge(2**30)
        project.finish(reference)


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_files_that_may_not_grow(project, reference, tally):
    for size in (65536, 524_288):
        with tally.trying("no file may grow beyond a size"):
            project.options["preexec_fn"] = limited(size)
            code, screen = project.call()
            project.assert_no_wrong_number(reference)
            assert code != 0
            assert_said(screen, "File too large")
    del project.options["preexec_fn"]
    project.finish(reference)


def obedient():
    """Take from root the right to write where no one may (a capability is lost at exec)."""
    dropped = ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
    assert os.geteuid() != 0 or dropped == 0


@pytest.mark.parametrize("place", ["data", "results"])
def test_directory_that_may_not_be_written_to(project, reference, tally, place):
    locked = project.file(place)
    locked.mkdir()
    locked.chmod(0o555)
    project.options["preexec_fn"] = obedient
    with tally.trying(f"read-only directory, {place}"):
        code, screen = project.call()
        assert code != 0
        assert_said(screen, "Permission denied")
        locked.chmod(0o755)
        project.finish(reference)
