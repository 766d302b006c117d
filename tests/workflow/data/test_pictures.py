"""The parsers of MNIST and CIFAR-10."""

import gzip
import json
import struct

import numpy as np
import pytest
from PIL import Image

from workflow.data import cifar, mnist
from workflow.data.errors import DataError


def idx(array, kind=8):
    head = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.tobytes()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_is_read_packed_or_not(tmp_path, pack):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    path = tmp_path / "idx"
    path.write_bytes(pack(idx(images)))
    assert np.array_equal(mnist.read_idx(path), images)


IDX = idx(np.zeros((2, 3), dtype=np.uint8))
BAD_IDX = {
    "cut short": (IDX[:-1], "17 bytes, but its header .* means 18"),
    "too long": (IDX + b"0", "19 bytes, but its header"),
    "cut in header": (IDX[:7], "cut short within its header"),
    "empty": (b"", "not an idx file"),
    "floats": (idx(np.zeros(3, dtype=np.uint8), kind=13), "not an idx file of bytes"),
    "huge": (b"\0\0\x08\x03" + b"\xff" * 12, "means"),
    "cut gzip": (gzip.compress(IDX)[:-10], "cannot be unpacked"),
}


@pytest.mark.parametrize("case", BAD_IDX)
def test_bad_idx_is_named(tmp_path, case):
    data, message = BAD_IDX[case]
    path = tmp_path / "idx"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        mnist.read_idx(path)


def test_mnist_of_another_shape_is_refused(tmp_path):
    path = tmp_path / "idx"
    path.write_bytes(IDX)
    files = {name: path for part in mnist.PARTS for name in mnist.file_names(part)}
    with pytest.raises(DataError, match=r"shape \(2, 3\), but .* \(60000, 28, 28\)"):
        mnist.parse(files)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    made = rng.integers(0, 256, size=(10_000, 3073), dtype=np.uint8)
    made[:, 0] %= 10
    return made


def test_cifar_batch_has_its_planes_in_order(tmp_path, records):
    path = tmp_path / "batch.bin"
    records.tofile(path)
    images, labels = cifar.read_batch(path)
    assert images.shape == (10_000, 32, 32, 3)
    assert np.array_equal(labels, records[:, 0])
    assert images[5, 1, 2].tolist() == [records[5, 1 + 1024 * c + 34] for c in range(3)]


def test_bad_cifar_batches_are_named(tmp_path, records):
    path = tmp_path / "batch.bin"
    path.write_bytes(records.tobytes()[:-1])
    with pytest.raises(DataError, match="30729999 bytes, but a CIFAR-10 batch has 30730000"):
        cifar.read_batch(path)
    wrong = records.copy()
    wrong[3, 0] = 10
    wrong.tofile(path)
    with pytest.raises(DataError, match="label 10, but"):
        cifar.read_batch(path)


def test_pictures_of_another_shape_are_refused(tmp_path):
    path = tmp_path / "p.png"
    Image.new("RGB", (4, 4)).save(path)
    with pytest.raises(DataError, match=r"RGB picture of \(4, 4\)"):
        cifar._read_picture(path)
    path.write_bytes(b"GIF89a")
    with pytest.raises(DataError, match="not a whole PNG"):
        cifar._read_picture(path)


@pytest.mark.parametrize("text", ["[1, 2", "[1, 12]", "[1]", '["a", "b"]', "{}"])
def test_bad_label_lists_are_refused(tmp_path, text):
    path = tmp_path / "labels.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"labels.json"):
        cifar._read_labels(path, 2)


def test_good_label_list(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps([3, 9]))
    assert cifar._read_labels(path, 2).tolist() == [3, 9]
