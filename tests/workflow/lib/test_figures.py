"""Colours that can be seen, on paper and on the page's dark ground; labels; fitted exponents."""

import re
from pathlib import Path

import numpy as np
import pytest

from workflow.lib import figures, svg
from workflow.lib.tables import fitted_exponent

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


def test_colours_stand_out_on_white_and_on_the_pages_dark_ground():
    assert DARK in (ROOT / "workflow/lib/page.css").read_text(encoding="utf-8")
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    seen = {*figures.CLASSES, figures.FAINT}
    for colour in seen:
        assert contrast(colour, "#ffffff") >= 3, colour
        assert contrast(colour, DARK) >= 3, colour
    named = set(re.findall("#[0-9A-Fa-f]{6}", Path(figures.__file__).read_text(encoding="utf-8")))
    assert named - seen <= set(svg._COLOURS)


def test_series_are_as_legible_as_text_on_the_page_light_and_dark():
    css = (ROOT / "workflow/lib/page.css").read_text(encoding="utf-8")
    for ink in (*figures.INKS, figures.FAINT):
        (name,) = re.findall(r"var\((--\w+)\)", svg._COLOURS[ink.lower()])
        light, dark = re.findall(f"{name}: (#[0-9a-f]{{6}})", css)
        assert contrast(light, "#ffffff") >= 4.5, name
        assert contrast(dark, DARK) >= 4.5, name


@pytest.mark.parametrize("file", sorted((ROOT / "workflow/stages").glob("*/figures.py")), ids=str)
def test_stages_take_their_colours_from_the_registry(file):
    assert not re.findall("#[0-9A-Fa-f]{6}", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_labels_at_the_ends_of_lines_are_in_their_order_and_apart(scale):
    figure, axes_of = figures.panels(["panel"])
    axes = axes_of["panel"]
    axes.set_yscale(scale)
    for label, end in (("low", 1.0), ("high", 100.0), ("near", 99.0)):
        axes.plot([1, 2], [50.0, end], label=label)
    axes.errorbar([1, 2], [3.0, 1.5], [0.1, 0.1], label="low")
    figures.end_labels(axes)
    heights = {text.get_text(): text.xy[1] for text in axes.texts}
    assert sorted(heights, key=heights.__getitem__) == ["low", "near", "high"]
    end = (axes.transData + axes.transAxes.inverted()).transform((2, 1.0))
    assert heights["low"] == pytest.approx(end[1], abs=0.01)
    apart = (heights["high"] - heights["near"]) * axes.get_window_extent().height
    assert apart * 72 / figure.dpi >= figures.STYLE["legend.fontsize"]


def test_exponent_of_a_power_law_with_noise_lies_within_its_error():
    x = np.geomspace(1, 1e4, 40)
    noise = np.random.default_rng(0).normal(0, 0.1, 40)
    fit = fitted_exponent(x, 3 * x**1.7 * np.exp(noise))
    assert abs(fit.value - 1.7) < 3 * fit.error < 0.1


def test_two_points_give_an_exponent_without_an_error():
    fit = fitted_exponent([1, 10], [5, 500])
    assert fit.value == pytest.approx(2)
    assert fit.error == np.inf
