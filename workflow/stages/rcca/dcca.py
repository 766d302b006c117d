"""Deep canonical correlation analysis (Andrew et al. 2013), the paper's baseline."""

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from rnca._core.mapping import check_count
from rnca._core.rows import FloatArray, View, check_at_least_two_rows, grid
from rnca._core.seeding import streams
from rnca.cca import RCCA
from workflow.lib.two_views import TwoViews
from workflow.lib.workers import Run, workers
from workflow.stages.rcca.networks import ACTIVATIONS, Network
from workflow.stages.rcca.training import Stopwatch, Training

# Enough to find the canonical variables of the outputs while training: all rows serve at the end.
_WATCHED_ROWS = 10_000
_CHUNK = 4096


class Scaling(NamedTuple):
    """Brings a view to mean 0 in every column and to variance 1 on average over columns."""

    mean: npt.NDArray[np.float64]
    scale: float

    def __call__(self, rows: FloatArray, dtype: Any) -> FloatArray:
        """Return the rows scaled."""
        scaled: FloatArray = ((rows - self.mean) / self.scale).astype(dtype)
        return scaled


class DCCA(TwoViews):
    """Canonical correlation analysis on the outputs of two networks trained for correlation.

    Each view goes through a fully connected network. Both are trained by Adam on mini-batches for
    the sum of the canonical correlations of their outputs; the best epoch on tuning rows is kept,
    and linear CCA of its outputs on all training rows gives the canonical variables. Both views
    are held in memory.

    Parameters
    ----------
    n_components : int, default=50
        Number of canonical variables, and of outputs of each network.
    hidden : sequence of int, default=(400, 400)
        Units of each hidden layer.
    activation : {"relu", "tanh", "identity"}, default="relu"
        Of the hidden units.
    reg : float, default=1e-4
        Added to the diagonals of the outputs' covariances.
    learning_rate : float, default=3e-3
        Of the first step; it falls to 0 by the last, along half a cosine wave.
    batch_size : int, default=500
        Rows whose correlation is maximised at a time: several times ``n_components``.
    epochs : int, default=20
        Passes over the training rows.
    patience : int, default=5
        Training ends after this many epochs without a better sum on tuning rows.
    validation_fraction : float, default=0.1
        Share of the rows set aside as tuning rows where `fit` is given none.
    random_state : int, numpy Generator, numpy RandomState or None
    dtype : {"float32", "float64"}, default="float32"
        Of the networks; covariances of outputs are in float64 either way.
    verbose : bool, default=False
        Show progress, with the sum of correlations on tuning rows.

    Attributes
    ----------
    networks_ : pair of Network
    scalings_ : pair of Scaling
        What is done to each view first.
    cca_ : RCCA
        Linear CCA of the outputs.
    history_ : list of Epoch
        Time, and correlation on training and tuning rows, epoch by epoch.
    best_epoch_ : int
        The one kept.
    seconds_, cpu_seconds_ : float
        Of the fit, elapsed and of all cores.
    n_parameters_ : int
        Weights and biases of both networks. The linear CCA of the outputs adds none: it can be
        folded into the output layers.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow.stages.rcca.dcca import DCCA
    >>> from rnca import RCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-2, 2, size=2000)
    >>> X = np.column_stack([t**2, rng.normal(size=2000)])
    >>> Y = np.column_stack([np.sin(3 * t), rng.normal(size=2000)])
    >>> linear = RCCA(1, feature_map="linear").fit(X[:1000], Y[:1000])
    >>> deep = DCCA(1, hidden=(20, 20), batch_size=100, learning_rate=1e-2, random_state=0)
    >>> deep = deep.fit(X[:1000], Y[:1000])
    >>> bool(deep.score(X[1000:], Y[1000:]) > linear.score(X[1000:], Y[1000:]) + 0.3)
    True
    """

    def __init__(
        self,
        n_components: int = 50,
        *,
        hidden: Sequence[int] = (400, 400),
        activation: str = "relu",
        reg: float = 1e-4,
        learning_rate: float = 3e-3,
        batch_size: int = 500,
        epochs: int = 20,
        patience: int = 5,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        dtype: Any = "float32",
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.activation = activation
        self.reg = reg
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.dtype = dtype
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        tune: tuple[Any, Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit to two views of the same samples.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, p)
        y : likewise, of shape (n, q) or (n,)
        tune : pair of the same, optional
            Tuning rows; by default ``validation_fraction`` of the rows given.
        checkpoint : path, optional
            Written after every epoch. If it exists, training goes on from there, and ends as
            it would have without a break; it must come from a fit with the same data and
            settings. Needs an integer ``random_state``.

        Returns
        -------
        self
        """
        self._check()
        watch = Stopwatch()
        of_weights, of_rows, of_order = streams(self.random_state, 3)
        views = self._fitted_views(X, y)
        check_at_least_two_rows(len(views[0]), "X")
        others = None if tune is None else self._checked_views(*tune)
        parts = self._parts(views, others, of_rows)
        scalings = [_scaling(view) for view in parts[0]]
        train, held_out = (
            [scale(view, self.dtype) for scale, view in zip(scalings, part, strict=True)]
            for part in parts
        )
        networks = [
            Network((view.shape[1], *self.hidden, self.n_components), self.activation, self.dtype)
            for view in train
        ]
        for network in networks:
            network.draw(of_weights)
        training = Training(
            networks,
            reg=self.reg,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            epochs=self.epochs,
            seed=int(of_order.integers(2**32)),
            watch=watch,
        )
        with workers() as run:
            self._train(run, training, train, held_out, checkpoint)
            for network, best in zip(networks, training.best, strict=True):
                network.parameters[:] = best
            cca = self._cca(run, networks, train)
        self.networks_, self.scalings_, self.cca_ = networks, scalings, cca
        self.history_ = training.history
        self.best_epoch_ = len(self.history_) - training.epochs_since_best
        self.n_parameters_ = sum(network.parameters.size for network in networks)
        self.seconds_, self.cpu_seconds_ = watch.read()
        return self

    def transform(self, X: Any, y: Any = None) -> Any:
        """Canonical variables, centred by the training means.

        Parameters
        ----------
        X : array-like of shape (n, p), or None
        y : array-like of shape (n, q) or (n,), optional

        Returns
        -------
        ndarray of shape (n, n_components), or a pair of them if both views are given
        """
        outputs = self._outputs(X, y)
        return self.cca_.transform(*outputs)

    def component_correlations(self, X: Any, y: Any) -> npt.NDArray[np.float64]:
        """Correlation of each pair of canonical variables on the given rows, signed.

        Returns
        -------
        ndarray of shape (n_components,)
        """
        outputs = self._outputs(X, y)
        return self.cca_.component_correlations(*outputs)

    def score(self, X: Any, y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows."""
        return float(np.abs(self.component_correlations(X, y)).sum())

    def _train(
        self, run: Run, training: Training, train: Any, held_out: Any, checkpoint: Any
    ) -> None:
        watched = [view[:_WATCHED_ROWS] for view in train]

        def tune_sum() -> float:
            outputs = _network_outputs(run, training.networks, held_out)
            return self._cca(run, training.networks, watched).score(*outputs)

        name = "" if checkpoint is None else self._fingerprint([*train, *held_out])
        if checkpoint is not None and Path(checkpoint).exists():
            training.load(checkpoint, name)
        bar = tqdm(
            total=self.epochs,
            initial=len(training.history),
            desc="deep CCA",
            unit="epoch",
            disable=not self.verbose,
        )
        with bar:
            while (
                len(training.history) < self.epochs and training.epochs_since_best < self.patience
            ):
                training.epoch(run, train, tune_sum)
                if checkpoint is not None:
                    training.save(checkpoint, name)
                bar.set_postfix(tune=f"{training.history[-1].tune_sum:.2f}", refresh=False)
                bar.update()

    def _parts(
        self, views: Sequence[View], others: Any, rng: np.random.Generator
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Read training and tuning rows of both views."""
        if others is not None:
            train, held_out = (
                [each.read(0, len(each)) for each in part] for part in (views, others)
            )
        else:
            order = rng.permutation(len(views[0]))
            count = max(2, round(self.validation_fraction * len(order)))
            train, held_out = (
                [each.take(rows) for each in views] for rows in (order[count:], order[:count])
            )
        most = min(self.batch_size, len(train[0]))
        if most <= self.n_components:
            raise ValueError(
                f"n_components={self.n_components} with mini-batches of {most} rows: correlations "
                "need more rows than components. Raise batch_size, give more rows, or ask for "
                "fewer components."
            )
        return train, held_out

    def _cca(self, run: Run, networks: Sequence[Network], views: Sequence[FloatArray]) -> RCCA:
        linear = RCCA(self.n_components, feature_map="linear", reg=self.reg, dtype="float64")
        return linear.fit(*_network_outputs(run, networks, views))

    def _outputs(self, X: Any, y: Any) -> list[FloatArray | None]:
        check_is_fitted(self, "cca_")
        return [
            None if view is None else self._outputs_of(view, index)
            for index, view in enumerate(self._checked_views(X, y))
        ]

    def _outputs_of(self, view: View, index: int) -> FloatArray:
        network, scaling = self.networks_[index], self.scalings_[index]
        return np.concatenate(
            [
                network.outputs(scaling(view.read(low, high), self.dtype))
                for low, high in grid(0, len(view), _CHUNK)
            ]
        )

    def _fingerprint(self, arrays: Sequence[FloatArray]) -> str:
        """Checksum of the settings and data on which a training depends."""
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(
                f"random_state={self.random_state!r}: a training that is to be taken up again "
                "needs an integer."
            )
        settings = {name: self.get_params()[name] for name in sorted(self.get_params())}
        del settings["verbose"]
        digest = hashlib.sha256(repr(settings).encode())
        for array in arrays:
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def _check(self) -> None:
        for name in ("n_components", "batch_size", "epochs", "patience"):
            check_count(getattr(self, name), name)
        for units in self.hidden:
            check_count(units, "units in hidden")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation={self.activation!r}: known are {', '.join(ACTIVATIONS)}.")
        if self.dtype not in ("float32", "float64", np.float32, np.float64):
            raise ValueError(f'dtype={self.dtype!r}: networks are "float32" or "float64".')
        for name, value in (("reg", self.reg), ("learning_rate", self.learning_rate)):
            if not 0 < value < np.inf:
                raise ValueError(f"{name}={value!r}: give a finite number > 0.")
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r}: give a number between 0 and 1."
            )


def _network_outputs(
    run: Run, networks: Sequence[Network], views: Sequence[FloatArray]
) -> list[FloatArray]:
    tasks = [partial(network.outputs, view) for network, view in zip(networks, views, strict=True)]
    return [future.result() for future in run(tasks)]


def _scaling(rows: FloatArray) -> Scaling:
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = sum(
        float(np.square(rows[low:high] - mean).sum()) for low, high in grid(0, len(rows), _CHUNK)
    )
    return Scaling(mean, float(np.sqrt(squares / rows.size)) or 1.0)
