"""The verdict on learning with privileged information, in sentences made from the pairs alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import pandas as pd

from rnca.files import replacing
from rnca.reporting.lupi import METHOD_NAMES, PREPROCESSING_NAMES, p_value

_CONTROLS = {
    "rcca-permuted-animals": "the attributes dealt out anew among the animals",
    "rcca-permuted-images": "the attributes dealt out anew among the pictures",
    "rcca-y": "the label alone",
    "lda": "the animals' names in place of attributes and label",
}


def write_verdict(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    pairs: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
) -> None:
    """Write the sentences of `verdict` for each experiment.

    Parameters
    ----------
    path : path
    summary, pairs : DataFrame
        Of `rnca.reporting.lupi`.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
    paper : mapping of experiment to the paper's means
        Of those that follow the paper's protocol.
    """
    blocks = []
    for name, title in titles.items():
        if name in not_run:
            blocks.append(f"**{title}**: not run, {not_run[name]}")
            continue
        own = summary[summary["experiment"] == name], pairs[pairs["experiment"] == name]
        lines = [f"- {line}" for line in verdict(*own, paper.get(name))]
        blocks.append("\n".join([f"**{title}**", "", *lines]))
    with replacing(path) as partial:
        partial.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def verdict(
    summary: pd.DataFrame, pairs: pd.DataFrame, paper: Mapping[str, float] | None
) -> list[str]:
    """Say what an experiment shows, one sentence per finding."""
    gains = _between(pairs, "rcca", "surf")
    alike = gains[gains["preprocessing"] == gains["reference_preprocessing"]]
    lines = [_gain(row) for row in alike.to_dict("records")]
    if paper is not None:
        lines += _beside_paper(alike, gains, paper)
        lines += _levels(summary, paper)
    best = _best(summary, ["rcca"])
    lines += _prepared(summary, pairs, best)
    for control, words in _CONTROLS.items():
        for row in _rows(pairs, "rcca", control, best["preprocessing"]):
            lines.append(_control(row, words))
    lines += _svm_plus(summary, pairs)
    lines += _oracle(summary)
    return lines


def _between(pairs: pd.DataFrame, method: str, reference: str) -> pd.DataFrame:
    return pairs[(pairs["method"] == method) & (pairs["reference"] == reference)]


def _rows(pairs: pd.DataFrame, method: str, reference: str, preprocessing: str) -> list[Any]:
    found = _between(pairs, method, reference)
    for column in ("preprocessing", "reference_preprocessing"):
        found = found[found[column] == preprocessing]
    return list(found.to_dict("records"))


def _best(summary: pd.DataFrame, methods: Sequence[str]) -> Any:
    """Return the row that training rows alone would have chosen, by cross-validation."""
    rows = summary[summary["method"].isin(methods)]
    return rows.sort_values("cv_mean").iloc[-1]


def _gain(row: Any) -> str:
    return (
        f"With {PREPROCESSING_NAMES[row['preprocessing']]} for both, the SVM reaches "
        f"{row['reference_mean']:.2f} % on the regular features and {row['mean']:.2f} % on RCCA's: "
        f"{_interval(row)}, a relative gain of {row['relative']:+.1f} % ({p_value(row['p'])})."
    )


def _interval(row: Any) -> str:
    return f"{row['difference']:+.2f} points [{row['low']:+.2f}, {row['high']:+.2f}]"


def _beside_paper(
    alike: pd.DataFrame, gains: pd.DataFrame, paper: Mapping[str, float]
) -> list[str]:
    published = paper["relative"]
    stated = (
        f"Published: {paper['surf']:.2f} % on the regular features and {paper['rcca']:.2f} % on "
        f"RCCA's, a relative gain of {published:.1f} %."
    )
    lines = []
    for rows, where in ((alike, "the same preprocessing for both"), (gains, "any two of them")):
        reached = rows[rows["relative_high"] >= published]
        largest = rows.sort_values("relative").iloc[-1]
        names = (
            f"RCCA with {PREPROCESSING_NAMES[largest['preprocessing']]} against the regular "
            f"features with {PREPROCESSING_NAMES[largest['reference_preprocessing']]}"
        )
        found = f"the largest is {largest['relative']:.1f} % ({names})"
        if len(reached):
            lines.append(f"With {where}, the published gain is reached within error; {found}.")
        else:
            lines.append(f"With {where}, no gain comes up to the published one; {found}.")
    return [stated, *lines]


def _levels(summary: pd.DataFrame, paper: Mapping[str, float]) -> list[str]:
    """Say which of the published levels is met."""
    lines = []
    for method in ("surf", "rcca"):
        rows = summary[summary["method"] == method]
        met = rows[(rows["test_low"] <= paper[method]) & (paper[method] <= rows["test_high"])]
        name = METHOD_NAMES[method]
        if len(met):
            where = ", ".join(PREPROCESSING_NAMES[each] for each in met["preprocessing"])
            lines.append(f"The published level of {name}, {paper[method]:.2f} %, is met ({where}).")
            continue
        low, high = rows["test_mean"].min(), rows["test_mean"].max()
        side = "below" if paper[method] < low else "above" if paper[method] > high else "between"
        lines.append(
            f"The published level of {name}, {paper[method]:.2f} %, lies {side} ours: "
            f"{low:.2f} to {high:.2f} %."
        )
    return lines


def _prepared(summary: pd.DataFrame, pairs: pd.DataFrame, best: Any) -> list[str]:
    """Set RCCA against the regular features as training rows prefer them."""
    baseline = _best(summary, ["surf", "surf-scaled"])
    found = _between(pairs, "rcca", baseline["method"])
    for column, side in (("preprocessing", best), ("reference_preprocessing", baseline)):
        found = found[found[column] == side["preprocessing"]]
    return [
        f"Both as training rows prefer them, RCCA with "
        f"{PREPROCESSING_NAMES[row['preprocessing']]} against "
        f"{METHOD_NAMES[row['reference']]} with "
        f"{PREPROCESSING_NAMES[row['reference_preprocessing']]}: {_interval(row)}, "
        f"{row['relative']:+.1f} % ({p_value(row['p'])}). {_survives(row)}"
        for row in found.to_dict("records")
    ]


def _survives(row: Any) -> str:
    if row["low"] > 0:
        return "A gain survives a well-prepared baseline."
    if row["high"] < 0:
        return "Against a well-prepared baseline RCCA loses."
    return "No gain over a well-prepared baseline is shown."


def _control(row: Any, words: str) -> str:
    if row["low"] > 0:
        finding = "the true ones do better"
    elif row["high"] < 0:
        finding = "the true ones do worse"
    else:
        finding = "no difference is shown"
    return (
        f"RCCA against RCCA with {words} "
        f"({PREPROCESSING_NAMES[row['preprocessing']]}): {_interval(row)}; {finding}."
    )


def _svm_plus(summary: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    if "svm+" not in set(summary["method"]):
        return []
    rows = _between(pairs, "svm+", "surf").to_dict("records")
    better = [row for row in rows if row["low"] > 0]
    each = "; ".join(
        f"{PREPROCESSING_NAMES[row['preprocessing']]} {_interval(row)}" for row in rows
    )
    says = "improves on the SVM somewhere" if better else "does not improve on the SVM"
    return [f"SVM+ {says}: {each}."]


def _oracle(summary: pd.DataFrame) -> list[str]:
    values = summary.groupby("method")["test_mean"].min()
    if not {"attributes", "attributes-permuted"} <= set(values.index):
        return []
    own, permuted = values["attributes"], values["attributes-permuted"]
    return [
        f"Attributes of the test rows, if they were known, give {own:.2f} %, and dealt out anew "
        f"among the animals {permuted:.2f} %: they are the animal's name, whatever they mean."
    ]
