"""Charts as SVG in one style, each at two widths with text of the same size.

A chart is a list of panels of marks in data coordinates. Colours are CSS variables, so that a chart
follows the page; alone it carries its style. No element has an id: charts stand side by side.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from workflow.lib.provenance import write_text

WIDE, HALF, NARROW = 700, 520, 358
# Markers of methods, whose names are the classes of their colours.
SHAPES = {
    "fourier": "circle", "nystroem": "square", "whitened": "diamond", "dcca": "up",
    "linear": "down", "kernel": "plus", "other": "cross",
}  # fmt: skip
_PATHS = {
    "square": "M-4-4h8v8h-8z", "diamond": "M0-5.5L5.5 0L0 5.5L-5.5 0z", "up": "M0-5L5 4H-5z",
    "down": "M0 5L5-4H-5z", "plus": "M-1.7-5h3.4v3.3H5v3.4H1.7V5h-3.4V1.7H-5v-3.4h3.3z",
    "cross": "M-4-4L4 4M-4 4L4-4",
}  # fmt: skip
_LINE = 17  # between lines of text


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``, with ticks by value; one of categories grows downwards."""

    low: float
    high: float
    ticks: Mapping[float, str]
    title: str = ""
    log: bool = False
    categories: bool = False

    def at(self, value: Any) -> Any:
        """Place values between 0 and 1."""
        ends = np.array([self.low, self.high], float)
        value, ends = (
            (np.log(value), np.log(ends)) if self.log else (np.asarray(value, float), ends)
        )
        return (value - ends[0]) / (ends[1] - ends[0])


@dataclass(frozen=True)
class Series:
    """Points, joined by a line or not, with intervals or not; ``look`` is the method."""

    look: str
    x: Any
    y: Any
    name: str = ""  # under the pointer
    label: str = ""  # at the end of the line
    low: Any = None
    high: Any = None
    hollow: bool = False  # the paper's
    line: bool = True
    marks: bool = True
    dots: bool = False  # small points of a cloud
    across: bool = False  # intervals lie along x
    texts: Sequence[str] = ()  # what the pointer says, of each point
    state: str = ""  # of a switch; the first state stands behind in the file
    weight: float = 1.0


@dataclass(frozen=True)
class Note:
    """A text beside a point, ``anchor`` being start, middle or end."""

    x: float
    y: float
    text: str
    look: str = ""
    anchor: str = "start"
    dx: float = 0
    dy: float = 4
    is_wide: bool = False  # left out of the narrow chart
    state: str = ""


@dataclass(frozen=True)
class Region:
    """What lies between two values of an axis, x or y."""

    low: float
    high: float
    look: str = ""
    along: str = "y"


@dataclass(frozen=True)
class Arrow:
    """A curve from a point to another, which is later or better."""

    look: str
    start: tuple[float, float]
    stop: tuple[float, float]
    bend: float = -40


@dataclass(frozen=True)
class Panel:
    """Marks on two axes."""

    x: Axis
    y: Axis
    marks: Sequence[Any]
    title: str = ""
    height: float = 300
    bare: bool = False  # a cloud, without axes and with equal scales
    rules: Sequence[float] = ()  # where y or, of categories, x is neutral
    states: Mapping[str, str] = field(default_factory=dict)  # names; the last one is in front


def linear(values: Iterable[Any], title: str = "", *, zero: bool = False, unit: str = "") -> Axis:
    """Make an axis that spans values, with about five round ticks."""
    known = np.concatenate([np.ravel(np.asarray(each, float)) for each in values])
    known = known[np.isfinite(known)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    high = high if high > low else low + (abs(low) or 1.0)
    raw = (high - low) / 5
    base = 10.0 ** np.floor(np.log10(raw))
    step = base * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * base >= raw)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    ticks = [round(float(step * i), 10) for i in np.arange(first, last + 1)]
    return Axis(ticks[0], ticks[-1], {tick: plain(tick) + unit for tick in ticks}, title)


def logarithmic(
    values: Iterable[Any], title: str = "", ticks: Mapping[float, str] | None = None
) -> Axis:
    """Make a logarithmic axis with a small margin, by default with ticks at 1, 2 and 5."""
    known = np.concatenate([np.ravel(np.asarray(each, float)) for each in values])
    known = known[np.isfinite(known) & (known > 0)]
    low, high = (known.min(), known.max()) if len(known) else (1.0, 10.0)
    margin = (high / low) ** 0.03 if high > low else 2.0
    low, high = low / margin, high * margin
    if ticks is None:
        steps = (1, 2, 5) if high / low < 300 else (1,)
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        ticks = {
            step * 10.0**power: plain(step * 10.0**power) for power in powers for step in steps
        }
    return Axis(low, high, {t: s for t, s in ticks.items() if low <= t <= high}, title, log=True)


def level(look: str, x: Axis, value: float, name: str, label: str, state: str = "") -> Series:
    """Draw a value of a method that does not depend on x, as a line across."""
    return Series(look, (x.low, x.high), (value, value), name, label, marks=False, state=state)


def categories(names: Sequence[str], title: str = "") -> Axis:
    """Make an axis of rows, the first on top."""
    return Axis(-0.6, len(names) - 0.4, dict(enumerate(names)), title, categories=True)


def plain(value: float, form: str = "") -> str:
    """Write a number as a reader would: 1,000 and 0.001, but 10^-5; or in a form."""
    if form:
        return format(value, form).replace("-", "−")
    if value and not 1e-4 <= abs(value) < 1e6:
        exponent = f"{value:.0e}".partition("e")
        raised = str(int(exponent[2])).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{raised}" if exponent[0] == "1" else f"{exponent[0]}·10{raised}"
    return f"{value:,.10g}".replace("-", "−")


def text_width(text: str) -> float:
    """Estimate the width of a text in pixels, rather too wide."""
    size = {"narrow": 0.36, "wide": 0.92, "capital": 0.72}
    kinds = ("narrow" if c in "iljtfr.,:;'|()[]! " else "wide" if c in "mwMW%→×+±−" else
             "capital" if c.isupper() else "" for c in text)  # fmt: skip
    return 13 * sum(size.get(kind, 0.62) for kind in kinds)


def save(
    chart: Sequence[Panel],
    outputs: Mapping[str, str],
    name: str,
    width: int = WIDE,
    columns: int = 1,
) -> None:
    """Write a chart to the output ``<name>.svg`` and, for phones, ``<name>-narrow.svg``."""
    write_text(outputs[f"{name}.svg"], draw(chart, width, columns))
    write_text(outputs[f"{name}-narrow.svg"], draw(chart, NARROW, columns))


def draw(chart: Sequence[Panel], width: int, columns: int = 1) -> str:
    """Lay out panels in rows; a narrow chart has one column, or two of clouds."""
    if width == NARROW:
        columns = min(columns, 2 if chart and chart[0].bare else 1)
    cell = (width - 14 * (columns - 1)) / columns
    parts, top = [], 0.0
    for start in range(0, len(chart), columns):
        row = chart[start : start + columns]
        height = max(_height(panel, cell) for panel in row)
        for place, panel in enumerate(row):
            parts.append(
                _panel(panel, place * (cell + 14), top, cell, height, is_wide=width > NARROW)
            )
        top += height + 10
    return document(parts, width, top)


def document(parts: Iterable[str], width: float, height: float) -> str:
    """Make a file of parts, with the style."""
    style = files("workflow.lib").joinpath("figures.css").read_text(encoding="utf-8")
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {size}><style>{style}</style>'
    return "\n".join([start, *parts, "</svg>\n"])


def state_group(
    state: str, name: str, parts: Iterable[str], *, is_shown: bool, kind: str = ""
) -> str:
    """Group what belongs to a state of the page's switch."""
    classes = " ".join(filter(None, ["state", state, kind, "" if is_shown else "behind"]))
    return "\n".join([f'<g class="{classes}" data-name="{escape(name)}">', *parts, "</g>"])


def inline(svg: str, alternative: str) -> str:
    """Make a chart part of a page that has the style, with a text instead of it."""
    body = re.sub(r"<style>.*?</style>\n?", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return body.replace("<svg", f'<svg role="img" aria-label="{escape(alternative)}"', 1)


def has_marks(svg: str) -> bool:
    """Tell whether a chart shows anything but axes and their grid."""
    return re.search(r'class="(mark|dot|line|bar)\b|<image\b', svg) is not None


def _height(panel: Panel, width: float) -> float:
    if panel.bare:
        return width + _LINE * bool(panel.title)
    return panel.height + _LINE * len(_wrapped(panel.title, width))


def _wrapped(text: str, width: float) -> list[str]:
    """Break a text into lines of a width."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}") <= 0.95 * width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _panel(
    panel: Panel, left: float, top: float, width: float, height: float, *, is_wide: bool
) -> str:
    parts = []
    for line in _wrapped(panel.title, width):
        top, height = top + _LINE, height - _LINE
        parts.append(text(left, top - 4, line, "title"))
    labels = [mark.label for mark in panel.marks if isinstance(mark, Series) and mark.label]
    names = list(panel.y.ticks.values())
    margin = max(map(text_width, names), default=0) + 8
    above = panel.y.categories and margin > 0.4 * width
    margin = 12.0 if above else margin
    below = _wrapped(panel.x.title, width - margin)
    after = max([text_width(label) + 14 for label in labels], default=18.0)
    over = 8.0 + (_LINE + 4) * bool(panel.y.title)
    box = _Box(panel, left + margin, top + over, width - margin - after,
               height - over - 22 - _LINE * len(below))  # fmt: skip
    if panel.bare:
        box = _Box(panel, left + 4, top + 4, width - 8, height - 8)
    parts += [] if panel.bare else _axes(box, left, below, is_above=above)
    states: dict[str, list[str]] = {}
    for mark in panel.marks:
        state = getattr(mark, "state", "")
        if not (isinstance(mark, Note) and mark.is_wide and not is_wide):
            states.setdefault(state, []).append(_MARKS[type(mark)](box, mark))
    for state in {mark.state: None for mark in panel.marks if isinstance(mark, Series)}:
        states[state].append(_labels(box, state))
    parts += filter(None, states.pop("", []))
    for state, name in panel.states.items():
        is_shown = state == [*panel.states][-1]
        parts.append(state_group(state, name, filter(None, states[state]), is_shown=is_shown))
    return "\n".join(parts)


@dataclass(frozen=True)
class _Box:
    """Where a panel's marks are drawn."""

    panel: Panel
    left: float
    top: float
    width: float
    height: float

    def x(self, value: Any) -> Any:
        return self.left + self.width * self.panel.x.at(value)

    def y(self, value: Any) -> Any:
        part = self.panel.y.at(value)
        return self.top + self.height * (part if self.panel.y.categories else 1 - part)


def _axes(box: _Box, left: float, below: Sequence[str], *, is_above: bool) -> list[str]:
    x, y, parts = box.panel.x, box.panel.y, []
    right, bottom = box.left + box.width, box.top + box.height
    if y.title:
        parts.append(text(left, box.top - 12, y.title, "axis"))
    for value, label in y.ticks.items():
        at = float(box.y(value))
        if is_above:
            parts.append(text(left, at - 11, label, ""))
        else:
            ink = "" if y.categories else "axis"
            parts.append(text(box.left - 7, at + 4, label, ink, "end"))
        if not y.categories:
            parts.append(f'<path class="grid" d="M{box.left:.1f} {at:.1f}H{right:.1f}"/>')
    end = -np.inf
    for value, label in x.ticks.items():
        at, half = float(box.x(value)), text_width(label) / 2
        if y.categories:
            parts.append(f'<path class="grid" d="M{at:.1f} {box.top:.1f}V{bottom:.1f}"/>')
        if at - half > end + 6 and at + half <= right + 18 + 400 * (at < right - 1):
            parts.append(text(at, bottom + 16, label, "axis", "middle"))
            end = at + half
    for value in box.panel.rules:
        at = float(box.x(value) if y.categories else box.y(value))
        line = (
            f"M{at:.1f} {box.top:.1f}V{bottom:.1f}"
            if y.categories
            else f"M{box.left:.1f} {at:.1f}H{right:.1f}"
        )
        parts.append(f'<path class="zero" d="{line}"/>')
    for place, line in enumerate(below, 2):
        parts.append(text(box.left, bottom + _LINE * place - 1, line, "axis"))
    return parts


def _series(box: _Box, series: Series) -> str:
    xs, ys = np.asarray(series.x, float), np.asarray(series.y, float)
    if len(xs) == 0:
        return ""
    places = list(zip(box.x(xs), box.y(ys), strict=True))
    hollow = " hollow" if series.hollow else ""
    parts = [f'<g class="{series.look}">']
    if series.line and len(xs) > 1:
        weight = "" if series.weight == 1 else f' style="stroke-width:{2 * series.weight:g}"'
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path class="line{hollow}"{weight} d="M{path}"/>')
    if series.low is not None:
        for place, low, high in zip(places, series.low, series.high, strict=True):
            parts.append(_interval(box, place, low, high, is_across=series.across))
    for place, text in zip(places, _texts(series, box.panel), strict=True):
        parts.append(_mark(series, place, text, hollow) if series.marks else "")
    return "".join([*parts, "</g>"])


def _interval(
    box: _Box, place: tuple[float, float], low: float, high: float, *, is_across: bool
) -> str:
    if not (np.isfinite(low) and np.isfinite(high)) or low == high:
        return ""
    if is_across:
        ends = np.clip(box.x(np.array([low, high])), box.left, box.left + box.width)
        return f'<path class="bar" d="M{ends[0]:.1f} {place[1]:.1f}H{ends[1]:.1f}"/>'
    low = max(low, box.panel.y.low)
    ends = np.clip(box.y(np.array([low, high])), box.top, box.top + box.height)
    return f'<path class="bar" d="M{place[0]:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>'


def _texts(series: Series, panel: Panel) -> Sequence[str]:
    if series.texts or series.dots or not series.name:
        return series.texts or [""] * len(series.x)
    if panel.y.categories:
        return [f"{series.name}: {plain(float(f'{x:.3g}'))}" for x in series.x]
    symbol = "m" if panel.x.title.endswith(" m") else panel.x.title.split(",")[0]
    points = zip(np.asarray(series.x, float), np.asarray(series.y, float), strict=True)
    return [
        f"{series.name}, {symbol} {plain(float(f'{x:.4g}'))}: {plain(float(f'{y:.4g}'))}"
        for x, y in points
    ]


def _mark(series: Series, place: tuple[float, float], text: str, hollow: str) -> str:
    x, y = place
    title = f"<title>{escape(text)}</title>" if text else ""
    if series.dots:
        return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="1.8"/>'
    shape = SHAPES.get(series.look, "circle")
    if shape == "circle":
        return f'<circle class="mark{hollow}" cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>'
    place_of = f'transform="translate({x:.1f} {y:.1f})" d="{_PATHS[shape]}"'
    return f'<path class="mark{hollow}" {place_of}>{title}</path>'


def _labels(box: _Box, state: str) -> str:
    """Name lines at their right ends, none over another, moving each as little as possible."""
    named = [
        mark
        for mark in box.panel.marks
        if isinstance(mark, Series) and mark.label and len(mark.x) and mark.state == state
    ]
    ends = np.array([float(box.y(np.asarray(mark.y, float)[-1])) for mark in named])
    order = np.argsort(ends, kind="stable")
    steps = _LINE * np.arange(len(named))
    heights = isotonic_regression(ends[order] - steps) + steps if len(named) else []
    least, most = box.top + 4, box.top + box.height
    if len(named):
        heights = heights - max(0.0, heights[-1] - most)
        heights = heights + max(0.0, least - heights[0])
    x = box.left + box.width + 9
    return "".join(
        f'<g class="{named[i].look}">{text(x, height + 4, named[i].label, "label")}</g>'
        for height, i in zip(heights, order, strict=True)
    )


def _note(box: _Box, note: Note) -> str:
    x, y = float(box.x(note.x)) + note.dx, float(box.y(note.y)) + note.dy
    return f'<g class="{note.look}">{text(x, y, note.text, "label", note.anchor)}</g>'


def _region(box: _Box, region: Region) -> str:
    x, y, width, height = box.left, box.top, box.width, box.height
    if region.along == "y":
        ends = sorted(np.clip([box.y(region.low), box.y(region.high)], y, y + height))
        y, height = ends[0], ends[1] - ends[0]
    else:
        ends = sorted(np.clip([box.x(region.low), box.x(region.high)], x, x + width))
        x, width = ends[0], ends[1] - ends[0]
    rectangle = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<g class="{region.look}"><rect class="region" {rectangle}/></g>'


def _arrow(box: _Box, arrow: Arrow) -> str:
    (x0, y0), (x1, y1) = ((float(box.x(x)), float(box.y(y))) for x, y in (arrow.start, arrow.stop))
    middle = ((x0 + x1) / 2, min(y0, y1) + arrow.bend)
    # The head ends short of the mark, along the curve's last direction.
    length = float(np.hypot(x1 - middle[0], y1 - middle[1])) or 1.0
    dx, dy = (x1 - middle[0]) / length, (y1 - middle[1]) / length
    tip, base = (x1 - 8 * dx, y1 - 8 * dy), (x1 - 17 * dx, y1 - 17 * dy)
    corners = [tip, (base[0] - 5 * dy, base[1] + 5 * dx), (base[0] + 5 * dy, base[1] - 5 * dx)]
    head = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "z"
    curve = f"M{x0:.1f} {y0 - 8:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {base[0]:.1f} {base[1]:.1f}"
    return (
        f'<g class="{arrow.look}"><path class="bar" d="{curve}"/><path class="dot" d="{head}"/></g>'
    )


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    """Write words at a place, ``anchor`` being start, middle or end."""
    kind = f' class="{kind}"' if kind else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{side}>{escape(words)}</text>'


_MARKS: Mapping[type, Any] = {Series: _series, Note: _note, Region: _region, Arrow: _arrow}
