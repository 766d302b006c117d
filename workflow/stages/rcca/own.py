"""A kept model for readers: chosen m and reg, correlations with p-values, loadings, a scatter."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from rnca._core.moments import Correlations
from workflow.data.errors import DataError
from workflow.lib.figures import FAINT, GREY, LOOK, STYLE, wrapped
from workflow.lib.provenance import read_csv
from workflow.lib.tables import MAP_NAMES, sentence
from workflow.stages.rcca.tables import Block, Columns, Titles, block, value

INFERENCE_COLUMNS = (
    "experiment", "feature_map", "m", "reg", "component", "test_correlation", "p_value", "null_95",
)  # fmt: skip
_LEVEL = 0.05
_BARS = 4  # of each view


class Model(NamedTuple):
    """Loadings of a kept model, and the first pair of canonical variables on test rows."""

    loadings: pd.DataFrame
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def read_models(
    loadings: Iterable[str], variables: Iterable[str], inference: pd.DataFrame
) -> dict[tuple[str, str], Model]:
    """Read kept models, by experiment and map, from ``…/<experiment>/<map>.<what>``."""
    first = inference[inference["component"] == 1].set_index(["experiment", "feature_map"])
    found = {}
    for file, arrays in zip(loadings, variables, strict=True):
        key = Path(file).parent.name, Path(file).name.partition(".")[0]
        remedy = f"Delete {arrays} and run again to make it anew"
        try:
            with np.load(arrays, allow_pickle=False) as kept:
                x, y = (kept[view][kept["part"] == "test", 0] for view in "xy")
        # zipfile and numpy raise almost anything on a damaged file.
        except Exception as error:
            raise DataError(f"{arrays}: damaged ({error}). {remedy}") from error
        # An npz file has no record beside it, but its variables must have the correlation that a
        # CSV with a record gives, but for rounding to float32.
        (correlation,) = Correlations().update(x[:, None], y[:, None]).values()
        if not abs(correlation - first.loc[key, "test_correlation"]) < 1e-4:
            raise DataError(f"{arrays}: not what its job wrote. {remedy}")
        found[key] = Model(read_csv(file), x, y)
    return found


def _by_model(inference: pd.DataFrame, titles: Titles) -> Iterator[tuple[str, pd.DataFrame]]:
    for (name, kind), rows in inference.groupby(["experiment", "feature_map"], sort=False):
        yield f"{titles[str(name)]}, {MAP_NAMES[str(kind)]}", rows


def on_model(inference: pd.DataFrame, titles: Titles) -> str:
    """Say what was chosen, and how many components are more than chance."""
    clauses = []
    for title, rows in _by_model(inference, titles):
        first, real = rows.iloc[0], (rows["p_value"] <= _LEVEL).sum()
        clauses.append(
            f"{title}: {real} of {len(rows)} components are "
            f"significant at 5 %, the first with a correlation of {first['test_correlation']:.2f} "
            f"on test rows (p = {first['p_value']:.2g}); cross-validation chose "
            f"m = {first['m']:.0f}, reg = {first['reg']:g}"
        )
    return sentence(clauses)


def model_blocks(inference: pd.DataFrame, titles: Titles) -> list[Block]:
    """Lay out the components of each model, with what was chosen above them."""
    columns: Columns = {
        "component": value("component", ".0f"),
        "correlation on test rows": value("test_correlation", ".3f"),
        "p-value, adjusted": value("p_value", ".2g"),
        "95 % of random pairings": value("null_95", ".3f"),
    }
    blocks = []
    for title, rows in _by_model(inference, titles):
        text = f"m = {rows['m'].iloc[0]}, reg = {rows['reg'].iloc[0]:g}, by cross-validation"
        blocks.append(block(title, text, columns, rows))
    return blocks


@matplotlib.rc_context(STYLE)
def model_figure(
    inference: pd.DataFrame, models: Mapping[tuple[str, str], Model], titles: Titles
) -> Figure:
    """Correlations, the largest loadings of component 1, and its scatter: a row per model."""
    figure = Figure(figsize=(10.2, 3.1 * max(len(models), 1)), layout="constrained")
    for place, ((name, kind), model) in enumerate(models.items()):
        left, middle, right = (
            figure.add_subplot(len(models), 3, 3 * place + column) for column in (1, 2, 3)
        )
        own = (inference["experiment"] == name) & (inference["feature_map"] == kind)
        _correlations(left, inference[own], kind)
        left.set_title(wrapped(f"{titles[name]}, {MAP_NAMES[kind]}"))
        _bars(middle, model.loadings, kind)
        # Unlike the page's own grey, what is rasterised looks the same on a dark ground.
        colour = FAINT if kind == "linear" else LOOK[kind]["color"]
        right.scatter(model.x, model.y, s=6, color=colour, rasterized=True)
        right.set(xlabel="first view, component 1", ylabel="second view, component 1")
        right.set_title("canonical variables of test rows")
    return figure


def _correlations(axes: Any, rows: pd.DataFrame, kind: str) -> None:
    look = {"marker": "o", **LOOK[kind], "linestyle": "none"}
    axes.plot(rows["component"], rows["test_correlation"], label="test rows", **look)
    chance = {"color": GREY, "linestyle": "--", "label": "95 % of random pairings"}
    axes.plot(rows["component"], rows["null_95"], **chance)
    axes.set(xlabel="component", ylabel="correlation on test rows")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()


def _bars(axes: Any, loadings: pd.DataFrame, kind: str) -> None:
    ordered = loadings.iloc[loadings["component_1"].abs().argsort().to_numpy()]
    largest = ordered.groupby("view").tail(_BARS)
    shown = largest.sort_values("view", ascending=False, kind="stable")  # from below
    names = [f"{row['view']}, {row['column']}" for row in shown.to_dict("records")]
    axes.barh(names, shown["component_1"], color=LOOK[kind]["color"])
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set(xlabel="loading on component 1", ylabel="view, column")
    axes.set_title("largest loadings of each view")
