"""
Classes and clusters
====================

`RLDA` is discriminant analysis on random features: RCCA of the data with their labels.
`RSpectralClustering` is spectral clustering on them, and places new rows as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from rnca import RLDA, RSpectralClustering

# %%
# Classes that no line separates; and digits, where LDA does well and RLDA better.

rings, ring = make_circles(800, factor=0.5, noise=0.1, random_state=0)
pixels, digit = load_digits(return_X_y=True)
for name, (X, label) in {"rings": (rings, ring), "digits": (pixels / 16, digit)}.items():
    x, x_new, c, c_new = train_test_split(X, label, random_state=0)
    linear = LinearDiscriminantAnalysis().fit(x, c).score(x_new, c_new)
    rlda = RLDA(n_features=300, dtype="float64", random_state=0).fit(x, c)
    print(f"{name}: right on new rows: LDA {linear:.1%}, RLDA {rlda.score(x_new, c_new):.1%}")

# %%
# Clusters of unusual shape. Nyström features, the default here, are needed for these: Fourier
# features err by more than what tells such clusters apart.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
axes[0].scatter(*rlda.transform(x_new)[:, :2].T, c=c_new, cmap="tab10", s=6)
axes[0].set_title("Digits: two of nine discriminants")
shapes = {"rings": make_circles(800, factor=0.4, noise=0.05, random_state=0)}
shapes["moons"] = make_moons(800, noise=0.05, random_state=0)
for ax, (name, (X, truth)) in zip(axes[1:], shapes.items(), strict=True):
    model = RSpectralClustering(2, n_features=200, random_state=0).fit(X[:600])
    found = model.predict(X[600:])
    right = np.mean(found == truth[600:])
    print(f"{name}: {max(right, 1 - right):.1%} of new rows in the right cluster")
    ax.scatter(*X[:600].T, c=model.labels_, cmap="coolwarm", s=6, alpha=0.3)
    ax.scatter(*X[600:].T, c=found, cmap="coolwarm", s=12)
    ax.set_title(f"{name}: new rows are placed, too")
plt.show()
