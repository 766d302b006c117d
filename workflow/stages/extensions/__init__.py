"""Spectral clustering, discriminant analysis and dependence."""
