"""Randomized nonlinear canonical correlation analysis (Section 4 of the paper)."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rnca._core import conditioning, fitting
from rnca._core.conditioning import ERROR_LIMIT, NOISE_LIMIT, ROUNDING
from rnca._core.estimators import (
    Labelled,
    RowsMixin,
    check_count,
    check_regs,
    import_pyplot,
    pair,
    warn,
)
from rnca._core.fitting import FeatureFit, Maps
from rnca._core.streaming import centred_features, check_width, projected, projected_chunks
from rnca.features import FeatureMap
from rnca.inference import PermutationResult, binned_means, permutation_test
from rnca.method import Whitened, canonical, whiten_pair
from rnca.moments import Correlations, Moments, crossed
from rnca.regression import FeatureRidge
from rnca.rows import (
    ComputedRows,
    FloatArray,
    Matrix,
    View,
    check_at_least_two_rows,
    grid,
    view_of_columns,
)


def _has_predictor(model: "RCCA") -> bool:
    if "predictor_" not in vars(model):
        raise AttributeError("call fit_predictor(X, y) first.")
    return True


@dataclass(eq=False, repr=False)
class RCCA(RowsMixin, TransformerMixin, FeatureFit, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Canonical correlation analysis of two views on random nonlinear features.

    Linear CCA of z_x(X) and z_y(Y): an approximation of kernel CCA whose cost is linear in the
    number of rows n. Memory does not depend on n: about 24·m² bytes and one chunk of features
    during the pass, 48·m² bytes for the solution.
    ``RCCA(feature_map="linear")`` is linear CCA.

    Parameters
    ----------
    n_components : int, default=50
        Number of canonical variables.
    feature_map : {"fourier", "nystroem", "whitened", "linear", "orthogonal", "fastfood", "qmc"}, \
FeatureMap instance, or a pair, default="fourier"
        The map of both views, or one for each. "whitened" is "nystroem" at the same landmarks,
        times the inverse Cholesky factor of their kernel matrix, in float64: dot products of
        features then approximate the kernel, and are the kernel if every row is a landmark.
    n_features : int or pair, default=1000
        Number of random features m; ignored by linear features.
    gamma : float, "median" or pair, default="median"
        Kernel width of exp(-gamma ‖x − y‖²).
    reg : float or pair, default=1e-8
        Added to the diagonal of the covariance of the unscaled features. It is not the γ that
        Section 4.1 adds to kernel matrices: with Fourier features the two agree for
        reg = γ·m / (2(n − 1)), with whitened ones for reg = γ / (n − 1). Kernel values have no
        unit, linear features have that of the data, and reg that of their variance.
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

    n_components: int = 50
    _: KW_ONLY
    feature_map: Any = "fourier"
    n_features: Any = 1000
    gamma: Any = "median"
    reg: Any = 1e-8
    random_state: Any = None
    chunk_size: int = 2048
    dtype: Any = "float32"
    verbose: bool = False

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
        kinds = pair(self.feature_map, "feature_map")
        models = []
        for reg in [vars(self).get("reg_", self.reg)] if regs is None else regs:
            both = check_regs(reg)
            whitened = vars(self).get("_whitened_")  # of the fit, unless rows were added since
            if whitened is None or self.moments_.n != whitened.n or both != whitened.regs:
                whitened = whiten_pair(self.moments_, *both)
            for m_x, m_y in checked:
                maps = self.map_x_.prefix(m_x), self.map_y_.prefix(m_y)
                model = copy(self)
                # Not by set_params, which does not know the parameters behind **kwargs.
                model.reg, model.n_features = reg, (m_x, m_y)
                short = tuple(map(fitting.shortened, kinds, maps))
                model.feature_map = kinds[0] if short == kinds and kinds[0] == kinds[1] else short
                model._check_components(maps, self.moments_.n)
                model._assign(maps, **model._solve_whitened(maps, self.moments_, whitened))
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
        memory = (out, out) if X is None or y is None else pair(out, "out")
        parts = []
        for side, data, part in zip("xy", (X, y), memory, strict=True):
            if data is not None:
                view, fitted, mean, basis = self._side(side, data)
                variables = projected(fitted, view, mean, basis, self.chunk_size, part)
                labelled = out is None
                parts.append(self._in_container(variables, data, side) if labelled else variables)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that `transform` returns: "default", "pandas" or "polars"."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None, view: str = "x") -> Any:
        """Names of the canonical variables of X, ``rcca_x0``, …, or of y for ``view="y"``."""
        check_is_fitted(self, "correlations_")
        prefix = f"{type(self).__name__.lower()}_{view}"
        return np.array([f"{prefix}{i}" for i in range(self.F_.shape[1])], dtype=object)

    def component_correlations(self, X: Any, y: Any) -> Matrix:
        """Correlation, with its sign, of each pair of canonical variables on the given rows.

        A variable that is constant on these rows has correlation 0.
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

        Of shapes (p, n_components) and (q, n_components).

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
            chunks = grid(0, len(views[at]), self.chunk_size)
            for bounds, u in zip(chunks, variables, strict=True):
                found[at].update(views[at].read(*bounds), u)
        return found[0].values(), found[1].values()

    def plot_columns(
        self, X: Any, y: Any = None, *, component: int = 0, columns: int = 4, axes: Any = None
    ) -> Any:
        """Draw a canonical variable against the columns of its view that explain it best.

        A loading is a linear correlation, and near 0 for a variable that is the square of a
        column. Here columns are ranked by the share of the variable's variance that lies between
        20 bins of the column, less what as many bins explain by chance.

        Parameters
        ----------
        X : array-like of shape (n, p), or None
            4096 of its rows are read, spread evenly.
        y : array-like of shape (n, q), optional
            With X=None, the variable of y is drawn against the columns of y.
        component : int, default=0
        columns : int, default=4
            How many columns to draw, the best first.
        axes : sequence of matplotlib Axes, optional

        Returns
        -------
        ndarray of matplotlib Axes
        """
        pyplot = import_pyplot()
        check_is_fitted(self, "correlations_")
        if (X is None) == (y is None):
            raise ValueError("plot_columns draws one view: give X, or X=None and y.")
        fitted_components = len(self.correlations_)
        if not 0 <= component < fitted_components:
            raise ValueError(
                f"component={component}: the model has components 0 to {fitted_components - 1}."
            )
        name, data = ("x", X) if y is None else ("y", y)
        view, fitted, mean, basis = self._side(name, data)
        check_width(view, fitted)
        rows = view.pilot_rows()
        variable = centred_features(fitted, rows, mean) @ basis[:, component]
        binned = [binned_means(column, variable) for column in rows.T]
        best = sorted(range(len(binned)), key=lambda i: -binned[i].share)
        best = best[: check_count(columns, "columns")]
        if axes is None:
            size = 2.5 * len(best), 2.5
            figure = pyplot.figure(figsize=size, layout="constrained")
            axes = figure.subplots(1, len(best), sharey=True, squeeze=False)[0]
        for ax, column in zip(axes, best, strict=True):
            label = f"column {column}" if view.columns is None else view.columns[column]
            ax.plot(rows[:, column], variable, ".", ms=2, alpha=0.3, color="0.6", rasterized=True)
            ax.plot(binned[column].centres, binned[column].means, color="C0")
            ax.set(xlabel=label, title=f"explains {max(binned[column].share, 0):.0%}")
        axes[0].set_ylabel(self.get_feature_names_out(view=name)[component])
        return axes

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

        Of shape (n, q), or (n,) if y in `fit_predictor` was.

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
        same = np.abs(np.abs(result.correlations) - self.training_correlations_) <= ROUNDING
        if len(u) == self.n_samples_ and same.all():
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
            projected_chunks(self.map_x_, x, self.mean_x_, self.F_, self.chunk_size),
            projected_chunks(self.map_y_, y, self.mean_y_, self.G_, self.chunk_size),
        )

    def _lazy_variables(self, X: Any) -> ComputedRows:
        """Canonical variables of X as a table, computed when its rows are read."""
        view, fitted, mean, basis = self._side("x", X)
        check_width(view, fitted)
        return ComputedRows(
            view, lambda rows: centred_features(fitted, rows, mean) @ basis, basis.shape[1]
        )

    def _side(self, name: str, data: Any) -> tuple[View, FeatureMap, Matrix, Matrix]:
        """Rows of the view x or y, its map, and the mean and basis of its canonical variables."""
        if name == "x":
            return self._view_to_use(data, "correlations_"), self.map_x_, self.mean_x_, self.F_
        return view_of_columns(data, "y"), self.map_y_, self.mean_y_, self.G_

    def _unfitted_maps(self) -> list[FeatureMap]:
        check_regs(self.reg)
        check_count(self.n_components, "n_components")
        return fitting.unfitted_maps(self)

    def _check_components(self, maps: Maps, n: int | None = None) -> None:
        fitting.check_components(self.n_components, "canonical variables", maps, n)

    def _solution(self, maps: Maps, moments: Moments) -> dict[str, Any]:
        whitened = whiten_pair(moments, *check_regs(self.reg))
        return {**self._solve_whitened(maps, moments, whitened), "_whitened_": whitened}

    def _solve_whitened(self, maps: Maps, moments: Moments, whitened: Whitened) -> dict[str, Any]:
        """Solve for the leading features: those of the maps."""
        m_x, m_y = (z.n_features_out for z in maps)
        correlations, F, G = canonical(whitened, m_x, m_y, self.n_components)
        return {
            "correlations_": correlations,
            "F_": F,
            "G_": G,
            "mean_x_": moments.mean(0)[:m_x],
            "mean_y_": moments.mean(1)[:m_y],
            "training_correlations_": conditioning.training_correlations(
                correlations, (F, G), moments, whitened, maps
            ),
            "conditioning_": conditioning.summary(maps, whitened),
            "n_samples_": moments.n,
            "reg_": self.reg,
        }

    def _warn(self) -> None:
        """Warn of training correlations that overfit, or that rounding has changed."""
        noise, error = (self.conditioning_[name] for name in ("noise_level", "predicted_error"))
        if noise > NOISE_LIMIT:
            warn(
                f"n_samples={self.n_samples_} is small for {self.F_.shape[0]} and "
                f"{self.G_.shape[0]} features with reg={self.reg}: independent views would show "
                f"training correlations of {noise:.2f}. Judge the fit by `score` on other rows; "
                "raise reg, use fewer features or more rows, or let RCCACV choose. "
                "See docs/own-data.md."
            )
        if error > ERROR_LIMIT:
            warn(
                f"the covariances are ill-conditioned with reg={self.reg}: the correlations may "
                f'be off by {error:.0e}. Raise reg, use fewer features, or dtype="float64". '
                "See docs/own-data.md."
            )

    def _check_sizes(self, size: Any) -> tuple[int, int]:
        m_x, m_y = map(fitting.check_size, pair(size, "sizes"), self._maps)
        return m_x, m_y

    def _in_container(self, variables: Any, original: Any, view: str) -> Any:
        """Put canonical variables into the container that `set_output` chose."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform")
        labelled = Labelled(self.get_feature_names_out(view=view)).set_output(transform=kind)
        return labelled.transform(original, variables)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "correlations_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
