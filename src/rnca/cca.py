"""Randomized nonlinear canonical correlation analysis (Section 4 of the paper)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca._core.fitting import CertifiedFit
from rnca._core.mapping import check_count, pair
from rnca._core.moments import Moments
from rnca._core.rows import View, check_at_least_two_rows, check_pair, rechunk
from rnca._core.spectral import column_signs
from rnca._core.whitening import Matrix, Whitened, whitened_error
from rnca.features import FeatureMap

_ROUNDING = 1e-6
# Standard deviations that rounding gives a constant; canonical variables are of order 1.
_CONSTANT = 1e-12


class RCCA(CertifiedFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Canonical correlation analysis of two views on random nonlinear features.

    Linear CCA of z_x(X) and z_y(Y): an approximation of kernel CCA whose cost is linear in the
    number of rows n, and whose memory, 32·m² bytes and a few chunks, does not depend on it.
    ``RCCA(feature_map="linear")`` is linear CCA.

    Parameters
    ----------
    n_components : int, default=50
        Number of canonical variables.
    feature_map : {"fourier", "nystroem", "linear", "orthogonal", "fastfood", "qmc"}, FeatureMap \
instance, or a pair, default="fourier"
        The map of both views, or one for each.
    n_features : int or pair, default=1000
        Number of random features m; ignored by linear features.
    gamma : float, "median" or pair, default="median"
        Kernel width of exp(-gamma ‖x − y‖²).
    reg : float or pair, default=1e-8
        Added to the diagonal of the covariance of the unscaled features. It is not the γ that
        Section 4.1 adds to kernel matrices: with Fourier features the two agree for
        reg = γ·m / (2(n − 1)). Kernel values have no unit, linear features have that of the data,
        and reg that of their variance.
    random_state : int, numpy Generator, numpy RandomState or None
    chunk_size : int, default=2048
        Rows read, mapped and accumulated at a time.
    dtype : {"float32", "float64"}, default="float32"
        Type of the features.
    accumulation : {"auto", "float64"}, default="auto"
        Type of the products of features in `fit`. "auto" takes float32 products, which are
        faster, where their effect on every correlation, estimated after the fit, stays below
        1e-5. Sums over chunks are in float64 either way, and so are all products in
        `accumulate` and `fit_chunks`.
    verbose : bool, default=False
        Show progress over chunks.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Singular values of the whitened cross-covariance, decreasing. With ``reg`` > 0 they are
        regularised: smaller than the correlations seen on the training rows.
    training_correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of canonical variables on the training rows.
    map_x_, map_y_ : FeatureMap
        The fitted feature maps.
    mean_x_, mean_y_ : ndarray of shape (m,)
        Training means of the features.
    F_, G_ : ndarray of shape (m, n_components)
        Canonical bases: the canonical variables are (z_x(X) − mean_x_) F_ and likewise for Y.
    conditioning_ : dict
        Per view the smallest pivot of the regularised covariance and the effective rank
        (tr C)² / tr C² of the covariance. A pivot p times the variance of its feature leaves
        correlations an error of about 1e-16/p, and of 6e-8/√(np) with float32 features.
    moments_ : Moments
        What the pass over the data left; `path` reads it. Not pickled.
    accumulation_ : {"float32", "float64"}
        What was chosen.
    accumulation_error_ : float
        The estimate: the spectral norm of the error of the whitened covariances, which bounds
        the effect on every correlation. 0 for float64.
    n_samples_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import RCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-2, 2, size=2000)
    >>> X = np.column_stack([t**2, rng.normal(size=2000)])
    >>> Y = np.column_stack([np.sin(3 * t), rng.normal(size=2000)])
    >>> linear = RCCA(1, feature_map="linear").fit(X[:1000], Y[:1000])
    >>> rcca = RCCA(1, n_features=100, reg=1e-3, random_state=0).fit(X[:1000], Y[:1000])
    >>> bool(rcca.score(X[1000:], Y[1000:]) > linear.score(X[1000:], Y[1000:]) + 0.3)
    True
    """

    def __init__(
        self,
        n_components: int = 50,
        *,
        feature_map: Any = "fourier",
        n_features: Any = 1000,
        gamma: Any = "median",
        reg: Any = 1e-8,
        random_state: Any = None,
        chunk_size: int = 2048,
        dtype: Any = "float32",
        accumulation: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.n_features = n_features
        self.gamma = gamma
        self.reg = reg
        self.random_state = random_state
        self.chunk_size = chunk_size
        self.dtype = dtype
        self.accumulation = accumulation
        self.verbose = verbose

    def fit(self, X: Any, Y: Any) -> Self:
        """Fit to two views of the same samples.

        Parameters
        ----------
        X : array-like, memory map or row-sliceable object of shape (n, p)
        Y : likewise, of shape (n, q)

        Returns
        -------
        self
        """
        self.draw(X, Y)
        return self._fit_views([View(X, "X"), View(Y, "Y")])

    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> Self:
        """Fit to a stream of (x, y) chunks of any lengths, read once.

        The stream's head, its first max(m, chunk_size) rows, gives the pilot means, median kernel
        widths and Nyström landmarks.
        """
        stream = rechunk(chunks, self._head_rows(), "XY")
        head = next(stream)
        self.draw(*head)
        return self.solve(self._moments_of_stream(chain([head], stream)))

    def draw(self, X: Any, Y: Any) -> Self:
        """Draw both feature maps (widths, weights, landmarks) without a pass over the data.

        First of the three steps of `fit`, for passes split over processes: every process draws
        the same maps from the same data and an integer ``random_state``.
        """
        self._check_components()
        x, y = View(X, "X"), View(Y, "Y")
        validate_data(self, X, skip_check_array=True)
        check_pair(x, y)
        check_at_least_two_rows(len(x), "X")
        self.map_x_, self.map_y_ = self._fitted_maps(x, y)
        return self

    def accumulate(self, X: Any, Y: Any, start: int = 0, stop: int | None = None) -> Moments:
        """Accumulate the moments of the features of rows ``start:stop``.

        Second step of `fit`. Ranges that `shard_bounds` gives, merged in order,
        agree with one pass.
        """
        check_is_fitted(self, "map_x_")
        x, y = View(X, "X"), View(Y, "Y")
        check_pair(x, y)
        return self._moments_of_rows([x, y], start, stop)

    def solve(self, moments: Moments) -> Self:
        """Solve for the canonical bases: third step of `fit`.

        Parameters
        ----------
        moments : Moments
            Of the maps of this estimator. Kept as ``moments_``.
        """
        check_is_fitted(self, "map_x_")
        self._check_moments(moments)
        self._whitened = None
        self.moments_ = moments
        self._set_solution(moments, self._whiten(*self._regs(self.reg)))
        return self

    def path(self, sizes: Sequence[Any], regs: Sequence[Any] | None = None) -> list["RCCA"]:
        """Models at smaller m, and other reg, from the pass already made.

        Parameters
        ----------
        sizes : sequence of int or (m_x, m_y) pairs
            Each at most the fitted number of features.
        regs : sequence of float or pairs, optional
            Defaults to the fitted ``reg``. Each costs one factorisation.

        Returns
        -------
        list of RCCA
            Fitted, in the order of ``itertools.product(regs, sizes)``; each equals a separate fit
            with the same ``random_state``.
        """
        return list(self.iterate_path(sizes, regs))

    def iterate_path(
        self, sizes: Sequence[Any], regs: Sequence[Any] | None = None
    ) -> Iterator["RCCA"]:
        """Yield the models of `path` one by one."""
        check_is_fitted(self, "map_x_")
        self._check_has_moments()
        checked = [self._check_sizes(size) for size in sizes]
        for reg, (m_x, m_y) in product([self.reg] if regs is None else regs, checked):
            model = RCCA(**{**self.get_params(deep=False), "reg": reg, "n_features": (m_x, m_y)})
            self._hand_on_columns(model)
            model.map_x_, model.map_y_ = self.map_x_.prefix(m_x), self.map_y_.prefix(m_y)
            model._set_solution(self.moments_, self._whiten(*self._regs(reg)))
            model._inherit_certificate(self)
            yield model

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Canonical variables, centred by the training means.

        Parameters
        ----------
        X : array-like of shape (n, p), or None
        Y : array-like of shape (n, q), optional

        Returns
        -------
        ndarray of shape (n, n_components), or a pair of them if both views are given
        """
        check_is_fitted(self, "correlations_")
        if X is None and Y is None:
            raise ValueError("transform needs X, Y or both; both are None.")
        views = [None if X is None else View(X, "X"), None if Y is None else View(Y, "Y")]
        if X is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
        parts = [
            self._projected(view, fitted, mean, basis)
            for view, fitted, mean, basis in (
                (views[0], self.map_x_, self.mean_x_, self.F_),
                (views[1], self.map_y_, self.mean_y_, self.G_),
            )
            if view is not None
        ]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def component_correlations(self, X: Any, Y: Any) -> npt.NDArray[np.float64]:
        """Correlation of each pair of canonical variables on the given rows.

        Returns
        -------
        ndarray of shape (n_components,)
            Signed. A variable that is constant on these rows has correlation 0.
        """
        check_is_fitted(self, "correlations_")
        x, y = View(X, "X"), View(Y, "Y")
        check_pair(x, y)
        check_at_least_two_rows(len(x), "X")
        moments = Moments(self.F_.shape[1], self.G_.shape[1])
        projected_x = self._projected_chunks(x, self.map_x_, self.mean_x_, self.F_)
        projected_y = self._projected_chunks(y, self.map_y_, self.mean_y_, self.G_)
        for zx, zy in zip(projected_x, projected_y, strict=True):
            moments.update(zx, zy)
        return paired_correlations(moments)

    def score(self, X: Any, Y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows.

        The paper's figure of merit. Under pure noise each component still adds about √(2/(πn)):
        compare `component_correlations`, which keeps signs.
        """
        return float(np.abs(self.component_correlations(X, Y)).sum())

    def _set_solution(self, moments: Moments, whitened: Whitened) -> None:
        m_x, m_y = (fitted.n_features_out for fitted in self._maps)
        self.n_samples_ = moments.n
        k = self.n_components
        most = min(m_x, m_y, self.n_samples_ - 1)
        if k > most:
            raise ValueError(
                f"n_components={k}: with {m_x} and {m_y} features and n_samples = "
                f"{self.n_samples_} there are at most {most} canonical variables."
            )
        correlations, F, G = whitened.canonical(m_x, m_y, k)
        if correlations[0] > 1 + _ROUNDING:
            raise FloatingPointError(
                f"the largest canonical correlation came out as {correlations[0]:.8f}, above 1: "
                f"the covariances are too ill-conditioned for reg={self.reg} (smallest pivots "
                f"{whitened.x.pivots[:m_x].min():.1e} and {whitened.y.pivots[:m_y].min():.1e}). "
                'Raise reg, use fewer features, or dtype="float64".'
            )
        signs = column_signs(F)
        self.correlations_, self.F_, self.G_ = correlations, F * signs, G * signs
        self.training_correlations_ = _training_correlations(self, *whitened.regs)
        self.mean_x_, self.mean_y_ = moments.mean("x")[:m_x], moments.mean("y")[:m_y]
        self.accumulation_ = "float64" if moments.error is None else "float32"
        self.accumulation_error_ = 0.0 if moments.error is None else np.inf
        self.conditioning_ = {
            f"{what}_{view}": float(value)
            for view, factor, m in (("x", whitened.x, m_x), ("y", whitened.y, m_y))
            for what, value in (
                ("smallest_pivot", factor.pivots[:m].min()),
                ("effective_rank", factor.effective_ranks[m - 1]),
            )
        }

    _whitened: Whitened | None = None

    def _whiten(self, reg_x: float, reg_y: float) -> Whitened:
        if self._whitened is None or not self._whitened.holds(self.moments_, reg_x, reg_y):
            self._whitened = None  # frees D before the next one is made
            self._whitened = Whitened(self.moments_, reg_x, reg_y)
        return self._whitened

    def _check_sizes(self, size: Any) -> tuple[int, int]:
        sizes = pair(size, "sizes")
        for m, fitted in zip(sizes, self._maps, strict=True):
            self._check_size(m, fitted)
        return int(sizes[0]), int(sizes[1])

    def _check_components(self) -> None:
        check_count(self.n_components, "n_components")
        self._regs(self.reg)

    def _float32_error(self, exact_times: Callable[[Matrix], Matrix]) -> float:
        whitened = self._whiten(*self._regs(self.reg))
        return whitened_error(self.moments_, [whitened.x, whitened.y], exact_times)

    def _inherit_certificate(self, fitted: "RCCA") -> None:
        """Take over what was shown at the full m: it holds for leading blocks and larger reg."""
        if self.accumulation_ == "float64":
            return
        regs = zip(self._regs(self.reg), self._regs(fitted.reg), strict=True)
        if any(own < shown for own, shown in regs):
            raise ValueError(
                f"reg={self.reg!r} in regs: the fit took float32 products, which were shown to do "
                f"for reg={fitted.reg!r} or more. Fit with the smallest reg, or with "
                'accumulation="float64".'
            )
        self.accumulation_error_ = fitted.accumulation_error_

    def _adopt(self, maps: Sequence[FeatureMap]) -> None:
        self.map_x_, self.map_y_ = maps

    @property
    def _maps(self) -> list[FeatureMap]:
        return [self.map_x_, self.map_y_]

    @property
    def _n_features_out(self) -> int:
        return int(self.F_.shape[1])


def paired_correlations(moments: Moments) -> npt.NDArray[np.float64]:
    """Correlation of each feature of the first view with its counterpart in the second.

    Returns
    -------
    ndarray of shape (m,)
        Signed; 0 where either is constant.
    """
    covariance = moments.covariance("xy").diagonal()
    variances = [moments.covariance(view * 2).diagonal() for view in "xy"]
    varies = [
        variance > _CONSTANT**2 * (1 + moments.mean(view) ** 2)
        for variance, view in zip(variances, "xy", strict=True)
    ]
    correlations: npt.NDArray[np.float64] = np.divide(
        covariance,
        np.sqrt(np.abs(variances[0] * variances[1])),
        out=np.zeros(len(covariance)),
        where=varies[0] & varies[1],
    )
    return correlations


def _training_correlations(model: RCCA, reg_x: float, reg_y: float) -> npt.NDArray[np.float64]:
    """Undo the shrinkage: FᵀCxxF = I − reg·FᵀF is the canonical variables' true variance."""
    variance_x = 1.0 - reg_x * np.einsum("ij,ij->j", model.F_, model.F_)
    variance_y = 1.0 - reg_y * np.einsum("ij,ij->j", model.G_, model.G_)
    # A variable that lies in the null space up to rounding has no variance to speak of.
    defined = (variance_x > _ROUNDING) & (variance_y > _ROUNDING)
    norm = np.sqrt(np.where(defined, variance_x * variance_y, 1.0))
    correlations: npt.NDArray[np.float64] = np.where(defined, model.correlations_ / norm, 0.0)
    return correlations
