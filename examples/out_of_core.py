"""Nonlinear PCA of rows that stay on disk: memory depends on m, not on the number of rows.

Run: python examples/out_of_core.py
"""

import tempfile
from pathlib import Path

import numpy as np

from rnca import RPCA

with tempfile.TemporaryDirectory() as place:
    file = Path(place, "rows.npy")
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(100_000, 20))
    for start in range(0, len(rows), 10_000):
        angle = rng.uniform(0, 2 * np.pi, size=10_000)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        rows[start : start + 10_000] = 0.1 * rng.normal(size=(10_000, 20))
        rows[start : start + 10_000, :2] += circle

    model = RPCA(n_components=4, n_features=300, random_state=0).fit(np.load(file, mmap_mode="r"))
    print(f"share of the features' variance: {np.round(model.explained_variance_ratio_, 3)}")

    # The same from an iterator, for rows that come from a database or a network.
    pieces = (np.array(rows[start : start + 5_000]) for start in range(0, len(rows), 5_000))
    streamed = RPCA(n_components=4, n_features=300, random_state=0).fit_chunks(pieces)
    print(f"from a stream:                   {np.round(streamed.explained_variance_ratio_, 3)}")
