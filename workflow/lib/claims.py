"""The claims ledger: every empirical statement of the paper, decided by rules over result CSVs.

A rule names a CSV, rows of it, a statistic and a threshold. What it finds has held if the whole
confidence interval lies on the right side of the threshold, has failed if the whole of it lies on
the wrong side, and is open otherwise. The verdict on a claim follows from its findings alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from workflow.lib.provenance import read_csv, read_record

VERDICTS = REPRODUCED, PARTLY, FAILED, UNDECIDED, STAND_IN, NOT_RUN = (
    "reproduced", "partly", "not reproduced", "undecided", "stand-in", "not run",
)  # fmt: skip
SIGNS = dict(zip(VERDICTS, "✓≈✗?○–", strict=True))
# Of a finding, by `Finding.holds`.
RESULTS = {True: "held ✓", False: "failed ✗", None: "open ?"}
KEY = (
    "Each verdict is computed from the run's CSVs by rules written beside the claim. A finding has "
    "held ✓ if its whole 95 % confidence interval is on the right side of the rule's threshold, "
    "has failed ✗ if all of it is on the wrong side, and is open ? otherwise. Claims: reproduced "
    "✓, every finding held; not reproduced ✗, every finding failed; undecided ?, every finding is "
    "open; stand-in ○, only data or sizes that stand in for the paper's were run, which decides "
    "nothing; not run –, there is no finding; partly ≈, the rest."
)
CONFIDENCE = 0.95
# Of the values there are, in increasing order.
_RANKS = {"min": 0, "before max": -2, "max": -1}
_CLAIM_KEYS = {"id", "claim", "short", "place", "published", "ours", "rules"}
_RULE_KEYS = {
    "about", "csv", "protocol", "value", "where", "low", "high", "error", "sd", "point", "take",
    "unit", "each", "minus", "over", "at_least", "at_most", "open_if", "figure", "written",
    "after_results",
}  # fmt: skip
_PROTOCOL_KEYS = {"csv", "where", "has", "stand_in"}

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
    rule: str  # the threshold in words
    written: str  # when the rule was, and whether first results were known


@dataclass(frozen=True)
class Judgement:
    """A claim with what was found on it."""

    claim: Mapping[str, Any]
    findings: Sequence[Finding]
    missing: Sequence[str]

    @property
    def _counted(self) -> list[Finding]:
        """The findings on the paper's protocol; without any, those on stand-ins."""
        return [each for each in self.findings if not each.stand_in] or list(self.findings)

    @property
    def verdict(self) -> str:
        """Reproduced if every finding held, not reproduced if every one failed, partly between."""
        found = self._counted
        if not found:
            return NOT_RUN
        if found[0].stand_in:
            return STAND_IN
        held = {each.holds for each in found}
        if held == {None}:
            return UNDECIDED
        if held == {True} and len(found) == self.asked:
            return REPRODUCED
        return FAILED if held == {False} else PARTLY

    @property
    def asked(self) -> int:
        """How many findings the verdict rests on, with those that are missing."""
        return len(self.findings) + len(self.missing)

    @property
    def held(self) -> str:
        """How many findings held, of how many."""
        held = sum(each.holds is True for each in self._counted)
        return f"held {held} of {self.asked}" if self.findings else ""

    @property
    def is_ours(self) -> bool:
        """Whether the claim is not the paper's but a check of our own."""
        return bool(self.claim.get("ours"))


def read_claims(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Read the claims, each with its rules in full, and refuse unknown keys.

    Each has ``id``, ``claim`` (in our words), ``place``, ``published`` and ``rules``; some have
    ``short``, a name for lists. In the file, keys of a rule that stand with the claim are defaults
    for its rules; a claim without ``rules`` is its only one. ``protocol`` names an entry of the
    file's ``protocols``.
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
    return {key: claim[key] for key in _CLAIM_KEYS if key in claim} | {"rules": rules}


def _refuse_unknown(path: Any, what: str, given: Rule, known: set[str]) -> None:
    if unknown := set(given) - known:
        raise ValueError(f"{path}: {what} has the keys {sorted(unknown)}; known: {sorted(known)}.")


def files_of(exhibits: Iterable[str], results: Path) -> set[Path]:
    """Return what the jobs of a run's exhibits have read and written.

    A directory may also hold what was made before a stage or experiment was taken out of the
    settings.
    """
    records = [read_record(file) for file in exhibits if _is_output(Path(file), results)]
    return {Path(file) for each in records for file in (*each["inputs"], *each["outputs"])}


def _is_output(file: Path, results: Path) -> bool:
    return results in file.parents and results / "requests" not in file.parents


def judge(
    claims: Sequence[Mapping[str, Any]],
    results: str | PathLike[str],
    read: Reader = read_csv,
    files: Collection[Path] | None = None,
) -> list[Judgement]:
    """Decide every claim from the CSVs of a run.

    Parameters
    ----------
    claims : sequence of mapping
        Of `read_claims`.
    results : path
        Directory of the run.
    read : callable
        Reads a CSV; by default only what is just as its job wrote it.
    files : collection of Path, optional
        Of `files_of`: no other CSV is read.
    """
    run = Run(Path(results), read, {}, files)
    judgements = []
    for claim in claims:
        found = [list(_findings(str(claim["id"]), rule, run)) for rule in claim["rules"]]
        pairs = zip(claim["rules"], found, strict=True)
        missing = [str(rule["about"]) for rule, those in pairs if not those]
        judgements.append(Judgement(claim, [each for those in found for each in those], missing))
    return judgements


class Source(NamedTuple):
    """The experiments that a rule may use; all where it has no protocol."""

    experiments: Sequence[str] | None = None
    data: str = ""
    stand_in: bool = False


_ALL = Source()


class Run(NamedTuple):
    """Where the CSVs are, how they are read, and those that were."""

    directory: Path
    read: Reader
    frames: dict[str, pd.DataFrame]
    files: Collection[Path] | None = None

    def rows(self, csv: str, source: Source = _ALL) -> pd.DataFrame:
        """Return the rows of a CSV that belong to the experiments; none if there is no CSV."""
        if csv not in self.frames:
            file = self.directory / csv
            there = file.is_file() and (self.files is None or file in self.files)
            frame = self.read(file) if there else pd.DataFrame()
            self.frames[csv] = frame[frame["not_run"].isna()] if "not_run" in frame else frame
        frame = self.frames[csv]
        if source.experiments is None or "experiment" not in frame:
            return frame
        return frame[frame["experiment"].isin(source.experiments)]

    def source(self, protocol: Rule | None) -> Source:
        """Find the experiments of a protocol by their settings, or those that stand in for it."""
        if protocol is None:
            return _ALL
        rows = self.rows(protocol["csv"])
        for key, stand_in in (("where", False), ("stand_in", True)):
            found = _select(rows, protocol[key]) if key in protocol else rows[:0]
            if not stand_in:
                found = _complete(found, protocol.get("has", {}))
            if len(found):
                data = ", ".join(sorted(found["dataset"].dropna().unique()))
                return Source(list(found["experiment"].unique()), data, stand_in)
        return Source([])


def _complete(rows: pd.DataFrame, has: Rule) -> pd.DataFrame:
    """Keep the experiments whose rows have all values that the protocol asks for."""
    for column, values in has.items():
        there = rows.groupby("experiment")[column].agg(set) if len(rows) else pd.Series()
        complete = [name for name, found in there.items() if found >= set(values)]
        rows = rows[rows["experiment"].isin(complete)] if len(rows) else rows
    return rows


def _findings(claim: str, rule: Rule, run: Run) -> Iterator[Finding]:
    """Apply a rule to its CSV, if the run has rows of it."""
    source = run.source(rule.get("protocol"))
    where = rule.get("where", {})
    # The largest m of a group may not be that of another: ranks count within groups.
    ranked = {key: wanted for key, wanted in where.items() if wanted in list(_RANKS)}
    plain = {key: wanted for key, wanted in where.items() if key not in ranked}
    rows = _select(run.rows(rule["csv"], source), plain)
    for name, whole in _groups(rows, rule.get("each", [])):
        group = _select(whole, ranked)
        sample = _sample(group, rule, run, source)
        if len(sample):
            is_open = rule.get("open_if") in group and group[rule["open_if"]].any()
            yield _finding(claim, rule, name, source, sample, is_open=bool(is_open))


def _select(frame: pd.DataFrame, where: Rule) -> pd.DataFrame:
    """Rows whose columns have the values asked for, or the value of a rank of `_RANKS`."""
    for column, wanted in where.items():
        if column not in frame or not len(frame):
            return frame[:0]
        if isinstance(wanted, str) and wanted in _RANKS:
            there = np.unique(frame[column].dropna())
            wanted = there[max(_RANKS[wanted], -len(there))]
        values = wanted if isinstance(wanted, list) else [wanted]
        frame = frame[frame[column].isin(values)]
    return frame


def _groups(rows: pd.DataFrame, columns: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    if not len(rows):
        return
    if not columns:
        yield "", rows
        return
    for key, group in rows.groupby(columns, sort=False):
        yield ", ".join(map(_spelled, columns, key)), group


def _spelled(column: str, value: Any) -> str:
    """Write a name as it is, and a count as one even if missing ones made floats of its column."""
    if isinstance(value, str):
        return value
    return f"{column} = {value:.0f}" if float(value).is_integer() else f"{column} = {value}"


def _sample(group: pd.DataFrame, rule: Rule, run: Run, source: Source) -> pd.DataFrame:
    """Return the values, with bounds if the CSV has them; paired with others if asked for."""
    values = pd.DataFrame({"value": _per_unit(group, rule["value"], rule)})
    if relation := {"minus", "over"} & set(rule):
        values = _paired(values, group, rule, relation.pop(), run, source)
    elif "low" in rule:
        values[["low", "high"]] = group[[rule["low"], rule["high"]]].to_numpy(float)
    elif "error" in rule or "sd" in rule:
        half = _half_width(group, rule)
        values = values.assign(low=values["value"] - half, high=values["value"] + half)
    found: pd.DataFrame = values[np.isfinite(values["value"])]
    if "take" in rule and len(found):
        found = found.sort_values("value", ascending=rule["take"] == "min").head(1)
    return found


def _per_unit(rows: pd.DataFrame, column: str, rule: Rule) -> "pd.Series[float]":
    """Average over the rows of a repeat, speaker or whatever is the unit that was drawn anew."""
    if rule.get("unit") in rows:
        return rows.groupby(rule["unit"])[column].mean().astype(float)
    return rows[column].astype(float)


def _paired(
    values: pd.DataFrame, group: pd.DataFrame, rule: Rule, relation: str, run: Run, source: Source
) -> pd.DataFrame:
    """Differences from, or ratios to, another column of the rows, or the same unit's other rows.

    Units that one side lacks do not count. The others are a constant if their CSV has no units.
    """
    other, column = rule[relation], rule[relation].get("value", rule["value"])
    rows = group
    if "where" in other or "csv" in other:
        rows = run.rows(other.get("csv", rule["csv"]), source)
        # First: the least m there is must be that of the same map, not of linear CCA.
        for key in other.get("same", []):
            rows = rows[rows[key].isin(group[key])]
        rows = _select(rows, other.get("where", {}))
        # Where there is one m alone, the largest compared with the least is compared with itself.
        is_same = "csv" not in other and column == rule["value"] and rows.index.equals(group.index)
        if not len(rows) or is_same:
            return values[:0]
    others = _per_unit(rows, column, rule)
    if rows is not group and rule.get("unit") not in rows:
        others = pd.Series(others.mean(), index=values.index)
    left, right = values["value"].align(others, join="inner")
    return pd.DataFrame({"value": left - right if relation == "minus" else left / right})


def _half_width(group: pd.DataFrame, rule: Rule) -> "pd.Series[float]":
    """Half the interval by Student's t from a standard error, or a deviation over repeats."""
    if "sd" in rule:
        error, freedom = group[rule["sd"]] / np.sqrt(group["repeats"]), group["repeats"] - 1
    else:
        error, freedom = group[rule["error"]], group["freedom"]
    half = error * stats.t.ppf((1 + CONFIDENCE) / 2, freedom.clip(lower=1))
    unlimited: pd.Series[float] = half.where(freedom >= 1, np.inf).fillna(np.inf)
    return unlimited


def _finding(
    claim: str, rule: Rule, name: str, source: Source, sample: pd.DataFrame, *, is_open: bool
) -> Finding:
    value, low, high = _interval(sample, is_point=bool(rule.get("point")))
    least, most = rule.get("at_least", -np.inf), rule.get("at_most", np.inf)
    holds = True if least <= low and high <= most else None
    if high < least or low > most:
        holds = False
    holds = None if is_open else holds
    return Finding(
        claim=claim,
        about=", ".join(filter(None, [str(rule["about"]), name])),
        data=source.data,
        stand_in=source.stand_in,
        csv=rule["csv"],
        figure=str(rule.get("figure", "")),
        value=value,
        low=low,
        high=high,
        rows=len(sample),
        holds=holds,
        rule=_threshold(least, most),
        written=f"{rule['written']}{', after first results' if rule.get('after_results') else ''}",
    )


def _interval(sample: pd.DataFrame, *, is_point: bool) -> tuple[float, float, float]:
    """Mean, with the bounds that the CSV has or those of Student's t over the rows.

    One value has no interval and decides nothing, unless the rule says that it has no spread.
    """
    value = float(sample["value"].mean())
    if is_point:
        return value, value, value
    if {"low", "high"} <= set(sample.columns):
        return value, float(sample["low"].mean()), float(sample["high"].mean())
    n = len(sample)
    if n == 1:
        return value, -np.inf, np.inf
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * sample["value"].std() / np.sqrt(n))
    return value, value - half, value + half


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
            "verdict": judgement.verdict,
            "held": judgement.held,
            "ours": judgement.is_ours,
            "published": judgement.claim["published"],
        }
        rows += [{**vars(finding), **common} for finding in judgement.findings]
        if not judgement.findings:
            rows.append({**common, "about": "; ".join(judgement.missing) or "no rule"})
    columns = ["verdict", "held", "ours", "published", *Finding.__dataclass_fields__]
    return pd.DataFrame(rows, columns=columns)
