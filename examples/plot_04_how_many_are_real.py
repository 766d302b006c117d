"""
How many correlations are real
==============================

CCA maximises correlations, and so finds some in noise too: those of the training rows say little.
``permutation_test`` compares the correlations on held-out rows with those of rows paired at random,
and gives p-values that are adjusted for the number of components.
"""

import matplotlib.pyplot as plt
import numpy as np

from rnca import RCCA

rng = np.random.default_rng(0)
shared = rng.normal(size=(2000, 2))
X, Y = rng.normal(size=(2, 2000, 6))
X[:, :2] += 1.5 * shared
Y[:, 0] += 1.5 * shared[:, 0] ** 2
Y[:, 1] += np.abs(shared[:, 1])

model = RCCA(8, n_features=100, reg=1e-1, random_state=0).fit(X[:1000], Y[:1000])
result = model.permutation_test(X[1000:], Y[1000:], random_state=0)
print(f"on training rows: {np.round(model.training_correlations_, 2)}")
print(f"on new rows:      {np.round(result.correlations, 2)}")
print(f"p-values:         {np.round(result.p_values, 3)}")
print(f"real at level 0.05: {result.n_significant()}")

# %%
# The training correlations of all eight components look like something. On new rows, only the
# filled ones differ from chance. Two shared variables can give more than two correlations, since
# the views share several functions of each.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
result.plot(ax)
ax.plot(range(1, 9), model.training_correlations_, "x", color="C3", label="training rows")
ax.set_title(f"{result.n_significant()} of 8 correlations are real")
ax.legend()
plt.show()

# %%
# Rows of a time series depend on each other. Give ``groups`` then, a label for each block of
# consecutive rows: blocks are permuted whole. Without it, independent series pass for related ones.


def series(n, pairs):
    """Pairs of independent series whose values depend on those before."""
    values = rng.normal(size=(n, 2, pairs))
    for t in range(1, n):
        values[t] += 0.9 * values[t - 1]
    return values


alarms = {"single rows": 0, "blocks of 50": 0}
for a, b in series(1000, 100).transpose(2, 1, 0):
    linear = RCCA(1, feature_map="linear").fit(a[:500, None], b[:500])
    for name, groups in zip(alarms, [None, np.arange(500) // 50], strict=True):
        test = linear.permutation_test(a[500:, None], b[500:], 99, groups, random_state=0)
        alarms[name] += test.n_significant()
for name, count in alarms.items():
    print(f"{count} of 100 independent pairs pass for related, permuting {name}")
