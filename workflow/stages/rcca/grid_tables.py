"""Tables of the grid of m and reg: sums, overfitting and its forecast; and linear CCA, tuned."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow.lib.tables import beside_published, half_width, number, span
from workflow.stages.rcca.table1 import rcca_summary
from workflow.stages.rcca.tables import (
    FIT,
    Block,
    Columns,
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
PAIRING_NAMES = {"true": "pairs of the data", "permuted": "unrelated pairs"}


def related(grid: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are fitted to the pairs of the data; all, if no other are known."""
    return grid[grid["pairing"] == "true"] if "pairing" in grid else grid


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
    linear: pd.DataFrame, fixed: Mapping[str, float], paper: tuple[pd.DataFrame, Collection[str]]
) -> pd.DataFrame:
    """Compare linear CCA with reg chosen on tuning rows and with the fixed one, over splits.

    ``difference`` is the mean less the paper's, with the 95 % interval of the mean (Student's);
    ``on_edge`` tells whether the least or the largest reg was chosen in a split.
    """
    tried = linear.dropna(subset=["tune_sum", "test_sum"])
    best = tried.loc[tried.groupby(["experiment", "repeat"])["tune_sum"].idxmax()]
    regs = linear.groupby("experiment")["reg"]
    ends = [best["reg"] == best["experiment"].map(end) for end in (regs.min(), regs.max())]
    untuned = tried[tried["reg"] == tried["experiment"].map(fixed)]
    rows = pd.concat(
        [
            untuned.assign(tuned="untuned", is_end=False),
            best.assign(tuned="tuned", is_end=ends[0] | ends[1]),
        ]
    )
    found = rows.groupby(["experiment", "tuned"], sort=False).agg(
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
        on_edge=("is_end", "any"),
    )
    found = beside_published(found.reset_index(), *paper)
    half = half_width(found["test_sd"] / np.sqrt(found["repeats"]), found["repeats"] - 1)
    low, high = found["difference"] - half, found["difference"] + half
    return found.assign(difference_low=low, difference_high=high)


def linear_blocks(found: pd.DataFrame, not_run: Mapping[str, str], titles: Titles) -> list[Block]:
    """Lay out `linear_summary`, one block per experiment."""
    columns: Columns = {
        "linear CCA": text("tuned"),
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


def overfitting(grid: pd.DataFrame) -> pd.DataFrame:
    """Mean over repeats of each fit's gap between training and test rows, and what foretells it.

    ``gap`` is per component. ``load`` are the degrees of freedom of both views over those of the
    rows, ``features_load`` the features of both views over them. ``expected`` is the test sum that
    `expected_correlation` makes of the training sum.
    """
    rows = grid.dropna(subset=["train_sum", "test_sum"])
    freedom = rows["n_train"] - 1
    shares = [rows[f"degrees_of_freedom_{view}"] / freedom for view in "xy"]
    k = rows["components"]
    expected = expected_correlation(rows["train_sum"] / k, *shares)
    rows = rows.assign(
        gap=(rows["train_sum"] - rows["test_sum"]) / k,
        load=shares[0] + shares[1],
        features_load=2 * rows["m"] / freedom,
        expected=expected * k,
    )
    means = rows.groupby([*_FIT[:2], "pairing", *_FIT[2:]], sort=False).agg(
        dataset=("dataset", "first"),
        repeats=("repeat", "nunique"),
        components=("components", "first"),
        train=("train_sum", "mean"),
        test=("test_sum", "mean"),
        gap=("gap", "mean"),
        load=("load", "mean"),
        features_load=("features_load", "mean"),
        noise_level=("noise_level", "mean"),
        expected=("expected", "mean"),
    )
    return means.reset_index()


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


def overfitting_fits(found: pd.DataFrame) -> pd.DataFrame:
    """Say how well the load, or the number of features, orders the gaps of each experiment's maps.

    Spearman's correlations over m and reg, and ``error``: how far `expected_correlation` is off per
    component, on average. For unrelated pairs also ``excess``: the largest training correlation, as
    a mean over components, over the noise level.
    """
    rows = []
    for (name, kind), own in found.groupby(["experiment", "feature_map"], sort=False):
        true, unrelated = (own[own["pairing"] == pairing] for pairing in PAIRING_NAMES)
        off = (true["expected"] - true["test"]).abs() / true["components"]
        noise = unrelated["train"] / unrelated["components"] / unrelated["noise_level"]
        rows.append(
            {
                "experiment": name,
                "dataset": own["dataset"].iloc[0],
                "feature_map": kind,
                "fits": len(true),
                "gap_max": true["gap"].max(),
                "rank_load": true["gap"].corr(true["load"], method="spearman"),
                "rank_features": true["gap"].corr(true["features_load"], method="spearman"),
                "error": off.mean(),
                "excess": noise.max(),
            }
        )
    columns = [
        "experiment", "dataset", "feature_map", "fits", "gap_max", "rank_load", "rank_features",
        "error", "excess",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def overfitting_blocks(
    fits: pd.DataFrame, not_run: Mapping[str, str], titles: Titles
) -> list[Block]:
    """Lay out `overfitting_fits`, one block per experiment."""
    columns: Columns = {
        "method": FIT["method"],
        "fits": value("fits", "d"),
        "largest gap": value("gap_max"),
        "rank correlation with (d_x + d_y)/n": value("rank_load"),
        "with 2m/n": value("rank_features"),
        "error of the forecast": value("error", ".3f"),
        "unrelated pairs over the noise level": value("excess"),
    }

    def made(name: str, title: str) -> Block:
        rows = fits[fits["experiment"] == name]
        return block(title, "training minus test correlation, per component", columns, rows)

    return by_experiment(titles, not_run, made)
