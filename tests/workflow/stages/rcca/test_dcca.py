"""Deep CCA: its gradients, its objective, what it finds, and that a broken fit can be taken up."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

import oracles
from rnca import RCCA
from workflow.data.embedded import synthetic_speech
from workflow.stages.rcca.dcca import Of2013, Today, correlation_and_slopes
from workflow.stages.rcca.networks import ACTIVATIONS, Network

COMMON = {"components": 5, "hidden": (30, 20), "reg": 1e-4, "patience": 5, "seed": 0}
ADAM = COMMON | {"batch_size": 200, "epochs": 4, "learning_rate": 3e-3}
LBFGS = COMMON | {"noise": 0.5, "pretraining_decay": 1e-4, "decay": 1e-4, "steps": 5, "epochs": 4}
BOTH = pytest.mark.parametrize("model", [Today(**ADAM), Of2013(**LBFGS)], ids=["today", "2013"])


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


@pytest.fixture
def parts(halves):
    """Training and tuning rows of both views."""
    return [half[:1500] for half in halves], [half[1500:] for half in halves]


@pytest.mark.parametrize("reg", [1e-8, 0.3])
def test_slopes_of_the_correlation_are_those_of_differences(outputs, reg):
    hx, hy = outputs
    _, slopes = correlation_and_slopes(hx, hy, reg)
    along_x = slope_by_differences(lambda h: correlation_and_slopes(h, hy, reg)[0], hx)
    along_y = slope_by_differences(lambda h: correlation_and_slopes(hx, h, reg)[0], hy)
    assert_allclose(slopes[0], along_x, atol=1e-8)
    assert_allclose(slopes[1], along_y, atol=1e-8)


def drawn(sizes, activation):
    network = Network(sizes, activation, np.float64)
    # Biases too are drawn: at 0, rows that no unit answers to would lie on the kink of relu.
    network.parameters[:] = np.random.default_rng(1).normal(size=network.parameters.size) / 2
    return network


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_of_a_network_is_that_of_differences(outputs, activation):
    x, hy = outputs
    network = drawn((3, 4, 5, 3), activation)

    def total(parameters):
        network.parameters[:] = parameters
        return correlation_and_slopes(network.outputs(x), hy, 0.1)[0]

    point = network.parameters.copy()
    _, slopes = correlation_and_slopes(network.outputs(x), hy, 0.1)
    gradient = network.backward(network.forward(x), slopes[0])
    assert_allclose(gradient, slope_by_differences(total, point), atol=1e-8)


def test_gradient_of_an_autoencoder_is_that_of_differences(outputs):
    x, noisy = outputs
    encoder, layer = drawn((3, 4, 2), "cube root"), drawn((3, 4), "cube root")
    point = layer.parameters.copy()

    def error(parameters):
        W, b = parameters[:12].reshape(3, 4), parameters[12:]
        hidden = noisy @ W + b
        for row in hidden:
            row[:] = [np.roots([1 / 3, 0, 1, -z])[-1].real for z in row]  # the one real root
        squares = np.square(hidden @ W.T - x).sum(axis=1).mean()
        return squares + 0.1 * parameters @ parameters

    found, gradient = encoder._reconstruction_loss(layer, point, x, noisy, 0.1)
    assert found == pytest.approx(error(point), rel=1e-12)
    assert_allclose(gradient, slope_by_differences(error, point), atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cube_root_units_invert_their_cubic_and_saturate_nowhere(dtype):
    z = np.concatenate([-np.logspace(3, -6, 50), [0], np.logspace(-6, 3, 50)]).astype(dtype)
    y = z.copy()
    ACTIVATIONS["cube root"].apply(y)
    # A relative error e of y is one of up to 3e of y³/3 + y; the inverse itself takes some eps.
    assert_allclose(y**3 / 3 + y, z, rtol=20 * np.finfo(dtype).eps)
    slope = np.ones_like(y)
    ACTIVATIONS["cube root"].times_slope(slope, y)
    assert_allclose(slope, 1 / (1 + y**2), rtol=10 * np.finfo(dtype).eps)


def test_objective_is_that_of_linear_cca_and_does_not_see_linear_maps(halves):
    hx, hy = (half[:, 4:14] for half in halves)
    for reg in (1e-8, 10.0):
        found, _ = correlation_and_slopes(hx, hy, reg)
        expected = oracles.cca(hx, hy, reg, reg, 10).correlations.sum()
        assert found == pytest.approx(expected, abs=1e-10)
    total, slopes = correlation_and_slopes(hx, hy, 1e-9)
    mixing = np.random.default_rng(0).normal(size=(10, 10))
    assert correlation_and_slopes(hx @ mixing, hy, 1e-9)[0] == pytest.approx(total, abs=1e-6)
    assert_allclose(hx.T @ slopes[0], 0, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        Today(**ADAM | {"components": 10, "hidden": (64, 64), "batch_size": 250, "epochs": 8}),
        Of2013(**LBFGS | {"components": 10, "hidden": (64, 64), "steps": 10, "epochs": 6}),
    ],
    ids=["today", "2013"],
)
def test_beats_linear_cca_on_embedded_speech(model):
    speech = synthetic_speech()
    x, y = (speech.arrays[name] for name in "xy")
    part = speech.arrays["given_split"]
    train, tune, test = ((x[part == code], y[part == code]) for code in range(3))
    linear = RCCA(10, feature_map="linear").fit(*train)
    assert model.fit(train, tune).score(test) > linear.score(*test) + 0.5


def test_pretraining_lowers_the_error_of_reconstruction(halves):
    x = (halves[0] - halves[0].mean(axis=0)).astype("float32")
    network = Network((32, 20, 5), "cube root")
    network.draw(np.random.default_rng(0))
    drawn_layer, output = (network.layers[i][0].copy() for i in (0, 1))
    network.pretrain(x, np.random.default_rng(1), noise=0.5, decay=1e-4, steps=10)

    def error(weights, biases):
        hidden = x @ weights + biases
        ACTIVATIONS["cube root"].apply(hidden)
        return np.square(hidden @ weights.T - x).mean()

    assert error(*network.layers[0]) < 0.5 * error(drawn_layer, np.zeros(20, "float32"))
    assert_array_equal(network.layers[1][0], output)  # the output layer is not pretrained


def assert_same_fit(found, expected):
    histories = [[each[:1] + each[3:] for each in fit.history_] for fit in (found, expected)]
    assert histories[0] == histories[1]  # but for the times
    assert found.best_epoch_ == expected.best_epoch_
    for one, other in zip(found.networks_, expected.networks_, strict=True):
        assert_array_equal(one.parameters, other.parameters)
    assert_array_equal(found.cca_.F_, expected.cca_.F_)


@BOTH
def test_threads_change_no_bit(parts, model):
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            fits.append(replace(model).fit(*parts))
    assert_same_fit(*fits)


TRAIN_UNTIL_KILLED = """
    import sys
    from sklearn.datasets import load_digits
    from workflow.stages.rcca.dcca import Of2013, Today

    images = load_digits().images
    halves = images[:, :, :4].reshape(-1, 32), images[:, :, 4:].reshape(-1, 32)
    model = {model!r}
    model.fit([half[:1500] for half in halves], [half[1500:] for half in halves], sys.argv[1])
"""


@BOTH
def test_fit_that_was_killed_ends_as_an_unbroken_one(parts, tmp_path, model):
    checkpoint = tmp_path / "deep.npz"
    model = replace(model, epochs=30, patience=30)
    program = textwrap.dedent(TRAIN_UNTIL_KILLED).format(model=model)
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(checkpoint)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    while not checkpoint.exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    stored = np.load(checkpoint)["history"]
    assert 1 <= len(stored) < 30
    taken_up = replace(model, epochs=30, patience=30).fit(*parts, checkpoint)
    assert_array_equal(taken_up.history_[: len(stored)], stored)
    assert taken_up.seconds_ > stored[-1, 1]
    assert_same_fit(taken_up, model.fit(*parts))


def test_checkpoint_that_is_damaged_or_of_other_networks_is_named(parts, tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 cut short")
    Today(**ADAM | {"hidden": (30, 21), "epochs": 1}).fit(*parts, tmp_path / "b.npz")
    Today(**ADAM | {"epochs": 1}).fit(*parts, tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as stored:
        arrays = {**stored, "history": np.zeros((0, 5))}
    np.savez(tmp_path / "c.npz", **arrays)
    for name in "abc":
        with pytest.raises(ValueError, match=rf"{name}\.npz: not a complete checkpoint.*Delete it"):
            Today(**ADAM).fit(*parts, tmp_path / f"{name}.npz")


def test_training_stops_when_tuning_rows_gain_no_more_and_keeps_the_best_epoch(parts):
    noise = np.random.default_rng(0).normal(size=(200, 32))
    tune = (noise[:100], noise[100:])
    model = Today(**ADAM | {"epochs": 50, "patience": 2}).fit(parts[0], tune)
    sums = [each.tune_sum for each in model.history_]
    assert len(sums) < 50
    assert model.best_epoch_ == np.argmax(sums) + 1 == len(sums) - 2
    assert model.score(tune) == pytest.approx(max(sums), abs=1e-9)


def test_a_fit_is_censored_if_training_ended_before_its_patience(parts):
    noise = np.random.default_rng(0).normal(size=(200, 32))
    tune = (noise[:100], noise[100:])
    settings = LBFGS | {"patience": 2}
    assert Of2013(**settings | {"epochs": 1}).fit(*parts).is_censored
    model = Of2013(**settings | {"epochs": 50, "steps": 1}).fit(parts[0], tune)
    assert len(model.history_) < 50
    assert not model.is_censored
    assert not Today(**ADAM | {"epochs": 1}).fit(*parts).is_censored


@BOTH
def test_scale_and_origin_of_the_views_do_not_matter(parts, model):
    moved = [[half[0] * 256.0 + 512.0, half[1]] for half in parts]
    expected = replace(model).fit(*parts).score(parts[0])
    # float32 rows that differ in the last digits, after some dozens of steps.
    assert replace(model).fit(*moved).score(moved[0]) == pytest.approx(expected, abs=1e-2)


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
def test_divergence_is_named(parts):
    with pytest.raises(FloatingPointError, match=r"in epoch 1: lower the learning rate"):
        Today(**ADAM | {"learning_rate": 1e30}).fit(*parts)
