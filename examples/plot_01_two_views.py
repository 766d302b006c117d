"""
Two views in five minutes
=========================

Two tables describe the same rows: two microphones, a picture and its caption, a scan and a
questionnaire. Canonical correlation analysis (CCA) finds what they share. `RCCA` finds it also
where the relation is not linear.

Here the views are the left and the right half of pictures of digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rnca import RCCA

images, digit = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8) / 16
left, right = (half.reshape(len(images), -1) for half in np.split(images, 2, axis=2))
x, x_new, y, y_new, _, digit_new = train_test_split(left, right, digit, random_state=0)

# %%
# Fit, and judge by rows that the fit has not seen: ``score`` is the sum of the correlations of the
# pairs of canonical variables, here at most 10.

linear = RCCA(10, feature_map="linear", reg=1e-3).fit(x, y)
rcca = RCCA(10, n_features=400, reg=0.5, random_state=0).fit(x, y)
print(f"linear CCA: {linear.score(x_new, y_new):.2f} of 10")
print(f"RCCA:       {rcca.score(x_new, y_new):.2f} of 10")

# %%
# ``transform`` gives the canonical variables: of one view, or of both. What the halves share is,
# for the most part, the digit.

u, v = rcca.transform(x_new, y_new)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].scatter(u[:, 0], v[:, 0], c=digit_new, cmap="tab10", s=8)
axes[0].set(xlabel="left half, variable 1", ylabel="right half, variable 1")
axes[0].set_title("The halves agree on new pictures")
for model, name in [(linear, "linear CCA"), (rcca, "RCCA")]:
    axes[1].plot(range(1, 11), model.component_correlations(x_new, y_new), "o-", label=name)
axes[1].set(xlabel="component", ylabel="correlation on new pictures", ylim=(0, 1))
axes[1].set_title("RCCA finds more in common")
axes[1].legend()
plt.show()
