"""Benchmarks of the library: `make bench`."""
