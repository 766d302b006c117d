"""The claims ledger: rules, verdicts, and that no verdict is constant."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import write_with_record
from workflow.lib import claims
from workflow.lib.claims import as_json, ledger, read_claims, write_claims
from workflow.lib.provenance import record_of

ROOT = Path(__file__).parents[3]
CLAIMS = read_claims(ROOT / "resources" / "paper" / "claims.yaml")


def judge(given, results):
    """Judge by CSVs that no job wrote."""
    return claims.judge(given, results, pd.read_csv)


def claim(*rules):
    base = {"about": "it", "csv": "a.csv", "value": "v", "written": "2026-01-01", "at_least": 0}
    rules = [base | rule for rule in rules]
    return {"id": "c", "claim": "C", "place": "P", "published": "X", "rules": rules}


F, L, MIN, MAX = {"map": "f"}, {"map": "l"}, {"m": "min"}, {"m": "max"}
REPEATS = pd.DataFrame(
    {
        "experiment": "e",
        "map": ["f"] * 3 + ["l"] * 3,
        "repeat": [0, 1, 2] * 2,
        "m": [10] * 3 + [5] * 3,
        "v": [3.0, 4.0, 5.0, 1.0, 2.0, 3.0],
    }
)
RANKED = pd.DataFrame({"map": ["f", "f", "l"], "m": [30, 10, 20], "v": [4.0, 1.0, 2.0]})
SMALLER = pd.concat([REPEATS, REPEATS[:3].assign(m=7, v=1.0)])
BOUNDED = pd.DataFrame([{"v": 1.0, "l": 0.5, "h": 2.0, "e": 0.1, "freedom": 3, "repeats": 3}])
COLUMNS = pd.DataFrame({"v": [1.0, 9.0], "w": [2.0, 10.0]})
# The m before, the median of six times, and fits whose last step is their best.
STEPS = pd.DataFrame({"m": [9, 5, 7] * 2, "repeat": [0] * 3 + [1] * 3, "v": [7.0, 1, 3] * 2})
STEP = {"each": ["m"], "unit": "repeat", "minus": {"where": {"m": "previous"}}}
SIX = pd.DataFrame({"v": [2.0, 1, 4, 3, 5, 90]})
CUT = REPEATS.assign(last=5.0)
OTHERS = {
    "all": pd.DataFrame({"repeat": [0, 1, 2], "v": [1, 2, 4]}),
    "shared": pd.DataFrame({"repeat": [1, 2, 3], "v": [2, 4, 9]}),
    "none": pd.DataFrame({"repeat": [7, 8], "v": [2, 3]}),
    "constant": pd.DataFrame({"v": [2, 3]}),
}
PROTOCOL = {
    "csv": "a.csv",
    "where": {"published": True, "dataset": "mnist", "components": 50},
    "has": {"m": [5, 10]},
    "stand_in": {"dataset": "digits"},
}
PAPERS = REPEATS.assign(**PROTOCOL["where"])
TOY = PAPERS.assign(experiment="toy", published=False, v=-9.0)
# A protocol that the paper's own data stand in for.
OTHER = PROTOCOL | {"where": {"dataset": "xrmb"}, "stand_in": {"dataset": "mnist"}}
OF_F = {"where": F, "protocol": PROTOCOL}


def judged(tmp_path, frame, *rules):
    frame.to_csv(tmp_path / "a.csv", index=False)
    for name, other in OTHERS.items():
        other.to_csv(tmp_path / f"{name}.csv", index=False)
    (judgement,) = judge([claim(*rules)], tmp_path)
    return judgement


UNITS = {"where": F, "unit": "repeat"}
GROWTH = {"where": MAX, "each": ["map"], "unit": "repeat"}
GROWTH |= {"minus": {"where": MIN, "same": ["map"]}}
# Quantiles at 0.975 of Student's t with 2 and 3 degrees of freedom.
T2, T3 = 4.302652729911275, 3.182446305284263
HALF = T2 / np.sqrt(3)
FOUND = {
    "interval": (REPEATS, {"where": F}, {"value": 4, "low": 4 - HALF, "high": 4 + HALF, "rows": 3}),
    "units": (pd.concat([REPEATS] * 2), UNITS, {"rows": 3, "low": 4 - HALF}),
    "least m": (RANKED, {"where": MIN}, {"value": 1.0}),
    "largest m": (RANKED, {"where": MAX}, {"value": 4.0}),
    "largest m of each": (
        RANKED,
        {"where": MAX, "each": ["map"]},
        *({"about": "it, f", "value": 4.0}, {"about": "it, l", "value": 2.0}),
    ),
    "each": (
        REPEATS,
        {"each": ["map", "m"], "at_least": 3, "point": True},
        *({"about": "it, f, m = 10", "holds": True}, {"about": "it, l, m = 5", "holds": False}),
    ),
    "beside a toy": (pd.concat([TOY, PAPERS]), OF_F, {"value": 4, "data": "mnist"}),
    "pairs": (REPEATS, UNITS | {"minus": {"where": L}}, {"value": 2, "low": 2, "high": 2}),
    "ratio": (
        REPEATS,
        {"where": MAX, "over": {"where": MIN}, "unit": "repeat"},
        {"value": (3 + 2 + 5 / 3) / 3},
    ),
    "same map": (SMALLER, GROWTH, {"about": "it, f", "value": 4 - 1}),
    "not with itself": (REPEATS, GROWTH),  # each map has one m alone
    "previous m": (
        STEPS,
        STEP,
        {"about": "it, m = 9", "value": 4},
        {"about": "it, m = 7", "value": 2},
    ),
    "median": (SIX, {"median": True}, {"value": 3.5, "low": 1, "high": 90}),
    "median of five": (SIX[:5], {"median": True}, {"value": 3, "low": -np.inf}),
    "prediction": (
        REPEATS,
        {"where": F, "predict": 1, "contains": 6},
        {"low": 4 - 2 * HALF, "high": 4 + 2 * HALF, "holds": True, "rule": "contains 6"},
    ),
    "prediction from a deviation": (
        BOUNDED,
        {"sd": "e", "predict": 3, "contains": 2},
        {"low": 1 - 0.1 * np.sqrt(2) * HALF, "holds": False},
    ),
    "at least": (
        CUT,
        {"where": F, "censored": ["v", "last"], "at_most": 9},
        {"low": 4 - HALF, "high": np.inf, "holds": None},
    ),
    "minus at least": (
        CUT,
        {"where": L, "unit": "repeat", "minus": {"where": F, "censored": ["v", "last"]}},
        {"value": -2, "low": -np.inf, "high": -2, "holds": False},
    ),
    "bounds": (BOUNDED, {"low": "l", "high": "h", "at_least": 0.6}, {"low": 0.5, "holds": None}),
    "error": (BOUNDED, {"error": "e"}, {"low": 1 - 0.1 * T3, "high": 1 + 0.1 * T3}),
    "deviation": (BOUNDED, {"sd": "e"}, {"low": 1 - 0.1 * HALF, "high": 1 + 0.1 * HALF}),
    "other column": (COLUMNS, {"over": {"value": "w"}, "take": "max"}, {"value": 0.9, "rows": 1}),
    "other CSV": (REPEATS, UNITS | {"minus": {"csv": "all.csv"}}, {"value": 5 / 3, "rows": 3}),
    "in part": (REPEATS, UNITS | {"minus": {"csv": "shared.csv"}}, {"value": 3 / 2, "rows": 2}),
    "apart": (REPEATS, UNITS | {"minus": {"csv": "none.csv"}}),
    "no units": (REPEATS, UNITS | {"minus": {"csv": "constant.csv"}}, {"value": 1.5, "rows": 3}),
}


@pytest.mark.parametrize("case", FOUND)
def test_findings(tmp_path, case):
    frame, rule, *expected = FOUND[case]
    found = [vars(finding) for finding in judged(tmp_path, frame, rule).findings]
    assert len(found) == len(expected)
    for finding, wanted in zip(found, expected, strict=True):
        assert {key: finding[key] for key in wanted} == pytest.approx(wanted, nan_ok=True)


ONE = {"where": F | {"repeat": 0}, "at_least": 1.4}
ALONE = BOUNDED.assign(freedom=0, repeats=1, e=np.nan)
NOT_RUN = pd.DataFrame({"experiment": ["e"], "not_run": ["no network"]})
EDGE = {"where": F, "open_if": "on_edge"}
VERDICTS = {
    "above": (REPEATS, [{"where": F, "at_least": 1.4}], "reproduced, held 1 of 1"),
    "around": (REPEATS, [{"where": F, "at_least": 3.9}], "undecided, held 0 of 1"),
    "below": (REPEATS, [{"where": F, "at_least": 7}], "not reproduced, below, held 0 of 1"),
    "at most": (REPEATS, [{"where": F, "at_most": 7}], "reproduced, held 1 of 1"),
    "both": (REPEATS, [{"where": F, "at_least": 1.4, "at_most": 4.1}], "undecided, held 0 of 1"),
    "one fails": (
        REPEATS,
        [{"each": ["map"], "at_least": 3, "point": True}],
        "not reproduced, below, held 1 of 2",
    ),
    "no such row": (REPEATS, [{"where": {"map": "none"}}], "not run"),
    "no such column": (REPEATS, [{"where": {"column": "none"}}], "not run"),
    "no such CSV": (REPEATS, [{"csv": "b.csv"}], "not run"),
    "no experiment": (NOT_RUN, [{}], "not run"),
    "point": (REPEATS, [{"where": F, "at_least": 4, "point": True}], "reproduced, held 1 of 1"),
    "one value": (REPEATS, [ONE], "undecided, held 0 of 1"),
    "one point": (REPEATS, [ONE | {"point": True}], "reproduced, held 1 of 1"),
    "one error": (ALONE, [{"error": "e"}], "undecided, held 0 of 1"),
    "one deviation": (ALONE, [{"sd": "e"}], "undecided, held 0 of 1"),
    "the paper's": (PAPERS, [OF_F], "reproduced, held 1 of 1"),
    "not published": (PAPERS.assign(published=False), [OF_F], "not run"),
    "other components": (PAPERS.assign(components=3), [OF_F], "not run"),
    "an m less": (PAPERS.assign(m=10), [OF_F], "not run"),
    "stand-in": (TOY.assign(dataset="digits", v=9.0), [OF_F], "stand-in, held 1 of 1"),
    "and stand-in": (PAPERS, [OF_F, OF_F | {"protocol": OTHER}], "undecided, held 1 of 2"),
    "and none": (REPEATS, [{"where": F}, {"csv": "b.csv"}], "undecided, held 1 of 2"),
    "above and below": (
        REPEATS,
        [{"each": ["map"], "at_least": 2.5, "at_most": 3, "point": True}],
        "not reproduced, mixed, held 0 of 2",
    ),
    "not contained": (
        REPEATS,
        [{"where": F, "predict": 1, "contains": 13}],
        "not reproduced, below, held 0 of 1",
    ),
    "one of a known spread": (
        REPEATS,
        [ONE | {"at_least": 2, "spread": [0.1, 3]}],
        "reproduced, held 1 of 1",
    ),
    "one of a larger spread": (
        REPEATS,
        [ONE | {"at_least": 2, "spread": [0.5, 3]}],
        "undecided, held 0 of 1",
    ),
    "none to contain it": (REPEATS, [ONE | {"contains": 3}], "undecided, held 0 of 1"),
    "cut off": (
        CUT,
        [{"where": F, "censored": ["v", "last"], "at_least": 9}],
        "undecided, held 0 of 1",
    ),
    "failed on edge": (
        REPEATS.assign(on_edge=True),
        [EDGE | {"at_least": 7}],
        "not reproduced, below, held 0 of 1",
    ),
    "off edge": (REPEATS.assign(on_edge=False), [EDGE], "reproduced, held 1 of 1"),
    "on edge": (REPEATS.assign(on_edge=REPEATS["repeat"] == 1), [EDGE], "undecided, held 0 of 1"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_verdicts(tmp_path, case):
    frame, rules, expected = VERDICTS[case]
    found = judged(tmp_path, frame, *rules)
    parts = (found.verdict, found.direction, found.held_of)
    assert ", ".join(filter(None, parts)) == expected


def test_largest_of_some_cases_can_break_a_bound_but_not_show_that_it_holds(tmp_path):
    rule = {"take": "max", "low": "v", "high": "h", "at_least": -1, "at_most": 1}
    for largest, decided in ((0.9, "undecided"), (1.5, "not reproduced")):
        judgement = judged(tmp_path, pd.DataFrame({"v": [0.1, largest], "h": np.inf}), rule)
        assert judgement.verdict == decided
        assert f"{largest:.2f} [{largest:.2f} or more]" in written(tmp_path, judgement)


def written(tmp_path, *judgements):
    write_claims(tmp_path / "claims.md", judgements)
    return (tmp_path / "claims.md").read_text("utf-8")


def test_ledger_for_the_page(tmp_path):
    frame = REPEATS.assign(dataset="mnist", v=[3.0, 4.0, 5.0, np.nan, np.nan, 1.0])
    rules = {"each": ["map"], "at_most": 1}, {"csv": "no.csv", "about": "more"}
    found = as_json([judged(tmp_path, frame, *rules)])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["counts"]["not reproduced"], sum(found["counts"].values())) == (1, 1)
    (claim,) = found["claims"]
    told = ("id", "short", "ours", "verdict", "direction", "held", "asked", "missing")
    assert [claim[key] for key in told] == [
        *("c", "", False, "not reproduced", "above", 0, 3),
        ["more"],
    ]
    above, alone = claim["findings"]
    assert (above["holds"], above["at_least"], above["at_most"]) == (False, 0, 1)
    assert (alone["holds"], alone["value"], alone["low"], alone["high"]) == (None, 1, None, None)


def test_ledger_for_readers(tmp_path):
    stand_in = judged(tmp_path, REPEATS.assign(dataset="digits"), {"protocol": PROTOCOL})
    text = written(tmp_path, stand_in)
    assert text.startswith("1 claims of the paper: 1 stand-in.\n")
    assert "**stand-in, held 1 of 1** · `c`" in text
    assert "- it on digits (stand-in): 3.00 [1.52 to 4.48] (at least 0) held ✓ (`a.csv`)" in text

    ours = judge([claim({"at_least": 9, "after_results": True}) | {"ours": True}], tmp_path)[0]
    assert ledger([ours])["ours"].all()
    text = written(tmp_path, ours, judged(tmp_path, REPEATS, {}))
    start = "1 claims of the paper: 1 reproduced. 1 checks of our own: 1 not reproduced.\n"
    assert text.startswith(start)
    assert text.index("rule written 2026-01-01, blind\n") < text.index("## Checks of our own")
    assert "rule written 2026-01-01, after first results\n" in text
    assert "\n\nOf 2 rules, 1 were written blind. Each verdict" in text

    text = written(tmp_path, *judge([claim({"csv": "no.csv"})], tmp_path))
    assert text.startswith("nothing that the 1 claims rest on was run.")


GOOD = "about: it, csv: a.csv, value: v, written: 2026-01-01"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("protocols: {}\nclaims: [{id: a}, {id: a}]", "stands twice"),
        (f"protocols: {{}}\nclaims: [{{id: a, {GOOD}, abuot: it}}]", "abuot"),
        (f"protocols: {{}}\nclaims: [{{id: a, rules: [{{{GOOD}, abuot: it}}]}}]", "abuot"),
        (f"protocols: {{p: {{were: 1}}}}\nclaims: [{{id: a, {GOOD}}}]", "were"),
        (f"protocols: {{p: {{}}}}\nclaims: [{{id: a, {GOOD}, protocol: q}}]", "'q' is none of p"),
        ("protocols: {}\nclaims: [{id: a, about: it, csv: a.csv, value: v}]", "no .'written'"),
    ],
)
def test_mistakes_in_the_claims_are_named(tmp_path, text, problem):
    (tmp_path / "claims.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        read_claims(tmp_path / "claims.yaml")


def test_rules_take_over_what_stands_with_their_claim(tmp_path):
    text = f"protocols: {{p: {{csv: b.csv}}}}\nclaims: [{{id: a, {GOOD}, protocol: p, "
    text += "where: {m: 1}, rules: [{where: {n: 2}}, {about: other}]}]"
    (tmp_path / "claims.yaml").write_text(text, encoding="utf-8")
    (found,) = read_claims(tmp_path / "claims.yaml")
    first, second = found["rules"]
    assert (first["where"], first["protocol"]) == ({"m": 1, "n": 2}, {"csv": "b.csv"})
    assert (second["about"], second["where"], second["csv"]) == ("other", {"m": 1}, "a.csv")


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim["id"] for claim in CLAIMS])
def test_every_rule_can_hold_and_fail(claim):
    for rule in claim["rules"]:
        ends = [rule[key] for key in ("at_least", "at_most", "contains") if key in rule]
        found = set()
        # Below the thresholds, between them, above.
        for value in (min(ends) - 1e9, np.mean(ends), max(ends) + 1e9):
            sample = pd.DataFrame({"value": [value] * 8, "low": value, "high": value})
            found.add(claims._finding("c", rule, "it", claims.Source(), sample, 1, []).holds)
        assert found == {True, False}


@pytest.mark.parametrize("left_over", [False, True])
def test_what_earlier_settings_left_is_not_judged(tmp_path, left_over):
    """A CSV of a stage or experiment that the run no longer has."""
    write_with_record(tmp_path / "a.csv", REPEATS)
    exhibit = tmp_path / "tables" / "a.md"
    exhibit.parent.mkdir()
    record = dict.fromkeys(("path", "sha256", "request", "request_file"), "")
    record |= {"outputs": [str(exhibit)]}
    record |= {"inputs": {} if left_over else {str(tmp_path / "a.csv"): ""}}
    record_of(exhibit).write_text(json.dumps(record))
    given = [str(exhibit), str(tmp_path / "requests" / "a.json"), "resources/paper/claims.yaml"]
    files = claims.files_of(given, tmp_path)
    (judgement,) = claims.judge([claim({})], tmp_path, files=files)
    assert judgement.verdict == ("not run" if left_over else "reproduced")
