"""Projects to harm, and the count of what was tried."""

import time
from collections import Counter
from contextlib import contextmanager

from projects import Project, assert_same_numbers, numbers_of

CONFIG = ("--configfile", "config/test.yaml")
# In seconds, for one run: on a machine that is at work on other things, a minute becomes an hour.
PATIENCE = 12 * 3600


class Tally:
    """How many faults of each kind were tried, and how many the run survived."""

    def __init__(self):
        self.tried, self.survived = Counter(), Counter()

    @contextmanager
    def trying(self, fault, times=1):
        self.tried[fault] += times
        yield
        self.survived[fault] += times

    def lines(self):
        yield f"{'fault':<50} {'tried':>6} {'survived':>9} {'failed':>7}"
        for fault, tried in self.tried.items():
            survived = self.survived[fault]
            yield f"{fault:<50} {tried:>6} {survived:>9} {tried - survived:>7}"


TALLY = Tally()


class HarmedProject(Project):
    """A project whose runs are compared with one that nothing disturbed."""

    def call(self, *arguments):
        """Run config/test.yaml to its end; return the exit code and what was on screen."""
        screen, began = self.file("screen.txt"), time.monotonic()
        with screen.open("w", encoding="utf-8") as stream:
            self.options["stdout"] = stream
            code = self.start("-m", "workflow.launch", *arguments, *CONFIG).wait(timeout=PATIENCE)
        self.seconds = time.monotonic() - began
        return code, screen.read_text(encoding="utf-8")

    def finish(self, reference):
        """Run to the end that an undisturbed run comes to."""
        code, screen = self.call()
        assert code == 0, screen
        assert "All that these settings ask for was run." in screen
        assert numbers_of(self) == numbers_of(reference)
        self.assert_no_wrong_number(reference)

    def assert_no_wrong_number(self, reference):
        for name in numbers_of(self):
            assert_same_numbers(self.directory / name, reference.directory / name)
