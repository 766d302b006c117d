"""The verdict on learning with privileged information, in sentences made from the pairs alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import pandas as pd

from rnca._core.files import replacing
from workflow.stages.lupi.tables import METHOD_NAMES, PREPROCESSING_NAMES, p_value

_CONTROLS = {
    "rcca-permuted-animals": "the attributes permuted among the classes",
    "rcca-permuted-images": "the attributes permuted among the rows",
    "rcca-y": "the label alone",
    "rcca-attributes": "the attributes alone",
    "lda": "the class in place of attributes and label",
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
        Of `workflow.stages.lupi.tables`.
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
    """Say what an experiment shows: the conclusion, then a sentence for each finding."""
    gains = pairs[(pairs["method"] == "rcca") & (pairs["reference"] == "surf")]
    alike = gains[gains["preprocessing"] == gains["reference_preprocessing"]]
    best = _best(summary, ["rcca"])
    prepared = _prepared(summary, pairs, best)
    controls = {
        name: row
        for name in _CONTROLS
        if (row := _pair(pairs, "rcca", name, best["preprocessing"])) is not None
    }
    lines = [_conclusion(alike, prepared, controls.get("rcca-permuted-animals"), paper)]
    lines += [_gain(row) for row in alike.to_dict("records")]
    if paper is not None:
        lines += [*_beside_paper(alike, gains, paper), *_levels(summary, paper)]
    lines.append(_against_prepared(prepared))
    lines += [_control(row, _CONTROLS[name]) for name, row in controls.items()]
    return [*lines, *_svm_plus(pairs), *_oracle(summary)]


def _pair(pairs: pd.DataFrame, method: str, reference: str, preprocessing: str) -> Any:
    """Return the row of a pair with the same preprocessing; None if there is none."""
    found = pairs[
        (pairs["method"] == method)
        & (pairs["reference"] == reference)
        & (pairs["preprocessing"] == preprocessing)
        & (pairs["reference_preprocessing"] == preprocessing)
    ]
    return found.iloc[0] if len(found) else None


def _best(summary: pd.DataFrame, methods: Sequence[str]) -> Any:
    """Return the row that training rows alone would have chosen, by cross-validation."""
    rows = summary[summary["method"].isin(methods)]
    return rows.sort_values("cv_mean").iloc[-1]


def _prepared(summary: pd.DataFrame, pairs: pd.DataFrame, best: Any) -> Any:
    """Return RCCA against the regular features, both as training rows prefer them."""
    baseline = _best(summary, ["surf", "surf-scaled"])
    found = pairs[
        (pairs["method"] == "rcca")
        & (pairs["reference"] == baseline["method"])
        & (pairs["preprocessing"] == best["preprocessing"])
        & (pairs["reference_preprocessing"] == baseline["preprocessing"])
    ]
    return found.iloc[0]


def _conclusion(
    alike: pd.DataFrame, prepared: Any, permuted: Any, paper: Mapping[str, float] | None
) -> str:
    parts = []
    if paper is not None:
        reached = (alike["relative_high"] >= paper["relative"]).any()
        parts.append(
            f"the published gain of {paper['relative']:.1f} % is {'' if reached else 'not '}"
            "reached with the same preprocessing for both"
        )
    if prepared["low"] > 0:
        parts.append("a gain survives a well-prepared baseline")
    else:
        parts.append("no gain is left over a well-prepared baseline")
    if permuted is not None and permuted["low"] > 0:
        parts.append("and the true attributes do better than permuted ones")
    elif permuted is not None:
        parts.append("and permuted attributes do as well as the true ones")
    return f"In short: {', '.join(parts)}."


def _gain(row: Any) -> str:
    return (
        f"With {PREPROCESSING_NAMES[row['preprocessing']]} for both, the SVM reaches "
        f"{row['reference_mean']:.2f} % on the regular features and {row['mean']:.2f} % on RCCA's: "
        f"{_interval(row)}, a relative gain of {row['relative']:+.1f} % ({p_value(row['p'])})."
    )


def _interval(row: Any) -> str:
    return f"{row['difference']:+.2f} points [{row['low']:+.2f}, {row['high']:+.2f}]"


def _sides(row: Any) -> str:
    return (
        f"RCCA with {PREPROCESSING_NAMES[row['preprocessing']]} against "
        f"{METHOD_NAMES[row['reference']]} with "
        f"{PREPROCESSING_NAMES[row['reference_preprocessing']]}"
    )


def _beside_paper(
    alike: pd.DataFrame, gains: pd.DataFrame, paper: Mapping[str, float]
) -> list[str]:
    lines = [
        f"Published: {paper['surf']:.2f} % on the regular features and {paper['rcca']:.2f} % on "
        f"RCCA's, a relative gain of {paper['relative']:.1f} %."
    ]
    for rows, where in (
        (alike, "the same preprocessing for both"),
        (gains, "a preprocessing of its own for either"),
    ):
        largest = rows.sort_values("relative").iloc[-1]
        reached = largest["relative_high"] >= paper["relative"]
        lines.append(
            f"With {where} the largest relative gain is {largest['relative']:.1f} % "
            f"[{largest['relative_low']:.1f}, {largest['relative_high']:.1f}] ({_sides(largest)}): "
            f"the published one is {'within reach' if reached else 'not reached'}."
        )
    return lines


def _levels(summary: pd.DataFrame, paper: Mapping[str, float]) -> list[str]:
    """Say which of the two published levels is met."""
    lines = []
    for method, whose in (("surf", "the regular features"), ("rcca", "RCCA")):
        rows = summary[summary["method"] == method]
        level = f"The published level of {whose}, {paper[method]:.2f} %,"
        met = rows[(rows["test_low"] <= paper[method]) & (paper[method] <= rows["test_high"])]
        ours = f"ours run from {rows['test_mean'].min():.2f} to {rows['test_mean'].max():.2f} %"
        if len(met):
            where = ", ".join(PREPROCESSING_NAMES[each] for each in met["preprocessing"])
            lines.append(f"{level} is met with {where}; {ours}.")
        else:
            lines.append(f"{level} is met with no preprocessing: {ours}.")
    return lines


def _against_prepared(row: Any) -> str:
    if row["low"] > 0:
        finding = "A gain survives a well-prepared baseline."
    elif row["high"] < 0:
        finding = "Against a well-prepared baseline RCCA loses."
    else:
        finding = "No gain over a well-prepared baseline is shown."
    return (
        f"Both as training rows prefer them, {_sides(row)}: {_interval(row)}, "
        f"{row['relative']:+.1f} % ({p_value(row['p'])}). {finding}"
    )


def _control(row: Any, words: str) -> str:
    if row["low"] > 0:
        finding = "RCCA as published does better"
    elif row["high"] < 0:
        finding = "RCCA as published does worse"
    else:
        finding = "no difference is shown"
    return (
        f"RCCA less RCCA with {words} ({PREPROCESSING_NAMES[row['preprocessing']]}): "
        f"{_interval(row)}; {finding}."
    )


def _svm_plus(pairs: pd.DataFrame) -> list[str]:
    rows = pairs[pairs["method"] == "svm+"].to_dict("records")
    if not rows:
        return []
    better = [row for row in rows if row["low"] > 0]
    each = "; ".join(
        f"{PREPROCESSING_NAMES[row['preprocessing']]} {_interval(row)}" for row in rows
    )
    where = ", ".join(PREPROCESSING_NAMES[row["preprocessing"]] for row in better)
    says = f"improves on the SVM with {where}" if better else "does not improve on the SVM"
    return [f"SVM+ {says}: {each}."]


def _oracle(summary: pd.DataFrame) -> list[str]:
    values = summary.groupby("method")["test_mean"].min()
    if not {"attributes", "attributes-permuted"} <= set(values.index):
        return []
    own, permuted = values["attributes"], values["attributes-permuted"]
    line = (
        f"The attributes of test rows, if they were known, give {own:.2f} %, and permuted "
        f"among the classes {permuted:.2f} %"
    )
    if own == permuted == 100:
        return [f"{line}: they name the class, whatever they mean."]
    return [f"{line}."]
