"""Randomized autoencoders (Section 5.4 of the paper): RPCA encodes, ridge regression decodes."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rnca._core.estimators import RowsTransformer, assign, check_columns, check_count
from rnca.features import FeatureMap, LinearFeatures
from rnca.pca import RPCA
from rnca.regression import FeatureRidge
from rnca.rows import PILOT_ROWS, ComputedRows, FloatArray, Matrix, View, grid
from rnca.seeding import seeds

# Of the largest variance of a component: below it there is nothing but rounding.
_NEGLIGIBLE = 1e-14


@dataclass(eq=False, repr=False)
class RandomizedAutoencoder(RowsTransformer):
    """A nonlinear autoencoder without gradient descent.

    The latent factors of a row are its leading nonlinear principal components (`RPCA`), whitened.
    The row is decoded from them by ridge regression, of all its columns at once, on random
    features of the factors (`rnca.regression.FeatureRidge`). Two passes over the data; memory
    does not depend on the number of rows. With ``feature_map="linear"`` it reconstructs as PCA
    does.

    Parameters
    ----------
    n_components : int, default=20
        Number of latent factors d.
    feature_map : str or FeatureMap instance, default="fourier"
        Of the encoder; names as in `RPCA`.
    n_features : int, default=2000
        Number of the encoder's random features m, more than d; ignored by linear features.
    gamma : float or "median", default="median"
        Kernel width exp(-gamma ‖x − y‖²) of the encoder.
    decoder_feature_map : like ``feature_map``, or None, default=None
        Of the decoder; None takes the encoder's.
    n_decoder_features : int, default=2000
        Number of random features of the latent factors.
    decoder_gamma : float or "median", default="median"
        Kernel width of the decoder. Half of the squared distances between whitened factors lie
        below about 2d.
    linear_part : bool, default=False
        Put the latent factors themselves beside the decoder's random features.
    reg : float, default=1e-8
        Added to the diagonal of the covariance of the decoder's unscaled features: a ridge of λ
        on sums of squares is reg = λ/(n − 1).
    random_state, chunk_size, dtype, verbose
        As in `RCCA`.

    Attributes
    ----------
    encoder_ : RPCA
    scale_ : ndarray
        Standard deviations of the encoder's components: what they are divided by.
    decoder_ : FeatureRidge
    n_components_ : int
        Number of latent factors that the decoder was fitted to.
    n_samples_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import RandomizedAutoencoder
    >>> t = np.random.default_rng(0).uniform(-2, 2, size=(1000, 1))
    >>> X = np.hstack([3 * t, t**2, np.sin(t)])
    >>> model = RandomizedAutoencoder(
    ...     1, n_features=100, gamma=0.02, n_decoder_features=100, random_state=0
    ... )
    >>> pca = RandomizedAutoencoder(1, feature_map="linear")
    >>> bool(model.fit(X).error(X) < pca.fit(X).error(X) / 5)
    True
    """

    n_components: int = 20
    _: KW_ONLY
    feature_map: Any = "fourier"
    n_features: int = 2000
    gamma: float | str = "median"
    decoder_feature_map: Any = None
    n_decoder_features: int = 2000
    decoder_gamma: float | str = "median"
    linear_part: bool = False
    reg: float = 1e-8
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows; y is ignored."""
        encoder = self._fitted_encoder(X)
        decoder = self._fitted_decoder(X, **encoder)
        self._assign(encoder, decoder_=decoder)
        return self

    def fit_encoder(self, X: Any) -> Self:
        """Fit the encoder: first step and first pass of `fit`; the decoder is then to be fitted."""
        self._assign(self._fitted_encoder(X))
        return self

    def fit_decoder(self, X: Any) -> Self:
        """Fit the decoder to the encoder there is: second step and second pass of `fit`.

        The latent factors are nested: after `fit_encoder` at the largest ``n_components``, any
        smaller number of them (and any other setting of the decoder) costs this pass alone.
        """
        self._view_to_use(X, "encoder_")
        kept = ("encoder_", "scale_", "_decoder_seed_", "feature_names_in_")
        encoder = {name: vars(self)[name] for name in kept if name in vars(self)}
        self._assign(encoder, decoder_=self._fitted_decoder(X, **encoder))
        return self

    def _fitted_encoder(self, X: Any) -> dict[str, Any]:
        self._check_bottleneck()
        view = View(X)
        check_columns(self, X)
        of_encoder, of_decoder = seeds(self.random_state, 2)
        encoder = RPCA(
            self.n_components,
            feature_map=self.feature_map,
            n_features=self.n_features,
            gamma=self.gamma,
            random_state=of_encoder,
            **self._shared(),
        )
        variances = encoder.fit(view.data).explained_variance_
        scale = np.sqrt(np.where(variances > _NEGLIGIBLE * variances[0], variances, 1.0))
        # The encoder sees arrays: names are checked here.
        names = {} if view.columns is None else {"feature_names_in_": view.columns}
        return {"encoder_": encoder, "scale_": scale, "_decoder_seed_": of_decoder, **names}

    def _fitted_decoder(
        self, X: Any, encoder_: RPCA, scale_: Matrix, _decoder_seed_: int, **names: Any
    ) -> FeatureRidge:
        for name in ("n_components", "n_decoder_features"):
            check_count(getattr(self, name), name)
        d, most = self.n_components, len(encoder_.components_)
        if d > most:
            raise ValueError(
                f"n_components={d}: the encoder was fitted with {most}. Fit it again with as many."
            )
        view = View(X)
        decoder = self._unfitted_decoder(_decoder_seed_)
        # The decoder's map is drawn from a sample: encoding every row would cost another pass.
        rows = min(len(view), max(PILOT_ROWS, self.n_decoder_features))
        sample = view.take(np.linspace(0, len(view) - 1, rows).astype(np.int64))
        try:
            decoder.draw(_factors(encoder_, scale_[:d], sample), sample)
        except ValueError as error:
            raise ValueError(f"decoder: {error}") from error
        latent = ComputedRows(view, lambda rows: _factors(encoder_, scale_[:d], rows), d)
        return decoder.solve(decoder.accumulate(latent, view.data))

    def _assign(self, encoder: dict[str, Any], **decoder: FeatureRidge) -> None:
        rpca = encoder["encoder_"]
        sizes = {"n_samples_": rpca.n_samples_, "n_components_": self.n_components}
        assign(self, rpca, **encoder, **decoder, **sizes)

    def path(self, regs: Sequence[float]) -> Iterator["RandomizedAutoencoder"]:
        """Yield the models at other ``reg``, each from the passes already made."""
        check_is_fitted(self, "decoder_")
        for decoder in self.decoder_.path(regs):
            model = copy(self).set_params(reg=decoder.reg)
            model.decoder_ = decoder
            yield model

    def transform(self, X: Any) -> FloatArray:
        """Encode rows by latent factors, of shape (n, n_components); `fit_encoder` suffices.

        On the training rows they have mean 0, variance 1 and no correlation.
        """
        view = self._view_to_use(X, "encoder_")
        return self._encode(view.data)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Decode latent factors, of shape (n, n_components), to rows."""
        check_is_fitted(self, "decoder_")
        decoded: FloatArray = self.decoder_.predict(X)
        return decoded

    def error(self, X: Any) -> float:
        """Relative squared error ‖X − R‖²/‖X‖² of the reconstruction R of rows X."""
        view = self._view_to_use(X, "decoder_")
        missed = total = 0.0
        for start, stop in grid(0, len(view), self.chunk_size):
            rows = view.read(start, stop)
            rest = rows.astype(np.float64) - self.decoder_.predict(self._encode(rows))
            missed += float(np.vdot(rest, rest))
            total += float(np.square(rows, dtype=np.float64).sum())
        if total == 0:
            raise ValueError("X is zero everywhere, so that no error can be relative to it.")
        return missed / total

    def score(self, X: Any, y: Any = None) -> float:
        """Return 1 − `error`, so that more is better: what scikit-learn's searches expect."""
        return 1.0 - self.error(X)

    def _check_bottleneck(self) -> None:
        check_count(self.n_components, "n_components")
        kind, m = self.feature_map, self.n_features
        if isinstance(kind, FeatureMap):
            m = kind.n_features
        if kind == "linear" or isinstance(kind, LinearFeatures):
            return
        check_count(m, "n_features")
        if self.n_components >= m:
            raise ValueError(
                f"n_components={self.n_components}: the latent factors must be fewer than the "
                f"encoder's {m} random features. Raise n_features, or lower n_components."
            )

    def _shared(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("chunk_size", "dtype", "verbose")}

    def _unfitted_decoder(self, seed: int) -> FeatureRidge:
        own = self.decoder_feature_map
        return FeatureRidge(
            feature_map=self.feature_map if own is None else own,
            n_features=self.n_decoder_features,
            gamma=self.decoder_gamma,
            linear_part=self.linear_part,
            reg=self.reg,
            random_state=seed,
            **self._shared(),
        )

    def _encode(self, rows: Any) -> FloatArray:
        return _factors(self.encoder_, self.scale_[: self.n_components_], rows)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)


def _factors(encoder: RPCA, scale: Matrix, rows: Any) -> FloatArray:
    """Encode rows by as many latent factors as there are scales."""
    components = encoder.transform(rows)[:, : len(scale)]
    factors: FloatArray = components / scale.astype(components.dtype)
    return factors
