"""Deep canonical correlation analysis, as trained today and as in 2013 (Andrew et al.)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from rnca._core.rows import FloatArray, grid
from rnca._core.seeding import streams
from rnca.cca import RCCA
from workflow.stages.rcca.networks import Network
from workflow.stages.rcca.training import FullBatch, MiniBatches, Stopwatch, Training
from workflow.stages.rcca.workers import Run, workers

# Enough to find the canonical variables of the outputs while training: all rows serve at the end.
_WATCHED_ROWS = 10_000
_CHUNK = 4096


class Scaling(NamedTuple):
    """Brings a view to mean 0 in every column and to variance 1 on average over columns."""

    mean: npt.NDArray[np.float64]
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
        watch = Stopwatch()
        scalings = [_scaling(view) for view in train]
        own, held_out = (
            [scale(view) for scale, view in zip(scalings, part, strict=True)]
            for part in (train, tune)
        )
        sizes = [(view.shape[1], *self.hidden, self.components) for view in own]
        networks = [Network(each, self.activation) for each in sizes]
        rng, order = streams(self.seed, 2)
        for network in networks:
            network.draw(rng)
        training = self.training(networks, watch, order)
        with workers() as run:
            self._train(run, training, own, held_out, checkpoint)
            for network, best in zip(networks, training.best, strict=True):
                network.parameters[:] = best
            self.cca_ = self._cca(run, networks, own)
        self.networks_, self.scalings_, self.history_ = networks, scalings, training.history
        self.best_epoch_ = len(self.history_) - training.epochs_since_best
        self.seconds_, self.cpu_seconds_ = watch.read()
        return self

    def component_correlations(self, views: Sequence[Any]) -> npt.NDArray[np.float64]:
        """Correlation of each pair of canonical variables on rows of both views, signed."""
        outputs = [
            network.outputs(scale(view))
            for network, scale, view in zip(self.networks_, self.scalings_, views, strict=True)
        ]
        return self.cca_.component_correlations(*outputs)

    def score(self, views: Sequence[Any]) -> float:
        """Sum over components of the absolute correlation on rows of both views."""
        return float(np.abs(self.component_correlations(views)).sum())

    def training(
        self, networks: Sequence[Network], watch: Stopwatch, rng: np.random.Generator
    ) -> Training:
        """Return the way in which drawn networks are trained."""
        raise NotImplementedError

    def prepare(self, run: Run, training: Training, views: Sequence[FloatArray]) -> None:
        """Do what comes before the first epoch: nothing."""

    def _train(
        self, run: Run, training: Training, own: Any, held_out: Any, checkpoint: Any
    ) -> None:
        watched = [view[:_WATCHED_ROWS] for view in own]

        def tune_sum() -> float:
            outputs = _outputs(run, training.networks, held_out)
            return self._cca(run, training.networks, watched).score(*outputs)

        if checkpoint is not None and Path(checkpoint).exists():
            training.load(checkpoint)
        else:
            self.prepare(run, training, own)
        done = len(training.history)
        with tqdm(total=self.epochs, initial=done, desc="deep CCA", unit="epoch") as bar:
            while (
                len(training.history) < self.epochs and training.epochs_since_best < self.patience
            ):
                training.epoch(run, own, tune_sum)
                if checkpoint is not None:
                    training.save(checkpoint)
                bar.set_postfix(tune=f"{training.history[-1].tune_sum:.2f}", refresh=False)
                bar.update()

    def _cca(self, run: Run, networks: Sequence[Network], views: Sequence[FloatArray]) -> RCCA:
        linear = RCCA(self.components, feature_map="linear", reg=self.reg, dtype="float64")
        return linear.fit(*_outputs(run, networks, views))


@dataclass(kw_only=True)
class Today(DCCA):
    """Rectified units, Adam on mini-batches of several times ``components`` rows."""

    learning_rate: float
    batch_size: int

    activation = "relu"

    def training(
        self, networks: Sequence[Network], watch: Stopwatch, rng: np.random.Generator
    ) -> Training:
        """Return Adam on mini-batches."""
        return MiniBatches(
            networks,
            self.reg,
            watch,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            epochs=self.epochs,
            seed=int(rng.integers(2**32)),
        )


@dataclass(kw_only=True)
class Of2013(DCCA):
    """Units of a non-saturating sigmoid, pretrained; L-BFGS on all rows at once.

    ``noise`` is the standard deviation in pretraining, where views have variance 1; the decays are
    weights of the squared parameters; ``steps`` are of an epoch and of each layer's pretraining.
    """

    noise: float
    pretraining_decay: float
    decay: float
    steps: int

    activation = "cube root"

    def training(
        self, networks: Sequence[Network], watch: Stopwatch, rng: np.random.Generator
    ) -> Training:
        """Return L-BFGS on all rows."""
        self._noise_seeds = rng.integers(2**32, size=len(networks))
        return FullBatch(networks, self.reg, watch, decay=self.decay, steps=self.steps)

    def prepare(self, run: Run, training: Training, views: Sequence[FloatArray]) -> None:
        """Pretrain the hidden layers of both networks."""
        settings = (self.noise, self.pretraining_decay, self.steps)
        each = zip(training.networks, views, self._noise_seeds, strict=True)
        tasks = [
            partial(network.pretrain, view, np.random.default_rng(seed), *settings)
            for network, view, seed in each
        ]
        for future in run(tasks):
            future.result()


def _outputs(
    run: Run, networks: Sequence[Network], views: Sequence[FloatArray]
) -> list[FloatArray]:
    tasks = [partial(network.outputs, view) for network, view in zip(networks, views, strict=True)]
    return [future.result() for future in run(tasks)]


def _scaling(view: Any) -> Scaling:
    rows = view[:]
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = sum(
        float(np.square(rows[low:high] - mean).sum()) for low, high in grid(0, len(rows), _CHUNK)
    )
    return Scaling(mean, float(np.sqrt(squares / rows.size)) or 1.0)
