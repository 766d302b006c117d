"""Tables of the grid of m and reg: sums, overfitting and its forecast; and linear CCA, tuned."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow.lib.tables import (
    MAP_NAMES,
    beside_published,
    fitted_exponent,
    half_width,
    number,
    span,
)
from workflow.stages.rcca.table1 import rcca_summary
from workflow.stages.rcca.tables import (
    FIT,
    Block,
    Columns,
    Series,
    Titles,
    block,
    by_experiment,
    counted,
    spread,
    text,
    value,
)

_FIT = ["experiment", "feature_map", "m", "reg"]
GRID_COLUMNS = (
    *_FIT, "dataset", "repeat", "pairing", "components", "n_train", "n_test", "train_sum",
    "tune_sum", "test_sum", "degrees_of_freedom_x", "degrees_of_freedom_y", "noise_level",
)  # fmt: skip
PREDICTORS = ["effective_dimension", "m_over_n"]
OVERFITTING_COLUMNS = [
    "dataset", "feature_map", "predictor", "fits", "gap_max", "spearman", "spearman_low",
    "spearman_high", "better", "better_low", "better_high", "transfer_error", "transfer_error_low",
    "transfer_error_high", "forecast_error", "excess",
]  # fmt: skip
_SAMPLES = 500
LINEAR_COLUMNS = (*GRID_COLUMNS, "tuned", "on_edge")


def completed(grid: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that grids once had not: they were fitted to the pairs of the data alone."""
    defaults: dict[str, Any] = dict.fromkeys(GRID_COLUMNS, np.nan) | {"pairing": "paired"}
    return grid.assign(**{name: defaults[name] for name in defaults if name not in grid})


def related(grid: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are fitted to the pairs of the data."""
    return grid[grid["pairing"] == "paired"]


def by_reg(
    sums: pd.DataFrame, grid: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Summarise the grid beside the paper's numbers; the fixed reg's rows are those of Table 1."""
    own, known = related(grid), pd.MultiIndex.from_frame(sums[["experiment", "reg"]])
    others = own[~pd.MultiIndex.from_frame(own[["experiment", "reg"]]).isin(known)]
    both = pd.concat([sums[sums["experiment"].isin(grid["experiment"])], others])
    found = [rcca_summary(rows).assign(reg=reg) for reg, rows in both.groupby("reg")]
    found = found or [rcca_summary(both).assign(reg=None)]  # where nothing was run
    return beside_published(pd.concat(found, ignore_index=True), published, experiments)


def nearest_reg(found: pd.DataFrame, fixed: Mapping[str, float]) -> pd.DataFrame:
    """Return the rows of `by_reg` at the reg, not the fixed one, that is nearest to the paper."""
    rows = found[found["reg"] != found["experiment"].astype(object).map(fixed)]
    rows = rows.dropna(subset="difference")
    if not len(rows):
        return rows
    distance = rows["difference"].abs().groupby(rows["reg"]).mean()
    return rows[rows["reg"] == distance.idxmin()]


def reg_blocks(found: pd.DataFrame, titles: Titles) -> list[Block]:
    """Lay out `by_reg`: a line per method and m, a column per reg, the best in bold."""
    blocks = []
    for name, rows in found.groupby("experiment", sort=False, observed=True):
        keys = ["feature_map", "m", "paper"]
        best = rows.groupby(keys, observed=True, dropna=False)["test_mean"].transform("max")
        cells = [
            _with_difference(row, row["test_mean"] == top)
            for row, top in zip(rows.to_dict("records"), best, strict=True)
        ]
        wide = rows.assign(test=cells).pivot(index=keys, columns="reg", values="test")
        wide = wide.rename(columns="reg = {:g}".format)
        columns = FIT | {"paper": value("paper")} | {str(reg): text(str(reg)) for reg in wide}
        title, less = titles[str(name)], "test, mean over repeats (less the paper's)"
        blocks.append(block(title, less, columns, wide.reset_index()))
    return blocks


def _with_difference(row: Any, is_best: bool) -> str:
    test = number(row["test_mean"], ".2f")
    test = f"**{test}**" if is_best else test
    return test if pd.isna(row["difference"]) else f"{test} ({row['difference']:+.2f})"


def linear_summary(
    linear: pd.DataFrame, published: pd.DataFrame, experiments: Collection[str]
) -> pd.DataFrame:
    """Compare linear CCA with reg chosen on tuning rows and with the fixed one, over splits.

    ``difference`` is the mean less the paper's, with the 95 % interval of the mean (Student's);
    ``on_edge`` tells whether the least or the largest reg was chosen in a split.
    """
    found = linear.groupby(["experiment", "tuned"], sort=False).agg(
        dataset=("dataset", "first"),
        feature_map=("feature_map", "first"),
        components=("components", "first"),
        n_train=("n_train", "first"),
        repeats=("repeat", "nunique"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        test_min=("test_sum", "min"),
        reg_min=("reg", "min"),
        reg_max=("reg", "max"),
        on_edge=("on_edge", "any"),
    )
    found = beside_published(found.reset_index(), published, experiments)
    half = half_width(found["test_sd"] / np.sqrt(found["repeats"]), found["repeats"] - 1)
    low, high = found["difference"] - half, found["difference"] + half
    return found.assign(difference_low=low, difference_high=high)


def tuning(is_tuned: bool) -> str:
    """Say how reg was set."""
    return "tuned" if is_tuned else "untuned"


def linear_blocks(found: pd.DataFrame, not_run: Mapping[str, str], titles: Titles) -> list[Block]:
    """Lay out `linear_summary`, one block per experiment."""
    columns: Columns = {
        "linear CCA": lambda row: tuning(row["tuned"]),
        "reg": lambda row: span([row["reg_min"], row["reg_max"]], "g"),
        "test": spread("test"),
        "least": value("test_min"),
        "paper": value("paper"),
        "difference [95 %]": lambda row: (
            "–"
            if pd.isna(row["difference"])
            else f"{row['difference']:+.2f} "
            f"[{row['difference_low']:.2f}, {row['difference_high']:.2f}]"
        ),
    }

    def made(name: str, title: str) -> Block:
        rows = found[found["experiment"] == name]
        splits = counted(rows["repeats"].max(), "split")
        return block(
            title, f"sum of test correlations, mean ± deviation over {splits}", columns, rows
        )

    return by_experiment(titles, not_run, made)


def gaps(grid: pd.DataFrame, series: Series) -> pd.DataFrame:
    """Give each fit of the grid its gap between training and test rows, and what may foretell it.

    ``gap`` is per component. ``effective_dimension`` are the degrees of freedom of both views over
    those of the rows, ``m_over_n`` the features of both views over them. ``expected`` is the test
    sum that `expected_correlation` makes of the training sum. ``data`` names what is pooled: the
    dataset, or dataset and protocol of a series.
    """
    rows = grid.dropna(subset=["train_sum", "test_sum"])
    freedom, k = rows["n_train"] - 1, rows["components"]
    shares = [rows[f"degrees_of_freedom_{view}"] / freedom for view in "xy"]
    pooled = {name: f"{of['paper'] or of['name']}-{of['protocol']}" for name, of in series.items()}
    labels = rows["experiment"], rows["dataset"]
    return rows.assign(
        data=[pooled.get(name, data) for name, data in zip(*labels, strict=True)],
        gap=(rows["train_sum"] - rows["test_sum"]) / k,
        effective_dimension=shares[0] + shares[1],
        m_over_n=2 * rows["m"] / freedom,
        expected=expected_correlation(rows["train_sum"] / k, *shares) * k,
    )


def overfitting(found: pd.DataFrame) -> pd.DataFrame:
    """Say how well either predictor foretells `gaps`, by data and map, and for all random maps.

    ``spearman`` is the rank correlation over m, reg and splits, ``better`` the same less that of
    m/n, both with a 95 % interval by bootstrap over splits, folds and speakers. For all maps a law
    gap = c·predictor^p is fitted to the first data, and ``transfer_error`` is its median error on
    others, relative to the gap. ``forecast_error`` is that of ``expected``, per component, and
    ``excess`` the largest training correlation of unrelated pairs, a mean over components, over the
    noise level.
    """
    random = found[found["feature_map"] != "linear"].assign(feature_map="all")
    rows = []
    laws: dict[str, Any] = {}
    for (data, kind), fits in pd.concat([found, random]).groupby(
        ["data", "feature_map"], sort=False
    ):
        own, unrelated = related(fits), fits[fits["pairing"] == "permuted"]
        noise = unrelated["train_sum"] / unrelated["components"] / unrelated["noise_level"]
        off = (own["expected"] - own["test_sum"]).abs() / own["components"]
        ranks = _by_bootstrap(own, _ranks, PREDICTORS)
        for at, predictor in enumerate(PREDICTORS):
            row = {"dataset": data, "feature_map": kind, "predictor": predictor, "fits": len(own)}
            row |= {
                "gap_max": own["gap"].max(),
                "forecast_error": off.mean(),
                "excess": noise.max(),
            }
            row |= _interval("spearman", ranks[:, at])
            row |= _interval("better", ranks[:, at] - ranks[:, PREDICTORS.index("m_over_n")])
            if kind == "all":
                law = laws.setdefault(predictor, (data, _law(own, predictor)))
                if law[0] != data:
                    errors = _by_bootstrap(own, _error, law[1], predictor)
                    row |= _interval("transfer_error", errors[:, 0])
            rows.append(row)
    return pd.DataFrame(rows, columns=OVERFITTING_COLUMNS)


def _ranks(rows: pd.DataFrame, predictors: Sequence[str]) -> list[float]:
    """Return Spearman's correlation of the gap with each predictor."""
    ranked = rows[["gap", *predictors]].rank()
    return [float(ranked["gap"].corr(ranked[name])) for name in predictors]


def _law(rows: pd.DataFrame, predictor: str) -> npt.NDArray[np.float64]:
    """Fit log gap = p·log predictor + log c by least squares; return p and log c."""
    own = rows[(rows["gap"] > 0) & (rows[predictor] > 0)]
    if own[predictor].nunique() < 2:
        return np.full(2, np.nan)
    p = fitted_exponent(own[predictor], own["gap"]).value
    return np.array([p, np.mean(np.log(own["gap"]) - p * np.log(own[predictor]))])


def _error(rows: pd.DataFrame, law: npt.NDArray[np.float64], predictor: str) -> list[float]:
    """Return the median error of the gap that a law foretells, relative to the gap."""
    foretold = np.exp(np.polyval(law, np.log(rows[predictor])))
    return [float(((foretold - rows["gap"]).abs() / rows["gap"].abs()).median())]


def _by_bootstrap(
    rows: pd.DataFrame, measure: Callable[..., Sequence[float]], *more: Any
) -> npt.NDArray[np.float64]:
    """Measure all rows, and then samples of their splits, folds and speakers, a line each."""
    units = [unit for _, unit in rows.groupby(["experiment", "repeat"])]
    rng = np.random.default_rng(0)
    count = _SAMPLES if len(units) > 1 else 0
    draws = rng.integers(len(units), size=(count, len(units)))
    samples = [pd.concat([units[at] for at in draw]) for draw in draws]
    return np.array([measure(part, *more) for part in [rows, *samples]])


def _interval(name: str, values: npt.NDArray[np.float64]) -> dict[str, float]:
    """Name the first value, and the ends of 95 % of the others if there are any."""
    samples = values[1:][np.isfinite(values[1:])]
    low, high = np.quantile(samples, [0.025, 0.975]) if len(samples) else (np.nan, np.nan)
    return {name: values[0], f"{name}_low": low, f"{name}_high": high}


def expected_correlation(
    r: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Estimate the correlation on new rows of variables that correlate by r on training rows.

    ``a`` and ``b`` are the degrees of freedom of either view per training row. Regression of a
    variable with a degrees of freedom per row lifts R² from ρ² to ρ²(1 − a) + a, so that
    r² = (ρ²(1 − a) + a)(ρ²(1 − b) + b)/ρ², which gives ρ; and on new rows each view loses a factor
    √(ρ²/(ρ² + (1 − ρ²)·a/(1 − a))). 0 where independent views show as much, or a + b ≥ 1.
    """
    r, a, b = (np.asarray(each, dtype=np.float64) for each in (r, a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        lead, linear = (1 - a) * (1 - b), a * (1 - b) + b * (1 - a) - r**2
        root = linear**2 - 4 * lead * a * b
        square = (np.sqrt(np.maximum(root, 0.0)) - linear) / (2 * lead)
        kept = square / np.sqrt(
            (square + (1 - square) * a / (1 - a)) * (square + (1 - square) * b / (1 - b))
        )
        found: npt.NDArray[np.float64] = np.sqrt(square) * kept
    is_lost = (root < 0) | (linear > 0) | (a + b >= 1)
    return np.where(is_lost, 0.0, found)


def overfitting_blocks(found: pd.DataFrame) -> list[Block]:
    """Lay out `overfitting`, one block per data: a line per map, both predictors beside it."""
    columns: Columns = {
        "method": lambda row: MAP_NAMES.get(row["feature_map"], "all random features"),
        "fits": value("fits", "d"),
        "largest gap": value("gap_max"),
        "rank correlation with (d_x + d_y)/n": lambda row: _ranged(row, "spearman"),
        "less that with 2m/n": lambda row: _ranged(row, "better"),
        "law of the first data: error": lambda row: _ranged(row, "transfer_error"),
        "error of the forecast": value("forecast_error", ".3f"),
        "unrelated pairs over the noise level": value("excess"),
    }
    rows = found[found["predictor"] == PREDICTORS[0]]
    about = "training minus test correlation, per component"
    return [
        block(str(data), about, columns, own) for data, own in rows.groupby("dataset", sort=False)
    ]


def _ranged(row: Any, name: str) -> str:
    if pd.isna(row[name]):
        return "–"
    ends = f" [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"
    return f"{row[name]:.2f}" + ("" if pd.isna(row[f"{name}_low"]) else ends)
