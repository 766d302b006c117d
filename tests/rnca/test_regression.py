"""Ridge regression on random features, and the autoencoder that decodes by it."""

import tracemalloc
from copy import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from rnca import FeatureRidge, FourierFeatures, RandomizedAutoencoder
from rnca.rows import shard_bounds

DIGITS = load_digits().data / 16


def ridge(**given):
    settings = {"n_features": 60, "reg": 1e-3, "random_state": 0, "dtype": "float64"}
    return FeatureRidge(**settings | given)


@pytest.mark.parametrize("kind", ["fourier", "nystroem", "linear"])
@pytest.mark.parametrize("linear_part", [False, True])
def test_predictions_are_those_of_ridge_regression(halves, kind, linear_part):
    X, Y = halves
    model = ridge(feature_map=kind, linear_part=linear_part).fit(X, Y)
    z = model.map_.transform(X)
    assert z.shape[1] == (32 if kind == "linear" else 60) + 32 * linear_part
    peer = Ridge(1e-3 * (len(X) - 1), solver="cholesky").fit(z, Y)
    assert_allclose(model.predict(X), peer.predict(z), atol=1e-7)


def test_shards_and_chunks_change_nothing_beyond_rounding(halves):
    X, Y = halves
    expected = ridge().fit(X, Y).predict(X)
    sharded = ridge(chunk_size=200).draw(X, Y)
    moments = sharded.empty_moments()
    for start, stop in shard_bounds(len(X), 3, 200):
        moments.merge(sharded.accumulate(X, Y, start, stop))
    assert_allclose(sharded.solve(moments).predict(X), expected, atol=1e-9)


def test_one_column_of_targets_is_predicted_and_scored(halves):
    X, Y = halves
    model = ridge().fit(X, Y[:, 5])
    assert model.predict(X).shape == (1797,)
    assert_allclose(model.predict(X), ridge().fit(X, Y[:, 5:6]).predict(X)[:, 0], atol=1e-12)
    assert model.score(X, Y[:, 5]) == r2_score(Y[:, 5], model.predict(X))


def test_targets_far_from_the_origin_keep_their_digits(halves):
    X, Y = halves
    near = ridge(dtype="float32").fit(X, Y).predict(X)
    far = ridge(dtype="float32").fit(X, Y + 1e6).predict(X)
    assert_allclose(far - 1e6, near, atol=1e-4)


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
    assert model.score(test) == 1 - model.error(test)
    assert reconstruction(model, test.astype(np.float32)).dtype == np.float32


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


@pytest.mark.parametrize("make", [ridge, autoencoder])
def test_a_path_is_separate_fits(make):
    answer = FeatureRidge.predict if make is ridge else reconstruction
    regs = [1e-6, 1e-2, 1.0]
    for reg, model in zip(regs, make(dtype="float64").fit(DIGITS, DIGITS).path(regs), strict=True):
        assert model.reg == reg
        separate = make(dtype="float64", reg=reg).fit(DIGITS, DIGITS)
        assert_allclose(answer(model, DIGITS), answer(separate, DIGITS), atol=1e-9)


@cache
def fitted():
    return autoencoder().fit(DIGITS)


SPOILED = np.where(np.arange(64 * 1797).reshape(-1, 64) == 1700 * 64 + 3, np.nan, DIGITS)
NAN = "X contains NaN at row 1700, column 3"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ridge(reg=-1).fit(DIGITS, DIGITS), "reg=-1: the regulariser must be"),
        (lambda: ridge().fit(DIGITS, DIGITS[1:]), "X has 1797 rows but y has 1796"),
        (
            lambda: ridge().fit(DIGITS, DIGITS).predict(DIGITS[:, 1:]),
            "X has 63 features, but FeatureRidge is expecting 64",
        ),
        (
            lambda: ridge().draw(DIGITS, DIGITS).solve(fitted().decoder_.moments_),
            "these moments belong to other features",
        ),
        *(
            (lambda given=given: autoencoder(**given).fit(DIGITS[:300]), words)
            for given, words in [
                ({"n_components": 100}, "n_components=100: the latent factors must be fewer than"),
                (
                    {"n_components": 7, "feature_map": FourierFeatures(7)},
                    "n_components=7: .* fewer than the encoder's 7 random features",
                ),
                ({"n_components": 65, "feature_map": "linear"}, "n_components=65: with 64 feat"),
                ({"n_components": 0}, "n_components=0: give an integer >= 1"),
                ({"n_features": 0}, "n_features=0: give an integer >= 1"),
                ({"n_decoder_features": 2.5}, "n_decoder_features=2.5: give an integer >= 1"),
                ({"gamma": -1.0}, "gamma=-1.0: the kernel width"),
                ({"gamma": "mean"}, "gamma='mean': give \"median\" or a number > 0"),
                ({"decoder_gamma": 0.0}, "decoder: gamma=0.0: the kernel width"),
                ({"decoder_feature_map": "cubic"}, "decoder: feature_map='cubic': give one of"),
                ({"reg": np.nan}, "decoder: reg=nan: the regulariser must be a finite number"),
            ]
        ),
        (lambda: autoencoder().fit(SPOILED), NAN),
        (lambda: fitted().transform(SPOILED), NAN),
        (lambda: fitted().score(SPOILED), NAN),
        (lambda: fitted().error(SPOILED), NAN),
        (lambda: fitted().transform(DIGITS[:, 1:]), "X has 63 features, but RandomizedAutoenc"),
        (
            lambda: fitted().inverse_transform(DIGITS[:, :4]),
            "X has 4 features, but FeatureRidge is expecting 5",
        ),
        (lambda: fitted().error(np.zeros((3, 64))), "X is zero everywhere"),
        (
            lambda: autoencoder().fit(DIGITS).set_params(n_components=6).fit_decoder(DIGITS),
            "n_components=6: the encoder was fitted with 5",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_frames_with_columns_in_another_order_are_refused():
    X = pd.DataFrame(DIGITS[:200, 20:24], columns=list("abcd"))
    turned = X[list("dcba")]
    model = RandomizedAutoencoder(2, n_features=20, n_decoder_features=20, random_state=0)
    for fitted in (model.fit(X), copy(model).fit_decoder(X), *model.path([0.1])):
        for use in (fitted.transform, fitted.error, fitted.fit_decoder):
            with pytest.raises(ValueError, match="feature names"):
                use(turned)
    assert not hasattr(model.fit(X.to_numpy()), "feature_names_in_")
    targets = ridge().fit(X, X)
    assert targets.score(X, X) == r2_score(X, targets.predict(X))
    with pytest.raises(ValueError, match="column 0 of y is 'd'"):
        targets.score(X, turned)
