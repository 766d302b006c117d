"""Stage maps: how many numbers a fitted model keeps, against the layers of deep CCA."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pandas as pd

from workflow.stages.maps.fit import MAPS

SIZE_COLUMNS = ("dataset", "model", "feature_map", "keeps", "m", "numbers", "ratio")


def model_sizes(networks: pd.DataFrame, sizes: Iterable[int]) -> pd.DataFrame:
    """Count what RCCA and deep CCA keep to transform new rows of both views.

    Parameters
    ----------
    networks : DataFrame
        ``resources/paper/dcca_layers.csv``: a network for each view of a dataset.
    sizes : iterable of int
        Numbers of features m.

    Returns
    -------
    DataFrame
        One row per dataset, map, m and what is kept of the draw: the ``seed`` it is repeated
        from, or its ``arrays``; and one per dataset for the ``layers`` of deep CCA. ``ratio`` is
        deep CCA's count over the row's.
    """
    sizes = list(sizes)
    records = [record for row in networks.to_dict("records") for record in _counts(row, sizes)]
    return pd.DataFrame(records)[list(SIZE_COLUMNS)]


def _counts(network: Any, sizes: list[int]) -> Iterator[dict[str, Any]]:
    columns = network["columns_x"], network["columns_y"]
    widths = network["width_x"], network["width_y"]
    layers, outputs = network["layers"], network["outputs"]
    dcca = sum(
        network_numbers(d, width, layers, outputs) for d, width in zip(columns, widths, strict=True)
    )
    labels = {"dataset": network["dataset"], "model": "dcca", "keeps": "layers"}
    yield {**labels, "feature_map": None, "m": None, "numbers": dcca, "ratio": 1.0}
    for name in MAPS:
        for m in sizes:
            solution = sum(solution_numbers(d, m, outputs) for d in columns)
            kept = {"arrays": solution + sum(drawn_numbers(name, d, m) for d in columns)}
            if name != "nystroem":  # whose landmarks no seed brings back without the data
                kept["seed"] = solution + len(columns)
            for keeps, numbers in kept.items():
                labels = {"dataset": network["dataset"], "model": "rcca", "feature_map": name}
                ratio = dcca / numbers
                yield {**labels, "keeps": keeps, "m": m, "numbers": numbers, "ratio": ratio}


def solution_numbers(d: int, m: int, outputs: int) -> int:
    """Count a view's canonical basis, mean feature, mean row and kernel width."""
    return m * outputs + m + d + 1


def drawn_numbers(feature_map: str, d: int, m: int) -> int:
    """Count the numbers that a map draws: weights and phases, landmarks, or Fastfood's factors."""
    if feature_map == "nystroem":
        return m * d
    if feature_map == "fastfood":
        order = 1 << (d - 1).bit_length()
        return 3 * order * -(-m // order) + 2 * m
    return m * d + m


def network_numbers(inputs: int, width: int, layers: int, outputs: int) -> int:
    """Count weights and biases of a network whose hidden layers are all as wide.

    ``layers`` counts the output layer, as the program of Andrew et al. (2013) does.
    """
    sizes = [inputs, *[width] * (layers - 1), outputs]
    return sum((below + 1) * above for below, above in pairwise(sizes))
