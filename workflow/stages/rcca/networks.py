"""Fully connected networks in numpy: outputs, gradients, and the steps of Adam."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rnca._core.rows import FloatArray, grid

_CHUNK = 4096
# Kingma and Ba's constants.
_DECAY_MEAN, _DECAY_SQUARE, _TINY = 0.9, 0.999, 1e-8


class Activation(NamedTuple):
    """A function of hidden units.

    Attributes
    ----------
    apply : callable
        Replaces the units' inputs by their outputs, in place.
    times_slope : callable
        Multiplies the first array by the slope at the outputs in the second, in place.
    gain : float
        Variance of the weights, times the number of inputs, that keeps the units' scale.
    """

    apply: Callable[[FloatArray], Any]
    times_slope: Callable[[FloatArray, FloatArray], Any]
    gain: float


ACTIVATIONS = {
    "relu": Activation(
        lambda z: np.maximum(z, 0, out=z), lambda g, h: np.multiply(g, h > 0, out=g), 2.0
    ),
    "tanh": Activation(
        lambda z: np.tanh(z, out=z), lambda g, h: np.multiply(g, 1 - h * h, out=g), 1.0
    ),
    "identity": Activation(lambda z: z, lambda g, h: g, 1.0),
}


class Network:
    """Layers of hidden units and a linear output layer, all parameters in one vector.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden units of each layer, outputs.
    activation : {"relu", "tanh", "identity"}
        Of the hidden units.
    dtype : dtype
        float32 or float64.

    Attributes
    ----------
    parameters : ndarray of shape (count,)
        Zero until drawn.
    """

    def __init__(self, sizes: Sequence[int], activation: str, dtype: Any) -> None:
        self.sizes = tuple(sizes)
        self.activation_name = activation
        count = sum((before + 1) * after for before, after in pairwise(self.sizes))
        self.parameters: FloatArray = np.zeros(count, dtype)

    @property
    def activation(self) -> Activation:
        """Of the hidden units. Looked up by name, since functions without one cannot be pickled."""
        return ACTIVATIONS[self.activation_name]

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

        Parameters
        ----------
        values : sequence of ndarray
            Of `forward`.
        slopes : ndarray of shape (rows, outputs)
            Of the function, along the outputs.
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


class Adam:
    """Descent by running means of the gradient and of its square (Kingma and Ba 2015).

    Parameters
    ----------
    parameters : ndarray
        Changed in place by `step`.

    Attributes
    ----------
    mean, square : ndarray
        The running means.
    steps : int
    """

    def __init__(self, parameters: FloatArray) -> None:
        self.parameters = parameters
        self.mean = np.zeros_like(parameters)
        self.square = np.zeros_like(parameters)
        self.steps = 0

    def step(self, gradient: FloatArray, rate: float) -> None:
        """Take one step of length about ``rate`` along each parameter; spoils ``gradient``."""
        self.steps += 1
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
        unbiased = np.sqrt(1 - _DECAY_SQUARE**self.steps) / (1 - _DECAY_MEAN**self.steps)
        gradient *= kind(rate * unbiased)
        self.parameters -= gradient
