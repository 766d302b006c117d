"""Ridge regression on random features against scikit-learn's on the same features."""

import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from rnca import FeatureRidge
from rnca._core.rows import shard_bounds


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


def test_a_path_is_separate_fits(halves):
    X, Y = halves
    regs = [1e-6, 1e-2, 1.0]
    for reg, model in zip(regs, ridge().fit(X, Y).path(regs), strict=True):
        assert model.reg == reg
        assert_allclose(model.predict(X), ridge(reg=reg).fit(X, Y).predict(X), atol=1e-9)


def test_targets_far_from_the_origin_keep_their_digits(halves):
    X, Y = halves
    near = ridge(dtype="float32").fit(X, Y).predict(X)
    far = ridge(dtype="float32").fit(X, Y + 1e6).predict(X)
    assert_allclose(far - 1e6, near, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: ridge(reg=-1).fit(X, Y), "reg=-1: the regulariser must be"),
        (lambda X, Y: ridge().fit(X, Y[1:]), "X has 1797 rows but y has 1796"),
        (
            lambda X, Y: ridge().fit(X, Y).predict(X[:, 1:]),
            "X has 31 features, but FeatureRidge is expecting 32",
        ),
        (
            lambda X, Y: ridge().draw(X, Y).solve(ridge(random_state=1).fit(X, Y).moments_),
            "these moments belong to other features",
        ),
    ],
)
def test_bad_input_is_named(halves, call, message):
    with pytest.raises(ValueError, match=message):
        call(*halves)
