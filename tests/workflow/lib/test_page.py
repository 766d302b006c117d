"""What the report says of runs that are, and are not, about the paper."""

import pandas as pd

from workflow.lib.claims import judge
from workflow.lib.page import Section, write_page


def written(path, judgements, standing_in=()):
    write_page(
        path,
        run="mine",
        sections=[Section("rcca", "Correlations")],
        judgements=judgements,
        standing_in=standing_in,
        made_by={},
    )
    return path.read_text(encoding="utf-8")


def test_report_of_the_users_own_data_is_not_about_the_paper(tmp_path):
    text = written(tmp_path / "report.html", [])
    assert "Run <code>mine</code>. Nothing that the paper's claims rest on was run." in text
    assert "#rcca" in text
    for absent in ("#claims", "#summary", "computed again", "stand in for the paper's"):
        assert absent not in text


def test_report_of_the_paper_opens_with_its_claims(tmp_path):
    rule = {"about": "it", "csv": "a.csv", "value": "v", "at_least": 0, "written": "2026-01-01"}
    (tmp_path / "a.csv").write_text("v\n1\n2\n", encoding="utf-8")
    claim = {"id": "c", "claim": "C", "place": "P", "published": "X", "rules": [rule]}
    text = written(tmp_path / "report.html", judge([claim], tmp_path, pd.read_csv), ["digits"])
    for present in ("#claims", "#summary", "computed again", "stand in for the paper's (digits)"):
        assert present in text
    for present in ("Of 1 claims of the paper:", "undecided, held 0 of 1", "rule written 2026"):
        assert present in text
