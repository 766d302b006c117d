"""
A million rows from disk
========================

``fit`` reads a memory-mapped file chunk by chunk: memory depends on the number of features m, not
on the number of rows.
"""

import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from rnca import RPCA

n = 1_000_000


def write_rows(file, n):
    """Write a noisy circle in 20 dimensions, a piece at a time."""
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(n, 20))
    for piece in np.array_split(rows, 10):
        angle = rng.uniform(0, 2 * np.pi, size=len(piece))
        piece[:] = 0.1 * rng.normal(size=piece.shape)
        piece[:, :2] += np.column_stack([np.cos(angle), np.sin(angle)])


folder = tempfile.TemporaryDirectory()
file = Path(folder.name, "rows.npy")
write_rows(file, n)
rows = np.load(file, mmap_mode="r")

# %%
# The pass over growing parts of the file: time grows with the rows, the memory of arrays does not.

sizes, seconds, megabytes = [n // 8, n // 4, n // 2, n], [], []
for size in sizes:
    model = RPCA(4, n_features=200, random_state=0)
    tracemalloc.start()
    start = perf_counter()
    model.fit(rows[:size])
    seconds.append(perf_counter() - start)
    megabytes.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
    print(f"{size:7} rows: {seconds[-1]:.2f} s, {megabytes[-1]:.1f} MB of arrays")

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
axes[0].plot(sizes, seconds, "o-")
axes[0].set(xlabel="rows", ylabel="seconds", ylim=(0, None), title="Time grows with the rows")
axes[1].plot(sizes, megabytes, "o-", color="C1")
axes[1].set(xlabel="rows", ylabel="MB of arrays", title="Memory does not")
axes[1].set_ylim(0, 2 * max(megabytes))
some = rows[:2000]
u = model.transform(some)
axes[2].scatter(u[:, 0], u[:, 1], c=np.arctan2(some[:, 1], some[:, 0]), cmap="twilight", s=4)
axes[2].set(xlabel="component 1", ylabel="component 2", title="The circle in 20 dimensions")
plt.show()

# %%
# Rows that come from a database or a network: ``fit_chunks`` takes any iterator, once. Kernel width
# and pilot means then come from the head of the stream, not from all rows, so that the features
# differ a little.

pieces = (np.array(piece) for piece in np.array_split(rows, 20))
streamed = RPCA(4, n_features=200, random_state=0).fit_chunks(pieces)
print(f"file:   {np.round(model.explained_variance_ratio_, 3)}")
print(f"stream: {np.round(streamed.explained_variance_ratio_, 3)}")
folder.cleanup()
