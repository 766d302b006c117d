"""Files that are damaged between two calls: told, or made again, and never a number in a table."""

import random
import re
import shutil

import pytest

from projects import assert_same_numbers, numbers_of
from workflow.lib.exhibits import stage_names

pytestmark = pytest.mark.faults

SPEECH = "results/test/rcca/speech/nystroem-0"
RNG = random.Random(0)


def flip(file):
    """Change one bit: of a digit after a table's head, or in the middle; tell if there was any."""
    content = bytearray(file.read_bytes())
    places = [len(content) // 2]  # an array's, not what a zip file says of times and systems
    if file.suffix == ".csv":
        head = content.find(b"\n")
        places = [i for i in range(head + 1, len(content)) if _digit(content[i])]
    if places:
        content[RNG.choice(places)] ^= 1
        file.write_bytes(content)
    return bool(places)


def _digit(byte):
    return ord("0") <= byte <= ord("9")


def cut(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * 2 // 3])
    return True


def harm_all(harm, files):
    harmed = [file for file in sorted(files) if harm(file)]
    assert harmed
    return harmed


@pytest.mark.parametrize("harm", [flip, cut])
def test_damaged_prepared_data(finished, reference, tally, harm):
    prepared = finished.file("data/prepared")
    harmed = harm_all(harm, prepared.glob("*/[xyi]*.npy"))
    shutil.rmtree(finished.file("results"))
    with tally.trying(f"prepared array, {harm.__name__}", times=len(harmed)):
        code, screen = finished.call()
        assert code != 0
        finished.assert_no_wrong_number(reference)
        named = set(re.findall(r"Delete the directory (data/prepared/\S+) and run again", screen))
        assert {finished.file(name) for name in named} == {file.parent for file in harmed}
        for name in named:
            shutil.rmtree(finished.file(name))
        finished.finish(reference)


@pytest.mark.parametrize("harm", [flip, cut])
def test_damaged_shards(finished, reference, tally, harm):
    for file in finished.directory.glob(f"{SPEECH}.*"):
        file.unlink()
    shards = [f"{SPEECH}.shard-{number}.npz" for number in range(2)]
    code, screen = finished.call(*shards, "--notemp")
    assert code == 0, screen
    with tally.trying(f"shard, {harm.__name__}", times=len(shards)):
        harm_all(harm, map(finished.file, shards))
        finished.finish(reference)
        log = finished.file("results/test/logs/rcca/speech/nystroem-0.log")
        told = log.read_text(encoding="utf-8")
        assert told.count("are gone through again") == len(shards)


@pytest.mark.parametrize("harm", [flip, cut])
def test_damaged_csvs(finished, reference, tally, harm):
    """All of a run's at once; deleting what is named leads back to tables that are right."""
    results = finished.file("results/test")
    harmed = harm_all(
        harm, (file for name in stage_names() for file in (results / name).rglob("*.csv"))
    )
    named = set()
    with tally.trying(f"CSV, {harm.__name__}", times=len(harmed)):
        code, screen = finished.call()
        while code != 0:
            assert_tables_are_right(finished, reference)
            found = set(re.findall(r"Delete (results/\S+\.csv) and run again", screen))
            assert found, screen
            for name in found:
                finished.file(name).unlink(missing_ok=True)
            named |= found
            code, screen = finished.call()
        assert named
        assert_tables_are_right(finished, reference)


def assert_tables_are_right(project, reference):
    for name in numbers_of(project):
        if name.parent.name == "tables":
            assert_same_numbers(project.directory / name, reference.directory / name)
