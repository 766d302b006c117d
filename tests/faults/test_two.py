"""Two runs at once in one directory: one goes on, the other says who is there."""

import pytest
from harmed import CONFIG, PATIENCE

pytestmark = pytest.mark.faults


def test_two_runs_at_once(project, reference, tally):
    with tally.trying("two launchers at once"):
        both = [project.start("-m", "workflow.launch", *CONFIG) for _ in range(2)]
        ends = [(*process.communicate(timeout=PATIENCE), process.returncode) for process in both]
        ends.sort(key=lambda end: end[-1])
        (first, _, code), (second, _, refused) = ends
        assert (code, refused) == (0, 1), first + second
        assert "is in use by another run" in second
        project.finish(reference)


def test_plain_snakemake_beside_the_launcher(project, reference, tally):
    with tally.trying("plain Snakemake beside a launcher"):
        launched = project.start("-m", "workflow.launch", *CONFIG)
        while not list(project.directory.glob(".snakemake/locks/*.lock")):
            assert launched.poll() is None
        plain = project.start("-m", "snakemake", *CONFIG)
        screen, _ = plain.communicate(timeout=PATIENCE)
        assert plain.returncode != 0
        assert "Directory cannot be locked" in screen
        screen, _ = launched.communicate(timeout=PATIENCE)
        assert launched.returncode == 0, screen
        project.finish(reference)
