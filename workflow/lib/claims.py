"""The claims ledger: every empirical statement of the paper, decided by rules over result CSVs.

A rule names a CSV, rows of it, a statistic and a threshold. It holds if the whole confidence
interval lies on the right side of the threshold, fails if the whole of it lies on the wrong side,
and is open otherwise. The verdict on a claim follows from its rules and from nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from workflow.lib.provenance import read_csv

REPRODUCED, PARTLY, FAILED, NOT_RUN = "reproduced", "partly", "not reproduced", "not run"
VERDICTS = (REPRODUCED, PARTLY, FAILED, NOT_RUN)
CONFIDENCE = 0.95
# Of the values there are, in increasing order.
_RANKS = {"min": 0, "before max": -2, "max": -1}
_KEYS = {
    "about", "csv", "experiment", "value", "where", "low", "high", "error", "take", "repeat",
    "each", "minus", "over", "at_least", "at_most", "confidence", "figure",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What one rule found in one group of rows.

    Attributes
    ----------
    claim : str
        Id of the claim.
    about : str
        What was looked at.
    data : str
        The datasets of the rows.
    csv, figure : str
        Evidence, relative to the run's directory; the figure may be empty.
    value, low, high : float
        The statistic and its confidence interval, of no width where there is one row.
    rows : int
        Rows, or pairs of rows, that it stands on.
    holds : bool or None
        None where the interval has the threshold in it.
    rule : str
        The threshold in words.
    """

    claim: str
    about: str
    data: str
    csv: str
    figure: str
    value: float
    low: float
    high: float
    rows: int
    holds: bool | None
    rule: str


@dataclass(frozen=True)
class Judgement:
    """A claim with what was found on it."""

    claim: Mapping[str, Any]
    findings: Sequence[Finding]
    missing: Sequence[str]

    @property
    def verdict(self) -> str:
        """Reproduced if every rule holds, not reproduced if every rule fails, partly between."""
        if not self.findings:
            return NOT_RUN
        held = {finding.holds for finding in self.findings}
        if held == {True} and not self.missing:
            return REPRODUCED
        return FAILED if held == {False} else PARTLY


def read_claims(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Read the claims, and refuse rules with unknown keys.

    Each has ``id``, ``claim`` (in our words), ``place``, ``published`` and ``rules``.
    """
    claims: list[dict[str, Any]] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    ids = [claim["id"] for claim in claims]
    if len(set(ids)) < len(ids):
        raise ValueError(f"{path}: an id stands twice among {ids}; ids must be unique.")
    for claim in claims:
        for rule in claim["rules"]:
            if unknown := set(rule) - _KEYS:
                raise ValueError(
                    f"{path}: claim {claim['id']!r} has a rule with the keys {sorted(unknown)}; "
                    f"known are {sorted(_KEYS)}."
                )
    return claims


def judge(claims: Sequence[Mapping[str, Any]], results: str | PathLike[str]) -> list[Judgement]:
    """Decide every claim from the CSVs of a run.

    Parameters
    ----------
    claims : sequence of mapping
        Of `read_claims`.
    results : path
        Directory of the run.
    """
    return [_judge(claim, Path(results)) for claim in claims]


def _judge(claim: Mapping[str, Any], results: Path) -> Judgement:
    findings: list[Finding] = []
    missing: list[str] = []
    for rule in claim["rules"]:
        found = list(_findings(str(claim["id"]), rule, results))
        findings += found
        if not found:
            missing.append(str(rule["about"]))
    return Judgement(claim, findings, missing)


def _findings(claim: str, rule: Mapping[str, Any], results: Path) -> Iterator[Finding]:
    """Apply a rule to its CSV, if the run has rows of it."""
    frame = _rows(rule, results)
    rows = _select(frame, rule.get("where", {})) if len(frame) else frame
    for name, group in _groups(rows, rule.get("each", [])) if len(rows) else ():
        sample = _sample(group, frame, rule, results)
        if len(sample):
            yield _finding(claim, rule, rule["csv"], name, group, sample)


def _rows(rule: Mapping[str, Any], results: Path) -> pd.DataFrame:
    """Read a rule's CSV: the rows of the first of its experiments that was run."""
    if not (results / rule["csv"]).is_file():
        return pd.DataFrame()
    frame = read_csv(results / rule["csv"])
    if "not_run" in frame:
        frame = frame[frame["not_run"].isna()]
    if "experiment" not in rule:
        return frame
    wanted = rule["experiment"]
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if len(rows := frame[frame["experiment"] == name]):
            return rows
    return pd.DataFrame()


def _select(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose columns have the values asked for, or the value of a rank of `_RANKS`."""
    for column, wanted in where.items():
        if isinstance(wanted, str) and wanted in _RANKS and len(frame):
            there = np.unique(frame[column].dropna())
            wanted = there[max(_RANKS[wanted], -len(there))]
        values = wanted if isinstance(wanted, list) else [wanted]
        frame = frame[frame[column].isin(values)]
    return frame


def _groups(rows: pd.DataFrame, columns: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    if not columns:
        yield "", rows
        return
    for key, group in rows.groupby(columns, sort=False):
        named = zip(columns, key, strict=True)
        yield ", ".join(f"{column} = {_spelled(value)}" for column, value in named), group


def _spelled(value: Any) -> str:
    """Write a count as one, also where missing ones have made floats of its column."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else f"{value}"


def _sample(
    group: pd.DataFrame, frame: pd.DataFrame, rule: Mapping[str, Any], results: Path
) -> pd.DataFrame:
    """Return the values, with bounds if the CSV has them; paired with others if asked for."""
    columns = {"value": rule["value"], "low": rule.get("low"), "high": rule.get("high")}
    present = {new: old for new, old in columns.items() if old is not None}
    values = pd.DataFrame({new: group[old].astype(float) for new, old in present.items()})
    if "error" in rule:
        half = _two_sided(rule) * group[rule["error"]]
        values = values.assign(low=values["value"] - half, high=values["value"] + half)
    for relation in ("minus", "over"):
        if relation in rule:
            values = _paired(group, frame, rule, relation, results)
    values = values.replace([np.inf, -np.inf], np.nan).dropna()
    if "take" in rule and len(values):
        return values.loc[[getattr(values["value"], f"idx{rule['take']}")()]]
    return values


def _two_sided(rule: Mapping[str, Any]) -> float:
    """Quantile of the normal distribution for a rule's confidence."""
    return float(stats.norm.ppf((1 + float(rule.get("confidence", CONFIDENCE))) / 2))


def _paired(
    group: pd.DataFrame, frame: pd.DataFrame, rule: Mapping[str, Any], relation: str, results: Path
) -> pd.DataFrame:
    """Differences from, or ratios to, another column of the rows, or other rows by repeat."""
    other = rule[relation]
    column = other.get("value", rule["value"])
    if "where" not in other and "csv" not in other:
        others = group[column]
    else:
        others = _others(group, frame, rule, other, column, results)
    left, right = (side.to_numpy(float) for side in (group[rule["value"]], others))
    return pd.DataFrame({"value": left - right if relation == "minus" else left / right})


def _others(
    group: pd.DataFrame,
    frame: pd.DataFrame,
    rule: Mapping[str, Any],
    other: Mapping[str, Any],
    column: str,
    results: Path,
) -> "pd.Series[float]":
    """Return the other side of each row: that of the same repeat, else the mean of all."""
    if "csv" in other:
        frame = _rows(other, results)
        if not len(frame):
            frame = pd.DataFrame(columns=[column])
    # First: the least m there is must be that of the same map, not of linear CCA.
    for key in other.get("same", []):
        frame = frame[frame[key].isin(group[key])]
    baseline = _select(frame, other.get("where", {}))
    repeat = rule.get("repeat")
    if repeat in baseline and set(group[repeat]) <= set(baseline[repeat]):
        return group[repeat].map(baseline.groupby(repeat)[column].mean())
    return pd.Series(baseline[column].mean(), index=group.index, dtype=float)


def _finding(
    claim: str,
    rule: Mapping[str, Any],
    source: str,
    name: str,
    group: pd.DataFrame,
    sample: pd.DataFrame,
) -> Finding:
    value, low, high = _interval(sample, float(rule.get("confidence", CONFIDENCE)))
    least, most = rule.get("at_least", -np.inf), rule.get("at_most", np.inf)
    holds = True if least <= low and high <= most else None
    if high < least or low > most:
        holds = False
    datasets = sorted(set(group["dataset"].astype(str))) if "dataset" in group else []
    return Finding(
        claim=claim,
        about=", ".join(filter(None, [str(rule["about"]), name])),
        data=", ".join(datasets),
        csv=source,
        figure=str(rule.get("figure", "")),
        value=value,
        low=low,
        high=high,
        rows=len(sample),
        holds=holds,
        rule=_threshold(least, most),
    )


def _interval(sample: pd.DataFrame, confidence: float) -> tuple[float, float, float]:
    """Mean, with the bounds that the CSV has or those of Student's t over the rows."""
    value = float(sample["value"].mean())
    if {"low", "high"} <= set(sample.columns):
        return value, float(sample["low"].mean()), float(sample["high"].mean())
    n = len(sample)
    if n == 1:
        return value, value, value
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1) * sample["value"].std() / np.sqrt(n))
    return value, value - half, value + half


def _threshold(least: float, most: float) -> str:
    if least > -np.inf and most < np.inf:
        return f"between {least:g} and {most:g}"
    return f"at least {least:g}" if least > -np.inf else f"at most {most:g}"


def ledger(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """One row per finding, and one per claim that was not run."""
    rows = []
    for judgement in judgements:
        common = {
            "claim": judgement.claim["id"],
            "verdict": judgement.verdict,
            "published": judgement.claim["published"],
        }
        rows += [{**vars(finding), **common} for finding in judgement.findings]
        if not judgement.findings:
            rows.append({**common, "about": "; ".join(judgement.missing)})
    return pd.DataFrame(rows, columns=["verdict", "published", *Finding.__dataclass_fields__])
