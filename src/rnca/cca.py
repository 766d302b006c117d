"""Randomized nonlinear canonical correlation analysis (Section 4 of the paper)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca._core.estimators import RowsMixin, check_count, pair, unfitted_copy, warn
from rnca._core.fitting import TwoViewFit, centred_features, check_width, shortened
from rnca._core.moments import Correlations, Moments, crossed, paired
from rnca._core.rows import (
    ComputedRows,
    FloatArray,
    Matrix,
    View,
    check_at_least_two_rows,
    grid,
    rechunk,
    view_of_columns,
)
from rnca._core.spectral import column_signs
from rnca._core.whitening import Factor, Whitened
from rnca.features import FeatureMap
from rnca.inference import PermutationResult, permutation_test
from rnca.regression import FeatureRidge

_ROUNDING = 1e-6
# Independent views show training correlations this large with 20 rows per feature and reg = 0.
_NOISE_LIMIT = 0.43
# Predicted error of the correlations above which a fit warns.
_ERROR_LIMIT = 1e-3


def _has_predictor(model: "RCCA") -> bool:
    if "predictor_" not in vars(model):
        raise AttributeError("call fit_predictor(X, y) first.")
    return True


class RCCA(RowsMixin, TransformerMixin, TwoViewFit, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Canonical correlation analysis of two views on random nonlinear features.

    Linear CCA of z_x(X) and z_y(Y): an approximation of kernel CCA whose cost is linear in the
    number of rows n. Memory does not depend on n: about 24·m² bytes and one chunk of features
    during the pass, 48·m² bytes for the solution.
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
        Type of the features; linear features are always float64. Products and sums are float64.
    verbose : bool, default=False
        Show progress over chunks. On a terminal a pass shows it after ten seconds in any case.

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
        Canonical bases: the canonical variables are ``(z_x(X) − mean_x_) F_``, and likewise for Y.
    conditioning_ : dict
        Per view (``_x``, ``_y``) the ``smallest_pivot`` of the regularised covariance and its
        ``degrees_of_freedom`` tr C(C + reg·I)⁻¹. For both,
        ``predicted_error`` of the correlations: a pivot of p times the variance of its feature
        leaves about 1e-16/p, and one of q times its mean square about u/√(nq), where u is 6e-8
        for float32 features and 1e-16 for float64; and ``noise_level``, the
        largest training correlation that independent views with these degrees of freedom show.
        A fit warns if the error exceeds 1e-3, or the noise level 0.43.
    reg_ : float or pair
        The ``reg`` of the fit.
    moments_ : Moments
        What the pass over the data left; `path` reads it. Not pickled.
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

    _components = "canonical variables"

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
        self.verbose = verbose

    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> Self:
        """Fit to a stream of (x, y) chunks of any lengths, read once.

        The stream's head, its first max(m, chunk_size) rows, gives the pilot means, median kernel
        widths and Nyström landmarks.
        """
        return self._fit_stream(rechunk(chunks, self._head_rows(), "Xy"))

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Add rows to the fit, and solve anew.

        The first call draws the maps from its rows: give it as many rows as features, or more.
        Equals `fit_chunks` if these are its head. Fits by `fit` and `fit_chunks` grow as well.
        Each call costs a solution, m³ steps, and 24·m² bytes for a copy of the moments: if no
        model is needed in between, `fit_chunks` solves once.

        Parameters
        ----------
        X : array-like of shape (rows, p)
        y : array-like of shape (rows, q)
        """
        return self._fit_part(X, y)

    def path(self, sizes: Sequence[Any], regs: Sequence[Any] | None = None) -> list["RCCA"]:
        """Models at smaller m, and other reg, from the pass already made.

        Parameters
        ----------
        sizes : sequence of int or (m_x, m_y) pairs
            Each at most the fitted number of features.
        regs : sequence of float or pairs, optional
            Defaults to ``reg_``. Each costs one factorisation.

        Returns
        -------
        list of RCCA
            Fitted, in the order of ``itertools.product(regs, sizes)``; each equals a separate fit
            with the same ``random_state``.
        """
        check_is_fitted(self, "map_x_")
        self._check_has_moments()
        checked = [self._check_sizes(size) for size in sizes]
        models = []
        for reg in [vars(self).get("reg_", self.reg)] if regs is None else regs:
            both = self._regs(reg)
            whitened = vars(self).get("_whitened_")  # of the fit, unless rows were added since
            if whitened is None or (whitened.n, whitened.regs) != (self.moments_.n, both):
                whitened = Whitened(self.moments_, *both)
            for m_x, m_y in checked:
                model = unfitted_copy(self, keep=("n_features_in_", "feature_names_in_"))
                model.map_x_, model.map_y_ = self.map_x_.prefix(m_x), self.map_y_.prefix(m_y)
                kinds = pair(self.feature_map, "feature_map")
                maps = tuple(map(shortened, kinds, model._maps))
                # Not by set_params, which does not know the parameters behind **kwargs.
                model.reg, model.n_features = reg, (m_x, m_y)
                model.feature_map = kinds[0] if maps == kinds and kinds[0] == kinds[1] else maps
                model._set_from(self.moments_, whitened)
                models.append(model)
        return models

    def transform(self, X: Any, y: Any = None, *, out: Any = None) -> Any:
        """Canonical variables, centred by the training means.

        Parameters
        ----------
        X : array-like of shape (n, p), or None
        y : array-like of shape (n, q), optional
        out : array of shape (n, n_components), or a pair of them if both views are given, optional
            Filled chunk by chunk and returned as it is, so that the result may be a memory map
            beyond the size of memory. A failed call may leave it partly filled.

        Returns
        -------
        ndarray or data frame of shape (n, n_components), or a pair of them if both views are given
        """
        check_is_fitted(self, "correlations_")
        if X is None and y is None:
            raise ValueError("transform needs X, y or both; both are None.")
        out_x, out_y = (out, out) if X is None or y is None else pair(out, "out")
        parts = []
        if X is not None:
            view = self._view_to_use(X, "correlations_")
            variables = self._projected(view, self.map_x_, self.mean_x_, self.F_, out_x)
            parts.append(variables if out is not None else self._in_container(variables, X, "x"))
        if y is not None:
            view = view_of_columns(y, "y")
            variables = self._projected(view, self.map_y_, self.mean_y_, self.G_, out_y)
            parts.append(variables if out is not None else self._in_container(variables, y, "y"))
        return parts[0] if len(parts) == 1 else tuple(parts)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that `transform` returns for either view.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            None leaves it as it is.
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None, view: str = "x") -> Any:
        """Names of the canonical variables of X, ``rcca_x0``, …, or of y for ``view="y"``.

        Parameters
        ----------
        input_features : ignored
        view : {"x", "y"}
        """
        check_is_fitted(self, "correlations_")
        prefix = f"{type(self).__name__.lower()}_{view}"
        return np.array([f"{prefix}{i}" for i in range(self.F_.shape[1])], dtype=object)

    def component_correlations(self, X: Any, y: Any) -> Matrix:
        """Correlation of each pair of canonical variables on the given rows.

        Returns
        -------
        ndarray of shape (n_components,)
            Signed. A variable that is constant on these rows has correlation 0.
        """
        correlations = Correlations()
        for u, v in zip(*self._variables(*self._checked_views(X, y)), strict=True):
            correlations.update(u, v)
        return correlations.values()

    def score(self, X: Any, y: Any) -> float:
        """Sum over components of the absolute correlation on the given rows.

        The paper's figure of merit. Under pure noise each component still adds about √(2/(πn)):
        compare `component_correlations`, which keeps signs.
        """
        return float(np.abs(self.component_correlations(X, y)).sum())

    def loadings(self, X: Any, y: Any) -> tuple[Matrix, Matrix]:
        """Correlation of each original column with each canonical variable of its view.

        Returns
        -------
        ndarray of shape (p, n_components), ndarray of shape (q, n_components)

        Examples
        --------
        >>> import numpy as np
        >>> from rnca import RCCA
        >>> rng = np.random.default_rng(0)
        >>> X, Y = rng.normal(size=(2, 1000, 3))
        >>> Y[:, 2] += 2 * X[:, 0]
        >>> of_x, of_y = RCCA(1, feature_map="linear").fit(X, Y).loadings(X, Y)
        >>> int(abs(of_x[:, 0]).argmax()), int(abs(of_y[:, 0]).argmax())
        (0, 2)
        """
        views = self._checked_views(X, y)
        found = [Correlations(crossed) for _ in views]
        for at, variables in enumerate(self._variables(*views)):
            chunks = grid(0, len(views[at]), self._chunk_size())
            for bounds, u in zip(chunks, variables, strict=True):
                found[at].update(views[at].read(*bounds), u)
        return found[0].values(), found[1].values()

    def fit_predictor(self, X: Any, y: Any, reg: float = 1e-8) -> Self:
        """Fit what `predict` needs: ridge regression of the columns of y on X's variables.

        One more pass, of the features of X alone: the pass of the fit sees the features of y, not
        its columns. The rows need not be those of the fit.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n, q) or (n,)
        reg : float, default=1e-8
            Added to the variances of the canonical variables, which are about 1.
        """
        ridge = FeatureRidge(
            feature_map="linear", reg=reg, chunk_size=self.chunk_size, dtype="float64"
        )
        self.predictor_ = ridge.fit(self._lazy_variables(X), y)
        return self

    @available_if(_has_predictor)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> FloatArray:
        """Predict the other view from X, after `fit_predictor`.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n, q), or (n,) if y in `fit_predictor` was

        Examples
        --------
        >>> import numpy as np
        >>> from rnca import RCCA
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
        >>> Y = np.column_stack([X[:, 0] ** 2, np.sin(3 * X[:, 1])])
        >>> model = RCCA(2, n_features=50, reg=1e-4, random_state=0).fit(X, Y)
        >>> bool(model.fit_predictor(X, Y).prediction_score(X, Y) > 0.9)
        True
        """
        return self.predictor_.predict(self._lazy_variables(X))

    @available_if(_has_predictor)  # type: ignore[untyped-decorator]
    def prediction_score(self, X: Any, y: Any) -> float:
        """Mean over the columns of y of the share R² of variance that `predict` explains."""
        return float(self.predictor_.score(self._lazy_variables(X), y))

    def permutation_test(
        self,
        X: Any,
        y: Any,
        n_permutations: int = 999,
        groups: Any = None,
        random_state: Any = None,
    ) -> PermutationResult:
        """Test each canonical correlation on held-out rows.

        The pairing of the canonical variables of X with those of y is permuted; nothing is fitted
        again. Under the null hypothesis the rows are paired at random. Give rows that had no part
        in the fit, nor in the choice of its settings: on others the p-values mean nothing.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n, q)
        n_permutations : int, default=999
            The smallest p-value is 1 / (1 + n_permutations).
        groups : array-like of shape (n,), optional
            Labels of blocks that are permuted whole, their rows in the order given. Rows of a
            time series depend on each other: without blocks, independent series pass for
            related ones. The test is exact for blocks of one length. Blocks of different lengths
            are joined in random order and shifted circularly, which is nearly exact if they are
            long beside the time over which rows depend on each other: at the level 0.05, AR(1)
            series with coefficient 0.9 gave 0.07 false alarms in blocks of 24 to 76 rows, and
            0.09 in blocks of 5 to 22.
        random_state : int, numpy Generator, numpy RandomState or None

        Returns
        -------
        PermutationResult
        """
        u, v = (np.concatenate(list(z)) for z in self._variables(*self._checked_views(X, y)))
        result = permutation_test(u, v, n_permutations, groups, random_state)
        if len(u) == self.n_samples_ and np.allclose(
            np.abs(result.correlations), self.training_correlations_, rtol=0, atol=_ROUNDING
        ):
            warn(
                f"the {len(u)} rows seem to be those of the fit: their correlations are the "
                "training correlations. The p-values mean nothing; give rows that had no part in "
                "the fit."
            )
        return result

    def _checked_views(self, X: Any, y: Any) -> list[View]:
        check_is_fitted(self, "correlations_")
        views = self._views(X, y)
        validate_data(self, X, reset=False, skip_check_array=True)
        check_at_least_two_rows(len(views[0]), "X")
        return views

    def _variables(self, x: View, y: View) -> tuple[Iterator[Matrix], Iterator[Matrix]]:
        """Canonical variables of each view, chunk by chunk in float64."""
        return (
            self._projected_chunks(x, self.map_x_, self.mean_x_, self.F_),
            self._projected_chunks(y, self.map_y_, self.mean_y_, self.G_),
        )

    def _lazy_variables(self, X: Any) -> ComputedRows:
        """Canonical variables of X as a table, computed when its rows are read."""
        view = self._view_to_use(X, "correlations_")
        check_width(view, self.map_x_)
        basis, mean = self.F_, self.mean_x_
        return ComputedRows(
            view, lambda rows: centred_features(self.map_x_, rows, mean) @ basis, basis.shape[1]
        )

    def _draw_maps(self, *views: View) -> None:
        self._regs(self.reg)
        check_count(self.n_components, "n_components")
        self.map_x_, self.map_y_ = self._fitted_maps(*views)
        self._check_components(None)

    def _set_solution(self, moments: Moments) -> None:
        self._whitened_ = Whitened(moments, *self._regs(self.reg))
        self._set_from(moments, self._whitened_)

    def _set_from(self, moments: Moments, whitened: Whitened) -> None:
        m_x, m_y = (fitted.n_features_out for fitted in self._maps)
        self._check_components(moments.n)
        correlations, F, G = self._canonical(whitened, m_x, m_y)
        signs = column_signs(F)
        self.n_samples_, self.reg_ = moments.n, self.reg
        self.correlations_, self.F_, self.G_ = correlations, F * signs, G * signs
        views = zip(
            (F, G), range(2), (whitened.x, whitened.y), whitened.regs, self._maps, strict=True
        )
        variances = [
            _variances(basis, moments, view, factor, reg, fitted.feature_dtype)
            for basis, view, factor, reg, fitted in views
        ]
        self.training_correlations_ = _training_correlations(correlations, *variances)
        self.mean_x_, self.mean_y_ = moments.mean(0)[:m_x], moments.mean(1)[:m_y]
        self.conditioning_ = _conditioning(self._maps, [whitened.x, whitened.y], moments.n)

    def _canonical(self, whitened: Whitened, m_x: int, m_y: int) -> tuple[Matrix, Matrix, Matrix]:
        """Solve for the correlations and bases; refuse correlations above 1."""
        correlations, F, G = whitened.canonical(m_x, m_y, self.n_components)
        if correlations[0] > 1 + _ROUNDING:
            raise FloatingPointError(
                f"the largest canonical correlation came out as {correlations[0]:.8f}, above 1: "
                f"the covariances are too ill-conditioned for reg={whitened.regs} (smallest pivots "
                f"{whitened.x.pivots[:m_x].min():.1e} and {whitened.y.pivots[:m_y].min():.1e}). "
                'Raise reg, use fewer features, or dtype="float64".'
            )
        return correlations, F, G

    def _warn(self) -> None:
        """Warn of training correlations that overfit, or that rounding has changed."""
        noise, error = (self.conditioning_[name] for name in ("noise_level", "predicted_error"))
        if noise > _NOISE_LIMIT:
            warn(
                f"n_samples={self.n_samples_} is small for {self.F_.shape[0]} and "
                f"{self.G_.shape[0]} features with reg={self.reg}: independent views would show "
                f"training correlations of {noise:.2f}. Judge the fit by `score` on other rows; "
                "raise reg, use fewer features or more rows, or let RCCACV choose. "
                "See docs/own-data.md."
            )
        if error > _ERROR_LIMIT:
            warn(
                f"the covariances are ill-conditioned with reg={self.reg}: the correlations may "
                f'be off by {error:.0e}. Raise reg, use fewer features, or dtype="float64". '
                "See docs/own-data.md."
            )

    def _check_sizes(self, size: Any) -> tuple[int, int]:
        sizes = pair(size, "sizes")
        for m, fitted in zip(sizes, self._maps, strict=True):
            self._check_size(m, fitted)
        return int(sizes[0]), int(sizes[1])

    def _in_container(self, variables: Any, original: Any, view: str) -> Any:
        """Put canonical variables into the container that `set_output` chose."""
        adapter = _get_container_adapter("transform", self)
        if adapter is None:
            return variables
        names = self.get_feature_names_out(view=view)
        return adapter.create_container(variables, original, columns=names)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "correlations_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _conditioning(
    maps: Sequence[FeatureMap], factors: Sequence[Factor], n: int
) -> dict[str, float]:
    """Compute ``conditioning_`` for the leading blocks that the maps describe."""
    found, errors, shares = {}, [], []
    for view, fitted, factor in zip("xy", maps, factors, strict=True):
        m = fitted.n_features_out
        found[f"smallest_pivot_{view}"] = float(factor.pivots[:m].min())
        found[f"degrees_of_freedom_{view}"] = float(factor.degrees_of_freedom[m - 1])
        share = float((factor.pivots[:m] / factor.variances[:m]).min())
        # Covariances are rounded relative to variances, features to their own size.
        rounding = np.finfo(fitted.feature_dtype).eps / 2
        noise = rounding * np.sqrt((factor.squares[:m] / factor.pivots[:m]).max() / n)
        errors += [1e-16 / share, float(noise)]
        shares.append(min(factor.degrees_of_freedom[m - 1] / (n - 1), 1.0))
    found["predicted_error"] = max(errors)
    found["noise_level"] = _noise_level(*shares)
    return found


def _noise_level(a: float, b: float) -> float:
    """Largest correlation of independent views with a and b degrees of freedom per row.

    It is the edge of Wachter's distribution.
    """
    if a + b >= 1:
        return 1.0
    return float(np.sqrt(a + b - 2 * a * b + 2 * np.sqrt(a * b * (1 - a) * (1 - b))))


def _variances(
    basis: Matrix, moments: Moments, view: int, factor: Factor, reg: float, dtype: Any
) -> Matrix:
    """Variances of canonical variables on the training rows, which shrinkage leaves below 1.

    A variable has none if rounding of its features accounts for it.
    """
    variances = 1.0 - reg * paired(basis, basis)  # FᵀCF = I − reg·FᵀF
    cancelled = variances < _ROUNDING
    if cancelled.any():
        m, basis = len(basis), basis[:, cancelled]
        directly = paired(basis, moments.covariance(view, view, m) @ basis)
        rounding = np.finfo(dtype).eps ** 2 + m * np.finfo(np.float64).eps
        squares = factor.squares[:m] @ basis**2
        variances[cancelled] = np.where(directly > rounding * squares, directly, 0.0)
    return variances


def _training_correlations(
    correlations: Matrix, variances_x: Matrix, variances_y: Matrix
) -> Matrix:
    """Undo the shrinkage; 0 where a variable has no variance."""
    norms = np.sqrt(variances_x * variances_y)
    return np.divide(correlations, norms, out=np.zeros_like(norms), where=norms > 0)
