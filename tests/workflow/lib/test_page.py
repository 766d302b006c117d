"""What the report says of runs that are, and are not, about the paper."""

from pathlib import Path

import pandas as pd

from workflow.lib.claims import judge
from workflow.lib.page import (
    Exhibit,
    Section,
    _without_the_paper,
    inline_svg,
    markdown,
    write_page,
)


def written(path, judgements, standing_in=()):
    write_page(
        path,
        run="mine",
        title="Correlations of your data",
        sections=[Section("rcca", "Correlations")],
        judgements=judgements,
        standing_in=standing_in,
        made={"written": "today", "commits": "abc", "data": "mine"},
        made_by={},
    )
    return path.read_text(encoding="utf-8")


def test_report_of_the_users_own_data_is_not_about_the_paper(tmp_path):
    text = written(tmp_path / "report.html", [])
    assert "<h1>Correlations of your data</h1>" in text
    assert "#rcca" in text
    for absent in ("#claims", "computed again", "stand in for the paper's", "make paper"):
        assert absent not in text


def test_report_of_the_paper_opens_with_its_claims(tmp_path):
    rule = {"about": "it", "csv": "a.csv", "value": "v", "at_least": 0, "written": "2026-01-01"}
    (tmp_path / "a.csv").write_text("v\n1\n", encoding="utf-8")
    claim = {"id": "c", "claim": "C", "place": "P", "published": "X", "rules": [rule]}
    text = written(tmp_path / "report.html", judge([claim], tmp_path, pd.read_csv), ["digits"])
    for present in ("#claims", "computed again", "stand in for the paper's (digits)"):
        assert present in text
    for present in ("1 claims of the paper: 1 undecided.", ">0 of 1<", "rule written 2026-01-01"):
        assert present in text


def test_captions_of_own_data_leave_the_paper_out():
    caption = "Sums on test rows; hollow markers are the paper's. Below: ours minus the published."
    section = Section("rcca", "R", [Exhibit(Path("a.svg"), "a", caption)])
    assert _without_the_paper(section).exhibits[0].caption == "Sums on test rows."


def test_inline_figures_have_ids_of_their_own():
    svg = '<?xml?><svg id="a"><use href="#b" clip-path="url(#c)" style="fill: #000000"/></svg>'
    inline = inline_svg(svg, "rcca", 'say "so"')
    assert inline == (
        '<svg role="img" aria-label="say &quot;so&quot;" id="rcca-a"><use href="#rcca-b" '
        'clip-path="url(#rcca-c)" style="fill: currentColor"/></svg>'
    )


def test_report_loads_nothing_whatever_a_table_says(tmp_path):
    text = written(tmp_path / "report.html", [])
    assert (
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sh"
        in text
    )
    rendered = markdown("![a](http://b/c.png) <img src='http://b/c.png'>")
    assert "<img" not in rendered
