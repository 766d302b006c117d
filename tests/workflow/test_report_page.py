"""The published report and that of a finished run, in a real browser, without a network."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results/published/report.html"

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="needs the package playwright"),
]
UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"
WINDOWS = {
    "desk": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "desk-dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser, file, **window):
    page = browser.new_page(**window, reduced_motion="reduce")
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda each: page.asked.append(each.url))
    page.goto(file.as_uri())
    return page


@pytest.fixture(params=WINDOWS)
def page(browser, request):
    """The published report in a window; requests beyond the file itself are noted."""
    page = opened(browser, PUBLISHED, **WINDOWS[request.param])
    yield page
    page.close()


@pytest.fixture(params=["desk", "phone-dark"])
def stand_in(finished, browser, request):
    """The report of a run on data that stand in for the paper's."""
    page = opened(browser, finished.file("results/test/report.html"), **WINDOWS[request.param])
    yield page
    page.close()


def is_calm(page):
    """Tell whether nothing was said or asked for, and only boxes scroll sideways."""
    page.evaluate(UNFOLD)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    asked = [url for url in page.asked if not url.startswith(("file:", "data:"))]
    assert (page.said, asked, wide <= 0) == ([], [], True)
    return True


def test_reports_open_without_network_or_errors_and_fit_the_window(page, stand_in):
    assert is_calm(page)
    assert is_calm(stand_in)
    # Without a verdict in front, which such data cannot give.
    assert stand_in.locator("h1").text_content().startswith("All six stages work")
    assert stand_in.locator(".verdicts").count() == 0


def test_the_article_is_short_and_begins_with_two_figures(page):
    height, top = page.evaluate(
        """() => [innerHeight, document.getElementById("appendix").getBoundingClientRect().top]"""
    )
    if page.viewport_size["width"] > 1000:
        assert top <= 10 * height
        for figure in page.locator(".two figure").all():
            box = figure.locator("svg:visible").bounding_box()
            assert box["y"] + box["height"] <= height
    assert page.locator(".two figure").count() == 2


def test_every_figure_is_seen_has_a_text_and_its_labels_stay_inside(page):
    page.evaluate(UNFOLD)
    figures = page.locator("figure svg:visible")
    assert figures.count() >= 12
    for figure in figures.all():
        assert figure.bounding_box()["width"] > 250
        assert len(figure.get_attribute("aria-label")) > 20
    outside = page.evaluate(
        """() => [...document.querySelectorAll("figure svg.chart text")].map(text => {
          const [own, box] = [text, text.ownerSVGElement].map(e => e.getBoundingClientRect());
          return own.width && (own.left < box.left - 2 || own.right > box.right + 2
            || own.top < box.top - 2 || own.bottom > box.bottom + 2) ? text.textContent : null;
        }).filter(Boolean)"""
    )
    assert outside == []


def test_no_text_is_small(page):
    page.evaluate(UNFOLD)
    small = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter(e => e.getClientRects().length
          && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
          && !e.closest("sup, sub, math")).filter(e => {
            const scale = e.ownerSVGElement ? e.getScreenCTM().a : 1;
            return parseFloat(getComputedStyle(e).fontSize) * scale < 12;
          }).map(e => e.textContent.slice(0, 40))"""
    )
    assert small == []


def test_every_link_leads_somewhere_and_no_id_stands_twice(page):
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(ids)) == len(ids)
    for target in page.evaluate("[...document.links].map(a => a.getAttribute('href'))"):
        there = target[1:] in ids if target[0] == "#" else (PUBLISHED.parent / target).is_file()
        assert there, target


def shown(page):
    return [row for row in page.locator("#claims tr[id]").all() if row.is_visible()]


def test_claims_can_be_filtered_by_the_bar_by_a_section_and_by_keyboard(page):
    count = len(shown(page))
    page.locator("[data-filter='not-reproduced']").click()
    failed = shown(page)
    assert 0 < len(failed) < count
    assert {row.get_attribute("class") for row in failed} == {"not-reproduced"}

    page.locator("a[data-section='theory']").click()
    section = shown(page)
    assert 0 < len(section) < count
    assert {row.get_attribute("data-section") for row in section} == {"theory"}

    page.locator("#claims .switch input").first.focus()
    page.keyboard.press("ArrowRight")
    assert {row.get_attribute("class") for row in shown(page)} == {"reproduced"}

    # A link to a claim shows it, whatever the filter hides.
    hidden = failed[0].get_attribute("id")
    page.evaluate("id => { location.hash = id }", hidden)
    page.locator(f"#{hidden}").wait_for(state="visible")
    page.wait_for_function(
        "id => document.getElementById(id).querySelector('details').open", arg=hidden
    )


def test_a_link_into_the_appendix_opens_it(page):
    page.locator(".evidence a[href='#table-baselines']").click()
    page.locator("#table-baselines").wait_for(state="visible")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_switches_bring_a_state_to_the_front(browser, script):
    context = browser.new_context(java_script_enabled=script, viewport=WINDOWS["desk"]["viewport"])
    page = context.new_page()
    page.goto(PUBLISHED.as_uri())
    front = "#exhibit-rcca_speakers .on-wide .state"
    chosen = page.locator("#exhibit-rcca_speakers input").first
    assert (
        float(page.locator(f"{front}.utterances").evaluate("e => getComputedStyle(e).opacity")) == 1
    )
    chosen.focus()
    page.keyboard.press("Space")
    page.wait_for_timeout(500)  # it fades
    assert (
        float(page.locator(f"{front}.utterances").evaluate("e => getComputedStyle(e).opacity"))
        < 0.2
    )
    assert float(page.locator(f"{front}.frames").evaluate("e => getComputedStyle(e).opacity")) == 1
    pictures = page.locator("#exhibit-autoencoder .on-wide .flip:visible")
    before = pictures.first.get_attribute("class")
    page.locator("#exhibit-autoencoder label", has_text="linear PCA").click()
    assert pictures.first.get_attribute("class") != before
    if not script:
        radio = page.locator("#claims .switch [value='undecided']")
        radio.focus()
        page.keyboard.press("Space")
        assert {row.get_attribute("class") for row in shown(page)} == {"undecided"}
    context.close()


def test_the_nearest_point_tells_its_value(page):
    mark = page.locator("#exhibit-rcca svg:visible .nystroem .mark").nth(2)
    box = mark.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"])
    assert page.locator("#readout").text_content().startswith("Nyström, m ")
    page.mouse.move(2, 2)
    assert page.locator("#readout").is_hidden()


def test_tables_have_headers_and_formulas_are_set(page):
    assert page.locator("th:not([scope])").count() == 0
    page.evaluate(UNFOLD)
    for formula in page.locator("math").all():
        assert formula.bounding_box()["height"] > 15


def test_prints_the_article(page):
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#exhibit-rcca svg:visible").count() == 1
    assert page.locator("#claims tr[id]").first.is_visible()
    assert not page.locator("#made-by").is_visible()


def test_text_stands_out_from_its_ground(page):
    """WCAG AA: a contrast of 4.5 between text and what is behind it, in charts too."""
    faint = page.evaluate(
        r"""() => {
          const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255)
            .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
            return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
          const ground = e => { for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor; if (!/^rgba.*, 0\)$/.test(c)) return c; }
            return "rgb(255, 255, 255)"; };
          const kinds = "p, a, td, th, figcaption, .sign, summary, label, h1, h2, dd";
          const texts = document.querySelectorAll(`${kinds}, svg.chart text`);
          return [...texts].filter(e => e.getClientRects().length).map(e => {
            const ink = e.ownerSVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color;
            const pair = [light(ink), light(ground(e))].sort((a, b) => b - a);
            return [(pair[0] + 0.05) / (pair[1] + 0.05), e.textContent.slice(0, 40)]; })
            .filter(found => found[0] < 4.5);
        }"""
    )
    assert faint == []
