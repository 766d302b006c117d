"""Figures: one style, legible at print size, safe for colour-blind readers."""

import re
import textwrap
from base64 import b64decode, b64encode
from collections.abc import Hashable, Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, TypeVar
from xml.sax.saxutils import escape

import matplotlib
import numpy as np
import pandas as pd
from PIL import Image
from sklearn.isotonic import isotonic_regression

from rnca.files import replacing
from workflow.lib.tables import BASELINE_NAMES, MAP_NAMES

matplotlib.use("Agg")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

# Only the fonts that come with matplotlib: figures are then the same on every machine.
for font in [*fontManager.ttflist]:
    if not font.fname.startswith(matplotlib.get_data_path()):
        fontManager.ttflist.remove(font)

# After Okabe and Ito, for colour-blind readers; each is 3:1 or more against white and against the
# page's dark ground, but for black and grey, which the page draws in its own.
BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
OCHRE, VIOLET, FAINT = "#A8780A", "#8C6BD1", "#808080"
BLACK, GREY = "#000000", "#555555"
INKS = (BLUE, VERMILION, GREEN, PINK, OCHRE, VIOLET)
# Of up to ten classes, each of which is drawn as its own number besides.
CLASSES = (*INKS, "#117733", "#AA4499", "#CC6677", "#777777")
# Filled markers are ours, hollow ones the paper's; each map and method has a marker of its own.
LOOK: dict[str, dict[str, Any]] = {
    "linear": {"color": GREY, "linestyle": "--"},
    "fourier": {"color": BLUE, "marker": "o"},
    "nystroem": {"color": VERMILION, "marker": "s"},
    "whitened": {"color": OCHRE, "marker": "X"},
    "dcca": {"color": GREEN, "marker": "^"},
    "dcca2013": {"color": VIOLET, "marker": "v"},
    "kcca": {"color": PINK, "marker": "D"},
    # Without markers: methods that do not depend on the number of features.
    "exact": {"color": PINK, "linestyle": "-."},
    "other": {"color": OCHRE, "linestyle": ":"},
}
_PANELS_A_ROW = 3
T = TypeVar("T", bound=Hashable)
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "font.sans-serif": ["DejaVu Sans"],  # an SVG names them all in every text
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.prop_cycle": matplotlib.rcsetup.cycler(color=INKS),
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "rnca",
    "svg.fonttype": "none",
    "figure.dpi": 160,
}


def panels(
    names: Sequence[T], panels_a_row: int = _PANELS_A_ROW, size: tuple[float, float] = (3.4, 2.8)
) -> tuple[Figure, dict[T, Any]]:
    """Make a figure with one panel for each name, in rows; without names it is blank."""
    columns = min(len(names), panels_a_row) or 1
    rows = -(-len(names) // columns) or 1
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in axes[len(names) :]:
        spare.set_axis_off()
    return figure, dict(zip(names, axes, strict=False))


def curves(
    axes: Any,
    rows: pd.DataFrame,
    x: str,
    y: str,
    names: Mapping[str, str],
    looks: Mapping[str, Mapping[str, Any]] = LOOK,
) -> None:
    """Draw ``<y>_mean`` and ``<y>_sd`` of each method: a level if its look has no marker."""
    for method, label in names.items():
        own = rows[rows["method"] == method]
        if len(own) and "marker" in looks[method]:
            error_bars(axes, own, x, y, label=label, **looks[method])
        elif len(own):
            axes.axhline(own[f"{y}_mean"].iloc[0], label=label, **looks[method])


def log_axis(axes: Any, values: Iterable[float], label: str) -> None:
    """Make the horizontal axis logarithmic, with ticks at some values alone."""
    axes.set_xscale("log")
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(label)


def error_bars(axes: Any, rows: pd.DataFrame, x: str, y: str, **look: Any) -> None:
    """Draw the columns ``<y>_mean`` against ``x``, with ``<y>_sd`` where there is one."""
    deviation = rows[f"{y}_sd"].fillna(0.0)
    axes.errorbar(rows[x], rows[f"{y}_mean"], deviation, capsize=2.5, **look)


def wrapped(title: str) -> str:
    """Break a title into lines that fit a panel."""
    return "\n".join(textwrap.wrap(title, 44))


def legend(figure: Figure, panels: Sequence[Any]) -> None:
    """Put one legend below all panels, ours first, each label once.

    It has one column more than there are panels in a row; fewer if they would not fit.
    """
    found: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    names = (*MAP_NAMES.values(), *BASELINE_NAMES.values())
    ours = [label for label in names if label in found]
    labels = ours + [label for label in found if label not in ours]
    if labels:
        handles = [found[label] for label in labels]
        columns = min(len(panels), _PANELS_A_ROW) + 1
        canvas: Any = FigureCanvasAgg(figure)
        renderer = canvas.get_renderer()
        for ncols in range(columns, 0, -1):
            placed = figure.legend(handles, labels, loc="outside lower center", ncols=ncols)
            if placed.get_window_extent(renderer).width <= figure.bbox.width or ncols == 1:
                break
            placed.remove()


def end_labels(axes: Any) -> None:
    """Name each line at the right of its panel, at the height of its end, none over another."""
    handles, names = axes.get_legend_handles_labels()
    # Lines come before error bars, and of one name the first counts.
    found = dict(zip(names[::-1], handles[::-1], strict=True))
    labels, lines = list(found), [getattr(each, "lines", [each])[0] for each in found.values()]
    if not lines:
        return
    axes.figure.draw_without_rendering()
    left = axes.get_xlim()[0]
    ends = np.array([axes.transData.transform((left, line.get_ydata()[-1]))[1] for line in lines])
    order = np.argsort(ends, kind="stable")
    # The least moves that leave each label a line above the one below it.
    steps = 1.25 * STYLE["legend.fontsize"] * axes.figure.dpi / 72 * np.arange(len(lines))
    places = isotonic_regression(ends[order] - steps) + steps
    for place, index in zip(places, order, strict=True):
        axes.annotate(
            labels[index],
            (1, axes.transAxes.inverted().transform((0, place))[1]),
            (5, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            verticalalignment="center",
            color=lines[index].get_color(),
            fontsize=STYLE["legend.fontsize"],
            annotation_clip=False,
        )


def save(figure: Figure, outputs: Mapping[str, str], name: str) -> None:
    """Write a figure to the outputs ``<name>.svg`` and ``<name>.png``, without dates in them."""
    values = _named_points(figure)
    with matplotlib.rc_context(STYLE):
        for kind, metadata in (("svg", {"Date": None}), ("png", {})):
            with replacing(outputs[f"{name}.{kind}"]) as partial:
                figure.savefig(partial, metadata=metadata)
                if kind == "svg":
                    text = re.sub('(?<=png;base64,)[^"]*', _indexed, partial.read_text("utf-8"))
                    partial.write_text(_with_titles(text, values), "utf-8")


def _indexed(picture: re.Match[str]) -> str:
    """Give a picture of an SVG a palette of 256 colours: it then takes a third of the space."""
    colours = Image.open(BytesIO(b64decode(picture[0])))
    is_opaque = colours.getextrema()[-1] == (255, 255)
    file = BytesIO()
    (colours.convert("RGB") if is_opaque else colours).quantize(256).save(file, "png")
    return b64encode(file.getvalue()).decode("ascii")


def _named_points(figure: Figure) -> dict[str, list[str]]:
    """Give lines with markers an id, and return the text of each of their points by that id."""
    texts: dict[str, list[str]] = {}
    for axes in figure.axes:
        bars = {bar.lines[0]: bar.get_label() for bar in axes.containers if hasattr(bar, "lines")}
        for line in axes.lines:
            label = str(bars.get(line, line.get_label()))
            if line.get_marker() not in ("", "None", None) and not label.startswith("_"):
                gid = f"points-{len(texts)}"
                line.set_gid(gid)
                texts[gid] = [
                    f"{label}: {x:.4g}, {y:.4g}" for x, y in np.asarray(line.get_xydata())
                ]
    return texts


def _with_titles(svg: str, values: Mapping[str, list[str]]) -> str:
    """Let each point of a figure tell its value under the pointer."""
    for gid, texts in values.items():
        start = svg.index(f'<g id="{gid}">')
        stop = svg.find('<g id="', start + 1)
        part = svg[start:stop]
        places = list(re.finditer(r"<use [^>]*/>", part))
        if len(places) == len(texts):
            for place, text in reversed([*zip(places, texts, strict=True)]):
                title = f"{place.group()[:-2]}><title>{escape(text)}</title></use>"
                part = part[: place.start()] + title + part[place.end() :]
            svg = svg[:start] + part + svg[stop:]
    return svg
