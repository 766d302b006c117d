"""Exponents of cost: straight lines through logarithms."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Exponent:
    """Slope of log y against log x, with its standard error (infinite from two points)."""

    value: float
    error: float


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike) -> Exponent:
    """Fit y = c·x^a by least squares on logarithms; there must be two different x."""
    log_x, log_y = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    centred = log_x - log_x.mean()
    spread = centred @ centred
    slope = centred @ log_y / spread
    residuals = log_y - log_y.mean() - slope * centred
    freedom = len(log_x) - 2
    error = np.sqrt(residuals @ residuals / freedom / spread) if freedom > 0 else np.inf
    return Exponent(float(slope), float(error))
