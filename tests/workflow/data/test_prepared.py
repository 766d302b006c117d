import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from workflow.data.errors import DataError
from workflow.data.prepared import load_prepared, write_prepared

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


def _cut(toy):
    (toy / "x.npy").write_bytes((toy / "x.npy").read_bytes()[:-8])


def _flip(toy):
    data = bytearray((toy / "x.npy").read_bytes())
    data[-1] ^= 1
    (toy / "x.npy").write_bytes(bytes(data))


def _garble(toy):
    size = (toy / "x.npy").stat().st_size
    (toy / "x.npy").write_bytes(b"?" * size)


def _other_type(toy):
    np.save(toy / "x.npy", np.ones((6, 3), dtype=np.int64))


def _by_columns(toy):
    np.save(toy / "x.npy", np.asfortranarray(np.load(toy / "x.npy")))


def _other_format(toy):
    meta = json.loads((toy / "meta.json").read_text())
    (toy / "meta.json").write_text(json.dumps({**meta, "format": 99}))


DAMAGE = {
    "cut short": (_cut, "x.npy: .* bytes, but meta.json says"),
    "one bit": (_flip, "x.npy: its content does not match"),
    "garbled": (_garble, "x.npy: cannot be read"),
    "other type": (_other_type, "x.npy: shape .* but meta.json says"),
    "by columns": (_by_columns, "x.npy: its content does not match"),
    "array gone": (lambda toy: (toy / "y.npy").unlink(), "y.npy: missing"),
    "meta gone": (lambda toy: (toy / "meta.json").unlink(), "meta.json: not found"),
    "meta cut": (lambda toy: (toy / "meta.json").write_text("{"), "meta.json: not valid JSON"),
    "meta empty": (lambda toy: (toy / "meta.json").write_text("[]"), "meta.json: format 'list'"),
    "other format": (_other_format, "meta.json: format 99, but this version of rnca reads 1"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_with_its_remedy(toy, damage):
    harm, message = DAMAGE[damage]
    harm(toy)
    with pytest.raises(DataError, match=f"(?s){message}.*Delete the directory"):
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
    "label beyond attributes": (
        {"labels": np.array([0, 2]), "attributes": np.ones((2, 3), dtype=int)},
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


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        with pytest.raises(DataError, match=r"No space left on device \(800,000 bytes needed, "):
            write_prepared(tmp_path / "toy", {"x": np.ones((1000, 100))}, META)
        assert [path.name for path in tmp_path.iterdir()] == [".toy.lock"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


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
