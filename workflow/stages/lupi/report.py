"""Stage lupi for readers: accuracies, paired differences, their tables, and what they show."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from workflow.lib.chart import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import Outcomes, gathered
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.tables import (
    by_experiment,
    half_width,
    markdown_table,
    number,
    plus_minus,
    write_numbers,
)
from workflow.stages.lupi.figures import Papers, Titles, gains_figure
from workflow.stages.lupi.names import METHOD_NAMES, PREPROCESSING_NAMES

# Methods that the paper reports on; the others are ours.
PAPERS = ("surf", "rcca", "rcca-five", "svm+", "attributes")
# What the tables need of the stage's rows.
ACCURACY_COLUMNS = [
    "experiment", "dataset", "partition", "preprocessing", "method", "cv_accuracy",
    "train_accuracy", "test_accuracy", "solved", "cost_on_edge", "n_train", "n_test",
]  # fmt: skip
SETTINGS_COLUMNS = [*ACCURACY_COLUMNS, "m", "reg", "cost"]
PAIR_COLUMNS = [
    "experiment", "dataset", "method", "preprocessing", "reference", "reference_preprocessing",
    "alike", "partitions", "mean", "reference_mean", "difference", "low", "high", "relative",
    "relative_low", "relative_high", "p", "p_holm", "on_edge",
]  # fmt: skip
AGAINST_PAPER = ["against_paper", "against_paper_low", "against_paper_high"]
_BASELINES = ("surf", "surf-scaled")
# Methods with a published accuracy, and how `published_pair` names it.
_LEVELS = {"rcca": "", "surf": "reference_"}
# What RCCA is compared with under the same preprocessing, besides the regular features.
_CONTROLS = (
    "surf-scaled", "random", "rcca-least-reg", "rcca-crossfit", "rcca-five", "rcca-y",
    "rcca-attributes", "rcca-permuted-animals", "rcca-permuted-images", "rcca-animal", "lda",
)  # fmt: skip
# The paper's pairs as a row of `lupi_pairs`, with both standard deviations.
Paper = Mapping[str, Any]


def lupi_summary(accuracy: pd.DataFrame, papers: Papers) -> pd.DataFrame:
    """Mean and standard deviation over partitions, in per cent, by preprocessing and method.

    With 95 % intervals of the mean test accuracy (Student's) and of its standard deviation
    (chi-squared), the deviation that binomial noise of the test rows alone would give, and the
    numbers of partitions in which the fit did not reach its tolerance or the cost is at an end of
    its grid. ``against_paper`` is ours minus the paper's, of RCCA and the regular features in the
    experiments in ``papers``, with its 95 % interval (Welch's, since the partitions differ).
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
    freedom = np.maximum(count - 1, 1)
    half = half_width(deviation / np.sqrt(count), freedom)
    against = [_against_paper(row, papers) for row in summary.to_dict("records")]
    return summary.join(pd.DataFrame(against, summary.index, AGAINST_PAPER)).assign(
        test_low=mean - half,
        test_high=mean + half,
        sd_low=deviation * np.sqrt(freedom / stats.chi2.ppf(0.975, freedom)),
        sd_high=deviation * np.sqrt(freedom / stats.chi2.ppf(0.025, freedom)),
        binomial_sd=np.sqrt(mean * (100 - mean) / summary["n_test"]),
    )


def _against_paper(row: Any, papers: Papers) -> tuple[float, ...]:
    """Return the difference from the paper's mean with its ends; missing without one."""
    paper, prefix = papers.get(row["experiment"]), _LEVELS.get(row["method"])
    if paper is None or prefix is None:
        return (np.nan,) * len(AGAINST_PAPER)
    counts = np.array([row["partitions"], paper["partitions"]])
    squares = np.array([row["test_sd"], paper[f"{prefix}sd"]]) ** 2 / counts
    freedom = squares.sum() ** 2 / (squares**2 / np.maximum(counts - 1, 1)).sum()
    mean = row["test_mean"] - paper[f"{prefix}mean"]
    half = half_width(np.sqrt(squares.sum()), freedom)
    return mean, mean - half, mean + half


def lupi_pairs(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Compare methods partition by partition.

    Every method with the regular features under its own preprocessing, RCCA with its controls, and
    RCCA with the regular features, scaled or not, under every other preprocessing. Differences are
    in points with their 95 % intervals (Student's), and ``relative`` ones in per cent of the
    reference; the p-value is that of Wilcoxon's signed-rank test, ``p_holm`` is adjusted by Holm
    over the preprocessings of two methods prepared alike. ``on_edge`` counts the partitions in
    which the method's cost was chosen at an end of its grid.
    """
    rows = []
    for name, own in accuracy.groupby("experiment", sort=False):
        table = own.pivot_table(
            index="partition", columns=["method", "preprocessing"], values="test_accuracy"
        )
        on_edge = own["cost_on_edge"].isin([True, "True"])
        edges = on_edge.groupby([own["method"], own["preprocessing"]]).sum()
        labels = {"experiment": name, "dataset": own["dataset"].iloc[0]}
        sides: list[Any] = table.columns.to_list()
        rows += [
            {**labels, **_pair(table, side, reference), "on_edge": int(edges[side])}
            for side, reference in product(sides, sides)
            if _is_wanted(*side, *reference)
        ]
    pairs = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    families = pairs[pairs["alike"].astype(bool)].groupby(["experiment", "method", "reference"])
    for _, family in families["p"]:
        pairs.loc[family.index, "p_holm"] = _holm(family)
    return pairs


def _holm(p: "pd.Series[float]") -> "pd.Series[float]":
    """Adjust p-values of several tests for the chance that any of them is significant."""
    ordered = p.sort_values()
    return (ordered * np.arange(len(p), 0, -1)).cummax().clip(upper=1.0)


def _is_wanted(method: str, preprocessing: str, reference: str, its_preprocessing: str) -> bool:
    if preprocessing != its_preprocessing:
        return method == "rcca" and reference in _BASELINES
    if reference == "surf":
        return method != "surf"
    return method == "rcca" and reference in _CONTROLS


def _pair(table: pd.DataFrame, side: tuple[str, str], reference: tuple[str, str]) -> dict[str, Any]:
    """Compare two columns, each a method and its preprocessing."""
    pairs = table[[side, reference]].dropna()
    differences, base = pairs[side] - pairs[reference], pairs[reference].mean()
    mean, half = differences.mean(), half_width(differences.sem(), len(pairs) - 1)
    moved = differences[differences != 0]
    return {
        "method": side[0],
        "preprocessing": side[1],
        "reference": reference[0],
        "reference_preprocessing": reference[1],
        "alike": side[1] == reference[1],
        "partitions": len(pairs),
        "mean": pairs[side].mean(),
        "reference_mean": base,
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "relative": 100 * mean / base,
        "relative_low": 100 * (mean - half) / base,
        "relative_high": 100 * (mean + half) / base,
        "p": float(stats.wilcoxon(moved).pvalue) if len(moved) else 1.0,
    }


def published_pair(published: pd.DataFrame) -> dict[str, Any]:
    """Compare the paper's accuracies in pairs as well."""
    rcca, surf = ("rcca", "published"), ("surf", "published")
    table = pd.DataFrame({rcca: published["rcca_accuracy"], surf: published["surf_accuracy"]})
    return {**_pair(table, rcca, surf), "sd": table[rcca].std(), "reference_sd": table[surf].std()}


def blocks(
    lines: Callable[..., list[str]],
    frames: Sequence[pd.DataFrame],
    papers: Papers,
    titles: Titles,
    not_run: Mapping[str, str],
) -> str:
    """Return a block of Markdown per experiment, by `table` or `verdict`.

    From the frames of `lupi_summary` and `lupi_pairs`; ``papers`` has the experiments on the
    paper's data.
    """

    def block(name: str, title: str) -> str:
        own = [rows[rows["experiment"] == name] for rows in frames]
        return "\n".join([*lines(title, *own, papers.get(name)), ""])

    return by_experiment(titles, not_run, block)


def table(title: str, summary: pd.DataFrame, pairs: pd.DataFrame, paper: Paper | None) -> list[str]:
    """Lay out an experiment's accuracies, and their differences from the regular features."""
    first = summary.iloc[0]
    columns = list(dict.fromkeys(summary["preprocessing"]))
    accuracies = _cells(summary, _accuracy)
    if paper is not None:
        surf = plus_minus(paper["reference_mean"], paper["reference_sd"])
        rcca = plus_minus(paper["mean"], paper["sd"])
        published = {"surf": surf, "rcca": rcca, "rcca-five": rcca}
        accuracies |= {(each, "published"): published.get(each, "–") for each in METHOD_NAMES}
    against = pairs[pairs["alike"] & (pairs["reference"] == "surf")]
    return [
        f"**{title}**: test accuracy in per cent, mean ± standard deviation over "
        f"{first['partitions']} partitions of {first['n_train']} training and {first['n_test']} "
        "test rows",
        "",
        *_by_method(accuracies, [*columns, "published"] if paper is not None else columns),
        "",
        "Paired difference from the regular features with the same preprocessing, in points, with "
        "its 95 % interval and Wilcoxon's p-value, adjusted over preprocessings (Holm):",
        "",
        *_by_method(_cells(against, _difference), columns),
    ]


def _cells(rows: pd.DataFrame, cell: Callable[[Any], str]) -> dict[tuple[str, str], str]:
    return {(row["method"], row["preprocessing"]): cell(row) for row in rows.to_dict("records")}


def _by_method(cells: Mapping[tuple[str, str], str], columns: Sequence[str]) -> list[str]:
    header = ["method", "whose", *(PREPROCESSING_NAMES.get(each, each) for each in columns)]
    rows = [
        [name, "paper" if method in PAPERS else "ours", *(cells[method, each] for each in columns)]
        for method, name in METHOD_NAMES.items()
        if (method, columns[0]) in cells
    ]
    return markdown_table(header, rows)


def _accuracy(row: Any) -> str:
    mark = " †" if 2 * row["on_edge"] >= row["partitions"] else ""
    return plus_minus(row["test_mean"], row["test_sd"]) + mark


def _difference(row: Any) -> str:
    return f"{_interval(row, '+.2f', 'difference', 'low', 'high')}, {p_value(row['p_holm'])}"


def _interval(row: Any, form: str, value: str, *ends: str) -> str:
    low, high = (number(row[end], form.lstrip("+")) for end in ends)
    return f"{number(row[value], form)} [{low}, {high}]"


def p_value(p: float) -> str:
    """Write a p-value with two digits."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def verdict(
    title: str, summary: pd.DataFrame, pairs: pd.DataFrame, paper: Paper | None
) -> list[str]:
    """Lay out what an experiment shows: the conclusion, and the pairs it rests on."""
    gains, best, controls = _gains(pairs), *_pairs_of_best(summary, pairs)
    largest = gains.nlargest(1, "relative") if paper is not None else gains[:0]
    # A unit scale changes nothing where every row has one already.
    shown = pd.concat([gains[gains["alike"]], best, largest, controls])
    shown = shown.drop_duplicates([name for name in shown if name not in ("reference", "p_holm")])
    records: list[Any] = [] if paper is None else [paper]
    rows = [
        [
            _named(row["method"], row["preprocessing"]),
            _named(row["reference"], row["reference_preprocessing"]),
            _interval(row, "+.2f", "difference", "low", "high"),
            _interval(row, "+.1f", "relative", "relative_low", "relative_high"),
            p_value(row["p"]).removeprefix("p = ").removeprefix("p "),
        ]
        for row in [*records, *shown.to_dict("records")]
    ]
    header = ["features", "minus", "points [95 %]", "relative, % [95 %]", "Wilcoxon's p"]
    text = conclusion(summary, pairs, paper)
    return [f"**{title}**", "", f"In short: {text}.", "", *markdown_table(header, rows)]


def conclusion(summary: pd.DataFrame, pairs: pd.DataFrame, paper: Paper | None) -> str:
    """Say whether the published gain appears, over what it remains, and if attributes matter."""
    parts = []
    if paper is not None:
        gains = _gains(pairs)
        reached = (gains.loc[gains["alike"], "relative_high"] >= paper["relative"]).any()
        parts.append(
            f"the published gain of {paper['relative']:.1f} % is {'' if reached else 'not '}"
            "reached with the same preprocessing for both"
        )
        parts += [_level(summary, method, paper) for method in _LEVELS]
    best, controls = _pairs_of_best(summary, pairs)
    low, high = best[["low", "high"]].iloc[0]
    gain = "a gain remains over" if low > 0 else "no gain is shown over"
    parts.append(f"{'RCCA loses to' if high < 0 else gain} the best baseline")
    permuted = controls[controls["reference"] == "rcca-permuted-animals"]
    for low, high in permuted[["low", "high"]].to_numpy():
        if low > 0:
            parts.append("the true attributes work better than permuted ones")
        elif max(-low, high) < 1:
            parts.append("permuted attributes work as well as the real ones, within a point")
        else:
            parts.append("no difference between true and permuted attributes is shown")
    return "; ".join(parts)


def _level(summary: pd.DataFrame, method: str, paper: Paper) -> str:
    """Say with which preprocessing the paper's accuracy of a method is ours."""
    rows = summary[summary["method"] == method]
    agree = rows[(rows["against_paper_low"] <= 0) & (rows["against_paper_high"] >= 0)]
    names = " and ".join(PREPROCESSING_NAMES[name] for name in agree["preprocessing"])
    value = (
        f"the published accuracy of {METHOD_NAMES[method]}, {paper[f'{_LEVELS[method]}mean']:.1f} %"
    )
    if names:
        return f"{value}, agrees with ours for {names}"
    return f"{value}, is {'below' if (rows['against_paper'] > 0).all() else 'not among'} ours"


def _gains(pairs: pd.DataFrame) -> pd.DataFrame:
    return pairs[(pairs["method"] == "rcca") & (pairs["reference"] == "surf")]


def _pairs_of_best(summary: pd.DataFrame, pairs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of RCCA, preprocessed best, with the best baseline and with its controls.

    The best are those that training rows alone would have chosen, by cross-validation.
    """
    ordered = summary.sort_values("cv_mean")
    (rcca, preprocessing), baseline = (
        ordered.loc[ordered["method"].isin(methods), ["method", "preprocessing"]].iloc[-1]
        for methods in (["rcca"], _BASELINES)
    )
    own = pairs[(pairs["method"] == rcca) & (pairs["preprocessing"] == preprocessing)]
    is_best = (own[["reference", "reference_preprocessing"]] == [*baseline]).all(axis="columns")
    return own[is_best], own[own["alike"] & own["reference"].isin(_CONTROLS)]


def _named(method: str, preprocessing: str) -> str:
    return f"{METHOD_NAMES[method]} ({PREPROCESSING_NAMES.get(preprocessing, preprocessing)})"


_NAMED = ("difference", "low", "high", "relative", "p", "mean", "reference_mean")


def numbers(pairs: pd.DataFrame, papers: Papers) -> dict[str, Any]:
    """Gains of RCCA over the regular features by experiment, preprocessing and attributes."""
    found: dict[str, Any] = {}
    against = pairs[pairs["alike"] & (pairs["reference"] == "surf")]
    for name, rows in against.groupby("experiment", sort=False):
        gains: dict[str, Any] = {}
        for row in rows.to_dict("records"):
            kept = {key: row[key] for key in _NAMED}
            gains.setdefault(str(row["method"]), {})[str(row["preprocessing"])] = kept
        relative = rows.loc[rows["method"] == "rcca", "relative"]
        ends = {"least": relative.min(), "most": relative.max()}
        paper = papers.get(str(name), {})
        papers_gain = {key: paper.get(key) for key in _NAMED}
        found[str(name)] = {**gains, **ends, "partitions": rows["partitions"].max()}
        found[str(name)] |= {"paper": papers_gain} if paper else {}
    return found


def report(outcomes: Outcomes, asked: Any, given: Any, out: Mapping[str, str]) -> None:
    """Write the tables and figures of the stage, and what they say.

    ``asked`` are the settings of the report, ``given`` the other files it reads, ``out`` the files
    it writes by their names.
    """
    titles = asked.titles
    accuracy, not_run = outcomes.rows("accuracy", columns=ACCURACY_COLUMNS)
    published = pd.read_csv(given.published)
    # The protocol can be read in several ways: the paper's numbers stand beside all of them.
    data = accuracy.loc[accuracy["experiment"].isin(asked.published), "dataset"]
    readings = accuracy.loc[accuracy["dataset"].isin(data), "experiment"].unique()
    papers = dict.fromkeys(readings, published_pair(published))
    summary, pairs = lupi_summary(accuracy, papers), lupi_pairs(accuracy)
    write_csv(out["lupi.csv"], summary)
    write_csv(out["lupi_pairs.csv"], pairs)
    for name, lines in (("lupi.md", table), ("lupi_verdict.md", verdict)):
        write_text(out[name], blocks(lines, (summary, pairs), papers, titles, not_run))
    save(gains_figure(pairs, papers, titles), out, "lupi")
    write_numbers(out["numbers.json"], numbers(pairs, papers))


if __name__ == "__main__":
    with job(snakemake) as asked:
        outcomes = gathered(snakemake, asked)
        report(outcomes, asked, snakemake.input, by_name(snakemake.output.shown))
