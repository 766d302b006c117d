"""The report of a finished run in a real browser, from disk and without a network."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from workflow.lib.claims import read_claims

ROOT = Path(__file__).parents[2]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="needs the package playwright"),
]
UNFOLD = "document.querySelectorAll('main details').forEach(each => each.open = true)"
WINDOWS = {
    "desk": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=WINDOWS)
def page(finished, browser, request):
    """The report in a window; requests beyond the file itself are noted."""
    page = browser.new_page(**WINDOWS[request.param], reduced_motion="reduce")
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


def test_every_figure_is_seen_legible_and_has_a_text(page):
    figures = page.locator("figure svg[role=img]")
    assert figures.count() >= 3
    for figure in figures.all():
        assert not figure.is_visible() or figure.bounding_box()["width"] > 250
        assert len(figure.get_attribute("aria-label")) > 20
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("figure svg text")]
          .filter(e => e.getClientRects().length).map(e =>
          Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b)
            * parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert len(sizes) > 30
    assert min(sizes) >= 12


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_only_boxes_scroll_sideways_and_say_so(page):
    page.evaluate(UNFOLD)
    assert fits(page)
    page.wait_for_function(
        """() => [...document.querySelectorAll(".scroll")].every(box =>
          box.classList.contains("wide") === box.scrollWidth > box.clientWidth)"""
    )
    if page.viewport_size["width"] < 400:
        assert page.locator("figure .wide").count() == 0
        assert page.locator(".ledger > caption").bounding_box()["width"] > 300


def test_every_link_leads_somewhere_and_no_id_stands_twice(page, finished):
    place = finished.file("results/test")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(ids)) == len(ids)
    for target in page.evaluate("[...document.links].map(a => a.getAttribute('href'))"):
        assert target[1:] in ids if target[0] == "#" else (place / target).is_file(), target


def test_every_claim_is_there_and_can_be_filtered_found_and_opened(page):
    claims = read_claims(ROOT / "resources/paper/claims.yaml")
    rows = page.locator(".ledger tr[data-verdict]")
    ids = [row.get_attribute("id") for row in rows.all()]
    assert sorted(ids) == sorted(f"claim-{claim['id']}" for claim in claims)

    verdict = rows.first.get_attribute("data-verdict")
    page.locator(f"[data-filter='{verdict}']").click()
    verdicts = {row.get_attribute("data-verdict") for row in rows.all() if row.is_visible()}
    assert verdicts == {verdict}
    page.locator("#verdict").select_option("")
    page.locator("#search").fill("no claim says this")
    assert not any(row.is_visible() for row in rows.all())

    page.locator(".verdicts div a").last.click()
    rows.last.wait_for(state="visible")  # the page hears of its new address after the click
    assert rows.last.locator("details").evaluate("details => details.open")


def test_the_menu_leads_to_headings_and_does_not_hide_them(page):
    for link in page.locator("nav a").all():
        target = page.locator(link.get_attribute("href"))
        if not link.is_visible():
            page.locator("nav summary").click()
        link.click()
        menu, heading = page.locator("nav").bounding_box(), target.locator("h1, h2").first
        is_above = menu["width"] > 300
        top = heading.bounding_box()["y"]
        assert (menu["height"] if is_above else 0) <= top < page.viewport_size["height"]


def test_tables_have_captions_and_headers_and_formulas_are_set(page):
    bare = """() => [...document.querySelectorAll("main table")].filter(table =>
        !table.caption && !table.closest("details").querySelector("h3, h4")).length"""
    assert page.evaluate(bare) == 0
    assert page.locator("th:not([scope])").count() == 0
    page.evaluate(UNFOLD)
    for formula in page.locator("math").all():
        assert formula.bounding_box()["height"] > 25


def test_readable_without_script(finished, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(finished.file("results/test/report.html").as_uri())
    assert page.locator(".ledger tr[data-verdict]").first.is_visible()
    assert page.locator("nav a").first.is_visible()
    context.close()


def test_prints_whole(page):
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    assert fits(page)
    assert page.locator(".ledger details > div").first.is_visible()
    assert page.locator(".ledger > caption").bounding_box()["width"] > 600


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
