"""Stage lupi for readers: accuracies, paired differences, their tables, and what they show."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from workflow.lib.tables import by_experiment, markdown_table, number, plus_minus

METHOD_NAMES = {
    "majority": "majority class",
    "surf": "regular features",
    "surf-scaled": "regular features, unit scale",
    "random": "random features",
    "rcca": "RCCA",
    "rcca-least-reg": "RCCA, smallest reg",
    "rcca-crossfit": "RCCA, cross-fitted",
    "surf+rcca": "regular features + RCCA",
    "rcca-five": "RCCA, five directions",
    "rcca-y": "RCCA, label only",
    "rcca-attributes": "RCCA, attributes only",
    "rcca-permuted-animals": "RCCA, class-permuted attributes",
    "rcca-permuted-images": "RCCA, row-permuted attributes",
    "rcca-animal": "RCCA, class as label",
    "lda": "discriminants of the classes",
    "svm+": "SVM+",
    "attributes": "attributes (oracle)",
    "attributes-permuted": "permuted attributes (oracle)",
}
# Methods that the paper reports on; the others are ours.
PAPERS = ("surf", "rcca", "rcca-five", "svm+", "attributes")
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
    "cost_on_edge",
    "n_train",
    "n_test",
]
SETTINGS_COLUMNS = [*ACCURACY_COLUMNS, "m", "reg", "cost"]
_BASELINES = ("surf", "surf-scaled")
# What RCCA is compared with, and what the difference is called in a sentence, if it has one.
_CONTROLS = {
    "rcca-permuted-animals": "true minus class-permuted attributes",
    "rcca-permuted-images": "true minus row-permuted attributes",
    "rcca-y": "attributes and label minus the label alone",
    "rcca-attributes": "attributes and label minus the attributes alone",
    "lda": "attributes and label minus the class",
    "rcca-five": "the defined directions minus five directions, filled up with random ones",
    "surf-scaled": "",
    "random": "",
    "rcca-least-reg": "",
    "rcca-crossfit": "",
    "rcca-animal": "",
}


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
        One row per experiment, preprocessing and method, with 95 % intervals of the mean test
        accuracy (Student's) and of its standard deviation (chi-squared), the deviation that
        binomial noise of the test rows alone would give, and the numbers of partitions in which
        the fit did not reach its tolerance or the cost is at an end of its grid.
    """
    flags = {
        "unsolved": accuracy["solved"].isin([False, "False"]),
        "on_edge": accuracy["cost_on_edge"].isin([True, "True"]),
    }
    groups = accuracy.assign(**flags).groupby(["experiment", "preprocessing", "method"], sort=False)
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
        on_edge=("on_edge", "sum"),
    ).reset_index()
    mean, deviation, count = summary["test_mean"], summary["test_sd"], summary["partitions"]
    half, freedom = half_width(deviation, count), np.maximum(count - 1, 1)
    return summary.assign(
        test_low=mean - half,
        test_high=mean + half,
        sd_low=deviation * np.sqrt(freedom / stats.chi2.ppf(0.975, freedom)),
        sd_high=deviation * np.sqrt(freedom / stats.chi2.ppf(0.025, freedom)),
        binomial_sd=np.sqrt(mean * (100 - mean) / summary["n_test"]),
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
        reference (``relative``), and the p-value of Wilcoxon's signed-rank test. ``on_edge`` counts
        the partitions in which the method's cost was chosen at an end of its grid.
    """
    rows = []
    for name, own in accuracy.groupby("experiment", sort=False):
        table = own.pivot_table(
            index="partition", columns=["method", "preprocessing"], values="test_accuracy"
        )
        on_edge = own["cost_on_edge"].isin([True, "True"])
        edges = on_edge.groupby([own["method"], own["preprocessing"]]).sum()
        present = [Side(*column) for column in table.columns]
        rows += [
            {"experiment": name, "dataset": own["dataset"].iloc[0]}
            | _pair(table, side, reference, int(edges[side]))
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
    "on_edge",
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


def _pair(table: pd.DataFrame, side: Side, reference: Side, on_edge: int) -> dict[str, Any]:
    pairs = table[[side, reference]].dropna()
    differences = pairs[side] - pairs[reference]
    mean, base = differences.mean(), pairs[reference].mean()
    half = half_width(differences.std(), len(pairs))
    values = {"difference": mean, "low": mean - half, "high": mean + half}
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
        **values,
        **{scaled[name]: 100 * value / base for name, value in values.items()},
        "p": _wilcoxon(differences.to_numpy()),
        "on_edge": on_edge,
    }


def half_width(deviation: Any, count: Any) -> Any:
    """Half of Student's 95 % interval of a mean; missing where there is one value."""
    return stats.t.ppf(0.975, np.maximum(count - 1, 1)) * deviation / np.sqrt(count)


def _wilcoxon(differences: Any) -> float:
    moved = differences[differences != 0]
    return float(stats.wilcoxon(moved).pvalue) if len(moved) else 1.0


def published_pair(published: pd.DataFrame) -> dict[str, float]:
    """Return the paper's means and standard deviations, and its paired difference, in per cent."""
    surf, rcca = published["surf_accuracy"], published["rcca_accuracy"]
    difference = rcca - surf
    half = half_width(difference.std(), len(difference))
    return {
        "surf": surf.mean(),
        "rcca": rcca.mean(),
        "rcca-five": rcca.mean(),
        "sd surf": surf.std(),
        "sd rcca": rcca.std(),
        "partitions": len(published),
        "difference": difference.mean(),
        "low": difference.mean() - half,
        "high": difference.mean() + half,
        "relative": 100 * difference.mean() / surf.mean(),
    }


Paper = Mapping[str, float]


class Report(NamedTuple):
    """What the table and the verdict are made from.

    Attributes
    ----------
    summary, pairs : DataFrame
        Of `lupi_summary` and `lupi_pairs`.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
    paper : mapping of experiment to `published_pair`
        Of those on the paper's data.
    """

    summary: pd.DataFrame
    pairs: pd.DataFrame
    not_run: Mapping[str, str]
    titles: Mapping[str, str]
    paper: Mapping[str, Paper]

    def table(self) -> str:
        """Return the tables as Markdown, a block per experiment."""
        return self._blocks(_table_lines)

    def verdict(self) -> str:
        """Return the sentences as Markdown, a block per experiment."""
        return self._blocks(
            lambda title, *given: [f"**{title}**", "", *(f"- {line}" for line in verdict(*given))]
        )

    def _blocks(self, lines: Callable[..., list[str]]) -> str:
        def block(name: str, title: str) -> str:
            own = [rows[rows["experiment"] == name] for rows in (self.summary, self.pairs)]
            return "\n".join([*lines(title, *own, self.paper.get(name)), ""])

        return by_experiment(self.titles, self.not_run, block)


def _table_lines(
    title: str, summary: pd.DataFrame, pairs: pd.DataFrame, paper: Paper | None
) -> list[str]:
    first = summary.iloc[0]
    columns = list(dict.fromkeys(summary["preprocessing"]))
    header = ["method", "whose", *(PREPROCESSING_NAMES[each] for each in columns)]
    means = summary.set_index(["method", "preprocessing"])
    methods = [name for name in METHOD_NAMES if name in set(summary["method"])]
    names = {name: [METHOD_NAMES[name], "paper" if name in PAPERS else "ours"] for name in methods}
    cells = [
        [
            *names[method],
            *(_accuracy(means.loc[(method, each)]) for each in columns),
            *([number(paper.get(method, np.nan), ".2f")] if paper else []),
        ]
        for method in methods
    ]
    against = pairs[pairs["alike"] & (pairs["reference"] == "surf")]
    against = against.set_index(["method", "preprocessing"])
    differences = [
        [*names[method], *(_difference(against.loc[(method, each)]) for each in columns)]
        for method in methods
        if method != "surf"
    ]
    return [
        f"**{title}**: test accuracy in per cent, mean ± standard deviation over "
        f"{first['partitions']} partitions of {first['n_train']} training and {first['n_test']} "
        "test rows",
        "",
        *markdown_table([*header, *(["published"] if paper else [])], cells),
        "",
        "Paired difference from the regular features with the same preprocessing, in points, with "
        "its 95 % interval and the p-value of Wilcoxon's test:",
        "",
        *markdown_table(header, differences),
    ]


def _accuracy(row: Any) -> str:
    mark = " †" if 2 * row["on_edge"] >= row["partitions"] else ""
    return plus_minus(row["test_mean"], row["test_sd"]) + mark


def _difference(row: Any) -> str:
    return f"{row['difference']:+.2f} [{row['low']:.2f}, {row['high']:.2f}], {p_value(row['p'])}"


def p_value(p: float) -> str:
    """Write a p-value with two digits."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def verdict(summary: pd.DataFrame, pairs: pd.DataFrame, paper: Paper | None) -> list[str]:
    """Say what an experiment shows: the conclusion, then a sentence for each finding."""
    gains = pairs[(pairs["method"] == "rcca") & (pairs["reference"] == "surf")]
    best, baseline = _best(summary, ["rcca"]), _best(summary, _BASELINES)
    prepared = _row(pairs, best, baseline)
    controls = {
        name: row
        for name, words in _CONTROLS.items()
        if words and (row := _row(pairs, best, best._replace(method=name))) is not None
    }
    alike = gains[gains["alike"]]
    lines = [_conclusion(alike, prepared, controls.get("rcca-permuted-animals"), paper)]
    lines += [
        f"RCCA minus regular features, both with {PREPROCESSING_NAMES[row['preprocessing']]}: "
        f"{_interval(row)}, {row['relative']:+.1f} % relative, {p_value(row['p'])} "
        f"({row['reference_mean']:.2f} to {row['mean']:.2f} %)."
        for row in alike.to_dict("records")
    ]
    if paper is not None:
        lines += _beside_paper(summary, gains, paper)
    lines.append(
        f"Each with the preprocessing that cross-validation on training rows prefers, "
        f"{_sides(prepared)}: {_interval(prepared)}, {p_value(prepared['p'])}."
    )
    lines += [
        f"RCCA with {PREPROCESSING_NAMES[best.preprocessing]}, {_CONTROLS[name]}: "
        f"{_interval(row)}; {_shown(row)}."
        for name, row in controls.items()
    ]
    return [*lines, *_svm_plus(pairs), *_oracle(summary)]


def _best(summary: pd.DataFrame, methods: Sequence[str]) -> Side:
    """Return the side that training rows alone would have chosen, by cross-validation."""
    row = summary[summary["method"].isin(methods)].sort_values("cv_mean").iloc[-1]
    return Side(row["method"], row["preprocessing"])


def _row(pairs: pd.DataFrame, side: Side, reference: Side) -> Any:
    """Return the row of a pair; None if there is none."""
    wanted = [*side, *reference]
    columns = ["method", "preprocessing", "reference", "reference_preprocessing"]
    found = pairs[(pairs[columns] == wanted).all(axis=1)]
    return found.iloc[0] if len(found) else None


def _interval(row: Any) -> str:
    return f"{row['difference']:+.2f} points [{row['low']:+.2f}, {row['high']:+.2f}]"


def _sides(row: Any) -> str:
    return (
        f"RCCA with {PREPROCESSING_NAMES[row['preprocessing']]} minus "
        f"{METHOD_NAMES[row['reference']]} with "
        f"{PREPROCESSING_NAMES[row['reference_preprocessing']]}"
    )


def _shown(row: Any) -> str:
    if row["low"] > 0:
        return "higher"
    return "lower" if row["high"] < 0 else "no difference is shown"


def _conclusion(alike: pd.DataFrame, prepared: Any, permuted: Any, paper: Paper | None) -> str:
    parts = []
    if paper is not None:
        reached = (alike["relative_high"] >= paper["relative"]).any()
        parts.append(
            f"the published gain of {paper['relative']:.1f} % is {'' if reached else 'not '}"
            "reached with the same preprocessing for both"
        )
    gain = {"higher": "a gain remains over", "lower": "RCCA loses to"}
    parts.append(f"{gain.get(_shown(prepared), 'no gain is shown over')} the best baseline")
    if permuted is not None and permuted["low"] > 0:
        parts.append("the true attributes work better than permuted ones")
    elif permuted is not None and max(-permuted["low"], permuted["high"]) < 1:
        parts.append("permuted attributes work as well as the real ones, within a point")
    elif permuted is not None:
        parts.append("no difference between true and permuted attributes is shown")
    return f"In short: {'; '.join(parts)}."


def _beside_paper(summary: pd.DataFrame, gains: pd.DataFrame, paper: Paper) -> list[str]:
    largest = gains.sort_values("relative").iloc[-1]
    lines = [
        f"Paper: {_interval(paper)}, {paper['relative']:+.1f} % relative ({paper['surf']:.2f} to "
        f"{paper['rcca']:.2f} %). Our largest relative gain, with any preprocessing for either, "
        f"is {largest['relative']:+.1f} % [{largest['relative_low']:.1f}, "
        f"{largest['relative_high']:.1f}]: {_sides(largest)}."
    ]
    for method in ("surf", "rcca"):
        rows = summary[summary["method"] == method]
        met = rows[(rows["test_low"] <= paper[method]) & (paper[method] <= rows["test_high"])]
        where = ", ".join(PREPROCESSING_NAMES[each] for each in met["preprocessing"])
        lines.append(
            f"The published level of {METHOD_NAMES[method]}, {paper[method]:.2f} %, lies within "
            f"our interval with {where or 'no preprocessing'}; our means run from "
            f"{rows['test_mean'].min():.2f} to {rows['test_mean'].max():.2f} %."
        )
        if paper["partitions"] > 1 and rows["partitions"].min() > 1:
            lines.append(_spread(rows, method, paper))
    return lines


def _spread(rows: pd.DataFrame, method: str, paper: Paper) -> str:
    """Compare the standard deviation over partitions with the published one, by an F test."""
    published = paper[f"sd {method}"]
    found = []
    for row in rows.to_dict("records"):
        freedom = row["partitions"] - 1, paper["partitions"] - 1
        below = stats.f.cdf((row["test_sd"] / published) ** 2, *freedom)
        found.append(
            f"{row['test_sd']:.2f} [{row['sd_low']:.2f}, {row['sd_high']:.2f}] with "
            f"{PREPROCESSING_NAMES[row['preprocessing']]} ({p_value(2 * min(below, 1 - below))})"
        )
    return (
        f"Standard deviation of {METHOD_NAMES[method]} over partitions: {'; '.join(found)}; "
        f"published {published:.2f}; binomial noise of {rows['n_test'].iloc[0]} test rows alone "
        f"{rows['binomial_sd'].mean():.2f} (F test of equal variances)."
    )


def _svm_plus(pairs: pd.DataFrame) -> list[str]:
    found = []
    for row in pairs[pairs["method"] == "svm+"].to_dict("records"):
        if row["on_edge"]:
            says = f"undecided, C at an end of its grid in {row['on_edge']} of {row['partitions']}"
        else:
            says = _shown(row)
        found.append(f"{PREPROCESSING_NAMES[row['preprocessing']]} {_interval(row)}, {says}")
    return [f"SVM+ minus the SVM: {'; '.join(found)}."] if found else []


def _oracle(summary: pd.DataFrame) -> list[str]:
    values = summary.groupby("method")["test_mean"].min()
    if not {"attributes", "attributes-permuted"} <= set(values.index):
        return []
    own, permuted = values["attributes"], values["attributes-permuted"]
    line = (
        f"If the attributes of test rows were known, they would give {own:.2f} %; permuted over "
        f"the classes, {permuted:.2f} %"
    )
    if own == permuted == 100:
        return [f"{line}: they identify the class, whatever they mean."]
    return [f"{line}."]
