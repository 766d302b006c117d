"""
An autoencoder without gradient descent
=======================================

`RandomizedAutoencoder` turns rows into a few numbers (``transform``) and back
(``inverse_transform``): nonlinear principal components, then ridge regression on random features
of them. It takes two passes over the data and no iteration.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rnca import RandomizedAutoencoder

x, x_new = train_test_split(load_digits().data / 16, random_state=0)

# %%
# Three autoencoders with ten numbers per picture. With linear features it is PCA. What does best on
# these pictures is PCA's encoder, and a decoder of the ten numbers and random features of them.

curved = {"n_decoder_features": 300, "decoder_gamma": 0.01, "reg": 1e-3, "random_state": 0}
models = {
    "PCA": RandomizedAutoencoder(10, feature_map="linear"),
    "RPCA encoder": RandomizedAutoencoder(10, n_features=1000, **curved),
    "PCA encoder, curved decoder": RandomizedAutoencoder(
        10, feature_map="linear", decoder_feature_map="fourier", linear_part=True, **curved
    ),
}
for name, model in models.items():
    error = model.fit(x).error(x_new)
    print(f"{name:28}: {error:.3f} of the variance of new pictures is lost")

# %%
# New pictures, and what each makes of them.

figure, axes = plt.subplots(4, 10, figsize=(10, 4.4), layout="constrained")
shown = [("new", x_new[:10])]
shown += [(name, m.inverse_transform(m.transform(x_new[:10]))) for name, m in models.items()]
for row, (name, pictures) in zip(axes, shown, strict=True):
    for ax, picture in zip(row, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name.replace(" encoder", "\nencoder").replace(", ", ",\n"), fontsize=8)
plt.show()
