"""Theorems 3 and 4 by simulation."""
