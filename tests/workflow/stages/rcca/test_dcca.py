"""Deep CCA: its gradient, its objective, what it finds, and that a broken fit can be taken up."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import oracles
from rnca import RCCA
from workflow.data.embedded import synthetic_speech
from workflow.stages.rcca.dcca import DCCA
from workflow.stages.rcca.networks import ACTIVATIONS, Network
from workflow.stages.rcca.training import correlation_and_slopes

SMALL = {"hidden": (30, 20), "batch_size": 200, "epochs": 4, "random_state": 0}


def slope_by_differences(function, point, step=1e-6):
    slope = np.empty_like(point)
    for index in np.ndindex(point.shape):
        low, high = point.copy(), point.copy()
        low[index] -= step
        high[index] += step
        slope[index] = (function(high) - function(low)) / (2 * step)
    return slope


@pytest.fixture
def outputs():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(40, 3))
    return [shared @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3)) for _ in range(2)]


@pytest.mark.parametrize("reg", [1e-8, 0.3])
def test_slopes_of_the_correlation_are_those_of_differences(outputs, reg):
    hx, hy = outputs
    _, slopes = correlation_and_slopes(hx, hy, reg)
    along_x = slope_by_differences(lambda h: correlation_and_slopes(h, hy, reg)[0], hx)
    along_y = slope_by_differences(lambda h: correlation_and_slopes(hx, h, reg)[0], hy)
    assert_allclose(slopes[0], along_x, atol=1e-8)
    assert_allclose(slopes[1], along_y, atol=1e-8)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_of_a_network_is_that_of_differences(outputs, activation):
    x, hy = outputs
    network = Network((3, 4, 5, 3), activation, np.float64)
    # Biases too are drawn: at 0, rows that no unit answers to would lie on the kink of relu.
    network.parameters[:] = np.random.default_rng(1).normal(size=network.parameters.size) / 2

    def total(parameters):
        network.parameters[:] = parameters
        return correlation_and_slopes(network.outputs(x), hy, 0.1)[0]

    point = network.parameters.copy()
    _, slopes = correlation_and_slopes(network.outputs(x), hy, 0.1)
    gradient = network.backward(network.forward(x), slopes[0])
    assert_allclose(gradient, slope_by_differences(total, point), atol=1e-8)


@pytest.mark.parametrize("reg", [1e-8, 10.0])
def test_objective_of_identity_layers_is_that_of_linear_cca(halves, reg):
    hx, hy = (half[:, :10] for half in halves)
    identity = Network((10, 10, 10), "identity", np.float64)
    for weights, _ in identity.layers:
        weights[:] = np.eye(10)
    through = [identity.outputs(half) for half in (hx, hy)]
    found, _ = correlation_and_slopes(*through, reg)
    linear = RCCA(10, feature_map="linear", reg=reg, dtype="float64").fit(hx, hy)
    assert found == pytest.approx(linear.correlations_.sum(), abs=1e-10)
    assert found == pytest.approx(oracles.cca(hx, hy, reg, reg, 10).correlations.sum(), abs=1e-10)


def test_objective_does_not_see_linear_maps_of_the_outputs(halves):
    hx, hy = (half[:, 4:14] for half in halves)
    total, slopes = correlation_and_slopes(hx, hy, 1e-9)
    mixing = np.random.default_rng(0).normal(size=(10, 10))
    assert correlation_and_slopes(hx @ mixing, hy, 1e-9)[0] == pytest.approx(total, abs=1e-6)
    assert_allclose(hx.T @ slopes[0], 0, atol=1e-6)


def test_beats_linear_cca_on_embedded_speech():
    speech = synthetic_speech()
    x, y = (speech.arrays[name] for name in "xy")
    part = speech.arrays["given_split"]
    train, tune, test = ((x[part == code], y[part == code]) for code in range(3))
    linear = RCCA(10, feature_map="linear").fit(*train)
    deep = DCCA(10, hidden=(64, 64), batch_size=250, epochs=8, random_state=0)
    deep.fit(*train, tune=tune)
    assert deep.score(*test) > linear.score(*test) + 0.5


def test_beats_linear_cca_on_digits(halves):
    X, Y = halves
    linear = RCCA(5, feature_map="linear", reg=1e-3).fit(X[:1200], Y[:1200])
    deep = DCCA(5, **SMALL | {"epochs": 15, "learning_rate": 1e-2}).fit(X[:1200], Y[:1200])
    assert deep.score(X[1200:], Y[1200:]) > linear.score(X[1200:], Y[1200:])


def fitted(views, **changes):
    return DCCA(5, **SMALL | changes).fit(*views)


def assert_same_fit(found, expected):
    without_times = [(each.epoch, each.train_sum, each.tune_sum) for each in expected.history_]
    assert [(each.epoch, each.train_sum, each.tune_sum) for each in found.history_] == without_times
    assert found.best_epoch_ == expected.best_epoch_
    for one, other in zip(found.networks_, expected.networks_, strict=True):
        assert_array_equal(one.parameters, other.parameters)
    assert_array_equal(found.cca_.F_, expected.cca_.F_)


def test_threads_change_no_bit(halves):
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            fits.append(fitted(halves))
    assert_same_fit(*fits)


TRAIN_UNTIL_KILLED = """
    import sys
    from sklearn.datasets import load_digits
    from workflow.stages.rcca.dcca import DCCA

    images = load_digits().images
    left, right = images[:, :, :4].reshape(-1, 32), images[:, :, 4:].reshape(-1, 32)
    model = DCCA(5, hidden=(30, 20), batch_size=200, epochs=40, patience=40, random_state=0)
    model.fit(left, right, checkpoint=sys.argv[1])
"""


def test_fit_that_was_killed_ends_as_an_unbroken_one(halves, tmp_path):
    checkpoint = tmp_path / "deep.npz"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TRAIN_UNTIL_KILLED), str(checkpoint)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    while not checkpoint.exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    model = DCCA(5, **SMALL | {"epochs": 40, "patience": 40})
    stored = np.load(checkpoint)["history"]
    assert 1 <= len(stored) < 40
    taken_up = clone(model).fit(*halves, checkpoint=checkpoint)
    assert_array_equal(taken_up.history_[: len(stored)], stored)
    assert taken_up.seconds_ > stored[-1, 1]
    assert_same_fit(taken_up, model.fit(*halves))


def test_finished_fit_is_read_from_its_checkpoint(halves, tmp_path):
    first = DCCA(5, **SMALL).fit(*halves, checkpoint=tmp_path / "a.npz")
    again = DCCA(5, **SMALL).fit(*halves, checkpoint=tmp_path / "a.npz")
    assert again.history_ == first.history_
    assert_same_fit(again, first)


@pytest.mark.parametrize("change", [{"epochs": 5}, {"hidden": (30, 21)}, {"random_state": 1}])
def test_checkpoint_of_other_settings_is_refused(halves, tmp_path, change):
    DCCA(5, **SMALL | {"epochs": 1}).fit(*halves, checkpoint=tmp_path / "a.npz")
    with pytest.raises(ValueError, match="other settings or data"):
        DCCA(5, **SMALL | change).fit(*halves, checkpoint=tmp_path / "a.npz")


def test_checkpoint_of_other_data_is_refused(halves, tmp_path):
    DCCA(5, **SMALL).fit(*halves, checkpoint=tmp_path / "a.npz")
    with pytest.raises(ValueError, match="other settings or data"):
        DCCA(5, **SMALL).fit(
            halves[0] + 1.0 * (halves[0] == 3), halves[1], checkpoint=tmp_path / "a.npz"
        )


def test_damaged_checkpoint_is_named(halves, tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ValueError, match=r"a\.npz: not a complete checkpoint.*Delete it"):
        DCCA(5, **SMALL).fit(*halves, checkpoint=tmp_path / "a.npz")


def test_training_stops_when_tuning_rows_gain_no_more_and_keeps_the_best_epoch(halves):
    noise = np.random.default_rng(0).normal(size=(200, 32))
    tune = (noise[:100], noise[100:])
    model = DCCA(5, **SMALL | {"epochs": 50, "patience": 2}).fit(*halves, tune=tune)
    sums = [each.tune_sum for each in model.history_]
    assert len(sums) < 50
    assert model.best_epoch_ == np.argmax(sums) + 1 == len(sums) - 2
    assert model.score(*tune) == pytest.approx(max(sums), abs=1e-9)


def test_variables_are_centred_uncorrelated_and_correlate_as_scored(halves):
    model = fitted(halves)
    x_variables, y_variables = model.transform(*halves)
    alone = model.transform(halves[0])
    assert_array_equal(alone, x_variables)
    correlations = [
        np.corrcoef(*pair)[0, 1] for pair in zip(x_variables.T, y_variables.T, strict=True)
    ]
    assert_allclose(model.component_correlations(*halves), correlations, atol=1e-6)
    assert model.score(*halves) == pytest.approx(np.abs(correlations).sum(), abs=1e-5)
    assert model.get_feature_names_out().tolist() == [f"dcca_x{i}" for i in range(5)]


@pytest.mark.parametrize("use", ["score", "component_correlations", "transform"])
def test_permuted_columns_are_refused_in_both_views(halves, use):
    X, Y = (
        pd.DataFrame(half, columns=[f"{name}{i}" for i in range(32)])
        for half, name in zip(halves, "xy", strict=True)
    )
    model = fitted((X, Y), epochs=1)
    getattr(model, use)(X, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        getattr(model, use)(X[X.columns[::-1]], Y)
    with pytest.raises(ValueError, match="y has 'y31' as column 0, but in fit that was 'y0'"):
        getattr(model, use)(X, Y[Y.columns[::-1]])


def test_one_column_may_have_one_dimension(halves):
    X, y = halves[0], halves[1][:, 10]
    flat, column = (DCCA(1, **SMALL | {"epochs": 1}).fit(X, each) for each in (y, y[:, None]))
    assert flat.score(X, y) == flat.score(X, y.tolist()) == column.score(X, y[:, None])


def test_second_view_may_be_given_alone(halves):
    model = fitted(halves, epochs=1)
    assert_array_equal(model.transform(None, halves[1]), model.transform(*halves)[1])
    with pytest.raises(ValueError, match="X and y are None"):
        model.transform(None)


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
def test_failed_fit_leaves_the_model_there_was(halves):
    model = fitted(halves, epochs=1)
    before = model.score(*halves)
    with pytest.raises(FloatingPointError):
        model.set_params(learning_rate=1e30).fit(*halves)
    assert model.score(*halves) == before


@parametrize_with_checks(
    [DCCA(1, hidden=(5,), batch_size=20, epochs=2, random_state=0, dtype="float64")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_scale_and_origin_of_the_views_do_not_matter(halves):
    X, Y = halves
    moved = DCCA(5, **SMALL, dtype="float64").fit(X * 256.0 + 512.0, Y)
    assert moved.score(X * 256.0 + 512.0, Y) == pytest.approx(
        DCCA(5, **SMALL, dtype="float64").fit(X, Y).score(X, Y), abs=1e-6
    )


def test_parameters_are_counted(halves):
    one_view = (32 + 1) * 30 + (30 + 1) * 20 + (20 + 1) * 5
    assert fitted(halves).n_parameters_ == 2 * one_view


def test_unfitted_model_says_so(halves):
    with pytest.raises(NotFittedError):
        DCCA().transform(halves[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": (0,)}, "units in hidden=0"),
        ({"activation": "step"}, "activation='step': known are relu, tanh, identity"),
        ({"dtype": "float16"}, "dtype='float16'"),
        ({"reg": 0.0}, "reg=0.0: give a finite number > 0"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0"),
        ({"batch_size": 5}, "n_components=5 with mini-batches of 5 rows"),
        ({"epochs": 0}, "epochs=0"),
    ],
)
def test_wrong_settings_are_named(halves, changes, message):
    with pytest.raises(ValueError, match=message):
        fitted(halves, **changes)


def test_wrong_data_are_named(halves, tmp_path):
    X, Y = halves
    with pytest.raises(ValueError, match="X has 1797 rows but y has 1796"):
        DCCA(5, **SMALL).fit(X, Y[1:])
    with pytest.raises(ValueError, match="y has 31 features, but DCCA is expecting 32"):
        fitted(halves).transform(X, Y[:, 1:])
    with pytest.raises(ValueError, match="X has 31 features, but DCCA is expecting 32"):
        DCCA(5, **SMALL).fit(X, Y, tune=(X[:, 1:], Y))
    with pytest.raises(ValueError, match=r"random_state=None: .* needs an integer"):
        DCCA(5, **SMALL | {"random_state": None}).fit(X, Y, checkpoint=tmp_path / "a.npz")


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
def test_divergence_is_named(halves):
    with pytest.raises(FloatingPointError, match=r"learning_rate=1e\+30: lower it"):
        fitted(halves, learning_rate=1e30)
