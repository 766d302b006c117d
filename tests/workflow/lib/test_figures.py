"""Colours that can be seen: on paper, and on the page's dark ground."""

import re
from pathlib import Path

import pytest

from workflow.lib import figures, page

ROOT = Path(__file__).parents[3]
DARK = "#161a22"


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast by WCAG 2.1, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_dark_ground_is_the_page_s():
    assert DARK in (ROOT / "workflow/lib/page.css").read_text(encoding="utf-8")
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("colour", [*figures.CLASSES, figures.FAINT])
def test_colours_stand_out_on_white_and_on_the_dark_ground(colour):
    assert contrast(colour, "#ffffff") >= 3
    assert contrast(colour, DARK) >= 3


def test_other_colours_are_the_page_s_own():
    named = set(re.findall("#[0-9A-Fa-f]{6}", Path(figures.__file__).read_text(encoding="utf-8")))
    assert named - {*figures.CLASSES, figures.FAINT} <= set(page._COLOURS)


@pytest.mark.parametrize("file", sorted((ROOT / "workflow/stages").glob("*/figures.py")), ids=str)
def test_stages_take_their_colours_from_the_registry(file):
    assert not re.findall("#[0-9A-Fa-f]{6}", file.read_text(encoding="utf-8"))
