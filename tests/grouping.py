"""Which tests share a process where several run at a time."""

import pytest


# First: pytest-xdist reads the marks in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep the tests of the finished run in one process: they share it, and some edit it."""
    for item in items:
        if "finished" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("finished"))
