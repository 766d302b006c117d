"""Prepared datasets: written whole or not at all, checked when read, and read by rows."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from workflow.data import DataError
from workflow.data.prepared import load_prepared, write_prepared
from workflow.data.views import RowView, column_moments, standardised

META = {"name": "toy", "kind": "own", "title": "a toy"}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=(6, 3)), "y": rng.normal(size=(6, 2)), "labels": np.arange(6)}


@pytest.fixture
def toy(tmp_path, arrays):
    write_prepared(tmp_path / "toy", arrays, META)
    return tmp_path / "toy"


def test_round_trip(toy, arrays):
    data = load_prepared(toy, verify=True)
    assert data.name == "toy"
    assert data.n_rows == 6
    assert data.groups is None
    assert data.meta["stand_in"] is None
    for name, array in arrays.items():
        assert np.array_equal(data.arrays[name], array)
    with pytest.raises(DataError, match="'toy' has no array 'images'"):
        _ = data.images


def test_writing_again_replaces(toy):
    write_prepared(toy, {"x": np.ones((2, 1))}, META)
    assert sorted(path.name for path in toy.iterdir()) == ["meta.json", "x.npy"]
    assert [path.name for path in toy.parent.iterdir() if path.is_dir()] == ["toy"]


CHANGED = "its content does not match"
DAMAGE = {
    "cut short": ("x.npy", lambda data: data[:-8], ".* bytes, but meta.json says"),
    "one bit": ("x.npy", lambda data: data[:-1] + bytes([data[-1] ^ 1]), CHANGED),
    "garbled": ("x.npy", lambda data: b"?" * len(data), "cannot be read"),
    "type": ("x.npy", lambda data: data.replace(b"<f8", b"<i8"), "shape .* but meta.json"),
    "by columns": ("x.npy", lambda data: data.replace(b"False", b"True "), CHANGED),
    "array gone": ("y.npy", None, "missing"),
    "meta gone": ("meta.json", None, "not found"),
    "meta cut": ("meta.json", lambda data: b"{", "not valid JSON"),
    "meta empty": ("meta.json", lambda data: b"[]", "format 'list'"),
    "meta": ("meta.json", lambda data: data.replace(b"a toy", b"no toy"), CHANGED),
    "format": ("meta.json", lambda data: data.replace(b": 1,", b": 99,", 1), "format 99, but .* 1"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_with_its_remedy(toy, damage):
    file, harm, message = DAMAGE[damage]
    data = (toy / file).read_bytes()
    (toy / file).write_bytes(harm(data)) if harm else (toy / file).unlink()
    with pytest.raises(DataError, match=f"(?s){file}: {message}.*Delete the directory"):
        load_prepared(toy, verify=True)


BAD = {
    "pickled objects": ({"x": np.array([[{}]], dtype=object)}, "not numeric"),
    "text": ({"x": np.array([["a"]])}, "not numeric"),
    "NaN": ({"x": np.array([[0.0, 1.0], [2.0, np.nan]])}, "nan at row 1, column 1, counted from 0"),
    "one dimension": ({"x": np.ones(3)}, "has 1 dimensions, expected 2"),
    "unequal rows": ({"x": np.ones((3, 1)), "y": np.ones((2, 1))}, "differ in their number"),
    "empty": ({"x": np.ones((0, 2))}, "is empty"),
    "unknown name": ({"z": np.ones((2, 2))}, "unknown name"),
    "float labels": ({"labels": np.ones(2)}, "must be an integer type"),
    "float images": ({"images": np.ones((2, 2, 2))}, "must be uint8"),
    "split 3": ({"given_split": np.array([0, 3])}, r"given_split holds \[0, 3\]"),
    "no rows": ({"attributes": np.ones((2, 2), dtype=int)}, "none of the arrays"),
    "other label": (
        {"labels": np.array([2, 0]), "attributes": np.ones((2, 3), int)},
        "classes 0 to 1",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused_and_nothing_is_left(tmp_path, case):
    arrays, message = BAD[case]
    with pytest.raises(DataError, match=message):
        write_prepared(tmp_path / "bad", arrays, META)
    assert not list(tmp_path.iterdir())


def test_meta_that_is_not_json_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_prepared(tmp_path / "bad", {"x": np.ones((2, 1))}, {**META, "notes": object()})
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_a_full_disk_is_named_and_leaves_nothing(small_disk):
    with pytest.raises(DataError, match=r"No space left on device \(800,000 bytes needed, "):
        write_prepared(small_disk / "toy", {"x": np.ones((1000, 100))}, META)
    assert [path.name for path in small_disk.iterdir()] == [".toy.lock"]


WRITER = """
import sys, numpy as np
from workflow.data.prepared import write_prepared
arrays = {name: np.ones((400_000, 50)) for name in ("x", "y")}
write_prepared(sys.argv[1], arrays, {"name": "toy", "kind": "own", "title": "big"})
"""


def test_killed_writer_leaves_nothing_under_the_final_name(tmp_path, arrays):
    final, partial = tmp_path / "toy", tmp_path / ".toy.partial" / "x.npy"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(final)]) as writer:
        while not partial.exists():
            assert writer.poll() is None
            time.sleep(0.001)
        os.kill(writer.pid, signal.SIGKILL)
    assert not final.exists()
    assert partial.exists()
    write_prepared(final, arrays, META)
    load_prepared(final, verify=True)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["toy"]


@pytest.fixture
def array(tmp_path):
    values = np.random.default_rng(0).normal(1000, 2, size=(5000, 4)).astype(np.float32)
    values[:, 3] = 7
    np.save(tmp_path / "a.npy", values)
    return np.load(tmp_path / "a.npy", mmap_mode="r")


def test_rows_are_read_as_asked_for(array):
    rows = np.array([5, 2, 9])
    view = RowView(array, rows)
    assert view.shape == (3, 4) == np.asarray(view).shape
    assert view[:].dtype == np.float32
    assert np.array_equal(view[1:], array[[2, 9]])
    assert np.array_equal(view[np.array([2, 0])], array[[9, 5]])
    assert np.array_equal(RowView(array)[3:5], array[3:5])


def test_standardised_by_training_rows(array):
    train, test = np.arange(0, 4000), np.arange(4000, 5000)
    exact = array[train].astype(np.float64)
    mean, scale = column_moments(array, train)
    assert mean == pytest.approx(exact.mean(axis=0), rel=1e-14)
    assert scale[:3] == pytest.approx(exact.std(axis=0)[:3], rel=1e-12)
    assert scale[3] == 1
    view = standardised(array, test, by=train)
    assert view[:].dtype == np.float32
    assert np.allclose(view[10:20], (array[4010:4020] - mean) / scale, atol=1e-6)
    assert standardised(array, train)[:].astype(float).std(axis=0) == pytest.approx([1, 1, 1, 0])


def test_integers_are_standardised_in_float64():
    view = standardised(np.arange(12, dtype=np.uint8).reshape(6, 2))
    assert view[:2].dtype == np.float64
    assert view[:].mean(axis=0) == pytest.approx([0, 0])


def test_a_large_constant_column_is_constant():
    assert column_moments(np.full((3000, 1), 0.1))[1] == 1
