"""
Kernel PCA, beside scikit-learn's
=================================

`RPCA` approximates kernel PCA. The exact method holds an n × n matrix; this one holds an m × m
matrix, where m is the number of features, and its time is linear in n.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.decomposition import KernelPCA

from rnca import RPCA, median_gamma

# %%
# The same components: on 1500 rows, compare the eigenvalues and the subspace of the scores.

X, position = make_swiss_roll(1500, random_state=0)
gamma = median_gamma(X, random_state=0)
exact = KernelPCA(5, kernel="rbf", gamma=gamma).fit(X)
basis = np.linalg.qr(exact.transform(X))[0]
for kind, m in [("fourier", 200), ("fourier", 2000), ("nystroem", 200)]:
    model = RPCA(5, feature_map=kind, n_features=m, gamma=gamma, random_state=0).fit(X)
    cosines = np.linalg.svd(basis.T @ np.linalg.qr(model.transform(X))[0])[1]
    print(f"{kind:8} m = {m:4}: smallest cosine between the subspaces {cosines.min():.4f}")

# %%
# The time, for growing n. The exact method's grows faster than n², and so does its memory: at
# 100,000 rows its kernel matrix alone would have 80 GB.

sizes = [500, 1000, 2000, 4000]
seconds = {"KernelPCA, exact": [], "RPCA, Nyström, m = 200": []}
for n in sizes:
    rows, _ = make_swiss_roll(n, random_state=0)
    ours = RPCA(5, feature_map="nystroem", n_features=200, gamma=gamma, random_state=0)
    theirs = KernelPCA(5, kernel="rbf", gamma=gamma, eigen_solver="randomized", random_state=0)
    for name, model in zip(seconds, [theirs, ours], strict=True):
        start = perf_counter()
        model.fit_transform(rows)
        seconds[name].append(perf_counter() - start)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
ours = RPCA(2, feature_map="nystroem", n_features=200, gamma=gamma, random_state=0).fit_transform(X)
theirs = exact.transform(X)[:, :2]
ours = ours * np.sign((ours * theirs).sum(axis=0))  # the sign of a component is arbitrary
for ax, scores, name in [(axes[0], theirs, "exact"), (axes[1], ours, "RPCA")]:
    ax.scatter(*scores.T, c=position, s=4)
    ax.set(title=f"Swiss roll, {name}", xlabel="component 1", ylabel="component 2")
for name, times in seconds.items():
    axes[2].loglog(sizes, times, "o-", label=name)
axes[2].set(xlabel="rows n", ylabel="seconds", title="The exact method's time grows faster")
axes[2].legend()
plt.show()
