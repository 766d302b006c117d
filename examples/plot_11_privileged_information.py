"""
Privileged information
======================

Sometimes more is known of the training rows than will be known of new ones: the findings of an
expert beside a scan, attributes beside pictures. `PrivilegedFeatures` makes features of X alone
that correlate with the privileged columns and the label.

Whether this helps is for a comparison to say. Here it does, since a third of the labels are wrong
and the privileged columns are not. On Animals with Attributes, the paper's
data, it did not: permuted attributes worked as well as the true ones (see the report).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from rnca import PrivilegedFeatures


def problem(rng, n):
    """X, three facts about each row, and a label: what most facts say, a third of them wrong."""
    X = rng.normal(size=(n, 6))
    facts = np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0, np.abs(X[:, 3]) > 0.67])
    truth = facts.sum(axis=1) > 1
    return X, facts, truth ^ (rng.uniform(size=n) < 1 / 3), truth


def accuracy(rng, n, facts_used):
    """Share of new rows whose true label is found, with the true facts, permuted ones, or none."""
    X, facts, label, _ = problem(rng, n)
    new, _, _, truth_new = problem(rng, 2000)
    if facts_used == "permuted":
        facts = rng.permutation(facts)
    elif facts_used == "none":
        facts = np.zeros((n, 1))
    features = PrivilegedFeatures(n_features=300, reg=0.5, cv=5, random_state=0)
    z = features.fit_transform(X, label, privileged=facts)
    return LogisticRegression().fit(z, label).score(features.transform(new), truth_new)


# %%
# The control that the comparison needs: the same with permuted facts, and with none.

sizes = [100, 200, 400, 800]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for facts_used in ("true", "permuted", "none"):
    draws = [
        [accuracy(np.random.default_rng([n, seed]), n, facts_used) for seed in range(10)]
        for n in sizes
    ]
    mean, error = np.mean(draws, axis=1), np.std(draws, axis=1, ddof=1) / np.sqrt(10)
    print(f"{facts_used:9}", np.round(mean, 3))
    ax.errorbar(
        sizes, mean, error, marker="o", capsize=3, label=f"privileged columns: {facts_used}"
    )
ax.set(xlabel="training rows", ylabel="right on new rows", xscale="log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
plt.show()
