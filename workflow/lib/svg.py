"""Figures as parts of a page, and taken out of it again."""

import html
import re

# So that figures follow the page's colours, dark ones too.
_COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    "#dddddd": "var(--grid)",
    "#555555": "var(--grey)",
    "#0072b2": "var(--blue)",
    "#d55e00": "var(--vermilion)",
    "#009e73": "var(--green)",
    "#cc79a7": "var(--pink)",
    "#a8780a": "var(--ochre)",
    "#8c6bd1": "var(--violet)",
    "#808080": "var(--faint)",
}


def inline_svg(svg: str, name: str, alternative: str) -> str:
    """Make an SVG file part of a page: ids of its own, the page's colours, a text instead of it."""
    body = _compact(svg[svg.index("<svg") :])
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    for colour, variable in _COLOURS.items():
        body = body.replace(colour, variable)
    return body.replace("<svg", f'<svg role="img" aria-label="{html.escape(alternative)}"', 1)


def svg_of(page: str, name: str) -> str | None:
    """Take a figure out of a page, the reverse of `inline_svg`; None if it is not there."""
    found = re.search(rf'id="exhibit-{name}"(?:(?!</section>).)*?(<svg.*?</svg>)', page, re.DOTALL)
    if found is None:
        return None
    svg = re.sub(r' role="img" aria-label="[^"]*"', "", found[1], count=1)
    svg = re.sub(rf'(\bid="|url\(#|href="#){name}-', r"\1", svg)
    for colour, variable in _COLOURS.items():
        svg = svg.replace(variable, colour)
    return svg


def has_marks(svg: str) -> bool:
    """Tell whether a figure shows anything but axes and their grid."""
    drawn = re.findall(r"<image\b|<(?:path|use|g)\b[^>]*clip-path=[^>]*>", svg)
    return any("#dddddd" not in element and "var(--grid)" not in element for element in drawn)


def _compact(svg: str) -> str:
    """Leave out what is not seen: comments, ids without a reference, indents, most decimals."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    referred = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda each: each[0] if each[1] in referred else "", svg)
    svg = re.sub(r' [dxy]="[^"]*"', lambda each: re.sub(r"(\.\d\d)\d+", r"\1", each[0]), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)
