"""
Choosing m, reg and gamma
=========================

`RCCA` has three settings that matter: the number of features m, the regulariser ``reg`` and the
kernel width ``gamma``. One pass over the data serves every m and every ``reg``.
"""

import matplotlib.pyplot as plt
import numpy as np

from rnca import RCCA, RCCACV, median_gamma

rng = np.random.default_rng(0)
n = 4000
shared = rng.uniform(-2, 2, size=(n, 3))
X = np.hstack([shared**2, rng.normal(size=(n, 5))]) + 0.2 * rng.normal(size=(n, 8))
waves = np.sin(1.5 * shared) + np.cos(shared)
Y = np.hstack([waves, rng.normal(size=(n, 5))]) + 0.2 * rng.normal(size=(n, 8))
x, x_new, y, y_new = X[:3000], X[3000:], Y[:3000], Y[3000:]

# %%
# `RCCACV` scores all pairs of m and ``reg`` by cross-validation. The folds share one pass over the
# rows; what is left are solutions, whose cost does not depend on the number of rows.

sizes, regs = (50, 100, 200, 400), (1e-6, 1e-4, 1e-2, 1e-1)
search = RCCACV(3, sizes=sizes, regs=regs, random_state=0).fit(x, y)
print(f"chosen: m = {search.best_size_}, reg = {search.best_reg_}")
print(f"on new rows: {search.score(x_new, y_new):.2f} of 3")

# %%
# The kernel width needs a loop, since every width has features of its own. The median heuristic,
# the default, is a good start; widths within a factor of ten of it are worth a try. If rows have
# groups (speakers, patients), give ``groups`` to ``fit``.

factors = [0.03, 0.1, 0.3, 1, 3, 10]
widths = (median_gamma(x, random_state=0), median_gamma(y, random_state=0))
scores = []
for factor in factors:
    gamma = tuple(factor * width for width in widths)
    trial = RCCACV(3, sizes=(200,), regs=regs, gamma=gamma, random_state=0).fit(x, y)
    scores.append(trial.best_score_)

# %%
# ``path`` gives the models themselves, for any m up to the fitted one and any ``reg``, without
# another pass.

rcca = RCCA(3, n_features=400, reg=0.3, random_state=0).fit(x, y)
on_new = [model.score(x_new, y_new) for model in rcca.path(sizes)]

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
search.plot(axes[0])
axes[0].set_title("RCCACV: a small reg overfits as m grows")
axes[1].semilogx(factors, scores, "o-")
axes[1].set(xlabel="gamma / median heuristic", title="Wider kernels than the default do better")
axes[2].plot(sizes, on_new, "o-")
axes[2].set(xlabel="number of features m", title="path: new rows, reg = 0.3")
plt.show()
