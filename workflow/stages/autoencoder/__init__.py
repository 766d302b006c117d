"""Randomized autoencoders."""
