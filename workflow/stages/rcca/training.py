"""Training of a pair of networks for correlated outputs, in steps that can be taken up again."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from rnca._core.files import replacing
from rnca._core.rows import FloatArray
from workflow.stages.rcca.networks import Adam, Network, minimised
from workflow.stages.rcca.workers import Run

Matrix = npt.NDArray[np.float64]
Pair = Sequence[FloatArray]


class Stopwatch:
    """Time since it was made, plus what it is told of time before."""

    def __init__(self) -> None:
        self._started = perf_counter(), process_time()

    def add(self, seconds: float, cpu_seconds: float) -> None:
        """Count time that another process has taken."""
        self._started = self._started[0] - seconds, self._started[1] - cpu_seconds

    def read(self) -> tuple[float, float]:
        """Return seconds elapsed, and seconds of all cores in this process."""
        return perf_counter() - self._started[0], process_time() - self._started[1]


class Epoch(NamedTuple):
    """What is known after an epoch, from 1.

    Times are since the fit began, elapsed and of all cores; of a fit that was broken off, the time
    that led to what was kept. The (regularised) sum of correlations on training rows is the mean
    over mini-batches, or of all rows.
    """

    epoch: int
    seconds: float
    cpu_seconds: float
    train_sum: float
    tune_sum: float


def correlation_and_slopes(hx: FloatArray, hy: FloatArray, reg: float) -> tuple[float, Pair]:
    """Compute the sum of canonical correlations of two sets of outputs, and its slopes.

    Outputs have the shape (rows, k), with more rows than k; ``reg`` is added to the diagonals of
    their covariances. The sum is of all k singular values of the whitened cross-covariance; the
    slopes along ``hx`` and ``hy`` have their shapes, in float64.
    """
    n = len(hx)
    centred: list[Matrix] = [h - h.mean(axis=0, dtype=np.float64) for h in (hx, hy)]
    roots = [
        scipy.linalg.cholesky(h.T @ h / (n - 1) + reg * np.eye(h.shape[1]), lower=True)
        for h in centred
    ]
    T = scipy.linalg.solve_triangular(roots[0], centred[0].T @ centred[1] / (n - 1), lower=True)
    T = scipy.linalg.solve_triangular(roots[1], T.T, lower=True).T
    U, rho, Vt = scipy.linalg.svd(T, full_matrices=False)
    bases = [
        scipy.linalg.solve_triangular(root, directions, lower=True, trans="T")
        for root, directions in zip(roots, (U, Vt.T), strict=True)
    ]
    u, v = (h @ basis for h, basis in zip(centred, bases, strict=True))
    # Andrew et al. 2013, Eqs. 11 to 13, written in the canonical variables u and v.
    slopes = [(v - u * rho) @ bases[0].T / (n - 1), (u - v * rho) @ bases[1].T / (n - 1)]
    return float(rho.sum()), slopes


class Training:
    """Ascent on the sum of correlations of two networks' outputs, epoch by epoch.

    The two networks are independent but for the correlation of their outputs: each is a thread's
    work, so that the number of threads changes no bit. The networks hold the parameters of the last
    step, ``best`` those after the epoch with the largest sum on tuning rows.
    """

    def __init__(self, networks: Sequence[Network], reg: float, watch: Stopwatch) -> None:
        self.networks, self.reg, self.watch = networks, reg, watch
        self.best = [network.parameters.copy() for network in networks]
        self.history: list[Epoch] = []

    @property
    def epochs_since_best(self) -> int:
        """How many epochs have passed without a better sum on tuning rows."""
        sums = [each.tune_sum for each in self.history]
        return len(sums) - 1 - int(np.argmax(sums)) if sums else 0

    def epoch(self, run: Run, views: Pair, tune_sum: Callable[[], float]) -> None:
        """Train for one epoch; note the time and the sum on tuning rows of the networks then."""
        train_sum = self.train(run, views)
        tuned = tune_sum()
        if tuned > max((each.tune_sum for each in self.history), default=-np.inf):
            self.best = [network.parameters.copy() for network in self.networks]
        number = len(self.history) + 1
        self.history.append(Epoch(number, *self.watch.read(), train_sum, tuned))

    def train(self, run: Run, views: Pair) -> float:
        """Train for one epoch; return the sum of correlations on training rows."""
        raise NotImplementedError

    def gradients(self, run: Run, rows: Pair) -> tuple[float, list[FloatArray]]:
        """Compute the sum of correlations on some rows, and its gradients with the sign changed."""
        passes = zip(self.networks, rows, strict=True)
        values = [
            future.result() for future in run([partial(each.forward, x) for each, x in passes])
        ]
        outputs = [each[-1] for each in values]
        if not all(np.isfinite(each).all() for each in outputs):
            raise FloatingPointError(
                f"the networks' outputs left the range of numbers in epoch "
                f"{len(self.history) + 1}: lower the learning rate."
            )
        total, slopes = correlation_and_slopes(outputs[0], outputs[1], self.reg)
        tasks = [
            partial(network.backward, each, (-slope).astype(network.parameters.dtype))
            for network, each, slope in zip(self.networks, values, slopes, strict=True)
        ]
        return total, [future.result() for future in run(tasks)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that the next epoch depends on, as a whole or not at all."""
        with replacing(path) as partial_file, partial_file.open("wb") as stream:
            np.savez(stream, history=np.array(self.history), **self.arrays())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take up the training that `save` wrote; refuse a file that is damaged or of others."""
        with Path(path).open("rb") as stream:
            try:
                stored = dict(np.load(stream, allow_pickle=False))
                for name, array in self.arrays().items():
                    array[:] = stored[name]
                history = [Epoch(int(row[0]), *map(float, row[1:])) for row in stored["history"]]
                last = history[-1]
            except MemoryError:
                raise
            # zipfile and numpy raise almost anything on a broken file.
            except Exception as error:
                raise ValueError(
                    f"{path}: not a complete checkpoint of these networks ({error}). Delete it to "
                    "train from the start."
                ) from error
        self.history = history
        self.watch.add(last.seconds, last.cpu_seconds)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that the next epoch depends on, by name."""
        each = zip("xy", self.networks, self.best, strict=True)
        return {
            f"{what}_{view}": array
            for view, network, best in each
            for what, array in (("parameters", network.parameters), ("best", best))
        }


class MiniBatches(Training):
    """Adam on mini-batches; an epoch is a pass over the rows in a new order.

    The learning rate falls to 0 by the last step of the last epoch, along half a cosine wave.
    """

    def __init__(
        self,
        *common: Any,
        learning_rate: float,
        batch_size: int,
        epochs: int,
        seed: int,
    ) -> None:
        super().__init__(*common)
        self.learning_rate, self.batch_size = learning_rate, batch_size
        self.epochs, self.seed = epochs, seed
        self.optimisers = [Adam(network.parameters) for network in self.networks]

    def train(self, run: Run, views: Pair) -> float:
        """Train for one epoch; return the mean over mini-batches of their sum of correlations."""
        sums, done, n = [], len(self.history), len(views[0])
        order = np.random.default_rng([self.seed, done]).permutation(n)
        size = min(self.batch_size, n)
        batches = n // size
        for number in range(batches):
            rows = order[number * size : (number + 1) * size]
            steps = done * batches + number
            rate = self.learning_rate * (1 + np.cos(np.pi * steps / (self.epochs * batches))) / 2
            total, gradients = self.gradients(run, [view[rows] for view in views])
            for optimiser, gradient in zip(self.optimisers, gradients, strict=True):
                optimiser.step(gradient, rate, steps + 1)
            sums.append(total)
        return float(np.mean(sums))

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that the next epoch depends on, by name."""
        return super().arrays() | {
            f"{what}_{view}": getattr(optimiser, what)
            for view, optimiser in zip("xy", self.optimisers, strict=True)
            for what in ("mean", "square")
        }


class FullBatch(Training):
    """L-BFGS on all rows at once; an epoch is so many steps.

    L-BFGS begins each epoch without memory of the one before: a checkpoint then holds all that the
    rest depends on. The squared parameters, times ``decay``, are subtracted from the correlation.
    """

    def __init__(self, *common: Any, decay: float, steps: int) -> None:
        super().__init__(*common)
        self.decay, self.steps = decay, steps

    def train(self, run: Run, views: Pair) -> float:
        """Train for one epoch; return the sum of correlations at the last gradient."""
        cut = self.networks[0].parameters.size
        total = np.nan

        def put(point: FloatArray) -> None:
            for network, part in zip(self.networks, (point[:cut], point[cut:]), strict=True):
                network.parameters[:] = part

        def loss(point: FloatArray) -> tuple[float, FloatArray]:
            nonlocal total
            put(point)
            total, gradients = self.gradients(run, views)
            slope = np.concatenate(gradients).astype(np.float64) + 2 * self.decay * point
            return self.decay * float(point @ point) - total, slope

        start = np.concatenate([network.parameters for network in self.networks])
        put(minimised(loss, start, self.steps))
        return total
