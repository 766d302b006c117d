"""Stage rpca: RPCA against exact kernel PCA and linear PCA, and RCCA likewise, on a few rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from tqdm import tqdm

from rnca.cca import RCCA
from rnca.features import FeatureMap, FourierFeatures, NystroemFeatures, median_gamma
from rnca.pca import RPCA
from workflow.data.prepared import Prepared
from workflow.lib.exact import KCCA, centred_kernel, kernel_cca, kernel_pca
from workflow.lib.job import job
from workflow.lib.provenance import read_prepared, write_csv
from workflow.lib.seeding import derived_seed

MAPS = ("fourier", "nystroem")
# Components that a scatter plot shows, and the rows it shows them of.
SHOWN_COMPONENTS = 2
SHOWN_ROWS = 600

# Of an operator norm, relative: an error needs no more digits.
_NORM_TOLERANCE = 1e-4

Rows = npt.NDArray[Any]
Matrix = npt.NDArray[np.float64]
Record = dict[str, Any]
Member = tuple[int, Record, list[Record], Matrix | None]


class Comparison(SimpleNamespace):
    """One comparison with an exact kernel method.

    Its attributes are the settings of ``pca`` or ``cca``, with ``analysis``, which of the two, and
    ``name`` and ``seed`` of the experiment and the run.
    """

    def derived(self, *purpose: str | int) -> int:
        """Return the seed of one purpose."""
        return derived_seed(self.seed, "rpca", self.name, self.analysis, *purpose)

    def width(self, view: Rows, name: str) -> float:
        """Return the kernel width of a view."""
        return kernel_width(self.gamma, view, self.derived("gamma", name))


class Outcome(NamedTuple):
    """What a comparison yields.

    ``errors`` are distances from the exact solution. ``merits`` say how good the components are by
    a figure that needs no exact solution. ``scores`` are the first two principal components of some
    rows, none for CCA.
    """

    errors: pd.DataFrame
    merits: pd.DataFrame
    scores: pd.DataFrame


def compare(comparison: Comparison, data: Prepared) -> Outcome:
    """Compare randomized fits at every m, and the linear method, with the exact kernel method."""
    problem = _PROBLEMS[comparison.analysis](comparison, data)
    errors: list[Record] = []
    merits, scores = problem.references()
    fits = list(product(range(comparison.repeats), MAPS))
    for repeat, name in tqdm(fits, desc=f"{comparison.name}, {comparison.analysis}"):
        for m, error, merit, components in problem.members(name, comparison.derived(name, repeat)):
            fit = {"method": name, "m": m, "repeat": repeat}
            errors.append(fit | error)
            merits += [fit | each for each in merit]
            if repeat == 0 and m == max(comparison.features):
                scores += problem.shown(name, m, components)
    labels = {"analysis": comparison.analysis}
    sizes = {"n": comparison.rows, "components": comparison.components}
    return Outcome(
        labelled(errors, labels | sizes), labelled(merits, labels), labelled(scores, labels)
    )


def labelled(records: list[Record], labels: Record) -> pd.DataFrame:
    """Make a frame of records, each with the same labels in front."""
    frame = pd.DataFrame(records)
    return frame.assign(**labels)[[*labels, *frame.columns]]


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Put the outcomes of several comparisons into one."""
    return Outcome(
        *(
            pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
            for frames in zip(*outcomes, strict=True)
        )
    )


def table(data: Prepared) -> Rows:
    """Return what PCA is made of: whole pictures, a row each, or the first view."""
    if "images" in data.arrays:
        return data.images.reshape(data.n_rows, -1)
    return data.x


def kernel_map(name: str, m: int, gamma: float) -> FeatureMap:
    """Build an unfitted map of which dot products estimate the Gaussian kernel."""
    if name == "fourier":
        return FourierFeatures(m, gamma=gamma)
    return NystroemFeatures(m, gamma=gamma, whiten=True)


def kernel_scale(name: str, m: int) -> float:
    """Return the factor c for which c·z(x)ᵀz(y), with the features of `kernel_map`, estimates k."""
    return 2.0 / m if name == "fourier" else 1.0


def kernel_width(gamma: float | str, view: Rows, seed: int) -> float:
    """Return the kernel width: the one given, or that of the median heuristic."""
    return median_gamma(view, random_state=seed) if gamma == "median" else float(gamma)


def matched_reg(reg: float, name: str, m: int, n: int) -> float:
    """Return what to add to covariances C where kernel CCA adds ``reg`` to kernel matrices.

    The estimate of the centred kernel matrix has the eigenvalues of `kernel_scale`·(n − 1)·C.
    """
    return reg / (kernel_scale(name, m) * (n - 1))


def relative_error(found: npt.ArrayLike, exact: npt.ArrayLike) -> float:
    """Return ‖found − exact‖ / ‖exact‖ of two lists of values in the same order."""
    found, exact = np.asarray(found), np.asarray(exact)
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def principal_angles(found: Matrix, exact: Matrix) -> tuple[float, float]:
    """Return the largest and the mean angle between the spans of n × k matrices, in degrees.

    The largest is 90 as soon as one direction of the one is missing from the other, which takes no
    more than two nearly equal eigenvalues at the cut; the mean is more forgiving.
    """
    angles = np.degrees(scipy.linalg.subspace_angles(found, exact))
    return float(angles.max()), float(angles.mean())


def captured(scores: Matrix, K: Matrix, exact: Matrix) -> float:
    """Return the share of the leading eigenvalues' sum that the span of ``scores`` holds.

    At most 1, and 1 for the exact components. Unlike an angle it does not suffer from nearly equal
    eigenvalues. ``K`` is the centred kernel matrix, ``exact`` has its k leading eigenvalues.
    """
    Q = scipy.linalg.orth(scores)
    return float(np.einsum("ij,ij->", Q, K @ Q) / np.sum(exact))


def relative_kernel_error(z: Matrix, scale: float, K: Matrix, norm: float) -> float:
    """Return ‖scale·zzᵀ − K‖ / ‖K‖ in operator norm, without forming zzᵀ.

    ``z`` are centred features, n × m, ``K`` is the centred kernel matrix and ``norm`` its norm.
    """
    return operator_norm(lambda v: scale * (z @ (z.T @ v)) - K @ v, len(K)) / norm


def operator_norm(product: Callable[[Matrix], Matrix], n: int) -> float:
    """Return the norm of a symmetric n × n matrix given by its products, by Lanczos iteration."""
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    values = eigsh(operator, 1, tol=_NORM_TOLERANCE, v0=start, return_eigenvectors=False)
    return float(np.abs(values[0]))


class _Problem(ABC):
    """An exact solution, and randomized ones to measure against it."""

    def __init__(self, comparison: Comparison, data: Prepared) -> None:
        self.comparison = comparison
        self.k = comparison.components
        if comparison.rows > data.n_rows:
            raise ValueError(
                f"rows={comparison.rows} of experiment {comparison.name}: {data.name} has "
                f"{data.n_rows} rows. Ask for no more."
            )
        drawn = np.random.default_rng(comparison.derived("rows")).permutation(data.n_rows)
        self.chosen, self.others = np.split(drawn, [comparison.rows])

    @abstractmethod
    def references(self) -> tuple[list[Record], list[Record]]:
        """Return merits and shown scores of the linear and of the exact method."""

    @abstractmethod
    def members(self, name: str, seed: int) -> Iterator[Member]:
        """Fit with one draw of a map and yield m, errors, merits and components at every m."""

    def shown(self, name: str, m: int, scores: Any) -> list[Record]:
        """Return what a plot shows of the scores; nothing by default."""
        return []


class _PcaProblem(_Problem):
    """Kernel PCA of a table with labels; its merit is how well a line tells classes apart."""

    def __init__(self, comparison: Comparison, data: Prepared) -> None:
        super().__init__(comparison, data)
        self.X = table(data)[self.chosen]
        self.labels = data.need("labels")[self.chosen]
        self.gamma = comparison.width(self.X, "x")
        self.K = centred_kernel(self.X, self.gamma)
        self.exact = kernel_pca(self.X, self.k, gamma=self.gamma, solver="leading")

    def references(self) -> tuple[list[Record], list[Record]]:
        n, columns = self.X.shape
        linear = RPCA(min(self.k, columns), feature_map="linear", dtype="float64")
        merits: list[Record] = []
        scores: list[Record] = []
        for method, m, components in (
            ("linear", columns, linear.fit_transform(self.X)),
            ("exact", n, self.exact.scores),
        ):
            fit = {"method": method, "m": m, "repeat": 0}
            merits += [fit | merit for merit in self._accuracies(components)]
            scores += self.shown(method, m, components)
        return merits, scores

    def members(self, name: str, seed: int) -> Iterator[Member]:
        sizes = self.comparison.features
        features = kernel_map(name, max(sizes), self.gamma)
        model = RPCA(self.k, feature_map=features, random_state=seed, dtype="float64").fit(self.X)
        z = model.map_.transform(self.X) - model.mean_
        for member in model.path(sizes):
            m = member.map_.n_features_out
            scale = kernel_scale(name, m)
            scores = np.sqrt(scale) * member.transform(self.X)
            eigenvalues = scale * (len(self.X) - 1) * member.explained_variance_
            largest, mean = principal_angles(scores, self.exact.scores)
            errors = {
                "value_error": relative_error(eigenvalues, self.exact.eigenvalues),
                "largest_angle": largest,
                "mean_angle": mean,
                "kernel_error": relative_kernel_error(
                    z[:, :m], scale, self.K, self.exact.eigenvalues[0]
                ),
                "captured": captured(scores, self.K, self.exact.eigenvalues),
            }
            yield m, errors, self._accuracies(scores), scores

    def shown(self, name: str, m: int, scores: Any) -> list[Record]:
        """Return the first components, turned by their signs towards the exact ones."""
        exact = self.exact.scores[:, :SHOWN_COMPONENTS]
        signs = np.sign(np.einsum("ij,ij->j", scores[:, :SHOWN_COMPONENTS], exact))
        first = scores[:SHOWN_ROWS, :SHOWN_COMPONENTS] * signs
        return [
            {"method": name, "m": m, "label": label, "component_1": one, "component_2": two}
            for label, (one, two) in zip(self.labels.tolist(), first.tolist(), strict=False)
        ]

    def _accuracies(self, components: Any) -> list[Record]:
        """Accuracy on one half of the rows of a linear discriminant fitted to the other half."""
        half = len(components) // 2
        accuracies = []
        for k in sorted({SHOWN_COMPONENTS, components.shape[1]}):
            first = components[:, :k]
            classifier = LinearDiscriminantAnalysis().fit(first[:half], self.labels[:half])
            merit = classifier.score(first[half:], self.labels[half:])
            accuracies.append({"components": k, "merit": merit})
        return accuracies


class _CcaProblem(_Problem):
    """Kernel CCA of two views; its merit is the sum of correlations on other rows."""

    def __init__(self, comparison: Comparison, data: Prepared) -> None:
        super().__init__(comparison, data)
        if not len(self.others):
            raise ValueError(
                f"rows={comparison.rows} of experiment {comparison.name} are all rows of "
                f"{data.name}: leave some to test on."
            )
        self.views = data.x[self.chosen], data.y[self.chosen]
        others = self.others[: comparison.rows]
        self.test = data.x[others], data.y[others]
        self.gammas = tuple(
            comparison.width(view, name) for view, name in zip(self.views, "xy", strict=True)
        )
        self.kernels = tuple(map(centred_kernel, self.views, self.gammas))
        self.norms = [operator_norm(K.__matmul__, len(K)) for K in self.kernels]
        self.exact = kernel_cca(*self.views, self.k, gamma=self.gammas, reg=comparison.reg)

    def references(self) -> tuple[list[Record], list[Record]]:
        n, columns = len(self.views[0]), min(view.shape[1] for view in self.views)
        linear = RCCA(
            min(self.k, columns), feature_map="linear", reg=self._linear_regs(), dtype="float64"
        )
        seed = self.comparison.derived("exact")
        # `kernel_cca` has no variables for new rows.
        exact = KCCA(self.k, gamma=self.gammas, reg=self.comparison.reg, seed=seed)
        merits = [
            {"method": method, "m": m, "repeat": 0, **self._merit(model.fit(*self.views))}
            for method, m, model in (("linear", columns, linear), ("exact", n, exact))
        ]
        return merits, []

    def members(self, name: str, seed: int) -> Iterator[Member]:
        largest_m = max(self.comparison.features)
        maps = tuple(kernel_map(name, largest_m, gamma) for gamma in self.gammas)
        reg = self._reg(name, largest_m)
        model = RCCA(self.k, feature_map=maps, reg=reg, random_state=seed, dtype="float64")
        model.fit(*self.views)
        z = [
            model.map_x_.transform(self.views[0]) - model.mean_x_,
            model.map_y_.transform(self.views[1]) - model.mean_y_,
        ]
        for m in self.comparison.features:
            scale = kernel_scale(name, m)
            (member,) = model.path([m], [self._reg(name, m)])
            exact = self.exact.x_variables, self.exact.y_variables
            angles = map(principal_angles, member.transform(*self.views), exact)
            largest, mean = map(max, zip(*angles, strict=True))
            errors = {
                "value_error": relative_error(member.correlations_, self.exact.correlations),
                "largest_angle": largest,
                "mean_angle": mean,
                "kernel_error": max(
                    relative_kernel_error(each[:, :m], scale, K, norm)
                    for each, K, norm in zip(z, self.kernels, self.norms, strict=True)
                ),
            }
            yield m, errors, [self._merit(member)], None

    def _linear_regs(self) -> tuple[float, ...]:
        """Return the same share of each view's variance that kernel CCA adds to its kernels'.

        Without it linear CCA of hundreds of columns overfits so few rows, and beating it is easy.
        """
        variances = [view.var(axis=0, dtype=np.float64).sum() for view in self.views]
        return tuple(
            float(self.comparison.reg * variance / K.trace())
            for variance, K in zip(variances, self.kernels, strict=True)
        )

    def _reg(self, name: str, m: int) -> float:
        return matched_reg(self.comparison.reg, name, m, len(self.views[0]))

    def _merit(self, model: RCCA | KCCA) -> Record:
        return {"components": model.n_components, "merit": model.score(*self.test)}


_PROBLEMS: dict[str, type[_Problem]] = {"pca": _PcaProblem, "cca": _CcaProblem}


if __name__ == "__main__":
    with job(snakemake) as asked:
        data = read_prepared(snakemake.input.data)
        run = {"name": asked.name, "seed": asked.seed}
        outcome = joined([compare(Comparison(**each, **run), data) for each in asked.comparisons])
        for what, frame in outcome._asdict().items():
            write_csv(snakemake.output[what], frame)
