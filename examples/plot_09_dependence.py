"""
Dependence that correlation misses
==================================

The randomized dependence coefficient (`rdc`) is the largest canonical correlation of random
features of the ranks: between 0 and 1, near 1 for any functional relation. `rdc_test` gives a
p-value, `rdc_matrix` a table for all pairs of columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from rnca import rdc, rdc_matrix, rdc_test

rng = np.random.default_rng(0)
n = 500
t = rng.uniform(-1, 1, n)
noise = 0.1 * rng.normal(size=(2, n))
relations = {
    "line": (t, t + noise[0]),
    "parabola": (t, t**2 + noise[0]),
    "wave": (t, np.sin(5 * t) + noise[0]),
    "circle": (np.cos(np.pi * t) + noise[0], np.sin(np.pi * t) + noise[1]),
    "independent": (t, rng.uniform(-1, 1, n)),
}
figure, axes = plt.subplots(1, 5, figsize=(12, 2.8), layout="constrained")
for ax, (name, (x, y)) in zip(axes, relations.items(), strict=True):
    pearson = np.corrcoef(x, y)[0, 1]
    test = rdc_test(x, y, n_permutations=99, random_state=0)
    print(f"{name:12} correlation {pearson:5.2f}, RDC {test.statistic:.2f}, p = {test.pvalue:.2f}")
    ax.scatter(x, y, s=3)
    ax.set(title=f"{name}\nr = {pearson:.2f}, RDC = {test.statistic:.2f}", xticks=[], yticks=[])
plt.show()

# %%
# The RDC of independent samples is not 0, since it is a maximum; it falls with the number of rows.
# Judge by the p-value, or compare values of the same n only.

for rows in (100, 1000, 10_000):
    x, y = rng.normal(size=(2, rows))
    print(f"independent, {rows:6} rows: RDC {rdc(x, y, random_state=0):.2f}")

# %%
# All pairs of columns at once.

table = np.column_stack([t, t**2, np.sin(5 * t), rng.normal(size=n)])
print(rdc_matrix(table, random_state=0).round(2))
