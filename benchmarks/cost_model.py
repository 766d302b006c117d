"""What the phases of a fit in shards cost: seconds and bytes as powers of n and m."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.optimize import nnls

from roof import CHUNK

PHASES = ("pass", "write", "merge", "solve")

Size = tuple[int, int]
"""Rows n and features m."""


@dataclass(frozen=True)
class Measured:
    """One phase at one size: CPU seconds, and peak memory beyond the libraries' own."""

    phase: str
    n: int
    m: int
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Model:
    """CPU seconds of each phase as sums of powers of n and m, with fitted rates.

    Attributes
    ----------
    rates : dict of str to list of float
        Seconds per unit of each term of a phase.
    columns : int
        Of each view.
    """

    rates: dict[str, list[float]]
    columns: int

    @classmethod
    def fitted_to(cls, measured: Sequence[Measured], columns: int) -> "Model":
        """Fit the rates, none negative, to relative errors."""
        rates = {}
        for phase in PHASES:
            rows = [each for each in measured if each.phase == phase]
            terms = [
                np.array(_terms(phase, each.n, each.m, columns)) / each.cpu_seconds for each in rows
            ]
            rates[phase] = nnls(np.array(terms), np.ones(len(rows)))[0].tolist()
        return cls(rates, columns)

    def seconds(self, phase: str, n: int, m: int) -> float:
        """Foresee the CPU seconds of a phase: of n rows, or of one file."""
        return float(np.dot(self.rates[phase], _terms(phase, n, m, self.columns)))


def _terms(phase: str, n: int, m: int, columns: int) -> list[float]:
    if phase == "pass":  # covariances; projections and their cosines
        return [4.0 * n * m**2, 2.0 * n * m * (2 * columns + 20)]
    if phase == "solve":  # factorisation and whitening; truncated SVD
        return [float(m) ** 3, float(m) ** 2]
    return [file_bytes(m)]


def file_bytes(m: int) -> float:
    """Return the size of a shard's file."""
    return 24.0 * m**2


def peak_bytes(phase: str, m: int) -> float:
    """Foresee the peak memory of a phase beyond the libraries' own."""
    if phase in ("pass", "write"):  # three moments; features of both views in two chunks
        return 24.0 * m**2 + 2 * 2 * 8 * CHUNK * m
    # Three moments, and one array of a file or D; blocks of the factorisation, as measured.
    return 32.0 * m**2 + 5 * 8 * 512 * m


def rate_table(model: Model) -> str:
    """Render the fitted rates."""
    flops, features = model.rates["pass"]
    cube, square = model.rates["solve"]
    rows = [
        ("pass, covariances", "4nm² operations", _rate(flops, 1e9, "G/s")),
        ("pass, features", "2nm(2d + 20) operations", _rate(features, 1e9, "G/s")),
        ("write a shard", "24m² bytes", _rate(model.rates["write"][0], 1e6, "MB/s")),
        ("check and merge a shard", "24m² bytes", _rate(model.rates["merge"][0], 1e6, "MB/s")),
        ("solve, factor and whiten", "m³", _rate(cube, 1e9, "G/s")),
        ("solve, truncated SVD", "m²", _rate(square, 1e6, "M/s")),
    ]
    return _table(("phase", "grows like", "rate"), rows)


def _rate(seconds: float, unit: float, name: str) -> str:
    return f"{1 / seconds / unit:.0f} {name}" if seconds else "none: lost in the other term"


def comparison_table(model: Model, checked: Sequence[Measured]) -> str:
    """Render the model beside measurements it was not fitted to."""
    rows = []
    for each in checked:
        if each.phase in ("pass", "solve"):
            seconds, peak = (
                model.seconds(each.phase, each.n, each.m),
                peak_bytes(each.phase, each.m),
            )
            memory = (f"{peak / 1e6:.0f}", f"{each.peak_bytes / 1e6:.0f}")
            ratio = f"{each.peak_bytes / peak:.2f}"
            rows.append(_compared(each.n, each.m, each.phase, seconds, each.cpu_seconds))
            rows[-1] += (*memory, ratio)
    for n, m in dict.fromkeys((each.n, each.m) for each in checked):
        found = sum(each.cpu_seconds for each in checked if (each.n, each.m) == (n, m))
        foreseen = sum(model.seconds(phase, n, m) for phase in PHASES)
        rows.append((*_compared(n, m, "**all four**", foreseen, found), "", "", ""))
    heads = (
        "n",
        "m",
        "phase",
        "CPU s, model",
        "measured",
        "ratio",
        "MB, model",
        "measured",
        "ratio",
    )
    return _table(heads, rows)


def _compared(n: int, m: int, phase: str, foreseen: float, found: float) -> tuple[str, ...]:
    return f"{n:,}", f"{m:,}", phase, f"{foreseen:.1f}", f"{found:.1f}", f"{found / foreseen:.2f}"


def forecast_table(model: Model, sizes: Sequence[Size]) -> str:
    """Render what large fits should cost."""
    rows = []
    for n, m in sizes:
        work, solve = model.seconds("pass", n, m), model.seconds("solve", n, m)
        rows.append(
            (
                f"{n:,}",
                f"{m:,}",
                f"{work / 3600:.1f}",
                f"{solve / 60:.1f}",
                f"{model.seconds('merge', n, m):.1f}",
                f"{file_bytes(m) / 1e9:.1f}",
                f"{peak_bytes('pass', m) / 1e9:.1f}",
                f"{peak_bytes('solve', m) / 1e9:.1f}",
                f"{ceil(work / solve):,}",
            )
        )
    heads = (
        "n",
        "m",
        "pass, core hours",
        "solve, core minutes",
        "merge a shard, s",
        "a shard's file, GB",
        "memory of a shard, GB",
        "of merge and solve, GB",
        "shards until the solve is longer",
    )
    return _table(heads, rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numeric = [not any(cell[:1].isalpha() for cell in column) for column in zip(*rows, strict=True)]
    lines = [heads, ["---:" if right else "---" for right in numeric], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
