"""The source table is what it must be before anything is fetched from it."""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pytest

from workflow.data.catalogue import CATALOGUE
from workflow.data.sources import Bundle, Url

FETCHED = [name for name, entry in CATALOGUE.items() if entry.source is not None]


def forms(name):
    """Every file of a dataset, in every form, and the archives they come in."""
    for file in CATALOGUE[name].source.files.values():
        for form in file.forms():
            yield form
            yield from (origin.archive for origin in form.origins if isinstance(origin, Bundle))


@pytest.mark.parametrize("name", FETCHED)
def test_addresses_are_https_and_mirror_paths_stay_inside(name):
    for form in forms(name):
        path = PurePosixPath(form.mirror)
        assert not path.is_absolute()
        assert ".." not in path.parts
        for origin in form.origins:
            if isinstance(origin, Url):
                assert urlsplit(origin.address).scheme == "https"


@pytest.mark.parametrize("name", FETCHED)
def test_every_file_has_a_checksum_of_its_own(name):
    files = list(CATALOGUE[name].source.files.values())
    assert len({file.checksum.digest for file in files}) == len(files)
    assert all(form.checksum for form in forms(name))


def test_animals_have_fifty_classes_and_three_tables():
    files = CATALOGUE["awa"].source.files
    assert sum(name.endswith("-surf.pic.bz2") for name in files) == 50
    assert set(files) >= {"classes.txt", "predicates.txt", "predicate-matrix-binary.txt"}
    assert len(files) == 53


def test_recordings_are_two_files_a_task_of_the_speakers_named():
    pooled = CATALOGUE["xrmb-jw"].source.files
    single = [CATALOGUE[f"xrmb-jw{number}"].source.files for number in (61, 62, 63)]
    assert [len(files) for files in single] == [82, 82, 82]
    assert pooled == single[0] | single[1] | single[2]
    assert {name.replace(".txy", ".wav") for name in pooled if name.endswith(".txy")} == {
        name for name in pooled if name.endswith(".wav")
    }
