"""Charts: colours that can be seen, labels apart and inside, nothing that a page cannot hold."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from workflow.lib import chart
from workflow.lib.chart import Axis, Note, Panel, Series

ROOT = Path(__file__).parents[3]
STYLE = (ROOT / "workflow/lib/figures.css").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast by WCAG 2.1, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_is_as_legible_as_text_light_and_dark():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in STYLE.split("@media"))
    assert light.keys() == dark.keys() >= chart.SHAPES.keys()
    for colours in (light, dark):
        for name, colour in colours.items():
            if name not in ("paper", "grid"):
                assert contrast(colour, colours["paper"]) >= 4.5, name


@pytest.mark.parametrize("file", sorted((ROOT / "workflow/stages").glob("*/figures.py")), ids=str)
def test_stages_take_their_colours_from_the_style(file):
    text = file.read_text(encoding="utf-8")
    assert not re.findall("#[0-9A-Fa-f]{6}|matplotlib", text)


ENDS = {"low": 1.0, "high": 100.0, "near": 99.0}


def panel(**more):
    x, y = Axis(1, 2, {1: "1", 2: "2"}, "n"), chart.logarithmic([list(ENDS.values())], "y")
    lines = [Series("fourier", [1, 2], [50.0, end], name, name) for name, end in ENDS.items()]
    return Panel(x, y, lines, "A title of a panel", **more)


def texts(svg):
    """Return the place, words and anchor of each text."""
    return [
        (float(text.get("x")), float(text.get("y")), text.text, text.get("text-anchor", "start"))
        for text in ElementTree.fromstring(svg).iter(f"{SVG}text")
    ]


@pytest.mark.parametrize("width", [chart.WIDE, chart.HALF, chart.NARROW])
def test_labels_are_apart_in_the_order_of_the_ends_and_inside_the_box(width):
    svg = chart.draw([panel(), panel()], width, columns=2)
    heights = {words: y for x, y, words, _ in texts(svg) if words in ENDS}
    assert sorted(heights, key=heights.__getitem__) == ["high", "near", "low"]
    assert heights["near"] - heights["high"] >= 13
    for x, _, words, anchor in texts(svg):
        size = chart.text_width(words)
        left = x - size * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        assert left >= -1
        assert left + size <= width + 1, words


def test_a_chart_says_its_values_has_no_ids_and_knows_whether_it_is_blank():
    svg = chart.draw([panel()], chart.WIDE)
    assert "<title>low, n 2: 1</title>" in svg
    assert " id=" not in svg
    assert svg.startswith("<svg ")
    inline = chart.inline(svg, 'say "so"')
    assert inline.startswith('<svg role="img" aria-label="say &quot;so&quot;" ')
    assert "<style>" in svg
    assert "<style>" not in inline
    assert chart.has_marks(svg)
    x, y = chart.linear([[0, 1]]), chart.linear([[0, 1]])
    assert not chart.has_marks(chart.draw([Panel(x, y, [Note(0, 0, "a")])], chart.WIDE))
    assert not chart.has_marks(chart.draw([], chart.WIDE))


def test_the_last_state_of_a_switch_stands_in_front():
    lines = [Series("fourier", [1, 2], [1, 2], state=state) for state in ("a", "b")]
    axis = Axis(1, 2, {})
    svg = chart.draw([Panel(axis, axis, lines, states={"a": "A & B", "b": "B"})], chart.WIDE)
    assert '<g class="state a behind" data-name="A &amp; B">' in svg
    assert '<g class="state b" data-name="B">' in svg


@pytest.mark.parametrize(
    ("value", "shown"), [(1000, "1,000"), (-0.5, "−0.5"), (1e-8, "10⁻⁸"), (3e6, "3·10⁶"), (0, "0")]
)
def test_numbers_are_written_plainly(value, shown):
    assert chart.plain(value) == shown


def test_axes_hold_all_values_with_round_ticks():
    axis = chart.linear([[0.3, 9.7], [np.nan]], zero=True, unit=" %")
    assert (axis.low, axis.high) == (0, 10)
    assert axis.ticks[2] == "2 %"
    axis = chart.logarithmic([[3, 4000]])
    assert list(axis.ticks.values()) == ["10", "100", "1,000"]
    assert axis.at(3) > 0
    assert chart.categories(["a", "b"]).at(0) < 0.5
