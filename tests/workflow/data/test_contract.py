"""What the catalogue promises: of its sources, and of each dataset that is available here."""

import itertools
from pathlib import PurePosixPath
from pkgutil import resolve_name
from urllib.parse import urlsplit

import numpy as np
import pytest
from scipy.special import erfinv
from sklearn.preprocessing import PolynomialFeatures

from workflow.data import embedded
from workflow.data.catalogue import CATALOGUE, parser_script
from workflow.data.prepared import load_prepared
from workflow.data.sources import Bundle, Url
from workflow.lib import requests

# Of a row, where it is not a number alone.
SHAPES = {
    "digits": {"x": (32,), "y": (32,), "images": (8, 8)},
    "patches": {"images": (8, 8, 3)},
    "digits-attributes": {"x": (64,)},
    "rings": {"x": (10,), "y": (10,)},
    "mnist": {"x": (392,), "y": (392,), "images": (28, 28)},
    "cifar10": {"images": (32, 32, 3)},
    "awa": {"x": (2000,)},
}
SPEECH = [name for name in CATALOGUE if name.startswith("xrmb")]
SHAPES |= {name: {"x": (273,), "y": (112,)} for name in ["synthetic-speech", *SPEECH]}
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
    assert set(data.arrays) == set(CATALOGUE[name].facts.arrays)
    for key, kind in DTYPES.get(name, {}).items():
        assert data.arrays[key].dtype == kind
    for key, digest in SHA256.get(name, {}).items():
        assert data.meta["arrays"][key]["sha256"].startswith(digest)
    for key, array in data.arrays.items():
        if key != "attributes":
            assert array.shape == (data.n_rows, *SHAPES[name].get(key, ()))
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
        assert np.isfinite(array).all()
        assert array.min() < array.max() or key == "speakers"
    if name in GIVEN:
        assert np.bincount(data.need("given_split"), minlength=3).tolist() == GIVEN[name]
    if "attributes" in data.arrays:
        assert data.attributes.shape == {"awa": (50, 85), "digits-attributes": (10, 21)}[name]
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


EMBEDDED = [name for name in CATALOGUE if CATALOGUE[name].parser.startswith("embedded:")]
DATASETS = [*CATALOGUE, "my own"]


@pytest.mark.parametrize(
    ("file", "datasets"),
    [
        ("awa.py", ["awa"]),
        ("mnist.py", ["mnist", *EMBEDDED]),  # scikit-learn's digits are halved as MNIST's are
        ("speech.py", SPEECH),
        ("own.py", ["my own"]),
        ("sources.py", DATASETS),
    ],
)
def test_an_edited_parser_prepares_its_own_datasets_anew(monkeypatch, file, datasets):
    def versions():
        requests.code_version.cache_clear()
        scripts = [("data/catalogue.py", parser_script(name)) for name in DATASETS]
        return [[requests.code_version(script) for script in each] for each in scripts]

    before, original = versions(), requests._source_hash
    with monkeypatch.context() as edited:
        edit = {file: b"edited"}
        edited.setattr(
            requests, "_source_hash", lambda path: original(path) + edit.get(path.name, b"")
        )
        after = versions()
    requests.code_version.cache_clear()
    pairs = zip(DATASETS, before, after, strict=True)
    assert {name for name, old, new in pairs if old != new} == set(datasets)


def forms(source):
    """Every file of a source, in every form, and the archives they come in."""
    for file in source.files.values():
        for form in file.forms():
            yield form
            yield from (origin.archive for origin in form.origins if isinstance(origin, Bundle))


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_functions_that_are_named_exist(entry):
    files = entry.source.files.values() if entry.source else []
    origins = [origin for file in files for form in file.forms() for origin in form.origins]
    unpackers = {origin.unpack for origin in origins if isinstance(origin, Bundle)}
    assert all(map(callable, map(resolve_name, [f"workflow.data.{entry.parser}", *unpackers])))


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


RANK = len(embedded.LATENT_CORRELATIONS)


@pytest.fixture(scope="module")
def large():
    return embedded.synthetic_speech(40_000)


def canonical_correlations(a, b):
    q, r = (np.linalg.qr(view - view.mean(axis=0))[0] for view in (a, b))
    return np.linalg.svd(q.T @ r, compute_uv=False)


def test_linear_correlations_are_those_stated(large):
    found = canonical_correlations(large.arrays["x"].astype(float), large.arrays["y"].astype(float))
    stated = large.meta["population_linear_correlations"]
    assert found[:RANK] == pytest.approx(stated, abs=0.015)
    assert found[RANK] < 0.2


def test_nonlinear_correlations_are_those_stated(large):
    """Polynomials up to degree 3 of what the views hold reach every product of up to 3 rho."""
    P, Q = embedded.speech_mixing(np.random.SeedSequence(embedded.SPEECH_SEED).spawn(2)[0])
    u = (large.arrays["x"] @ P)[:, :RANK]
    angles = large.arrays["y"] @ Q
    v = np.sqrt(2) * erfinv(np.arctan2(angles[:, :RANK], angles[:, RANK : 2 * RANK]) / np.pi)
    expand = PolynomialFeatures(3, include_bias=False)
    found = canonical_correlations(expand.fit_transform(u), expand.fit_transform(v))
    products = [
        np.prod(chosen)
        for degree in (1, 2, 3)
        for chosen in itertools.combinations_with_replacement(embedded.LATENT_CORRELATIONS, degree)
    ]
    assert found == pytest.approx(sorted(products, reverse=True), abs=0.03)
    stated = np.round(large.meta["population_correlations"], 9)
    assert set(np.round(sorted(products)[-3:], 9)) <= set(stated)


def test_largest_products_by_enumeration():
    rho = np.array([0.9, 0.7, 0.5])
    powers = itertools.product(range(12), repeat=3)
    every = sorted((float(np.prod(rho**p)) for p in powers if any(p)), reverse=True)
    assert embedded.largest_products(rho, 15) == pytest.approx(every[:15])


def test_synthetic_rows_are_the_same_each_time():
    first, again = embedded.synthetic_speech(50), embedded.synthetic_speech(50)
    assert np.array_equal(first.arrays["x"], again.arrays["x"])


def test_linear_methods_see_nothing_in_the_rings():
    drawn = embedded.rings().arrays
    assert canonical_correlations(drawn["x"].astype(float), drawn["y"].astype(float))[0] < 0.06
    for view in (drawn["x"], drawn["y"]):
        variances = np.linalg.eigvalsh(np.cov(view.T))[::-1]
        assert variances[1] > 0.95 * variances[0] > 90 * variances[2]


@pytest.mark.parametrize(("view", "radii"), [("x", (1, 3, 5)), ("y", (5, 3, 1))])
def test_rings_are_told_apart_by_their_radius(view, radii):
    drawn = embedded.rings(3000).arrays
    distance = np.abs(np.linalg.norm(drawn[view], axis=1)[:, None] - np.array(radii))
    assert (distance.argmin(axis=1) == drawn["labels"]).mean() > 0.99


def test_attributes_tell_the_digits_apart():
    table = np.array(list(embedded.ATTRIBUTES.values()))
    assert table.shape[1] == len(np.unique(table, axis=1).T) == 10
    assert not (table.min(axis=1) == table.max(axis=1)).any()
