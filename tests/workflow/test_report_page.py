"""The report of a finished run in a real browser, from disk and without a network."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from workflow.lib.claims import VERDICTS, read_claims

ROOT = Path(__file__).parents[2]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="needs the package playwright"),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[1200, 360], ids=["desk", "phone"])
def page(finished, browser, request):
    """The report, in a window of this width; requests beyond the file itself are noted."""
    page = browser.new_page(viewport={"width": request.param, "height": 800})
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda each: page.asked.append(each.url))
    page.goto(finished.file("results/test/report.html").as_uri())
    yield page
    page.close()


def test_report_opens_without_network_or_errors(page):
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []


def test_every_figure_is_seen_and_has_a_text(page):
    figures = page.locator("figure img")
    assert figures.count() >= 3
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 100")
        assert figure.bounding_box()["width"] > 250
        assert len(figure.get_attribute("alt")) > 20


def test_nothing_scrolls_sideways(page):
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= seen


def test_every_link_leads_somewhere(page, finished):
    place = finished.file("results/test")
    for link in page.locator("a").all():
        target = link.get_attribute("href")
        if target.startswith("#"):
            assert page.locator(f"[id='{target[1:]}']").count() == 1, target
        else:
            assert (place / target).is_file(), target


def test_every_claim_is_there_with_its_verdict_and_opens_by_keyboard(page):
    claims = read_claims(ROOT / "resources/paper/claims.yaml")
    claims.sort(key=lambda claim: bool(claim.get("ours")))
    shown = [each.get_attribute("id") for each in page.locator("#claims details").all()]
    assert shown == [f"claim-{claim['id']}" for claim in claims]
    first = page.locator("#claims details").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert first.evaluate("details => details.open")
    assert first.locator(".tag").inner_text().split(",")[0] in VERDICTS


def test_text_stands_out_from_its_ground(page):
    """WCAG AA: a contrast of 4.5 between text and what is behind it."""
    ratios = page.evaluate(
        r"""() => {
          const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255)
            .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
            return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
          const ground = e => { for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor; if (!/^rgba.*, 0\)$/.test(c)) return c; }
            return "rgb(255, 255, 255)"; };
          const texts = document.querySelectorAll("p, a, td, th, figcaption, .tag, summary");
          return [...texts].map(e => {
            const pair = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => b - a);
            return (pair[0] + 0.05) / (pair[1] + 0.05); });
        }"""
    )
    assert len(ratios) > 30
    assert min(ratios) >= 4.5
