"""Randomized nonlinear component analysis."""

__version__ = "0.1.0"
