"""The lupi stage for readers: accuracies, differences in pairs, and their tables."""

from collections.abc import Mapping, Sequence
from itertools import product
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from rnca._core.files import replacing
from workflow.lib.tables import markdown_table, number, plus_minus

METHOD_NAMES = {
    "majority": "the larger class",
    "surf": "regular features",
    "surf-scaled": "regular features, unit scale",
    "random": "random features",
    "rcca": "RCCA",
    "rcca-least-reg": "RCCA, least reg",
    "rcca-crossfit": "RCCA, cross-fitted",
    "surf+rcca": "regular features + RCCA",
    "rcca-y": "RCCA, label only",
    "rcca-attributes": "RCCA, attributes only",
    "rcca-permuted-animals": "RCCA, attributes permuted over classes",
    "rcca-permuted-images": "RCCA, attributes permuted over rows",
    "rcca-animal": "RCCA, class as label",
    "lda": "discriminants of the classes",
    "svm+": "SVM+",
    "attributes": "attributes (oracle)",
    "attributes-permuted": "permuted attributes (oracle)",
}
PREPROCESSING_NAMES = {"raw": "raw counts", "zscore": "z-scores", "hellinger": "√L1"}
# What the tables need of the stage's rows.
ACCURACY_COLUMNS = [
    "experiment",
    "dataset",
    "partition",
    "preprocessing",
    "method",
    "cv_accuracy",
    "train_accuracy",
    "test_accuracy",
    "solved",
    "n_train",
    "n_test",
]
SETTINGS_COLUMNS = [*ACCURACY_COLUMNS, "m", "reg", "cost"]
_BASELINES = ("surf", "surf-scaled")
_CONTROLS = (
    "surf-scaled",
    "random",
    "rcca-least-reg",
    "rcca-crossfit",
    "rcca-y",
    "rcca-attributes",
    "rcca-permuted-animals",
    "rcca-permuted-images",
    "rcca-animal",
    "lda",
)
_GROUP = ["experiment", "preprocessing", "method"]


class Side(NamedTuple):
    """One side of a comparison."""

    method: str
    preprocessing: str


def lupi_summary(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over partitions, in per cent.

    Parameters
    ----------
    accuracy : DataFrame
        Rows of the stage: one per experiment, partition, preprocessing and method.

    Returns
    -------
    DataFrame
        One row per experiment, preprocessing and method, with a 95 % interval (Student's) of the
        mean test accuracy, and the number of partitions whose fit did not reach its tolerance.
    """
    unsolved = accuracy["solved"].isin([False, "False"])
    groups = accuracy.assign(unsolved=unsolved).groupby(_GROUP, sort=False)
    summary = groups.agg(
        dataset=("dataset", "first"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        partitions=("partition", "nunique"),
        cv_mean=("cv_accuracy", "mean"),
        train_mean=("train_accuracy", "mean"),
        test_mean=("test_accuracy", "mean"),
        test_sd=("test_accuracy", "std"),
        unsolved=("unsolved", "sum"),
    ).reset_index()
    half = _half_width(summary["test_sd"], summary["partitions"])
    return summary.assign(
        test_low=summary["test_mean"] - half, test_high=summary["test_mean"] + half
    )


def lupi_pairs(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Compare methods partition by partition.

    Every method with the regular features under its own preprocessing, RCCA with its controls, and
    RCCA with the regular features, scaled or not, under every other preprocessing.

    Returns
    -------
    DataFrame
        One row per experiment and pair: whether both are preprocessed ``alike``, mean accuracies,
        their difference in points with its 95 % interval (Student's), the same in per cent of the
        reference (``relative``), and the p-value of Wilcoxon's signed-rank test.
    """
    rows = []
    for name, own in accuracy.groupby("experiment", sort=False):
        table = own.pivot_table(
            index="partition", columns=["method", "preprocessing"], values="test_accuracy"
        )
        present = [Side(*column) for column in table.columns]
        rows += [
            {"experiment": name, "dataset": own["dataset"].iloc[0]} | _pair(table, side, reference)
            for side, reference in _wanted(present)
        ]
    return pd.DataFrame(rows, columns=PAIR_COLUMNS)


PAIR_COLUMNS = [
    "experiment",
    "dataset",
    "method",
    "preprocessing",
    "reference",
    "reference_preprocessing",
    "alike",
    "partitions",
    "mean",
    "reference_mean",
    "difference",
    "low",
    "high",
    "relative",
    "relative_low",
    "relative_high",
    "p",
]


def _wanted(present: Sequence[Side]) -> list[tuple[Side, Side]]:
    found = []
    for side, reference in product(present, present):
        alike = side.preprocessing == reference.preprocessing
        against_surf = alike and reference.method == "surf" and side.method != "surf"
        against_control = alike and side.method == "rcca" and reference.method in _CONTROLS
        across = not alike and side.method == "rcca" and reference.method in _BASELINES
        if against_surf or against_control or across:
            found.append((side, reference))
    return found


def _pair(table: pd.DataFrame, side: Side, reference: Side) -> dict[str, Any]:
    pairs = table[[side, reference]].dropna()
    differences = pairs[side] - pairs[reference]
    mean, base = differences.mean(), pairs[reference].mean()
    half = _half_width(differences.std(), len(pairs))
    edges = {"difference": mean, "low": mean - half, "high": mean + half}
    scaled = {"difference": "relative", "low": "relative_low", "high": "relative_high"}
    return {
        "method": side.method,
        "preprocessing": side.preprocessing,
        "reference": reference.method,
        "reference_preprocessing": reference.preprocessing,
        "alike": side.preprocessing == reference.preprocessing,
        "partitions": len(pairs),
        "mean": pairs[side].mean(),
        "reference_mean": base,
        **edges,
        **{scaled[edge]: 100 * value / base for edge, value in edges.items()},
        "p": _wilcoxon(differences.to_numpy()),
    }


def _half_width(deviation: Any, count: Any) -> Any:
    """Half of Student's 95 % interval of a mean; missing where there is one value."""
    return stats.t.ppf(0.975, np.maximum(count - 1, 1)) * deviation / np.sqrt(count)


def _wilcoxon(differences: Any) -> float:
    moved = differences[differences != 0]
    return float(stats.wilcoxon(moved).pvalue) if len(moved) else 1.0


def published_means(published: pd.DataFrame) -> dict[str, float]:
    """Return the paper's mean accuracies and its relative gain, in per cent."""
    surf, rcca = published["surf_accuracy"].mean(), published["rcca_accuracy"].mean()
    return {"surf": surf, "rcca": rcca, "relative": 100 * (rcca - surf) / surf}


def write_lupi_table(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    pairs: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
) -> None:
    """Write two Markdown tables per experiment: accuracies, and differences in pairs.

    Parameters
    ----------
    path : path
    summary, pairs : DataFrame
        Of `lupi_summary` and `lupi_pairs`.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
    paper : mapping of experiment to `published_means`
        Of those that follow the paper's protocol.
    """
    blocks = [
        f"**{title}**: not run, {not_run[name]}"
        if name in not_run
        else _block(
            title,
            summary[summary["experiment"] == name],
            pairs[pairs["experiment"] == name],
            paper.get(name, {}),
        )
        for name, title in titles.items()
    ]
    with replacing(path) as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _block(
    title: str, summary: pd.DataFrame, pairs: pd.DataFrame, paper: Mapping[str, float]
) -> str:
    first = summary.iloc[0]
    columns = list(dict.fromkeys(summary["preprocessing"]))
    header = ["method", *(PREPROCESSING_NAMES[each] for each in columns)]
    means = summary.set_index(["method", "preprocessing"])
    methods = [name for name in METHOD_NAMES if name in set(summary["method"])]
    cells = [
        [
            METHOD_NAMES[method],
            *(plus_minus(*means.loc[(method, each), ["test_mean", "test_sd"]]) for each in columns),
            *([number(paper.get(method, np.nan), ".2f")] if paper else []),
        ]
        for method in methods
    ]
    against = pairs[pairs["alike"] & (pairs["reference"] == "surf")].set_index(
        ["method", "preprocessing"]
    )
    differences = [
        [
            METHOD_NAMES[method],
            *(_difference(against.loc[(method, each)]) for each in columns),
        ]
        for method in methods
        if method != "surf"
    ]
    lines = [
        f"**{title}**: test accuracy in per cent, mean ± standard deviation over "
        f"{first['partitions']} partitions of {first['n_train']} training and {first['n_test']} "
        "test rows",
        "",
        *markdown_table([*header, *(["paper"] if paper else [])], cells),
        "",
        "Difference from the regular features with the same preprocessing, in points, with its "
        "95 % interval, the same in per cent of their accuracy, and the p-value of Wilcoxon's "
        "test in pairs:",
        "",
        *markdown_table(header, differences),
    ]
    return "\n".join(lines)


def _difference(row: Any) -> str:
    return (
        f"{row['difference']:+.2f} [{row['low']:.2f}, {row['high']:.2f}], "
        f"{row['relative']:+.1f} %, {p_value(row['p'])}"
    )


def p_value(p: float) -> str:
    """Write a p-value with two digits."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
