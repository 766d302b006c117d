"""
Loadings, and predicting the other view
=======================================

What do the canonical variables stand for, and how much of the second view follows from the first?
``loadings`` gives the correlation of each original column with each canonical variable. After
``fit_predictor``, ``predict`` gives the columns of the second view for rows of which only the first
is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rnca import RCCA

images = load_digits().images / 16
left, right = (half.reshape(len(images), -1) for half in np.split(images, 2, axis=2))
x, x_new, y, y_new = train_test_split(left, right, random_state=0)

rcca = RCCA(20, n_features=400, reg=0.5, random_state=0).fit(x, y).fit_predictor(x, y)
linear = RCCA(20, feature_map="linear", reg=1e-3).fit(x, y).fit_predictor(x, y)
for name, model in [("linear CCA", linear), ("RCCA", rcca)]:
    print(f"{name}: R² of the right half, new pictures: {model.prediction_score(x_new, y_new):.2f}")

# %%
# Top: the loadings of pixels are pictures themselves; red pixels are bright where the variable is
# large. Below: new pictures, and the same with their right half predicted from the left one.

of_left, of_right = rcca.loadings(x_new, y_new)
figure, axes = plt.subplots(3, 6, figsize=(9, 4.8), layout="constrained")
for k, ax in enumerate(axes[0]):
    halves = of_left[:, k].reshape(8, 4), of_right[:, k].reshape(8, 4)
    ax.imshow(np.hstack(halves), cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_title(f"variable {k + 1}", fontsize=9)
predicted = rcca.predict(x_new[:6])
for k in range(6):
    for ax, second in [(axes[1, k], y_new[k]), (axes[2, k], predicted[k])]:
        ax.imshow(np.hstack([x_new[k].reshape(8, 4), second.reshape(8, 4)]), cmap="gray_r")
for ax, name in zip(axes[:, 0], ["loadings", "new", "predicted"], strict=True):
    ax.set_ylabel(name)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
plt.show()
