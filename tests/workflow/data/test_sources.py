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
    if name == "xrmb-full":
        assert [file.checksum for file in files] == [None, None]
    else:
        assert len({file.checksum.digest for file in files}) == len(files)
        assert all(form.checksum for form in forms(name))


def test_animals_have_fifty_classes_and_three_tables():
    files = CATALOGUE["awa"].source.files
    assert sum(name.endswith("-surf.pic.bz2") for name in files) == 50
    assert set(files) >= {"classes.txt", "predicates.txt", "predicate-matrix-binary.txt"}
    assert len(files) == 53
