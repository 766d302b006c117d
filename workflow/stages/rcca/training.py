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
from workflow.lib.workers import Run
from workflow.stages.rcca.networks import Adam, Network

Matrix = npt.NDArray[np.float64]
Pair = Sequence[FloatArray]

_FORMAT = 1


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
    """What is known after a pass over the training rows.

    Attributes
    ----------
    epoch : int
        From 1.
    seconds, cpu_seconds : float
        Since the fit began, elapsed and of all cores; of a fit that was broken off, the time that
        led to what was kept.
    train_sum : float
        Mean over mini-batches of the (regularised) sum of correlations.
    tune_sum : float
        Sum of correlations on the tuning rows.
    """

    epoch: int
    seconds: float
    cpu_seconds: float
    train_sum: float
    tune_sum: float


def correlation_and_slopes(hx: FloatArray, hy: FloatArray, reg: float) -> tuple[float, Pair]:
    """Compute the sum of canonical correlations of two sets of outputs, and its slopes.

    Parameters
    ----------
    hx, hy : ndarray of shape (rows, k)
        More rows than k.
    reg : float
        Added to the diagonals of the covariances.

    Returns
    -------
    total : float
        Sum of all k singular values of the whitened cross-covariance.
    slopes : pair of ndarray of shape (rows, k)
        Derivatives of the sum along hx and hy, float64.
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
    """Stochastic ascent on the sum of correlations of two networks' outputs.

    The two networks are independent but for the correlation of their outputs: each is a thread's
    work, so that the number of threads changes no bit.

    Parameters
    ----------
    networks : pair of Network
        Drawn. They hold the parameters of the last step, `best` those of the best epoch.
    reg : float
    learning_rate : float
        Of the first step; it falls to 0 by the last one, along half a cosine wave.
    batch_size : int
    epochs : int
        How many there will be at most.
    seed : int
        Of the order of rows.
    watch : Stopwatch, optional
        Running since the fit began.

    Attributes
    ----------
    history : list of Epoch
    best : pair of ndarray
        Parameters after the epoch with the largest sum on tuning rows.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        *,
        reg: float,
        learning_rate: float,
        batch_size: int,
        epochs: int,
        seed: int,
        watch: Stopwatch | None = None,
    ) -> None:
        self.networks = networks
        self.reg, self.learning_rate = reg, learning_rate
        self.batch_size, self.epochs, self.seed = batch_size, epochs, seed
        self.optimisers = [Adam(network.parameters) for network in networks]
        self.best = [network.parameters.copy() for network in networks]
        self.history: list[Epoch] = []
        self.watch = watch or Stopwatch()

    @property
    def epochs_since_best(self) -> int:
        """How many epochs have passed without a better sum on tuning rows."""
        sums = [each.tune_sum for each in self.history]
        return len(sums) - 1 - int(np.argmax(sums)) if sums else 0

    def epoch(self, run: Run, views: Pair, tune_sum: Callable[[], float]) -> None:
        """Pass once over the rows in a new order, and note the time and ``tune_sum()``.

        Parameters
        ----------
        run : callable
            Of `workflow.lib.workers.workers`.
        views : pair of ndarray
        tune_sum : callable
            Gives the sum of correlations on tuning rows, for the networks as they are.
        """
        done = len(self.history)
        n = len(views[0])
        order = np.random.default_rng([self.seed, done]).permutation(n)
        size = min(self.batch_size, n)
        batches = n // size
        sums = []
        for number in range(batches):
            rows = order[number * size : (number + 1) * size]
            share = (done * batches + number) / (self.epochs * batches)
            rate = self.learning_rate * (1 + np.cos(np.pi * share)) / 2
            sums.append(self._step(run, [view[rows] for view in views], rate))
        tuned = tune_sum()
        if tuned > max((each.tune_sum for each in self.history), default=-np.inf):
            self.best = [network.parameters.copy() for network in self.networks]
        self.history.append(Epoch(done + 1, *self.watch.read(), float(np.mean(sums)), tuned))

    def _step(self, run: Run, batch: Pair, rate: float) -> float:
        passes = zip(self.networks, batch, strict=True)
        values = [
            future.result() for future in run([partial(each.forward, x) for each, x in passes])
        ]
        outputs = [each[-1] for each in values]
        if not all(np.isfinite(each).all() for each in outputs):
            raise FloatingPointError(
                f"the networks' outputs left the range of numbers in epoch "
                f"{len(self.history) + 1} with learning_rate={self.learning_rate}: lower it."
            )
        total, slopes = correlation_and_slopes(outputs[0], outputs[1], self.reg)
        steps = [
            partial(self._descend, index, values[index], slopes[index], rate)
            for index in range(len(values))
        ]
        for future in run(steps):
            future.result()
        return total

    def _descend(
        self, index: int, values: Sequence[FloatArray], slopes: FloatArray, rate: float
    ) -> None:
        network = self.networks[index]
        down = (-slopes).astype(network.parameters.dtype)
        self.optimisers[index].step(network.backward(values, down), rate)

    def save(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        """Write all that the next epoch depends on, as a whole or not at all."""
        with replacing(path) as partial_file, partial_file.open("wb") as stream:
            known: dict[str, Any] = {
                "format": _FORMAT,
                "fingerprint": fingerprint,
                "steps": self.optimisers[0].steps,
                "history": np.array(self.history, dtype=np.float64),
            }
            np.savez(stream, **known, **self._arrays())

    def load(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        """Take up the training that `save` wrote.

        Raises
        ------
        ValueError
            If the file is damaged, or of other settings, data or code.
        """
        with Path(path).open("rb") as stream:
            try:
                stored = dict(np.load(stream, allow_pickle=False))
                found = (int(stored["format"]), str(stored["fingerprint"]))
                arrays = {name: stored[name] for name in self._arrays()}
            except MemoryError:
                raise
            # zipfile and numpy raise almost anything on a broken file.
            except Exception as error:
                raise ValueError(
                    f"{path}: not a complete checkpoint ({error}). Delete it to train from the "
                    "start."
                ) from error
        if found != (_FORMAT, fingerprint):
            raise ValueError(
                f"{path}: the checkpoint of a fit with other settings or data. Delete it, or name "
                "another file."
            )
        for name, array in self._arrays().items():
            array[:] = arrays[name]
        for optimiser in self.optimisers:
            optimiser.steps = int(stored["steps"])
        self.history = [Epoch(int(row[0]), *map(float, row[1:])) for row in stored["history"]]
        self.watch.add(self.history[-1].seconds, self.history[-1].cpu_seconds)

    def _arrays(self) -> dict[str, Any]:
        return {
            f"{what}_{view}": array
            for view, optimiser, best in zip("xy", self.optimisers, self.best, strict=True)
            for what, array in (
                ("parameters", optimiser.parameters),
                ("mean", optimiser.mean),
                ("square", optimiser.square),
                ("best", best),
            )
        }
