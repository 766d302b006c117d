"""Two views of the same digits: what their halves have in common.

Run: python examples/two_views.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rnca import RCCA

images = load_digits().images
left, right = (half.reshape(len(images), -1) for half in np.split(images, 2, axis=2))
x, x_new, y, y_new = train_test_split(left, right, test_size=0.2, random_state=0)

linear = RCCA(10, feature_map="linear", reg=1e-3).fit(x, y)
print(f"linear CCA:        {linear.score(x_new, y_new):.2f} of 10")

# One pass over the rows serves every m; reg is chosen on rows of its own.
x_fit, x_tune, y_fit, y_tune = train_test_split(x, y, test_size=0.2, random_state=0)
rcca = RCCA(10, n_features=400, reg=1e-3, random_state=0).fit(x_fit, y_fit)
models = rcca.path([50, 100, 200, 400], regs=[1e-3, 1e-2, 1e-1, 1.0])
best = max(models, key=lambda model: model.score(x_tune, y_tune))
m = best.map_x_.n_features_out
print(f"RCCA:              {best.score(x_new, y_new):.2f} of 10, with m = {m}, reg = {best.reg}")

shared = best.transform(x_new)
print(f"first variable of the left half, five new digits: {np.round(shared[:5, 0], 2)}")
