"""Features of rows, chunk by chunk, and their products with a basis."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from tqdm import tqdm

from rnca._core.blas import over_row_blocks
from rnca._core.rows import FloatArray, Matrix, View, check_same_columns, grid
from rnca.features.base import FeatureMap

Chunk = TypeVar("Chunk")

# Rows whose mean the sums are taken about.
_HEAD = 256
# Seconds after which a pass shows its progress on a terminal, also without ``verbose``.
_PATIENCE = 10


def feature_chunks(
    maps: Sequence[FeatureMap],
    views: Sequence[View],
    shifts: Sequence[Matrix | float],
    chunks: Iterable[tuple[int, int]],
) -> Iterator[tuple[slice, list[Matrix]]]:
    """Yield the rows of each chunk, and the features of each view less its shift.

    The features are in memory that the next chunk overwrites.
    """
    buffers: list[tuple[FloatArray, Matrix]] = []
    for low, high in chunks:
        # Kept over the pass: new pages for each chunk would cost a tenth of it.
        if not buffers or len(buffers[0][0]) < high - low:
            buffers = [_buffers(fitted, high - low) for fitted in maps]
        features = [
            centred_features(fitted, view.read(low, high), shift, buffer)
            for fitted, view, shift, buffer in zip(maps, views, shifts, buffers, strict=True)
        ]
        yield slice(low, high), features


def centred_features(
    fitted: FeatureMap,
    rows: FloatArray,
    shift: Matrix | float,
    buffers: tuple[FloatArray, Matrix] | None = None,
) -> Matrix:
    """Features of checked rows less a shift, in float64; into the buffers, if there are any."""
    z, centred = buffers or _buffers(fitted, len(rows))
    z, centred = z[: len(rows)], centred[: len(rows)]
    fitted.features(rows, z)
    over_row_blocks(lambda block: np.subtract(z[block], shift, out=centred[block]), len(rows))
    return centred


def _buffers(fitted: FeatureMap, rows: int) -> tuple[FloatArray, Matrix]:
    """Memory for the features of so many rows, as they are and in float64."""
    shape = (rows, fitted.n_features_out)
    return np.empty(shape, fitted.feature_dtype), np.empty(shape)


def head_means(
    maps: Sequence[FeatureMap], views: Sequence[View], start: int, stop: int
) -> list[Matrix]:
    """Mean features of the first rows, per view: what sums are taken about."""
    return [
        centred_features(fitted, view.read(start, min(start + _HEAD, stop)), 0.0).mean(axis=0)
        for fitted, view in zip(maps, views, strict=True)
    ]


def with_progress(chunks: Iterable[Chunk], name: str, verbose: bool) -> Iterable[Chunk]:
    """Show the progress over chunks: with ``verbose``, or on a terminal if it takes long."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    shown: Iterable[Chunk] = tqdm(
        chunks,
        f"{name}: rows",
        unit="chunk",
        delay=0 if verbose else _PATIENCE,
        disable=not (verbose or is_terminal),
    )
    return shown


def projected_chunks(
    fitted: FeatureMap, view: View, mean: Matrix | float, basis: Matrix, chunk_size: int
) -> Iterator[Matrix]:
    """Features less their training mean, times a basis, chunk by chunk in float64."""
    check_width(view, fitted)
    for low, high in grid(0, len(view), chunk_size):
        yield centred_features(fitted, view.read(low, high), mean) @ basis


def projected(
    fitted: FeatureMap,
    view: View,
    mean: Matrix,
    basis: Matrix,
    chunk_size: int,
    out: FloatArray | None = None,
) -> FloatArray:
    """Join `projected_chunks`, in the type of the rows or in the memory given."""
    shape = len(view), basis.shape[1]
    if out is None:
        out = np.empty(shape, view.read(0, 1).dtype)
    form = getattr(out, "shape", None), getattr(out, "dtype", None)
    if form[0] != shape or form[1] not in (np.float32, np.float64):
        raise ValueError(
            f"out for {view.name} has shape {form[0]} and dtype {form[1]}: give an array of "
            f"shape {shape} and dtype float32 or float64."
        )
    filled = 0
    for part in projected_chunks(fitted, view, mean, basis, chunk_size):
        out[filled : filled + len(part)] = part
        filled += len(part)
    return out


def check_width(view: View, fitted: FeatureMap) -> None:
    """Refuse a view whose columns are not those the map was fitted to, in number or by name."""
    columns = getattr(fitted, "feature_names_in_", None)
    check_same_columns(view, fitted.n_features_in_, columns, "the map was fitted to")
