"""Nonlinear components of pictures in a scikit-learn pipeline, and back from them to pictures.

Run: python examples/pictures.py
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from rnca import RPCA, RandomizedAutoencoder

pictures, digit = load_digits(return_X_y=True)
x, x_new, y, y_new = train_test_split(pictures / 16, digit, test_size=0.3, random_state=0)

# How many components, and whether nonlinear ones pay, is for cross-validation to say.
components = RPCA(n_features=500, random_state=0)
classifier = LogisticRegression(max_iter=1000)
steps = [("rpca", components), ("scale", StandardScaler()), ("classify", classifier)]
grid = {"rpca__feature_map": ["linear", "fourier"], "rpca__n_components": [10, 40]}
search = GridSearchCV(Pipeline(steps), grid, cv=3).fit(x, y)
print(f"best: {search.best_params_}, {search.score(x_new, y_new):.1%} of new digits right")

# Ten numbers a picture, and pictures made again from them: the decoder sees the numbers themselves
# and random features of them.
pca = RandomizedAutoencoder(10, feature_map="linear").fit(x)
curved = {"decoder_feature_map": "fourier", "n_decoder_features": 300, "decoder_gamma": 0.01}
model = RandomizedAutoencoder(
    10, feature_map="linear", linear_part=True, **curved, reg=1e-3, random_state=0
).fit(x)
print(f"share of new pictures lost: PCA {pca.error(x_new):.3f}, this {model.error(x_new):.3f}")
codes = model.transform(x_new)
print(f"{codes.shape[1]} numbers for {x_new.shape[1]} pixels; and back: ", end="")
print(model.inverse_transform(codes).shape)
