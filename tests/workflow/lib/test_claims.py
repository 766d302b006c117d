"""The claims ledger: rules, verdicts, and that no verdict is constant."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workflow.lib import claims
from workflow.lib.claims import ledger, read_claims
from workflow.lib.claims_table import counts, write_claims
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
    base = {"about": "it", "csv": "a.csv", "value": "v"}
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


def test_interval_is_students_over_repeats(tmp_path):
    (finding,) = judged(tmp_path, REPEATS, where={"map": "f"}, at_least=0).findings
    half = 4.302652729911275 / np.sqrt(3)  # t of 2 degrees of freedom at 0.975, times sd 1 / √3
    assert (finding.value, finding.low, finding.high) == pytest.approx((4, 4 - half, 4 + half))
    assert finding.rows == 3


@pytest.mark.parametrize(("rank", "v"), [("min", 1.0), ("before max", 2.0), ("max", 4.0)])
def test_rows_are_chosen_by_the_rank_of_their_value(tmp_path, rank, v):
    frame = pd.DataFrame({"m": [30, 10, 20], "v": [4.0, 1.0, 2.0]})
    (finding,) = judged(tmp_path, frame, where={"m": rank}, at_least=0).findings
    assert finding.value == v


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({"at_least": 1.4}, "reproduced"),
        ({"at_least": 3.9}, "partly"),
        ({"at_least": 7}, "not reproduced"),
        ({"at_most": 7}, "reproduced"),
        ({"at_least": 1.4, "at_most": 4.1}, "partly"),
        ({"at_least": 0, "where": {"map": "none"}}, "not run"),
        ({"at_least": 0, "csv": "b.csv"}, "not run"),
        ({"at_least": 1.4, "experiment": ["other", "e"]}, "reproduced"),
        ({"at_least": 1.4, "experiment": "other"}, "not run"),
        ({"at_least": 4, "confidence": 0.0}, "reproduced"),
    ],
)
def test_verdict_follows_from_where_the_interval_lies(tmp_path, rule, verdict):
    assert judged(tmp_path, REPEATS, **({"where": {"map": "f"}} | rule)).verdict == verdict


def test_pairs_are_taken_repeat_by_repeat(tmp_path):
    rule = {"where": {"map": "f"}, "minus": {"where": {"map": "l"}}, "repeat": "repeat"}
    (finding,) = judged(tmp_path, REPEATS, **rule, at_least=2).findings
    assert (finding.value, finding.low, finding.high) == (2, 2, 2)
    assert finding.holds


def test_ratio_and_extremes(tmp_path):
    rule = {"where": {"m": "max"}, "over": {"where": {"m": "min"}}, "repeat": "repeat"}
    (finding,) = judged(tmp_path, REPEATS, **rule, at_least=0).findings
    assert finding.value == pytest.approx((3 + 2 + 5 / 3) / 3)


def test_extreme_of_other_rows_is_that_of_the_same_map(tmp_path):
    smaller = REPEATS[REPEATS["map"] == "f"].assign(m=7, v=[1.0, 1.0, 1.0])
    rule = {"where": {"map": "f", "m": "max"}, "repeat": "repeat"}
    rule["minus"] = {"where": {"m": "min"}, "same": ["map"]}
    (finding,) = judged(tmp_path, pd.concat([REPEATS, smaller]), **rule, at_least=0).findings
    assert finding.value == pytest.approx(4 - 1)


def test_bounds_of_the_csv_are_taken_as_they_stand(tmp_path):
    frame = pd.DataFrame({"v": [1.0], "l": [0.5], "h": [2.0]})
    (finding,) = judged(tmp_path, frame, low="l", high="h", at_least=0.6).findings
    assert (finding.low, finding.high, finding.holds) == (0.5, 2.0, None)


def test_standard_error_gives_the_interval(tmp_path):
    frame = pd.DataFrame({"v": [1.0], "e": [0.1]})
    (finding,) = judged(tmp_path, frame, error="e", at_least=0).findings
    assert (finding.low, finding.high) == pytest.approx((1 - 0.196, 1 + 0.196), abs=1e-4)


def test_extreme_row_and_another_column(tmp_path):
    frame = pd.DataFrame({"v": [1.0, 9.0], "w": [2.0, 10.0]})
    (finding,) = judged(tmp_path, frame, over={"value": "w"}, take="max", at_most=1).findings
    assert (finding.value, finding.rows) == (0.9, 1)


@pytest.mark.parametrize(("repeats", "values"), [([0, 1, 2], [1, 2, 4]), ([7, 8], [2, 3])])
def test_other_csv_is_paired_by_repeat_where_it_can_be(tmp_path, repeats, values):
    pd.DataFrame({"repeat": repeats, "v": values}).to_csv(tmp_path / "b.csv", index=False)
    rule = {"where": {"map": "f"}, "repeat": "repeat", "minus": {"csv": "b.csv"}}
    (finding,) = judged(tmp_path, REPEATS, **rule, at_least=0).findings
    expected = np.mean([3 - 1, 4 - 2, 5 - 4]) if len(repeats) == 3 else 4 - 2.5
    assert finding.value == pytest.approx(expected)


def test_each_value_of_a_column_is_a_finding(tmp_path):
    judgement = judged(tmp_path, REPEATS, each=["map"], at_least=3, confidence=0.0)
    assert [(f.about, f.holds) for f in judgement.findings] == [
        ("it, map = f", True),
        ("it, map = l", False),
    ]
    assert judgement.verdict == "partly"


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
    for name, table, kept in (("alone", alone, sizes), ("both", both, measured)):
        (tmp_path / name / "tables").mkdir(parents=True)
        table.to_csv(tmp_path / name / "tables" / "rcca.csv", index=False)
        kept.to_csv(tmp_path / name / "tables" / "maps_sizes.csv", index=False)
        ledgers.append(ledger(judge(CLAIMS, tmp_path / name)))
    pd.testing.assert_frame_equal(*ledgers)
    found = set(ledgers[1].dropna(subset="value")["claim"])
    assert found >= {"rcca-level-mnist-fourier", "model-two-orders-smaller"}
    assert "our test sum less the paper's, m = 1000" in set(ledgers[1]["about"])


def test_missing_rule_keeps_a_claim_from_being_reproduced(tmp_path):
    REPEATS.to_csv(tmp_path / "a.csv", index=False)
    both = claim(at_least=0, where={"map": "f"})
    both["rules"].append({"about": "other", "csv": "b.csv", "value": "v", "at_least": 0})
    (judgement,) = judge([both], tmp_path)
    assert (judgement.verdict, judgement.missing) == ("partly", ["other"])


def test_experiment_that_was_not_run_is_no_evidence(tmp_path):
    frame = pd.DataFrame({"experiment": ["e"], "not_run": ["no network"]})
    assert judged(tmp_path, frame, at_least=0).verdict == "not run"


def test_ledger_says_stand_in_in_every_line(tmp_path):
    frame = pd.DataFrame({"dataset": ["digits"], "v": [1.0]})
    judgement = judged(tmp_path, frame, at_least=0)
    write_claims(tmp_path / "claims.md", [judgement], ["digits"])
    text = (tmp_path / "claims.md").read_text("utf-8")
    assert text.startswith("1 claims (on stand-ins for the paper's data): 1 reproduced, 0 partly, ")
    assert "- it on digits (a stand-in): 1; asked for is at least 0: holds (`a.csv`)" in text


def test_ledger_counts_without_ado_what_rests_on_the_papers_data(tmp_path):
    judgement = judged(tmp_path, pd.DataFrame({"dataset": ["mnist"], "v": [1.0]}), at_least=0)
    write_claims(tmp_path / "claims.md", [judgement], ["digits"])
    text = (tmp_path / "claims.md").read_text("utf-8")
    assert text.startswith("1 claims: 1 reproduced, 0 partly, 0 not reproduced, 0 not run.")


def test_ledger_of_a_run_that_no_claim_is_about_says_so(tmp_path):
    write_claims(tmp_path / "claims.md", judge([claim(at_least=0)], tmp_path), [])
    text = (tmp_path / "claims.md").read_text("utf-8")
    assert text.startswith("nothing that its 1 claims rest on was run.")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[{id: a, rules: []}, {id: a, rules: []}]", "stands twice"),
        ("[{id: a, rules: [{abuot: it}]}]", "abuot"),
    ],
)
def test_mistakes_in_the_claims_are_named(tmp_path, text, problem):
    (tmp_path / "claims.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        read_claims(tmp_path / "claims.yaml")


@pytest.mark.skipif(
    not (PUBLISHED / "tables" / "claims.csv").is_file(), reason="no ledger is published yet"
)
def test_published_ledger_is_what_the_published_csvs_give():
    found = ledger(judge(CLAIMS, PUBLISHED))
    shown = pd.read_csv(PUBLISHED / "tables" / "claims.csv")
    assert found["claim"].tolist() == shown["claim"].tolist()
    assert found["verdict"].tolist() == shown["verdict"].tolist()
    assert counts(judge(CLAIMS, PUBLISHED)) in (PUBLISHED / "tables" / "claims.md").read_text(
        "utf-8"
    )


def chosen(frame, where):
    """Mark the rows that a rule asks for."""
    rows = pd.Series(True, index=frame.index)
    for column, wanted in where.items():
        if wanted in ("max", "min"):
            wanted = getattr(frame.loc[rows, column], wanted)()
        rows &= frame[column].isin(wanted if isinstance(wanted, list) else [wanted])
    return rows


def _first(frame, rule):
    """Return the experiment that a rule is about."""
    names = [rule["experiment"]] if isinstance(rule["experiment"], str) else rule["experiment"]
    return next((name for name in names if name in set(frame["experiment"])), names[0])


def unit(frame, own, rule):
    """Return what 1 of a rule's statistic is in the CSV: of a ratio, the mean it is over."""
    other = rule.get("over", {})
    if "where" not in other:
        return 1.0
    return frame.loc[chosen(frame, own | other["where"]), rule["value"]].mean()


def spoilt(claim, tmp_path, towards):
    """Copy the published CSVs of a claim, every value it asks for moved far to one side."""
    for rule in claim["rules"]:
        target = tmp_path / rule["csv"]
        there = target if target.is_file() else PUBLISHED / rule["csv"]
        if not there.is_file():
            continue
        frame = pd.read_csv(there)
        target.parent.mkdir(parents=True, exist_ok=True)
        own = {"experiment": _first(frame, rule)} if "experiment" in rule else {}
        rows = chosen(frame, own | rule.get("where", {}))
        value = unit(frame, own, rule) * towards(rule)
        for key in ("value", "low", "high"):
            if key in rule:
                frame[rule[key]] = frame[rule[key]].astype(float)
                frame.loc[rows, rule[key]] = value
        frame.to_csv(target, index=False)
    return judge([claim], tmp_path)[0].verdict


TOWARDS = {
    "below": lambda rule: -1e9,
    "between": lambda rule: (rule.get("at_least", 0) + rule.get("at_most", 0)) / 2,
    "above": lambda rule: 1e9,
}


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim["id"] for claim in CLAIMS])
def test_no_verdict_is_constant(claim, tmp_path):
    verdicts = {spoilt(claim, tmp_path / name, towards) for name, towards in TOWARDS.items()}
    if verdicts == {"not run"}:
        pytest.skip("there are no published results for it yet")
    assert len(verdicts) > 1
