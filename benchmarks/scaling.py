"""Seconds of a fit against the number of rows, from disk, and against the number of features."""

from collections.abc import Callable
from functools import partial
from typing import Any

from data import Data
from jobs import Job, Row, medians, seconds
from large import LargeFile
from roof import estimator
from sizes import Settings


def jobs(settings: Settings, data: Data, large: LargeFile) -> list[Job]:
    """List one measurement for each number of rows, and one for each number of features."""
    cases: list[tuple[str, int, int, Callable[[], tuple[Any, Any]]]] = [
        ("n", n, settings.scaling_m, partial(large.rows, n)) for n in settings.scaling_rows
    ]
    n = min(settings.scaling_n, len(data.x))
    cases += [("m", n, m, lambda: (data.x[:n], data.y[:n])) for m in settings.scaling_sizes]
    return [
        Job(
            "scaling",
            f"scaling: n = {n}, m = {m}",
            # Small fits are bound by their O(m³) part.
            settings.repeats * (4.0 * n * m**2 + 20.0 * m**3),
            partial(_fit, settings, against, n, m, rows),
        )
        for against, n, m, rows in cases
    ]


def _fit(
    settings: Settings, against: str, n: int, m: int, rows: Callable[[], tuple[Any, Any]]
) -> list[Row]:
    x, y = rows()
    estimator(settings, "fourier", m).draw(x, y).accumulate(x, y, 0, min(n, 2048))

    def once() -> Row:
        model = estimator(settings, "fourier", m)
        return {"seconds": seconds(lambda: model.fit(x, y))[0]}

    return [{"against": against, "n": n, "m": m, **medians(once, settings.repeats, 60.0)}]
