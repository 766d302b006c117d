"""What the catalogue promises: of its sources, and of each dataset that is available here."""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

import numpy as np
import pytest

from workflow.data.catalogue import CATALOGUE, dataset
from workflow.data.errors import DataError
from workflow.data.prepared import load_prepared
from workflow.data.sources import Bundle, Url

SHAPES = {
    "digits": {"x": (1797, 32), "y": (1797, 32), "images": (1797, 8, 8), "labels": (1797,)},
    "patches": {"images": (8480, 8, 8, 3), "labels": (8480,)},
    "digits-attributes": {"x": (1797, 64), "labels": (1797,), "attributes": (10, 21)},
    "synthetic-speech": {
        "x": (5000, 273), "y": (5000, 112), "groups": (5000,), "given_split": (5000,),
    },
    "rings": {"x": (20000, 10), "y": (20000, 10), "labels": (20000,)},
    "mnist": {
        "x": (70000, 392), "y": (70000, 392), "images": (70000, 28, 28), "labels": (70000,),
        "given_split": (70000,),
    },
    "cifar10": {"images": (60000, 32, 32, 3), "labels": (60000,), "given_split": (60000,)},
    "awa": {"x": (30475, 2000), "labels": (30475,), "attributes": (50, 85)},
    "xrmb-jw61": {"x": (30506, 273), "y": (30506, 112), "groups": (30506,)},
    "xrmb-jw62": {"x": (30535, 273), "y": (30535, 112), "groups": (30535,)},
    "xrmb-jw63": {"x": (28257, 273), "y": (28257, 112), "groups": (28257,)},
    "xrmb-jw": {"x": (89298, 273), "y": (89298, 112), "groups": (89298,)},
}  # fmt: skip
DTYPES = {
    "synthetic-speech": {"x": "f4", "y": "f4"},
    "rings": {"x": "f4", "y": "f4", "labels": "u1"},
    "xrmb-jw61": {"x": "f4", "y": "f4"},
}
# Of the content, without the .npy header, where source and parser leave nothing open.
SHA256 = {
    "digits": {"x": "cece73e5feb10151", "y": "22cb2cb730a49800", "labels": "8ba4f891220f5e4c"},
    "mnist": {"x": "75a33d83e35ee981", "y": "c93bf74a9554206d", "labels": "671ff9d70b481111"},
    "cifar10": {"images": "0ac3ab5c78edb36a", "labels": "3edb456524d5918a"},
    "awa": {"x": "d8dfe1fdbd79fd61", "attributes": "6f7c31dfb46bcc57"},
}
GIVEN = {
    "synthetic-speech": [3000, 1000, 1000],
    "mnist": [60000, 0, 10000],
    "cifar10": [50000, 0, 10000],
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_prepared_dataset_keeps_its_promises(name, prepared):
    data = prepared(name)
    assert set(data.arrays) == set(CATALOGUE[name].arrays)
    for key, shape in SHAPES.get(name, {}).items():
        assert data.arrays[key].shape == shape
    for key, kind in DTYPES.get(name, {}).items():
        assert data.arrays[key].dtype == kind
    for key, digest in SHA256.get(name, {}).items():
        assert data.meta["arrays"][key]["sha256"].startswith(digest)
    for key, array in data.arrays.items():
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
        assert np.isfinite(array).all()
        assert array.min() < array.max() or key == "speakers"
    if name in GIVEN:
        assert np.bincount(data.given_split, minlength=3).tolist() == GIVEN[name]
    if "attributes" in data.arrays:
        assert set(np.unique(data.attributes)) == {0, 1}
        assert np.array_equal(np.unique(data.labels), np.arange(len(data.attributes)))
        assert len(data.meta["class_names"]) == len(data.attributes)
        assert len(data.meta["attribute_names"]) == data.attributes.shape[1]
    size = sum(entry["bytes"] for entry in data.meta["arrays"].values())
    assert size < CATALOGUE[name].prepared_mb * 1e6 < 1.1 * size + 1e6
    assert data.meta["licence"]
    assert data.meta["citation"]
    assert (data.meta["kind"] == "embedded") == (not data.meta["sources"])
    load_prepared(data.path, verify=True)
    facts, given = CATALOGUE[name].facts, data.arrays.get("given_split")
    views = [data.arrays[view] for view in ("x", "y") if view in data.arrays]
    pixels = data.images[0].size if "images" in data.arrays else 0
    found = {
        "rows": data.n_rows,
        "columns": pixels or sum(view.shape[1] for view in views),
        "training_rows": None if given is None else np.count_nonzero(given == 0),
    }
    for key, value in found.items():  # of some that are fetched, only the files tell
        is_open = CATALOGUE[name].source is not None and getattr(facts, key) is None
        assert is_open or getattr(facts, key) == value


def test_unknown_dataset_names_the_known_ones():
    with pytest.raises(DataError, match=r"unknown dataset 'minst'.*mnist"):
        dataset("minst")


def forms(source):
    """Every file of a source, in every form, and the archives they come in."""
    for file in source.files.values():
        for form in file.forms():
            yield form
            yield from (origin.archive for origin in form.origins if isinstance(origin, Bundle))


@pytest.mark.parametrize("name", [name for name in CATALOGUE if CATALOGUE[name].source])
def test_sources_are_https_checked_and_mirrored_inside(name):
    source = CATALOGUE[name].source
    assert len({file.checksum.digest for file in source.files.values()}) == len(source.files)
    for form in forms(source):
        assert form.checksum
        path = PurePosixPath(form.mirror)
        assert not path.is_absolute()
        assert ".." not in path.parts
        addresses = [origin.address for origin in form.origins if isinstance(origin, Url)]
        assert {urlsplit(address).scheme for address in addresses} <= {"https"}


def test_sources_of_many_files_are_complete():
    files = CATALOGUE["awa"].source.files
    assert sum(name.endswith("-surf.pic.bz2") for name in files) == 50
    assert set(files) >= {"classes.txt", "predicates.txt", "predicate-matrix-binary.txt"}
    assert len(files) == 53
    pooled = CATALOGUE["xrmb-jw"].source.files
    single = [CATALOGUE[f"xrmb-jw{number}"].source.files for number in (61, 62, 63)]
    assert [len(files) for files in single] == [82, 82, 82]
    assert pooled == single[0] | single[1] | single[2]
    stems = [[name[:-4] for name in pooled if name.endswith(kind)] for kind in (".txy", ".wav")]
    assert sorted(stems[0]) == sorted(stems[1])
