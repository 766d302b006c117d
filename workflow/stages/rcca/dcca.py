"""Deep canonical correlation analysis, as trained today and as in 2013 (Andrew et al.)."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from rnca.cca import RCCA
from rnca.files import replacing
from rnca.rows import FloatArray, grid
from rnca.seeding import streams
from workflow.lib.job import blas_threads
from workflow.stages.rcca.networks import Adam, Network, minimised

# Enough to find the canonical variables of the outputs while training: all rows serve at the end.
_WATCHED_ROWS = 10_000
_CHUNK = 4096

Matrix = npt.NDArray[np.float64]
Pair = Sequence[FloatArray]
# Calls a function with the items of each of some sequences, as map does, in threads.
Run = Callable[..., Iterator[Any]]


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


class Scaling(NamedTuple):
    """Brings a view to mean 0 in every column and to variance 1 on average over columns."""

    mean: Matrix
    scale: float

    def __call__(self, view: Any) -> FloatArray:
        """Read a view, scaled, as float32."""
        parts = [
            ((view[low:high] - self.mean) / self.scale).astype(np.float32)
            for low, high in grid(0, len(view), _CHUNK)
        ]
        return np.concatenate(parts)


@dataclass(kw_only=True)
class DCCA:
    """Canonical correlation analysis on the outputs of two networks trained for correlation.

    Each view goes through a fully connected network. Both are trained for the sum of the canonical
    correlations of their outputs; the best epoch on tuning rows is kept, and linear CCA of its
    outputs on all training rows gives the canonical variables. Both views are held in memory.
    ``components`` is the number of canonical variables and of outputs of each network; ``reg`` is
    added to the diagonals of the outputs' covariances; training ends after ``patience`` epochs
    without a better sum on tuning rows.

    The two networks are independent but for the correlation of their outputs: each is a thread's
    work, so that the number of threads changes no bit.
    """

    components: int
    hidden: Sequence[int]
    reg: float
    epochs: int
    patience: int
    seed: int

    activation = ""

    def fit(
        self, train: Sequence[Any], tune: Sequence[Any], checkpoint: str | Path | None = None
    ) -> Self:
        """Fit to training rows of both views; tuning rows choose the epoch.

        The checkpoint is written after every epoch. If it exists, training goes on from there, and
        ends as it would have without a break: it must be of the same data and settings.
        """
        self._started = _clock()
        self.scalings_ = [_scaling(view) for view in train]
        own, held_out = (
            [scale(view) for scale, view in zip(self.scalings_, part, strict=True)]
            for part in (train, tune)
        )
        sizes = [(view.shape[1], *self.hidden, self.components) for view in own]
        self.networks_ = [Network(each, self.activation) for each in sizes]
        rng, order = streams(self.seed, 2)
        for network in self.networks_:
            network.draw(rng)
        self.history_: list[Epoch] = []
        # The networks hold the parameters of the last step, these are of the best epoch.
        self._best = [network.parameters.copy() for network in self.networks_]
        self._begin(order)
        with _workers() as run:
            self._train(run, own, held_out, checkpoint)
            for network, best in zip(self.networks_, self._best, strict=True):
                network.parameters[:] = best
            self.cca_ = self._cca(run, own)
        self.best_epoch_ = len(self.history_) - self._epochs_since_best()
        self.seconds_, self.cpu_seconds_ = (_clock() - self._started).tolist()
        return self

    def component_correlations(self, views: Sequence[Any]) -> Matrix:
        """Correlation of each pair of canonical variables on rows of both views, signed."""
        scaled = [scale(view) for scale, view in zip(self.scalings_, views, strict=True)]
        return self.cca_.component_correlations(*map(Network.outputs, self.networks_, scaled))

    def score(self, views: Sequence[Any]) -> float:
        """Sum over components of the absolute correlation on rows of both views."""
        return float(np.abs(self.component_correlations(views)).sum())

    @property
    def is_censored(self) -> bool:
        """Whether training ended while the sum on tuning rows still rose: more would be better."""
        return self._epochs_since_best() < self.patience

    def _begin(self, rng: np.random.Generator) -> None:
        """Draw what training needs beside the networks."""
        raise NotImplementedError

    def _prepare(self, run: Run, views: Pair) -> None:
        """Do what comes before the first epoch: nothing."""

    def _train_epoch(self, run: Run, views: Pair) -> float:
        """Train for one epoch; return the sum of correlations on training rows."""
        raise NotImplementedError

    def _train(self, run: Run, own: Pair, held_out: Pair, checkpoint: Any) -> None:
        watched = [view[:_WATCHED_ROWS] for view in own]
        if checkpoint is not None and Path(checkpoint).exists():
            self._load(checkpoint)
        else:
            self._prepare(run, own)
        done = len(self.history_)
        with tqdm(total=self.epochs, initial=done, desc="deep CCA", unit="epoch") as bar:
            while len(self.history_) < self.epochs and self._epochs_since_best() < self.patience:
                train_sum = self._train_epoch(run, own)
                outputs = run(Network.outputs, self.networks_, held_out)
                tune_sum = self._cca(run, watched).score(*outputs)
                if tune_sum > max((each.tune_sum for each in self.history_), default=-np.inf):
                    self._best = [network.parameters.copy() for network in self.networks_]
                seconds, cpu_seconds = (_clock() - self._started).tolist()
                number = len(self.history_) + 1
                self.history_.append(Epoch(number, seconds, cpu_seconds, train_sum, tune_sum))
                if checkpoint is not None:
                    self._save(checkpoint)
                bar.set_postfix(tune=f"{tune_sum:.2f}", refresh=False)
                bar.update()

    def _cca(self, run: Run, views: Pair) -> RCCA:
        linear = RCCA(self.components, feature_map="linear", reg=self.reg, dtype="float64")
        return linear.fit(*run(Network.outputs, self.networks_, views))

    def _epochs_since_best(self) -> int:
        sums = [each.tune_sum for each in self.history_]
        return len(sums) - 1 - int(np.argmax(sums)) if sums else 0

    def _gradients(self, run: Run, rows: Pair) -> tuple[float, list[FloatArray]]:
        """Compute the sum of correlations on some rows, and its gradients with the sign changed."""
        values = list(run(Network.forward, self.networks_, rows))
        hx, hy = (each[-1] for each in values)
        if not (np.isfinite(hx).all() and np.isfinite(hy).all()):
            raise FloatingPointError(
                f"the networks' outputs left the range of numbers in epoch "
                f"{len(self.history_) + 1}: lower the learning rate."
            )
        total, slopes = correlation_and_slopes(hx, hy, self.reg)
        down = [(-slope).astype(hx.dtype) for slope in slopes]
        return total, list(run(Network.backward, self.networks_, values, down))

    def _save(self, path: str | PathLike[str]) -> None:
        """Write all that the next epoch depends on, as a whole or not at all."""
        with replacing(path) as partial, partial.open("wb") as stream:
            np.savez(stream, history=np.array(self.history_), **self._arrays())

    def _load(self, path: str | PathLike[str]) -> None:
        """Take up the training that `_save` wrote; refuse a file that is damaged or of others."""
        with Path(path).open("rb") as stream:
            try:
                stored = dict(np.load(stream, allow_pickle=False))
                for name, array in self._arrays().items():
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
        self.history_ = history
        self._started -= (last.seconds, last.cpu_seconds)

    def _arrays(self) -> dict[str, Any]:
        """Return the arrays that the next epoch depends on, by name."""
        parameters = [network.parameters for network in self.networks_]
        return _by_view("parameters", parameters) | _by_view("best", self._best)


@dataclass(kw_only=True)
class Today(DCCA):
    """Rectified units, Adam on mini-batches of several times ``components`` rows.

    The learning rate falls to 0 by the last step of the last epoch, along half a cosine wave.
    """

    learning_rate: float
    batch_size: int

    activation = "relu"
    # The learning rate has fallen to 0.
    is_censored = False

    def _begin(self, rng: np.random.Generator) -> None:
        self._order_seed = int(rng.integers(2**32))
        self._optimisers = [Adam(network.parameters) for network in self.networks_]

    def _train_epoch(self, run: Run, views: Pair) -> float:
        """Go over the rows in a new order; return the mean over mini-batches of their sums."""
        sums, done, n = [], len(self.history_), len(views[0])
        order = np.random.default_rng([self._order_seed, done]).permutation(n)
        size = min(self.batch_size, n)
        batches = n // size
        for number in range(batches):
            rows = order[number * size : (number + 1) * size]
            steps = done * batches + number
            rate = self.learning_rate * (1 + np.cos(np.pi * steps / (self.epochs * batches))) / 2
            total, gradients = self._gradients(run, [view[rows] for view in views])
            for optimiser, gradient in zip(self._optimisers, gradients, strict=True):
                optimiser.step(gradient, rate, steps + 1)
            sums.append(total)
        return float(np.mean(sums))

    def _arrays(self) -> dict[str, Any]:
        means, squares = zip(*((each.mean, each.square) for each in self._optimisers), strict=True)
        return super()._arrays() | _by_view("mean", means) | _by_view("square", squares)


@dataclass(kw_only=True)
class Of2013(DCCA):
    """Units of a non-saturating sigmoid, pretrained; L-BFGS on all rows at once.

    ``noise`` is the standard deviation in pretraining, where views have variance 1; the decays are
    weights of the squared parameters; ``steps`` are of an epoch and of each layer's pretraining.
    L-BFGS begins each epoch without memory of the one before: a checkpoint then holds all that the
    rest depends on.
    """

    noise: float
    pretraining_decay: float
    decay: float
    steps: int

    activation = "cube root"

    def _begin(self, rng: np.random.Generator) -> None:
        self._noise_seeds = rng.integers(2**32, size=len(self.networks_))

    def _prepare(self, run: Run, views: Pair) -> None:
        """Pretrain the hidden layers of both networks."""

        def pretrain(network: Network, view: FloatArray, seed: int) -> None:
            rng = np.random.default_rng(seed)
            network.pretrain(view, rng, self.noise, self.pretraining_decay, self.steps)

        list(run(pretrain, self.networks_, views, self._noise_seeds))

    def _train_epoch(self, run: Run, views: Pair) -> float:
        """Take ``steps`` of L-BFGS; return the sum of correlations at the last gradient."""
        cut = self.networks_[0].parameters.size
        total = np.nan

        def put(point: FloatArray) -> None:
            for network, part in zip(self.networks_, (point[:cut], point[cut:]), strict=True):
                network.parameters[:] = part

        def loss(point: FloatArray) -> tuple[float, FloatArray]:
            nonlocal total
            put(point)
            total, gradients = self._gradients(run, views)
            slope = np.concatenate(gradients).astype(np.float64) + 2 * self.decay * point
            return self.decay * float(point @ point) - total, slope

        start = np.concatenate([network.parameters for network in self.networks_])
        put(minimised(loss, start, self.steps))
        return total


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


@contextmanager
def _workers() -> Iterator[Run]:
    """As many threads as BLAS may use, with BLAS held to one thread in each."""
    workers = blas_threads()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        yield pool.map


def _clock() -> Matrix:
    """Return seconds elapsed, and seconds of all cores in this process, since some moment."""
    return np.array([perf_counter(), process_time()])


def _by_view(what: str, arrays: Sequence[FloatArray]) -> dict[str, Any]:
    return {f"{what}_{view}": array for view, array in zip("xy", arrays, strict=True)}


def _scaling(view: Any) -> Scaling:
    rows = view[:]
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = sum(
        float(np.square(rows[low:high] - mean).sum()) for low, high in grid(0, len(rows), _CHUNK)
    )
    return Scaling(mean, float(np.sqrt(squares / rows.size)) or 1.0)
