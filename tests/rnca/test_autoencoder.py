"""The autoencoder against PCA, on a curved manifold, and on what it must refuse."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from rnca import FourierFeatures, RandomizedAutoencoder

DIGITS = load_digits().data / 16


def autoencoder(n_components=5, **given):
    settings = {"n_features": 100, "n_decoder_features": 100, "reg": 1e-4, "random_state": 0}
    return RandomizedAutoencoder(n_components, **settings | given)


def reconstruction(model, X):
    return model.inverse_transform(model.transform(X))


def relative_error(X, R):
    return np.sum((X - R) ** 2) / np.sum(X**2)


def bent_sheet(n, seed):
    """A sheet of two dimensions bent by more than half a turn in three, and turned into ten."""
    rng = np.random.default_rng(seed)
    angle, height = rng.uniform(0, 1.2 * np.pi, n), rng.uniform(-1, 1, n)
    sheet = np.column_stack([np.cos(angle), np.sin(angle), height])
    turned = np.linalg.qr(np.random.default_rng(9).normal(size=(10, 3)))[0]
    return sheet @ turned.T


@pytest.mark.parametrize("linear_part", [False, True])
def test_linear_features_reconstruct_exactly_like_pca(linear_part):
    train, test = DIGITS[:1500], DIGITS[1500:]
    # Linear features beside linear ones need a ridge.
    reg = 1e-12 if linear_part else 0.0
    given = {"feature_map": "linear", "linear_part": linear_part, "reg": reg, "dtype": "float64"}
    model = autoencoder(12, **given).fit(train)
    pca = PCA(12, svd_solver="full").fit(train)
    assert_allclose(reconstruction(model, test), reconstruction(pca, test), atol=1e-10)
    assert model.error(test) == pytest.approx(relative_error(test, reconstruction(pca, test)))


@pytest.mark.parametrize("seed", range(3))
def test_error_on_a_curved_manifold_is_less_than_a_fifth_of_pcas(seed):
    train, test = bent_sheet(3000, 1), bent_sheet(1000, 2)
    pca = autoencoder(2, feature_map="linear").fit(train)
    assert pca.error(test) > 0.1
    given = {"n_features": 300, "n_decoder_features": 300, "gamma": 0.1, "reg": 1e-6}
    model = autoencoder(2, **given, random_state=seed).fit(train)
    assert model.error(test) < pca.error(test) / 5


def test_factors_are_whitened_and_nested():
    model = autoencoder(7, dtype="float64").fit(DIGITS)
    factors, error = model.transform(DIGITS), model.error(DIGITS)
    assert_allclose(factors.mean(axis=0), 0, atol=1e-10)
    assert_allclose(np.cov(factors.T), np.eye(7), atol=1e-10)
    fewer = autoencoder(3, dtype="float64").fit(DIGITS)
    assert_allclose(np.abs(fewer.transform(DIGITS)), np.abs(factors[:, :3]), atol=1e-8)
    model.set_params(n_components=3)
    assert_array_equal(model.transform(DIGITS), factors)  # until it is fitted again
    assert model.error(DIGITS) == error
    assert model.fit_decoder(DIGITS).error(DIGITS) == pytest.approx(fewer.error(DIGITS), rel=1e-8)


def test_memory_does_not_grow_with_the_rows(tmp_path):
    def peak(times):
        np.save(tmp_path / "rows.npy", np.tile(DIGITS.astype(np.float32), (times, 1)))
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
        tracemalloc.start()
        autoencoder(chunk_size=256).fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    # The latent factors of so many rows alone would be 1.1 MB more.
    assert peak(20) < peak(5) + 500_000


def test_error_and_score_are_of_the_reconstruction():
    model = autoencoder().fit(DIGITS[:1500])
    expected = relative_error(DIGITS[1500:], reconstruction(model, DIGITS[1500:]))
    assert model.error(DIGITS[1500:]) == pytest.approx(expected, rel=1e-12)
    assert model.score(DIGITS[1500:]) == 1 - model.error(DIGITS[1500:])
    assert reconstruction(model, DIGITS.astype(np.float32)).dtype == np.float32


def test_a_path_is_separate_fits():
    regs = [1e-6, 1e-2]
    for reg, model in zip(regs, autoencoder().fit(DIGITS).path(regs), strict=True):
        assert model.error(DIGITS) == pytest.approx(autoencoder(reg=reg).fit(DIGITS).error(DIGITS))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_components": 100}, "n_components=100: the latent factors must be fewer than the enco"),
        (
            {"n_components": 7, "feature_map": FourierFeatures(7)},
            "n_components=7: the latent factors must be fewer than the encoder's 7 random features",
        ),
        ({"n_components": 65, "feature_map": "linear"}, "n_components=65: with 64 features"),
        ({"n_components": 0}, "n_components=0: give an integer >= 1"),
        ({"n_features": 0}, "n_features=0: give an integer >= 1"),
        ({"n_decoder_features": 2.5}, "n_decoder_features=2.5: give an integer >= 1"),
        ({"gamma": -1.0}, "gamma=-1.0: the kernel width"),
        ({"gamma": "mean"}, "gamma='mean': give \"median\" or a number > 0"),
        ({"decoder_gamma": 0.0}, "decoder: gamma=0.0: the kernel width"),
        ({"decoder_feature_map": "cubic"}, "decoder: feature_map='cubic': give one of"),
        ({"reg": float("nan")}, "decoder: reg=nan: the regulariser must be a finite number"),
    ],
)
def test_bad_settings_are_named(given, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        autoencoder(**given).fit(DIGITS[:300])


def test_bad_rows_are_named():
    model = autoencoder().fit(DIGITS)
    spoiled = DIGITS.copy()
    spoiled[1700, 3] = np.nan
    for use in (autoencoder().fit, model.transform, model.error, model.score):
        with pytest.raises(ValueError, match="X contains NaN at row 1700, column 3"):
            use(spoiled)
    with pytest.raises(ValueError, match="X has 63 features, but RandomizedAutoencoder is expec"):
        model.transform(DIGITS[:, 1:])
    with pytest.raises(ValueError, match="X has 4 features, but FeatureRidge is expecting 5"):
        model.inverse_transform(model.transform(DIGITS)[:, 1:])
    with pytest.raises(ValueError, match="X is zero everywhere"):
        model.error(np.zeros((3, 64)))
    with pytest.raises(ValueError, match="n_components=6: the encoder was fitted with 5"):
        model.set_params(n_components=6).fit_decoder(DIGITS)
