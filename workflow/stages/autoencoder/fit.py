"""Stage autoencoder: reconstruction of unseen pictures, beside linear PCA (Section 5.4)."""

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from rnca.autoencoder import RandomizedAutoencoder
from rnca.features import FourierFeatures, median_gamma
from rnca.rows import FloatArray, View, grid
from workflow.data.prepared import Prepared
from workflow.data.splits import fraction_split
from workflow.data.views import RowView
from workflow.lib.job import blas_threads, job
from workflow.lib.provenance import peak_mb, read_prepared, write_csv
from workflow.lib.seeding import derived_seed

# Rows that stand for all where no more are needed: for the median heuristic of the latent
# factors, and for the errors on training and tuning rows.
_SAMPLE = 2048
_CHUNK = 2048
_PICTURE_COLUMNS = ["method", "row", "label", "png"]


@dataclass(frozen=True)
class Method:
    """What is fitted under a name: encoder, decoder and their kernel widths.

    Widths are gamma as a multiple of the median heuristic's. None, where the map is not linear:
    2·gamma² in units of the pixels, since the authors' code draws weights of standard deviation
    2·gamma instead of √(2·gamma). ``on_edge`` has ``encoder`` and ``decoder`` if the width chosen
    is the smallest or largest one tried.
    """

    name: str
    encoder: str = "fourier"  # or "standardised" or "linear"
    decoder: str = "fourier"  # or "linear"
    linear_part: bool = False  # linear features of the decoder beside the random ones
    encoder_width: float | None = None
    decoder_width: float | None = None
    reg: float | None = None  # None: the authors' ridge
    on_edge: tuple[str, ...] = ()


PCA = Method("pca", "linear", "linear")
MEDIAN = Method("median", encoder_width=1.0, decoder_width=1.0)  # the widths the paper states
AUTHORS = Method("authors")  # those of its authors' code
AUTHORS_ENCODER = Method("authors-encoder", "standardised")  # and the encoder of that code
# Without the widths and the regulariser, which are chosen by the error on tuning rows.
CHOSEN = Method("chosen")
RPCA_COMBINED = Method("rpca-combined", linear_part=True)
COMBINED = Method("combined", "linear", linear_part=True)


class Experiment(SimpleNamespace):
    """Autoencoders of one dataset at one number of latent factors.

    Its attributes are the settings of the stage, with ``name`` and ``seed`` of the run.
    """

    def seed_of(self, repeat: int, purpose: str) -> int:
        """Derive the seed for one purpose of a repeat."""
        return derived_seed(self.seed, "autoencoder", self.name, repeat, purpose)


@dataclass(frozen=True)
class Pixels:
    """Pictures of one split as rows of numbers from 0 to 1, read when they are asked for."""

    train: RowView
    tune: RowView
    test: RowView

    @classmethod
    def of(cls, experiment: Experiment, data: Prepared, repeat: int) -> "Pixels":
        """Draw 80 % of the pictures to train, 10 % to tune, 10 % to test."""
        split = fraction_split(data.n_rows, experiment.seed_of(repeat, "split"))
        flat = data.images.reshape(data.n_rows, -1)
        white = np.full(flat.shape[1], float(experiment.white))
        parts = (split.train, split.tune, split.test)
        return cls(*(RowView(flat, rows, scale=white) for rows in parts))

    def share(self, fraction: float) -> "Pixels":
        """Keep a share of the training and of the tuning rows."""
        train, tune = (_spread(part, int(len(part) * fraction)) for part in (self.train, self.tune))
        return Pixels(train, tune, self.test)


def _spread(view: RowView, count: int) -> RowView:
    """Show ``count`` rows, spread evenly over those of a view."""
    assert view.rows is not None
    index = np.linspace(0, len(view) - 1, min(len(view), max(2, count))).astype(np.int64)
    return replace(view, rows=view.rows[index])


class StandardisedFeatures(FourierFeatures):
    """The encoder's features in the authors' code: unit variance over the rows of the fit.

    Their principal components are those of the correlation matrix, as in ``rpca.m`` of the
    authors' code, which standardises every random feature before the SVD. Fitting takes a pass over
    the rows; ``deviations_`` is then the standard deviation of each feature, 1 where that is 0.
    """

    _fitted_arrays = ("weights_", "phases_", "deviations_")

    def _draw(self, view: View) -> None:
        super()._draw(view)
        m = self.n_features_out
        self.deviations_ = np.ones(m, dtype=self.phases_.dtype)
        sums, squares, shift = np.zeros(m), np.zeros(m), None
        for start, stop in grid(0, len(view), _CHUNK):
            z = np.empty((stop - start, m), dtype=self.feature_dtype)
            self.features(view.read(start, stop), z)
            shift = z[0].astype(np.float64) if shift is None else shift
            centred = z - shift
            sums += centred.sum(axis=0)
            squares += np.square(centred).sum(axis=0)
        variance = np.maximum(squares - sums**2 / len(view), 0.0) / (len(view) - 1)
        self.deviations_ = np.where(variance > 0, np.sqrt(variance), 1.0).astype(self.phases_.dtype)

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        super()._map(x, out)
        out /= self.deviations_


class Fit:
    """A method fitted to training rows, in two steps that are timed.

    ``on_edge`` has the keys of ``search`` of which an end was chosen on tuning rows.
    """

    def __init__(self, experiment: Experiment, method: Method, repeat: int) -> None:
        self.experiment, self.method, self.repeat = experiment, method, repeat
        self.model = RandomizedAutoencoder(
            experiment.components,
            feature_map="linear" if method.encoder == "linear" else "fourier",
            n_features=experiment.features,
            decoder_feature_map=method.decoder,
            n_decoder_features=experiment.features,
            random_state=experiment.seed_of(repeat, "features"),
            verbose=True,
        )
        self.encoder_width: float | None = None
        self.decoder_width: float | None = None
        self.on_edge = list(method.on_edge)

    def encoder(self, train: RowView) -> "Fit":
        """Fit the encoder."""
        started = perf_counter()
        if self.method.encoder != "linear":
            gamma, self.encoder_width = self._gamma(train, self.method.encoder_width)
            self.model.set_params(gamma=gamma)
        if self.method.encoder == "standardised":
            features = StandardisedFeatures(self.model.n_features, gamma=gamma)
            self.model.set_params(feature_map=features)
        self.model.fit_encoder(train)
        self.encoder_seconds = perf_counter() - started
        return self

    def decoder(self, train: RowView) -> "Fit":
        """Fit the decoder."""
        started = perf_counter()
        if self.method.decoder != "linear":
            components = self.model.encoder_.transform(_spread(train, _SAMPLE))
            factors = components / self.model.scale_.astype(components.dtype)
            gamma, self.decoder_width = self._gamma(factors, self.method.decoder_width)
            self.model.set_params(decoder_gamma=gamma)
        reg = self.method.reg
        if reg is None:
            reg = self.experiment.ridge / (len(train) - 1)
        self.model.set_params(reg=reg, linear_part=self.method.linear_part).fit_decoder(train)
        self.decoder_seconds = perf_counter() - started
        return self

    def choose_reg(self, tune: RowView) -> None:
        """Take the regulariser of least error on tuning rows, from the passes already made."""
        regs = self.experiment.search["regs"]
        self.model = min(self.model.path(regs), key=lambda model: model.error(tune))
        if at_end(self.model.reg, regs):
            self.on_edge.append("regs")

    def _gamma(self, rows: Any, width: float | None) -> tuple[float, float]:
        """Return gamma, and as a multiple of the median heuristic's."""
        median = median_gamma(rows, random_state=self.model.random_state)
        width = 2 * median if width is None else width
        return width * median, width

    def record(self, pixels: Pixels) -> dict[str, Any]:
        """Measure the fit: one row of the stage's CSV."""
        started = perf_counter()
        self.model.transform(pixels.test)
        encode_seconds = perf_counter() - started
        test_error = self.model.error(pixels.test)
        return {
            "experiment": self.experiment.name,
            "axis": "table",  # by which claims choose rows
            "method": self.method.name,
            "repeat": self.repeat,
            "d": self.model.n_components,
            "m": self.model.n_features,
            "n_train": len(pixels.train),
            "n_tune": len(pixels.tune),
            "n_test": len(pixels.test),
            "encoder_width": self.encoder_width,
            "decoder_width": self.decoder_width,
            "reg": self.model.reg,
            "on_edge": ", ".join(self.on_edge),
            "train_error": self.model.error(_spread(pixels.train, _SAMPLE)),
            "tune_error": self.model.error(_spread(pixels.tune, _SAMPLE)),
            "test_error": test_error,
            "test_psnr": -10 * np.log10(test_error * _mean_square(pixels.test)),
            "encoder_seconds": self.encoder_seconds,
            "decoder_seconds": self.decoder_seconds,
            "encode_seconds": encode_seconds,
            "threads": blas_threads(),
            "peak_mb": peak_mb(),
        }


def run_part(
    experiment: Experiment, data: Prepared, repeats: Iterable[int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make some repeats of an experiment.

    Returns the errors, one row per fit, and the pictures of repeat 0, none if it is not made here.
    """
    errors, pictures = [], pd.DataFrame(columns=_PICTURE_COLUMNS)
    for repeat in repeats:
        found, kept = run_repeat(experiment, data, repeat)
        errors.append(found)
        if repeat == 0:
            pictures = kept
    return pd.concat(errors, ignore_index=True), pictures


def run_repeat(
    experiment: Experiment, data: Prepared, repeat: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit every method on the split of a repeat; return errors, and some pictures of test rows."""
    pixels = Pixels.of(experiment, data, repeat)
    index = shown_rows(data, pixels.test, experiment.shown)
    shown = pixels.test[index]
    records, pictures = [], [picture_rows(data, pixels.test, index, shown, "original")]
    fixed = (PCA, MEDIAN, AUTHORS, AUTHORS_ENCODER)
    for method in (*fixed, *chosen(experiment, pixels, repeat)):
        fit = Fit(experiment, method, repeat)
        fit.encoder(pixels.train).decoder(pixels.train)
        if method.reg is not None:
            fit.choose_reg(pixels.tune)
        records.append(fit.record(pixels))
        decoded = fit.model.inverse_transform(fit.model.transform(shown))
        pictures.append(picture_rows(data, pixels.test, index, decoded, method.name))
    labelled = pd.concat(pictures, ignore_index=True).assign(
        experiment=experiment.name, repeat=repeat, d=experiment.components
    )
    return pd.DataFrame(records), labelled


def chosen(experiment: Experiment, pixels: Pixels, repeat: int) -> list[Method]:
    """Choose widths by the error on tuning rows, each at its best regulariser.

    Candidates are compared on a share of the rows, with all features: fewer would favour smoother
    kernels. More rows need less of a regulariser, so the fit that follows chooses its own.
    """
    few = pixels.share(experiment.search["share"])
    encoders: dict[float | None, Fit] = {}
    return [
        Search(experiment, method, repeat, few, encoders).best()
        for method in (CHOSEN, RPCA_COMBINED, COMBINED)
    ]


class Search:
    """Finds the widths of a method; a grid grows while the best value is at an end of it.

    ``encoders`` has the fits by width of the encoder, None for the linear one; searches share them.
    """

    def __init__(
        self,
        experiment: Experiment,
        method: Method,
        repeat: int,
        pixels: Pixels,
        encoders: dict[float | None, Fit],
    ) -> None:
        self.experiment, self.method, self.repeat = experiment, method, repeat
        self.pixels, self.settings, self.encoders = pixels, experiment.search, encoders

    def best(self) -> Method:
        """Return the method at the best widths, and which of them are at an end of their grid."""
        grids = {key: sorted(self.settings[key]) for key in ("encoder", "decoder")}
        if self.method.encoder == "linear":
            grids["encoder"] = []
        tried: dict[tuple[float | None, float], float] = {}
        for further in reversed(range(self.settings["widen"] + 1)):
            for widths in product(grids["encoder"] or [None], grids["decoder"]):
                if widths not in tried:
                    tried[widths] = self.error(*widths)
            found = min(tried, key=lambda widths: tried[widths])
            ends = {
                key: width
                for key, width in zip(grids, found, strict=True)
                if width is not None and at_end(width, grids[key])
            }
            if not ends or not further:
                break
            for key, width in ends.items():
                grids[key] = widened(grids[key], width)
        return replace(
            self.method,
            encoder_width=found[0],
            decoder_width=found[1],
            reg=self.settings["regs"][0],
            on_edge=tuple(ends),
        )

    def error(self, encoder: float | None, decoder: float) -> float:
        """Return the error on tuning rows at two widths and the best regulariser."""
        regs = self.settings["regs"]
        method = replace(self.method, encoder_width=encoder, decoder_width=decoder, reg=regs[0])
        if encoder not in self.encoders:
            fit = Fit(self.experiment, method, self.repeat)
            self.encoders[encoder] = fit.encoder(self.pixels.train)
        fit = self.encoders[encoder]
        fit.method = method
        fit.decoder(self.pixels.train)
        return min(model.error(self.pixels.tune) for model in fit.model.path(regs))


def at_end(value: float, grid: Sequence[float]) -> bool:
    """Return whether a value is the smallest or largest of several."""
    return len(grid) > 1 and value in (min(grid), max(grid))


def widened(grid: list[float], end: float) -> list[float]:
    """Add a value beyond an end of an increasing grid, at the distance of the next one inside."""
    if end == grid[0]:
        return [grid[0] ** 2 / grid[1], *grid]
    return [*grid, grid[-1] ** 2 / grid[-2]]


def _mean_square(view: RowView) -> float:
    pieces = (view[start : start + _SAMPLE] for start in range(0, len(view), _SAMPLE))
    return float(sum(np.square(piece).sum() for piece in pieces)) / (len(view) * view.shape[1])


def shown_rows(data: Prepared, view: RowView, count: int) -> NDArray[np.int64]:
    """Choose positions in a view to show: of each class as many, spread evenly over its rows."""
    kinds = np.zeros(len(view)) if data.labels is None else np.asarray(data.labels[view.rows])
    classes = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    turns = -(-count // len(classes))
    places = (np.arange(turns) + 0.5) / turns
    chosen = [rows[int(place * len(rows))] for place in places for rows in classes]
    return np.array(list(dict.fromkeys(chosen))[:count])


def picture_rows(
    data: Prepared, view: RowView, index: NDArray[np.int64], pixels: NDArray[Any], method: str
) -> pd.DataFrame:
    """Make the rows of k pictures at ``index`` of a view.

    ``pixels`` is k × D, from 0 to 1; others are cut off. ``method`` is what made them.
    """
    assert view.rows is not None
    rows = view.rows[index]
    shape = data.images.shape[1:]
    frame = {
        "method": method,
        "row": rows,
        "label": None if data.labels is None else data.labels[rows],
        "png": [to_png(picture.reshape(shape)) for picture in pixels],
    }
    return pd.DataFrame(frame, columns=_PICTURE_COLUMNS)


def to_png(pixels: NDArray[Any]) -> str:
    """Encode a picture of numbers from 0 to 1, h × w or h × w × 3, as PNG in base64."""
    levels = np.round(255 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(levels).save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode("ascii")


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        errors, pictures = run_part(Experiment(**vars(asked)), data, asked.repeats)
        write_csv(snakemake.output.errors, errors)
        write_csv(snakemake.output.pictures, pictures)
