"""The claims ledger: every empirical statement of the paper, decided by rules over result CSVs.

A rule names a CSV, rows of it, a statistic and a threshold. What it finds has held if the whole
confidence interval lies on the right side of the threshold, has failed if the whole of it lies on
the wrong side, and is open otherwise; or it has held if a prediction interval contains a published
number, and has failed if not. A claim is the conjunction of its findings. This module alone judges:
the page reads the ``claims.json`` that it writes.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from workflow.lib.job import job
from workflow.lib.provenance import read_csv, read_record, write_csv, write_text
from workflow.lib.tables import half_width


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    FAILED = "not reproduced"
    UNDECIDED = "undecided"
    STAND_IN = "stand-in"
    NOT_RUN = "not run"


SIGNS = dict(zip(Verdict, "✓✗?○–", strict=True))
# Of a finding, by `Finding.holds`.
RESULTS = {True: "held ✓", False: "failed ✗", None: "open ?"}
KEY = (
    "Each verdict is computed from the run's CSVs by rules written beside the claim. A finding has "
    "held ✓ if its whole 95 % confidence interval is on the right side of the rule's threshold, "
    "has failed ✗ if all of it is on the wrong side, and is open ? otherwise. Where a rule asks "
    "that an interval contain a number, it is the 95 % prediction interval of one more run. A rule "
    "is blind if no value that it decides on was known when it was written. A claim is the "
    "conjunction of its findings: reproduced ✓, all held; not reproduced ✗, at least one failed, "
    "above or below what the rule asks for; undecided ?, none failed and at least one is open or "
    "missing; stand-in ○, only data or sizes that stand in for the paper's were run, which decides "
    "nothing; not run –, there is no finding."
)
_TEXTS = ("id", "claim", "short", "place", "published", "margin")
_CLAIM_KEYS = {*_TEXTS, "ours", "rules"}
_RULE_KEYS = {
    "about", "csv", "protocol", "value", "where", "low", "high", "error", "sd", "point", "take",
    "unit", "each", "minus", "over", "at_least", "at_most", "contains", "predict", "median",
    "spread", "censored", "open_if", "figure", "written", "after_results",
}  # fmt: skip
_PROTOCOL_KEYS = {"csv", "where", "has", "stand_in"}
# Of the values there are, in increasing order.
_RANKS = {"min": 0, "max": -1}

_ON_EDGE = "chosen on the edge of its grid"
_CENSORED = "a fit was cut off while it still improved"

Rule = Mapping[str, Any]
Reader = Callable[[Path], pd.DataFrame]


@dataclass(frozen=True)
class Finding:
    """What one rule found in one group of rows."""

    claim: str
    about: str
    data: str  # the datasets of the rows
    stand_in: bool  # whether these stand in for those of the paper's protocol
    csv: str  # relative to the run's directory, as is the figure, which may be empty
    figure: str
    value: float  # the statistic, and its confidence interval
    low: float
    high: float
    rows: int  # or pairs of rows, that it stands on
    holds: bool | None  # None where the interval contains the threshold
    at_least: float  # the threshold, in numbers and in words
    at_most: float
    rule: str
    written: str  # when the rule was, and whether a value that it decides on was known
    after_results: bool
    note: str

    @property
    def side(self) -> str:
        """On which side of the threshold a finding that failed lies."""
        return "" if self.holds is not False else "above" if self.low > self.at_most else "below"


@dataclass(frozen=True)
class Judgement:
    """A claim with what was found on it."""

    claim: Mapping[str, Any]
    findings: Sequence[Finding]
    missing: Sequence[str]

    @property
    def _counted(self) -> list[Finding]:
        """The findings on the paper's protocol; without any, those on stand-ins."""
        on_protocol = [finding for finding in self.findings if not finding.stand_in]
        return on_protocol or list(self.findings)

    @property
    def verdict(self) -> Verdict:
        """The conjunction of the findings."""
        findings = self._counted
        if not findings:
            return Verdict.NOT_RUN
        if findings[0].stand_in:
            return Verdict.STAND_IN
        if any(finding.holds is False for finding in findings):
            return Verdict.FAILED
        return Verdict.REPRODUCED if self.held == self.asked else Verdict.UNDECIDED

    @property
    def direction(self) -> str:
        """Where the findings that failed lie: above what the rules ask for, below it, or mixed."""
        sides = {finding.side for finding in self._counted} - {""}
        return "mixed" if len(sides) > 1 else "".join(sides)

    @property
    def asked(self) -> int:
        """How many findings the verdict rests on, with those that are missing."""
        return len(self.findings) + len(self.missing)

    @property
    def held(self) -> int:
        """How many of these held."""
        return sum(finding.holds is True for finding in self._counted)

    @property
    def held_of(self) -> str:
        """How many findings held, of how many, in words."""
        return f"held {self.held} of {self.asked}" if self.findings else ""

    @property
    def is_ours(self) -> bool:
        """Whether the claim is not the paper's but a check of our own."""
        return bool(self.claim.get("ours"))


def read_claims(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Read the claims, each with its rules in full, and refuse unknown keys.

    The file's first lines say what its keys mean.
    """
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    protocols, claims = content["protocols"], content["claims"]
    ids = [claim["id"] for claim in claims]
    if len(set(ids)) < len(ids):
        raise ValueError(f"{path}: an id stands twice among {ids}; ids must be unique.")
    for name, protocol in protocols.items():
        _refuse_unknown(path, f"protocol {name!r}", protocol, _PROTOCOL_KEYS)
    return [_in_full(path, claim, protocols) for claim in claims]


def _in_full(path: Any, claim: Rule, protocols: Mapping[str, Any]) -> dict[str, Any]:
    _refuse_unknown(path, f"claim {claim['id']!r}", claim, _CLAIM_KEYS | _RULE_KEYS)
    defaults = {key: value for key, value in claim.items() if key in _RULE_KEYS}
    rules = []
    for own in claim.get("rules", [{}]):
        _refuse_unknown(path, f"a rule of claim {claim['id']!r}", own, _RULE_KEYS)
        rule = defaults | own | {"where": defaults.get("where", {}) | own.get("where", {})}
        if missing := {"about", "csv", "value", "written"} - set(rule):
            raise ValueError(f"{path}: a rule of claim {claim['id']!r} has no {sorted(missing)}.")
        if "protocol" in rule:
            if rule["protocol"] not in protocols:
                known = ", ".join(protocols)
                raise ValueError(f"{path}: protocol {rule['protocol']!r} is none of {known}.")
            rule["protocol"] = protocols[rule["protocol"]]
        rules.append(rule)
    texts = {key: str(claim[key]) for key in _TEXTS if key in claim}
    return texts | {"ours": bool(claim.get("ours")), "rules": rules}


def _refuse_unknown(path: Any, what: str, given: Rule, known: set[str]) -> None:
    if unknown := set(given) - known:
        raise ValueError(f"{path}: {what} has the keys {sorted(unknown)}; known: {sorted(known)}.")


def files_of(exhibits: Iterable[str], results: Path) -> set[Path]:
    """Return what the jobs of a run's exhibits have read and written.

    A directory may also hold what was made before a stage or experiment was taken out of the
    settings.
    """
    found = set()
    for exhibit in map(Path, exhibits):
        if results in exhibit.parents and results / "requests" not in exhibit.parents:
            record = read_record(exhibit)
            found |= {Path(file) for file in (*record["inputs"], *record["outputs"])}
    return found


def judge(
    claims: Sequence[Mapping[str, Any]],
    results: str | PathLike[str],
    read: Reader = read_csv,
    files: Collection[Path] | None = None,
) -> list[Judgement]:
    """Decide every claim of `read_claims` from the CSVs of a run; of `files_of` alone if given.

    By default a CSV is only read if it is just as its job wrote it.
    """
    run = Run(Path(results), read, files)
    judgements = []
    for claim in claims:
        findings, missing = list[Finding](), list[str]()
        for rule in claim["rules"]:
            found = list(_findings(str(claim["id"]), rule, run))
            findings += found
            missing += [] if found else [str(rule["about"])]
        judgements.append(Judgement(claim, findings, missing))
    return judgements


class Source(NamedTuple):
    """The experiments that a rule may use; all where it has no protocol."""

    experiments: Sequence[str] | None = None
    data: str = ""
    stand_in: bool = False


@dataclass(frozen=True)
class Run:
    """Where the CSVs are, how they are read, which may be read, and those that were."""

    directory: Path
    read: Reader
    files: Collection[Path] | None
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)

    def rows(self, csv: str, experiments: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows of a CSV that belong to the experiments; none if there is no CSV."""
        if csv not in self.frames:
            file = self.directory / csv
            there = file.is_file() and (self.files is None or file in self.files)
            frame = self.read(file) if there else pd.DataFrame()
            self.frames[csv] = frame[frame["not_run"].isna()] if "not_run" in frame else frame
        frame = self.frames[csv]
        if experiments is None or "experiment" not in frame:
            return frame
        return frame[frame["experiment"].isin(experiments)]

    def source(self, protocol: Rule | None) -> Source:
        """Find the experiments of a protocol by their settings, or those that stand in for it."""
        if protocol is None:
            return Source()
        rows = self.rows(protocol["csv"])
        found = _select(rows, protocol["where"])
        for column, values in protocol.get("has", {}).items():
            if len(found):
                there = found.groupby("experiment")[column].agg(set)
                complete = [name for name, own in there.items() if own >= set(values)]
                found = found[found["experiment"].isin(complete)]
        is_stand_in = found.empty and "stand_in" in protocol
        if is_stand_in:
            found = _select(rows, protocol["stand_in"])
        if found.empty:
            return Source([])
        data = ", ".join(sorted(found["dataset"].dropna().unique()))
        return Source(list(found["experiment"].unique()), data, is_stand_in)


def _findings(claim: str, rule: Rule, run: Run) -> Iterator[Finding]:
    """Apply a rule to its CSV, if the run has rows of it."""
    source = run.source(rule.get("protocol"))
    where = rule.get("where", {})
    # The largest m of a group may not be that of another: ranks count within groups.
    ranked = {key: wanted for key, wanted in where.items() if wanted in list(_RANKS)}
    plain = {key: wanted for key, wanted in where.items() if key not in ranked}
    rows = _select(run.rows(rule["csv"], source.experiments), plain)
    # A column may have come with a later version than the run's.
    if rows.empty or rule["value"] not in rows:
        return
    each = rule.get("each", [])
    groups: Any = rows.groupby(each, sort=False) if each else [((), rows)]
    for key, whole in groups:
        group = _select(whole, ranked)
        sample = _sample(group, rule, run, source)
        if len(sample):
            about = ", ".join([str(rule["about"]), *map(_spelled, each, key)])
            notes = []
            if rule.get("open_if") in group and group[rule["open_if"]].any():
                notes.append(_ON_EDGE)
            if sample.attrs.get("censored"):
                notes.append(_CENSORED)
            # Intervals that predict hold for all groups of a rule together.
            yield _finding(claim, rule, about, source, sample, len(groups), notes)


def _select(frame: pd.DataFrame, where: Rule) -> pd.DataFrame:
    """Rows whose columns have the values asked for, or the value of a rank of `_RANKS`."""
    for column, wanted in where.items():
        if column not in frame or not len(frame):
            return frame[:0]
        if isinstance(wanted, str) and wanted in (*_RANKS, "previous"):
            there = np.unique(frame[column].dropna())
            wanted = there[_RANKS.get(wanted, -1)]
        values = wanted if isinstance(wanted, list) else [wanted]
        frame = frame[frame[column].isin(values)]
    return frame


def _spelled(column: str, value: Any) -> str:
    """Write a name as it is, and a count as one even if missing ones made floats of its column."""
    if isinstance(value, str):
        return value
    return f"{column} = {value:.0f}" if float(value).is_integer() else f"{column} = {value}"


def _sample(group: pd.DataFrame, rule: Rule, run: Run, source: Source) -> pd.DataFrame:
    """Return the values, with bounds if the CSV has them; paired with others if asked for.

    A value from a fit that was cut off while it improved is a bound; ``attrs`` says on which side.
    """
    values = pd.DataFrame({"value": _per_unit(group, rule["value"], rule)})
    censored = {"low"} if _is_censored(group, rule) else set()
    if relation := {"minus", "over"} & set(rule):
        values, others = _paired(values, group, rule, kind := relation.pop(), run, source)
        censored |= {"high"} if _is_censored(others, rule[kind]) else set()
    elif "low" in rule:
        values[["low", "high"]] = group[[rule["low"], rule["high"]]].to_numpy(float)
    elif "error" in rule or ("sd" in rule and "predict" not in rule):
        half = _half_width(group, rule)
        values = values.assign(low=values["value"] - half, high=values["value"] + half)
    elif "sd" in rule:
        values[["sd", "repeats"]] = group[[rule["sd"], "repeats"]].to_numpy(float)
    found: pd.DataFrame = values[np.isfinite(values["value"])]
    if "take" in rule and len(found):
        found = found.sort_values("value", ascending=rule["take"] == "min").head(1)
    found.attrs["censored"] = censored
    return found


def _is_censored(rows: pd.DataFrame, rule: Rule) -> bool:
    """Tell whether two columns that the rule names are equal in a row, such as best and last."""
    best, last = rule.get("censored", (None, None))
    return best in rows and last in rows and bool((rows[best] == rows[last]).any())


def _per_unit(rows: pd.DataFrame, column: str, rule: Rule) -> "pd.Series[float]":
    """Average over the rows of a repeat, speaker or whatever is the unit that was drawn anew."""
    if rule.get("unit") in rows:
        return rows.groupby(rule["unit"])[column].mean().astype(float)
    return rows[column].astype(float)


def _paired(
    values: pd.DataFrame, group: pd.DataFrame, rule: Rule, relation: str, run: Run, source: Source
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Differences from, or ratios to, another column of the rows, or the same unit's other rows.

    Units that one side lacks do not count. The others are a constant if their CSV has no units.
    Returns the pairs, and the other rows.
    """
    other, column = rule[relation], rule[relation].get("value", rule["value"])
    rows = group
    if "where" in other or "csv" in other:
        rows = run.rows(other.get("csv", rule["csv"]), source.experiments)
        # First: the least m there is must be that of the same map, not of linear CCA.
        for key in other.get("same", []):
            rows = rows[rows[key].isin(group[key])]
        rows = _select(_before(rows, other.get("where", {}), group), other.get("where", {}))
        # Where there is one m alone, the largest compared with the least is compared with itself.
        is_same = "csv" not in other and column == rule["value"] and rows.index.equals(group.index)
        if not len(rows) or is_same:
            return values[:0], rows
    others = _per_unit(rows, column, rule)
    if rows is not group and rule.get("unit") not in rows:
        others = pd.Series(others.mean(), index=values.index)
    left, right = values["value"].align(others, join="inner")
    return pd.DataFrame({"value": left - right if relation == "minus" else left / right}), rows


def _before(rows: pd.DataFrame, where: Rule, group: pd.DataFrame) -> pd.DataFrame:
    """Leave the rows before the group's, of the columns whose ``previous`` value is asked for."""
    for column, wanted in where.items():
        if wanted == "previous" and column in rows:
            rows = rows[rows[column] < group[column].min()]
    return rows


def _half_width(group: pd.DataFrame, rule: Rule) -> "pd.Series[float]":
    """Half the interval by Student's t from a standard error, or a deviation over repeats."""
    if "sd" in rule:
        error, freedom = group[rule["sd"]] / np.sqrt(group["repeats"]), group["repeats"] - 1
    else:
        error, freedom = group[rule["error"]], group["freedom"]
    half = half_width(error, freedom)
    unlimited: pd.Series[float] = half.where(freedom >= 1, np.inf).fillna(np.inf)
    return unlimited


def _finding(
    claim: str,
    rule: Rule,
    about: str,
    source: Source,
    sample: pd.DataFrame,
    groups: int,
    notes: Sequence[str],
) -> Finding:
    value, low, high = _estimate(sample, rule, groups)
    censored = sample.attrs.get("censored", ())
    # What is at least the value has no upper bound.
    low, high = -np.inf if "high" in censored else low, np.inf if "low" in censored else high
    target = rule.get("contains")
    least, most = rule.get("at_least", -np.inf), rule.get("at_most", np.inf)
    holds = True if least <= low and high <= most else None
    if target is not None:
        least = most = target
        holds = True if np.isfinite(high - low) else None
    if high < least or low > most:
        holds = False
    # An edge of a grid can hide a gain, never undo one.
    holds = None if _ON_EDGE in notes and holds else holds
    return Finding(
        claim=claim,
        about=about,
        data=source.data,
        stand_in=source.stand_in,
        csv=rule["csv"],
        figure=str(rule.get("figure", "")),
        value=value,
        low=low,
        high=high,
        rows=len(sample),
        holds=holds,
        at_least=least,
        at_most=most,
        rule=_threshold(least, most) if target is None else f"contains {target:g}",
        written=str(rule["written"]),
        after_results=bool(rule.get("after_results")),
        note="; ".join(notes),
    )


def _estimate(sample: pd.DataFrame, rule: Rule, groups: int) -> tuple[float, float, float]:
    """Mean or median, with the bounds that the CSV has or those that the rows give.

    One value has no interval and decides nothing, unless the rule says that it has no spread, or
    gives as its ``spread`` the standard deviation of earlier runs and their number.
    """
    values = sample["value"]
    value = float(values.median() if "median" in rule else values.mean())
    if rule.get("point"):
        return value, value, value
    if {"low", "high"} <= set(sample.columns):
        return value, float(sample["low"].mean()), float(sample["high"].mean())
    if "median" in rule:
        return value, *_around_median(np.sort(values))
    n, sd = len(sample), float(values.std())
    freedom = n - 1
    if "sd" in sample:
        n, sd = int(sample["repeats"].iloc[0]), float(sample["sd"].iloc[0])
        freedom = n - 1
    if n == 1:
        if "spread" not in rule:
            return value, -np.inf, np.inf
        sd, runs = rule["spread"]
        freedom = runs - 1
    if "predict" in rule:
        # For the mean of so many more runs, in all groups of the rule together.
        error = sd * np.sqrt(1 / n + 1 / rule["predict"])
        half = float(error * stats.t.ppf(1 - 0.025 / groups, freedom))
    else:
        half = float(half_width(sd, freedom) / np.sqrt(n))
    return value, value - half, value + half


def _around_median(ordered: Any) -> tuple[float, float]:
    """Return the 95 % interval of a median from order statistics; there is none of five values."""
    n = len(ordered)
    below = int(stats.binom.ppf(0.025, n, 0.5))
    if below == 0:
        return -np.inf, np.inf
    return float(ordered[below - 1]), float(ordered[n - below])


def _threshold(least: float, most: float) -> str:
    if least > -np.inf and most < np.inf:
        return f"{least:g} to {most:g}"
    return f"at least {least:g}" if least > -np.inf else f"at most {most:g}"


def ledger(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """One row per finding, and one per claim that was not run."""
    rows = []
    for judgement in judgements:
        common = {
            "claim": judgement.claim["id"],
            "verdict": str(judgement.verdict),
            "direction": judgement.direction,
            "held": judgement.held_of,
            "ours": judgement.is_ours,
            "published": judgement.claim["published"],
        }
        rows += [{**vars(finding), **common} for finding in judgement.findings]
        if not judgement.findings:
            rows.append({**common, "about": "; ".join(judgement.missing)})
    columns = ["verdict", "direction", "held", "ours", "published", *Finding.__dataclass_fields__]
    return pd.DataFrame(rows, columns=columns)


def as_json(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the ledger as the page reads it; infinite bounds and thresholds are null."""
    claims = []
    for judgement in judgements:
        claim = judgement.claim
        rules = [
            {key: rule.get(key, "") for key in ("about", "csv", "figure")}
            for rule in claim["rules"]
        ]
        claims.append(
            {key: claim.get(key, "") for key in _TEXTS}
            | {"ours": judgement.is_ours, "verdict": str(judgement.verdict)}
            | {"direction": judgement.direction, "held": judgement.held, "asked": judgement.asked}
            | {"dates": dates(judgement), "rules": rules, "missing": list(judgement.missing)}
            | {"findings": [_told(finding) for finding in judgement.findings]}
        )
    counts = Counter(claim["verdict"] for claim in claims)
    found = {str(verdict): counts[verdict] for verdict in Verdict}
    return {"counts": found, "blind": blind(judgements), "claims": claims}


def _told(finding: Finding) -> dict[str, Any]:
    """Return a finding in numbers, and as it is shown."""
    values = {key: value for key, value in vars(finding).items() if key != "claim"}
    numbers = {key: None if value in (np.inf, -np.inf) else value for key, value in values.items()}
    spread = interval(finding) and f" ({interval(finding)})"
    return numbers | {
        "shown": f"{shown_number(finding.value)}{spread}",
        "result": RESULTS[finding.holds],
    }


def divided(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Divide the judgements into the paper's claims and checks of our own."""
    return {
        "claims of the paper": [each for each in judgements if not each.is_ours],
        "checks of our own": [each for each in judgements if each.is_ours],
    }


def counts(judgements: Sequence[Judgement]) -> str:
    """Say how many claims there are of each verdict, the paper's and ours apart."""
    sentences = []
    for what, those in divided(judgements).items():
        found = Counter(judgement.verdict for judgement in those)
        shown = [f"{found[verdict]} {verdict}" for verdict in Verdict if found[verdict]]
        sentences += [f"{len(those)} {what}: {', '.join(shown)}."] if those else []
    return " ".join(sentences)


def blind(judgements: Sequence[Judgement]) -> str:
    """Say how many rules there are, and how many were written before results."""
    rules = [rule for judgement in judgements for rule in judgement.claim["rules"]]
    before = sum(not rule.get("after_results") for rule in rules)
    return f"Of {len(rules)} rules, {before} were written blind."


def write_claims(path: str | PathLike[str], judgements: Sequence[Judgement]) -> None:
    """Write the ledger in Markdown: counts, a key, then a section per claim with its evidence."""
    is_run = any(judgement.findings for judgement in judgements)
    nothing = f"nothing that the {len(judgements)} claims rest on was run."
    lines = [counts(judgements) if is_run else nothing, "", f"{blind(judgements)} {KEY}", ""]
    for what, those in divided(judgements).items():
        lines += [f"## {what[0].upper()}{what[1:]}", ""] if those else []
        for judgement in those:
            claim = judgement.claim
            parts = (judgement.verdict, judgement.direction, judgement.held_of)
            lines += [
                f"### {claim['claim']}",
                "",
                f"**{', '.join(filter(None, parts))}** · `{claim['id']}` · {claim['place']} · "
                f"published: {claim['published']} · {dates(judgement)}",
                "",
                *([f"Margin: {claim['margin']}", ""] if claim.get("margin") else []),
                *[f"- {sentence(finding)}" for finding in judgement.findings],
                *[f"- not run: {about}" for about in judgement.missing],
                "",
            ]
    write_text(path, "\n".join(lines))


def dates(judgement: Judgement) -> str:
    """Say when the rules were written, and which of them after first results."""
    written = dict.fromkeys(
        f"{rule['written']}, {'after first results' if rule.get('after_results') else 'blind'}"
        for rule in judgement.claim["rules"]
    )
    return f"rule{'s' if len(judgement.claim['rules']) > 1 else ''} written {'; '.join(written)}"


def sentence(finding: Finding) -> str:
    """Say what one rule found, on which data, and what it asks for."""
    spread = interval(finding) and f" [{interval(finding)}]"
    data = f" on {finding.data}" if finding.data else ""
    data += " (stand-in)" if finding.stand_in else ""
    note = f"; {finding.note}" if finding.note else ""
    return (
        f"{finding.about}{data}: {shown_number(finding.value)}{spread} ({finding.rule}) "
        f"{RESULTS[finding.holds]}{note} (`{finding.csv}`)"
    )


def interval(finding: Finding) -> str:
    """Write the confidence interval, if the finding needs one."""
    if finding.low == finding.high:
        return ""
    if not np.isfinite(finding.high):
        is_bounded = np.isfinite(finding.low)
        return f"{shown_number(finding.low)} or more" if is_bounded else "no interval"
    return f"{shown_number(finding.low)} to {shown_number(finding.high)}"


def shown_number(value: float) -> str:
    """Write two decimals, of a small number two digits, of a large one none."""
    size = abs(value)
    return f"{value:.0f}" if size >= 100 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


if __name__ == "__main__":
    with job(snakemake):
        results = Path(snakemake.output.csv).parents[1]
        files = files_of(snakemake.input, results)
        judgements = judge(read_claims(snakemake.input.claims), results, files=files)
        write_csv(snakemake.output.csv, ledger(judgements))
        write_claims(snakemake.output.markdown, judgements)
        text = json.dumps(as_json(judgements), indent=1, ensure_ascii=False, allow_nan=False)
        write_text(snakemake.output.json, text + "\n")
