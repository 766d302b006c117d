"""Fully connected networks in numpy: outputs, gradients, steps of Adam and of L-BFGS."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.optimize

from rnca.rows import FloatArray, grid

_CHUNK = 4096
# Kingma and Ba's constants.
_DECAY_MEAN, _DECAY_SQUARE, _TINY = 0.9, 0.999, 1e-8
# Pairs of steps and gradients that L-BFGS remembers.
_MEMORY = 20


class Activation(NamedTuple):
    """A function of hidden units.

    ``apply`` replaces the units' inputs by their outputs, in place; ``times_slope`` multiplies the
    first array by the slope at the outputs in the second, in place; ``gain`` is the variance of the
    weights, times the number of inputs, that keeps the units' scale.
    """

    apply: Callable[[FloatArray], Any]
    times_slope: Callable[[FloatArray, FloatArray], Any]
    gain: float


def _cube_root(z: FloatArray) -> None:
    """Solve y³/3 + y = z: with y = 2·sinh t the left side is (2/3)·sinh 3t."""
    z *= 1.5
    np.arcsinh(z, out=z)
    z /= 3
    np.sinh(z, out=z)
    z *= 2


ACTIVATIONS = {
    "relu": Activation(
        lambda z: np.maximum(z, 0, out=z), lambda g, h: np.multiply(g, h > 0, out=g), 2.0
    ),
    # The non-saturating sigmoid of Andrew et al. (2013).
    "cube root": Activation(_cube_root, lambda g, h: np.divide(g, 1 + h * h, out=g), 1.0),
}


class Network:
    """Layers of hidden units and a linear output layer, all parameters in one vector.

    ``sizes`` are the inputs, the hidden units of each layer and the outputs; the activation, "relu"
    or "cube root", is that of the hidden units; parameters are 0 until drawn.
    """

    def __init__(self, sizes: Sequence[int], activation: str, dtype: Any = np.float32) -> None:
        self.sizes = tuple(sizes)
        self.activation = ACTIVATIONS[activation]
        count = sum((before + 1) * after for before, after in pairwise(self.sizes))
        self.parameters: FloatArray = np.zeros(count, dtype)

    @property
    def layers(self) -> list[tuple[FloatArray, FloatArray]]:
        """Weights of shape (inputs, units) and biases by layer, as views of the parameters."""
        return self.layered(self.parameters)

    def layered(self, vector: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Show a vector, of parameters or their slopes, as weights and biases by layer."""
        layers, start = [], 0
        for before, after in pairwise(self.sizes):
            middle, stop = start + before * after, start + (before + 1) * after
            layers.append((vector[start:middle].reshape(before, after), vector[middle:stop]))
            start = stop
        return layers

    def draw(self, rng: np.random.Generator) -> None:
        """Draw weights so that inputs of variance 1 keep their scale from layer to layer."""
        for (weights, biases), last in zip(self.layers, self._is_last(), strict=True):
            scale = np.sqrt((1.0 if last else self.activation.gain) / len(weights))
            weights[:] = scale * rng.standard_normal(weights.shape)
            biases[:] = 0

    def pretrain(
        self, x: FloatArray, rng: np.random.Generator, noise: float, decay: float, steps: int
    ) -> None:
        """Make each hidden layer the encoder of a denoising autoencoder of the layer below.

        The noise, with standard deviation ``noise``, is drawn once a layer; ``decay`` weighs the
        squared parameters, beside the mean squared distance of a row from its reconstruction.
        """
        for weights, biases in self.layers[:-1]:
            layer = Network(weights.shape, "relu", x.dtype)  # one layer: its parameters alone count
            layer.layers[0][0][:], layer.layers[0][1][:] = weights, biases
            noisy = x + x.dtype.type(noise) * rng.standard_normal(x.shape, x.dtype.type)

            def loss(
                point: FloatArray, x: FloatArray = x, noisy: FloatArray = noisy, of: Network = layer
            ) -> tuple[float, FloatArray]:
                return self._reconstruction_loss(of, point, x, noisy, decay)

            layer.parameters[:] = minimised(loss, layer.parameters, steps)
            weights[:], biases[:] = layer.layers[0]
            x = layer.forward(x)[-1]
            self.activation.apply(x)

    def _reconstruction_loss(
        self, layer: "Network", point: FloatArray, x: FloatArray, noisy: FloatArray, decay: float
    ) -> tuple[float, FloatArray]:
        layer.parameters[:] = point
        ((weights, _),) = layer.layers
        hidden = layer.forward(noisy)[-1]
        self.activation.apply(hidden)
        # The decoder has the encoder's weights, transposed, and no biases: views are centred.
        residual = hidden @ weights.T - x
        error = float(np.square(residual).sum(dtype=np.float64)) / len(x)
        residual *= 2 / len(x)
        slopes = residual @ weights
        self.activation.times_slope(slopes, hidden)
        gradient = layer.backward([noisy], slopes)
        layer.layered(gradient)[0][0][:] += residual.T @ hidden
        return error + decay * float(point @ point), gradient + 2 * decay * point

    def forward(self, x: FloatArray) -> list[FloatArray]:
        """Return the inputs, the hidden units of each layer and the outputs."""
        values = [x]
        for (weights, biases), last in zip(self.layers, self._is_last(), strict=True):
            z = values[-1] @ weights
            z += biases
            if not last:
                self.activation.apply(z)
            values.append(z)
        return values

    def backward(self, values: Sequence[FloatArray], slopes: FloatArray) -> FloatArray:
        """Return the slope of a function of the outputs along every parameter.

        ``values`` are of `forward`; ``slopes``, of shape (rows, outputs), are along the outputs.
        """
        gradient: FloatArray = np.empty_like(self.parameters)
        layers, own = self.layered(gradient), self.layers
        for index in reversed(range(len(layers))):
            inputs, (of_weights, of_biases) = values[index], layers[index]
            np.matmul(inputs.T, slopes, out=of_weights)
            np.sum(slopes, axis=0, out=of_biases)
            if index:
                slopes = slopes @ own[index][0].T
                self.activation.times_slope(slopes, inputs)
        return gradient

    def outputs(self, x: FloatArray) -> FloatArray:
        """Return the outputs for any number of rows, a chunk at a time."""
        return np.concatenate(
            [self.forward(x[low:high])[-1] for low, high in grid(0, len(x), _CHUNK)]
        )

    def _is_last(self) -> list[bool]:
        return [False] * (len(self.sizes) - 2) + [True]


def minimised(
    loss: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, steps: int
) -> npt.NDArray[np.float64]:
    """Return where so many steps of L-BFGS lead, for a loss that comes with its gradient."""
    options = {"maxiter": steps, "maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0}
    found: npt.NDArray[np.float64] = scipy.optimize.minimize(
        loss, start.astype(np.float64), jac=True, method="L-BFGS-B", options=options
    ).x
    return found


class Adam:
    """Descent by running means of the gradient and of its square (Kingma and Ba 2015)."""

    def __init__(self, parameters: FloatArray) -> None:
        self.parameters = parameters
        self.mean = np.zeros_like(parameters)
        self.square = np.zeros_like(parameters)

    def step(self, gradient: FloatArray, rate: float, number: int) -> None:
        """Take step ``number``, from 1, of length about ``rate``; spoils ``gradient``."""
        kind = self.parameters.dtype.type
        self.mean *= kind(_DECAY_MEAN)
        self.mean += kind(1 - _DECAY_MEAN) * gradient
        gradient *= gradient
        gradient *= kind(1 - _DECAY_SQUARE)
        self.square *= kind(_DECAY_SQUARE)
        self.square += gradient
        np.sqrt(self.square, out=gradient)
        gradient += kind(_TINY)
        np.divide(self.mean, gradient, out=gradient)
        unbiased = np.sqrt(1 - _DECAY_SQUARE**number) / (1 - _DECAY_MEAN**number)
        gradient *= kind(rate * unbiased)
        self.parameters -= gradient
