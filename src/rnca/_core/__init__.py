"""Numerical kernels; not public."""
