"""What the report says of runs that are, and are not, about the paper."""

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from projects import write_record_of
from workflow.lib.chart import WIDE, Axis, Panel, Series, draw, has_marks
from workflow.lib.claims import judge
from workflow.lib.page import (
    Exhibit,
    Section,
    _excerpt,
    _without_the_paper,
    answer,
    markdown,
    typeset,
    write_page,
)

ROOT = Path(__file__).parents[3]
AXIS, LINE = Axis(0, 1, {}), Series("fourier", [0, 1], [0, 1])


def written(path, judgements, standing_in=(), exhibits=()):
    write_page(
        path,
        run="mine",
        title="Correlations of your data",
        sections=[Section("rcca", "Correlations", exhibits, files=["figures/a.svg"])],
        data=Section("data", "Data"),
        judgements=judgements,
        standing_in=standing_in,
        made={"written": "today", "commits": "abc", "data": "mine"},
        made_by={},
    )
    return path.read_text(encoding="utf-8")


def test_report_of_the_users_own_data_is_not_about_the_paper_and_loads_nothing(tmp_path):
    text = written(tmp_path / "report.html", [])
    assert "<h1>Correlations of your data</h1>" in text
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-"
    assert f'content="{policy}' in text
    for absent in ("#claims", "Lopez-Paz", "paper", "reproduced:"):
        assert absent not in re.sub("<style>.*</style>", "", text, flags=re.DOTALL)


def test_report_of_the_paper_opens_with_its_claims(tmp_path):
    rule = {"about": "it", "csv": "a.csv", "value": "v", "at_least": 0, "written": "2026-01-01"}
    (tmp_path / "a.csv").write_text("v\n-1\n", encoding="utf-8")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.svg").touch()
    claim = {"id": "c", "claim": "C", "place": "P", "published": "X"}
    claims = [claim | {"rules": [rule | more]} for more in ({}, {"figure": "figures/a.svg"})]
    text = written(tmp_path / "report.html", judge(claims, tmp_path, pd.read_csv), ["digits"])
    for present in ("stand in for the paper's (digits)", ">0 of 1<", "<td>−1.00 (no", "#claim-c"):
        assert present in text
    # Evidence links to CSVs: figures are in the page, and their files are not published.
    assert '<a href="a.csv">' in text
    assert 'href="figures/' not in text
    # A claim stands under the section of its figure or CSV.
    topics = re.findall('scope="rowgroup" colspan="5">(.*?)<', text)
    assert topics == ["Correlations", "Other"]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({"reproduced": 3}, "Yes: 3 of the paper's 3 claims reproduced."),
        (
            {"reproduced": 2, "undecided": 1, "not reproduced": 1, "not run": 1},
            "Mostly: 2 of the paper's 5 claims reproduced, 1 not reproduced, 1 undecided, 1 not ",
        ),
        ({"reproduced": 1, "undecided": 2}, "Partly: 1 of the paper's 3 claims reproduced, 2 un"),
        ({"not reproduced": 2}, "No: 0 of the paper's 2 claims reproduced, 2 not reproduced."),
        ({"reproduced": 1, "stand-in": 2}, "This run cannot tell: it tests 1 of the paper's 3 cl"),
    ],
)
def test_the_answer_follows_from_the_verdicts(verdicts, said):
    ours = [SimpleNamespace(verdict="not reproduced", is_ours=True)]
    found = [SimpleNamespace(verdict=each, is_ours=False) for each in Counter(verdicts).elements()]
    assert answer(found + ours).startswith(said)


def test_own_data_leave_the_paper_out_of_titles_and_captions():
    caption = "Sums on test rows; hollow markers are the paper's. Below: ours minus the published."
    section = Section("rcca", "Sums (Table 1)", [Exhibit(Path("a.svg"), "a", caption)])
    own = _without_the_paper(section)
    assert (own.title, own.exhibits[0].caption) == ("Sums", "Sums on test rows.")


BLANK, DRAWN = (draw(panels, WIDE) for panels in ([], [Panel(AXIS, AXIS, [LINE])]))


@pytest.mark.parametrize("svg", [BLANK, DRAWN], ids=["blank", "marked"])
def test_a_figure_is_shown_at_both_widths_if_it_has_marks(tmp_path, svg):
    for name in ("b.svg", "b-narrow.svg"):
        (tmp_path / name).write_text(svg, encoding="utf-8")
        write_record_of(tmp_path / name)
    shown = [Exhibit(tmp_path / "b.svg", "Both", "a caption")]
    page = written(tmp_path / "report.html", [], exhibits=shown)
    assert page.count('<svg role="img" aria-label="a caption"') == 2 * has_marks(svg)


def test_tables_of_the_paper_are_closed_and_ones_own_without_a_figure_are_open(tmp_path):
    (tmp_path / "a.md").write_text("| m |\n|---|\n| 1 |\n", encoding="utf-8")
    write_record_of(tmp_path / "a.md")
    shown = [Exhibit(tmp_path / "a.md", "Sums", "a caption")]
    claims = [{"id": "c", "claim": "C", "place": "P", "published": "X", "rules": []}]
    for judgements, opened in ((judge(claims, tmp_path, pd.read_csv), ""), ([], " open")):
        page = written(tmp_path / "report.html", judgements, exhibits=shown)
        assert f"<details{opened}><summary>Numbers" in page


def test_the_published_report_has_no_blank_figure_and_no_dead_link():
    place = ROOT / "results" / "published"
    page = (place / "report.html").read_text(encoding="utf-8")
    figures = re.findall("<svg.*?</svg>", page, re.DOTALL)
    assert len(figures) > 10
    # Those of a report that is older than the charts of today have other marks.
    assert all(has_marks(svg) or re.search("<(image|use|path)", svg) for svg in figures)
    links = set(re.findall('<a [^>]*?href="([^"]+)"', page))
    ids = set(re.findall(' id="([^"]+)"', page))
    assert not {link for link in links if link[0] == "#" and link[1:] not in ids}
    assert not {link for link in links if link[0] != "#" and not (place / link).is_file()}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-0.5 to -1 [-2, +3]", "−0.5 to −1 [−2, +3]"),
        ("CIFAR-10, 32-100-10, 1e-8, 2026-11-18", "CIFAR-10, 32-100-10, 1e-8, 2026-11-18"),
        ("m^-1/2, n^0.99.", "m<sup>−1/2</sup>, n<sup>0.99</sup>."),
        ("<b> & c", "&lt;b&gt; &amp; c"),
    ],
)
def test_numbers_are_typeset(text, shown):
    assert typeset(text) == shown
    assert markdown(text.replace("<b>", "&lt;b&gt;")) == f"<p>{shown}</p>\n"


def test_tables_have_captions_and_headers():
    rendered = markdown("**A**: b\n\n| m | n |\n|---|---:|\n| 1 | -2 |\n", "label")
    assert "<caption><strong>A</strong> b</caption>" in rendered
    assert re.findall(r"<t[hd].*?</t[hd]>", rendered.replace("<thead>", "")) == [
        '<th scope="col">m</th>',
        '<th scope="col" style="text-align:right">n</th>',
        '<th scope="row">1</th>',
        '<td style="text-align:right">−2</td>',
    ]
    assert '<caption class="unseen">label</caption>' in markdown("| m |\n|---|\n", "label")


def test_formulas_are_mathml_code_stays_code_and_no_picture_is_loaded():
    rendered = markdown("```math\n\\sqrt{n}\n```\n\n```python\nx = -1\n```\n")
    assert "<msqrt>" in rendered
    assert '<code class="language-python">x = -1\n</code>' in rendered
    assert "<img" not in markdown("![a](http://b/c.png) <img src='http://b/c.png'>")


def test_docs_are_rendered_without_links_to_other_pages():
    theory, reproduce = (
        (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("theory", "reproduce")
    )
    assert markdown(theory).count("<math ") == theory.count("```math") > 4
    rendered = markdown(_excerpt(reproduce, "Where it deviates from the paper"))
    assert "<code>docs/baselines.md</code>" in rendered
    assert "<a " not in rendered
