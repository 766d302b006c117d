"""The report of runs about the paper, on stand-ins, and on the user's own data."""

import json
import re
from pathlib import Path

import pytest

from projects import write_record_of
from workflow.lib.chart import WIDE, Axis, Panel, Series, draw, has_marks
from workflow.lib.page import excerpt, kind_of, lowered, markdown, spark, typeset, write_page

ROOT = Path(__file__).parents[3]
AXIS, LINE = Axis(0, 1, {}), Series("fourier", [0, 1], [0, 1])
STATES = [Series("fourier", [0, 1], [0, 1], state=state) for state in "ab"]
BLANK = draw([], WIDE)
DRAWN = draw([Panel(AXIS, AXIS, [LINE])], WIDE)
SWITCHED = draw([Panel(AXIS, AXIS, STATES, states={"a": "the first's", "b": "second"})], WIDE)
FINDING = {
    "about": "it", "data": "mnist", "stand_in": False, "csv": "tables/a.csv", "note": "",
    "figure": "figures/lupi.svg", "value": -1.0, "low": -2.0, "high": 0.5, "holds": None,
    "at_least": 0.0, "at_most": None, "rule": "at least 0", "shown": "-1.00 (-2 to 0.5)",
    "result": "open ?",
}  # fmt: skip


def ledger(*verdicts, ours=False):
    claims = [
        {"id": f"c{i}", "claim": "C", "place": "P", "published": "X", "margin": "", "missing": [],
         "dates": "rule written today", "ours": ours, "verdict": verdict, "direction": "",
         "findings": [] if verdict == "not run" else [FINDING]}
        for i, verdict in enumerate(verdicts)
    ]  # fmt: skip
    known = ["reproduced", "not reproduced", "undecided", "stand-in", "not run"]
    return {"claims": claims, "counts": {v: verdicts.count(v) for v in known}}


def written(place, claims, exhibits=(), numbers=None, standing_in=()):
    for file, content in exhibits:
        for name in {file, file.replace(".svg", "-narrow.svg")}:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(content, encoding="utf-8")
            write_record_of(place / name)
    about = {"label": "Both, figure", "caption": "A caption. As in the paper."}
    write_page(
        place / "report.html",
        run="mine",
        title="My data",
        stages=[
            {"name": "rcca", "title": "Sums", "exhibits": {file: about for file, _ in exhibits}}
        ],
        data={"id": "table-data", "label": "Datasets", "caption": "C", "html": "", "csv": None},
        ledger=claims,
        numbers=numbers or {},
        standing_in=standing_in,
        made={"written": "today", "commits": "abc", "data": "mine"},
        made_by={},
        texts={"theory": "Proofs.", "deviations": "None."},
    )
    return (place / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verdicts", "kind"),
    [
        (["not run", "not run"], "own"),
        (["stand-in", "not run"], "embedded"),
        (["stand-in", "reproduced"], "embedded"),
        (["undecided", "not run"], "paper"),
    ],
)
def test_the_kind_of_page_follows_from_the_verdicts(verdicts, kind):
    assert kind_of(ledger(*verdicts)) == kind


MODEL = {
    "title": "My data, RCCA",
    "map": "fourier",
    "real": [0.99],
    "components": 5,
    "p": 0.001,
    "m": 9,
    "reg": 0.1,
    "given_away": 0.0,
}


def test_report_of_the_users_own_data_opens_with_its_finding_and_loads_nothing(tmp_path):
    figure = [("figures/rcca_model.svg", DRAWN)]
    text = written(tmp_path, ledger("not run"), figure, {"rcca": {"models": [MODEL]}})
    assert "<h1>My data, RCCA, finds one shared component (0.99).</h1>" in text
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-"
    assert f'content="{policy}' in text
    body = re.sub("<(style|script)>.*?</(style|script)>", "", text, flags=re.DOTALL)
    for absent in ('id="claims"', "Lopez-Paz", "paper", "reproduced", 'class="ledger"'):
        assert absent not in body
    assert body.index('id="exhibit-rcca_model"') < body.index('id="appendix"')
    assert "<h1>My data</h1>" in written(tmp_path, ledger("not run"))


def test_report_on_stand_ins_says_that_all_works_and_shows_no_verdict_in_front(tmp_path):
    text = written(
        tmp_path, ledger("stand-in"), numbers={"rcca": {}, "lupi": {}}, standing_in=["digits"]
    )
    assert "<h1>All two stages work on this machine.</h1>" in text
    assert "stand in for the paper&#39;s (digits)" in text or "paper&#x27;s (digits)" in text
    assert 'class="verdicts"' not in text
    assert text.index('id="appendix"') < text.index('id="claim-c0"')


def test_report_of_the_paper_opens_with_its_question_and_has_every_claim(tmp_path):
    claims = ledger("reproduced", "not reproduced", "not run")
    claims["claims"] += ledger("undecided", ours=True)["claims"]
    claims["claims"][-1]["id"] = "ours"
    figure = [("figures/lupi.svg", DRAWN)]
    text = written(tmp_path, claims, figure)
    assert "<h1>Do random features" in text
    assert "One of 3 claims fail" in text or "<strong>One of 3 claims fail.</strong>" in text
    for present in (
        'data-filter="not-reproduced"',
        'id="claim-c0"',
        "−1.00 (−2 to 0.5)",
        "the paper",
    ):
        assert present in text
    assert text.index('id="claim-c2"') < text.index('id="appendix"') < text.index('id="claim-ours"')
    # Evidence is in the page.
    assert text.count('href="#exhibit-lupi"') == 3
    assert 'href="figures/' not in text


@pytest.mark.parametrize("svg", [BLANK, DRAWN], ids=["blank", "marked"])
def test_a_figure_is_shown_at_both_widths_if_it_has_marks(tmp_path, svg):
    page = written(tmp_path, ledger("not run"), [("figures/b.svg", svg)])
    # What is said of the paper has no place on a page about other data.
    assert page.count('<svg role="img" aria-label="Both. A caption."') == 2 * has_marks(svg)


def test_a_figure_with_states_has_a_switch_that_needs_no_script(tmp_path):
    page = written(tmp_path, ledger("not run"), [("figures/b.svg", SWITCHED)])
    assert re.findall('name="state-exhibit-b" value="(.)"( checked)?>', page) == [
        ("a", ""),
        ("b", " checked"),
    ]
    assert "the first&#39;s</label>" in page
    assert '#exhibit-b:has([value="a"]:checked) .state:not(.a) { opacity: .15; }' in page


def test_findings_are_drawn_on_the_band_of_their_rule():
    svg = spark([FINDING, FINDING | {"value": 1.0, "low": None, "high": None, "holds": True}])
    assert 'fill="var(--band)"' in svg
    assert svg.count('class="open"') == svg.count('class="good"') == 1
    places = [float(x) for x in re.findall('cx="(.*?)"', svg)]
    start = float(re.search('rect x="(.*?)"', svg)[1])
    assert 0 < places[0] < start < places[1] < 170


def test_the_published_report_has_no_blank_figure_and_no_dead_link():
    place = ROOT / "results" / "published"
    page = (place / "report.html").read_text(encoding="utf-8")
    figures = [
        svg for svg in re.findall("<svg.*?</svg>", page, re.DOTALL) if "findings" not in svg[:120]
    ]
    assert len(figures) > 20
    assert all(map(has_marks, figures))
    links = set(re.findall('<a [^>]*?href="([^"]+)"', page))
    ids = re.findall(' id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert not {link for link in links if link[0] == "#" and link[1:] not in ids}
    assert not {link for link in links if link[0] != "#" and not (place / link).is_file()}
    assert len(page.encode()) <= 2.5e6
    assert json.loads((place / "claims.json").read_text("utf-8"))["claims"][0]["id"] in page


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
    assert markdown(lowered(theory)).count("<math ") == theory.count("```math") > 4
    rendered = markdown(excerpt(reproduce, "Where it deviates from the paper"))
    assert "<code>docs/baselines.md</code>" in rendered
    assert "<a " not in rendered
