"""The claims ledger: rules, verdicts, and that no verdict is constant."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projects import write_with_record
from workflow.lib import claims
from workflow.lib.claims import ledger, read_claims
from workflow.lib.claims_table import counts, write_claims
from workflow.lib.provenance import record_of
from workflow.lib.published import beside_published
from workflow.stages.maps.sizes import model_sizes
from workflow.stages.maps.tables import with_measured
from workflow.stages.rcca.baselines_tables import baselines_summary
from workflow.stages.rcca.table1 import rcca_summary, with_baselines, with_minutes

ROOT = Path(__file__).parents[3]
CLAIMS = read_claims(ROOT / "resources" / "paper" / "claims.yaml")
PUBLISHED = ROOT / "results" / "published"


def judge(given, results):
    """Judge by CSVs that no job wrote."""
    return claims.judge(given, results, pd.read_csv)


def claim(**rule):
    base = {"about": "it", "csv": "a.csv", "value": "v", "written": "2026-01-01"}
    return {"id": "c", "claim": "C", "place": "P", "published": "X", "rules": [base | rule]}


def judged(tmp_path, frame, **rule):
    frame.to_csv(tmp_path / "a.csv", index=False)
    (judgement,) = judge([claim(**rule)], tmp_path)
    return judgement


REPEATS = pd.DataFrame(
    {
        "experiment": "e",
        "map": ["f"] * 3 + ["l"] * 3,
        "repeat": [0, 1, 2] * 2,
        "m": [10] * 3 + [5] * 3,
        "v": [3.0, 4.0, 5.0, 1.0, 2.0, 3.0],
    }
)


@pytest.mark.parametrize("left_over", [False, True])
def test_what_earlier_settings_left_is_not_judged(tmp_path, left_over):
    """A CSV of a stage or experiment that the run no longer has."""
    write_with_record(tmp_path / "a.csv", REPEATS)
    exhibit = tmp_path / "tables" / "a.md"
    exhibit.parent.mkdir()
    record = {"sha256": "", "request": "", "request_file": "", "outputs": [str(exhibit)]}
    record |= {"inputs": {} if left_over else {str(tmp_path / "a.csv"): ""}}
    record_of(exhibit).write_text(json.dumps(record))
    given = [str(exhibit), str(tmp_path / "requests" / "a.json"), "resources/paper/claims.yaml"]
    files = claims.files_of(given, tmp_path)
    (judgement,) = claims.judge([claim(at_least=0)], tmp_path, files=files)
    assert judgement.verdict == ("not run" if left_over else "reproduced")


def test_interval_is_students_over_repeats(tmp_path):
    (finding,) = judged(tmp_path, REPEATS, where={"map": "f"}, at_least=0).findings
    half = 4.302652729911275 / np.sqrt(3)  # t of 2 degrees of freedom at 0.975, times sd 1 / √3
    assert (finding.value, finding.low, finding.high) == pytest.approx((4, 4 - half, 4 + half))
    assert finding.rows == 3


def test_rows_of_one_unit_count_once(tmp_path):
    twice = pd.concat([REPEATS, REPEATS])
    for frame in (REPEATS, twice):
        (finding,) = judged(tmp_path, frame, where={"map": "f"}, unit="repeat", at_least=0).findings
        assert (finding.rows, finding.low) == pytest.approx((3, 4 - 4.302652729911275 / np.sqrt(3)))


@pytest.mark.parametrize(("rank", "v"), [("min", 1.0), ("before max", 2.0), ("max", 4.0)])
def test_rows_are_chosen_by_the_rank_of_their_value(tmp_path, rank, v):
    frame = pd.DataFrame({"m": [30, 10, 20], "v": [4.0, 1.0, 2.0]})
    (finding,) = judged(tmp_path, frame, where={"m": rank}, at_least=0).findings
    assert finding.value == v


def test_ranks_count_within_a_group(tmp_path):
    frame = pd.DataFrame({"map": ["f", "f", "l"], "m": [10, 20, 5], "v": [1.0, 2.0, 3.0]})
    judgement = judged(tmp_path, frame, where={"m": "max"}, each=["map"], at_least=0)
    assert [(f.about, f.value) for f in judgement.findings] == [("it, f", 2.0), ("it, l", 3.0)]


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({"at_least": 1.4}, "reproduced"),
        ({"at_least": 3.9}, "undecided"),
        ({"at_least": 7}, "not reproduced"),
        ({"at_most": 7}, "reproduced"),
        ({"at_least": 1.4, "at_most": 4.1}, "undecided"),
        ({"at_least": 0, "where": {"map": "none"}}, "not run"),
        ({"at_least": 0, "where": {"column": "none"}}, "not run"),
        ({"at_least": 0, "csv": "b.csv"}, "not run"),
        ({"at_least": 4, "point": True}, "reproduced"),
        ({"at_least": 1.4, "where": {"map": "f", "repeat": 0}}, "undecided"),
        ({"at_least": 1.4, "where": {"map": "f", "repeat": 0}, "point": True}, "reproduced"),
    ],
)
def test_verdict_follows_from_where_the_interval_lies(tmp_path, rule, verdict):
    assert judged(tmp_path, REPEATS, **({"where": {"map": "f"}} | rule)).verdict == verdict


PROTOCOL = {
    "csv": "a.csv",
    "where": {"published": True, "dataset": "mnist", "components": 50},
    "has": {"m": [5, 10]},
    "stand_in": {"dataset": "digits"},
}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "reproduced"),
        ({"published": False}, "not run"),
        ({"components": 3}, "not run"),
        ({"m": 10}, "not run"),
        ({"dataset": "digits", "published": False, "components": 3}, "stand-in"),
    ],
)
def test_claim_is_judged_only_on_the_papers_protocol(tmp_path, changes, verdict):
    settings = {"published": True, "dataset": "mnist", "components": 50} | changes
    frame = REPEATS.assign(**settings)
    judgement = judged(tmp_path, frame, protocol=PROTOCOL, where={"map": "f"}, at_least=0)
    assert judgement.verdict == verdict
    assert judgement.held == ("" if verdict == "not run" else "held 1 of 1")


def test_other_experiments_do_not_count_beside_the_papers(tmp_path):
    paper = REPEATS.assign(published=True, dataset="mnist", components=50)
    toy = paper.assign(experiment="toy", published=False, v=-9.0)
    rule = {"protocol": PROTOCOL, "where": {"map": "f"}, "at_least": 0}
    for frame in (paper, pd.concat([toy, paper])):
        (found,) = judged(tmp_path, frame, **rule).findings
        assert (found.value, found.data, found.stand_in) == (4, "mnist", False)


def test_stand_in_beside_the_papers_data_keeps_a_claim_from_being_reproduced(tmp_path):
    frame = REPEATS.assign(published=True, dataset="mnist", components=50)
    other = PROTOCOL | {"where": {"dataset": "xrmb"}, "stand_in": {"dataset": "mnist"}}
    both = claim(at_least=0, where={"map": "f"}, protocol=PROTOCOL)
    both["rules"].append(both["rules"][0] | {"protocol": other})
    frame.to_csv(tmp_path / "a.csv", index=False)
    (judgement,) = judge([both], tmp_path)
    assert (judgement.verdict, judgement.held) == ("partly", "held 1 of 2")


def test_value_chosen_on_the_edge_of_its_grid_leaves_a_finding_open(tmp_path):
    rule = {"where": {"map": "f"}, "open_if": "on_edge", "at_least": 0}
    assert judged(tmp_path, REPEATS.assign(on_edge=False), **rule).verdict == "reproduced"
    assert judged(tmp_path, REPEATS.assign(on_edge=REPEATS["repeat"] == 1), **rule).verdict == (
        "undecided"
    )


def test_pairs_are_taken_repeat_by_repeat(tmp_path):
    rule = {"where": {"map": "f"}, "minus": {"where": {"map": "l"}}, "unit": "repeat"}
    (finding,) = judged(tmp_path, REPEATS, **rule, at_least=2).findings
    assert (finding.value, finding.low, finding.high) == (2, 2, 2)
    assert finding.holds


def test_ratio_and_extremes(tmp_path):
    rule = {"where": {"m": "max"}, "over": {"where": {"m": "min"}}, "unit": "repeat"}
    (finding,) = judged(tmp_path, REPEATS, **rule, at_least=0).findings
    assert finding.value == pytest.approx((3 + 2 + 5 / 3) / 3)


def test_extreme_of_other_rows_is_that_of_the_same_map(tmp_path):
    smaller = REPEATS[REPEATS["map"] == "f"].assign(m=7, v=[1.0, 1.0, 1.0])
    rule = {"where": {"map": "f", "m": "max"}, "unit": "repeat"}
    rule["minus"] = {"where": {"m": "min"}, "same": ["map"]}
    (finding,) = judged(tmp_path, pd.concat([REPEATS, smaller]), **rule, at_least=0).findings
    assert finding.value == pytest.approx(4 - 1)


def test_bounds_of_the_csv_are_taken_as_they_stand(tmp_path):
    frame = pd.DataFrame({"v": [1.0], "l": [0.5], "h": [2.0]})
    (finding,) = judged(tmp_path, frame, low="l", high="h", at_least=0.6).findings
    assert (finding.low, finding.high, finding.holds) == (0.5, 2.0, None)


def test_largest_of_some_cases_can_break_a_bound_but_not_show_that_it_holds(tmp_path):
    rule = {"take": "max", "low": "v", "high": "h", "at_most": 1}
    for largest, verdict in ((0.9, "undecided"), (1.5, "not reproduced")):
        frame = pd.DataFrame({"v": [0.1, largest], "h": np.inf})
        judgement = judged(tmp_path, frame, **rule)
        assert judgement.verdict == verdict
        assert f"{largest:.2f} [{largest:.2f} or more]" in written(tmp_path, judgement)


@pytest.mark.parametrize(
    ("rule", "half"),
    [({"error": "e"}, 3.182446305 * 0.1), ({"sd": "e"}, 4.302652730 * 0.1 / np.sqrt(3))],
)
def test_standard_error_gives_students_interval(tmp_path, rule, half):
    frame = pd.DataFrame({"v": [1.0], "e": [0.1], "freedom": [3], "repeats": [3]})
    (finding,) = judged(tmp_path, frame, **rule, at_least=0).findings
    assert (finding.low, finding.high) == pytest.approx((1 - half, 1 + half))
    alone = frame.assign(freedom=0, repeats=1, e=np.nan)
    assert judged(tmp_path, alone, **rule, at_least=0).verdict == "undecided"


def test_extreme_row_and_another_column(tmp_path):
    frame = pd.DataFrame({"v": [1.0, 9.0], "w": [2.0, 10.0]})
    rule = {"over": {"value": "w"}, "take": "max", "point": True}
    (finding,) = judged(tmp_path, frame, **rule, at_most=1).findings
    assert (finding.value, finding.rows, finding.holds) == (0.9, 1, True)


@pytest.mark.parametrize(
    ("repeats", "values", "expected"),
    [
        ([0, 1, 2], [1, 2, 4], (5 / 3, 3)),
        ([1, 2, 3], [2, 4, 9], (3 / 2, 2)),
        ([7, 8], [2, 3], None),
        (None, [2, 3], (4 - 2.5, 3)),
    ],
    ids=["all", "shared", "none", "no repeats"],
)
def test_other_csv_is_paired_on_the_repeats_both_have(tmp_path, repeats, values, expected):
    other = {"v": values} | ({"repeat": repeats} if repeats else {})
    pd.DataFrame(other).to_csv(tmp_path / "b.csv", index=False)
    rule = {"where": {"map": "f"}, "unit": "repeat", "minus": {"csv": "b.csv"}}
    found = [(f.value, f.rows) for f in judged(tmp_path, REPEATS, **rule, at_least=0).findings]
    assert found == ([pytest.approx(expected)] if expected else [])


def test_each_value_of_a_column_is_a_finding(tmp_path):
    judgement = judged(tmp_path, REPEATS, each=["map", "m"], at_least=3, point=True)
    assert [(f.about, f.holds) for f in judgement.findings] == [
        ("it, f, m = 10", True),
        ("it, l, m = 5", False),
    ]
    assert (judgement.verdict, judgement.held) == ("partly", "held 1 of 2")


def test_rows_of_baselines_do_not_count_in_claims_on_rcca(tmp_path):
    paper, golden = (
        ROOT / "resources" / "paper",
        Path(__file__).parents[1] / "stages" / "rcca" / "golden",
    )
    published, protocol = pd.read_csv(paper / "table1_rcca.csv"), ["mnist"]
    sums, timing = (pd.read_csv(golden / name) for name in ("mnist.sums.csv", "timing.csv"))
    summary = beside_published(rcca_summary(sums), published, protocol)
    alone = with_minutes(summary, timing, published, protocol)
    sizes = model_sizes(pd.read_csv(paper / "dcca_layers.csv"), [1000])
    deep, kernel = (pd.read_csv(golden / f"mnist.{what}.csv") for what in ("dcca", "kcca"))
    both = with_baselines(alone, deep, kernel, published, protocol)
    measured = with_measured(sizes, baselines_summary(deep, kernel), published, protocol)
    ledgers = []
    followed = {"experiment": "mnist", **CLAIMS[0]["rules"][0]["protocol"]["where"]}
    for name, table, kept in (("alone", alone, sizes), ("both", both, measured)):
        (tmp_path / name / "tables").mkdir(parents=True)
        (tmp_path / name / "rcca").mkdir()
        rows = pd.DataFrame({"m": range(1000, 7000, 1000)}).assign(**followed)
        rows.to_csv(tmp_path / name / "rcca" / "sums.csv", index=False)
        table.to_csv(tmp_path / name / "tables" / "rcca.csv", index=False)
        kept.to_csv(tmp_path / name / "tables" / "maps_sizes.csv", index=False)
        ledgers.append(ledger(judge(CLAIMS, tmp_path / name)))
    pd.testing.assert_frame_equal(*ledgers)
    found = set(ledgers[1].dropna(subset="value")["claim"])
    assert found >= {"rcca-level-mnist-fourier", "model-two-orders-smaller"}
    assert "our test sum minus the paper's, fourier, m = 1000" in set(ledgers[1]["about"])


def test_missing_rule_keeps_a_claim_from_being_reproduced(tmp_path):
    REPEATS.to_csv(tmp_path / "a.csv", index=False)
    both = claim(at_least=0, where={"map": "f"})
    both["rules"].append(claim(csv="b.csv", about="other")["rules"][0])
    (judgement,) = judge([both], tmp_path)
    assert (judgement.verdict, judgement.missing) == ("partly", ["other"])
    assert judgement.held == "held 1 of 2"


def test_experiment_that_was_not_run_is_no_evidence(tmp_path):
    frame = pd.DataFrame({"experiment": ["e"], "not_run": ["no network"]})
    assert judged(tmp_path, frame, at_least=0).verdict == "not run"


def written(tmp_path, *judgements):
    write_claims(tmp_path / "claims.md", judgements)
    return (tmp_path / "claims.md").read_text("utf-8")


def test_ledger_says_stand_in_in_every_line(tmp_path):
    frame = REPEATS.assign(dataset="digits")
    text = written(tmp_path, judged(tmp_path, frame, protocol=PROTOCOL, at_least=0))
    assert text.startswith("1 claims of the paper: 1 stand-in.\n")
    assert "**stand-in, held 1 of 1** · `c`" in text
    assert "- it on digits (stand-in): 3.00 [1.52 to 4.48] (at least 0) ✓ (`a.csv`)" in text


def test_ledger_counts_our_own_checks_apart_and_says_when_rules_were_written(tmp_path):
    theirs = judged(tmp_path, REPEATS, at_least=0)
    ours = judge([claim(at_least=9, after_results=True) | {"ours": True}], tmp_path)[0]
    text = written(tmp_path, ours, theirs)
    assert text.startswith(
        "1 claims of the paper: 1 reproduced. 1 checks of our own: 1 not reproduced.\n"
    )
    assert text.index("rule written 2026-01-01\n") < text.index("## Checks of our own")
    assert "rule written 2026-01-01 (after first results)\n" in text
    assert ledger([ours])["ours"].all()


def test_ledger_of_a_run_that_no_claim_is_about_says_so(tmp_path):
    text = written(tmp_path, *judge([claim(at_least=0)], tmp_path))
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


def has_protocol():
    """Tell whether the published rows say which of them follow the paper's protocol."""
    return "published" in pd.read_csv(PUBLISHED / "rcca" / "sums.csv", nrows=1)


needs_protocol = pytest.mark.skipif(
    not has_protocol(), reason="published before rows said whether they follow the protocol"
)


@needs_protocol
def test_published_ledger_is_what_the_published_csvs_give():
    found = ledger(judge(CLAIMS, PUBLISHED))
    shown = pd.read_csv(PUBLISHED / "tables" / "claims.csv")
    assert found["claim"].tolist() == shown["claim"].tolist()
    assert found["verdict"].tolist() == shown["verdict"].tolist()
    assert counts(judge(CLAIMS, PUBLISHED)) in (PUBLISHED / "tables" / "claims.md").read_text(
        "utf-8"
    )


TOWARDS = {
    "below": lambda rule: -1e9,
    "between": lambda rule: (rule.get("at_least", 0) + rule.get("at_most", 0)) / 2,
    "above": lambda rule: 1e9,
}


@needs_protocol
@pytest.mark.parametrize("claim", CLAIMS, ids=[claim["id"] for claim in CLAIMS])
def test_no_verdict_is_constant(claim, monkeypatch):
    sample, found = claims._sample, set()
    rules = [{key: rule[key] for key in rule if key != "open_if"} for rule in claim["rules"]]
    for towards in TOWARDS.values():

        def moved(group, rule, run, source, towards=towards):
            value = towards(rule)
            return sample(group, rule, run, source).assign(value=value, low=value, high=value)

        monkeypatch.setattr(claims, "_sample", moved)
        (judgement,) = judge([claim | {"rules": rules}], PUBLISHED)
        found.add(tuple(finding.holds for finding in judgement.findings))
    if found == {()}:
        pytest.skip("there are no published results for it yet")
    assert len(found) > 1
